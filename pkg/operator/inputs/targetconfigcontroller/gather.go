package targetconfigcontroller

import (
	"cmp"
	"maps"
	"slices"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/inputs"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/observedplatform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operandconfig"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

const (
	// rootCA is the ConfigMap that kube-controller-manager creates in every namespace. fileSyncerIdentity is the
	// Secret that it fills with a token of the file-syncer's ServiceAccount.
	rootCA             = "kube-root-ca.crt"
	rootCAKey          = "ca.crt"
	fileSyncerIdentity = "file-syncer-identity"
)

type gathered struct {
	operand.Inputs

	// errors are the errors that Render cannot detect.
	errors []diagnostic.Diagnostic

	// objects are those of the operand's namespace, with the copies of revision. That replaces inputs without an accepted
	// version: it is the latest revision or the one to go back to, 0 if there is none.
	objects  operand.Objects
	revision int32
	goesBack bool

	// accepted is what accepted-inputs stores, and live the pod's ConfigMap of the last candidate, nil until a candidate
	// has been accepted.
	accepted inputs.Accepted
	live     *corev1.ConfigMap

	// former has live's annotations or, without live, those of the latest revision or those that a removal has kept. It is
	// nil at a first installation.
	former *corev1.ConfigMap

	// proxy is the trusted CA that the Proxy names, nil if it names none. Trust also has the other sources.
	proxy *operand.TrustSource

	// acceptance has the values that an administrator has accepted, see operatorclient.IsAccepted.
	acceptance string

	// failed are the digests of inputs that replace no rejected one, because a preflight or a revision failed with them.
	failed []operand.StartDigests

	// absent are the inputs that do not exist, each with its grace period.
	absent map[string]time.Duration
}

func (c *controller) gather(
	spec *operatorv1.StaticPodOperatorSpec, p platform.Platform, objects operand.Objects, revision int32,
) (*gathered, error) {
	observed, err := observedplatform.Config(&spec.OperatorSpec)
	if err != nil {
		return nil, err
	}
	now, err := c.inputs(observed, p)
	if err != nil {
		return nil, err
	}
	annotations, err := c.annotations()
	if err != nil {
		return nil, err
	}
	g := &gathered{
		objects: objects, revision: revision, live: objects.ConfigMap(operand.PodConfigMap),
		accepted:   inputs.ReadAccepted(objects.Secret(operand.AcceptedInputsSecret), p.Name),
		acceptance: annotations[operatorclient.PreflightAnnotation],
	}
	g.former = cmp.Or(g.live, objects.ConfigMap(operand.NameIn(operand.PodConfigMap, revision)))
	if kept := operand.Remembered(annotations); g.former == nil && !g.accepted.Known && kept != nil {
		g.former = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Annotations: kept}}
	}
	g.Inputs = operand.Inputs{
		Version:   c.Version,
		Phase:     operand.OperatorPhase(),
		Platform:  p,
		Config:    spec.ObservedConfig.Raw,
		Overrides: spec.UnsupportedConfigOverrides.Raw,
		Images: operand.Images{
			Operand:     c.OperandImages[p.Image],
			NodeManager: c.OperandImages[p.NodeManagerImage],
			Operator:    c.OperatorImage,
			Source:      "deployment/cluster-cloud-controller-manager-operator in " + operatorclient.OperatorNamespace,
		},
		CloudConfig:             now.CloudConfig,
		Credentials:             now.Credentials,
		Custom:                  now.Custom,
		Trust:                   c.withSystemTrust(now.Trust),
		ForceRedeploymentReason: spec.ForceRedeploymentReason,
		First:                   g.former == nil && !g.accepted.Known,
	}
	if len(now.Trust) > 0 {
		g.proxy = &now.Trust[0]
	}
	if g.former != nil {
		g.Kept = operand.KeptOf(g.former)
	}
	g.absent = c.absences(now, observed)
	g.reportDeletedCredentials(p.Credentials)
	g.Identity = c.identity(g)
	return g, nil
}

// dropFailed forgets the accepted cloud configuration if it has failed. From then on, the copies of the revision take
// the place of a rejected one, even when the failure is not remembered any more.
func (g *gathered) dropFailed(resources *operand.Resources) {
	config := operand.StartDigests{diagnostic.CloudConfig: resources.StartDigests()[diagnostic.CloudConfig]}
	if slices.ContainsFunc(g.failed, func(f operand.StartDigests) bool { return maps.Equal(f, config) }) {
		g.accepted.CloudConfig = nil
	}
}

func (c *controller) withSystemTrust(sources []operand.TrustSource) []operand.TrustSource {
	if len(c.SystemTrust.Data) == 0 {
		return sources
	}
	return append(slices.Clone(sources), c.SystemTrust)
}

func (c *controller) absences(now *inputs.Gathered, observed *operandconfig.Config) map[string]time.Duration {
	absent := map[string]time.Duration{}
	for source, writer := range now.Absent {
		absent[source] = userGracePeriod
		if writer == inputs.Component {
			absent[source] = componentGracePeriod
		}
	}
	if operandconfig.Required(observed) != nil {
		absent["spec.observedConfig"] = componentGracePeriod
	}
	return absent
}

// reportDeletedCredentials reports a deleted optional Secret whose keys are in use. Render reports a required one.
func (g *gathered) reportDeletedCredentials(wanted platform.Credentials) {
	isKnown := g.Credentials.Data != nil || g.Credentials.Unknown
	if wanted.Secret == "" || !wanted.Optional || isKnown || g.live == nil {
		return
	}
	if !operand.UsesCredentials(g.live, g.Credentials.Source) {
		delete(g.absent, g.Credentials.Source)
		return
	}
	g.errors = append(g.errors, diagnostic.Diagnostic{
		Cause:  diagnostic.Credentials,
		Object: g.Credentials.Source,
		Message: "it was deleted, but the cloud-controller-manager keeps using its keys; create it again, " +
			"or create it without keys to use the identity of the instances",
	})
}

func (c *controller) identity(g *gathered) *operand.Identity {
	identity := &operand.Identity{}
	if root := g.objects.ConfigMap(rootCA); root != nil {
		identity.CABundle = []byte(root.Data[rootCAKey])
	}
	// StaticResourcesController replaces a foreign token.
	if token := g.objects.Secret(fileSyncerIdentity); token != nil && !operand.HasForeignToken(token) {
		identity.FileSyncerToken = token.Data[corev1.ServiceAccountTokenKey]
	}
	if len(identity.CABundle) == 0 {
		g.reportMissingIdentity("configmap/"+rootCA, rootCAKey, "the CA of the API server")
	}
	if len(identity.FileSyncerToken) == 0 {
		g.reportMissingIdentity("secret/"+fileSyncerIdentity, corev1.ServiceAccountTokenKey, "the token of the file-syncer")
	}
	return identity
}

func (g *gathered) reportMissingIdentity(object, key, what string) {
	g.absent[object] = componentGracePeriod
	g.errors = append(g.errors, diagnostic.Diagnostic{
		Cause:   diagnostic.Configuration,
		Object:  object + " in " + operand.Namespace,
		Key:     key,
		Message: what + " is missing; check that kube-controller-manager, which writes it, is running",
	})
}
