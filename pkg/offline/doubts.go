package offline

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	certutil "k8s.io/client-go/util/cert"
	"k8s.io/utils/clock"

	ccmv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/inputs"
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

// checkObjects warns about values that have no effect on the cloud-controller-manager.
func (k *check) checkObjects(spec ccmv1.CloudControllerManagerSpec) error {
	var infrastructure configv1.Infrastructure
	var gate configv1.FeatureGate
	var proxy configv1.Proxy
	read := func(kind string, into any) error {
		_, err := k.cluster.config(kind, into)
		return err
	}
	err := errors.Join(read("Infrastructure", &infrastructure), read("FeatureGate", &gate), read("Proxy", &proxy))
	if err != nil {
		return err
	}
	const unknownValue = "%s, unless a newer release has it"
	ofGroup := "." + configv1.GroupName + "/" + operatorclient.Instance
	if message := noneOf(infrastructure.Status.ControlPlaneTopology, configv1.HighlyAvailableTopologyMode,
		configv1.HighlyAvailableArbiterMode, configv1.DualReplicaTopologyMode, configv1.SingleReplicaTopologyMode,
		configv1.ExternalTopologyMode); message != "" {
		k.doubt("infrastructure"+ofGroup, "status.controlPlaneTopology", unknownValue, message)
	}
	if message := noneOf(gate.Spec.FeatureSet, configv1.TechPreviewNoUpgrade, configv1.DevPreviewNoUpgrade,
		configv1.CustomNoUpgrade, configv1.OKD); message != "" {
		k.doubt("featuregate"+ofGroup, "spec.featureSet", unknownValue, message)
	}
	k.checkProxy("proxy"+ofGroup, proxy.Spec)
	if spec.Custom != nil && k.platform.Image != "" {
		k.doubt(customccm.Object, customccm.Field, "it has no effect, because the release has the "+
			"cloud-controller-manager of platform %s: remove it", k.platform.Name)
	}
	return nil
}

// checkProxy warns about addresses that the network operator rejects (ValidateProxyConfig in its
// pkg/controller/proxyconfig), and about entries that golang.org/x/net/http/httpproxy compares with no host.
func (k *check) checkProxy(object string, spec configv1.ProxySpec) {
	for _, of := range []struct {
		field, address string
		schemes        []string
	}{{"httpProxy", spec.HTTPProxy, []string{"http"}}, {"httpsProxy", spec.HTTPSProxy, []string{"http", "https"}}} {
		parsed, err := url.ParseRequestURI(of.address)
		if of.address != "" && (err != nil || parsed.Hostname() == "" || !slices.Contains(of.schemes, parsed.Scheme)) {
			k.doubt(object, "spec."+of.field, "the network operator rejects this address, so the cluster does not use it: "+
				"write http://host:port, and special characters of a user or password in percent-encoding")
		}
	}
	for entry := range strings.SplitSeq(spec.NoProxy, ",") {
		entry = strings.TrimSpace(entry)
		hasWildcard := entry != "*" && strings.Contains(strings.TrimPrefix(entry, "*."), "*")
		switch {
		case strings.ContainsAny(entry, "; \t\r\n"):
			k.doubt(object, "spec.noProxy", "%s is one entry, which matches no host: separate the entries by commas",
				confdoc.Quoted(entry))
		case hasWildcard || strings.Contains(entry, "://"):
			k.doubt(object, "spec.noProxy", "%s matches no host: write a host, a domain such as .example.com, or a network "+
				"such as 10.0.0.0/16", confdoc.Quoted(entry))
		}
	}
}
