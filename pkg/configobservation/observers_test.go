package configobservation_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	configlistersv1 "github.com/openshift/client-go/config/listers/config/v1"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	corev1listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	clocktesting "k8s.io/utils/clock/testing"

	ccmv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/configobservation"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operandconfig"
)

var named = metav1.ObjectMeta{Name: "cluster"}

// world is what the listers find; nil is not there.
type world struct {
	infrastructure *configv1.Infrastructure
	proxy          *configv1.Proxy
	apiServer      *configv1.APIServer
	featureGate    *configv1.FeatureGate
	logLevel       operatorv1.LogLevel
	logLevelErr    error
	network        *configv1.Network
	custom         *ccmv1.CustomCloudControllerManager
	customErr      error
	// initialization is spec.nodeInitialization.
	initialization    *ccmv1.CloudControllerManagerNodeInitialization
	initializationErr error
	authentication    *corev1.ConfigMap
	predecessor       bool
}

func (w world) listers(t *testing.T) configobservation.Listers {
	t.Helper()
	return configobservation.Listers{
		Predecessor:     func() (bool, error) { return w.predecessor, nil },
		Infrastructures: configlistersv1.NewInfrastructureLister(index(t, w.infrastructure, w.infrastructure != nil)),
		Proxies:         configlistersv1.NewProxyLister(index(t, w.proxy, w.proxy != nil)),
		APIServers:      configlistersv1.NewAPIServerLister(index(t, w.apiServer, w.apiServer != nil)),
		FeatureGates:    configlistersv1.NewFeatureGateLister(index(t, w.featureGate, w.featureGate != nil)),
		Networks:        configlistersv1.NewNetworkLister(index(t, w.network, w.network != nil)),
		Authentication:  corev1listers.NewConfigMapLister(index(t, w.authentication, w.authentication != nil)),
		Custom:          func() (*ccmv1.CustomCloudControllerManager, error) { return w.custom, w.customErr },
		NodeInitialization: func() (*ccmv1.CloudControllerManagerNodeInitialization, error) {
			return w.initialization, w.initializationErr
		},
		LogLevel: func() (operatorv1.LogLevel, error) { return w.logLevel, w.logLevelErr },
		Version:  "4.99.0",
	}
}

func allowedNames(list string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "extension-apiserver-authentication"},
		Data:       map[string]string{"requestheader-allowed-names": list},
	}
}

func index(t *testing.T, object any, exists bool) cache.Indexer {
	t.Helper()
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	if exists {
		require.NoError(t, indexer.Add(object))
	}
	return indexer
}

func openStack() *configv1.Infrastructure {
	return &configv1.Infrastructure{
		ObjectMeta: named,
		Spec:       configv1.InfrastructureSpec{CloudConfig: configv1.ConfigMapFileReference{Name: "cloud-provider-config", Key: "config"}},
		Status: configv1.InfrastructureStatus{
			InfrastructureName:   "ci-x7k2p",
			APIServerInternalURL: "https://api-int.example.com:6443",
			ControlPlaneTopology: configv1.HighlyAvailableTopologyMode,
			PlatformStatus:       &configv1.PlatformStatus{Type: configv1.OpenStackPlatformType},
		},
	}
}

func TestWhatIsObserved(t *testing.T) {
	const intermediate = `"servingInfo": {"minTLSVersion": "VersionTLS12", "cipherSuites": [
		"TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256",
		"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
		"TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
		"TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256"]}`
	const fromOpenStack = `"platform": "openstack", "infrastructureName": "ci-x7k2p", "apiServerInternalURI": "https://api-int.example.com:6443",
		"cloudConfig": {"name": "cloud-provider-config", "key": "config"}, "cluster": {"spec": {"type": ""}, "status": {"type": "OpenStack"}}`

	for name, tc := range map[string]struct {
		world    world
		existing string
		want     string
		wantErr  string
	}{
		"OpenStack and defaults": {
			world: world{infrastructure: openStack()},
			want:  `{` + fromOpenStack + `, ` + intermediate + `, "extendedArguments": {"cluster-name": ["ci-x7k2p"], "v": ["2"]}}`,
		},
		"the names that may speak for users": {
			world: world{infrastructure: openStack(), authentication: allowedNames(`["kube-apiserver-proxy","system:openshift-aggregator"]`)},
			want: `{` + fromOpenStack + `, ` + intermediate + `, "extendedArguments": {"cluster-name": ["ci-x7k2p"], "v": ["2"],
				"requestheader-allowed-names": ["kube-apiserver-proxy,system:openshift-aggregator"]}}`,
		},
		"a name with a comma stays one": {
			world: world{infrastructure: openStack(), authentication: allowedNames(`["a, b","c"]`)},
			want: `{` + fromOpenStack + `, ` + intermediate + `, "extendedArguments": {"cluster-name": ["ci-x7k2p"], "v": ["2"],
				"requestheader-allowed-names": ["\"a, b\",c"]}}`,
		},
		"every name may speak for users": {
			world:    world{infrastructure: openStack(), authentication: allowedNames(`[]`)},
			existing: `{"extendedArguments": {"requestheader-allowed-names": ["a"]}}`,
			want:     `{` + fromOpenStack + `, ` + intermediate + `, "extendedArguments": {"cluster-name": ["ci-x7k2p"], "v": ["2"]}}`,
		},
		"the API server takes no request headers": {
			world: world{infrastructure: openStack(), authentication: &corev1.ConfigMap{ObjectMeta: allowedNames("").ObjectMeta}},
			want:  `{` + fromOpenStack + `, ` + intermediate + `, "extendedArguments": {"cluster-name": ["ci-x7k2p"], "v": ["2"]}}`,
		},
		"while the API server has not written its names the previous ones stay": {
			world:    world{infrastructure: openStack()},
			existing: `{"extendedArguments": {"requestheader-allowed-names": ["a"]}}`,
			want: `{` + fromOpenStack + `, ` + intermediate + `, "extendedArguments": {"cluster-name": ["ci-x7k2p"], "v": ["2"],
				"requestheader-allowed-names": ["a"]}}`,
		},
		"names that are no list leave the previous ones": {
			world:    world{infrastructure: openStack(), authentication: allowedNames(`a,b`)},
			existing: `{"extendedArguments": {"requestheader-allowed-names": ["a"]}}`,
			want: `{` + fromOpenStack + `, ` + intermediate + `, "extendedArguments": {"cluster-name": ["ci-x7k2p"], "v": ["2"],
				"requestheader-allowed-names": ["a"]}}`,
			wantErr: "configmap/extension-apiserver-authentication in kube-system, key requestheader-allowed-names: " +
				"expected a list of strings in JSON; " +
				"kube-apiserver writes it from its flag --requestheader-allowed-names",
		},
		"a single node gets slower lease timings": {
			world: world{infrastructure: with(openStack(), func(i *configv1.Infrastructure) {
				i.Status.ControlPlaneTopology = configv1.SingleReplicaTopologyMode
			})},
			want: `{` + fromOpenStack + `, ` + intermediate + `, "extendedArguments": {"cluster-name": ["ci-x7k2p"], "v": ["2"],
				"leader-elect-lease-duration": ["270s"], "leader-elect-renew-deadline": ["240s"], "leader-elect-retry-period": ["60s"]}}`,
		},
		"but not while the predecessor contends for the lease": {
			world: world{predecessor: true, infrastructure: with(openStack(), func(i *configv1.Infrastructure) {
				i.Status.ControlPlaneTopology = configv1.SingleReplicaTopologyMode
			})},
			want: `{` + fromOpenStack + `, ` + intermediate + `, "extendedArguments": {"cluster-name": ["ci-x7k2p"], "v": ["2"]}}`,
		},
		"the proxy with its trusted CA, the log level, the modern profile and the operand's feature gates": {
			world: world{
				infrastructure: openStack(),
				proxy: &configv1.Proxy{
					ObjectMeta: named,
					Spec:       configv1.ProxySpec{TrustedCA: configv1.ConfigMapNameReference{Name: "user-ca-bundle"}},
					Status:     configv1.ProxyStatus{HTTPProxy: "http://proxy:3128", HTTPSProxy: "http://proxy:3129", NoProxy: ".svc"},
				},
				apiServer: &configv1.APIServer{ObjectMeta: named, Spec: configv1.APIServerSpec{
					TLSSecurityProfile: &configv1.TLSSecurityProfile{Type: configv1.TLSProfileOldType},
				}},
				featureGate: gates("4.99.0",
					[]string{"SomethingOfTheConsole", "CloudControllerManagerWebhook"},
					append([]string{"AnotherThing", "CloudControllerManagerWatchBasedRoutesReconciliation"}, offByAbsence...)),
				logLevel: operatorv1.Debug,
			},
			want: `{` + withGate(fromOpenStack) + `, "trustedCA": "user-ca-bundle",
				"proxy": {"HTTP_PROXY": "http://proxy:3128", "HTTPS_PROXY": "http://proxy:3129", "NO_PROXY": ".svc"},
				"servingInfo": {"minTLSVersion": "VersionTLS10", "cipherSuites": ` + oldSuites + `},
				"extendedArguments": {"cluster-name": ["ci-x7k2p"], "v": ["4"]}}`,
		},
		"without an Infrastructure the previous values stay": {
			existing: `{` + fromOpenStack + `, ` + intermediate + `, "extendedArguments": {"cluster-name": ["ci-x7k2p"], "v": ["2"]}}`,
			want:     `{` + fromOpenStack + `, ` + intermediate + `, "extendedArguments": {"cluster-name": ["ci-x7k2p"], "v": ["2"]}}`,
			wantErr: "infrastructure.config.openshift.io/cluster does not exist: the installer writes it, " +
				"restore it from the cluster's installation or a backup",
		},
		"without a status the previous values stay": {
			world:    world{infrastructure: &configv1.Infrastructure{ObjectMeta: named}},
			existing: `{` + fromOpenStack + `, ` + intermediate + `, "extendedArguments": {"cluster-name": ["ci-x7k2p"], "v": ["2"]}}`,
			want:     `{` + fromOpenStack + `, ` + intermediate + `, "extendedArguments": {"cluster-name": ["ci-x7k2p"], "v": ["2"]}}`,
			wantErr: "infrastructure.config.openshift.io/cluster has no status.platformStatus.type; " +
				"the installer writes it, restore it from the cluster's installation or a backup",
		},
		"a changed platform is refused": {
			world: world{infrastructure: with(openStack(), func(i *configv1.Infrastructure) {
				i.Status.PlatformStatus.Type = configv1.NonePlatformType
			})},
			existing: `{` + fromOpenStack + `}`,
			want: `{` + strings.ReplaceAll(fromOpenStack, `"type": "OpenStack"`, `"type": "None"`) + `, ` + intermediate + `,
				"extendedArguments": {"cluster-name": ["ci-x7k2p"], "v": ["2"]}}`,
			wantErr: `infrastructure.config.openshift.io/cluster changed its platform from "openstack" to "none" in status.platformStatus.type: ` +
				`changing the platform of a running cluster is not supported, restore the former value`,
		},
		"a platform that an older version did not know is started": {
			world:    world{infrastructure: openStack()},
			existing: `{"platform": "none"}`,
			want:     `{` + fromOpenStack + `, ` + intermediate + `, "extendedArguments": {"cluster-name": ["ci-x7k2p"], "v": ["2"]}}`,
		},
		"a FeatureGate that does not know the version leaves the previous gates": {
			world:    world{infrastructure: openStack(), featureGate: gates("4.98.0", nil, nil)},
			existing: `{"cluster": {"featureGates": ["CloudControllerManagerWebhook"]}}`,
			want:     `{` + withGate(fromOpenStack) + `, ` + intermediate + `, "extendedArguments": {"cluster-name": ["ci-x7k2p"], "v": ["2"]}}`,
			wantErr: `reading featuregate.config.openshift.io/cluster: unable to determine features: ` +
				`missing desired version "4.99.0" in featuregates.config.openshift.io/cluster; cluster-config-operator writes it`,
		},
		"an unreadable log level leaves the previous one": {
			world:    world{infrastructure: openStack(), logLevelErr: errors.New("no cache")},
			existing: `{"extendedArguments": {"v": ["6"]}}`,
			want:     `{` + fromOpenStack + `, ` + intermediate + `, "extendedArguments": {"cluster-name": ["ci-x7k2p"], "v": ["6"]}}`,
			wantErr:  "no cache",
		},
		"as many Nodes at a time as the administrator wants": {
			world: world{infrastructure: openStack(), initialization: &ccmv1.CloudControllerManagerNodeInitialization{MaxConcurrentNodes: 40}},
			want: `{` + fromOpenStack + `, ` + intermediate + `, "extendedArguments": {"cluster-name": ["ci-x7k2p"], "v": ["2"],
				"concurrent-node-syncs": ["40"]}}`,
		},
		"without a wish the platform decides again": {
			world:    world{infrastructure: openStack(), initialization: &ccmv1.CloudControllerManagerNodeInitialization{}},
			existing: `{"extendedArguments": {"concurrent-node-syncs": ["40"]}}`,
			want:     `{` + fromOpenStack + `, ` + intermediate + `, "extendedArguments": {"cluster-name": ["ci-x7k2p"], "v": ["2"]}}`,
		},
		"an unreadable wish leaves the previous one": {
			world:    world{infrastructure: openStack(), initializationErr: errors.New("no cache")},
			existing: `{"extendedArguments": {"concurrent-node-syncs": ["40"]}}`,
			want: `{` + fromOpenStack + `, ` + intermediate + `, "extendedArguments": {"cluster-name": ["ci-x7k2p"], "v": ["2"],
				"concurrent-node-syncs": ["40"]}}`,
			wantErr: "no cache",
		},
		"a cloud configuration that Infrastructure no longer names is gone": {
			world: world{infrastructure: with(openStack(), func(i *configv1.Infrastructure) {
				i.Spec.CloudConfig = configv1.ConfigMapFileReference{}
			})},
			existing: `{` + fromOpenStack + `}`,
			want: `{"platform": "openstack", "infrastructureName": "ci-x7k2p", "apiServerInternalURI": "https://api-int.example.com:6443",
				"cluster": {"spec": {"type": ""}, "status": {"type": "OpenStack"}}, ` + intermediate + `, "extendedArguments": {"cluster-name": ["ci-x7k2p"], "v": ["2"]}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			existing := map[string]any{}
			if tc.existing != "" {
				require.NoError(t, json.Unmarshal([]byte(tc.existing), &existing))
			}
			observed, err := configobservation.Observe(tc.world.listers(t), recorder(), existing)
			if tc.wantErr == "" {
				require.NoError(t, err)
			} else {
				require.EqualError(t, err, tc.wantErr)
			}
			got, err := json.Marshal(observed)
			require.NoError(t, err)
			require.JSONEq(t, tc.want, string(got))
			_, err = operandconfig.Decode(got)
			require.NoError(t, err)
		})
	}
}

const oldSuites = `[
	"TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256",
	"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
	"TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
	"TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
	"TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256", "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256",
	"TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA", "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA",
	"TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA", "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA",
	"TLS_RSA_WITH_AES_128_GCM_SHA256", "TLS_RSA_WITH_AES_256_GCM_SHA384",
	"TLS_RSA_WITH_AES_128_CBC_SHA256", "TLS_RSA_WITH_AES_128_CBC_SHA", "TLS_RSA_WITH_AES_256_CBC_SHA",
	"TLS_RSA_WITH_3DES_EDE_CBC_SHA"]`

// The operand has always honored the profile, which every value of tlsAdherence then asks for, also an unknown one.
func TestTheTLSProfileIsHonoredWhateverTLSAdherenceSays(t *testing.T) {
	for _, adherence := range []configv1.TLSAdherencePolicy{
		configv1.TLSAdherencePolicyNoOpinion, configv1.TLSAdherencePolicyLegacyAdheringComponentsOnly,
		configv1.TLSAdherencePolicyStrictAllComponents, "OfALaterRelease",
	} {
		t.Run(string(adherence), func(t *testing.T) {
			observed, err := configobservation.Observe(world{infrastructure: openStack(), apiServer: &configv1.APIServer{
				ObjectMeta: named,
				Spec: configv1.APIServerSpec{
					TLSAdherence: adherence, TLSSecurityProfile: &configv1.TLSSecurityProfile{Type: configv1.TLSProfileModernType},
				},
			}}.listers(t), recorder(), map[string]any{})
			require.NoError(t, err)
			version, _, err := unstructured.NestedString(observed, "servingInfo", "minTLSVersion")
			require.NoError(t, err)
			require.Equal(t, "VersionTLS13", version)
		})
	}
}

func TestAProfileWithWhichNoServerStartsIsRejected(t *testing.T) {
	const reason = "apiserver.config.openshift.io/cluster, spec.tlsSecurityProfile.custom.ciphers: it has neither " +
		"ECDHE-RSA-AES128-GCM-SHA256 nor ECDHE-ECDSA-AES128-GCM-SHA256: below TLS 1.3, HTTP/2 requires one of them, and " +
		"the cloud-controller-manager would exit; add one, or set minTLSVersion to VersionTLS13; until then "
	const rsa, ecdsa, other = "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
		"TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"
	const formerly, kept, added = `{"servingInfo": {"minTLSVersion": "VersionTLS11", "cipherSuites": ["` + rsa + `"]}}`,
		"the former profile is used", "both are added"
	none := with(openStack(), func(i *configv1.Infrastructure) { i.Status.PlatformStatus.Type = configv1.NonePlatformType })
	for name, tc := range map[string]struct {
		infrastructure *configv1.Infrastructure
		ciphers        []string
		version        configv1.TLSProtocolVersion
		existing       string
		wantVersion    string
		want           []string
		wantErr        string
	}{
		"a change leaves the former profile": {
			ciphers: []string{"ECDHE-RSA-AES256-GCM-SHA384"}, existing: formerly,
			wantVersion: "VersionTLS11", want: []string{rsa}, wantErr: kept,
		},
		"a first installation gets the suites that are missing": {
			ciphers: []string{"ECDHE-RSA-AES256-GCM-SHA384"}, existing: `{}`,
			wantVersion: "VersionTLS12", want: []string{other, rsa, ecdsa}, wantErr: added,
		},
		"an unusable former profile does not stay": {
			ciphers:     []string{"ECDHE-RSA-AES256-GCM-SHA384"},
			existing:    `{"servingInfo": {"minTLSVersion": "VersionTLS11", "cipherSuites": ["` + other + `"]}}`,
			wantVersion: "VersionTLS12", want: []string{other, rsa, ecdsa}, wantErr: added,
		},
		"suites of TLS 1.3 alone": {
			ciphers: []string{"TLS_AES_128_GCM_SHA256"}, existing: formerly,
			wantVersion: "VersionTLS11", want: []string{rsa}, wantErr: kept,
		},
		"one of the two is enough": {
			ciphers:  []string{"ECDHE-RSA-AES256-GCM-SHA384", "ECDHE-ECDSA-AES128-GCM-SHA256"},
			existing: formerly, wantVersion: "VersionTLS12", want: []string{other, ecdsa},
		},
		"TLS 1.3 needs none": {
			ciphers: []string{"ECDHE-RSA-AES256-GCM-SHA384"}, version: configv1.VersionTLS13, existing: formerly,
			wantVersion: "VersionTLS13", want: []string{other},
		},
		"no choice": {existing: formerly, wantVersion: "VersionTLS12"},
		"where no cloud-controller-manager runs it is nobody's": {
			infrastructure: none, ciphers: []string{"ECDHE-RSA-AES256-GCM-SHA384"}, existing: `{}`,
			wantVersion: "VersionTLS12", want: []string{other},
		},
	} {
		t.Run(name, func(t *testing.T) {
			existing := map[string]any{}
			require.NoError(t, json.Unmarshal([]byte(tc.existing), &existing))
			profile := &configv1.CustomTLSProfile{TLSProfileSpec: configv1.TLSProfileSpec{
				Ciphers: tc.ciphers, MinTLSVersion: cmp.Or(tc.version, configv1.VersionTLS12),
			}}
			observed, err := configobservation.Observe(world{
				infrastructure: cmp.Or(tc.infrastructure, openStack()),
				apiServer: &configv1.APIServer{ObjectMeta: named, Spec: configv1.APIServerSpec{
					TLSSecurityProfile: &configv1.TLSSecurityProfile{Type: configv1.TLSProfileCustomType, Custom: profile},
				}},
			}.listers(t), recorder(), existing)
			if tc.wantErr != "" {
				require.EqualError(t, err, reason+tc.wantErr)
			} else {
				require.NoError(t, err)
			}
			version, _, err := unstructured.NestedString(observed, "servingInfo", "minTLSVersion")
			require.NoError(t, err)
			require.Equal(t, tc.wantVersion, version)
			suites, _, err := unstructured.NestedStringSlice(observed, "servingInfo", "cipherSuites")
			require.NoError(t, err)
			require.ElementsMatch(t, tc.want, suites)
		})
	}
}

// A cloud-controller-manager may run with it.
func TestAProfileWithWhichNoServerStartsIsRejectedWhileThePlatformIsUnknown(t *testing.T) {
	const existing = `{"platform": "openstack", "servingInfo": {"minTLSVersion": "VersionTLS12",
		"cipherSuites": ["TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"]}}`
	for name, tc := range map[string]struct {
		infrastructure *configv1.Infrastructure
		wantErr        string
	}{
		"Infrastructure is gone": {wantErr: "infrastructure.config.openshift.io/cluster does not exist: the installer " +
			"writes it, restore it from the cluster's installation or a backup"},
		"Infrastructure has another platform, which is refused": {
			infrastructure: with(openStack(), func(i *configv1.Infrastructure) {
				i.Status.PlatformStatus.Type = configv1.NonePlatformType
			}),
			wantErr: `infrastructure.config.openshift.io/cluster changed its platform from "openstack" to "none" in ` +
				`status.platformStatus.type: changing the platform of a running cluster is not supported, restore the former value`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			suites, err := observePart(t, world{infrastructure: tc.infrastructure, apiServer: &configv1.APIServer{
				ObjectMeta: named, Spec: configv1.APIServerSpec{TLSSecurityProfile: &configv1.TLSSecurityProfile{
					Type: configv1.TLSProfileCustomType, Custom: &configv1.CustomTLSProfile{TLSProfileSpec: configv1.TLSProfileSpec{
						Ciphers: []string{"ECDHE-RSA-AES256-GCM-SHA384"}, MinTLSVersion: configv1.VersionTLS12}},
				}},
			}}, existing, "servingInfo", "cipherSuites")
			require.Equal(t, []any{"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"}, suites)
			require.EqualError(t, err, "["+tc.wantErr+", "+(&configobservation.TLSProfileError{Kept: true}).Error()+"]")
		})
	}
}

func TestOnlyConfiguredTLSGroupsAreObserved(t *testing.T) {
	custom := func(groups ...configv1.TLSGroup) *configv1.TLSSecurityProfile {
		return &configv1.TLSSecurityProfile{Type: configv1.TLSProfileCustomType, Custom: &configv1.CustomTLSProfile{
			TLSProfileSpec: configv1.TLSProfileSpec{MinTLSVersion: configv1.VersionTLS12, Groups: groups},
		}}
	}
	for name, tc := range map[string]struct {
		profile *configv1.TLSSecurityProfile
		want    []string
	}{
		"no profile": {},
		"a named profile leaves the choice to Go":   {profile: &configv1.TLSSecurityProfile{Type: configv1.TLSProfileModernType}},
		"a custom profile without groups":           {profile: custom()},
		"a custom profile without content":          {profile: &configv1.TLSSecurityProfile{Type: configv1.TLSProfileCustomType}},
		"groups of a profile that is not in effect": {profile: ofType(configv1.TLSProfileOldType, custom("X25519"))},
		"a group": {profile: custom("X25519"), want: []string{"29"}},
		"every group of the API, in Go's numbers": {
			profile: custom("X25519", "secp256r1", "secp384r1", "secp521r1", "X25519MLKEM768", "SecP256r1MLKEM768", "SecP384r1MLKEM1024"),
			want:    []string{"23", "24", "25", "29", "4587", "4588", "4589"},
		},
		"the order, which Go ignores, is no rollout": {profile: custom("secp384r1", "X25519MLKEM768", "secp256r1"), want: []string{"23", "24", "4588"}},
		"a group of a later release is left out":     {profile: custom("OfALaterRelease", "secp256r1"), want: []string{"23"}},
		"a group that is named twice":                {profile: custom("secp256r1", "secp256r1"), want: []string{"23"}},
	} {
		t.Run(name, func(t *testing.T) {
			observed, err := configobservation.Observe(world{infrastructure: openStack(), apiServer: &configv1.APIServer{
				ObjectMeta: named, Spec: configv1.APIServerSpec{TLSSecurityProfile: tc.profile},
			}}.listers(t), recorder(), map[string]any{})
			require.NoError(t, err)
			groups, _, err := unstructured.NestedStringSlice(observed, "servingInfo", "curvePreferences")
			require.NoError(t, err)
			require.Equal(t, tc.want, groups)
		})
	}
}

func ofType(name configv1.TLSProfileType, profile *configv1.TLSSecurityProfile) *configv1.TLSSecurityProfile {
	profile.Type = name
	return profile
}

func TestTheFeatureGateOfThePKIConfigurationIsObserved(t *testing.T) {
	w := world{infrastructure: openStack(), featureGate: gates("4.99.0", []string{"ConfigurablePKI"}, offByAbsence)}
	observed, err := configobservation.Observe(w.listers(t), recorder(), map[string]any{})
	require.NoError(t, err)
	got, _, err := unstructured.NestedStringSlice(observed, "cluster", "featureGates")
	require.NoError(t, err)
	require.Equal(t, []string{"ConfigurablePKI"}, got)
}

func TestASecondObservationChangesNothingAndTellsNobody(t *testing.T) {
	w := world{
		infrastructure: openStack(),
		proxy:          &configv1.Proxy{ObjectMeta: named, Status: configv1.ProxyStatus{NoProxy: ".svc"}},
		apiServer:      &configv1.APIServer{ObjectMeta: named},
		featureGate:    gates("4.99.0", []string{"CloudControllerManagerWebhook"}, nil),
	}
	first, err := configobservation.Observe(w.listers(t), recorder(), map[string]any{})
	require.NoError(t, err)
	stored, err := json.Marshal(first)
	require.NoError(t, err)
	existing := map[string]any{}
	require.NoError(t, json.Unmarshal(stored, &existing))

	events := recorder()
	second, err := configobservation.Observe(w.listers(t), events, existing)
	require.NoError(t, err)
	require.Equal(t, existing, second)
	require.Empty(t, events.Events())
}

func TestAChangeIsAnEvent(t *testing.T) {
	events := recorder()
	w := world{
		infrastructure: openStack(),
		proxy:          &configv1.Proxy{ObjectMeta: named, Spec: configv1.ProxySpec{TrustedCA: configv1.ConfigMapNameReference{Name: "new-ca"}}},
	}
	_, err := configobservation.Observe(w.listers(t), events, map[string]any{
		"platform": "openstack", "infrastructureName": "ci-x7k2p", "apiServerInternalURI": "https://api-int.example.com:6443",
		"cloudConfig": map[string]any{"name": "cloud-provider-config", "key": "config"},
		"trustedCA":   "old-ca",
		"servingInfo": map[string]any{"minTLSVersion": "VersionTLS12", "cipherSuites": []any{
			"TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256",
			"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
			"TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
			"TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
		}},
		"extendedArguments": map[string]any{"cluster-name": []any{"other"}, "v": []any{"2"}},
	})
	require.NoError(t, err)
	var messages []string
	for _, event := range events.Events() {
		messages = append(messages, event.Message)
	}
	require.ElementsMatch(t, []string{
		"cluster.spec changed",
		"cluster.status changed",
		`extendedArguments.cluster-name changed from "other" to "ci-x7k2p"`,
		`trustedCA changed from "old-ca" to "new-ca"`,
	}, messages)
}

func with(i *configv1.Infrastructure, change func(*configv1.Infrastructure)) *configv1.Infrastructure {
	change(i)
	return i
}

// offByAbsence are the gates that a FeatureGate has to disable so that only those are on that it enables.
var offByAbsence = []string{"AWSServiceLBNetworkSecurityGroup", "VSphereMixedNodeEnv"}

func gates(version string, enabled, disabled []string) *configv1.FeatureGate {
	details := configv1.FeatureGateDetails{Version: version}
	for _, name := range enabled {
		details.Enabled = append(details.Enabled, configv1.FeatureGateAttributes{Name: configv1.FeatureGateName(name)})
	}
	for _, name := range disabled {
		details.Disabled = append(details.Disabled, configv1.FeatureGateAttributes{Name: configv1.FeatureGateName(name)})
	}
	return &configv1.FeatureGate{ObjectMeta: named, Status: configv1.FeatureGateStatus{FeatureGates: []configv1.FeatureGateDetails{details}}}
}

func recorder() events.InMemoryRecorder {
	return events.NewInMemoryRecorder("test", clocktesting.NewFakePassiveClock(metav1.Now().Time))
}

// withGate adds an enabled feature gate to what is observed of the cluster.
func withGate(observed string) string {
	return strings.Replace(observed, `"cluster": {`, `"cluster": {"featureGates": ["CloudControllerManagerWebhook"], `, 1)
}
