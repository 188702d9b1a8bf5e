package azure

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	devcluster "github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster"
	standin "github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/azure"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/permissions"
)

func TestTheProviderBalancesOnTheStandIns(t *testing.T) {
	for name, cloud := range map[string]*standin.Server{"Azure": public, "an Azure Stack Hub": stack} {
		t.Run(name, func(t *testing.T) { testBalancing(t, cloud) })
	}
}

func testBalancing(t *testing.T, cloud *standin.Server) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	unserved, before := cloud.Requests()[devcluster.Unserved], len(cloud.Calls())
	a := standin.Instance{Name: "a", Addresses: []string{"10.0.0.10"}}
	b := standin.Instance{Name: "b", Addresses: []string{"10.0.0.11"}}
	require.NoError(t, cloud.SetInstances([]standin.Instance{a, b}))
	nodes := []*corev1.Node{node(cloud, a), node(cloud, b)}
	az, client := startProvider(t, cloud, nil, nodes...)
	balancing, has := az.LoadBalancer()
	require.True(t, has)
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "0123"},
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, SessionAffinity: corev1.ServiceAffinityNone,
			IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol}, ClusterIP: "172.30.0.9",
			Ports: []corev1.ServicePort{{Port: 80, NodePort: 30080, Protocol: corev1.ProtocolTCP}}},
	}
	_, err := client.CoreV1().Services("default").Create(ctx, service, metav1.CreateOptions{})
	require.NoError(t, err)

	const cluster = "dev-x7k2p"
	status, err := balancing.EnsureLoadBalancer(ctx, cluster, service, nodes[:1])
	require.NoError(t, err)
	require.Len(t, status.Ingress, 1)
	require.Equal(t, []standin.LoadBalancer{
		{Name: cluster, Address: status.Ingress[0].IP, Members: []string{"10.0.0.10"}},
	}, cloud.LoadBalancers())

	_, err = balancing.EnsureLoadBalancer(ctx, cluster, service, nodes)
	require.NoError(t, err)
	require.Equal(t, []string{"10.0.0.10", "10.0.0.11"}, cloud.LoadBalancers()[0].Members)
	require.NoError(t, cloud.SetInstances([]standin.Instance{b}))
	_, err = balancing.EnsureLoadBalancer(ctx, cluster, service, nodes[1:])
	require.NoError(t, err)
	require.Equal(t, []string{"10.0.0.11"}, cloud.LoadBalancers()[0].Members)

	require.NoError(t, balancing.EnsureLoadBalancerDeleted(ctx, cluster, service))
	require.Empty(t, cloud.LoadBalancers())
	require.Equal(t, unserved, cloud.Requests()[devcluster.Unserved])
	document, err := os.ReadFile("../../../docs/azure-permissions.md")
	require.NoError(t, err)
	compared := permissions.Compare(document, cloud.Calls()[before:], standin.NeedsNoPermission)
	require.Contains(t, compared.Needed, "Microsoft.Network/loadBalancers/write")
	require.Empty(t, compared.Unlisted)
	require.Empty(t, compared.Unneeded)
}

func node(cloud *standin.Server, machine standin.Instance) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: machine.Name},
		Spec:       corev1.NodeSpec{ProviderID: cloud.ProviderID(machine.Name)},
		Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{
			{Type: corev1.NodeInternalIP, Address: machine.Addresses[0]},
		}},
	}
}
