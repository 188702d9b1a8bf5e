package takeover

import (
	"context"
	"slices"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	applyoperatorv1 "github.com/openshift/client-go/operator/applyconfigurations/operator/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/predecessor"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/controllertest"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/controlplanetest"
)

const (
	namespace = "openshift-cloud-controller-manager"
	old       = "openstack-cloud-controller-manager"
)

var leases = coordinationv1.SchemeGroupVersion.WithResource("leases")

// topologies are those by the number of control-plane nodes.
var topologies = map[int]configv1.TopologyMode{
	1: configv1.SingleReplicaTopologyMode, 3: configv1.HighlyAvailableTopologyMode,
}

var begin = time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)

// cluster is what the caches have, and the controller.
type cluster struct {
	*controller
	caches   informers.SharedInformerFactory
	kube     *fake.Clientset
	status   *operatorv1.StaticPodOperatorStatus
	recorder events.InMemoryRecorder
	inTree   bool
}

// merging applies to what is there, as an API server does. The fake replaces the nodes.
type merging struct {
	v1helpers.StaticPodOperatorClient
	*cluster
}

func (m merging) GetStaticPodOperatorState() (
	*operatorv1.StaticPodOperatorSpec, *operatorv1.StaticPodOperatorStatus, string, error,
) {
	spec, _, version, err := m.StaticPodOperatorClient.GetStaticPodOperatorState()
	return spec, m.status, version, err
}

func (m merging) ApplyOperatorStatus(
	_ context.Context,
	_ string,
	applied *applyoperatorv1.OperatorStatusApplyConfiguration,
) error {
	m.status.Conditions = nil
	for _, c := range applied.Conditions {
		m.status.Conditions = append(m.status.Conditions, operatorv1.OperatorCondition{
			Type: *c.Type, Status: *c.Status, Reason: *c.Reason, Message: ptr.Deref(c.Message, ""),
		})
	}
	return nil
}

// newCluster has the given control-plane nodes and the predecessor's Deployment with a pod on each of the occupied
// ones.
// The predecessor's pod on the first of these leads.
func newCluster(t *testing.T, flag string, nodes []string, occupied ...string) *cluster {
	t.Helper()
	clock := clocktesting.NewFakePassiveClock(begin)
	kube := fake.NewClientset()
	c := &cluster{
		caches: informers.NewSharedInformerFactory(kube, 0), kube: kube,
		status:   &operatorv1.StaticPodOperatorStatus{OperatorStatus: operatorv1.OperatorStatus{LatestAvailableRevision: 1}},
		recorder: events.NewInMemoryRecorder("test", clock),
	}
	core := c.caches.Core().V1()
	c.controller = &controller{Deps: controllertest.Complete(t, dependencies.Deps{
		Operator: merging{
			v1helpers.NewFakeStaticPodOperatorClient(&operatorv1.StaticPodOperatorSpec{OperatorSpec: operatorv1.OperatorSpec{
				ObservedConfig: runtime.RawExtension{Raw: []byte(`{"platform": "openstack"}`)},
			}}, c.status, nil, nil),
			c,
		},
		Lease: &controlplane.Lease{}, Kube: kube, Target: c.caches,
		Infrastructures: controlplanetest.Infrastructures(topologies[len(nodes)]), Clock: clock, Recorder: c.recorder,
	}), namespaces: core.Namespaces(), inTree: func(context.Context) (bool, error) { return c.inTree, nil }}
	for _, node := range nodes {
		c.status.NodeStatuses = append(c.status.NodeStatuses, operatorv1.NodeStatus{NodeName: node})
		c.add(t, &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: node},
			Status: corev1.NodeStatus{
				Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
			},
		})
	}
	c.add(
		t,
		&corev1.Namespace{
			ObjectMeta: metav1.ObjectMeta{
				Name:   namespace,
				Labels: map[string]string{"openshift.io/run-level": "0", "other": ""},
			},
		},
	)
	if len(occupied) == 0 {
		return c
	}
	labels := map[string]string{"infrastructure.openshift.io/cloud-controller-manager": "OpenStack"}
	c.add(t, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: old, UID: "1", Labels: labels}})
	for _, node := range occupied {
		c.add(t, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: old + "-" + node, Labels: labels},
			Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{
				Command: []string{"/bin/bash", "-c", "exec /bin/" + old + " \\\n--v=1 " + flag + "\n"},
			}}},
		})
	}
	c.lead(t, occupied[0], begin.Add(-time.Hour))
	return c
}

func (c *cluster) lead(t *testing.T, node string, since time.Time) {
	t.Helper()
	_ = c.kube.Tracker().Delete(leases, namespace, "cloud-controller-manager")
	c.add(t, &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "cloud-controller-manager"},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: ptr.To(node + "_6b1f"), LeaseDurationSeconds: ptr.To[int32](137),
			AcquireTime: ptr.To(
				metav1.NewMicroTime(since),
			), RenewTime: ptr.To(metav1.NewMicroTime(begin.Add(-10 * time.Second))),
		},
	})
}

// add puts an object into the API and the caches.
func (c *cluster) add(t *testing.T, object runtime.Object) {
	t.Helper()
	require.NoError(t, c.kube.Tracker().Add(object))
	core := c.caches.Core().V1()
	switch object := object.(type) {
	case *corev1.Pod:
		require.NoError(t, core.Pods().Informer().GetStore().Add(object))
	case *corev1.Node:
		require.NoError(t, core.Nodes().Informer().GetStore().Add(object))
	case *corev1.Namespace:
		require.NoError(t, core.Namespaces().Informer().GetStore().Add(object))
	case *appsv1.Deployment:
		require.NoError(t, c.caches.Apps().V1().Deployments().Informer().GetStore().Add(object))
	case *coordinationv1.Lease:
		c.Lease.See(object, c.Clock.Now())
	}
}

// standBy installs a Ready static pod whose container has run for a minute.
func (c *cluster) standBy(t *testing.T, nodes ...string) {
	t.Helper()
	for _, node := range nodes {
		i := slices.IndexFunc(c.status.NodeStatuses, func(s operatorv1.NodeStatus) bool { return s.NodeName == node })
		c.status.NodeStatuses[i].CurrentRevision = 1
		c.add(t, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: namespace,
				Name:      "cloud-controller-manager-" + node,
				Labels:    map[string]string{"app": "cloud-controller-manager"},
			},
			Spec: corev1.PodSpec{NodeName: node},
			Status: corev1.PodStatus{
				Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
				ContainerStatuses: []corev1.ContainerStatus{{
					Name: "cloud-controller-manager",
					State: corev1.ContainerState{
						Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(begin.Add(-time.Minute))},
					},
				}},
			},
		})
	}
}

// staticPod returns the static pod of a node, which may be changed.
func (c *cluster) staticPod(t *testing.T, node string) *corev1.Pod {
	t.Helper()
	pod, err := c.Target.Core().V1().Pods().Lister().Pods(namespace).Get("cloud-controller-manager-" + node)
	require.NoError(t, err)
	return pod
}

// end removes the predecessor's Deployment and pods.
func (c *cluster) end(t *testing.T) {
	t.Helper()
	require.NoError(t, c.caches.Apps().V1().Deployments().Informer().GetStore().Replace(nil, "1"))
	pods := c.caches.Core().V1().Pods().Informer().GetStore()
	for _, object := range pods.List() {
		if object.(*corev1.Pod).Labels["app"] == "" {
			require.NoError(t, pods.Delete(object))
		}
	}
}

// sync syncs until the condition is stored, and returns it as "reason: message".
func (c *cluster) sync(t *testing.T) string {
	t.Helper()
	syncCtx := factory.NewSyncContext("test", c.recorder)
	for range 2 { // the first one may only have recorded that there is a predecessor
		require.NoError(t, c.controller.sync(t.Context(), syncCtx))
		lease, err := c.kube.Tracker().Get(leases, namespace, "cloud-controller-manager")
		if err == nil {
			c.Lease.See(lease.(*coordinationv1.Lease), c.Clock.Now())
		}
	}
	condition := v1helpers.FindOperatorCondition(c.status.Conditions, "TakingOver")
	require.NotNil(t, condition)
	require.Equal(t, condition.Reason != "AsExpected", condition.Status == operatorv1.ConditionTrue)
	if condition.Message == "" {
		return condition.Reason
	}
	return condition.Reason + ": " + condition.Message
}

// changes returns the objects that the controller has changed, as "<verb> <resource>".
func (c *cluster) changes() []string {
	var all []string
	for _, action := range c.kube.Actions() {
		if action.GetVerb() != "list" && action.GetVerb() != "watch" {
			all = append(all, action.GetVerb()+" "+action.GetResource().Resource)
		}
	}
	return all
}

const (
	keeps = "WaitingForStaticPods: deployment/openstack-cloud-controller-manager of this operator's predecessor " +
		"keeps running until the static pods stand by"
	cause    = "; if they do not come, a Degraded condition or PreflightNotices has the cause"
	noLeader = "WaitingForLeader: the predecessor has stopped; waiting for a static pod to acquire " +
		"lease/cloud-controller-manager in " +
		"openshift-cloud-controller-manager; if none does within a minute, check the logs of the container " +
		"cloud-controller-manager"
	servesNone = "--secure-port=0 \\"
	serves     = "--secure-port=10258"
)

func TestThePredecessorStopsOnceTheStaticPodsStandBy(t *testing.T) {
	pulledOn := func(node string, code int32) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: namespace,
				Name:      "installer-1-" + node,
				Labels:    map[string]string{"app": "installer"},
			},
			Spec: corev1.PodSpec{NodeName: node},
			Status: corev1.PodStatus{InitContainerStatuses: []corev1.ContainerStatus{
				{State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code}}},
			}},
		}
	}
	pulled := func(code int32) *corev1.Pod { return pulledOn("m0", code) }
	for name, tc := range map[string]struct {
		flag     string
		nodes    []string
		occupied []string
		ready    []string
		pod      *corev1.Pod
		want     string
		stops    bool
	}{
		"no static pod yet": {
			flag:     servesNone,
			nodes:    []string{"m0", "m1", "m2"},
			occupied: []string{"m0", "m1"},
			want:     keeps + ": waiting for node/m0, node/m1, node/m2" + cause,
		},
		"one is missing": {
			flag:     servesNone,
			nodes:    []string{"m0", "m1", "m2"},
			occupied: []string{"m0", "m1"},
			ready:    []string{"m0", "m2"},
			want:     keeps + ": waiting for node/m1" + cause,
		},
		"the images are there for the last": {
			flag:     servesNone,
			nodes:    []string{"m0", "m1", "m2"},
			occupied: []string{"m0", "m1"},
			ready:    []string{"m0", "m2"},
			pod:      pulledOn("m1", 0),
			stops:    true,
		},
		"the images of the last fail": {
			flag:     servesNone,
			nodes:    []string{"m0", "m1", "m2"},
			occupied: []string{"m0", "m1"},
			ready:    []string{"m0", "m2"},
			pod:      pulledOn("m1", 1),
			want:     keeps + ": waiting for node/m1" + cause,
		},
		"images are there on another node": {
			flag:     servesNone,
			nodes:    []string{"m0", "m1", "m2"},
			occupied: []string{"m0", "m1"},
			ready:    []string{"m0", "m2"},
			pod:      pulledOn("m0", 0),
			want:     keeps + ": waiting for node/m1" + cause,
		},
		"two are missing": {
			flag:     servesNone,
			nodes:    []string{"m0", "m1", "m2"},
			occupied: []string{"m0", "m1"},
			ready:    []string{"m0"},
			pod:      pulledOn("m1", 0),
			want:     keeps + ": waiting for node/m1, node/m2" + cause,
		},
		"nothing stands by on a single node": {
			flag:     servesNone,
			nodes:    []string{"m0"},
			occupied: []string{"m0"},
			pod:      pulled(0),
			want:     keeps + ": waiting for node/m0" + cause,
		},
		"all stand by": {
			flag:     servesNone,
			nodes:    []string{"m0", "m1", "m2"},
			occupied: []string{"m0", "m1"},
			ready:    []string{"m0", "m1", "m2"},
			stops:    true,
		},
		"the port is occupied on two nodes": {
			flag:     serves,
			nodes:    []string{"m0", "m1", "m2"},
			occupied: []string{"m0", "m1"},
			want:     keeps + ": waiting for node/m2" + cause,
		},
		"the one on the free node stands by": {
			flag: serves, nodes: []string{"m0", "m1", "m2"}, occupied: []string{"m0", "m1"}, ready: []string{"m2"}, stops: true,
		},
		"a single node whose port is free": {
			flag: servesNone, nodes: []string{"m0"}, occupied: []string{"m0"}, want: keeps + ": waiting for node/m0" + cause,
		},
		"a single node, nothing pulled": {
			flag:     serves,
			nodes:    []string{"m0"},
			occupied: []string{"m0"},
			want: keeps + ": waiting for an installer pod that has pulled the images; the port 10258 is occupied on every " +
				"node" + cause,
		},
		"a single node, an image fails": {
			flag:     serves,
			nodes:    []string{"m0"},
			occupied: []string{"m0"},
			pod:      pulled(1),
			want: keeps + ": waiting for an installer pod that has pulled the images; the port 10258 is occupied on every " +
				"node" + cause,
		},
		"a single node, the images are there": {
			flag: serves, nodes: []string{"m0"}, occupied: []string{"m0"}, pod: pulled(0), stops: true,
		},
		"no node is known": {
			flag: servesNone, occupied: []string{"m0"}, want: keeps + ": no control-plane node is known yet" + cause,
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, tc.flag, tc.nodes, tc.occupied...)
			c.standBy(t, tc.ready...)
			if tc.pod != nil {
				c.add(t, tc.pod)
			}
			got := c.sync(t)
			if !tc.stops {
				require.Equal(t, tc.want, got)
				require.Empty(t, c.changes())
				return
			}
			require.Equal(t, []string{"delete deployments"}, c.changes())
			deletion := c.kube.Actions()[len(c.kube.Actions())-1].(clienttesting.DeleteActionImpl)
			require.Equal(t, metav1.DeletePropagationForeground, *deletion.DeleteOptions.PropagationPolicy)
			require.EqualValues(t, "1", *deletion.DeleteOptions.Preconditions.UID)
			require.Equal(t, "StoppingPredecessor", got[:len("StoppingPredecessor")])
			require.Equal(t, "Deleted deployment/openstack-cloud-controller-manager in openshift-cloud-controller-manager: "+
				"the static pods stand by", c.recorder.Events()[0].Message)
		})
	}
}

// The operator may end after any write. What it then finds is what the next process starts with.
func TestTheTakeOverGoesOnFromWhatExists(t *testing.T) {
	nodes := []string{"m0", "m1", "m2"}
	c := newCluster(t, servesNone, nodes, "m0", "m1")
	require.Equal(t, keeps+": waiting for node/m0, node/m1, node/m2"+cause, c.sync(t))
	c.standBy(t, nodes...)
	require.Equal(t, "StoppingPredecessor: the predecessor is being stopped; waiting for "+
		"pod/openstack-cloud-controller-manager-m0 on node/m0, pod/openstack-cloud-controller-manager-m1 on node/m1 to "+
		"end", c.sync(t))
	// A deletion in the foreground goes on, which the cache shows before it shows the end of the pods.
	deleted, err := c.caches.Apps().V1().Deployments().Lister().Deployments(namespace).Get(old)
	require.NoError(t, err)
	deleted = deleted.DeepCopy()
	deleted.DeletionTimestamp = ptr.To(metav1.NewTime(begin))
	require.NoError(t, c.caches.Apps().V1().Deployments().Informer().GetStore().Update(deleted))
	c.kube.ClearActions()
	require.Equal(t, "StoppingPredecessor: the predecessor is being stopped; waiting for "+
		"pod/openstack-cloud-controller-manager-m0 on node/m0, pod/openstack-cloud-controller-manager-m1 on node/m1 to "+
		"end", c.sync(t))
	require.Empty(t, c.changes(), "the lease of a Deployment that still exists is not released")
	// The Deployment is gone, as after a deletion that was not ours: it left its ReplicaSet, or its pods still end.
	require.NoError(t, c.caches.Apps().V1().Deployments().Informer().GetStore().Replace(nil, "1"))
	c.kube.ClearActions()
	require.Equal(t, "StoppingPredecessor: the predecessor is being stopped; waiting for "+
		"pod/openstack-cloud-controller-manager-m0 on node/m0, pod/openstack-cloud-controller-manager-m1 on node/m1 to "+
		"end; their Deployment was deleted without them: as soon as the static pods are Ready, run: oc delete replicasets "+
		"-n openshift-cloud-controller-manager -l infrastructure.openshift.io/cloud-controller-manager", c.sync(t))
	pods, err := c.Pods()
	require.NoError(t, err)
	for _, pod := range predecessor.Of(pods) {
		pod.DeletionTimestamp = ptr.To(metav1.NewTime(begin))
	}
	require.Equal(t, "StoppingPredecessor: the predecessor is being stopped; waiting for "+
		"pod/openstack-cloud-controller-manager-m0 on node/m0, pod/openstack-cloud-controller-manager-m1 on node/m1 to "+
		"end", c.sync(t))
	require.Empty(t, c.changes(), "the lease of a process that still ends is not released")
	c.end(t)
	require.Equal(t, noLeader, c.sync(t))
	require.Equal(t, []string{"update leases", "patch namespaces", "patch namespaces"}, c.changes())
	lease, err := c.kube.CoordinationV1().
		Leases(namespace).
		Get(t.Context(), "cloud-controller-manager", metav1.GetOptions{})
	require.NoError(t, err)
	require.Empty(t, *lease.Spec.HolderIdentity)
	labelled, err := c.kube.CoreV1().Namespaces().Get(t.Context(), namespace, metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, map[string]string{"other": ""}, labelled.Labels)
	require.Equal(
		t,
		"LeaseReleased: Released lease/cloud-controller-manager in openshift-cloud-controller-manager: its holder "+
			"m0_6b1f, of the predecessor, has ended",
		c.recorder.Events()[len(c.recorder.Events())-1].Reason+": "+c.recorder.Events()[len(c.recorder.Events())-1].Message,
	)

	// The versions are reported, and what the predecessor needed is deleted, when the take-over has ended.
	c.lead(t, "m1", begin)
	require.Equal(t, "AsExpected", c.sync(t))
}

// On a single node whose port was occupied, no static pod was Ready before.
func TestTheTakeOverEndsWithAStaticPod(t *testing.T) {
	c := newCluster(t, serves, []string{"m0"}, "m0")
	c.sync(t)
	c.end(t)
	require.Equal(t, "StartingStaticPods: the predecessor has stopped; waiting for the first static pod", c.sync(t))
	c.standBy(t, "m0")
	require.Equal(t, noLeader, c.sync(t))
	c.lead(t, "m0", begin)
	require.Equal(t, "AsExpected", c.sync(t))
}

func TestALeaseThatMayBeHeldIsNotReleased(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*testing.T, *cluster)
		want   string
	}{
		"the static pod on that node acquired it": {
			change: func(t *testing.T, c *cluster) { c.lead(t, "m0", begin.Add(-5*time.Second)) }, want: "AsExpected",
		},
		"the node does not report": {change: func(t *testing.T, c *cluster) {
			c.add(t, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "m0"}})
		},
			want: "ReleasingLease: the predecessor has stopped; lease/cloud-controller-manager in " +
				`openshift-cloud-controller-manager is held by "m0_6b1f" on a node that does not report, and expires by itself`},
		"the node is not Ready": {change: func(t *testing.T, c *cluster) {
			c.add(t, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "m0"}, Status: corev1.NodeStatus{
				Conditions: []corev1.NodeCondition{
					{Type: corev1.NodeReady, Status: corev1.ConditionUnknown},
					{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionTrue},
				},
			}})
		},
			want: "ReleasingLease: the predecessor has stopped; lease/cloud-controller-manager in " +
				`openshift-cloud-controller-manager is held by "m0_6b1f" on a node that does not report, and expires by itself`},
		"it has expired": {change: func(t *testing.T, c *cluster) {
			c.Clock.(*clocktesting.FakePassiveClock).SetTime(begin.Add(127 * time.Second))
		}, want: noLeader},
		// The end of a container within the second of its acquisition proves nothing; leader election knows more.
		"a static pod that ended may have acquired it": {change: func(t *testing.T, c *cluster) {
			status := &c.staticPod(t, "m0").Status.ContainerStatuses[0]
			status.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{
				StartedAt: status.State.Running.StartedAt, FinishedAt: metav1.NewTime(begin),
			}
			status.State.Running.StartedAt = metav1.NewTime(begin)
			c.lead(t, "m0", begin)
		}, want: noLeader},
		// As while a revision replaces another one: the process may act before its kubelet has reported anything.
		"the static pod on that node has not reported its container yet": {change: func(t *testing.T, c *cluster) {
			c.staticPod(t, "m0").Status.ContainerStatuses = nil
			c.lead(t, "m0", begin)
		}, want: noLeader},
		"the static pod on that node is not in the API yet": {change: func(t *testing.T, c *cluster) {
			require.NoError(t, c.caches.Core().V1().Pods().Informer().GetStore().Delete(c.staticPod(t, "m0")))
			c.lead(t, "m0", begin)
		}, want: noLeader},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, servesNone, []string{"m0", "m1", "m2"}, "m0", "m1")
			c.sync(t)
			c.standBy(t, "m0", "m1", "m2")
			c.end(t)
			_ = c.kube.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("nodes"), "", "m0")
			tc.change(t, c)
			require.Equal(t, tc.want, c.sync(t))
			require.NotContains(t, c.changes(), "update leases")
		})
	}
}

// The lease of a single node lasts 270 seconds, not 137: its last leader would block ours for the rest.
func TestTheLeaseOfASingleNodeIsReleasedAsLongAsItLasts(t *testing.T) {
	for since, released := range map[time.Duration]bool{269 * time.Second: true, 270 * time.Second: false} {
		c := newCluster(t, servesNone, []string{"m0"}, "m0")
		c.sync(t)
		c.standBy(t, "m0")
		c.end(t)
		lease := c.Lease.Record().Lease.DeepCopy()
		lease.Spec.LeaseDurationSeconds = ptr.To[int32](270)
		lease.Spec.RenewTime = ptr.To(metav1.NewMicroTime(begin.Add(-since)))
		require.NoError(t, c.kube.Tracker().Update(leases, lease, namespace))
		c.Lease = &controlplane.Lease{}
		c.Lease.See(lease, begin)
		require.Equal(t, noLeader, c.sync(t))
		require.Equal(t, released, slices.Contains(c.changes(), "update leases"), since)
	}
}

func TestWithoutAPredecessorNothingChanges(t *testing.T) {
	c := newCluster(t, "", []string{"m0"})
	require.NoError(t, c.namespaces.Informer().GetStore().Update(
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}))
	c.standBy(t, "m0")
	c.lead(t, "m0", begin.Add(-time.Hour))
	require.Equal(t, "AsExpected", c.sync(t))
	require.Empty(t, c.changes())

	// The kubelet of a worker may make a mirror pod with any name and label.
	c.add(t, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: old + "-w0",
			Labels:      map[string]string{"infrastructure.openshift.io/cloud-controller-manager": "OpenStack"},
			Annotations: map[string]string{"kubernetes.io/config.mirror": "1"},
		},
		Spec: corev1.PodSpec{NodeName: "w0"}, Status: corev1.PodStatus{Phase: corev1.PodRunning},
	})
	require.Equal(t, "AsExpected", c.sync(t))
	require.Empty(t, c.changes())
}

// A person deleted the predecessor's Deployment before this operator saw it.
func TestWithoutAPredecessorItsLabelGoesToo(t *testing.T) {
	c := newCluster(t, "", []string{"m0"})
	require.Equal(t, "AsExpected", c.sync(t))
	labelled, err := c.kube.CoreV1().Namespaces().Get(t.Context(), namespace, metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, map[string]string{"other": ""}, labelled.Labels)
}

func TestThePredecessorsLabelOnAPlatformThatRunsNothing(t *testing.T) {
	external := func(state string) string {
		return `{"platform":"none","cluster":{"status":{"type":"External","external":{"cloudControllerManager":{"state":"` +
			state + `"}}}}}`
	}
	for name, tc := range map[string]struct {
		observed string
		pods     bool
		drops    bool
	}{
		"it goes on a platform without a CCM":             {observed: `{"platform":"none"}`, drops: true},
		"it stays while pods may need it":                 {observed: `{"platform":"none"}`, pods: true},
		"it stays where the administrator may run a CCM":  {observed: external("External")},
		"it stays on External, which may get a CCM later": {observed: external("None")},
		"it stays during a removal, for a downgrade":      {observed: `{"platform":"openstack"}`},
		"it stays while the platform is unknown":          {observed: `{}`},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, "", []string{"m0"})
			c.status.Conditions = []operatorv1.OperatorCondition{{Type: "Removing", Status: "True", Reason: "Removed"}}
			c.Operator = merging{v1helpers.NewFakeStaticPodOperatorClient(&operatorv1.StaticPodOperatorSpec{
				OperatorSpec: operatorv1.OperatorSpec{ObservedConfig: runtime.RawExtension{Raw: []byte(tc.observed)}},
			}, c.status, nil, nil), c}
			if tc.pods {
				c.add(t, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "of-an-administrator"}})
			}
			require.NoError(t, c.controller.sync(t.Context(), factory.NewSyncContext("test", c.recorder)))
			want := []string(nil)
			if tc.drops {
				want = []string{"patch namespaces"}
			}
			require.Equal(t, want, c.changes())
		})
	}
}

func TestNothingHappensWhileKubeControllerManagerRunsTheCloudControllers(t *testing.T) {
	c := newCluster(t, servesNone, []string{"m0"}, "m0")
	c.standBy(t, "m0")
	c.inTree = true
	require.Equal(
		t,
		"WaitingForKubeControllerManager: kube-controller-manager runs the cloud controllers: CloudControllerOwner of "+
			"kubecontrollermanager/cluster is True; nothing is installed before its operator sets that condition to False, "+
			"so check "+
			"clusteroperator/kube-controller-manager",
		c.sync(t),
	)
	require.Empty(t, c.changes())
	c.inTree = false
	c.sync(t)
	require.Contains(t, c.changes(), "delete deployments")

	// kube-controller-manager never runs them again, so its operator is not asked again.
	c.inTree = true
	require.NotContains(t, c.sync(t), "WaitingForKubeControllerManager")
}

func TestAfterKubeControllerManagerThereIsNothingToStop(t *testing.T) {
	c := newCluster(t, "", []string{"m0"})
	c.inTree = true
	c.sync(t)
	c.inTree = false
	require.Equal(t, "AsExpected", c.sync(t))
}

func TestWhoRunsTheCloudControllers(t *testing.T) {
	for name, tc := range map[string]struct {
		conditions []any
		missing    bool
		want       bool
	}{
		"no such operator":  {missing: true},
		"no condition":      {},
		"another condition": {conditions: []any{map[string]any{"type": "Other", "status": "True"}}},
		"it has let go":     {conditions: []any{map[string]any{"type": "CloudControllerOwner", "status": "False"}}},
		"kube-controller-manager": {
			conditions: []any{map[string]any{"type": "CloudControllerOwner", "status": "True"}}, want: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			client := dynamicfake.NewSimpleDynamicClient(runtime.NewScheme())
			if !tc.missing {
				client = dynamicfake.NewSimpleDynamicClient(runtime.NewScheme(), &unstructured.Unstructured{Object: map[string]any{
					"apiVersion": "operator.openshift.io/v1", "kind": "KubeControllerManager",
					"metadata": map[string]any{"name": "cluster"},
					"status":   map[string]any{"conditions": tc.conditions},
				}})
			}
			got, err := InTree(client)(t.Context())
			require.NoError(t, err)
			require.Equal(t, tc.want, got)
		})
	}
}

func TestADeploymentWithoutPodsIsWaitedForByItself(t *testing.T) {
	require.Equal(t, step{
		reason:  stoppingPredecessor,
		message: "the predecessor is being stopped; waiting for its Deployment to be deleted",
	}, (&view{}).stopping())
}

func TestADeploymentWithFinalizersIsNamed(t *testing.T) {
	kept := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{
		Name: old, Finalizers: []string{"foregroundDeletion", "example.com/a", "example.com/b"},
	}}
	require.Equal(t, "the predecessor is being stopped; waiting for its Deployment to be deleted; if nothing else removes "+
		"the finalizers of deployment/openstack-cloud-controller-manager, remove them: example.com/a, example.com/b",
		(&view{deployments: []*appsv1.Deployment{kept}}).stopping().message)
}
