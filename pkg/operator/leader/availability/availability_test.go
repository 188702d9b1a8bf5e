package availability

import (
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	configfake "github.com/openshift/client-go/config/clientset/versioned/fake"
	configinformers "github.com/openshift/client-go/config/informers/externalversions"
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/controllertest"
)

// caches are what a controller reads and writes.
type caches struct {
	informers informers.SharedInformerFactory
	client    *fake.Clientset
	operator  v1helpers.StaticPodOperatorClient
}

// controller returns a controller whose caches contain the cluster.
func (c *cluster) controller(
	t *testing.T,
	platform string,
	clock clock.PassiveClock,
) (factory.Controller, v1helpers.StaticPodOperatorClient) {
	t.Helper()
	controller, caches := c.controllerAndCaches(t, platform, clock)
	return controller, caches.operator
}

func (c *cluster) controllerAndCaches(
	t *testing.T,
	platform string,
	clock clock.PassiveClock,
) (factory.Controller, caches) {
	t.Helper()
	client := fake.NewClientset()
	kube := informers.NewSharedInformerFactory(client, 0)
	config := configinformers.NewSharedInformerFactory(configfake.NewClientset(), 0)
	for _, pod := range c.Pods {
		require.NoError(t, kube.Core().V1().Pods().Informer().GetIndexer().Add(pod))
	}
	for _, node := range c.Nodes {
		require.NoError(t, kube.Core().V1().Nodes().Informer().GetIndexer().Add(node))
	}
	c.Seen.See(c.Lease, clock.Now())
	if c.Topology != "" {
		require.NoError(t, config.Config().V1().Infrastructures().Informer().GetIndexer().Add(&configv1.Infrastructure{
			ObjectMeta: metav1.ObjectMeta{
				Name: "cluster",
			}, Status: configv1.InfrastructureStatus{ControlPlaneTopology: c.Topology},
		}))
	}
	operator := v1helpers.NewFakeStaticPodOperatorClient(
		&operatorv1.StaticPodOperatorSpec{OperatorSpec: operatorv1.OperatorSpec{
			ObservedConfig: runtime.RawExtension{Raw: []byte(`{"platform":"` + platform + `"}`)},
		}},
		c.Status,
		nil,
		nil,
	)
	return New(controllertest.Complete(t, dependencies.Deps{
		Operator: operator, Lease: &c.Seen, Kube: client, Target: kube,
		Infrastructures: config.Config().V1().Infrastructures(), Clock: clock,
	}), func(names []string) { c.vanished = names }), caches{informers: kube, client: client, operator: operator}
}

// sync runs a controller once and returns the conditions that it wrote.
func (c *cluster) sync(t *testing.T, platform string) []operatorv1.OperatorCondition {
	t.Helper()
	clock := clocktesting.NewFakePassiveClock(begin)
	controller, operator := c.controller(t, platform, clock)
	recorder := events.NewInMemoryRecorder("test", clock)
	require.NoError(t, controller.Sync(t.Context(), factory.NewSyncContext("test", recorder)))
	_, status, _, err := operator.GetStaticPodOperatorState()
	require.NoError(t, err)
	return status.Conditions
}

func TestTheMetricsLearnWhichNodesVanished(t *testing.T) {
	c := threeMasters()
	delete(c.Nodes, "m0")
	c.sync(t, "openstack")
	require.Equal(t, []string{"m0"}, c.vanished)
	c.sync(t, "none")
	require.Empty(t, c.vanished)
}

func TestSync(t *testing.T) {
	const noPod = "0 of 3 cloud-controller-managers are Ready; check the pods in openshift-cloud-controller-manager and " +
		"the logs of their container cloud-controller-manager"
	for name, tc := range map[string]struct {
		platform string
		change   func(c *cluster)
		want     []operatorv1.OperatorCondition
	}{
		"a working operand is available": {
			platform: "openstack",
			change:   func(*cluster) {},
			want: []operatorv1.OperatorCondition{
				{Type: "CloudControllerManagerAvailable", Status: "True", Reason: "AsExpected",
					Message: "3 of 3 cloud-controller-managers are Ready; the one on node/m0 leads"},
				{
					Type:    "CloudControllerManagerProgressing",
					Status:  "False",
					Reason:  "AsExpected",
					Message: "3 of 3 control-plane nodes run revision 3",
				},
				{Type: "CloudControllerManagerDegraded", Status: "False", Reason: "AsExpected"},
				{Type: "CrashLoopDegraded", Status: "False", Reason: "AsExpected"},
				{Type: "UnresponsiveDegraded", Status: "False", Reason: "AsExpected"},
				{Type: "ControlPlaneNodesDegraded", Status: "False", Reason: "AsExpected"},
			},
		},
		"before the first revision it is unavailable and progressing, but not degraded": {
			platform: "openstack",
			change: func(c *cluster) {
				c.Status.NodeStatuses = nil
				c.Lease.Spec.HolderIdentity = nil
				clear(c.Pods)
			},
			want: []operatorv1.OperatorCondition{
				{Type: "CloudControllerManagerAvailable", Status: "False", Reason: "NoReadyPod", Message: noPod},
				{Type: "CloudControllerManagerProgressing", Status: "True", Reason: "FirstRollout",
					Message: "no control-plane node runs a revision yet; check the Degraded conditions for the cause"},
				{Type: "CloudControllerManagerDegraded", Status: "False", Reason: "AsExpected"},
				{Type: "CrashLoopDegraded", Status: "False", Reason: "AsExpected"},
				{Type: "UnresponsiveDegraded", Status: "False", Reason: "AsExpected"},
				{Type: "ControlPlaneNodesDegraded", Status: "False", Reason: "AsExpected"},
			},
		},
		"the predecessor is being replaced": {
			platform: "openstack",
			change: func(c *cluster) {
				c.Status.NodeStatuses = nil
				c.Status.Conditions = []operatorv1.OperatorCondition{{Type: "TakingOver", Status: "True", Reason: "Installing"}}
				c.Lease.Spec.HolderIdentity = nil
				clear(c.Pods)
			},
			want: []operatorv1.OperatorCondition{
				{Type: "CloudControllerManagerAvailable", Status: "False", Reason: "NoReadyPod", Message: noPod},
				{Type: "CloudControllerManagerProgressing", Status: "True", Reason: "FirstRollout",
					Message: "a take-over from this operator's predecessor is in progress, and no control-plane node runs a revision " +
						"yet; the condition TakingOver has its step, and the Degraded conditions what it waits for"},
				{Type: "CloudControllerManagerDegraded", Status: "False", Reason: "AsExpected"},
				{Type: "CrashLoopDegraded", Status: "False", Reason: "AsExpected"},
				{Type: "UnresponsiveDegraded", Status: "False", Reason: "AsExpected"},
				{Type: "ControlPlaneNodesDegraded", Status: "False", Reason: "AsExpected"},
				{Type: "TakingOver", Status: "True", Reason: "Installing"},
			},
		},
		"the status was wiped while the static pods work": {
			platform: "openstack",
			change:   func(c *cluster) { c.Status.NodeStatuses = nil },
			want: []operatorv1.OperatorCondition{
				{Type: "CloudControllerManagerAvailable", Status: "True", Reason: "AsExpected",
					Message: "3 of 3 cloud-controller-managers are Ready; the one on node/m0 leads"},
				{Type: "CloudControllerManagerProgressing", Status: "True", Reason: "FirstRollout",
					Message: "3 static pods run, but the status has no revision of a node: the first one is being " +
						"installed, or the status was lost and is written again; check the Degraded conditions if this lasts"},
				{Type: "CloudControllerManagerDegraded", Status: "False", Reason: "AsExpected"},
				{Type: "CrashLoopDegraded", Status: "False", Reason: "AsExpected"},
				{Type: "UnresponsiveDegraded", Status: "False", Reason: "AsExpected"},
				{Type: "ControlPlaneNodesDegraded", Status: "False", Reason: "AsExpected"},
			},
		},
		"without an Infrastructure the Nodes count": {
			platform: "openstack",
			change: func(c *cluster) {
				c.Topology = ""
				c.Leave("m1")
			},
			want: []operatorv1.OperatorCondition{
				{Type: "CloudControllerManagerAvailable", Status: "True", Reason: "AsExpected",
					Message: "2 of 2 cloud-controller-managers are Ready; the one on node/m0 leads"},
				{
					Type:    "CloudControllerManagerProgressing",
					Status:  "False",
					Reason:  "AsExpected",
					Message: "2 of 2 control-plane nodes run revision 3",
				},
				{Type: "CloudControllerManagerDegraded", Status: "False", Reason: "AsExpected"},
				{Type: "CrashLoopDegraded", Status: "False", Reason: "AsExpected"},
				{Type: "UnresponsiveDegraded", Status: "False", Reason: "AsExpected"},
				{Type: "ControlPlaneNodesDegraded", Status: "False", Reason: "AsExpected"},
			},
		},
		"a foreign pod does not count": {
			platform: "openstack",
			change: func(c *cluster) {
				for _, pod := range c.Pods {
					pod.Labels = map[string]string{"app": "installer"}
				}
			},
			want: []operatorv1.OperatorCondition{
				{Type: "CloudControllerManagerAvailable", Status: "False", Reason: "NoReadyPod", Message: noPod},
				{
					Type:   "CloudControllerManagerProgressing",
					Status: "False",
					Reason: "AsExpected",
					Message: "0 of 3 control-plane nodes run revision 3, node/m0 runs no static pod, node/m1 runs no static pod, " +
						"node/m2 runs no static pod",
				},
				{Type: "CloudControllerManagerDegraded", Status: "False", Reason: "AsExpected"},
				{Type: "CrashLoopDegraded", Status: "False", Reason: "AsExpected"},
				{Type: "UnresponsiveDegraded", Status: "False", Reason: "AsExpected"},
				{Type: "ControlPlaneNodesDegraded", Status: "False", Reason: "AsExpected"},
			},
		},
		"on a platform without an operand nothing is written": {platform: "none", change: func(*cluster) {}},
		"while the platform is unknown, neither":              {platform: "", change: func(*cluster) {}},
	} {
		t.Run(name, func(t *testing.T) {
			c := threeMasters()
			c.Status.Conditions = nil
			tc.change(c)
			require.Equal(t, tc.want, c.sync(t, tc.platform))
		})
	}
}

func TestANodeThatLeavesAfterARemovalHasNotVanished(t *testing.T) {
	for name, tc := range map[string]struct {
		removed bool
		want    operatorv1.ConditionStatus
	}{
		"without a removal it has": {want: "True"},
		"after a removal":          {removed: true, want: "False"},
	} {
		t.Run(name, func(t *testing.T) {
			clock := clocktesting.NewFakePassiveClock(begin)
			c := threeMasters()
			controller, caches := c.controllerAndCaches(t, "openstack", clock)
			sync := func(conditions ...operatorv1.OperatorCondition) {
				_, status, _, err := caches.operator.GetStaticPodOperatorState()
				require.NoError(t, err)
				status.Conditions = conditions
				require.NoError(
					t,
					controller.Sync(t.Context(), factory.NewSyncContext("test", events.NewInMemoryRecorder("test", clock))),
				)
			}
			sync()
			if tc.removed {
				sync(operatorv1.OperatorCondition{Type: "Removing", Status: "True", Reason: "Removed"})
			}
			require.NoError(t, caches.informers.Core().V1().Nodes().Informer().GetIndexer().Delete(c.Nodes["m1"]))
			sync()
			_, status, _, err := caches.operator.GetStaticPodOperatorState()
			require.NoError(t, err)
			require.Equal(t, tc.want, v1helpers.FindOperatorCondition(status.Conditions, ControlPlaneNodesCondition).Status)
		})
	}
}

func TestOperandPodsAreTheFilter(t *testing.T) {
	pod := threeMasters().Pods["m0"]
	other := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "installer"}}}
	require.True(t, isOperandPod(pod))
	require.True(t, isOperandPod(cache.DeletedFinalStateUnknown{Obj: pod}), "a deletion that the watch missed")
	require.False(t, isOperandPod(other))
	require.False(t, isOperandPod(cache.DeletedFinalStateUnknown{Obj: other}))
}

// Without them, an exit that a move has caused would count for a crash loop.
func TestTheControllerReadsThePodsThatMoveTheLead(t *testing.T) {
	c := threeMasters()
	_, caches := c.controllerAndCaches(t, "openstack", clocktesting.NewFakePassiveClock(begin))
	core := caches.informers.Core().V1()
	move := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: operand.Namespace, Name: "handover-leave-m0", Labels: map[string]string{"app": controlplane.HandoverApp},
	}}
	require.NoError(t, core.Pods().Informer().GetIndexer().Add(move))
	observing := &controller{Deps: controllertest.Complete(t, dependencies.Deps{
		Operator: caches.operator, Kube: caches.client, Target: caches.informers, Lease: &c.Seen,
	})}
	v, err := observing.view(t.Context())
	require.NoError(t, err)
	require.Equal(t, []*corev1.Pod{move}, v.Moves())
}
