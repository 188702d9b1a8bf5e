package v1

// External is the cloud-controller-manager of a platform that no release knows, or whose image no release ships. It is
// used where Infrastructure's status says External for both the platform and its cloud-controller-manager, and on a built-in
// platform without an image of its own. Who writes it decides what runs as root on the control plane.
//
// +kubebuilder:validation:XValidation:rule="!has(self.platform) || (!has(self.command) && !has(self.args) && !has(self.argsPolicy) && !has(self.env) && !has(self.secrets) && !has(self.probe))",message="with platform, only image and cloudConfig can be set: the rest is built in"
// +kubebuilder:validation:XValidation:rule="has(self.platform) || has(self.image)",message="image is required"
type External struct {
	// platform names a cloud-controller-manager that the operator knows how to run. Without it image, command and args say
	// what runs.
	// +optional
	Platform ExternalPlatform `json:"platform,omitempty"`

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

	// args are the arguments. An argument of the form --name=value takes the place of the operator's own one of that name;
	// any other comes after them in the given order. The lease is the operator's: whether the cloud-controller-manager is
	// available is judged by lease/cloud-controller-manager in openshift-cloud-controller-manager, so --leader-elect,
	// --leader-elect-resource-name and --leader-elect-resource-namespace cannot say anything else. Files that can be named are
	// those below /etc/kubernetes/static-pod-resources and /etc/kubernetes/static-pod-certs that are delivered:
	// secrets/cloud-config/cloud.conf, configmaps/trusted-ca/ca-bundle.crt and
	// configmaps/kubeconfigs/cloud-controller-manager.kubeconfig in the first, secrets/serving-cert/tls.crt and tls.key,
	// configmaps/client-ca/ca-bundle.crt and configmaps/requestheader-client-ca/ca-bundle.crt in the second, and the keys of
	// secrets.
	// +kubebuilder:validation:MaxItems=128
	// +kubebuilder:validation:items:MaxLength=4096
	// +listType=atomic
	// +optional
	Args []string `json:"args,omitempty"`

	// argsPolicy says whether args are added to the arguments that the operator gives every cloud-controller-manager that is
	// built on k8s.io/cloud-provider (Extend, the default) or are all that there is (Replace). With Replace nothing runs on
	// the bootstrap node: nobody could keep it from doing more there than to initialise nodes.
	// +optional
	ArgsPolicy ArgsPolicy `json:"argsPolicy,omitempty"`

	// env are environment variables. Their values are literal and can be read by everyone who can read pods: a secret belongs
	// in secrets. HTTP_PROXY, HTTPS_PROXY and NO_PROXY come before those of the cluster's Proxy. SSL_CERT_FILE is the
	// operator's: a CA to trust belongs in the Proxy's trustedCA, or in ca-bundle.pem beside the cloud configuration.
	// +kubebuilder:validation:XValidation:rule="self.all(e, e.name != 'SSL_CERT_FILE')",message="SSL_CERT_FILE is the operator's: add the CA to spec.trustedCA of proxy.config.openshift.io/cluster"
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=name
	// +optional
	Env []ExternalEnvVar `json:"env,omitempty"`

	// cloudConfig is a ConfigMap in openshift-config whose key becomes the file cloud.conf. It is delivered as it is. Without
	// it, the one that Infrastructure names in spec.cloudConfig is.
	// +optional
	CloudConfig *ExternalCloudConfig `json:"cloudConfig,omitempty"`

	// secrets are Secrets in openshift-cloud-controller-manager whose keys become files. No two of those that are delivered
	// alike may have the same key. Names that the operator uses itself, and all that start with raw-, are no choice.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=name
	// +optional
	Secrets []ExternalSecret `json:"secrets,omitempty"`

	// probe is where the cloud-controller-manager says that it is healthy: HTTPS on port 10258, path /healthz, where nothing
	// else is said.
	// +optional
	Probe *ExternalProbe `json:"probe,omitempty"`
}

// ExternalPlatform is a cloud-controller-manager that the operator knows and no release ships.
//
// +kubebuilder:validation:Enum=AlibabaCloud;DigitalOcean
type ExternalPlatform string

// The platforms that spec.external can name.
const (
	ExternalAlibabaCloud ExternalPlatform = "AlibabaCloud"
	ExternalDigitalOcean ExternalPlatform = "DigitalOcean"
)

// ArgsPolicy says what becomes of the operator's own arguments.
//
// +kubebuilder:validation:Enum=Extend;Replace
type ArgsPolicy string

// The policies.
const (
	ExtendArgs  ArgsPolicy = "Extend"
	ReplaceArgs ArgsPolicy = "Replace"
)

// ExternalEnvVar is an environment variable with a literal value.
type ExternalEnvVar struct {
	// name of the variable.
	// +kubebuilder:validation:Pattern=`^[A-Za-z_][A-Za-z0-9_]*$`
	// +kubebuilder:validation:MaxLength=256
	// +required
	Name string `json:"name"`

	// value of the variable. It has to be there, if only as "": whoever writes valueFrom, which there is not, learns it so.
	// +kubebuilder:validation:MaxLength=32768
	// +required
	Value string `json:"value"`
}

// ExternalCloudConfig is a key of a ConfigMap in openshift-config.
type ExternalCloudConfig struct {
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

// ExternalSecret is a Secret in openshift-cloud-controller-manager.
type ExternalSecret struct {
	// name of the Secret.
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name"`

	// delivery says how a change reaches the cloud-controller-manager. ReadOnce, the default, is for files that it reads at
	// its start: a change is rolled out node by node. Reloaded is for files that it reads again by itself: a change is written
	// in place. Files that are read once are in /etc/kubernetes/static-pod-resources/secrets/cloud-credentials, those that are
	// reloaded in /etc/kubernetes/static-pod-certs/secrets/cloud-tokens.
	// +optional
	Delivery SecretDelivery `json:"delivery,omitempty"`
}

// SecretDelivery says how a change of a Secret reaches its reader.
//
// +kubebuilder:validation:Enum=ReadOnce;Reloaded
type SecretDelivery string

// The deliveries.
const (
	ReadOnceSecret SecretDelivery = "ReadOnce"
	ReloadedSecret SecretDelivery = "Reloaded"
)

// ExternalProbe is the health endpoint of a cloud-controller-manager.
type ExternalProbe struct {
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
