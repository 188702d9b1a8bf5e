package staticpod

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/controllertest"
)

// newInstaller returns the installer controller of a cluster with this status. The objects of the latest revision
// exist; its static pod has the images openstack and operator.
func newInstaller(
	t *testing.T, clock *clocktesting.FakePassiveClock, status *operatorv1.StaticPodOperatorStatus,
	objects ...runtime.Object,
) (factory.Controller, v1helpers.StaticPodOperatorClient, *fake.Clientset) {
	t.Helper()
	kube := fake.NewClientset(objects...)
	caches := informers.NewSharedInformerFactory(kube, 0)
	suffix := fmt.Sprintf("-%d", status.LatestAvailableRevision)
	configMaps, secrets := candidate(t, suffix)
	revisionStatus := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: target, Name: "revision-status" + suffix}}
	for _, configMap := range append(configMaps, revisionStatus) {
		require.NoError(t, kube.Tracker().Add(configMap))
		require.NoError(t, caches.Core().V1().ConfigMaps().Informer().GetStore().Add(configMap))
	}
	for _, secret := range secrets {
		require.NoError(t, kube.Tracker().Add(secret))
	}
	nodes := informers.NewSharedInformerFactory(kube, 0)
	for _, node := range status.NodeStatuses {
		require.NoError(t, nodes.Core().V1().Nodes().Informer().GetStore().Add(
			&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node.NodeName}}))
	}
	for _, object := range objects {
		require.NoError(t, caches.Core().V1().Pods().Informer().GetStore().Add(object))
	}
	operator := v1helpers.NewFakeStaticPodOperatorClient(
		&operatorv1.StaticPodOperatorSpec{
			OperatorSpec: operatorv1.OperatorSpec{ManagementState: operatorv1.Managed},
		}, status, nil, nil)
	o := options{
		Deps: controllertest.Complete(t, dependencies.Deps{
			Operator: operator, Kube: kube, Target: caches, Nodes: nodes.Core().V1().Nodes(), Clock: clock,
			Recorder: events.NewInMemoryRecorder("test", clock),
		}),
		configMaps: kube.CoreV1(), secrets: kube.CoreV1(), image: "operator",
	}
	pods := nodePodsOf(o, func() (*url.URL, error) { return url.Parse("https://api-int:6443") })
	return newInstallerController(o, pods), operator, kube
}

// Without the wrapped pods or the timer, the node would be at the revision at once or only after an unrelated event.
func TestARolloutGoesOnWhenTheStaticPodHasStayedReady(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC))
	installed := pod("installer-1-master-0", map[string]string{"app": "installer"})
	installed.Status.Phase = corev1.PodSucceeded
	controller, operator, _ := newInstaller(t, clock, &operatorv1.StaticPodOperatorStatus{
		OperatorStatus: operatorv1.OperatorStatus{LatestAvailableRevision: 1},
		NodeStatuses:   []operatorv1.NodeStatus{{NodeName: "master-0", TargetRevision: 1}},
	}, installed, staticPod("1", true))
	var currentAt []int32
	calls, err := controllertest.NewTimer(
		clock, events.NewInMemoryRecorder("test", clock),
	).Run(t.Context(), func(ctx context.Context, syncCtx factory.SyncContext) error {
		err := controller.Sync(ctx, syncCtx)
		_, status, _, statusErr := operator.GetStaticPodOperatorState()
		currentAt = append(currentAt, status.NodeStatuses[0].CurrentRevision)
		return errors.Join(err, statusErr)
	}, time.Minute)
	require.NoError(t, err)
	require.Equal(t, []time.Duration{0, settlePeriod}, calls)
	require.Equal(t, []int32{0, 1}, currentAt)
}

// library-go's controller reports its errors itself, and before the first revision that is corrected.
func TestAnErrorOfTheInstallerControllerIsNotReportedTwice(t *testing.T) {
	s := newSimulated(t, "m0")
	require.NoError(t, s.kube.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("secrets"), target, "cloud-credentials-1"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s.caches.Start(ctx.Done())
	s.nodes.Start(ctx.Done())
	var running sync.WaitGroup
	running.Go(func() { s.controller.Run(ctx, 1) })
	// The first sync is over, with all that is reported about it, when the second one fails.
	require.Eventually(t, func() bool {
		failed := 0
		for _, event := range s.recorder.Events() {
			if event.Reason == "RequiredInstallerResourcesMissing" {
				failed++
			}
		}
		return failed > 1
	}, time.Minute, time.Millisecond)
	cancel()
	running.Wait()
	require.Contains(t, s.operator.condition(t, "InstallerControllerDegraded"), "True: missing required resources: ")
	require.Nil(t, v1helpers.FindOperatorCondition(s.operator.status.Conditions, "InstallerDegraded"))
}
