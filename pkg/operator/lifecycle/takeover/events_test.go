package takeover

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/controllertest"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/controlplanetest"
)

func TestEachEventCallsTheController(t *testing.T) {
	client, clock := fake.NewClientset(), clocktesting.NewFakePassiveClock(begin)
	kube := informers.NewSharedInformerFactory(client, 0)
	lease, err := controlplane.NewLease(kube.Coordination().V1().Leases(), clock)
	require.NoError(t, err)
	var watched controllertest.Watched
	infrastructures := controlplanetest.Infrastructures("")
	go infrastructures.Informer().Run(t.Context().Done())
	controller := New(controllertest.Complete(t, dependencies.Deps{
		Infrastructures: infrastructures, Operator: watched.Operator(), Lease: lease, Kube: client, Target: kube, Clock: clock,
	}), kube.Core().V1().Namespaces(), func(context.Context) (bool, error) { return false, nil })
	kube.Start(t.Context().Done())
	watched.Run(t, controller, map[*clienttesting.Fake]int{&client.Fake: 5})

	named := metav1.ObjectMeta{Name: "cloud-controller-manager"}
	for event, do := range map[string]func() error{
		"the lease": func() error {
			_, err := client.CoordinationV1().Leases(namespace).Create(
				t.Context(), &coordinationv1.Lease{ObjectMeta: named}, metav1.CreateOptions{},
			)
			return err
		},
		"a pod": func() error {
			_, err := client.CoreV1().Pods(namespace).Create(t.Context(), &corev1.Pod{ObjectMeta: named}, metav1.CreateOptions{})
			return err
		},
		"a Deployment": func() error {
			_, err := client.AppsV1().Deployments(namespace).Create(
				t.Context(), &appsv1.Deployment{ObjectMeta: named}, metav1.CreateOptions{},
			)
			return err
		},
		"a Node": func() error {
			_, err := client.CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: named}, metav1.CreateOptions{})
			return err
		},
		"the namespace": func() error {
			_, err := client.CoreV1().Namespaces().Create(
				t.Context(), &corev1.Namespace{ObjectMeta: named}, metav1.CreateOptions{},
			)
			return err
		},
	} {
		watched.Expect(t, event, do)
	}
}
