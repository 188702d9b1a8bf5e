package staticpod

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

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
	"k8s.io/utils/clock"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/controllertest"
)

// assembled are the controllers of New, each of which can run.
type assembled struct {
	kube     *fake.Clientset
	operator *appliedStatus
	recorder events.InMemoryRecorder
	start    func()
	all      []factory.Controller
}

func assemble(t *testing.T, objects ...runtime.Object) *assembled {
	t.Helper()
	kube := fake.NewClientset(objects...)
	caches := informers.NewSharedInformerFactory(kube, 0)
	config := configinformers.NewSharedInformerFactory(configfake.NewClientset(&configv1.Infrastructure{
		ObjectMeta: metav1.ObjectMeta{Name: "cluster"},
		Status:     configv1.InfrastructureStatus{ControlPlaneTopology: configv1.HighlyAvailableTopologyMode},
	}), 0)
	a := &assembled{
		kube:     kube,
		operator: newAppliedStatus(operatorv1.OperatorSpec{}, &operatorv1.StaticPodOperatorStatus{}),
		recorder: events.NewInMemoryRecorder("test", clock.RealClock{}),
		start:    func() { caches.Start(t.Context().Done()); config.Start(t.Context().Done()) },
	}
	a.all = controllers(options{
		Deps: dependencies.Deps{
			Operator: a.operator, Kube: kube, Target: caches, Nodes: caches.Core().V1().Nodes(), Clock: clock.RealClock{},
			Infrastructures: config.Config().V1().Infrastructures(), Recorder: a.recorder, Lease: &controlplane.Lease{},
		},
		configMaps: kube.CoreV1(), secrets: kube.CoreV1(),
	})
	return a
}

// run starts the named controller, awaits its condition, and then does what is given.
func (a *assembled) run(t *testing.T, controller, conditionType string, then ...func()) *operatorv1.OperatorCondition {
	t.Helper()
	i := slices.IndexFunc(a.all, func(c factory.Controller) bool { return c.Name() == controller })
	require.GreaterOrEqual(t, i, 0, controller)
	a.start()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); a.all[i].Run(ctx, 1) }()
	defer func() { cancel(); <-ended }()
	var found *operatorv1.OperatorCondition
	require.Eventually(t, func() bool {
		_, status, _, err := a.operator.GetOperatorState()
		found = v1helpers.FindOperatorCondition(status.Conditions, conditionType)
		return err == nil && found != nil
	}, time.Minute, 10*time.Millisecond, conditionType)
	for _, do := range then {
		do()
	}
	return found
}

func TestEachStaticPodControllerTriesAgainWithinAMinuteHoweverLongItFailed(t *testing.T) {
	for _, controller := range assemble(t).all {
		require.LessOrEqual(t, controllertest.Pause(controller), time.Minute, controller.Name())
	}
}

// library-go would tell each order as another state, with an event.
func TestNodesThatAreNotReadyAreToldInOneOrder(t *testing.T) {
	var nodes []runtime.Object
	var want []string
	for i := range 8 {
		name := fmt.Sprintf("master-%d", i)
		nodes = append(nodes, &corev1.Node{ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: map[string]string{"node-role.kubernetes.io/master": ""},
		}})
		want = append(want, fmt.Sprintf("node %q not ready, no Ready condition found in status block", name))
	}
	found := assemble(t, nodes...).run(t, "cloud-controller-manager-Node", "NodeControllerDegraded")
	require.Equal(t, "The master nodes not ready: "+strings.Join(want, ", "), found.Message)
}

// Without the Nodes, every installer would be one of a Node that has vanished.
func TestAStaticPodIsNotJudgedBeforeTheNodesAreKnown(t *testing.T) {
	kube := fake.NewClientset()
	caches, nodes := informers.NewSharedInformerFactory(kube, 0), informers.NewSharedInformerFactory(kube, 0)
	pods := currentInstallers(controllertest.Complete(t, dependencies.Deps{
		Kube: kube, Target: caches, Nodes: nodes.Core().V1().Nodes(),
	})).Core().V1().Pods().Informer()
	caches.Start(t.Context().Done())
	caches.WaitForCacheSync(t.Context().Done())
	require.False(t, pods.HasSynced())
	nodes.Start(t.Context().Done())
	nodes.WaitForCacheSync(t.Context().Done())
	require.True(t, pods.HasSynced())
}

func TestTheStaticPodOfANodeThatIsGoneOrMovesTheLeadIsNotMissed(t *testing.T) {
	var missing []string
	for i := range 8 {
		missing = append(missing, fmt.Sprintf(`static pod lifecycle failure - static pod: `+
			`"cloud-controller-manager" in namespace: `+
			`"openshift-cloud-controller-manager" for revision: 4 on node: "m%d" didn't show up, waited: 3m0s`, i))
	}
	for name, tc := range map[string]struct {
		// created is when the Nodes were, zero if they have vanished, and moved when the lead moved, zero if it has not.
		created, moved time.Time
		want           string
	}{
		"the Nodes have vanished":         {},
		"the Nodes have registered again": {created: time.Now()},
		"the Nodes are the same": {
			created: time.Now().Add(-24 * time.Hour), want: strings.Join(missing, "\n"),
		},
		"the lead moves": {created: time.Now().Add(-24 * time.Hour), moved: time.Now()},
		"the lead has moved": {
			created: time.Now().Add(-24 * time.Hour), moved: time.Now().Add(-controlplane.MoveTimeout), want: strings.Join(missing, "\n"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			var names []string
			for i := range 8 {
				names = append(names, fmt.Sprintf("m%d", i))
			}
			objects := installedLongAgo(names...)
			for _, node := range names {
				if !tc.created.IsZero() {
					objects = append(objects, &corev1.Node{
						ObjectMeta: metav1.ObjectMeta{Name: node, CreationTimestamp: metav1.NewTime(tc.created)},
					})
				}
				if !tc.moved.IsZero() {
					objects = append(objects, &corev1.Pod{
						ObjectMeta: metav1.ObjectMeta{
							Namespace: "openshift-cloud-controller-manager", Name: "handover-leave-" + node,
							Labels: map[string]string{"app": "handover"}, CreationTimestamp: metav1.NewTime(tc.moved),
						},
						Spec: corev1.PodSpec{NodeName: node},
					})
				}
			}
			found := assemble(t, objects...).run(t, "MissingStaticPodController", "MissingStaticPodControllerDegraded")
			require.Equal(t, tc.want, found.Message)
		})
	}
}
