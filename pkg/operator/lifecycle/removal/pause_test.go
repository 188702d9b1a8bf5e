package removal

import (
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
)

// Each sync is that of a new process: what the operator saw first is in the condition.
func TestARemovalWaitsForAMinute(t *testing.T) {
	const waiting = "False Waiting: spec.managementState is Removed: from 2026-11-23T09:01:00Z on, every cloud-controller-manager of " +
		"this cluster is removed, and nothing initializes new nodes or updates load balancers then; to keep them, set " +
		"spec.managementState to Managed before; to begin at once, run: oc annotate --overwrite cloudcontrollermanager/cluster " +
		"cloudcontrollermanager.operator.openshift.io/confirmed-removal=3"
	const begun = "True RemovingStaticPods: removing the static pods and their files from the control-plane nodes"
	for name, tc := range map[string]struct {
		after  time.Duration
		change func(*world)
		want   string
	}{
		"at the end of the minute it still waits": {after: 59 * time.Second, want: waiting},
		"then it begins":                               {after: time.Minute, want: begun},
		"an annotation begins it at once":              {after: time.Second, change: func(w *world) { w.confirm("3") }, want: begun},
		"one of a former removal confirms nothing":     {after: time.Second, change: func(w *world) { w.confirm("2") }, want: waiting},
		"it is undone, and nothing has happened":       {after: time.Second, change: func(w *world) { w.spec.ManagementState = operatorv1.Managed }},
		"it is undone, and requested again much later": {after: time.Hour, change: requestAgain, want: "False Waiting: spec.managementState is Removed: from 2026-11-23T10:01:00Z on, " + waiting[len("False Waiting: spec.managementState is Removed: from 2026-11-23T09:01:00Z on, "):]},
		"a node registers meanwhile, and blocks it first": {after: time.Minute, change: func(w *world) {
			require.NoError(w.t, w.kube.Tracker().Add(master("new", "True", controlplane.UninitializedTaint)))
		}, want: "False Blocked: spec.managementState is Removed, but these nodes wait for the cloud-controller-manager to initialize them: node/new; wait until they are initialized, delete them, or set spec.removalPolicy to Force"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, master("master-0", "True"), staticPodOn("master-0"), leaseOf("master-0_uid"))
			w.meta.Annotations = nil
			w.syncs(t, 2)
			require.Equal(t, waiting, w.condition("Removing"))
			require.Equal(t, "False AsExpected:", w.condition("RemovalDegraded"))
			require.Len(t, w.recorder.Events(), 1, "it is announced once")
			require.Equal(t, "RemovalRequested", w.recorder.Events()[0].Reason)
			w.clock.Step(tc.after)
			if tc.change != nil {
				tc.change(w)
			}
			w.syncs(t, 1)
			require.Equal(t, tc.want, w.condition("Removing"))
			require.Empty(t, w.writes())
			require.Len(t, w.status.NodeStatuses, 3)
		})
	}
}

// A large cluster's Nodes are not listed at each event, but always before the removal begins.
func TestWhatBlocksARemovalIsListedNowAndThenAndBeforeItBegins(t *testing.T) {
	w := newWorld(t, master("master-0", "True"))
	w.meta.Annotations = nil
	c, stop := w.process(t)
	t.Cleanup(stop)
	lists := func(after time.Duration) (count int) {
		t.Helper()
		w.clock.Step(after)
		w.kube.ClearActions()
		require.NoError(t, c.sync(t.Context(), factory.NewSyncContext("test", w.recorder)))
		for _, action := range w.kube.Actions() {
			if action.Matches("list", "nodes") {
				count++
			}
		}
		return count
	}
	require.Equal(t, 1, lists(0), "the first time")
	require.Equal(t, 0, lists(9*time.Second), "soon after")
	require.Equal(t, 1, lists(time.Second), "ten seconds later")
	require.Equal(t, 1, lists(45*time.Second))
	require.Equal(t, 0, lists(4*time.Second))
	require.NoError(t, w.kube.Tracker().Add(master("new", "True", controlplane.UninitializedTaint)))
	require.Equal(t, 1, lists(time.Second), "the minute is over")
	require.Contains(t, w.condition("Removing"), "False Blocked: ")
	require.Equal(t, 0, lists(time.Second), "it is blocked")
}

func requestAgain(w *world) {
	w.spec.ManagementState = operatorv1.Managed
	w.syncs(w.t, 1)
	w.spec.ManagementState = operatorv1.Removed
}

func TestTheLeaseOfALeaderThatAnUndoneRemovalEndedIsFree(t *testing.T) {
	for name, tc := range map[string]struct {
		ready  corev1.ConditionStatus
		isOver bool
		want   string
	}{
		"its static pod has ended":             {ready: "True", isOver: true},
		"its static pod runs":                  {ready: "True", want: "master-0_uid"},
		"its kubelet does not report its pods": {ready: "Unknown", isOver: true, want: "master-0_uid"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, master("master-0", "True"), staticPodOn("master-0"), leaseOf("master-0_uid"))
			w.syncs(t, 2)
			w.delete(t, "removal-master-0")
			if tc.isOver {
				w.delete(t, operand.Name+"-master-0")
			}
			node := master("master-0", tc.ready)
			_, err := w.kube.CoreV1().Nodes().UpdateStatus(t.Context(), node, metav1.UpdateOptions{})
			require.NoError(t, err)
			w.spec.ManagementState = operatorv1.Managed
			w.syncs(t, 1)
			require.Empty(t, w.condition("Removing"))
			lease, err := w.kube.CoordinationV1().Leases(operand.Namespace).Get(t.Context(), operand.Lease, metav1.GetOptions{})
			require.NoError(t, err)
			require.Equal(t, tc.want, *lease.Spec.HolderIdentity)
		})
	}
}
