package nodedeletion

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
)

// watched is an operator client whose informer is a real one, so that a controller can run.
type watched struct {
	*operatorClient
	informer cache.SharedIndexInformer
}

func (w watched) Informer() cache.SharedIndexInformer { return w.informer }

// Nothing else calls the controller here, so that a missing handler fails the test.
func TestEventsAndNodesCallTheController(t *testing.T) {
	for name, last := range map[string]func(context.Context, *testing.T, *fake.Clientset, *corev1.Event, *corev1.Node){
		"the CCM announces a deletion": func(ctx context.Context, t *testing.T, kube *fake.Clientset, event *corev1.Event, silent *corev1.Node) {
			_, err := kube.CoreV1().Nodes().UpdateStatus(ctx, silent, metav1.UpdateOptions{})
			require.NoError(t, err)
			_, err = kube.CoreV1().Events(EventNamespace).Create(ctx, event, metav1.CreateOptions{})
			require.NoError(t, err)
		},
		"a kubelet falls silent": func(ctx context.Context, t *testing.T, kube *fake.Clientset, event *corev1.Event, silent *corev1.Node) {
			_, err := kube.CoreV1().Events(EventNamespace).Create(ctx, event, metav1.CreateOptions{})
			require.NoError(t, err)
			_, err = kube.CoreV1().Nodes().UpdateStatus(ctx, silent, metav1.UpdateOptions{})
			require.NoError(t, err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			model := newCluster(t, "openstack", five...)
			model.clock.SetTime(time.Now())
			model.lead("master-0_1")
			kube := fake.NewClientset()
			for _, key := range model.nodes.ListKeys() {
				model.report(key, corev1.ConditionTrue)
				require.NoError(t, kube.Tracker().Add(model.node(key)))
			}
			for _, lease := range model.leases.List() {
				require.NoError(t, kube.Tracker().Add(lease.(*coordinationv1.Lease)))
			}
			factory := informers.NewSharedInformerFactory(kube, 0)
			controller := New(Options{
				Operator: watched{model.operator, factory.Core().V1().Secrets().Informer()},
				Nodes:    factory.Core().V1().Nodes(), Events: factory.Core().V1().Events(),
				Leases: factory.Coordination().V1().Leases(), NodeClient: kube.CoreV1(),
				Clock: clock.RealClock{}, Recorder: model.recorder,
			})
			factory.Start(t.Context().Done())
			factory.WaitForCacheSync(t.Context().Done())
			go controller.Run(t.Context(), 1)
			require.Eventually(t, model.judged, 10*time.Second, 10*time.Millisecond, "the first sync")

			model.report("worker-1", corev1.ConditionUnknown)
			silent := model.node("worker-1")
			silent.Status.Conditions[0].LastTransitionTime = metav1.NewTime(time.Now().Add(-time.Minute))
			last(t.Context(), t, kube, announcement(silent, time.Now()), silent)
			require.Eventually(t, func() bool {
				for _, action := range kube.Actions() {
					if action.Matches("patch", "nodes") {
						return true
					}
				}
				return false
			}, 10*time.Second, 10*time.Millisecond, "the CCM is asked")
		})
	}
}
