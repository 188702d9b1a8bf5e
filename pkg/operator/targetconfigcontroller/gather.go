package targetconfigcontroller

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operandconfig"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/resourcesynccontroller"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

const (
	// defaultCloudConfigKey is the key that the installer uses, for an Infrastructure that names none.
	defaultCloudConfigKey = "config"
	cloudCAKey            = "ca-bundle.pem"
	trustedCAKey          = "ca-bundle.crt"

	// rootCA is the ConfigMap that kube-controller-manager puts into every namespace, certSyncerIdentity the Secret
	// that it fills with a token of the cert-syncer's ServiceAccount.
	rootCA             = "kube-root-ca.crt"
	rootCAKey          = "ca.crt"
	certSyncerIdentity = "cert-syncer-identity"
)

// gathered are the inputs as they are now.
type gathered struct {
	operand.Inputs

	// problems are those that Render cannot know of.
	problems []diagnostic.Diagnostic

	// absent are the inputs that do not exist, each with how long it may be absent before that is a problem.
	absent map[string]time.Duration

	// copying reports whether the resource sync still has to bring a raw copy up to date with its source.
	copying bool
}

// gatherer collects the inputs from the listers and remembers what is not there.
type gatherer struct {
	*controller
	observed *operandconfig.Config
	live     *corev1.ConfigMap
	problems []diagnostic.Diagnostic
	absent   map[string]time.Duration
	copying  bool
	err      error
}

// gather reads every input.
func (c *controller) gather(spec *operatorv1.StaticPodOperatorSpec, p platform.Platform, live *corev1.ConfigMap) (*gathered, error) {
	observed, err := operandconfig.Decode(spec.ObservedConfig.Raw)
	if err != nil {
		return nil, fmt.Errorf("spec.observedConfig of cloudcontrollermanager/cluster: %w", err)
	}
	g := &gatherer{controller: c, observed: observed, live: live, absent: map[string]time.Duration{}}
	if operandconfig.Required(observed) != nil {
		g.absent["spec.observedConfig"] = c.Patience
	}
	external, credentials := g.secretsOf(p)
	inputs := operand.Inputs{
		Version:                 c.Version,
		Phase:                   operand.OperatorPhase(),
		Platform:                p,
		Config:                  spec.ObservedConfig.Raw,
		Overrides:               spec.UnsupportedConfigOverrides.Raw,
		Images:                  c.images(p),
		CloudConfig:             g.cloudConfig(p),
		Credentials:             credentials,
		External:                external,
		Trust:                   g.trust(),
		Identity:                g.identity(),
		ForceRedeploymentReason: spec.ForceRedeploymentReason,
	}
	if g.err != nil {
		return nil, g.err
	}
	inputs.Policy = policy(inputs, live)
	inputs.First, inputs.Kept = live == nil, keptSettings(live)
	return &gathered{Inputs: inputs, problems: g.problems, absent: g.absent, copying: g.copying}, nil
}

// keptSettings are those of the last accepted candidate. What is not an annotation of ours says nothing.
func keptSettings(live *corev1.ConfigMap) map[string]string {
	if live == nil {
		return nil
	}
	var kept map[string]string
	if err := json.Unmarshal([]byte(live.Annotations[operand.KeptAnnotation]), &kept); err != nil {
		return nil
	}
	return kept
}

func (g *gatherer) cloudConfig(p platform.Platform) operand.CloudConfig {
	reference := g.observed.CloudConfig
	if reference.Name == "" {
		reference.Name = "cloud-provider-config"
	}
	found := operand.CloudConfig{
		Source: userObject("configmap", reference.Name),
		Key:    cmp.Or(reference.Key, defaultCloudConfigKey),
	}
	source, err := g.sources.CloudConfig(p, g.observed)
	g.failWith(err)
	raw := g.copyOf(source, resourcesynccontroller.RawCloudConfig)
	if raw == nil {
		if g.observed.CloudConfig.Name != "" {
			g.absent[found.Source] = userPatience
			found.Problem = "it does not exist; create it, or " + g.correctReference()
		}
		return found
	}
	if g.observed.CloudConfig.Key == "" && len(raw.Data)+len(raw.BinaryData) == 0 {
		return found // clusters from before 4.14 may have such an object; the platform says whether it needs more
	}
	key := found.Key
	if strings.HasPrefix(raw.Annotations[resourcesynccontroller.SourceAnnotation], operatorclient.ManagedConfigNamespace+"/") {
		key = operatorclient.ManagedCloudConfigKey
	}
	found.Data, found.Problem = g.value(raw, found.Source, key, g.correctReference())
	found.Keys = otherKeys(raw, key)
	if _, exists := raw.Data[cloudCAKey]; exists {
		found.CABundle = []byte(raw.Data[cloudCAKey])
	}
	if _, binary := raw.BinaryData[cloudCAKey]; binary && found.Problem == "" {
		found.Key, found.Problem = cloudCAKey, binaryProblem
	}
	return found
}

// otherKeys are the keys beside the configuration and the CA bundle, nil without any.
func otherKeys(configMap *corev1.ConfigMap, key string) map[string][]byte {
	var keys map[string][]byte
	for other, text := range configMap.Data {
		if other == key || other == cloudCAKey {
			continue
		}
		if keys == nil {
			keys = map[string][]byte{}
		}
		keys[other] = []byte(text)
	}
	return keys
}

// correctReference says where it is told which ConfigMap has the cloud configuration.
func (g *gatherer) correctReference() string {
	if g.observed.External != nil && g.observed.External.CloudConfig != nil {
		return "correct spec.external.cloudConfig of cloudcontrollermanager/cluster"
	}
	return "correct spec.cloudConfig of infrastructure.config.openshift.io/cluster"
}

const binaryProblem = "it holds binary data, which no file on a node is made from; store it as plain text in UTF-8"

// value returns the text under key of source's copy, or why there is none. The object that names the key is watched
// apart from the one that has it, so a new key may be named before it is seen.
func (g *gatherer) value(configMap *corev1.ConfigMap, source, key, alternative string) (data []byte, problem string) {
	if text, exists := configMap.Data[key]; exists {
		return []byte(text), ""
	}
	if _, binary := configMap.BinaryData[key]; binary {
		return nil, binaryProblem
	}
	g.absent[source+", key "+key] = userPatience
	keys := slices.Sorted(maps.Keys(configMap.Data))
	if len(keys) == 0 {
		return nil, fmt.Sprintf("there is no such key, the object has no data; add the key, or %s", alternative)
	}
	return nil, fmt.Sprintf("there is no such key, the object has %s; add the key, or %s", strings.Join(keys, ", "), alternative)
}

// secretsOf are the credentials: those of the platform's Secret or, where the platform has none, of the Secrets that
// spec.external names.
func (g *gatherer) secretsOf(p platform.Platform) (operand.ExternalSecrets, operand.Credentials) {
	if p.Credentials.Secret != "" {
		return operand.ExternalSecrets{}, g.credentials(p.Credentials)
	}
	if g.observed.External == nil || len(g.observed.External.Secrets) == 0 {
		return operand.ExternalSecrets{}, operand.Credentials{}
	}
	external, err := resourcesynccontroller.ExternalSecrets(g.observed.External, g.secrets)
	if err != nil {
		g.failWith(err)
		return external, external.ReadOnce
	}
	for _, source := range external.Missing {
		g.absent[source] = userPatience
	}
	if len(external.Problems) > 0 {
		return external, external.ReadOnce
	}
	// A candidate of which the files are not there yet would be another revision a moment later, or crash.
	raw, tokens := g.secret(resourcesynccontroller.RawCloudCredentials), g.secret(operand.CloudTokensSecret)
	g.copying = g.copying || raw == nil || !resourcesynccontroller.SameData(raw.Data, external.ReadOnce.Data) || !hasKeys(tokens, external.Reloaded)
	return external, external.ReadOnce
}

func hasKeys(secret *corev1.Secret, wanted map[string][]byte) bool {
	if secret == nil {
		return false
	}
	for key := range wanted {
		if _, exists := secret.Data[key]; !exists {
			return false
		}
	}
	return true
}

// credentials returns the platform's credentials. Render reports a Secret or keys that the platform needs and that are
// missing; a Secret that it could do without but runs with is missed here.
func (g *gatherer) credentials(wanted platform.Credentials) operand.Credentials {
	found := operand.Credentials{Source: fmt.Sprintf("secret/%s in %s", wanted.Secret, operatorclient.TargetNamespace)}
	source, err := g.sources.Secret(wanted.Secret)
	g.failWith(err)
	raw := g.secret(resourcesynccontroller.RawCloudCredentials)
	g.copying = g.copying || !resourcesynccontroller.SecretIsCopied(source, raw)
	if raw != nil {
		found.Data = raw.Data
		if found.Data == nil {
			found.Data = map[string][]byte{}
		}
		return found
	}
	inUse := operand.UsesCredentials(g.live, found.Source)
	if g.live == nil || inUse || !wanted.Optional {
		g.absent[found.Source] = g.Patience
	}
	if wanted.Optional && inUse {
		g.problems = append(g.problems, diagnostic.Diagnostic{
			Cause:  diagnostic.Credentials,
			Object: found.Source,
			Message: "it does not exist any more, but the cloud-controller-manager uses its keys and keeps them; create it again, or create it without keys " +
				"if the identity of the instances is to be used instead",
		})
	}
	return found
}

func (g *gatherer) trust() []operand.TrustSource {
	var sources []operand.TrustSource
	if name := g.observed.TrustedCA; name != "" {
		source := operand.TrustSource{Source: userObject("configmap", name), Key: trustedCAKey}
		edited, err := g.sources.TrustedCA(g.observed)
		g.failWith(err)
		if raw := g.copyOf(edited, resourcesynccontroller.RawTrustedCA); raw != nil {
			source.Data, source.Problem = g.value(raw, source.Source, trustedCAKey, "correct spec.trustedCA of proxy.config.openshift.io/cluster")
		} else {
			g.absent[source.Source] = userPatience
			source.Problem = "it does not exist; create it, or correct spec.trustedCA of proxy.config.openshift.io/cluster"
		}
		sources = append(sources, source)
	}
	if len(g.SystemTrust.Data) > 0 {
		sources = append(sources, g.SystemTrust)
	}
	return sources
}

// identity is what kube-controller-manager provides.
func (g *gatherer) identity() *operand.Identity {
	identity := &operand.Identity{}
	if root := g.configMap(rootCA); root != nil {
		identity.CABundle = []byte(root.Data[rootCAKey])
	}
	if len(identity.CABundle) == 0 {
		g.unprovided("configmap/"+rootCA, rootCAKey, "the CA of the API server")
	}
	if token := g.secret(certSyncerIdentity); token != nil {
		identity.CertSyncerToken = token.Data[corev1.ServiceAccountTokenKey]
	}
	if len(identity.CertSyncerToken) == 0 {
		g.unprovided("secret/"+certSyncerIdentity, corev1.ServiceAccountTokenKey, "the token of the cert-syncer")
	}
	return identity
}

func (g *gatherer) unprovided(object, key, what string) {
	g.absent[object] = g.Patience
	g.problems = append(g.problems, diagnostic.Diagnostic{
		Cause:   diagnostic.Configuration,
		Object:  object + " in " + operatorclient.TargetNamespace,
		Key:     key,
		Message: what + " is not there; kube-controller-manager provides it, so see whether that runs",
	})
}

func userObject(kind, name string) string {
	return fmt.Sprintf("%s/%s in %s", kind, name, operatorclient.UserConfigNamespace)
}

// copyOf returns the raw copy of source. While it differs from source, the resource sync is about to correct it.
func (g *gatherer) copyOf(source *corev1.ConfigMap, name string) *corev1.ConfigMap {
	raw := g.configMap(name)
	g.copying = g.copying || !resourcesynccontroller.ConfigMapIsCopied(source, raw)
	return raw
}

// configMap returns nil for one that does not exist.
func (g *gatherer) configMap(name string) *corev1.ConfigMap {
	found, err := g.configMaps.Get(name)
	if err != nil {
		g.fail("configmap", name, err)
		return nil
	}
	return found
}

// secret returns nil for one that does not exist.
func (g *gatherer) secret(name string) *corev1.Secret {
	found, err := g.secrets.Get(name)
	if err != nil {
		g.fail("secret", name, err)
		return nil
	}
	return found
}

func (g *gatherer) fail(kind, name string, err error) {
	if !apierrors.IsNotFound(err) {
		g.failWith(fmt.Errorf("%s/%s in %s: %w", kind, name, operatorclient.TargetNamespace, err))
	}
}

// failWith keeps the first error.
func (g *gatherer) failWith(err error) {
	if g.err == nil {
		g.err = err
	}
}
