package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	ccmv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
	devcluster "github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/e2e/internal/monitor"
)

const (
	operandBinary = "/usr/bin/openstack-cloud-controller-manager"

	// tokenLifetime is the API server's minimum; a third of it must pass before a refresh.
	tokenLifetime = 10 * time.Minute
	tokenRefresh  = tokenLifetime/3 + time.Minute
	// giveUpLimit exceeds the time until a leader without renewals exits, 107 s, plus the time until another process
	// takes over, 137 s.
	giveUpLimit = 5 * time.Minute
	// operatorLimit exceeds the time until the operator of a silent node is replaced, 170 s, and until the next one
	// leads: it waits for 137 s since it has seen the lease first, and asks every 26 to 57 s.
	operatorLimit = 8 * time.Minute

	kubeToken         = "kube-token"
	RecordsAnnotation = "cloud-controller-manager.openshift.io/token-records"
)

// longSteps take about an hour.
func (s *suite) longSteps() []step {
	return []step{
		{"a candidate that was written by half never becomes a revision", s.testHalfWrittenCandidate},
		{"a reason to redeploy makes a revision", s.testRedeployment},
		{"of two operators one works", s.testTwoOperators},
		{"an outage of the control plane passes", s.testOutage},
		{"a crashed node comes back", s.testNodeCrash},
		{"token and serving certificate rotate without a revision", s.testRotation},
		{"an operator that was away until the token had expired brings everything back", s.testExpiredToken},
	}
}

// testRotation leaves the operator with short lifetimes for testExpiredToken.
func (s *suite) testRotation(t *testing.T) {
	revision, containers := s.revision(t), s.operands.containers()
	s.patchDeployment(t, types.JSONPatchType, `[{"op": "add", "path": "/spec/template/spec/containers/0/args/-", "value": "--token-lifetime=`+tokenLifetime.String()+`"},
		{"op": "add", "path": "/spec/template/spec/containers/0/args/-", "value": "--signer-validity=20m"},
		{"op": "add", "path": "/spec/template/spec/containers/0/args/-", "value": "--serving-cert-validity=5m"}]`)
	s.awaitOperator(t, "--token-lifetime="+tokenLifetime.String(), 1)
	s.awaitSettled(t, revision, rolloutLimit)

	first := s.annotation(t, kubeToken, RecordsAnnotation)
	// The operator does not replace a valid token only because its requested lifetime is shorter now.
	s.dropAnnotation(t, kubeToken, RecordsAnnotation)
	s.awaitToken(t, first, briefly)
	short := s.annotation(t, kubeToken, RecordsAnnotation)
	serials := s.serials(t)
	began := time.Now()
	s.awaitToken(t, short, tokenRefresh)
	s.figure("a token of %s is refreshed after %s", tokenLifetime, rounded(began))

	s.await(t, "every cloud-controller-manager to serve another certificate", rolloutLimit, func(ctx context.Context) error {
		for _, n := range s.Nodes() {
			certificate, err := servedCertificate(ctx, n)
			if err != nil {
				return err
			}
			if serials[n.Name()] == certificate.SerialNumber.String() {
				return fmt.Errorf("%s serves the one until %s", n.Name(), certificate.NotAfter)
			}
		}
		return nil
	})
	require.Equal(t, revision, s.awaitSettled(t, revision, briefly), "no new revision")
	require.Equal(t, containers, s.operands.containers(), "no container was restarted")
	s.requireOneLeader(t)
}

// awaitOperator waits until the given number of operators run, all with the flag.
func (s *suite) awaitOperator(t *testing.T, flag string, count int) {
	t.Helper()
	s.await(t, fmt.Sprintf("%d operators with %q", count, flag), briefly, func(context.Context) error {
		pids := s.processes(t, operatorBinary, "operator")
		for _, pid := range pids {
			content, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			if err != nil {
				return err
			}
			if err := contains(string(content), flag); err != nil {
				return err
			}
		}
		if len(pids) != count {
			return fmt.Errorf("the processes are %v", pids)
		}
		return nil
	})
}

func (s *suite) serials(t *testing.T) map[string]string {
	t.Helper()
	serials := map[string]string{}
	for _, n := range s.Nodes() {
		certificate, err := servedCertificate(t.Context(), n)
		require.NoError(t, err)
		serials[n.Name()] = certificate.SerialNumber.String()
	}
	return serials
}

func (s *suite) annotation(t *testing.T, secret, annotation string) string {
	t.Helper()
	object, err := s.kube.CoreV1().Secrets(targetNamespace).Get(t.Context(), secret, metav1.GetOptions{})
	require.NoError(t, err)
	return object.Annotations[annotation]
}

func (s *suite) dropAnnotation(t *testing.T, secret, annotation string) {
	t.Helper()
	patch := fmt.Sprintf(`{"metadata": {"annotations": {%q: null}}}`, annotation)
	_, err := s.kube.CoreV1().Secrets(targetNamespace).Patch(t.Context(), secret, types.MergePatchType, []byte(patch),
		metav1.PatchOptions{})
	require.NoError(t, err)
}

// awaitToken waits until every node has a token with another issue time.
func (s *suite) awaitToken(t *testing.T, issued string, limit time.Duration) {
	t.Helper()
	s.await(t, "another token than that of "+issued+" on every node", limit, func(ctx context.Context) error {
		secret, err := s.kube.CoreV1().Secrets(targetNamespace).Get(ctx, kubeToken, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if now := secret.Annotations[RecordsAnnotation]; now == issued || now == "" {
			return fmt.Errorf("its record is %q", now)
		}
		for _, n := range s.Nodes() {
			file, err := os.ReadFile(filepath.Join(n.Root(),
				"etc/kubernetes/static-pod-resources/cloud-controller-manager-certs/secrets/kube-token/token"))
			if err != nil {
				return err
			}
			if !bytes.Equal(file, secret.Data["token"]) {
				return fmt.Errorf("%s has another", n.Name())
			}
		}
		return nil
	})
}

func (s *suite) testExpiredToken(t *testing.T) {
	revision := s.revision(t)
	s.monitor.Expect(
		monitor.NewLeader("the token of every leader expires").Times(3),
		monitor.NoneReady("every cloud-controller-manager has an expired token"),
		monitor.Unavailable("", "an expired token cannot renew the lease"),
		monitor.Degraded("", "an expired token cannot renew the lease"),
	)
	s.scale(t, 0)
	s.awaitOperator(t, "", 0)
	var records map[string]struct{ ExpiresAt time.Time }
	require.NoError(t, json.Unmarshal([]byte(s.annotation(t, kubeToken, RecordsAnnotation)), &records))
	expires := records["token"].ExpiresAt
	require.False(t, expires.IsZero())
	s.await(t, "the token to expire and the leader to lose its lease", tokenLifetime+giveUpLimit, func(ctx context.Context) error {
		if time.Now().Before(expires) {
			return fmt.Errorf("it expires at %s", expires)
		}
		_, lease, err := s.leader(ctx)
		if err != nil {
			return err
		}
		if age := time.Since(lease.Spec.RenewTime.Time); age < time.Duration(*lease.Spec.LeaseDurationSeconds)*time.Second {
			return fmt.Errorf("the lease was renewed %s ago", age)
		}
		return nil
	})
	began := time.Now()
	s.scale(t, 1)
	s.awaitSettled(t, revision, giveUpLimit*2)
	s.requireOneLeader(t)
	s.figure("operator started after the token had expired to clean: %s", rounded(began))
	require.Equal(t, revision, s.revision(t), "no new revision")
	s.patchDeployment(t, types.JSONPatchType, `[{"op": "remove", "path": "/spec/template/spec/containers/0/args/3"},
		{"op": "remove", "path": "/spec/template/spec/containers/0/args/2"}, {"op": "remove", "path": "/spec/template/spec/containers/0/args/1"}]`)
	s.awaitSettled(t, revision, briefly)
}

func (s *suite) scale(t *testing.T, replicas int) {
	t.Helper()
	s.patchDeployment(t, types.MergePatchType, fmt.Sprintf(`{"spec": {"replicas": %d}}`, replicas))
}

// testHalfWrittenCandidate kills the operator after it has written all of a candidate except for the pod.
func (s *suite) testHalfWrittenCandidate(t *testing.T) {
	revision := s.revision(t)
	s.expectRollout("the rest of the candidate is allowed")
	s.monitor.Expect(monitor.Degraded("the test rejects it",
		"the candidate's last part is rejected for longer than the inertia"))
	allow, err := s.RejectUpdates(t.Context(), devcluster.UpdateRejection{
		Resource: "configmaps", Namespace: targetNamespace, Name: "cloud-controller-manager-pod",
		Message: "the test rejects it",
	})
	require.NoError(t, err)
	s.setCloudConfig(t, s.cloudConfig(t)+"internal-lb = true\n")
	s.await(t, "the operator to write the first part and to say what it cannot write", namedLimit, func(ctx context.Context) error {
		secret, err := s.kube.CoreV1().Secrets(targetNamespace).Get(ctx, "cloud-config", metav1.GetOptions{})
		if err != nil {
			return err
		}
		resource, err := s.resource(ctx)
		if err != nil {
			return err
		}
		for _, c := range resource.Status.Conditions {
			if c.Type == "TargetConfigControllerDegraded" {
				return errors.Join(contains(string(secret.Data["cloud.conf"]), "internal-lb = true"),
					contains(c.Message, "configmap/cloud-controller-manager-pod in openshift-cloud-controller-manager",
						"the test rejects it"))
			}
		}
		return errors.New("it says nothing")
	})
	s.killOperator(t)
	killed := time.Now()
	s.await(t, "the operator to work again and to be rejected again", giveUpLimit, func(context.Context) error {
		rejected := 0
		s.eachRequest(t, "cloud-controller-manager-pod", func(e *auditEvent) {
			if e.User.Username == ours[0] && e.ObjectRef.Name == "cloud-controller-manager-pod" &&
				e.ResponseStatus.Code == http.StatusUnprocessableEntity &&
				e.StageTimestamp.After(killed) {
				rejected++
			}
		})
		if rejected == 0 {
			return errors.New("it was not")
		}
		return nil
	})
	require.Equal(t, revision, s.revision(t), "it did not become a revision")
	require.NoError(t, allow(t.Context()))
	require.Equal(t, revision+1, s.awaitSettled(t, revision+1, rolloutLimit))
	copied, err := s.kube.CoreV1().Secrets(targetNamespace).Get(t.Context(), fmt.Sprintf("cloud-config-%d", revision+1),
		metav1.GetOptions{})
	require.NoError(t, err)
	require.Contains(t, string(copied.Data["cloud.conf"]), "internal-lb = true")
}

func (s *suite) testRedeployment(t *testing.T) {
	revision := s.revision(t)
	s.forceRedeployment(t)
	require.Equal(t, revision+1, s.awaitSettled(t, revision+1, rolloutLimit))
}

// forceRedeployment begins a rollout that no preflight holds up, because the cloud-controller-manager starts with the
// same.
func (s *suite) forceRedeployment(t *testing.T) {
	t.Helper()
	s.expectRollout("a redeployment is forced")
	s.redeploy(t)
}

func (s *suite) redeploy(t *testing.T) {
	t.Helper()
	_, err := s.dynamic.Resource(ccmv1.Resource).Patch(t.Context(), ccmv1.InstanceName, types.MergePatchType,
		[]byte(`{"spec": {"forceRedeploymentReason": "to see it work"}}`), metav1.PatchOptions{})
	require.NoError(t, err)
}

func (s *suite) testTwoOperators(t *testing.T) {
	revision, containers := s.revision(t), s.operands.containers()
	s.scale(t, 2)
	s.awaitOperator(t, "", 2)
	leading := s.awaitOperatorLeads(t, "")
	on, _, _ := strings.Cut(leading, "_")
	pids := s.processesOn(t, on, operatorBinary, "operator")
	require.Len(t, pids, 1)
	require.NoError(t, syscall.Kill(pids[0], syscall.SIGKILL))
	s.awaitOperatorLeads(t, leading)
	s.scale(t, 1)
	require.Equal(t, revision, s.awaitSettled(t, revision, giveUpLimit), "no new revision")
	require.Equal(t, containers, s.operands.containers(), "no container was restarted")
}

// operatorHolder is the identity of the operator that leads, "" if none does: an operator releases its lease at its end.
func (s *suite) operatorHolder(ctx context.Context) (string, error) {
	lease, err := s.kube.CoordinationV1().Leases(operatorNamespace).Get(ctx, operatorLock, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	return ptr.Deref(lease.Spec.HolderIdentity, ""), nil
}

// awaitOperatorLeads waits for an operator to lead whose identity does not begin with former, which "" leaves open, and
// returns that identity. One on a node's name and an underscore excludes the node.
func (s *suite) awaitOperatorLeads(t *testing.T, former string) string {
	t.Helper()
	var holder string
	s.await(t, "an operator to lead", operatorLimit, func(ctx context.Context) (err error) {
		holder, err = s.operatorHolder(ctx)
		if err == nil && (holder == "" || former != "" && strings.HasPrefix(holder, former)) {
			err = fmt.Errorf("its lease is held by %q", holder)
		}
		return err
	})
	return holder
}

// testOutage stops the API server until the leading cloud-controller-manager exits.
func (s *suite) testOutage(t *testing.T) {
	revision := s.revision(t)
	leader := s.requireOneLeader(t)
	leading := s.processesOn(t, leader, operandBinary, "")
	require.Len(t, leading, 1)
	s.monitor.Expect(
		monitor.NewLeader("the leader gave up without an API server").Times(2),
		monitor.Unavailable("", "the lease was not renewed without an API server"),
		monitor.NoneReady("every cloud-controller-manager gave up without an API server"),
	)

	require.NoError(t, s.StopAPIServer(t.Context()))
	require.NoError(t, s.StopEtcd(t.Context()))
	s.await(t, "the leader to give up", giveUpLimit, func(context.Context) error {
		if slices.Equal(s.processesOn(t, leader, operandBinary, ""), leading) {
			return fmt.Errorf("process %d on %s runs", leading[0], leader)
		}
		return nil
	})
	require.NoError(t, s.StartEtcd(t.Context()))
	require.NoError(t, s.StartAPIServer(t.Context()))
	began := time.Now()
	require.Equal(t, revision, s.awaitSettled(t, revision, 2*giveUpLimit), "no new revision")
	s.requireOneLeader(t)
	s.figure("control plane back to clean: %s", rounded(began))
}

func (s *suite) processesOn(t *testing.T, name, program, argument string) []int {
	t.Helper()
	return slices.DeleteFunc(s.processes(t, program, argument), func(pid int) bool {
		n := s.nodeOf(pid)
		return n == nil || n.Name() != name
	})
}

// testNodeCrash stops the node with the most leaders.
func (s *suite) testNodeCrash(t *testing.T) {
	revision := s.revision(t)
	leader := s.requireOneLeader(t)
	crashed := s.Node(leader)
	s.monitor.Expect(
		monitor.NewLeader("the leader's node crashed"),
		monitor.Degraded("", "a control-plane node is away for longer than a reboot takes"),
	)
	began := time.Now()
	require.NoError(t, crashed.Kill())
	s.await(t, "another leader", giveUpLimit, func(ctx context.Context) error {
		now, lease, err := s.leader(ctx)
		if err != nil {
			return err
		}
		if now == leader {
			return fmt.Errorf("%s holds the lease, renewed %s", leader, lease.Spec.RenewTime)
		}
		return nil
	})
	s.figure("crash of the leader's node to another leader: %s", rounded(began))

	began = time.Now()
	require.NoError(t, crashed.Restart(t.Context()))
	require.Equal(t, revision, s.awaitSettled(t, revision, giveUpLimit), "no new revision")
	s.await(t, leader+" to be Ready", briefly, func(ctx context.Context) error { return s.ready(ctx, leader) })
	s.figure("start of the crashed node to clean: %s", rounded(began))
}

func (s *suite) ready(ctx context.Context, name string) error {
	object, err := s.kube.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	conditions := map[corev1.NodeConditionType]corev1.ConditionStatus{}
	for _, c := range object.Status.Conditions {
		conditions[c.Type] = c.Status
	}
	if conditions[corev1.NodeReady] != corev1.ConditionTrue {
		return fmt.Errorf("it has %v", conditions)
	}
	return nil
}
