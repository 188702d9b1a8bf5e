// Package operand renders everything that a node needs to run the cloud-controller-manager: the static pod, and the
// objects with the files that it reads.
//
// Render is the one rendering path. The operator and the bootstrap node differ only in the phase overlay. Render uses
// no clients, clock, environment or disk, and equal inputs produce equal bytes. It also makes the only check of the
// inputs: what it rejects never reaches a node.
package operand

import (
	"cmp"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand/customccm"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operandconfig"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

const (
	// Namespace is the namespace of the operand, its sources and its lease.
	Namespace = "openshift-cloud-controller-manager"

	// Name is the name of the operand, of its static pod, of its main container and of its version in ClusterOperator. The
	// mirror pods are called Name-<node>.
	Name = "cloud-controller-manager"

	// ServingName is the DNS name of the Service, for which the serving certificate is issued.
	ServingName = Name + "." + Namespace + ".svc"

	// AcceptedInputsSecret is the Secret in Namespace with the last accepted inputs. It is not delivered to nodes.
	AcceptedInputsSecret = "accepted-inputs"

	// AcceptedRecordsKey is the key of that Secret with the source, time and digest of each input, but no value.
	AcceptedRecordsKey = "inputs.json"

	// Lease is the Lease in Namespace that the leading cloud-controller-manager renews.
	Lease = "cloud-controller-manager"

	// TokensAnnotation on the pod ConfigMap contains Resources.Tokens as JSON. The Secret cloud-tokens must contain these
	// tokens before the pod is installed.
	TokensAnnotation = "cloud-controller-manager.openshift.io/cloud-tokens"

	// keptAnnotation on the pod ConfigMap contains Result.Kept of the cloud configuration as JSON. It is always written,
	// because an update does not remove omitted annotations.
	keptAnnotation = "cloud-controller-manager.openshift.io/kept-settings"

	// RenderedByAnnotation on the pod ConfigMap and on the DaemonSet contains RenderedBy. It is not part of a revision's
	// data or of a pod, so an upgrade that changes nothing else causes no rollout.
	RenderedByAnnotation = "cloud-controller-manager.openshift.io/rendered-by"

	// AcceptedInputAnnotation on the pod ConfigMap contains InputDigest of the accepted inputs.
	AcceptedInputAnnotation = "cloud-controller-manager.openshift.io/accepted-input"

	// credentialsAnnotation on the pod ConfigMap contains the Source of the accepted Credentials, empty if they had no
	// keys. It shows that an optional Secret existed and was deleted.
	credentialsAnnotation = "cloud-controller-manager.openshift.io/accepted-credentials"
)

// RenderedBy identifies the operator that rendered a candidate: the version of its release payload and its image, which
// differs between two builds of the same version.
func RenderedBy(version, operatorImage string) string { return version + " " + operatorImage }

// Inputs is everything that Render reads. Render does not modify it.
type Inputs struct {
	// Version is the version of the operator's release payload, for RenderedByAnnotation.
	Version string

	// Phase is the overlay for the place where the pod runs.
	Phase Phase

	// Platform must be a managed platform.
	Platform platform.Platform

	// Config is the merged observed configuration in YAML or JSON. Render adds the defaults.
	Config []byte

	// Overrides is spec.unsupportedConfigOverrides, which is merged over Config. It is empty at bootstrap.
	Overrides []byte

	Images Images

	CloudConfig CloudConfig

	Credentials Credentials

	// Custom is the data of the Secrets in spec.custom. Credentials is then CustomCredentials of it.
	Custom customccm.Secrets

	// Trust are the other trusted CAs: the Proxy's trusted CA and the system's bundle, in this order.
	Trust []TrustSource

	// Identity is the pod's credentials for the API. It is nil if the phase has its own kubeconfig.
	Identity *Identity

	// ForceRedeploymentReason is spec.forceRedeploymentReason. A new value makes a new revision.
	ForceRedeploymentReason string

	// First reports whether no input has been accepted in this cluster yet.
	First bool

	// Kept is the value of keptAnnotation of the last accepted candidate.
	Kept map[string]string

	// Policy defines whether a likely mistake in the cloud configuration rejects the candidate.
	Policy diagnostic.Policy

	// AcceptedWarnings are those about the accepted cloud configuration. A contradiction to Infrastructure among them does
	// not reject a change, because the change does not introduce it.
	AcceptedWarnings []diagnostic.Diagnostic

	// Former replaces a rejected image or rejected flags. It is nil if neither is rejected.
	Former *Former

	// delivered is the revision whose cloud configuration and credentials replace those above, nil if none. configured is
	// the one of which only the cloud configuration does.
	delivered, configured *Revision
}

// Images are pull specifications.
type Images struct {
	// Operand is the platform's cloud-controller-manager. Render uses spec.custom's if the release has none.
	Operand string
	// NodeManager is the platform's cloud-node-manager, empty if the platform has none.
	NodeManager string
	// Operator is this operator's image, which also runs the file-syncer.
	Operator string
	// Source is the object or flag that should name the images, for example
	// "deployment/cluster-cloud-controller-manager-operator in openshift-cloud-controller-manager-operator".
	Source string
}

// CloudConfig is the user's cloud configuration with its source.
type CloudConfig struct {
	// Source is the object or file that the user edits, for example
	// "configmap/cloud-provider-config in openshift-config".
	Source string
	// Key is the key with Data.
	Key string
	// Data is nil if the object or the key does not exist.
	Data []byte
	// CABundle is the value of the object's key ca-bundle.pem, nil if it does not exist.
	CABundle []byte
	// Keys are the values of the object's other keys.
	Keys map[string][]byte
	// Diagnostic is the message that explains why Data is nil. It is empty if no cloud configuration is expected.
	Diagnostic string
}

// Credentials is the data of the credentials Secret with its source.
type Credentials struct {
	// Source is the object or file, for example
	// "secret/openstack-cloud-credentials in openshift-cloud-controller-manager".
	Source string
	// Data is nil if the Secret does not exist.
	Data map[string][]byte
	// Unknown means that the Secret may exist but was not given, as in an offline check.
	Unknown bool
	// Sources maps each key to its object if the keys are from several objects.
	Sources map[string]string
}

func (c Credentials) sourceOf(key string) string { return cmp.Or(c.Sources[key], c.Source) }

// TrustSource is one PEM bundle of the trusted CAs.
type TrustSource struct {
	// Source is the object or file, for example "configmap/user-ca-bundle in openshift-config".
	Source string
	// Key is the key with Data, empty for a plain file.
	Key  string
	Data []byte
	// Diagnostic is the message that explains why Data is missing. Render reports it and omits the source.
	Diagnostic string
}

// Identity is the static pod's credentials for the API at the configuration's apiServerInternalURI.
type Identity struct {
	// CABundle is the API server's CA in PEM.
	CABundle []byte
	// FileSyncerToken is the bearer token of the file-syncer's ServiceAccount.
	FileSyncerToken []byte
}

// Resources is a complete candidate. Either all of it is applied, or nothing.
type Resources struct {
	// Pod is the static pod. The ConfigMap PodConfigMap contains it as pod.yaml. It is nil in a phase that delivers files,
	// on a platform whose cloud-node-manager initializes the nodes.
	Pod *corev1.Pod

	// ConfigMaps and Secrets are the revisioned objects in the order of Delivered, but with the pod ConfigMap last.
	// Applied in this order, an incomplete candidate does not match its digest.
	ConfigMaps []*corev1.ConfigMap
	Secrets    []*corev1.Secret

	// Files are set instead of the objects in a phase that delivers files, if there is a Pod.
	Files []File

	// Config is the merged configuration from which the pod was rendered, as JSON.
	Config []byte

	// NodeManager is the DaemonSet of the cloud-node-manager, nil if the platform has none.
	NodeManager *appsv1.DaemonSet

	// NodeManagerConfig is the Secret that NodeManager reads, or nil.
	NodeManagerConfig *corev1.Secret

	// Tokens are the federated tokens that the pod needs, also in TokensAnnotation.
	Tokens []clouds.Token

	// Kept are the user's values that are not in effect yet, also in keptAnnotation.
	Kept map[string]string

	// Untried is why no preflight can try the candidate; empty if a preflight can.
	Untried string

	// Digest covers the data of every revisioned object. The pod ConfigMap contains it.
	Digest string

	// Warnings are about accepted inputs.
	Warnings []diagnostic.Diagnostic
}

// File is one file of a phase that delivers files.
type File struct {
	// Name is flat and unique, for example "cloud-controller-manager-secret-cloud-config-cloud.conf".
	Name string
	// Secret means that the file must be written to the directory of secrets with mode 0600.
	Secret bool
	Data   []byte
}

// Checked is the result of Check.
type Checked struct {
	// Cloud is the cloud configuration that the cloud-controller-manager gets. It has only diagnostics if the platform's
	// check rejects the configuration.
	Cloud clouds.Result
	// Diagnostics are the errors for which Render rejects the inputs.
	Diagnostics []diagnostic.Diagnostic
	// Warnings do not reject the inputs.
	Warnings []diagnostic.Diagnostic
	// Changes explain each difference between the inputs and what the cloud-controller-manager gets. Warnings repeats
	// those that the user should know.
	Changes []diagnostic.Diagnostic
}

// InputError is the error of Render if it rejects its inputs.
type InputError struct {
	// Diagnostics are the errors, at least one.
	Diagnostics []diagnostic.Diagnostic
	// Warnings do not reject the inputs.
	Warnings []diagnostic.Diagnostic
}

// Error returns the errors, one per line.
func (e *InputError) Error() string {
	lines := make([]string, 0, len(e.Diagnostics))
	for _, d := range e.Diagnostics {
		lines = append(lines, d.String())
	}
	return strings.Join(lines, "\n")
}

type config struct {
	*operandconfig.Config
	merged          []byte
	pinned          []byte
	overridesCustom bool
	overriddenFlags []string
}
