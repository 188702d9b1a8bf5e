package nodedeletion

import (
	"context"
	"slices"
	"testing"
	"time"

	applyoperatorv1 "github.com/openshift/client-go/operator/applyconfigurations/operator/v1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/controllertest"
)

// watched is an operator client whose informer is a real one, so that a controller can run. It announces what the
// controller applies: library-go's fake client may not be read beside it.
type watched struct {
	*operatorClient
	informer cache.SharedIndexInformer
	applied  chan struct{}
}

func (w watched) Informer() cache.SharedIndexInformer { return w.informer }

func (w watched) ApplyOperatorStatus(
	ctx context.Context, fieldManager string, status *applyoperatorv1.OperatorStatusApplyConfiguration,
) error {
	err := w.operatorClient.ApplyOperatorStatus(ctx, fieldManager, status)
	select {
	case w.applied <- struct{}{}:
	default:
	}
	return err
}

// Nothing else calls the controller here, so that a missing handler fails the test.
func TestAnEventCallsTheController(t *testing.T) {
	model := newCluster(t, "openstack", five...)
	model.clock.SetTime(time.Now().Add(-time.Minute))
	model.lead("master-0_1")
	model.report("worker-1", corev1.ConditionUnknown)
	kube := fake.NewClientset()
	for _, key := range model.nodes.ListKeys() {
		require.NoError(t, kube.Tracker().Add(model.node(key)))
	}
	require.NoError(t, kube.Tracker().Add(model.lease))
	factory := informers.NewSharedInformerFactoryWithOptions(kube, 0, informers.WithTransform(StripNode))
	applied := make(chan struct{}, 1)
	lease, err := controlplane.NewLease(factory.Coordination().V1().Leases(), clock.RealClock{})
	require.NoError(t, err)
	announcements := NewAnnouncements(kube.CoreV1())
	controller := New(controllertest.Complete(t, dependencies.Deps{
		Operator: watched{model.operator, factory.Core().V1().Secrets().Informer(), applied},
		Kube:     kube, Lease: lease, Recorder: model.recorder,
	}), factory.Core().V1().Nodes().Informer(), announcements)
	factory.Start(t.Context().Done())
	factory.WaitForCacheSync(t.Context().Done())
	require.NoError(t, announcements.Replace(nil, "1"))
	go controller.Run(t.Context(), 1)
	select {
	case <-applied:
	case <-time.After(10 * time.Second):
		require.Fail(t, "no first sync")
	}

	require.NoError(t, announcements.Add(announcementOf(model.node("worker-1"), time.Now())))
	require.Eventually(t, func() bool {
		return slices.ContainsFunc(kube.Actions(), func(a clienttesting.Action) bool { return a.Matches("patch", "nodes") })
	}, time.Minute, 10*time.Millisecond, "the CCM is asked")
}
