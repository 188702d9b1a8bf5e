// Package seed has the objects of an installed OpenShift cluster that the operator reads. The installer, the
// cluster-version-operator and the cluster-config-operator write them in a real cluster.
package seed

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/openshift/api/features"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

const (
	// InfrastructureName is the cluster's name in its cloud.
	InfrastructureName = "dev-x7k2p"
	// TargetNamespace is where the credentials Secret is delivered to.
	TargetNamespace = "openshift-cloud-controller-manager"
	// ConfigNamespace holds the cluster's configuration.
	ConfigNamespace = "openshift-config"
	// ManagedConfigNamespace holds what operators derive from it.
	ManagedConfigNamespace = "openshift-config-managed"
	// CredentialsNamespace holds the CredentialsRequests.
	CredentialsNamespace = "openshift-cloud-credential-operator"
	// CloudConfigName is the ConfigMap in ConfigNamespace with the cloud configuration.
	CloudConfigName = "cloud-provider-config"
	// CloudConfigKey is the key of the cloud configuration in CloudConfigName.
	CloudConfigKey = "config"
	// TrustedCAName is the ConfigMap in ConfigNamespace that Proxy names, and TrustedCAKey its key.
	TrustedCAName = "user-ca-bundle"
	// TrustedCAKey is described at TrustedCAName.
	TrustedCAKey = "ca-bundle.crt"
	// CABundleKey is the key of the cloud's CA bundle beside the cloud configuration.
	CABundleKey = "ca-bundle.pem"

	domain    = "dev.example.com"
	clusterID = "5f6a1b0e-9c2d-4e8b-8f3a-2f1d6c7b9a40"
)

// Cluster has the values in the objects.
type Cluster struct {
	// Platform is the platform's type.
	Platform configv1.PlatformType
	// APIServerURL becomes status.apiServerInternalURI.
	APIServerURL string
	// ServiceCIDR and PodCIDR are the ranges of Services and pods; HostPrefix the length of one node's pod range.
	ServiceCIDR, PodCIDR string
	HostPrefix           uint32
	// SingleNode makes the topologies SingleReplica.
	SingleNode bool
	// Version is the cluster's version, such as 4.99.0-dev.
	Version string
	// Example is the installation on a platform with a cloud; nil for others.
	Example *Example
	// Now is the cluster's installation time.
	Now time.Time
}

// Objects returns the cluster's objects in an order in which they can be created.
func (c Cluster) Objects() ([]runtime.Object, error) {
	gates, err := c.featureGate()
	if err != nil {
		return nil, err
	}
	seeded := []runtime.Object{
		namespace(ConfigNamespace),
		namespace(ManagedConfigNamespace),
		namespace(CredentialsNamespace),
		c.infrastructure(),
		c.proxy(),
		&configv1.APIServer{TypeMeta: configKind("APIServer"), ObjectMeta: singleton},
		gates,
		c.network(),
		c.clusterVersion(),
	}
	if c.Example != nil && c.Example.CloudConfig != nil {
		seeded = append(seeded, c.Example.cloudConfigMap())
	}
	if c.Example != nil && c.Example.TrustedCA != "" {
		seeded = append(seeded, configMap(TrustedCAName, map[string]string{TrustedCAKey: c.Example.TrustedCA}))
	}
	return seeded, nil
}

var singleton = metav1.ObjectMeta{Name: "cluster"}

func configKind(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: "config.openshift.io/v1", Kind: kind}
}

func namespace(name string) *corev1.Namespace {
	return &corev1.Namespace{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
		ObjectMeta: metav1.ObjectMeta{Name: name},
	}
}

func (c Cluster) infrastructure() *configv1.Infrastructure {
	topology := configv1.HighlyAvailableTopologyMode
	if c.SingleNode {
		topology = configv1.SingleReplicaTopologyMode
	}
	infrastructure := &configv1.Infrastructure{
		TypeMeta:   configKind("Infrastructure"),
		ObjectMeta: singleton,
		Spec:       configv1.InfrastructureSpec{PlatformSpec: configv1.PlatformSpec{Type: c.Platform}},
		Status: configv1.InfrastructureStatus{
			InfrastructureName:     InfrastructureName,
			Platform:               c.Platform, //nolint:staticcheck // deprecated, but every cluster still has it
			PlatformStatus:         &configv1.PlatformStatus{Type: c.Platform},
			APIServerURL:           "https://api." + domain + ":6443",
			APIServerInternalURL:   c.APIServerURL,
			ControlPlaneTopology:   topology,
			InfrastructureTopology: topology,
			CPUPartitioning:        configv1.CPUPartitioningNone,
		},
	}
	if c.Example != nil {
		infrastructure.Spec.PlatformSpec = c.Example.Spec
		infrastructure.Status.PlatformStatus = &c.Example.Status
		infrastructure.Status.Platform = c.Example.Status.Type //nolint:staticcheck // Every cluster still has it.
	}
	if c.Example != nil && c.Example.CloudConfig != nil &&
		(c.Example.Custom == nil || c.Example.Custom.CloudConfig.Name == "") {
		infrastructure.Spec.CloudConfig = configv1.ConfigMapFileReference{Name: CloudConfigName, Key: CloudConfigKey}
	}
	return infrastructure
}

// featureGate returns the real gates of the default feature set, like the installer's cluster-config-api step.
func (c Cluster) featureGate() (*configv1.FeatureGate, error) {
	major, err := strconv.ParseUint(strings.Split(c.Version, ".")[0], 10, 64)
	if err != nil {
		return nil, fmt.Errorf("version %q has no major number: %w", c.Version, err)
	}
	gates := features.FeatureSets(major, features.SelfManaged, configv1.Default)
	return &configv1.FeatureGate{
		TypeMeta:   configKind("FeatureGate"),
		ObjectMeta: singleton,
		Status: configv1.FeatureGateStatus{FeatureGates: []configv1.FeatureGateDetails{{
			Version:  c.Version,
			Enabled:  attributes(gates.Enabled),
			Disabled: attributes(gates.Disabled),
		}}},
	}, nil
}

// EnabledGates returns the names of the gates that featureGate enables.
func EnabledGates(version string) ([]string, error) {
	gate, err := Cluster{Version: version}.featureGate()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, enabled := range gate.Status.FeatureGates[0].Enabled {
		names = append(names, string(enabled.Name))
	}
	return names, nil
}

// attributes sorts the gates, which come from a map.
func attributes(gates []features.FeatureGateDescription) []configv1.FeatureGateAttributes {
	attributes := make([]configv1.FeatureGateAttributes, 0, len(gates))
	for _, gate := range gates {
		attributes = append(attributes, gate.FeatureGateAttributes)
	}
	slices.SortFunc(attributes, func(a, b configv1.FeatureGateAttributes) int { return cmp.Compare(a.Name, b.Name) })
	return attributes
}

func (c Cluster) network() *configv1.Network {
	clusterNetwork := []configv1.ClusterNetworkEntry{{CIDR: c.PodCIDR, HostPrefix: c.HostPrefix}}
	return &configv1.Network{
		TypeMeta:   configKind("Network"),
		ObjectMeta: singleton,
		Spec: configv1.NetworkSpec{
			ClusterNetwork: clusterNetwork,
			ServiceNetwork: []string{c.ServiceCIDR},
			NetworkType:    "OVNKubernetes",
		},
		Status: configv1.NetworkStatus{
			ClusterNetwork: clusterNetwork,
			ServiceNetwork: []string{c.ServiceCIDR},
			NetworkType:    "OVNKubernetes",
		},
	}
}

func (c Cluster) clusterVersion() *configv1.ClusterVersion {
	installed := metav1.NewTime(c.Now.Truncate(time.Second))
	// The newest set that the default variant of the API knows.
	capabilities := configv1.ClusterVersionCapabilitySets[configv1.ClusterVersionCapabilitySet4_18]
	release := configv1.Release{Version: c.Version, Image: "localhost/openshift/release:" + c.Version}
	return &configv1.ClusterVersion{
		TypeMeta:   configKind("ClusterVersion"),
		ObjectMeta: metav1.ObjectMeta{Name: "version"},
		Spec:       configv1.ClusterVersionSpec{ClusterID: clusterID},
		Status: configv1.ClusterVersionStatus{
			Desired:            release,
			ObservedGeneration: 1,
			VersionHash:        "devcluster",
			Capabilities: configv1.ClusterVersionCapabilitiesStatus{
				EnabledCapabilities: slices.Clone(capabilities),
				KnownCapabilities:   slices.Clone(capabilities),
			},
			History: []configv1.UpdateHistory{{
				State: configv1.CompletedUpdate, StartedTime: installed, CompletionTime: &installed,
				Version: release.Version, Image: release.Image,
			}},
			Conditions: []configv1.ClusterOperatorStatusCondition{{
				Type: configv1.OperatorAvailable, Status: configv1.ConditionTrue, LastTransitionTime: installed,
				Message: "Done applying " + c.Version,
			}},
			AvailableUpdates: []configv1.Release{},
		},
	}
}

func (c Cluster) proxy() *configv1.Proxy {
	proxy := &configv1.Proxy{TypeMeta: configKind("Proxy"), ObjectMeta: singleton}
	if c.Example != nil && c.Example.TrustedCA != "" {
		proxy.Spec.TrustedCA.Name = TrustedCAName
	}
	return proxy
}

func cloudConfigMap(data map[string]string) *corev1.ConfigMap {
	return configMap(CloudConfigName, data)
}

func configMap(name string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: ConfigNamespace, Name: name},
		Data:       data,
	}
}
