package azure

import (
	"context"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	cloudprovider "k8s.io/cloud-provider"
	"sigs.k8s.io/cloud-provider-azure/pkg/azclient"
	"sigs.k8s.io/cloud-provider-azure/pkg/provider"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	azurecloud "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds/azure"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	standin "github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/azure"
)

// publicCloud is the SDK's configuration of Azure. For an Azure Stack Hub, the provider changes the one in the SDK, which
// is no problem for a process with one cloud.
var publicCloud = cloneCloud(sdk.AzurePublic)

func cloneCloud(c sdk.Configuration) sdk.Configuration {
	c.Services = maps.Clone(c.Services)
	return c
}

// startClouds starts the stand-ins for Azure and for an Azure Stack Hub, and makes the process reach and trust them. Go
// reads the proxy and the CAs of the environment once, so there is one call.
func startClouds(t *testing.T) (public, stack *standin.Server) {
	t.Helper()
	var bundle []byte
	start := func(isStack bool) *standin.Server {
		cloud, err := standin.Start(t.Context(), standin.Options{Listen: "127.0.0.1:0", Stack: isStack, BehindProxy: true})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, cloud.Close()) })
		bundle = append(bundle, cloud.CABundle()...)
		return cloud
	}
	public, stack = start(false), start(true)
	file := filepath.Join(t.TempDir(), "ca.crt")
	require.NoError(t, os.WriteFile(file, bundle, 0o600))
	t.Setenv("SSL_CERT_FILE", file)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		to := public
		if strings.Contains(r.Host, "azurestack") {
			to = stack
		}
		tunnel(w, r, net.JoinHostPort(to.Host(), to.Port()))
	}))
	t.Cleanup(front.Close)
	t.Setenv("HTTPS_PROXY", front.URL)
	return public, stack
}

// tunnel connects a client of a proxy with an address.
func tunnel(w http.ResponseWriter, r *http.Request, address string) {
	server, err := new(net.Dialer).DialContext(r.Context(), "tcp", address)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer func() { _ = server.Close() }()
	w.WriteHeader(http.StatusOK)
	client, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer func() { _ = client.Close() }()
	var both sync.WaitGroup
	both.Go(func() { _, _ = io.Copy(server, buffered); _ = server.Close() })
	both.Go(func() { _, _ = io.Copy(client, server); _ = client.Close() })
	both.Wait()
}

// startProvider starts the real provider on our rewriting of what the installer writes for a stand-in.
func startProvider(t *testing.T, cloud *standin.Server, isStack bool, nodes ...*corev1.Node,
) (cloudprovider.LoadBalancer, *fake.Clientset) {
	t.Helper()
	installed := cloud.Installation()
	src := clouds.Source{
		Config: []byte(installed.CloudConfig["config"]), Credentials: installed.Credentials, Paths: paths(t),
		Keys: map[string][]byte{"endpoints": []byte(installed.CloudConfig["endpoints"])},
	}
	src.Cluster.Status = installed.Status
	rewrite := azurecloud.Rewrite
	if isStack {
		rewrite = azurecloud.RewriteStack
	}
	result := rewrite(src)
	require.Empty(t, result.Errors(diagnostic.Strict))
	if isStack {
		file := filepath.Join(src.Paths.Config, "endpoints")
		require.NoError(t, os.WriteFile(file, result.Files["endpoints"], 0o600))
		t.Setenv(azclient.EnvironmentFilepathName, file)
	}
	sdk.AzurePublic = cloneCloud(publicCloud)
	client := fake.NewClientset()
	for _, node := range nodes {
		_, err := client.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	made, err := provider.NewCloud(t.Context(), nil, parse(t, result.Config), true)
	require.NoError(t, err)
	az, is := made.(*provider.Cloud)
	require.True(t, is)
	az.KubeClient = client
	factory := informers.NewSharedInformerFactory(client, 0)
	az.SetInformers(factory)
	factory.Start(t.Context().Done())
	factory.WaitForCacheSync(t.Context().Done())
	balancing, has := az.LoadBalancer()
	require.True(t, has)
	return balancing, client
}

func TestTheProviderBalancesOnTheStandIns(t *testing.T) {
	public, stack := startClouds(t)
	for name, test := range map[string]struct {
		cloud   *standin.Server
		isStack bool
	}{"Azure": {public, false}, "an Azure Stack Hub": {stack, true}} {
		t.Run(name, func(t *testing.T) { testBalancing(t, test.cloud, test.isStack) })
	}
}

func testBalancing(t *testing.T, cloud *standin.Server, isStack bool) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	a := standin.Instance{Name: "a", Addresses: []string{"10.0.0.10"}}
	b := standin.Instance{Name: "b", Addresses: []string{"10.0.0.11"}}
	require.NoError(t, cloud.SetInstances([]standin.Instance{a, b}))
	nodes := []*corev1.Node{node(cloud, a), node(cloud, b)}
	balancing, client := startProvider(t, cloud, isStack, nodes...)
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
	unserved := 0
	if isStack {
		unserved = 1 // it is asked for private link services once, which it does not have
	}
	require.Equal(t, unserved, cloud.Requests()[standin.Unserved])
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
