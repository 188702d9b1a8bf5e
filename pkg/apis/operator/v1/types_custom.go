package v1

// CustomCloudControllerManager describes a cloud-controller-manager that no release ships. The operator runs it where
// Infrastructure's status is External for both the platform and its cloud-controller-manager, and on a platform type
// for which no release ships an image. Its writer decides what runs as root on the control plane.
//
// +kubebuilder:validation:XValidation:rule="!has(self.platform) || (!has(self.command) && !has(self.args) && !has(self.argsPolicy) && !has(self.env) && !has(self.secrets) && !has(self.probe))",message="with platform, only image and cloudConfig can be set: the rest is built in"
// +kubebuilder:validation:XValidation:rule="has(self.platform) || has(self.image)",message="image is required"
type CustomCloudControllerManager struct {
	// platform is a platform whose cloud-controller-manager the operator knows how to run: then only image and cloudConfig
	// can be set besides. If it is omitted, image, command and args determine what runs.
	// +optional
	Platform CustomPlatform `json:"platform,omitempty"`

	// image is the pull specification of the cloud-controller-manager, best by digest.
	// +kubebuilder:validation:Pattern=`^\S+$`
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Image string `json:"image,omitempty"`

	// command replaces the image's entrypoint.
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=4096
	// +listType=atomic
	// +optional
	Command []string `json:"command,omitempty"`

	// args are the arguments. An argument of the form --name=value takes the place of the operator's own one of that
	// name; any other comes after them in the given order. The lease is the operator's: whether the
	// cloud-controller-manager is available is judged by lease/cloud-controller-manager in
	// openshift-cloud-controller-manager, so --leader-elect, --leader-elect-resource-name and
	// --leader-elect-resource-namespace cannot say anything else. Files that can be named are those below
	// /etc/kubernetes/static-pod-resources and /etc/kubernetes/static-pod-certs that are delivered:
	// secrets/cloud-config/cloud.conf, configmaps/trusted-ca/ca-bundle.crt and
	// configmaps/kubeconfigs/cloud-controller-manager.kubeconfig in the first, secrets/serving-cert/tls.crt and tls.key,
	// configmaps/client-ca/ca-bundle.crt and configmaps/requestheader-client-ca/ca-bundle.crt in the second, and the keys
	// of secrets.
	// +kubebuilder:validation:MaxItems=128
	// +kubebuilder:validation:items:MaxLength=4096
	// +listType=atomic
	// +optional
	Args []string `json:"args,omitempty"`

	// argsPolicy determines whether args extend (Extend, the default) or replace (Replace) the arguments that the operator
	// gives every cloud-controller-manager that is built on k8s.io/cloud-provider. With Replace nothing runs on
	// the bootstrap node, because the operator could not restrict it to initializing nodes there.
	// +optional
	ArgsPolicy ArgsPolicy `json:"argsPolicy,omitempty"`

	// env are environment variables. Their values are literal and can be read by everyone who can read pods: a secret
	// belongs in secrets. HTTP_PROXY, HTTPS_PROXY and NO_PROXY come before those of the cluster's Proxy. SSL_CERT_FILE is
	// the operator's: a CA to trust belongs in the Proxy's trustedCA, or in ca-bundle.pem beside the cloud configuration.
	// +kubebuilder:validation:XValidation:rule="self.all(e, e.name != 'SSL_CERT_FILE')",message="SSL_CERT_FILE is the operator's: add the CA to spec.trustedCA of proxy.config.openshift.io/cluster"
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=name
	// +optional
	Env []CustomEnvVar `json:"env,omitempty"`

	// cloudConfig is a ConfigMap in openshift-config whose key becomes the file cloud.conf, unchanged. It defaults to the
	// one that Infrastructure names in spec.cloudConfig.
	// +optional
	CloudConfig *CustomCloudConfig `json:"cloudConfig,omitempty"`

	// secrets are Secrets in openshift-cloud-controller-manager whose keys become files. No two of those that are
	// delivered alike may have the same key. The names of the operator's own Secrets are rejected.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=name
	// +optional
	Secrets []CustomSecret `json:"secrets,omitempty"`

	// probe is the health endpoint of the cloud-controller-manager. It defaults to HTTPS on port 10258, path /healthz.
	// +optional
	Probe *CustomProbe `json:"probe,omitempty"`
}

// CustomPlatform is a platform whose cloud-controller-manager the operator knows how to run and no release ships.
//
// +kubebuilder:validation:Enum=AlibabaCloud;DigitalOcean
type CustomPlatform string

// The platforms that spec.custom can name.
const (
	CustomAlibabaCloud CustomPlatform = "AlibabaCloud"
	CustomDigitalOcean CustomPlatform = "DigitalOcean"
)

// ArgsPolicy determines what becomes of the operator's own arguments.
//
// +kubebuilder:validation:Enum=Extend;Replace
type ArgsPolicy string

// The policies.
const (
	ExtendArgs  ArgsPolicy = "Extend"
	ReplaceArgs ArgsPolicy = "Replace"
)

// CustomEnvVar is an environment variable with a literal value.
type CustomEnvVar struct {
	// name of the variable.
	// +kubebuilder:validation:Pattern=`^[A-Za-z_][A-Za-z0-9_]*$`
	// +kubebuilder:validation:MaxLength=256
	// +required
	Name string `json:"name"`

	// value of the variable. It is required, even if empty, so that a valueFrom, which is not supported, is rejected.
	// +kubebuilder:validation:MaxLength=32768
	// +required
	Value string `json:"value"`
}

// CustomCloudConfig is a key of a ConfigMap in openshift-config.
type CustomCloudConfig struct {
	// name of the ConfigMap.
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name"`

	// key in the ConfigMap; config if empty.
	// +kubebuilder:validation:Pattern=`^[-._a-zA-Z0-9]*$`
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Key string `json:"key,omitempty"`
}

// CustomSecret is a Secret in openshift-cloud-controller-manager.
type CustomSecret struct {
	// name of the Secret.
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name"`

	// delivery determines how a change reaches the cloud-controller-manager. ReadOnce, the default, is for files that it
	// reads at its start: a change is rolled out node by node. Reloaded is for files that it reads again by itself: a
	// change is written in place. Files that are read once are in
	// /etc/kubernetes/static-pod-resources/secrets/cloud-credentials, those that are reloaded in
	// /etc/kubernetes/static-pod-certs/secrets/cloud-tokens.
	// +optional
	Delivery SecretDelivery `json:"delivery,omitempty"`
}

// SecretDelivery determines how a change of a Secret reaches its reader.
//
// +kubebuilder:validation:Enum=ReadOnce;Reloaded
type SecretDelivery string

// The deliveries.
const (
	ReadOnceSecret SecretDelivery = "ReadOnce"
	ReloadedSecret SecretDelivery = "Reloaded"
)

// CustomProbe is the health endpoint of a cloud-controller-manager.
type CustomProbe struct {
	// port on the node; 10258 if zero.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +optional
	Port int32 `json:"port,omitempty"`

	// scheme is HTTPS, the default, or HTTP.
	// +kubebuilder:validation:Enum=HTTP;HTTPS
	// +optional
	Scheme string `json:"scheme,omitempty"`

	// path is /healthz if empty.
	// +kubebuilder:validation:Pattern=`^(/.*)?$`
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Path string `json:"path,omitempty"`
}
