package aws

import (
	"net/http"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cloudprovider "k8s.io/cloud-provider"

	devcluster "github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster"
	standin "github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/aws"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/permissions"
)

// startBalancing starts the real provider and returns its load balancers.
func startBalancing(t *testing.T, cloud *standin.Server, gates ...string) cloudprovider.LoadBalancer {
	t.Helper()
	balancing, has := startProvider(t, cloud, rewrite(t, cloud, "/tokens", gates...)).LoadBalancer()
	require.True(t, has)
	return balancing
}

func TestTheProviderBalancesOnTheStandIn(t *testing.T) {
	network := map[string]string{"service.beta.kubernetes.io/aws-load-balancer-type": "nlb"}
	var calls []devcluster.Call
	for name, test := range map[string]struct {
		annotations map[string]string
		gates       []string
		// groups are the security groups that are created.
		groups int
	}{
		"network, without security groups": {annotations: network},
		"network, with security groups":    {annotations: network, gates: []string{gate}, groups: 1},
		"classic":                          {groups: 1},
	} {
		t.Run(name, func(t *testing.T) {
			cloud, err := standin.Start(t.Context(), standin.Options{Listen: "127.0.0.1:0"})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, cloud.Close()) })
			provider := startBalancing(t, cloud, test.gates...)
			a := standin.Instance{Name: "a", Addresses: []string{"10.0.0.10"}}
			b := standin.Instance{Name: "b", Addresses: []string{"10.0.1.10"}}
			require.NoError(t, cloud.SetInstances([]standin.Instance{a, b}))
			nodes := []*corev1.Node{node(cloud, "a"), node(cloud, "b")}
			service := &corev1.Service{
				ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "0123", Annotations: test.annotations},
				Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, SessionAffinity: corev1.ServiceAffinityNone,
					Ports: []corev1.ServicePort{{Port: 80, NodePort: 30080, Protocol: corev1.ProtocolTCP}}},
			}

			status, err := provider.EnsureLoadBalancer(t.Context(), "kubernetes", service, nodes[:1])
			require.NoError(t, err)
			require.Len(t, status.Ingress, 1)
			require.Equal(t, []standin.LoadBalancer{
				{Name: "a0123", Address: status.Ingress[0].Hostname, Members: []string{"10.0.0.10"}},
			}, cloud.LoadBalancers())
			found, exists, err := provider.GetLoadBalancer(t.Context(), "kubernetes", service)
			require.NoError(t, err)
			require.True(t, exists)
			require.Equal(t, status, found)

			require.NoError(t, provider.UpdateLoadBalancer(t.Context(), "kubernetes", service, nodes))
			require.ElementsMatch(t, []string{"10.0.0.10", "10.0.1.10"}, cloud.LoadBalancers()[0].Members)
			require.NoError(t, cloud.SetInstances([]standin.Instance{b}))
			require.NoError(t, provider.UpdateLoadBalancer(t.Context(), "kubernetes", service, nodes[1:]))
			require.Equal(t, []string{"10.0.1.10"}, cloud.LoadBalancers()[0].Members)

			require.NoError(t, provider.EnsureLoadBalancerDeleted(t.Context(), "kubernetes", service))
			require.Empty(t, cloud.LoadBalancers())
			_, exists, err = provider.GetLoadBalancer(t.Context(), "kubernetes", service)
			require.NoError(t, err)
			require.False(t, exists)
			require.NoError(t, provider.EnsureLoadBalancerDeleted(t.Context(), "kubernetes", service), "a second time")
			requireServed(t, cloud)
			requests := cloud.Requests()
			require.Equal(t, requests[standin.CreateTargetGroup], requests[standin.DeleteTargetGroup])
			require.Equal(t, test.groups, requests[standin.CreateSecurityGroup])
			require.Equal(t, test.groups, requests[standin.DeleteSecurityGroup])
			require.NotZero(t, requests[standin.AuthorizeSecurityGroupIngress])
			require.NotZero(t, requests[standin.RevokeSecurityGroupIngress])
			calls = append(calls, cloud.Calls()...)
		})
	}
	requirePermitted(t, calls)
}

// requireServed requires that the stand-in answered what it was asked, but whether there is a load balancer.
func requireServed(t *testing.T, cloud *standin.Server) {
	t.Helper()
	for _, call := range cloud.Calls() {
		if call.Endpoint != standin.DescribeLoadBalancers {
			require.Equal(t, http.StatusOK, call.Status, "%+v", call)
		}
	}
}

// requirePermitted requires that the document of the permissions has each call, and that each permission had a call, or a
// dash.
func requirePermitted(t *testing.T, calls []devcluster.Call) {
	t.Helper()
	document, err := os.ReadFile("../../../docs/aws-permissions.md")
	require.NoError(t, err)
	compared := permissions.Compare(document, calls, standin.NeedsNoPermission)
	require.Contains(t, compared.Needed, "elasticloadbalancing:CreateLoadBalancer")
	require.Empty(t, compared.Unlisted)
	require.Equal(t, []string{"ec2:DescribeInstanceTopology"}, compared.Unneeded, "what the initialization of nodes needs")
}

func node(cloud *standin.Server, name string) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{ProviderID: cloud.ProviderID(name)},
	}
}
