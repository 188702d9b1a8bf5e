package render_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

const (
	azureInfrastructure = `apiVersion: config.openshift.io/v1
kind: Infrastructure
metadata:
  name: cluster
spec:
  cloudConfig: {key: config, name: cloud-provider-config}
  platformSpec: {type: Azure}
status:
  apiServerInternalURI: https://api-int.ostest.example.com:6443
  infrastructureName: ostest-x7k2p
  platform: Azure
  platformStatus:
    type: Azure
    azure:
      cloudName: CLOUD
      armEndpoint: ENDPOINT
      networkResourceGroupName: NETWORK
      resourceGroupName: demo-x7k2p-rg
`
	azureSecret = `apiVersion: v1
kind: Secret
metadata: {name: azure-cloud-credentials, namespace: openshift-cloud-controller-manager}
stringData:
  azure_client_id: aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee
  azure_client_secret: correct-horse
  azure_subscription_id: 66666666-7777-8888-9999-000000000000
  azure_tenant_id: 11111111-2222-3333-4444-555555555555
`
	azureImages = `apiVersion: image.openshift.io/v1
kind: ImageStream
metadata: {name: 4.22.0}
spec:
  tags:
  - {name: azure-cloud-controller-manager, from: {kind: DockerImage, name: "registry.example.com/ccm:1"}}
  - {name: azure-cloud-node-manager, from: {kind: DockerImage, name: "registry.example.com/node-manager:1"}}
`
)

// newAzureNode returns an installation on a platform of the registry whose nodes have a cloud-node-manager, with the
// configuration of its example.
func newAzureNode(t *testing.T, platform, cloud, endpoint, network string) node {
	t.Helper()
	n := newNode(t)
	n.write(infraFile, strings.NewReplacer("CLOUD", cloud, "ENDPOINT", endpoint, "NETWORK", network).
		Replace(azureInfrastructure))
	n.write(secretFile, azureSecret)
	n.write("image-references", azureImages)
	configMap := &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "openshift-config", Name: "cloud-provider-config"},
		Data:       map[string]string{},
	}
	for file, key := range map[string]string{"cloud.conf": "config", "endpoints": "endpoints"} {
		content, err := os.ReadFile(filepath.Join("..", "..", "operand", "testdata", platform, file))
		if err == nil {
			configMap.Data[key] = string(content)
		}
	}
	content, err := yaml.Marshal(configMap)
	require.NoError(t, err)
	n.write("manifests/cloud-provider-config.yaml", string(content))
	configMap.Namespace, configMap.Name = "openshift-config-managed", "kube-cloud-config"
	configMap.Data["cloud.conf"] = configMap.Data["config"]
	delete(configMap.Data, "config")
	content, err = yaml.Marshal(configMap)
	require.NoError(t, err)
	n.write(generatedFile, string(content))
	return n
}

func TestANodeManagerInitializesTheFirstNodesInsteadOfABootstrapPod(t *testing.T) {
	n := newAzureNode(t, "azurestack", "AzureStackCloud", "https://management.local.azurestack.example.com",
		"demo-x7k2p-rg")
	require.Equal(t, result{}, n.run())
	n.requireGolden("azurestack-out")
	for _, name := range n.outputFiles() {
		holds := strings.Contains(n.read(name), "Y29ycmVjdC1ob3JzZ") || strings.Contains(n.read(name), "correct-horse")
		secret := strings.Contains(filepath.Base(name), "secret")
		if holds || secret {
			require.Equal(t, "out/manifests/0000_26_cloud-controller-manager_02_secret-cloud-node-manager-config.yaml", name,
				"the installer's log bundle omits files with secret in their names")
			info, err := os.Stat(n.path(name))
			require.NoError(t, err)
			require.Equal(t, os.FileMode(0o600), info.Mode())
		}
	}
}

func TestANodeManagerThatReadsMetadataNeedsNoSecret(t *testing.T) {
	n := newAzureNode(t, "azure", "AzurePublicCloud", "", "network-rg")
	require.Equal(t, result{}, n.run())
	const prefix = "out/manifests/0000_26_cloud-controller-manager_"
	require.Equal(t, []string{
		configOutput,
		prefix + "00_namespace.yaml",
		prefix + "00_node-manager.securitycontextconstraints.yaml",
		prefix + "00_node-manager.validatingadmissionpolicy.yaml",
		prefix + "00_validatingadmissionpolicybinding-node-manager.yaml",
		prefix + "01_clusterrolebinding-node-manager.yaml",
		prefix + "01_node-manager-admission.clusterrole.yaml",
		prefix + "01_node-manager.clusterrole.yaml",
		prefix + "01_rolebinding-node-manager.yaml",
		prefix + "01_serviceaccount-node-manager.yaml",
		prefix + "02_configmap-trusted-ca.yaml",
		prefix + "03_daemonset-azure-cloud-node-manager.yaml",
	}, n.outputFiles())

	n.edit(infraFile, "type: Azure\n", "type: None\n")
	require.Zero(t, n.run().code)
	require.Equal(t, []string{configOutput, namespaceOutput}, n.outputFiles(), "those of an earlier run are removed")
}

func TestANodeManagerThatReadsMetadataNeedsNoToken(t *testing.T) {
	n := newAzureNode(t, "azure", "AzurePublicCloud", "", "network-rg")
	n.edit(secretFile, "azure_client_secret: correct-horse",
		"azure_federated_token_file: /var/run/secrets/openshift/serviceaccount/token")
	require.Equal(t, result{}, n.run())
	require.Contains(t, n.outputFiles(),
		"out/manifests/0000_26_cloud-controller-manager_03_daemonset-azure-cloud-node-manager.yaml")
}

func TestANodeManagerNeedsItsImage(t *testing.T) {
	n := newAzureNode(t, "azure", "AzurePublicCloud", "", "network-rg")
	n.edit("image-references", "azure-cloud-node-manager", "another-image")
	require.Equal(t, result{stderr: "render: image-references, key azure-cloud-node-manager: there is no image of " +
		"the cloud-node-manager for platform azure; the release must name it [CCM0014]: " + stays}, n.run())
}

// A newer release may know the cloud, and a cluster may have worked for years with another one in its configuration.
func TestACloudThatNobodyKnowsStopsNoInstallation(t *testing.T) {
	const (
		unknown = "render: manifests/cloud-provider-config.yaml: configmap/cloud-provider-config in " +
			"openshift-config, key config: status.platformStatus.azure.cloudName of " +
			"infrastructure.config.openshift.io/cluster is \"%s\", which is passed on: a cloud-controller-manager that does not " +
			"know it asks Azure's public cloud [CCM0007]\n"
		differ = "cloud is \"AzurePublicCloud\", but status.platformStatus.azure.cloudName of " +
			"infrastructure.config.openshift.io/cluster is \"%s\": correct it here [CCM0016]\n"
	)
	for _, cloud := range []string{"AzureUSSecCloud", "AzureGermanCloud"} {
		n := newAzureNode(t, "azure", cloud, "", "network-rg")
		r := n.run()
		require.Zero(t, r.code, r.stderr)
		require.Contains(t, r.stderr, strings.Replace(differ, "%s", cloud, 1))
		for _, file := range []string{cloudFile, generatedFile} {
			n.edit(file, "AzurePublicCloud", cloud)
		}
		require.Equal(t, result{stderr: strings.Replace(unknown, "%s", cloud, 1)}, n.run())
		require.FileExists(t, n.path("out/manifests/0000_26_cloud-controller-manager_03_daemonset-azure-cloud-node-manager.yaml"))
	}
}
