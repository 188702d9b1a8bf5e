package devcluster_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	devcluster "github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster"
)

func start(t *testing.T, options devcluster.Options) *devcluster.Cluster {
	t.Helper()
	options.Dir = filepath.Join(t.TempDir(), "run")
	options.Progress = t.Output()
	cluster, err := devcluster.Start(t.Context(), options)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, cluster.Stop(context.WithoutCancel(t.Context()))) })
	return cluster
}

func configClient(t *testing.T, cluster *devcluster.Cluster) rest.Interface {
	t.Helper()
	require.NoError(t, configv1.Install(scheme.Scheme))
	config := cluster.RESTConfig()
	config.GroupVersion = &configv1.GroupVersion
	config.APIPath = "/apis"
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	client, err := rest.RESTClientFor(config)
	require.NoError(t, err)
	return client
}

func TestAControlPlaneLooksLikeAnInstalledOpenStackCluster(t *testing.T) {
	cluster := start(t, devcluster.Options{})
	config := configClient(t, cluster)
	client, err := kubernetes.NewForConfig(cluster.RESTConfig())
	require.NoError(t, err)

	var infrastructure configv1.Infrastructure
	require.NoError(t, config.Get().Resource("infrastructures").Name("cluster").Do(t.Context()).Into(&infrastructure))
	require.Equal(t, "dev-x7k2p", infrastructure.Status.InfrastructureName)
	require.Equal(t, configv1.OpenStackPlatformType, infrastructure.Status.PlatformStatus.Type)
	require.Equal(t, cluster.URL(), infrastructure.Status.APIServerInternalURL)
	require.Equal(t, configv1.ConfigMapFileReference{Name: "cloud-provider-config", Key: "config"},
		infrastructure.Spec.CloudConfig)

	var gates configv1.FeatureGate
	require.NoError(t, config.Get().Resource("featuregates").Name("cluster").Do(t.Context()).Into(&gates))
	require.Len(t, gates.Status.FeatureGates, 1)
	require.Equal(t, "4.99.0-dev", gates.Status.FeatureGates[0].Version)

	var version configv1.ClusterVersion
	require.NoError(t, config.Get().Resource("clusterversions").Name("version").Do(t.Context()).Into(&version))
	require.Equal(t, "4.99.0-dev", version.Status.Desired.Version)

	var operator configv1.ClusterOperator
	require.NoError(t,
		config.Get().Resource("clusteroperators").Name("cloud-controller-manager").Do(t.Context()).Into(&operator))
	require.Empty(t, operator.Status.Conditions)

	cloudConfig, err := client.CoreV1().ConfigMaps("openshift-config").Get(t.Context(), "cloud-provider-config",
		metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, string(cluster.Cloud().CABundle()), cloudConfig.Data["ca-bundle.pem"])
	secret, err := client.CoreV1().Secrets("openshift-cloud-controller-manager").Get(t.Context(),
		"openstack-cloud-credentials", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, cluster.Cloud().CloudsYAML(), secret.Data["clouds.yaml"])

	deployment, err := client.AppsV1().Deployments("openshift-cloud-controller-manager-operator").
		Get(t.Context(), "cluster-cloud-controller-manager-operator", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, "localhost/openshift/cluster-cloud-controller-manager-operator:4.99.0-dev",
		deployment.Spec.Template.Spec.Containers[0].Image)

	audit, err := os.ReadFile(cluster.AuditLog())
	require.NoError(t, err)
	require.Contains(t, string(audit), `"user":{"username":"system:admin"`)
}

func TestAPlatformWithoutACloudHasNoCloudConfig(t *testing.T) {
	cluster := start(t, devcluster.Options{Platform: configv1.NonePlatformType, WithoutPayload: true})
	client, err := kubernetes.NewForConfig(cluster.RESTConfig())
	require.NoError(t, err)
	_, err = client.CoreV1().ConfigMaps("openshift-config").Get(t.Context(), "cloud-provider-config",
		metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err), err)
	require.Nil(t, cluster.Cloud())
}

func TestTheAPIKeepsItsObjectsWhenServersRestart(t *testing.T) {
	cluster := start(t, devcluster.Options{Platform: configv1.NonePlatformType, WithoutPayload: true})
	client, err := kubernetes.NewForConfig(cluster.RESTConfig())
	require.NoError(t, err)
	_, err = client.CoreV1().ConfigMaps("default").Create(t.Context(),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "kept"}}, metav1.CreateOptions{})
	require.NoError(t, err)

	require.NoError(t, syscall.Kill(cluster.Processes()["etcd"], syscall.SIGKILL))
	require.NoError(t, cluster.StopAPIServer(t.Context()))
	_, err = client.CoreV1().ConfigMaps("default").Get(t.Context(), "kept", metav1.GetOptions{})
	require.ErrorContains(t, err, "connection refused")
	require.NoError(t, cluster.StopEtcd(t.Context()))
	require.NoError(t, cluster.StartEtcd(t.Context()))
	require.NoError(t, cluster.StartAPIServer(t.Context()))
	_, err = client.CoreV1().ConfigMaps("default").Get(t.Context(), "kept", metav1.GetOptions{})
	require.NoError(t, err)
}

func TestNodesRegisterTaintedAndLeaveNothingBehind(t *testing.T) {
	cluster := start(t, devcluster.Options{Nodes: 2, WithoutPayload: true})
	client, err := kubernetes.NewForConfig(cluster.RESTConfig())
	require.NoError(t, err)
	nodes, err := client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, nodes.Items, 2)
	for _, node := range nodes.Items {
		require.NotNil(t, cluster.Node(node.Name), node.Name)
		require.Contains(t, node.Labels, "node-role.kubernetes.io/master")
		require.Contains(t, node.Spec.Taints, corev1.Taint{
			Key: "node.cloudprovider.kubernetes.io/uninitialized", Value: "true", Effect: corev1.TaintEffectNoSchedule,
		})
		require.Empty(t, node.Spec.ProviderID)
	}
	require.Nil(t, cluster.Node("unknown"))

	infrastructure := &configv1.Infrastructure{}
	require.NoError(t,
		configClient(t, cluster).Get().Resource("infrastructures").Name("cluster").Do(t.Context()).Into(infrastructure))
	require.Regexp(t, `^https://10\.200\.[0-3]\.1:6443$`, infrastructure.Status.APIServerInternalURL)
	inside, err := os.ReadFile(filepath.Join(cluster.Nodes()[0].Root(), "etc/kubernetes/apiserver-url.env"))
	require.NoError(t, err)
	require.Contains(t, string(inside), "KUBERNETES_SERVICE_PORT='6443'")

	// The Service's address leads to the API server without kube-proxy.
	service, err := client.CoreV1().Services("default").Get(t.Context(), "kubernetes", metav1.GetOptions{})
	require.NoError(t, err)
	config := cluster.RESTConfig()
	config.Host = "https://" + service.Spec.ClusterIP
	throughService, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	_, err = throughService.Discovery().ServerVersion()
	require.NoError(t, err)

	before, err := net.InterfaceAddrs()
	require.NoError(t, err)
	require.Contains(t, addresses(before), service.Spec.ClusterIP+"/32")
	pid := cluster.Nodes()[0].PID()
	require.NoError(t, cluster.Stop(t.Context()))
	require.NoDirExists(t, filepath.Join("/proc", strconv.Itoa(pid)))
	after, err := net.InterfaceAddrs()
	require.NoError(t, err)
	require.NotContains(t, addresses(after), service.Spec.ClusterIP+"/32")
}

func addresses(of []net.Addr) []string {
	texts := make([]string, 0, len(of))
	for _, address := range of {
		texts = append(texts, address.String())
	}
	return texts
}

func TestASecondRunInTheSameDirectoryNamesTheFirst(t *testing.T) {
	cluster := start(t, devcluster.Options{Platform: configv1.NonePlatformType, WithoutPayload: true})
	_, err := devcluster.Start(t.Context(), devcluster.Options{Dir: cluster.Dir(), Platform: configv1.NonePlatformType,
		WithoutPayload: true})
	require.ErrorContains(t, err, "a development cluster is running: "+cluster.Dir()+".lock is held by process ")
	require.FileExists(t, cluster.Kubeconfig())
}

func TestStopLeavesOnlyTheLogs(t *testing.T) {
	cluster := start(t, devcluster.Options{Platform: configv1.NonePlatformType, WithoutPayload: true})
	processes := cluster.Processes()
	require.Len(t, processes, 3)
	require.NoError(t, cluster.Stop(t.Context()))
	entries, err := os.ReadDir(cluster.Dir())
	require.NoError(t, err)
	require.Len(t, entries, 1)
	require.Equal(t, "logs", entries[0].Name())
	for name, pid := range processes {
		require.NoDirExists(t, filepath.Join("/proc", strconv.Itoa(pid)), name)
	}
	require.NoError(t, cluster.Stop(t.Context()))
}
