// Package operandconfig is the interface between observing the cluster's configuration and rendering the operand: the
// schema of spec.observedConfig, the merge of its layers, and its required fields.
package operandconfig

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"

	"github.com/openshift/library-go/pkg/operator/resource/resourcemerge"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"sigs.k8s.io/yaml"

	operatorv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc"
)

// Config is the configuration from which the operand is rendered. Each field is written by exactly one observer or is a
// default in bindata. spec.unsupportedConfigOverrides may override it.
type Config struct {
	// Platform is the name of an entry in the platform registry.
	Platform string `json:"platform,omitempty"`

	// InfrastructureName is the unique name of this cluster in its cloud, status.infrastructureName.
	InfrastructureName string `json:"infrastructureName,omitempty"`

	// APIServerInternalURI is the API server's URL for control-plane components without the service network,
	// status.apiServerInternalURI.
	APIServerInternalURI string `json:"apiServerInternalURI,omitempty"`

	// CloudConfig references the user's cloud configuration. Its name is empty if there is none.
	CloudConfig CloudConfigReference `json:"cloudConfig,omitzero"`

	// Cluster is the cluster's data about its cloud, against which cloud configurations are checked.
	Cluster clouds.Cluster `json:"cluster,omitzero"`

	// Custom is spec.custom of the operator's resource, nil if it is unset or does not apply.
	Custom *operatorv1.CustomCloudControllerManager `json:"custom,omitempty"`

	// TrustedCA is the ConfigMap in openshift-config that Proxy names in spec.trustedCA, or empty.
	TrustedCA string `json:"trustedCA,omitempty"`

	// Proxy are the proxy variables of the operand's environment by name.
	Proxy map[string]string `json:"proxy,omitempty"`

	// ServingInfo is the operand's TLS profile.
	ServingInfo ServingInfo `json:"servingInfo,omitzero"`

	// ExtendedArguments are the operand's flags without dashes. Several values of a flag are joined by commas.
	ExtendedArguments map[string][]string `json:"extendedArguments,omitempty"`

	// GatedArguments are ExtendedArguments by feature gate. They apply while the gate is enabled.
	GatedArguments map[string]map[string][]string `json:"gatedArguments,omitempty"`

	// FeatureGates are the gates that the platform's cloud-controller-manager supports in the release that ships it.
	// Enabled gates are passed on; an unsupported gate would end the process.
	FeatureGates []string `json:"featureGates,omitempty"`

	// CurvePreferences reports whether the platform's cloud-controller-manager supports --tls-curve-preferences in the
	// release that ships it: k8s.io/apiserver has had the flag since 0.36. An older process would exit.
	CurvePreferences bool `json:"curvePreferences,omitempty"`

	// WithoutArguments are flags of other layers that the platform's cloud-controller-manager must not get.
	WithoutArguments []string `json:"withoutArguments,omitempty"`
}

// CloudConfigReference names a ConfigMap in openshift-config and a key in it, like Infrastructure's spec.cloudConfig.
type CloudConfigReference struct {
	Name string `json:"name,omitempty"`
	Key  string `json:"key,omitempty"`
}

// ServingInfo is a TLS profile, in the terms of Kubernetes' serving flags.
type ServingInfo struct {
	MinTLSVersion string   `json:"minTLSVersion,omitempty"`
	CipherSuites  []string `json:"cipherSuites,omitempty"`

	// CurvePreferences are the allowed key exchanges, as numbers of crypto/tls. Empty leaves the choice to Go.
	CurvePreferences []string `json:"curvePreferences,omitempty"`
}

// HTTP2CipherSuites returns the suites of which HTTP/2 requires one below TLS 1.3. The type of the certificate's key
// determines which one is used.
func HTTP2CipherSuites() []string {
	return []string{"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"}
}

// AllowsHTTP2 reports whether Go starts a server with the profile: net/http rejects a choice of cipher suites without
// any of HTTP2CipherSuites. Without a choice, Go uses both.
func (s ServingInfo) AllowsHTTP2() bool {
	isRequired := func(suite string) bool { return slices.Contains(HTTP2CipherSuites(), suite) }
	return s.MinTLSVersion == "VersionTLS13" || len(s.CipherSuites) == 0 ||
		slices.ContainsFunc(s.CipherSuites, isRequired)
}

// The paths of the observers' fields in observedConfig.
var (
	PlatformPath             = []string{"platform"}
	InfrastructureNamePath   = []string{"infrastructureName"}
	APIServerInternalURIPath = []string{"apiServerInternalURI"}
	CloudConfigNamePath      = []string{"cloudConfig", "name"}
	CloudConfigKeyPath       = []string{"cloudConfig", "key"}
	PlatformSpecPath         = []string{"cluster", "spec"}
	PlatformStatusPath       = []string{"cluster", "status"}
	ServiceNetworksPath      = []string{"cluster", "serviceNetworks"}
	FeatureGatesPath         = []string{"cluster", "featureGates"}
	CustomPath               = []string{"custom"}
	TrustedCAPath            = []string{"trustedCA"}
	ProxyPath                = []string{"proxy"}
	MinTLSVersionPath        = []string{"servingInfo", "minTLSVersion"}
	CipherSuitesPath         = []string{"servingInfo", "cipherSuites"}
	CurvePreferencesPath     = []string{"servingInfo", "curvePreferences"}
	ClusterNamePath          = []string{"extendedArguments", "cluster-name"}
	VerbosityPath            = []string{"extendedArguments", "v"}
	NodeWorkersPath          = []string{"extendedArguments", "concurrent-node-syncs"}
	LeaseDurationPath        = []string{"extendedArguments", "leader-elect-lease-duration"}
	LeaseRenewDeadlinePath   = []string{"extendedArguments", "leader-elect-renew-deadline"}
	LeaseRetryPeriodPath     = []string{"extendedArguments", "leader-elect-retry-period"}

	RequestHeaderAllowedNamesPath = []string{"extendedArguments", "requestheader-allowed-names"}
)

// Merge merges the layers in their order: maps are merged by key, other values are replaced. Layers are YAML or JSON,
// and may be empty. The result is JSON.
func Merge(layers ...[]byte) ([]byte, error) {
	isEmpty := func(layer []byte) bool { return len(bytes.TrimSpace(layer)) == 0 }
	layers = slices.DeleteFunc(slices.Clone(layers), isEmpty)
	merged, err := resourcemerge.MergeProcessConfig(nil, slices.Insert(layers, 0, []byte("{}"))...)
	if err != nil {
		return nil, fmt.Errorf("the operand's configuration cannot be merged: %s", confdoc.JSONReason(err))
	}
	return merged, nil
}

// Decode decodes a configuration in YAML or JSON strictly: an unknown field is an error that names it.
func Decode(config []byte) (*Config, error) {
	asJSON, err := yaml.YAMLToJSONStrict(config)
	if err != nil {
		// The library quotes values, and a flag may contain a secret.
		return nil, fmt.Errorf("the operand's configuration: %s", confdoc.YAMLError(config, err).Message)
	}
	return DecodeJSON(asJSON)
}

// DecodeJSON is Decode for the result of Merge, which has no duplicate keys.
func DecodeJSON(merged []byte) (*Config, error) {
	decoder := json.NewDecoder(bytes.NewReader(merged))
	decoder.DisallowUnknownFields()
	config := &Config{}
	if err := decoder.Decode(config); err != nil {
		return nil, fmt.Errorf("the operand's configuration does not fit its schema: %s; "+
			"if spec.unsupportedConfigOverrides of cloudcontrollermanager/cluster sets it, correct it there",
			confdoc.JSONReason(err))
	}
	return config, nil
}

// Required returns an error that lists every required field that is not observed yet.
func Required(c *Config) error {
	var missing []error
	for _, field := range []struct{ name, value, source string }{
		{"platform", c.Platform, "status.platformStatus.type"},
		{"infrastructureName", c.InfrastructureName, "status.infrastructureName"},
		{"apiServerInternalURI", c.APIServerInternalURI, "status.apiServerInternalURI"},
	} {
		if field.value == "" {
			missing = append(missing, fmt.Errorf("%s is not observed yet: "+
				"infrastructure.config.openshift.io/cluster has no %s", field.name, field.source))
		}
	}
	return utilerrors.NewAggregate(missing)
}

// APIServer returns the URL of the API server for control-plane components.
func (c *Config) APIServer() (*url.URL, error) {
	server, err := url.Parse(c.APIServerInternalURI)
	if err != nil || server.Hostname() == "" {
		return nil, fmt.Errorf("status.apiServerInternalURI of infrastructure.config.openshift.io/cluster is %q, "+
			"which names no host; restore it from the cluster's installation", c.APIServerInternalURI)
	}
	return server, nil
}
