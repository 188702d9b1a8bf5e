package conformance

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	cloudprovider "k8s.io/cloud-provider"

	devcluster "github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster"
	standin "github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/openstack"
)

// clients give the provider a client of an API server in memory.
type clients struct {
	cloudprovider.ControllerClientBuilder
	kube kubernetes.Interface
}

func (c clients) ClientOrDie(string) kubernetes.Interface { return c.kube }

func TestTheProviderBuildsLoadBalancersInTheStandIn(t *testing.T) {
	cloud := startCloud(t)
	cloud.SetServers([]standin.Instance{
		{Name: "worker-0", Addresses: []string{"10.200.0.10"}}, {Name: "worker-1", Addresses: []string{"10.200.0.11"}},
	})
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "1"},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeLoadBalancer, IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol},
			Ports: []corev1.ServicePort{{Port: 80, NodePort: 30080, Protocol: corev1.ProtocolTCP}},
		},
	}
	provider, err := startProvider(t, cloud, cloud.CloudsYAML())
	require.NoError(t, err)
	provider.Initialize(clients{kube: fake.NewClientset(service)}, t.Context().Done())
	balancers, ok := provider.LoadBalancer()
	require.True(t, ok)
	nodes := []*corev1.Node{worker("worker-0", "10.200.0.10"), worker("worker-1", "10.200.0.11")}

	status, err := balancers.EnsureLoadBalancer(t.Context(), "dev", service, nodes[:1])
	require.NoError(t, err)
	require.Len(t, status.Ingress, 1)
	require.Equal(t, []standin.LoadBalancer{{
		Name: "kube_service_dev_default_web", Address: status.Ingress[0].IP, Members: []string{"10.200.0.10"},
	}}, cloud.LoadBalancers())
	require.NotEmpty(t, status.Ingress[0].IP)

	require.NoError(t, balancers.UpdateLoadBalancer(t.Context(), "dev", service, nodes))
	require.Equal(t, []string{"10.200.0.10", "10.200.0.11"}, cloud.LoadBalancers()[0].Members)
	again, err := balancers.EnsureLoadBalancer(t.Context(), "dev", service, nodes)
	require.NoError(t, err)
	require.Equal(t, status.Ingress, again.Ingress)
	require.NoError(t, balancers.UpdateLoadBalancer(t.Context(), "dev", service, nodes[1:]))
	require.Equal(t, []string{"10.200.0.11"}, cloud.LoadBalancers()[0].Members)

	require.NoError(t, balancers.EnsureLoadBalancerDeleted(t.Context(), "dev", service))
	require.Empty(t, cloud.LoadBalancers())
	require.Zero(t, cloud.Requests()[devcluster.Unserved])
}

func worker(name, address string) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.NodeSpec{ProviderID: "openstack:///" + standin.InstanceID(name)},
		Status:     corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: address}}},
	}
}
