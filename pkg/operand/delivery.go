package operand

import (
	"regexp"
	"slices"
)

// Kind is the kind of an object that holds files.
type Kind string

// The kinds.
const (
	ConfigMap Kind = "ConfigMap"
	Secret    Kind = "Secret"
)

// Delivery is the way in which a file is updated on a node.
type Delivery string

const (
	// Revisioned is for files that are read once. A change makes a new revision, which rolls out node by node.
	Revisioned Delivery = "Revisioned"

	// Synced is for files that are reloaded. The file-syncer updates them in place.
	Synced Delivery = "Synced"
)

// The objects whose files are delivered to the nodes. Each exists on every platform, possibly empty, because an object
// that is created later would cause a rollout.
const (
	PodConfigMap                   = "cloud-controller-manager-pod"
	CloudConfigSecret              = "cloud-config"
	CloudConfigConfigMap           = "cloud-config"
	CloudCredentialsSecret         = "cloud-credentials"
	TrustedCAConfigMap             = "trusted-ca"
	KubeconfigsConfigMap           = "kubeconfigs"
	FileSyncerTokenSecret          = "file-syncer-token"
	KubeTokenSecret                = "kube-token"
	CloudTokensSecret              = "cloud-tokens"
	ServingCertSecret              = "serving-cert"
	ClientCAConfigMap              = "client-ca"
	RequestHeaderClientCAConfigMap = "requestheader-client-ca"
)

// ServingCAConfigMap contains the CAs of the serving certificate, for clients. It is not delivered to nodes.
const ServingCAConfigMap = "serving-ca"

// CertDir is the directory below /etc/kubernetes/static-pod-resources with the synced objects.
const CertDir = "cloud-controller-manager-certs"

// Object is an object of the operand's namespace whose keys become files on every control-plane node.
type Object struct {
	Kind     Kind
	Name     string
	Delivery Delivery
	Why      string
}

// Delivered returns every delivered object. The revision controller, the installer and the file-syncer use this list.
// library-go's static-pod controllers require the pod's ConfigMap to be the first.
func Delivered() []Object {
	return []Object{
		{ConfigMap, PodConfigMap, Revisioned, "the static pod itself"},
		{ConfigMap, CloudConfigConfigMap, Revisioned, "the cloud's private CA is read when the provider is built"},
		{ConfigMap, TrustedCAConfigMap, Revisioned, "Go reads the system's trust once per process"},
		{ConfigMap, KubeconfigsConfigMap, Revisioned, "a kubeconfig is never reloaded"},
		{Secret, CloudConfigSecret, Revisioned, "the cloud configuration is read when the provider is built; on some " +
			"clouds it holds secrets"},
		{Secret, CloudCredentialsSecret, Revisioned, "static keys are read when the provider is built"},
		{Secret, FileSyncerTokenSecret, Revisioned, "the file-syncer must not depend on a file that it updates"},
		{ConfigMap, ClientCAConfigMap, Synced, "the serving code reloads client CAs"},
		{ConfigMap, RequestHeaderClientCAConfigMap, Synced, "the serving code reloads client CAs"},
		{Secret, KubeTokenSecret, Synced, "client-go re-reads a token file about once a minute"},
		{Secret, CloudTokensSecret, Synced, "cloud SDKs re-read federated token files"},
		{Secret, ServingCertSecret, Synced, "the serving code reloads its certificate"},
	}
}

// DeliveredBy returns the names of the objects of one kind and delivery, in the order of Delivered.
func DeliveredBy(kind Kind, delivery Delivery) []string {
	var names []string
	for _, o := range Delivered() {
		if o.Kind == kind && o.Delivery == delivery {
			names = append(names, o.Name)
		}
	}
	return names
}

var revisionSuffix = regexp.MustCompile(`-\d+$`)

// IsOwnSecret reports whether the operator or one of its pods uses a Secret with this name in Namespace.
func IsOwnSecret(name string) bool {
	if slices.Contains([]string{AcceptedInputsSecret, PreflightName, "file-syncer-identity"}, name) {
		return true
	}
	return isDelivered(Secret, name)
}

func withoutRevision(name string) string { return revisionSuffix.ReplaceAllString(name, "") }

func isDelivered(kind Kind, name string) bool {
	return slices.ContainsFunc(Delivered(), func(o Object) bool {
		return o.Kind == kind && (o.Name == name || o.Name == withoutRevision(name))
	})
}

// IsOwnConfigMap reports whether a ConfigMap with this name in Namespace is delivered, or belongs to a revision.
func IsOwnConfigMap(name string) bool {
	return name != "revision-status" && withoutRevision(name) == "revision-status" || isDelivered(ConfigMap, name)
}
