package removal

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"

	ccmv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
)

// Each sync is that of a new process, so the removal goes on after the operator ended anywhere.
func TestARemovalFromBeginningToEnd(t *testing.T) {
	w := newWorld(t, master("master-0", "True"), master("master-1", "True"), staticPodOn("master-0"), staticPodOn("master-1"),
		pod("installer-7-master-0", "installer", "master-0", corev1.PodSucceeded), leaseOf("master-1_uid"),
		pod("preflight", "cloud-controller-manager-preflight", "master-0", corev1.PodRunning), preflightLease(),
		&corev1.Secret{ObjectMeta: meta("cloud-controller-manager-preflight")},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: operand.Namespace, Name: "cloud-controller-manager-pod", Annotations: map[string]string{
			"cloud-controller-manager.openshift.io/accepted-input": "digest",
			"cloud-controller-manager.openshift.io/kept-settings":  `{"mode":"old"}`,
			"cloud-controller-manager.openshift.io/rendered-by":    "4.22.0",
		}}}, &corev1.ConfigMap{ObjectMeta: meta("cloud-controller-manager-pod-7")},
		&corev1.ConfigMap{ObjectMeta: meta("revision-status-7")}, &corev1.ConfigMap{ObjectMeta: meta("client-ca")},
		&corev1.ConfigMap{ObjectMeta: meta("node-files")}, &corev1.ConfigMap{ObjectMeta: meta("serving-ca")},
		&corev1.ConfigMap{ObjectMeta: meta("kube-root-ca.crt")}, &corev1.ConfigMap{ObjectMeta: meta("of-others")},
		&corev1.Secret{ObjectMeta: meta("cloud-config-7")}, &corev1.Secret{ObjectMeta: meta("accepted-inputs")},
		&corev1.Secret{ObjectMeta: meta("cloud-node-manager-config")}, &corev1.Secret{ObjectMeta: meta("openstack-cloud-credentials")},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "openshift-cloud-controller-manager-operator", Name: "signer"}},
	)
	w.syncs(t, 1)
	require.Equal(t, "True RemovingStaticPods: removing the static pods and their files from the control-plane nodes", w.condition("Removing"))
	require.Empty(t, w.writes(), "the step is persisted before anything else changes")

	w.syncs(t, 2)
	require.Equal(t, []string{"create pods removal-master-0", "create pods removal-master-1"}, w.writes())
	require.Equal(t, []operatorv1.NodeStatus{{NodeName: "new"}}, w.status.NodeStatuses)
	require.Equal(t, "True RemovingStaticPods: waiting for node/master-0: pod/removal-master-0 is , node/master-1: pod/removal-master-1 is",
		w.condition("Removing"))

	for _, node := range []string{"master-0", "master-1"} {
		w.delete(t, operand.Name+"-"+node)
		w.end(t, "removal-"+node, corev1.PodSucceeded, "")
	}
	w.writes()
	w.syncs(t, 1)
	require.Equal(t, "True RemovingObjects: removing the objects that the operator created", w.condition("Removing"))
	require.Empty(t, w.writes())

	w.syncs(t, 5)
	require.Equal(t, "True Removed: the cloud-controller-manager is removed: nothing initializes new nodes or updates load balancers; set spec.managementState to Managed to install it again", w.condition("Removing"))
	require.Equal(t, "False AsExpected:", w.condition("RemovalDegraded"))
	require.Empty(t, w.condition("StaticPodsAvailable"))
	require.Empty(t, w.condition("StaticPodsDegraded"))
	require.NotEmpty(t, w.condition("CloudControllerManagerAvailable"))
	require.Equal(t, []string{"configmap/kube-root-ca.crt", "configmap/of-others", "secret/openstack-cloud-credentials"}, w.existing(t))
	lease, err := w.kube.CoordinationV1().Leases(operand.Namespace).Get(t.Context(), operand.Lease, metav1.GetOptions{})
	require.NoError(t, err)
	require.Empty(t, *lease.Spec.HolderIdentity)
	leases, err := w.kube.CoordinationV1().Leases(operand.Namespace).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, leases.Items, 1, "nothing is left of a preflight")

	require.Equal(t, map[string]string{
		"cloudcontrollermanager.operator.openshift.io/confirmed-removal": "3",
		"cloud-controller-manager.openshift.io/accepted-input":           "digest",
		"cloud-controller-manager.openshift.io/kept-settings":            `{"mode":"old"}`,
	}, w.meta.Annotations, "the next installation is not the first one")
	require.Subset(t, w.reasons(), []string{"RemovalStarted", "StaticPodsRemoved", "Removed"})

	w.writes()
	w.syncs(t, 2)
	require.Empty(t, w.writes(), "nothing remains to do")
}

func TestWhenARemovalBegins(t *testing.T) {
	const message = "Blocked: spec.managementState is Removed, but these nodes wait for the cloud-controller-manager to initialize them: " +
		"node/worker-0, node/worker-1; wait until they are initialized, delete them, or set spec.removalPolicy to Force"
	waiting := []runtime.Object{
		master("worker-1", "True", controlplane.UninitializedTaint), master("worker-0", "False", "other", controlplane.UninitializedTaint), master("worker-2", "True", "other"),
	}
	asked := master("worker-3", "True", controlplane.UninitializedTaint)
	asked.Spec.Taints[0].Effect = corev1.TaintEffectPreferNoSchedule
	for name, tc := range map[string]struct {
		change       func(*world)
		nodes        []runtime.Object
		removing     string
		wantDegraded string
		wantErr      string
	}{
		"every node is initialized":           {nodes: waiting[2:], removing: "True RemovingStaticPods: removing the static pods and their files from the control-plane nodes", wantDegraded: "False AsExpected:"},
		"node deletion asks about a node":     {nodes: []runtime.Object{asked}, removing: "True RemovingStaticPods: removing the static pods and their files from the control-plane nodes", wantDegraded: "False AsExpected:"},
		"nodes wait to be initialized":        {nodes: waiting, removing: "False " + message, wantDegraded: "True " + message},
		"nodes wait, but the policy is Force": {nodes: waiting, change: func(w *world) { w.policy = ccmv1.CloudControllerManagerRemovalPolicyForce }, removing: "True RemovingStaticPods: removing the static pods and their files from the control-plane nodes", wantDegraded: "False AsExpected:"},
		"it is not requested":                 {change: func(w *world) { w.spec.ManagementState = operatorv1.Managed }},
		"the platform has nothing to remove":  {change: func(w *world) { w.spec.ObservedConfig.Raw = []byte(`{"platform":"none"}`) }},
		"the platform is unknown":             {change: func(w *world) { w.spec.ObservedConfig.Raw = []byte(`{}`) }},
		"there is no operator resource":       {change: func(w *world) { w.missing = true }},
		"the nodes cannot be read": {
			change: func(w *world) {
				w.forbidden = true
			},
			wantErr: "listing nodes: forbidden",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, tc.nodes...)
			if tc.change != nil {
				tc.change(w)
			}
			if err := w.sync(t); tc.wantErr != "" {
				require.EqualError(t, err, tc.wantErr)
			} else {
				require.NoError(t, err)
			}
			require.Equal(t, tc.removing, w.condition("Removing"))
			require.Equal(t, tc.wantDegraded, w.condition("RemovalDegraded"))
			require.Empty(t, w.writes())
			require.Len(t, w.status.NodeStatuses, 3)
		})
	}
}

func TestABlockedRemovalIsForgottenWhenItIsNoLongerRequested(t *testing.T) {
	w := newWorld(t, master("worker-0", "True", controlplane.UninitializedTaint))
	w.syncs(t, 1)
	require.NotEmpty(t, w.condition("RemovalDegraded"))
	w.spec.ManagementState = operatorv1.Managed
	w.syncs(t, 2)
	require.Empty(t, w.condition("Removing"))
	require.Empty(t, w.condition("RemovalDegraded"))
	require.Len(t, w.status.Conditions, 3)
}

func TestWhatANodeWaitsFor(t *testing.T) {
	const notReady = "True NodesNotClean: node/master-0 does not report, so its static pod cannot be removed: " +
		"start its kubelet, or delete the Node if the machine is gone"
	for name, tc := range map[string]struct {
		node         *corev1.Node
		pods         []runtime.Object
		fail         string
		ahead        time.Duration
		later        bool
		want         string
		wantDegraded string
		wantWrites   []string
	}{
		"a worker's kubelet has taken the name of the removal pod": {
			pods:       []runtime.Object{pod("removal-master-0", "removal", "worker-0", corev1.PodSucceeded)},
			want:       "waiting for node/master-0: the end of pod/removal-master-0 on node/worker-0",
			wantWrites: []string{"delete pods removal-master-0"},
		},
		"an installer that writes is ended first": {
			pods: []runtime.Object{pod("installer-7-master-0", "installer", "master-0", corev1.PodRunning)},
			want: "waiting for node/master-0: the end of pod/installer-7-master-0", wantWrites: []string{"delete pods installer-7-master-0"},
		},
		"so is a pruner": {
			pods: []runtime.Object{pod("revision-pruner-7-master-0", "pruner", "master-0", corev1.PodPending)},
			want: "waiting for node/master-0: the end of pod/revision-pruner-7-master-0", wantWrites: []string{"delete pods revision-pruner-7-master-0"},
		},
		"so is a pod that would put a manifest back": {
			pods: []runtime.Object{pod("handover-leave-master-0", "handover", "master-0", corev1.PodRunning)},
			want: "waiting for node/master-0: the end of pod/handover-leave-master-0", wantWrites: []string{"delete pods handover-leave-master-0"},
		},
		"an installer that has ended does not matter, nor one on another node": {
			pods: []runtime.Object{
				pod("installer-7-master-0", "installer", "master-0", corev1.PodSucceeded), pod("installer-7-gone", "installer", "gone", corev1.PodRunning),
			},
			want: "waiting for node/master-0: pod/removal-master-0", wantWrites: []string{"create pods removal-master-0"},
		},
		"a node that does not report gets its pod too, and is named": {
			node: master("master-0", "Unknown"),
			want: "waiting for node/master-0: pod/removal-master-0", wantWrites: []string{"create pods removal-master-0"}, wantDegraded: notReady,
		},
		"a node that is not ready reports why its pod failed": {
			node: master("master-0", "False"),
			pods: []runtime.Object{pod("removal-master-0", "removal", "master-0", corev1.PodPending)}, fail: "disk full",
			want:         "waiting for node/master-0: another pod/removal-master-0",
			wantDegraded: "True NodesNotClean: pod/removal-master-0 in openshift-cloud-controller-manager failed: disk full",
		},
		"a pod whose image cannot be pulled": {
			pods: []runtime.Object{stuckPod(corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: "registry: connection refused"})},
			want: "waiting for node/master-0: pod/removal-master-0 is Pending",
			wantDegraded: "True NodesNotClean: pod/removal-master-0 in openshift-cloud-controller-manager does not start: " +
				"registry: connection refused",
		},
		"a pod that waits without a message": {
			pods:         []runtime.Object{stuckPod(corev1.ContainerStateWaiting{Reason: "ImageInspectError"})},
			want:         "waiting for node/master-0: pod/removal-master-0 is Pending",
			wantDegraded: "True NodesNotClean: pod/removal-master-0 in openshift-cloud-controller-manager does not start: ImageInspectError",
		},
		"a pod that starts": {
			pods: []runtime.Object{stuckPod(corev1.ContainerStateWaiting{Reason: "ContainerCreating"})},
			want: "waiting for node/master-0: pod/removal-master-0 is Pending",
		},
		"a pod that runs": {
			pods: []runtime.Object{pod("removal-master-0", "removal", "master-0", corev1.PodRunning)},
			want: "waiting for node/master-0: pod/removal-master-0 is Running",
		},
		"a pod that failed stays for its log": {
			pods: []runtime.Object{pod("removal-master-0", "removal", "master-0", corev1.PodPending)}, fail: "disk full",
			want:         "waiting for node/master-0: another pod/removal-master-0",
			wantDegraded: "True NodesNotClean: pod/removal-master-0 in openshift-cloud-controller-manager failed: disk full",
		},
		"and is replaced then": {
			pods: []runtime.Object{pod("removal-master-0", "removal", "master-0", corev1.PodPending)}, fail: "disk full", later: true,
			want:         "waiting for node/master-0: another pod/removal-master-0",
			wantDegraded: "True NodesNotClean: pod/removal-master-0 in openshift-cloud-controller-manager failed: disk full",
			wantWrites:   []string{"delete pods removal-master-0"},
		},
		"so it is if the clock of its node is an hour ahead": {
			pods: []runtime.Object{pod("removal-master-0", "removal", "master-0", corev1.PodPending)}, fail: "disk full", ahead: time.Hour, later: true,
			want:         "waiting for node/master-0: another pod/removal-master-0",
			wantDegraded: "True NodesNotClean: pod/removal-master-0 in openshift-cloud-controller-manager failed: disk full",
			wantWrites:   []string{"delete pods removal-master-0"},
		},
		"a pod that has just been deleted": {
			pods: []runtime.Object{keptPod("removal-master-0", "removal", 10*time.Second)},
			want: "waiting for node/master-0: the end of pod/removal-master-0",
		},
		"a pod that another's finalizer keeps": {
			pods: []runtime.Object{keptPod("removal-master-0", "removal", -finalizerLimit)},
			want: "waiting for node/master-0: the end of pod/removal-master-0",
			wantDegraded: "True NodesNotClean: pod/removal-master-0 in openshift-cloud-controller-manager: its finalizers keep " +
				"it, remove them if nothing else does: [example.com/kept]",
		},
		"an installer that another's finalizer keeps": {
			pods: []runtime.Object{keptPod("installer-7-master-0", "installer", -finalizerLimit)},
			want: "waiting for node/master-0: the end of pod/installer-7-master-0",
			wantDegraded: "True NodesNotClean: pod/installer-7-master-0 in openshift-cloud-controller-manager: its finalizers " +
				"keep it, remove them if nothing else does: [example.com/kept]",
		},
		"a static pod that was installed since is removed again": {
			pods: []runtime.Object{pod("removal-master-0", "removal", "master-0", corev1.PodSucceeded), staticPodOn("master-0")},
			want: "waiting for node/master-0: another pod/removal-master-0", wantWrites: []string{"delete pods removal-master-0"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			node := tc.node
			if node == nil {
				node = master("master-0", "True")
			}
			w := newWorld(t, append(tc.pods, node)...)
			w.syncs(t, 1)
			if tc.fail != "" {
				now := w.clock.Now()
				w.clock.SetTime(now.Add(tc.ahead))
				w.end(t, "removal-master-0", corev1.PodFailed, tc.fail)
				w.clock.SetTime(now)
				w.writes()
			}
			if tc.later {
				w.clock.Step(retryPeriod)
			}
			w.syncs(t, 1)
			require.Equal(t, "True RemovingStaticPods: "+tc.want, w.condition("Removing"))
			if tc.wantDegraded == "" {
				tc.wantDegraded = "False AsExpected:"
			}
			require.Equal(t, tc.wantDegraded, w.condition("RemovalDegraded"))
			require.Equal(t, tc.wantWrites, w.writes())
		})
	}
}

// keptPod returns a pod on master-0 with a finalizer, which is to have ended after a time that may be negative.
func keptPod(name, app string, after time.Duration) *corev1.Pod {
	kept := pod(name, app, "master-0", corev1.PodRunning)
	kept.DeletionTimestamp = &metav1.Time{Time: worldStart().Add(after)}
	kept.Finalizers = []string{"example.com/kept"}
	return kept
}

func stuckPod(waiting corev1.ContainerStateWaiting) *corev1.Pod {
	stuck := pod("removal-master-0", "removal", "master-0", corev1.PodPending)
	stuck.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{Waiting: &waiting}}}
	return stuck
}

func TestADeletedNodeNeedsNoRemoval(t *testing.T) {
	w := newWorld(t, staticPodOn("master-0"))
	w.syncs(t, 2)
	require.Equal(t, "True RemovingObjects: removing the objects that the operator created", w.condition("Removing"))
}

func TestAStaticPodThatComesBackIsRemoved(t *testing.T) {
	w := newWorld(t, master("master-0", "True"), staticPodOn("master-0"))
	w.status.Conditions = []operatorv1.OperatorCondition{{Type: "Removing", Status: "True", Reason: "Removed"}}
	w.syncs(t, 1)
	require.Equal(t, "True RemovingStaticPods: removing the static pods and their files from the control-plane nodes", w.condition("Removing"))
	w.syncs(t, 1)
	require.Equal(t, []string{"create pods removal-master-0"}, w.writes())
}

func TestARemovalIsTakenBack(t *testing.T) {
	for _, step := range []string{"RemovingStaticPods", "RemovingObjects", "Removed", "Restoring"} {
		t.Run("after "+step, func(t *testing.T) {
			w := newWorld(t, master("master-0", "True"), pod("removal-master-0", "removal", "master-0", corev1.PodRunning),
				pod("installer-7-master-0", "installer", "master-0", corev1.PodSucceeded))
			w.spec.ManagementState = operatorv1.Managed
			w.status.Conditions = []operatorv1.OperatorCondition{{Type: "Removing", Status: "True", Reason: step}}
			w.syncs(t, 1)
			require.Equal(t, "True Restoring: waiting for the end of pod/installer-7-master-0 on node/master-0, "+
				"the end of pod/removal-master-0 on node/master-0", w.condition("Removing"))
			w.syncs(t, 1)
			require.Empty(t, w.status.Conditions)
			require.Empty(t, w.existing(t))
			require.Contains(t, w.reasons(), "RemovalEnded")
		})
	}
}

// Only its kubelet could end the pod. Other nodes have no static pod meanwhile, or the objects would stay for ever.
func TestNothingWaitsForThePodsOfANodeThatDoesNotReport(t *testing.T) {
	for name, tc := range map[string]struct {
		app, step, want string
		state           operatorv1.ManagementState
	}{
		"a return":                    {app: "removal", step: "RemovingStaticPods", state: operatorv1.Managed},
		"the deletion of the objects": {app: operand.PreflightName, step: "RemovingObjects", state: operatorv1.Removed, want: "True Removed: " + stepMessages["Removed"]},
	} {
		t.Run(name, func(t *testing.T) {
			stuck := pod(tc.app+"-master-1", tc.app, "master-1", corev1.PodPending)
			stuck.DeletionTimestamp, stuck.Finalizers = ptr.To(metav1.Now()), []string{"kubelet"}
			w := newWorld(t, master("master-0", "True"), master("master-1", "Unknown"), stuck)
			w.spec.ManagementState, w.static = tc.state, 0
			w.status.Conditions = []operatorv1.OperatorCondition{{Type: "Removing", Status: "True", Reason: tc.step}}
			w.syncs(t, 2)
			require.Equal(t, tc.want, w.condition("Removing"))
		})
	}
}

// The ClusterOperator would show them while the removal waits for a node, perhaps for days.
func TestTheConditionsOfStoppedControllersGoWhileTheNodesAreCleaned(t *testing.T) {
	w := newWorld(t, master("master-0", "Unknown"))
	w.status.Conditions = append(w.status.Conditions, operatorv1.OperatorCondition{Type: "TakingOver", Status: "True"})
	w.syncs(t, 2)
	left := []string{"CloudControllerManagerAvailable", "TakingOver", "RemovalDegraded", "Removing"}
	require.Equal(t, left, w.conditionTypes())
	w.status.Conditions = append(w.status.Conditions, operatorv1.OperatorCondition{Type: "ConfigObservationDegraded", Status: "True"})
	w.syncs(t, 1)
	require.Contains(t, w.conditionTypes(), "ConfigObservationDegraded", "what a controller writes that still acts")
}

func (w *world) conditionTypes() []string {
	var types []string
	for _, condition := range w.status.Conditions {
		types = append(types, condition.Type)
	}
	return types
}

func TestAnInterruptedReturnIsRemovedAgain(t *testing.T) {
	w := newWorld(t, master("master-0", "True"))
	w.status.Conditions = []operatorv1.OperatorCondition{{Type: "Removing", Status: "True", Reason: "Restoring"}}
	w.syncs(t, 1)
	require.Equal(t, "True RemovingStaticPods: removing the static pods and their files from the control-plane nodes", w.condition("Removing"))
}

func TestRemovalPodsEndWithTheResourceThatAskedForThem(t *testing.T) {
	w := newWorld(t, master("master-0", "Unknown"), pod("removal-master-0", "removal", "master-0", corev1.PodPending))
	w.spec.ManagementState, w.status = operatorv1.Managed, operatorv1.StaticPodOperatorStatus{} // it was created again
	w.syncs(t, 2)
	require.Equal(t, []string{"delete pods removal-master-0"}, w.writes())
	require.Empty(t, w.status.Conditions)
}

func TestAPlatformThatLostItsOperandEndsTheRemoval(t *testing.T) {
	w := newWorld(t)
	w.spec.ObservedConfig.Raw = []byte(`{"platform":"none"}`)
	w.status.Conditions = []operatorv1.OperatorCondition{{Type: "Removing", Status: "True", Reason: "Removed"}}
	w.syncs(t, 1)
	require.Empty(t, w.status.Conditions)
}

func TestTheLeaseOfAnotherStays(t *testing.T) {
	for name, tc := range map[string]struct {
		holder string
		pods   []runtime.Object
		want   string
	}{
		"ours is freed":                      {holder: "master-0_uid"},
		"that of another host stays":         {holder: "elsewhere_uid", want: "elsewhere_uid"},
		"so does that of a pod on this node": {holder: "master-0_uid", pods: []runtime.Object{pod("predecessor", "x", "master-0.example.com", corev1.PodRunning)}, want: "master-0_uid"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, append(tc.pods, master("master-0", "True"), leaseOf(tc.holder))...)
			w.status.Conditions = []operatorv1.OperatorCondition{{Type: "Removing", Status: "True", Reason: "RemovingObjects"}}
			w.syncs(t, 3)
			require.Equal(t, "True Removed: the cloud-controller-manager is removed: nothing initializes new nodes or updates load balancers; set spec.managementState to Managed to install it again", w.condition("Removing"))
			lease, err := w.kube.CoordinationV1().Leases(operand.Namespace).Get(t.Context(), operand.Lease, metav1.GetOptions{})
			require.NoError(t, err)
			require.Equal(t, tc.want, *lease.Spec.HolderIdentity)
		})
	}
}

func TestAnErrorNamesTheObjectAndStopsNothingElse(t *testing.T) {
	for name, tc := range map[string]struct{ verb, resource, step, want string }{
		"no removal pod":            {"create", "pods", "RemovingStaticPods", "creating pod/removal-master-0 in openshift-cloud-controller-manager: forbidden"},
		"a pod stays":               {"delete", "pods", "RemovingObjects", "deleting pod/installer-7-master-0 in openshift-cloud-controller-manager: forbidden"},
		"a ConfigMap stays":         {"delete", "configmaps", "RemovingObjects", "deleting configmap/client-ca in openshift-cloud-controller-manager: forbidden"},
		"a Secret stays":            {"delete", "secrets", "RemovingObjects", "deleting secret/kube-token in openshift-cloud-controller-manager: forbidden"},
		"a preflight's lease stays": {"delete", "leases", "RemovingObjects", "deleting lease/cloud-controller-manager-preflight in openshift-cloud-controller-manager: forbidden"},
		"the lease cannot be free":  {"update", "leases", "RemovingObjects", "releasing lease/cloud-controller-manager in openshift-cloud-controller-manager: forbidden"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, master("master-0", "True"), &corev1.ConfigMap{ObjectMeta: meta("client-ca")},
				&corev1.Secret{ObjectMeta: meta("kube-token")}, leaseOf("master-0_uid"), preflightLease())
			if tc.resource == "pods" {
				require.NoError(t, w.kube.Tracker().Add(pod("installer-7-master-0", "installer", "master-0", corev1.PodSucceeded)))
			}
			w.status.Conditions = []operatorv1.OperatorCondition{{Type: "Removing", Status: "True", Reason: tc.step}}
			failing := true
			w.kube.PrependReactor(tc.verb, tc.resource, func(clienttesting.Action) (bool, runtime.Object, error) {
				return failing, nil, errors.New("forbidden")
			})
			require.EqualError(t, w.sync(t), tc.want)
			failing = false
			w.syncs(t, 5)
			if tc.step == "RemovingObjects" {
				require.Equal(t, "True Removed: the cloud-controller-manager is removed: nothing initializes new nodes or updates load balancers; set spec.managementState to Managed to install it again", w.condition("Removing"))
			}
		})
	}
}

// The error becomes a condition, and is retried every 30 seconds at most.
func TestAnObjectThatFinalizersKeepIsNamedAndNotDeletedAgain(t *testing.T) {
	kept := &corev1.ConfigMap{ObjectMeta: meta("client-ca")}
	kept.DeletionTimestamp, kept.Finalizers = ptr.To(metav1.Now()), []string{"example.com/audit", "example.com/backup"}
	w := newWorld(t, kept, &corev1.Secret{ObjectMeta: meta("kube-token")})
	w.status.Conditions = []operatorv1.OperatorCondition{{
		Type: "Removing", Status: "True", Reason: "RemovingObjects", Message: "waiting for pods, which have ended by now",
	}}
	for _, want := range [][]string{{"delete secrets kube-token"}, nil} {
		require.EqualError(t, w.sync(t), "deleting configmap/client-ca in openshift-cloud-controller-manager: its finalizers keep it, "+
			"remove them if nothing else does: [example.com/audit example.com/backup]")
		require.ElementsMatch(t, want, slices.DeleteFunc(w.writes(), func(write string) bool { return strings.HasPrefix(write, "delete leases") }))
	}
	require.Zero(t, w.static, "the rights do not stay")
	require.Equal(t, "True RemovingObjects: "+stepMessages["RemovingObjects"], w.condition("Removing"))
	require.NoError(t, w.kube.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("configmaps"), operand.Namespace, "client-ca"))
	w.syncs(t, 1)
	require.Equal(t, "True Removed: "+stepMessages["Removed"], w.condition("Removing"))
}

func TestAStatusThatChangedMeanwhileIsPatchedLater(t *testing.T) {
	w := newWorld(t)
	var entries operatorclient.Removals
	entries.Add(0, "/status/nodeStatuses", "nodeName", "gone", "")
	require.EqualError(t, entries.Apply(t.Context(), w.operatorResource), "patching the status of cloudcontrollermanager/cluster: Operation cannot be fulfilled on "+
		`cloudcontrollermanagers.operator.openshift.io "cluster": the server rejected our request due to an error in our request`)
	require.Len(t, w.status.NodeStatuses, 3)
}
