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
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/e2e/internal/monitor"
)

var (
	passwordLine = regexp.MustCompile(`(?m)^(\s*password:).*$`)
	projectLine  = regexp.MustCompile(`(?m)^(\s*project_name:).*$`)
)

// testPreflight makes mistakes that only the cloud can see. None of them becomes a revision.
func (s *suite) testPreflight(t *testing.T) {
	clouds := s.Cloud().CloudsYAML()
	before, containers := s.revision(t), s.operands.containers()
	for _, mistake := range []struct {
		what string
		line *regexp.Regexp
	}{
		{"a wrong password", passwordLine},
		{"a project that the cloud does not have", projectLine},
	} {
		s.monitor.Expect(monitor.Degraded("secret/openstack-cloud-credentials", mistake.what))
		calls := len(s.Cloud().Calls())
		began := time.Now()
		s.setCredentials(t, mistake.line.ReplaceAll(clouds, []byte("$1 wrong-6c1f0a9d")))
		s.awaitDegraded(t, namedLimit, "secret/openstack-cloud-credentials", "the cloud rejects the credentials")
		s.figure("%s to Degraded=True with the cause: %s", mistake.what, rounded(began))
		s.requireOnlyReads(t, calls)
		s.requirePreflightGone(t)
		began = time.Now()
		s.setCredentials(t, clouds)
		s.await(t, "a clean ClusterOperator", cleanLimit, s.clean)
		s.awaitCondition(t, "PreflightNotices", operatorv1.ConditionFalse, cleanLimit)
		s.figure("%s undone to clean: %s", mistake.what, rounded(began))
	}
	require.Equal(t, before, s.awaitSettled(t, before, briefly), "no new revision")
	require.Equal(t, containers, s.operands.containers(), "no container was restarted")
	s.requireOneLeader(t)
}

// requireOnlyReads checks that nobody has changed anything in the cloud since a number of calls, and that one login was
// tried.
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
	require.Equal(t, 1, logins, "a wrong password costs one login")
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
