package offline

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/openshift/library-go/pkg/crypto"
	"k8s.io/apimachinery/pkg/util/validation"
	certutil "k8s.io/client-go/util/cert"
	"k8s.io/utils/clock"

	ccmv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/featuregate"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/inputs"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand/customccm"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
)

// A doubt is about what the operator cannot reject: it may be meant, or becomes wrong with time.
func (k *check) doubt(object, key, format string, args ...any) {
	k.add(diagnostic.Warning, []diagnostic.Diagnostic{{
		Kind: diagnostic.Doubtful, Object: object, Key: key, Message: fmt.Sprintf(format, args...),
	}})
}

// checkBundles warns about expired CAs, and about CAs under a key that nothing reads.
func (k *check) checkBundles(gathered *inputs.Gathered) {
	now := clock.RealClock{}.Now()
	for _, bundle := range gathered.Bundles() {
		certificates, _ := certutil.ParseCertsPEM(bundle.Data) // the operator reports what does not parse
		for _, c := range certificates {
			if now.After(c.NotAfter) {
				k.doubt(bundle.Source, bundle.Key, "the certificate %q expired on %s, so what it signed is not trusted: replace "+
					"or remove it", c.Subject, c.NotAfter.UTC().Format(time.DateOnly))
			}
		}
	}
	config := gathered.CloudConfig
	for _, key := range slices.Sorted(maps.Keys(config.Keys)) {
		if config.CABundle == nil && bytes.Contains(config.Keys[key], []byte("-----BEGIN CERTIFICATE-----")) {
			k.doubt(config.Source, key, "it has certificates, but the cloud-controller-manager trusts only those "+
				"under the key %s: rename the key", inputs.CloudCAKey)
		}
	}
}

// doubtValue warns about a value that an enumeration does not have, with the message of noneOf.
func (k *check) doubtValue(object, field, message string) {
	if message != "" {
		k.doubt(object, field, "%s, unless a newer release has it", message)
	}
}

// checkObjects warns about values that have no effect on the cloud-controller-manager, or not the intended one.
func (k *check) checkObjects(spec ccmv1.CloudControllerManagerSpec) error {
	ofGroup := "." + configv1.GroupName + "/" + operatorclient.Instance
	var infrastructure configv1.Infrastructure
	var gate configv1.FeatureGate
	var proxy configv1.Proxy
	var apiServer configv1.APIServer
	var network configv1.Network
	read := func(kind string, into any) error {
		found, err := k.cluster.config(kind, into)
		if found == nil || found.File == "" || err != nil {
			return err
		}
		fields, err := found.unknownFields(into)
		for _, field := range fields {
			if strings.HasPrefix(field, "spec.") {
				k.doubt(strings.ToLower(kind)+ofGroup, field, "unknown field, which the API server drops, unless a newer release "+
					"has it: correct its name or remove it")
			}
		}
		return err
	}
	err := errors.Join(read("Infrastructure", &infrastructure), read("FeatureGate", &gate), read("Proxy", &proxy),
		read("APIServer", &apiServer), read("Network", &network))
	if err != nil {
		return err
	}
	k.checkInfrastructure("infrastructure"+ofGroup, infrastructure)
	k.checkGates("featuregate"+ofGroup, gate.Spec)
	k.checkProxy("proxy"+ofGroup, proxy.Spec)
	k.checkTLS("apiserver"+ofGroup, apiServer.Spec.TLSSecurityProfile)
	for _, prefix := range network.Spec.ServiceNetwork {
		if _, _, err := net.ParseCIDR(prefix); err != nil {
			k.doubt("network"+ofGroup, "spec.serviceNetwork", "%s is no network: write one such as 172.30.0.0/16",
				confdoc.Quoted(prefix))
		}
	}
	k.checkFlags(spec)
	k.checkImage(spec.Custom)
	if spec.Custom != nil && k.platform.Image != "" {
		k.doubt(customccm.Object, customccm.Field, "it has no effect, because the release has the "+
			"cloud-controller-manager of platform %s: remove it", k.platform.Name)
	}
	return nil
}

var digestPattern = regexp.MustCompile(`^[0-9a-f]{64}$`)

// checkImage warns about a SHA-256 digest that is none, for example because it was cut off.
func (k *check) checkImage(custom *ccmv1.CustomCloudControllerManager) {
	if custom == nil {
		return
	}
	if _, digest, found := strings.Cut(custom.Image, "@sha256:"); found && !digestPattern.MatchString(digest) {
		k.doubt(customccm.Object, customccm.Field+".image", "the kubelet rejects its digest: write sha256: and 64 digits or "+
			"letters from a to f")
	}
}

// checkCommas warns about values of INI that end with a comma or have a comment of another language. It omits lines
// that have a diagnostic already.
func (k *check) checkCommas(config operand.CloudConfig, reported ...[]diagnostic.Diagnostic) {
	if !confdoc.LooksLikeINI(config.Data) {
		return
	}
	reader := confdoc.Reader{Format: confdoc.INI, Input: diagnostic.CloudConfig, IgnoresUnknown: true}
	document := reader.Read(config.Data, &diagnostic.List{})
	for _, section := range document.Root.Members() {
		for _, e := range section.Value.Members() {
			isReported := func(d diagnostic.Diagnostic) bool {
				return d.Object == config.Source && d.Line == e.Value.Line
			}
			reason := ""
			if strings.HasSuffix(e.Value.Text, ",") {
				reason = "ends with a comma, which is a part of the value or starts an empty item: remove it"
			} else if strings.Contains(e.Value.Text, " //") {
				reason = "has //, which is a part of the value and starts no comment: write # instead"
			}
			if reason == "" || slices.ContainsFunc(slices.Concat(reported...), isReported) {
				continue
			}
			k.add(diagnostic.Warning, []diagnostic.Diagnostic{{
				Kind: diagnostic.Doubtful, Cause: diagnostic.CloudConfig, Object: config.Source, Key: config.Key,
				Line: e.Value.Line, Column: e.Value.Column,
				Message: fmt.Sprintf("%s in %s %s", confdoc.Cut(e.Name), document.Header(section), reason),
			}})
		}
	}
}

func (k *check) checkInfrastructure(object string, infrastructure configv1.Infrastructure) {
	k.doubtValue(object, "status.controlPlaneTopology", noneOf(infrastructure.Status.ControlPlaneTopology,
		configv1.HighlyAvailableTopologyMode, configv1.HighlyAvailableArbiterMode, configv1.DualReplicaTopologyMode,
		configv1.SingleReplicaTopologyMode, configv1.ExternalTopologyMode))
	named, status := infrastructure.Spec.PlatformSpec.Type, infrastructure.Status.PlatformStatus
	if named != "" && status != nil && named != status.Type {
		k.doubt(object, "spec.platformSpec.type", "it is %q, but status.platformStatus.type is %q, which counts: correct it "+
			"here", named, status.Type)
	}
}

var gateName = regexp.MustCompile(`^[A-Za-z0-9.-]+$`)

// checkGates warns about a feature set that does not exist, and about gates of their own that a cluster does not get.
func (k *check) checkGates(object string, spec configv1.FeatureGateSpec) {
	const field = "spec.customNoUpgrade"
	k.doubtValue(object, "spec.featureSet", noneOf(spec.FeatureSet, configv1.TechPreviewNoUpgrade,
		configv1.DevPreviewNoUpgrade, configv1.CustomNoUpgrade, configv1.OKD))
	isCustom, custom := spec.FeatureSet == configv1.CustomNoUpgrade, spec.CustomNoUpgrade
	switch {
	case isCustom && custom == nil:
		k.doubt(object, field, "it is missing, so the cluster lists no feature gate at all, not even those that are on by "+
			"default: add it with the lists enabled and disabled")
		return
	case custom == nil:
		return
	case !isCustom:
		k.doubt(object, field, "it has no effect without spec.featureSet: %s, which cannot be undone and blocks upgrades: "+
			"remove it, or write that too", configv1.CustomNoUpgrade)
	}
	var known []string
	for _, gate := range featuregate.Gates {
		known = append(known, gate.Name)
	}
	for _, name := range slices.Concat(custom.Enabled, custom.Disabled) {
		meant := confdoc.Nearest(string(name), known)
		switch {
		case !gateName.MatchString(string(name)):
			k.doubt(object, field, "%q is not the name of a feature gate: write the name alone", name)
		case meant != "" && meant != string(name):
			k.doubt(object, field, "unknown feature gate %q; did you mean %q?", name, meant)
		}
	}
}

// checkTLS warns about parts of a TLS profile that have no effect: library-go takes Intermediate for a profile without
// content, and ignores a cipher suite that is not one of OpenSSL's names for those of Go.
func (k *check) checkTLS(object string, profile *configv1.TLSSecurityProfile) {
	const field = "spec.tlsSecurityProfile"
	if profile == nil {
		return
	}
	k.doubtValue(object, field+".type", noneOf(profile.Type, configv1.TLSProfileOldType,
		configv1.TLSProfileIntermediateType, configv1.TLSProfileModernType, configv1.TLSProfileCustomType))
	isCustom, custom := profile.Type == configv1.TLSProfileCustomType, profile.Custom
	switch {
	case isCustom && custom == nil:
		k.doubt(object, field, "it has no custom, so the profile Intermediate applies: add custom with minTLSVersion and "+
			"ciphers")
	case custom == nil:
		return
	case !isCustom:
		k.doubt(object, field+".custom", "it has no effect without type: Custom: remove it or correct the type")
	default:
		k.doubtValue(object, field+".custom.minTLSVersion", noneOf(custom.MinTLSVersion, configv1.VersionTLS10,
			configv1.VersionTLS11, configv1.VersionTLS12, configv1.VersionTLS13))
		for _, cipher := range custom.Ciphers {
			if !isCipher(cipher) {
				k.doubt(object, field+".custom.ciphers", "%s is ignored: write OpenSSL's name of one cipher suite, such as "+
					"ECDHE-RSA-AES128-GCM-SHA256", confdoc.Quoted(cipher))
			}
		}
	}
}

// isCipher reports whether a name is OpenSSL's. Go does not know all of those of the profile Old.
func isCipher(name string) bool {
	return len(crypto.OpenSSLToIANACipherSuites([]string{name})) > 0 || strings.HasPrefix(name, "DHE-") ||
		slices.Contains(configv1.TLSProfiles[configv1.TLSProfileOldType].Ciphers, name)
}

// checkProxy warns about what the network operator rejects (ValidateProxyConfig in its pkg/controller/proxyconfig).
func (k *check) checkProxy(object string, spec configv1.ProxySpec) {
	for _, of := range []struct {
		field, address string
		schemes        []string
	}{{"httpProxy", spec.HTTPProxy, []string{"http"}}, {"httpsProxy", spec.HTTPSProxy, []string{"http", "https"}}} {
		if of.address != "" && !isProxy(of.address, of.schemes...) {
			k.doubt(object, "spec."+of.field, "the network operator rejects this address, so the cluster does not use it: "+
				"write http://host:port, and special characters of a user or password in percent-encoding")
		}
	}
	for entry := range strings.SplitSeq(spec.NoProxy, ",") {
		_, _, err := net.ParseCIDR(strings.TrimSpace(entry))
		switch entry = strings.TrimSpace(entry); {
		case strings.ContainsAny(entry, "; \t\r\n"):
			k.doubt(object, "spec.noProxy", "%s is one entry, which matches no host: separate the entries by commas",
				confdoc.Quoted(entry))
		case spec.NoProxy != "" && spec.NoProxy != "*" && err != nil && !isHost(entry):
			k.doubt(object, "spec.noProxy", "the network operator rejects %s, so the cluster does not use the list: write a "+
				"host, a domain such as .example.com, or a network such as 10.0.0.0/16", confdoc.Quoted(entry))
		}
	}
}

func isProxy(address string, schemes ...string) bool {
	parsed, err := url.ParseRequestURI(address)
	if err != nil || !slices.Contains(schemes, parsed.Scheme) {
		return false
	}
	port, err := strconv.Atoi(cmp.Or(parsed.Port(), "1"))
	isIP := net.ParseIP(parsed.Hostname()) != nil
	return err == nil && len(validation.IsValidPortNum(port)) == 0 && (isIP || isHost(parsed.Hostname()))
}

func isHost(name string) bool {
	return len(validation.IsDNS1123Subdomain(strings.TrimPrefix(name, "."))) == 0
}

// knownFlags are the flags that the cloud-controller-managers of AWS, Azure, OpenStack and vSphere list for --help with
// k8s.io/cloud-provider v0.36, and those that the operator passes to Alibaba Cloud's. Some are those of one cloud only.
var knownFlags = strings.Fields(`
	allocate-node-cidrs authentication-kubeconfig authentication-skip-lookup
	authentication-token-webhook-cache-ttl authentication-tolerate-lookup-failure authorization-always-allow-paths
	authorization-kubeconfig authorization-webhook-cache-authorized-ttl
	authorization-webhook-cache-unauthorized-ttl bind-address cert-dir cidr-allocator-type client-ca-file
	cloud-config cloud-config-key cloud-config-secret-name cloud-config-secret-namespace cloud-provider
	cluster-cidr cluster-name concurrent-node-status-updates concurrent-node-syncs concurrent-service-syncs
	configure-cloud-routes contention-profiling controller-start-interval controllers disable-http2-serving
	enable-dynamic-reloading enable-leader-migration external-cloud-volume-plugin feature-gates
	health-probe-bind-addr help http2-max-streams-per-connection is-legacy-paravirtual kube-api-burst
	kube-api-content-type kube-api-qps kubeconfig leader-elect leader-elect-lease-duration
	leader-elect-renew-deadline leader-elect-resource-lock leader-elect-resource-name
	leader-elect-resource-namespace leader-elect-retry-period leader-migration-config log-flush-frequency
	log-text-info-buffer-size log-text-split-stream logging-format master metrics-bind-addr min-resync-period
	node-cidr-mask-size node-cidr-mask-size-ipv4 node-cidr-mask-size-ipv6 node-filter-requirements node-labels
	node-monitor-period node-status-update-frequency permit-address-sharing permit-port-sharing pprof-bind-addr
	profiling requestheader-allowed-names requestheader-client-ca-file requestheader-extra-headers-prefix
	requestheader-group-headers requestheader-uid-headers requestheader-username-headers resources
	route-reconciliation-period secure-port service-cluster-ip-range tagging-controller-burst-limit
	tagging-controller-concurrent-node-syncs tagging-controller-enable-batching tagging-controller-rate-limit tags
	tls-cert-file tls-cipher-suites tls-curve-preferences tls-min-version tls-private-key-file tls-sni-cert-key
	use-service-account-credentials user-agent v version vmodule webhook-bind-address webhook-cert-dir
	webhook-disable-http2-serving webhook-secure-port webhook-tls-cert-file webhook-tls-cipher-suites
	webhook-tls-curve-preferences webhook-tls-min-version webhook-tls-private-key-file webhook-tls-sni-cert-key
	webhooks
`)

// formerFlags are flags that Kubernetes has removed, with those that replace them.
var formerFlags = map[string]string{"port": "secure-port", "address": "bind-address"}

// checkFlags warns about overridden flags that no cloud-controller-manager has and that resemble one: the process would
// exit. A flag that resembles none may be one of another release.
func (k *check) checkFlags(spec ccmv1.CloudControllerManagerSpec) {
	var overrides struct {
		ExtendedArguments map[string]json.RawMessage `json:"extendedArguments"`
	}
	if json.Unmarshal(spec.UnsupportedConfigOverrides.Raw, &overrides) != nil {
		return // empty, or reported by the operator's own check
	}
	for _, name := range slices.Sorted(maps.Keys(overrides.ExtendedArguments)) {
		// The parser of Kubernetes takes an underscore for a dash. The operator rejects leading dashes.
		meant := cmp.Or(formerFlags[name], confdoc.Nearest(name, knownFlags))
		if meant == "" || meant == strings.ReplaceAll(name, "_", "-") || strings.HasPrefix(name, "-") {
			continue
		}
		k.doubt(customccm.Object, "spec.unsupportedConfigOverrides.extendedArguments."+name, "the cloud-controller-manager "+
			"exits if it does not have the flag %s; did you mean %q?", confdoc.Quoted(name), meant)
	}
}
