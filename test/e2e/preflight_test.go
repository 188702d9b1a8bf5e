package e2e

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/openstack"
)

const preflightNotices = "PreflightNotices"

var passwordLine = regexp.MustCompile(`(?m)^(\s*password:).*$`)

// testPreflight makes a mistake that only the cloud can see. It is undone as soon as it is named, which is while the
// first node is being installed.
func (s *suite) testPreflight(t *testing.T) {
	good, before := s.Cloud().CloudsYAML(), s.revision(t)
	s.expectRollout("a wrong password")
	s.expectRollout("the right password again")
	calls := len(s.Cloud().Calls())
	began := time.Now()
	s.setCredentials(t, passwordLine.ReplaceAll(good, []byte("$1 wrong-6c1f0a9d")))
	s.awaitCondition(t, preflightNotices, operatorv1.ConditionTrue, rolloutLimit, "a cloud-controller-manager with the changed inputs",
		"the cloud rejects the credentials")
	s.figure("a wrong password to the condition that names it: %s", rounded(began))
	s.requireOnlyReads(t, calls)
	require.Less(t, s.operands.reached(before+1), 2, "at most one node is installed")
	began = time.Now()
	s.setCredentials(t, good)
	s.awaitSettled(t, before+1, rolloutLimit)
	s.awaitCondition(t, preflightNotices, operatorv1.ConditionFalse, briefly)
	s.figure("the right password to a clean cluster: %s", rounded(began))
	s.requirePreflightGone(t)
	s.requireOneLeader(t)
}

// requireOnlyReads checks that nobody has changed anything in the cloud since a number of calls.
func (s *suite) requireOnlyReads(t *testing.T, since int) {
	t.Helper()
	logins := 0
	for _, call := range s.Cloud().Calls()[since:] {
		if call.Endpoint == openstack.IdentityTokens {
			logins++
			continue
		}
		require.True(t, strings.HasPrefix(call.Endpoint, "GET "), call.Endpoint)
	}
	s.figure("logins until then, with the first node's: %d", logins)
}

// requirePreflightGone checks that a preflight leaves its verdict only.
func (s *suite) requirePreflightGone(t *testing.T) {
	t.Helper()
	s.await(t, "the end of the preflight", briefly, func(ctx context.Context) error {
		pods, err := s.kube.CoreV1().Pods(targetNamespace).List(ctx, metav1.ListOptions{
			LabelSelector: "app=cloud-controller-manager-preflight",
		})
		if err == nil && len(pods.Items) > 0 {
			err = fmt.Errorf("pod/%s is still there", pods.Items[0].Name)
		}
		if err != nil {
			return err
		}
		leases, err := s.kube.CoordinationV1().Leases(targetNamespace).List(ctx, metav1.ListOptions{})
		if err == nil && len(leases.Items) != 1 {
			err = fmt.Errorf("there are %d leases", len(leases.Items))
		}
		return err
	})
	secret, err := s.kube.CoreV1().Secrets(targetNamespace).Get(t.Context(), "cloud-controller-manager-preflight", metav1.GetOptions{})
	require.NoError(t, err)
	require.Empty(t, secret.Data)
}

// requirePreflightSucceeded checks the event about the last change, and reports how long its preflight took.
func (s *suite) requirePreflightSucceeded(t *testing.T, since time.Time) {
	t.Helper()
	s.await(t, "the event PreflightSuccessful", briefly, func(ctx context.Context) error {
		list, err := s.kube.CoreV1().Events(operatorNamespace).List(ctx, metav1.ListOptions{FieldSelector: "reason=PreflightSuccessful"})
		if err != nil {
			return err
		}
		for _, event := range list.Items {
			if event.LastTimestamp.After(since) {
				s.figure("change to PreflightSuccessful: %s (%s)", event.LastTimestamp.Sub(since).Round(time.Second), event.Message)
				return nil
			}
		}
		return errors.New("there is none")
	})
}
