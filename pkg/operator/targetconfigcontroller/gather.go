package targetconfigcontroller

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

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
	problems []operand.Problem

	// missing tells that an input which somebody else has to write is not there.
	missing bool

	// copying tells that the raw copies do not have yet what their sources have.
	copying bool
}

// gatherer collects the inputs from the listers and remembers what is not there.
type gatherer struct {
	*controller
	observed *operandconfig.Config
	problems []operand.Problem
	missing  bool
	copying  bool
	err      error
}

// gather reads every input.
func (c *controller) gather(spec *operatorv1.StaticPodOperatorSpec, p platform.Platform, live *corev1.ConfigMap) (*gathered, error) {
	observed, err := operandconfig.Decode(spec.ObservedConfig.Raw)
	if err != nil {
		return nil, fmt.Errorf("spec.observedConfig of cloudcontrollermanager/cluster: %w", err)
	}
	g := &gatherer{controller: c, observed: observed}
	external, credentials := g.secretsOf(p)
	inputs := operand.Inputs{
		Version:                 c.Version,
		Phase:                   operand.OperatorPhase(),
		Platform:                p,
		Config:                  spec.ObservedConfig.Raw,
		Overrides:               spec.UnsupportedConfigOverrides.Raw,
		Images:                  c.images(p),
		CloudConfig:             g.cloudConfig(),
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
	return &gathered{
		Inputs:   inputs,
		problems: g.problems,
		missing:  g.missing || operandconfig.Required(observed) != nil,
		copying:  g.copying,
	}, nil
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

func (g *gatherer) cloudConfig() operand.CloudConfig {
	reference := g.observed.CloudConfig
	if reference.Name == "" {
		reference.Name = "cloud-provider-config"
	}
	found := operand.CloudConfig{
		Source: userObject("configmap", reference.Name),
		Key:    cmp.Or(reference.Key, defaultCloudConfigKey),
	}
	raw := g.configMap(resourcesynccontroller.RawCloudConfig)
	if raw == nil {
		if g.observed.CloudConfig.Name != "" {
			g.missing = true
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
	found.Data, found.Problem = value(raw, key, g.correctReference())
	for other, text := range raw.Data {
		if other != key && other != cloudCAKey {
			if found.Keys == nil {
				found.Keys = map[string][]byte{}
			}
			found.Keys[other] = []byte(text)
		}
	}
	if _, exists := raw.Data[cloudCAKey]; exists {
		found.CABundle = []byte(raw.Data[cloudCAKey])
	}
	if _, binary := raw.BinaryData[cloudCAKey]; binary && found.Problem == "" {
		found.Key, found.Problem = cloudCAKey, binaryProblem
	}
	return found
}

// correctReference says where it is told which ConfigMap has the cloud configuration.
func (g *gatherer) correctReference() string {
	if g.observed.External != nil && g.observed.External.CloudConfig != nil {
		return "correct spec.external.cloudConfig of cloudcontrollermanager/cluster"
	}
	return "correct spec.cloudConfig of infrastructure.config.openshift.io/cluster"
}

const binaryProblem = "it holds binary data, which no file on a node is made from; store it as plain text in UTF-8"

// value returns the text under key, or why there is none.
func value(configMap *corev1.ConfigMap, key, alternative string) (data []byte, problem string) {
	if text, exists := configMap.Data[key]; exists {
		return []byte(text), ""
	}
	if _, binary := configMap.BinaryData[key]; binary {
		return nil, binaryProblem
	}
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
		return operand.ExternalSecrets{}, g.credentials(p.Credentials.Secret)
	}
	if g.observed.External == nil || len(g.observed.External.Secrets) == 0 {
		return operand.ExternalSecrets{}, operand.Credentials{}
	}
	external, err := resourcesynccontroller.ExternalSecrets(g.observed.External, g.secrets)
	if err != nil {
		g.err = cmp.Or(g.err, err)
		return external, external.ReadOnce
	}
	g.missing = g.missing || len(external.Missing) > 0
	if len(external.Problems) > 0 {
		return external, external.ReadOnce
	}
	// A candidate of which the files are not there yet would be another revision a moment later, or crash.
	raw, tokens := g.secret(resourcesynccontroller.RawCloudCredentials), g.secret(operand.CloudTokensSecret)
	g.copying = raw == nil || !resourcesynccontroller.SameData(raw.Data, external.ReadOnce.Data) || !hasKeys(tokens, external.Reloaded)
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

// credentials leaves it to Render to say what a platform misses.
func (g *gatherer) credentials(name string) operand.Credentials {
	found := operand.Credentials{Source: fmt.Sprintf("secret/%s in %s", name, operatorclient.TargetNamespace)}
	raw := g.secret(resourcesynccontroller.RawCloudCredentials)
	if raw == nil {
		g.missing = true
		return found
	}
	found.Data = raw.Data
	if found.Data == nil {
		found.Data = map[string][]byte{}
	}
	return found
}

func (g *gatherer) trust() []operand.TrustSource {
	var sources []operand.TrustSource
	if name := g.observed.TrustedCA; name != "" {
		source := operand.TrustSource{Source: userObject("configmap", name), Key: trustedCAKey}
		if raw := g.configMap(resourcesynccontroller.RawTrustedCA); raw != nil {
			source.Data, source.Problem = value(raw, trustedCAKey, "correct spec.trustedCA of proxy.config.openshift.io/cluster")
		} else {
			g.missing = true
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
	g.missing = true
	g.problems = append(g.problems, operand.Problem{
		Cause:   operand.ConfigurationCause,
		Source:  object + " in " + operatorclient.TargetNamespace,
		Key:     key,
		Message: what + " is not there; kube-controller-manager provides it, so see whether that runs",
	})
}

func userObject(kind, name string) string {
	return fmt.Sprintf("%s/%s in %s", kind, name, operatorclient.UserConfigNamespace)
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
	if g.err == nil && !apierrors.IsNotFound(err) {
		g.err = fmt.Errorf("%s/%s in %s: %w", kind, name, operatorclient.TargetNamespace, err)
	}
}
