package azure

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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

	sdk "github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
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

// The stand-ins for Azure, whose metadata service is at metadataURL, and for an Azure Stack Hub. Go reads the proxy and
// the CAs of the environment once, so all tests share them.
var (
	public, stack *standin.Server
	metadataURL   string
)

func TestMain(m *testing.M) {
	status, err := runOnClouds(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		status = 1
	}
	os.Exit(status)
}

// runOnClouds runs the tests with the stand-ins, which the process reaches and trusts.
func runOnClouds(m *testing.M) (status int, err error) {
	ctx := context.Background()
	if public, err = standin.Start(ctx, standin.Options{Listen: "127.0.0.1:0", BehindProxy: true}); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, public.Close()) }()
	if stack, err = standin.Start(ctx, standin.Options{Listen: "127.0.0.1:0", BehindProxy: true, Stack: true}); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, stack.Close()) }()
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	public.ServeMetadata(ctx, listener)
	metadataURL = "http://" + listener.Addr().String()
	dir, err := os.MkdirTemp("", "conformance-azure-")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	file := filepath.Join(dir, "ca.crt")
	if err := os.WriteFile(file, append(public.CABundle(), stack.CABundle()...), 0o600); err != nil {
		return 0, err
	}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		to := public
		if strings.Contains(r.Host, "azurestack") {
			to = stack
		}
		tunnel(w, r, net.JoinHostPort(to.Host(), to.Port()))
	}))
	defer front.Close()
	if err := errors.Join(os.Setenv("SSL_CERT_FILE", file), os.Setenv("HTTPS_PROXY", front.URL)); err != nil {
		return 0, err
	}
	return m.Run(), nil
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

// startProvider starts the real provider on our rewriting of what the installer writes for a stand-in, with the
// changes of an administrator.
func startProvider(t *testing.T, cloud *standin.Server, changes map[string]any, nodes ...*corev1.Node,
) (*provider.Cloud, *fake.Clientset) {
	t.Helper()
	installed := cloud.Installation()
	content := map[string]any{}
	require.NoError(t, json.Unmarshal([]byte(installed.CloudConfig["config"]), &content))
	maps.Copy(content, changes)
	config, err := json.Marshal(content)
	require.NoError(t, err)
	src := clouds.Source{
		Config: config, Credentials: installed.Credentials, Paths: paths(t),
		Keys: map[string][]byte{"endpoints": []byte(installed.CloudConfig["endpoints"])},
	}
	src.Cluster.Status = installed.Status
	rewrite := azurecloud.Rewrite
	if cloud == stack {
		rewrite = azurecloud.RewriteStack
	}
	result := rewrite(src)
	require.Empty(t, result.Errors(diagnostic.Strict))
	if cloud == stack {
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
	az.Metadata, err = provider.NewInstanceMetadataService(metadataURL)
	require.NoError(t, err)
	factory := informers.NewSharedInformerFactory(client, 0)
	az.SetInformers(factory)
	factory.Start(t.Context().Done())
	factory.WaitForCacheSync(t.Context().Done())
	return az, client
}
