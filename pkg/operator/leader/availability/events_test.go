package availability

import (
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	configfake "github.com/openshift/client-go/config/clientset/versioned/fake"
	configinformers "github.com/openshift/client-go/config/informers/externalversions"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/controllertest"
)

func TestEachEventCallsTheController(t *testing.T) {
	client, config := fake.NewClientset(), configfake.NewClientset()
	kube, infrastructures := informers.NewSharedInformerFactory(
		client,
		0,
	), configinformers.NewSharedInformerFactory(
		config,
		0,
	)
	clock := clocktesting.NewFakePassiveClock(begin)
	lease, err := controlplane.NewLease(kube.Coordination().V1().Leases(), clock)
	require.NoError(t, err)
	var watched controllertest.Watched
	controller := New(controllertest.Complete(t, dependencies.Deps{
		Operator: watched.Operator(), Kube: client, Target: kube, Infrastructures: infrastructures.Config().V1().Infrastructures(),
		Lease: lease, Clock: clock,
	}), func([]string) {})
	kube.Start(t.Context().Done())
	infrastructures.Start(t.Context().Done())
	watched.Run(t, controller, map[*clienttesting.Fake]int{&client.Fake: 4, &config.Fake: 1})

	cluster := threeMasters()
	const namespace = "openshift-cloud-controller-manager"
	for event, do := range map[string]func() error{
		"the lease": func() error {
			_, err := client.CoordinationV1().Leases(namespace).Create(t.Context(), cluster.Lease, metav1.CreateOptions{})
			return err
		},
		"a static pod": func() error {
			_, err := client.CoreV1().Pods(namespace).Create(t.Context(), cluster.Pods["m0"], metav1.CreateOptions{})
			return err
		},
		"a pod of the predecessor": func() error {
			_, err := client.CoreV1().Pods(namespace).Create(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
				Name: "old", Labels: map[string]string{"infrastructure.openshift.io/cloud-controller-manager": "OpenStack"},
			}}, metav1.CreateOptions{})
			return err
		},
		"a Node": func() error {
			_, err := client.CoreV1().Nodes().Create(t.Context(), cluster.Nodes["m0"], metav1.CreateOptions{})
			return err
		},
		"the Infrastructure": func() error {
			_, err := config.ConfigV1().Infrastructures().Create(
				t.Context(), &configv1.Infrastructure{ObjectMeta: metav1.ObjectMeta{Name: "cluster"}}, metav1.CreateOptions{},
			)
			return err
		},
	} {
		watched.Expect(t, event, do)
	}
}
