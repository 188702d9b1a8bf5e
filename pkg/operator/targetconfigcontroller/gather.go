package targetconfigcontroller

import (
	"fmt"
	"slices"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/inputs"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operandconfig"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

const (
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

	// accepted are the inputs that were accepted last, live is the pod's ConfigMap of the candidate; nil without one.
	accepted inputs.Accepted
	live     *corev1.ConfigMap

	// proxy is what the Proxy names, of which Trust has more; nil if it names nothing.
	proxy *operand.TrustSource

	// absent are the inputs that do not exist, each with how long it may be absent before that is a problem.
	absent map[string]time.Duration
}

// gather reads every input.
func (c *controller) gather(
	spec *operatorv1.StaticPodOperatorSpec, p platform.Platform, live *corev1.ConfigMap, accepted inputs.Accepted,
) (*gathered, error) {
	observed, err := operandconfig.Decode(spec.ObservedConfig.Raw)
	if err != nil {
		return nil, fmt.Errorf("spec.observedConfig of cloudcontrollermanager/cluster: %w", err)
	}
	now, err := inputs.Gather(c.reader, observed, p)
	if err != nil {
		return nil, err
	}
	g := &gathered{accepted: accepted, live: live, Inputs: operand.Inputs{
		Version:                 c.Version,
		Phase:                   operand.OperatorPhase(),
		Platform:                p,
		Config:                  spec.ObservedConfig.Raw,
		Overrides:               spec.UnsupportedConfigOverrides.Raw,
		Images:                  c.images(p),
		CloudConfig:             now.CloudConfig,
		Credentials:             now.Credentials,
		Custom:                  now.Custom,
		Trust:                   c.withSystemTrust(now.Trust),
		ForceRedeploymentReason: spec.ForceRedeploymentReason,
		First:                   live == nil && !accepted.Known,
	}}
	if len(now.Trust) > 0 {
		g.proxy = &now.Trust[0]
	}
	if live != nil {
		g.Kept = operand.KeptOf(live)
	}
	g.absent = c.absences(now, observed)
	g.missCredentials(p.Credentials)
	if g.Identity, err = c.identity(g); err != nil {
		return nil, err
	}
	return g, nil
}

// withSystemTrust returns the sources and the trust bundle of the operator's image, if there is one.
func (c *controller) withSystemTrust(sources []operand.TrustSource) []operand.TrustSource {
	if len(c.SystemTrust.Data) == 0 {
		return sources
	}
	return append(slices.Clone(sources), c.SystemTrust)
}

// absences says for each absent input how long that is no problem.
func (c *controller) absences(now *inputs.Gathered, observed *operandconfig.Config) map[string]time.Duration {
	absent := map[string]time.Duration{}
	for source, writer := range now.Absent {
		absent[source] = userPatience
		if writer == inputs.Component {
			absent[source] = c.Patience
		}
	}
	if operandconfig.Required(observed) != nil {
		absent["spec.observedConfig"] = c.Patience
	}
	return absent
}

// missCredentials is for a Secret that the platform can do without. Render reports a Secret or keys that the platform
// needs; one whose keys are in use is missed here.
func (g *gathered) missCredentials(wanted platform.Credentials) {
	if wanted.Secret == "" || !wanted.Optional || g.Credentials.Data != nil || g.live == nil {
		return
	}
	if !operand.UsesCredentials(g.live, g.Credentials.Source) {
		delete(g.absent, g.Credentials.Source)
		return
	}
	g.problems = append(g.problems, diagnostic.Diagnostic{
		Cause:  diagnostic.Credentials,
		Object: g.Credentials.Source,
		Message: "it does not exist any more, but the cloud-controller-manager uses its keys and keeps them; create it again, or create it without keys " +
			"if the identity of the instances is to be used instead",
	})
}

// identity is what kube-controller-manager provides.
func (c *controller) identity(g *gathered) (*operand.Identity, error) {
	identity := &operand.Identity{}
	root, err := c.configMaps.Get(rootCA)
	if err == nil {
		identity.CABundle = []byte(root.Data[rootCAKey])
	} else if !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("configmap/%s in %s: %w", rootCA, operatorclient.TargetNamespace, err)
	}
	token, err := c.secrets.Get(certSyncerIdentity)
	if err == nil {
		identity.CertSyncerToken = token.Data[corev1.ServiceAccountTokenKey]
	} else if !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("secret/%s in %s: %w", certSyncerIdentity, operatorclient.TargetNamespace, err)
	}
	if len(identity.CABundle) == 0 {
		g.unprovided(c.Patience, "configmap/"+rootCA, rootCAKey, "the CA of the API server")
	}
	if len(identity.CertSyncerToken) == 0 {
		g.unprovided(c.Patience, "secret/"+certSyncerIdentity, corev1.ServiceAccountTokenKey, "the token of the cert-syncer")
	}
	return identity, nil
}

func (g *gathered) unprovided(patience time.Duration, object, key, what string) {
	g.absent[object] = patience
	g.problems = append(g.problems, diagnostic.Diagnostic{
		Cause:   diagnostic.Configuration,
		Object:  object + " in " + operatorclient.TargetNamespace,
		Key:     key,
		Message: what + " is not there; kube-controller-manager provides it, so see whether that runs",
	})
}
