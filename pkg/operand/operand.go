// Package operand renders everything that a node needs to run the cloud-controller-manager: the static pod and
// the objects whose files it reads.
//
// Render is the one rendering path: the operator and the bootstrap node give it different phase overlays and nothing
// else. It has no clients, clock, environment or disk, and the same inputs give the same bytes. It is also the one
// check: what it refuses reaches no node.
package operand

import (
	"cmp"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand/customccm"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operandconfig"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

const (
	// Namespace is where the operand, its sources and its lease live.
	Namespace = "openshift-cloud-controller-manager"

	// Name is the name of the operand, of its static pod, of its main container and of its version in
	// ClusterOperator. The mirror pods are called Name-<node>.
	Name = "cloud-controller-manager"

	// AcceptedInputsSecret is the Secret in Namespace that keeps the bytes of the inputs that were accepted last. It reaches
	// no node.
	AcceptedInputsSecret = "accepted-inputs"

	// Lease is the Lease in Namespace that the leading cloud-controller-manager renews, where the platform names no other.
	Lease = "cloud-controller-manager"

	// TokensAnnotation on the pod ConfigMap holds Resources.Tokens as JSON: what has to be in the Secret cloud-tokens before
	// the pod is installed.
	TokensAnnotation = "cloud-controller-manager.openshift.io/cloud-tokens"

	// KeptAnnotation on the pod ConfigMap holds Result.Kept of the cloud configuration as JSON. It is always written: an
	// annotation that is missing from an update would stay.
	KeptAnnotation = "cloud-controller-manager.openshift.io/kept-settings"

	// RenderedByAnnotation on the pod ConfigMap and on the DaemonSet holds RenderedBy. It is in no revision's data and in no
	// pod: an upgrade that changes nothing else rolls nothing out.
	RenderedByAnnotation = "cloud-controller-manager.openshift.io/rendered-by"

	// AcceptedInputAnnotation on the pod ConfigMap records InputDigest of the inputs that were accepted.
	AcceptedInputAnnotation = "cloud-controller-manager.openshift.io/accepted-input"

	// CredentialsAnnotation on the pod ConfigMap holds the Source of the Credentials that were accepted, empty if they had
	// no keys. A platform whose credentials are optional does not lose them when the Secret vanishes.
	CredentialsAnnotation = "cloud-controller-manager.openshift.io/accepted-credentials"
)

// RenderedBy identifies the operator that rendered a candidate: the version of its release payload and its image, which
// differs between two builds of the same version.
func RenderedBy(version, operatorImage string) string { return version + " " + operatorImage }

// Inputs is everything that Render reads. It is not modified.
type Inputs struct {
	// Version is that of the release payload that renders; it is recorded in RenderedByAnnotation.
	Version string

	// Phase is the overlay for the place where the pod will run.
	Phase Phase

	// Platform is a managed platform; Render refuses another.
	Platform platform.Platform

	// Config is the merged observed configuration, as YAML or JSON without the defaults, which Render adds
	// underneath.
	Config []byte

	// Overrides is spec.unsupportedConfigOverrides, laid over Config; empty at bootstrap.
	Overrides []byte

	Images Images

	// CloudConfig is the user's cloud configuration.
	CloudConfig CloudConfig

	// Credentials is the Secret with the cloud credentials.
	Credentials Credentials

	// Custom is what the Secrets of spec.custom deliver; Credentials are its CustomCredentials.
	Custom customccm.Secrets

	// Trust is what is trusted besides: the Proxy's trusted CA and the system's bundle, in this order.
	Trust []TrustSource

	// Identity is how the pod reaches the API. It is nil where the phase brings a kubeconfig of its own.
	Identity *Identity

	// ForceRedeploymentReason is spec.forceRedeploymentReason: another text makes another revision.
	ForceRedeploymentReason string

	// First tells that nothing has been accepted in this cluster yet.
	First bool

	// Kept is what KeptAnnotation of the last accepted candidate says.
	Kept map[string]string

	// Policy tells whether a likely typo in the cloud configuration refuses the candidate.
	Policy diagnostic.Policy

	// delivered is the revision whose cloud configuration and credentials are delivered again, in the place of those above.
	delivered *Revision
}

// Images are pull specifications.
type Images struct {
	// Operand is the platform's cloud-controller-manager; what spec.custom says comes first.
	Operand string
	// NodeManager is the platform's cloud-node-manager; empty where there is none.
	NodeManager string
	// Operator is this operator, whose binary is the cert-syncer.
	Operator string
	// Source is where they were looked for, for example
	// "deployment/cluster-cloud-controller-manager-operator in openshift-cloud-controller-manager-operator".
	Source string
}

// CloudConfig is the user's cloud configuration and where it comes from.
type CloudConfig struct {
	// Source is the object or file that the user edits, for example
	// "configmap/cloud-provider-config in openshift-config".
	Source string
	// Key is the key that holds Data.
	Key string
	// Data is nil when the object or the key is missing.
	Data []byte
	// CABundle is ca-bundle.pem beside it, nil when there is none.
	CABundle []byte
	// Keys is what else stands beside it, by key.
	Keys map[string][]byte
	// Problem says why Data is nil and what to do; empty means that there is simply none.
	Problem string
}

// Credentials is the data of the credentials Secret and where it comes from.
type Credentials struct {
	// Source is the object or file, for example
	// "secret/openstack-cloud-credentials in openshift-cloud-controller-manager".
	Source string
	// Data is nil when the Secret is missing.
	Data map[string][]byte
	// Unknown tells that nobody knows whether there is one, as in an offline check.
	Unknown bool
	// Sources are the objects that single keys come from, where they are not all from Source.
	Sources map[string]string
}

// sourceOf is the object that a key comes from.
func (c Credentials) sourceOf(key string) string { return cmp.Or(c.Sources[key], c.Source) }

// TrustSource is one PEM bundle of the trusted CAs.
type TrustSource struct {
	// Source is the object or file, for example "configmap/user-ca-bundle in openshift-config".
	Source string
	// Key is the key that holds Data; empty for a plain file.
	Key  string
	Data []byte
	// Problem says why Data is missing and what to do; the source is then reported and left out.
	Problem string
}

// Identity is how the static pod reaches the API, at the configuration's apiServerInternalURI.
type Identity struct {
	// CABundle is the CA of the API server, PEM.
	CABundle []byte
	// CertSyncerToken is the bearer token of the cert-syncer's ServiceAccount.
	CertSyncerToken []byte
}

// Resources is a complete candidate: all of it is applied, or none.
type Resources struct {
	// Pod is the static pod. The ConfigMap PodConfigMap holds it as pod.yaml.
	Pod *corev1.Pod

	// ConfigMaps and Secrets are the revisioned objects in the order of Delivered, the pod's ConfigMap last:
	// whoever applies them in this order leaves a half-applied candidate recognisable by its digest.
	ConfigMaps []*corev1.ConfigMap
	Secrets    []*corev1.Secret

	// Files are the same contents as single files, for a phase that delivers files instead of objects.
	Files []File

	// Config is the merged configuration that the pod was rendered from, as YAML.
	Config []byte

	// NodeManager is the DaemonSet that goes with the pod; nil where the platform has none and in a phase that delivers
	// files.
	NodeManager *appsv1.DaemonSet

	// NodeManagerConfig is the Secret that NodeManager reads; nil where it reads none.
	NodeManagerConfig *corev1.Secret

	// Tokens are the federated tokens that the pod needs. The pod's ConfigMap carries them in TokensAnnotation.
	Tokens []clouds.Token

	// Kept are the user's values that do not count yet. The pod's ConfigMap carries them in KeptAnnotation.
	Kept map[string]string

	// Digest covers the data of every revisioned object; the pod's ConfigMap carries it.
	Digest string

	// Warnings are remarks on inputs that were accepted all the same.
	Warnings []diagnostic.Diagnostic
}

// File is one file of a phase that delivers files.
type File struct {
	// Name is flat and unique, for example "cloud-controller-manager-secret-cloud-config-cloud.conf".
	Name string
	// Secret tells that the file belongs among the secrets, mode 0600.
	Secret bool
	Data   []byte
}

// Checked is what Check found.
type Checked struct {
	// Cloud is the cloud configuration as the cloud-controller-manager will get it. It holds nothing but findings when the
	// platform's own check refuses it.
	Cloud clouds.Result
	// Problems are what Render refuses the inputs for.
	Problems []diagnostic.Diagnostic
	// Warnings are remarks on inputs that are accepted all the same.
	Warnings []diagnostic.Diagnostic
	// Changes are the places of the inputs that the cloud-controller-manager gets differently, each with the reason as its
	// message. Those that the user should know of are among Warnings too.
	Changes []diagnostic.Diagnostic
}

// InputError is what Render returns when it refuses its inputs.
type InputError struct {
	// Problems are all that were found, never none.
	Problems []diagnostic.Diagnostic
	// Warnings are what would have been accepted with a remark.
	Warnings []diagnostic.Diagnostic
}

// config is the decoded configuration together with its bytes.
type config struct {
	*operandconfig.Config
	yaml []byte
	// overridesCustom says that the overrides change spec.custom.
	overridesCustom bool
}
