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

// Delivery tells how a file's content stays current on a node.
type Delivery string

const (
	// Revisioned is for what its reader reads once: a change becomes a new revision and with it a
	// health-checked rollout, node by node.
	Revisioned Delivery = "Revisioned"

	// Synced is for what its reader reloads: the cert-syncer rewrites the file in place.
	Synced Delivery = "Synced"
)

// The objects whose files reach the nodes. Each always exists, on every platform, possibly empty: an object that
// appears later would cost a rollout.
const (
	PodConfigMap                   = "cloud-controller-manager-pod"
	CloudConfigSecret              = "cloud-config"
	CloudConfigConfigMap           = "cloud-config"
	CloudCredentialsSecret         = "cloud-credentials"
	TrustedCAConfigMap             = "trusted-ca"
	KubeconfigsConfigMap           = "kubeconfigs"
	CertSyncerTokenSecret          = "cert-syncer-token"
	KubeTokenSecret                = "kube-token"
	CloudTokensSecret              = "cloud-tokens"
	ServingCertSecret              = "serving-cert"
	ClientCAConfigMap              = "client-ca"
	RequestHeaderClientCAConfigMap = "requestheader-client-ca"
)

// CertDir is the folder under /etc/kubernetes/static-pod-resources that holds the synced objects.
const CertDir = "cloud-controller-manager-certs"

// Object is an object of the operand's namespace whose keys become files on every control-plane node.
type Object struct {
	Kind     Kind
	Name     string
	Delivery Delivery
	// Why is the reason for the kind of delivery.
	Why string
}

// Delivered is the one list of what reaches a node. The revision controller, the installer and the cert-syncer all
// read it. The pod's ConfigMap comes first, as library-go's static-pod controllers demand.
func Delivered() []Object {
	return []Object{
		{ConfigMap, PodConfigMap, Revisioned, "the static pod itself"},
		{ConfigMap, CloudConfigConfigMap, Revisioned, "the cloud's private CA is read when the provider is built"},
		{ConfigMap, TrustedCAConfigMap, Revisioned, "Go reads the system's trust once per process"},
		{ConfigMap, KubeconfigsConfigMap, Revisioned, "a kubeconfig is never reloaded"},
		{Secret, CloudConfigSecret, Revisioned, "the cloud configuration is read when the provider is built; on some clouds it holds secrets"},
		{Secret, CloudCredentialsSecret, Revisioned, "static keys are read when the provider is built"},
		{Secret, CertSyncerTokenSecret, Revisioned, "what the cert-syncer needs to work may not depend on the cert-syncer"},
		{ConfigMap, ClientCAConfigMap, Synced, "the serving code reloads client CAs"},
		{ConfigMap, RequestHeaderClientCAConfigMap, Synced, "the serving code reloads client CAs"},
		{Secret, KubeTokenSecret, Synced, "client-go re-reads a token file about once a minute"},
		{Secret, CloudTokensSecret, Synced, "cloud SDKs re-read federated token files"},
		{Secret, ServingCertSecret, Synced, "the serving code reloads its certificate"},
	}
}

// DeliveredBy returns the names of the delivered objects of one kind and delivery, in the order of Delivered.
func DeliveredBy(kind Kind, delivery Delivery) []string {
	var names []string
	for _, o := range Delivered() {
		if o.Kind == kind && o.Delivery == delivery {
			names = append(names, o.Name)
		}
	}
	return names
}

// revisionSuffix ends the name of a revision's copy.
var revisionSuffix = regexp.MustCompile(`-\d+$`)

// IsOwnSecret reports whether the operator, or one of its pods, uses a Secret of this name in Namespace.
func IsOwnSecret(name string) bool {
	// An earlier version of the operator left the last one.
	if slices.Contains([]string{AcceptedInputsSecret, "cert-syncer-identity", "raw-cloud-credentials"}, name) {
		return true
	}
	base := revisionSuffix.ReplaceAllString(name, "")
	return slices.ContainsFunc(Delivered(), func(o Object) bool {
		return o.Kind == Secret && (o.Name == name || o.Name == base)
	})
}
