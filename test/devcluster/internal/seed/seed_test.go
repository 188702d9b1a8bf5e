package seed_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	ccmv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/seed"
)

func cluster(platform configv1.PlatformType) seed.Cluster {
	return seed.Cluster{
		Platform:     platform,
		APIServerURL: "https://10.200.0.1:6443",
		ServiceCIDR:  "10.96.0.0/24",
		PodCIDR:      "10.201.0.0/16",
		HostPrefix:   24,
		Version:      "4.99.0-dev",
		Now:          time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC),
	}
}

func find[T runtime.Object](t *testing.T, objects []runtime.Object) T {
	t.Helper()
	for _, object := range objects {
		if found, ok := object.(T); ok {
			return found
		}
	}
	t.Fatalf("no %T", *new(T))
	return *new(T)
}

func TestObjectsOfAClusterWithACloud(t *testing.T) {
	installed := cluster(configv1.OpenStackPlatformType)
	installed.Example = &seed.Example{
		Spec: configv1.PlatformSpec{Type: configv1.OpenStackPlatformType},
		Status: configv1.PlatformStatus{Type: configv1.OpenStackPlatformType,
			OpenStack: &configv1.OpenStackPlatformStatus{CloudName: "openstack"}},
		CloudConfig: map[string]string{"config": "[Global]\n", "ca-bundle.pem": "the cloud's CA\n"},
	}
	objects, err := installed.Objects()
	require.NoError(t, err)

	infrastructure := find[*configv1.Infrastructure](t, objects)
	require.Equal(t, "dev-x7k2p", infrastructure.Status.InfrastructureName)
	require.Equal(t, "https://10.200.0.1:6443", infrastructure.Status.APIServerInternalURL)
	require.Equal(t, configv1.HighlyAvailableTopologyMode, infrastructure.Status.ControlPlaneTopology)
	require.Equal(t, "openstack", infrastructure.Status.PlatformStatus.OpenStack.CloudName)

	cloudConfig := find[*corev1.ConfigMap](t, objects)
	require.Equal(t, "openshift-config/cloud-provider-config", cloudConfig.Namespace+"/"+cloudConfig.Name)
	require.Equal(t, installed.Example.CloudConfig, cloudConfig.Data)
	require.Equal(t, cloudConfig.Name, infrastructure.Spec.CloudConfig.Name)
	require.Contains(t, cloudConfig.Data, infrastructure.Spec.CloudConfig.Key)
}

func TestOtherPlatformsHaveNoCloudConfig(t *testing.T) {
	objects, err := cluster(configv1.NonePlatformType).Objects()
	require.NoError(t, err)
	infrastructure := find[*configv1.Infrastructure](t, objects)
	require.Equal(t, configv1.NonePlatformType, infrastructure.Status.PlatformStatus.Type)
	require.Empty(t, infrastructure.Spec.CloudConfig)
	require.False(t, slices.ContainsFunc(objects, func(object runtime.Object) bool {
		_, ok := object.(*corev1.ConfigMap)
		return ok
	}))
}

func TestAnExampleIsWhatTheOperatorsRenderingIsTestedWith(t *testing.T) {
	for name, want := range map[string]struct {
		platform  configv1.PlatformType
		configMap string
		keys      []string
		named     string
		secret    string
	}{
		"azurestack": {configv1.AzurePlatformType, "cloud-provider-config", []string{"config", "endpoints"},
			"cloud-provider-config", "azure_client_secret"},
		"external": {configv1.ExternalPlatformType, "example-cloud", []string{"example.conf"}, "", "key"},
		"gcp": {configv1.GCPPlatformType, "cloud-provider-config", []string{"config"}, "cloud-provider-config",
			"service_account.json"},
	} {
		t.Run(name, func(t *testing.T) {
			example, err := seed.ReadExample("../../../../pkg/operand/testdata/" + name)
			require.NoError(t, err)
			require.Contains(t, example.Credentials, want.secret)
			installed := cluster(configv1.PlatformType(name))
			installed.Example = example
			objects, err := installed.Objects()
			require.NoError(t, err)
			infrastructure := find[*configv1.Infrastructure](t, objects)
			require.Equal(t, want.platform, infrastructure.Status.PlatformStatus.Type)
			require.Equal(t, want.named, infrastructure.Spec.CloudConfig.Name)
			configMap := find[*corev1.ConfigMap](t, objects)
			require.Equal(t, want.configMap, configMap.Name)
			require.Equal(t, want.keys, slices.Sorted(maps.Keys(configMap.Data)))
		})
	}
	_, err := seed.ReadExample("nowhere")
	require.EqualError(t, err, "example: open nowhere/observed.yaml: no such file or directory")
}

func TestTheConfigurationOfACustomCloudControllerManagerKeepsTheCA(t *testing.T) {
	installed := cluster(configv1.ExternalPlatformType)
	installed.Example = &seed.Example{
		CloudConfig: map[string]string{"config": "[Global]\n", "ca-bundle.pem": "the cloud's CA\n"},
		Custom: &ccmv1.CustomCloudControllerManager{
			CloudConfig: ccmv1.CustomCloudControllerManagerCloudConfig{Name: "acme", Key: ptr.To("cloud.conf")}},
	}
	objects, err := installed.Objects()
	require.NoError(t, err)
	require.Equal(t, map[string]string{"cloud.conf": "[Global]\n", "ca-bundle.pem": "the cloud's CA\n"},
		find[*corev1.ConfigMap](t, objects).Data)
}

func TestASingleNodeIsASingleReplica(t *testing.T) {
	single := cluster(configv1.OpenStackPlatformType)
	single.SingleNode = true
	objects, err := single.Objects()
	require.NoError(t, err)
	require.Equal(t, configv1.SingleReplicaTopologyMode, find[*configv1.Infrastructure](t,
		objects).Status.ControlPlaneTopology)
}

func TestFeatureGatesAreTheRealOnesInOrder(t *testing.T) {
	objects, err := cluster(configv1.OpenStackPlatformType).Objects()
	require.NoError(t, err)
	gates := find[*configv1.FeatureGate](t, objects).Status.FeatureGates
	require.Len(t, gates, 1)
	require.Equal(t, "4.99.0-dev", gates[0].Version)
	for _, list := range [][]configv1.FeatureGateAttributes{gates[0].Enabled, gates[0].Disabled} {
		require.Greater(t, len(list), 10)
		require.True(t, slices.IsSortedFunc(list, func(a, b configv1.FeatureGateAttributes) int {
			if a.Name < b.Name {
				return -1
			}
			return 1
		}))
	}
}

func TestAVersionWithoutAMajorNumberIsRejected(t *testing.T) {
	broken := cluster(configv1.OpenStackPlatformType)
	broken.Version = "dev"
	_, err := broken.Objects()
	require.EqualError(t, err, `version "dev" has no major number: strconv.ParseUint: parsing "dev": invalid syntax`)
}

func TestCredentialsAreInTheNamespaceOfTheOperand(t *testing.T) {
	secret := seed.Secret("openstack-cloud-credentials", map[string][]byte{"clouds.yaml": []byte("clouds: {}\n")})
	require.Equal(t, "openshift-cloud-controller-manager/openstack-cloud-credentials", secret.Namespace+"/"+secret.Name)
	require.Equal(t, map[string][]byte{"clouds.yaml": []byte("clouds: {}\n")}, secret.Data)
}

func TestDefinitionsAreThoseOfTheSeededKinds(t *testing.T) {
	definitions, err := seed.Definitions(t.Context(), ".")
	require.NoError(t, err)
	names := []string{}
	for _, definition := range definitions {
		names = append(names, definition.GetName())
	}
	require.Equal(t, []string{
		"proxies.config.openshift.io",
		"apiservers.config.openshift.io",
		"featuregates.config.openshift.io",
		"infrastructures.config.openshift.io",
		"networks.config.openshift.io",
		"clusteroperators.config.openshift.io",
		"clusterversions.config.openshift.io",
		"securitycontextconstraints.security.openshift.io",
		"credentialsrequests.cloudcredential.openshift.io",
		"servicemonitors.monitoring.coreos.com",
		"prometheusrules.monitoring.coreos.com",
	}, names)
}

func TestAProxyNamesTheTrustedCAOfTheExample(t *testing.T) {
	installed := cluster(configv1.AzurePlatformType)
	installed.Example = &seed.Example{TrustedCA: "a bundle"}
	objects, err := installed.Objects()
	require.NoError(t, err)
	require.Equal(t, "user-ca-bundle", find[*configv1.Proxy](t, objects).Spec.TrustedCA.Name)
	trusted := find[*corev1.ConfigMap](t, objects)
	require.Equal(t, "user-ca-bundle", trusted.Name)
	require.Equal(t, map[string]string{"ca-bundle.crt": "a bundle"}, trusted.Data)

	installed.Example = nil
	objects, err = installed.Objects()
	require.NoError(t, err)
	require.Empty(t, find[*configv1.Proxy](t, objects).Spec.TrustedCA.Name)
}
