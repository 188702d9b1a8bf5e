package e2e

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/e2e/internal/monitor"
)

// pairFaults are two faults at once, each of which is harmless alone.
func pairFaults() []fault {
	return []fault{
		{
			name:   "the operator and the leading process are killed at once",
			unseen: "their kubelets restart them, and the next operator releases the lease with an event",
			allows: allowance{withoutLeader: operatorBack + standbyAsks,
				why: "the lease is released once the next operator acts, and a process asks for it every 26 to 57 s"},
			inject: func(f *running, t *testing.T) func(*testing.T) {
				f.awaitSettledLeader(t)
				f.killOperatorBriefly(t)
				f.signal(t, f.leader, syscall.SIGKILL)
				f.began = time.Now()
				return func(t *testing.T) {
					f.awaitSign(t, sign{event: "LeaseReleased", message: `its holder .* on node/` + f.leader + ` has ended`})
					f.figure("operator and leader killed to the release of the lease: %s", rounded(f.began))
				}
			},
		},
		{
			name: "the leader's Node is deleted without a cordon during a rollout",
			shows: sign{condition: "ControlPlaneNodesDegraded",
				message: "node/{node} vanished while the static pod cloud-controller-manager ran there, 2 of 3"},
			allows: allowance{revisions: 1},
			inject: func(f *running, t *testing.T) func(*testing.T) {
				f.awaitInstaller(t, f.change(t), "")
				f.node = f.Node(f.leader)
				f.monitor.Expect(monitor.NodeDeleted(f.leader, "the test deletes it"))
				f.invariants.forgetNode(f.leader)
				require.NoError(t, f.kube.CoreV1().Nodes().Delete(t.Context(), f.leader, metav1.DeleteOptions{}))
				f.began = time.Now()
				return func(t *testing.T) { require.NoError(t, f.node.RestartKubelet(t.Context())) }
			},
		},
		{
			name:   "every request waits for the API server while the credentials are rotated",
			unseen: "everything works, only later; a slow API server is reported by its own operator",
			allows: allowance{revisions: 1, noneReady: reportAgain, why: noHeartbeats},
			inject: func(f *running, t *testing.T) func(*testing.T) {
				restore := f.slowServer(t, "kube-apiserver")
				require.NoError(t, f.Cloud().SetPassword(fmt.Sprintf("rotated-%d-5c7e90d4a1b2", time.Now().UnixNano())))
				f.invariants.keepSecret(t)
				f.setCredentials(t, f.Cloud().CloudsYAML())
				f.wanted = f.revision + 1
				return func(t *testing.T) {
					defer restore()
					f.await(t, "a leader with the new credentials", newKeyLimit, f.leadsWith(f.wanted))
					f.figure("credentials replaced while the API server is slow, to a leader with them: %s", rounded(f.began))
				}
			},
		},
	}
}
