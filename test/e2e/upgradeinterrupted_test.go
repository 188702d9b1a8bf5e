package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/e2e/internal/monitor"
)

const (
	// operatorAway is how long nobody watches a preflight.
	operatorAway = 3 * time.Minute

	// nextProtected is a flag that the next release does not let overrides change. This one does.
	nextProtected = "min-resync-period"

	wrongPassword = "wrong-6c1f0a9d"
)

// testUnwatchedPreflight writes a wrong password, and takes the operator away while the preflight tries it. The preflight
// ends without an operator, and another release's operator comes. That one must try the password itself.
func (s *suite) testUnwatchedPreflight(t *testing.T, to devcluster.Release, flag string) {
	s.monitor.Begin("a preflight that nobody watches, and another release")
	s.expectRollout("the other release")
	s.monitor.Expect(monitor.Degraded("secret/openstack-cloud-credentials", "a wrong password").Times(2))
	// A password that was rejected in the last hour is not tried again.
	clouds, password := s.Cloud().CloudsYAML(), wrongPassword+"-"+to.Version
	s.setCredentials(t, passwordLine.ReplaceAll(clouds, []byte("$1 "+password)))
	s.await(t, "the preflight", briefly, func(ctx context.Context) error {
		_, err := s.kube.CoreV1().Pods(targetNamespace).Get(ctx, preflightPod, metav1.GetOptions{})
		return err
	})
	s.scale(t, 0)
	s.awaitOperator(t, "", 0)
	began := time.Now()
	s.await(t, "the preflight to have ended without an operator", operatorAway+briefly, func(ctx context.Context) error {
		pod, err := s.kube.CoreV1().Pods(targetNamespace).Get(ctx, preflightPod, metav1.GetOptions{})
		if err == nil && pod.Status.Phase != "Failed" {
			err = fmt.Errorf("it is %s", pod.Status.Phase)
		}
		if err == nil && time.Since(began) < operatorAway {
			err = fmt.Errorf("the operator is away for %s", rounded(began))
		}
		return err
	})
	s.upgrade(t, to, flag)
	s.awaitDegraded(t, namedLimit, "secret/openstack-cloud-credentials", "the cloud rejects the credentials")
	s.requirePreflightGone(t)
	s.requireNowhere(t, password)
	began = time.Now()
	s.setCredentials(t, clouds)
	s.await(t, "a clean ClusterOperator", cleanLimit, s.clean)
	s.figure("a password whose preflight nobody watched, corrected to clean: %s", rounded(began))
	s.requireOneLeader(t)
	s.requireAnnounced(t.Context(), t)
}

// requireNowhere requires that no revision has a text in its credentials.
func (s *suite) requireNowhere(t *testing.T, text string) {
	t.Helper()
	secrets, err := s.kube.CoreV1().Secrets(targetNamespace).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	revisions := 0
	for _, secret := range secrets.Items {
		if !strings.HasPrefix(secret.Name, "cloud-credentials") {
			continue
		}
		revisions++
		for key, value := range secret.Data {
			require.NotContains(t, string(value), text, "secret/%s, %s", secret.Name, key)
		}
	}
	require.Greater(t, revisions, 1)
}

// testProtectedOverride overrides a flag that the next release protects. The upgrade waits, and says for what.
func (s *suite) testProtectedOverride(t *testing.T, next devcluster.Release) {
	s.monitor.Begin("an override that this release accepts")
	s.expectRollout("the override")
	before := s.revision(t)
	s.setArgument(t, nextProtected, "12h3m")
	s.awaitSettled(t, before+1, rolloutLimit)

	s.monitor.Begin("the next release does not accept it")
	s.expectRollout("the next release")
	s.monitor.Expect(monitor.Degraded("Configuration_Refused", "the override is rejected"),
		monitor.Gap("the resource's definition changes, which ends its watches").Times(3))
	began := time.Now()
	require.NoError(t, s.ApplyRelease(t.Context(), next))
	s.await(t, "Progressing to say what the upgrade waits for", rolloutLimit, func(ctx context.Context) error {
		reported, err := s.config.ConfigV1().ClusterOperators().Get(ctx, clusterOperator, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, c := range reported.Status.Conditions {
			if c.Type == configv1.OperatorProgressing {
				return contains(string(c.Status)+": "+c.Message, "True: ", "has not begun to roll out", nextProtected)
			}
		}
		return fmt.Errorf("the conditions are %v", reported.Status.Conditions)
	})
	s.figure("upgrade with an override that is protected now to Progressing that names it: %s", rounded(began))
	require.Equal(t, before+1, s.revision(t), "nothing has rolled out")
	s.setOverrides(t, nil)
	s.upgrade(t, next, nextFlag)
	s.await(t, "a clean ClusterOperator", cleanLimit, s.clean)
	s.requireAnnounced(t.Context(), t)
}
