package leadership

import (
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	configfake "github.com/openshift/client-go/config/clientset/versioned/fake"
	configinformers "github.com/openshift/client-go/config/informers/externalversions"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/controllertest"
)

// cached is a controller that reads a cluster from its caches.
type cached struct {
	*releasing
	caches informers.SharedInformerFactory
	clock  *clocktesting.FakePassiveClock
}

func newCached(t *testing.T, c *cluster) *cached {
	t.Helper()
	r, clock := newReleasing(), clocktesting.NewFakePassiveClock(begin)
	require.NoError(t, r.kube.Tracker().Add(c.Lease))
	caches := informers.NewSharedInformerFactory(fake.NewClientset(), 0)
	config := configinformers.NewSharedInformerFactory(configfake.NewClientset(), 0).Config().V1().Infrastructures()
	require.NoError(t, config.Informer().GetStore().Add(&configv1.Infrastructure{
		ObjectMeta: metav1.ObjectMeta{Name: "cluster"},
		Status:     configv1.InfrastructureStatus{ControlPlaneTopology: c.Topology},
	}))
	r.Operator = v1helpers.NewFakeStaticPodOperatorClient(&operatorv1.StaticPodOperatorSpec{
		OperatorSpec: operatorv1.OperatorSpec{ObservedConfig: runtime.RawExtension{Raw: []byte(`{"platform":"openstack"}`)}},
	}, c.Status, nil, nil)
	r.Target, r.Nodes, r.Infrastructures, r.Clock = caches, caches.Core().V1().Nodes(), config, clock
	return &cached{r, caches, clock}
}

// run puts the cluster into the caches and calls the controller at the second, and then as often as it asks for it.
func (r *cached) run(t *testing.T, c *cluster, second int, duration time.Duration) []time.Duration {
	t.Helper()
	r.clock.SetTime(at(second))
	r.Lease.See(c.Lease, at(second))
	for _, pod := range c.Pods {
		require.NoError(t, r.caches.Core().V1().Pods().Informer().GetStore().Update(pod))
	}
	for _, node := range c.Nodes {
		require.NoError(t, r.Nodes.Informer().GetStore().Update(node))
	}
	calls, err := controllertest.NewTimer(r.clock, events.NewInMemoryRecorder("test", r.clock)).
		Run(t.Context(), r.sync, duration)
	require.NoError(t, err)
	return calls
}

// The installer pod runs on another node: it is no pod of the operand's.
func TestTheEndOfTheOnlyProcessIsSeenInTheCaches(t *testing.T) {
	c := newCluster("m0")
	r := newCached(t, c)
	require.NoError(t, r.caches.Core().V1().Pods().Informer().GetStore().Add(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "openshift-cloud-controller-manager", Name: "installer-3-m1", Labels: map[string]string{"app": "installer"},
		},
		Spec: corev1.PodSpec{NodeName: "m1"},
	}))
	r.run(t, c, 1, 0)
	require.Nil(t, r.released())
	c.Exit("m0", 5, "")
	r.run(t, c, 6, 0)
	require.NotNil(t, r.released())
}

func TestATimerCallsTheControllerWhenTimeProvesAnEnd(t *testing.T) {
	c := threeMasters()
	r := newCached(t, c)
	c.Edit("intruder", 3600)
	require.Equal(t, []time.Duration{0, 137 * time.Second}, r.run(t, c, 1, time.Hour))
	require.NotNil(t, r.released())
}

func TestNothingIsDoneBeforeALeaseWasSeen(t *testing.T) {
	c := threeMasters()
	r := newCached(t, c)
	r.Lease = &controlplane.Lease{}
	calls, err := controllertest.NewTimer(r.clock, events.NewInMemoryRecorder("test", r.clock)).
		Run(t.Context(), r.sync, time.Hour)
	require.NoError(t, err)
	require.Equal(t, []time.Duration{0}, calls)
	require.Empty(t, r.kube.Actions())
}

// racing is an operator client during whose reads something happens.
type racing struct {
	v1helpers.StaticPodOperatorClient
	happens func()
}

func (r racing) GetStaticPodOperatorState() (
	*operatorv1.StaticPodOperatorSpec, *operatorv1.StaticPodOperatorStatus, string, error,
) {
	r.happens()
	return r.StaticPodOperatorClient.GetStaticPodOperatorState()
}

// The API server refuses the update of a lease that has changed.
func TestTheLeaseThatIsReleasedIsTheOneThatWasJudged(t *testing.T) {
	c := threeMasters()
	r := newCached(t, c)
	c.Renew(-26)
	r.run(t, c, -1, 0)
	c.Renew(0)
	r.run(t, c, 1, 0)
	c.Exit("m0", 30, "")
	for _, pod := range c.Pods {
		require.NoError(t, r.caches.Core().V1().Pods().Informer().GetStore().Update(pod))
	}
	r.clock.SetTime(at(31))
	r.Operator = racing{r.Operator, func() { // The informer of the lease delivers that the next one has acquired it.
		c.Acquire("m1", "next", 31)
		r.Lease.See(c.Lease, at(31))
	}}
	_, err := controllertest.NewTimer(r.clock, r.recorder).Run(t.Context(), r.sync, 0)
	require.NoError(t, err)
	if released := r.released(); released != nil {
		require.NotEqual(t, at(31), released.Spec.AcquireTime.Time)
	}
}
