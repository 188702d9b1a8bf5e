package v1

// CustomCloudControllerManager describes a cloud-controller-manager that no release ships. The operator runs it where
// Infrastructure's status is External for both the platform and its cloud-controller-manager, and on a platform type
// for which no release ships an image. Its writer decides what runs as root on the control plane.
//
// +kubebuilder:validation:MinProperties=0
// +kubebuilder:validation:XValidation:rule="!has(self.platform) || (!has(self.command) && !has(self.args) && !has(self.argsPolicy) && !has(self.env) && !has(self.secrets) && !has(self.probe))",message="with platform, only image and cloudConfig can be set: the rest is built in"
// +kubebuilder:validation:XValidation:rule="has(self.platform) || has(self.image)",message="image is required"
type CustomCloudControllerManager struct {
	// platform is a platform whose cloud-controller-manager the operator knows how to run: then only image and cloudConfig
	// can be set besides.
	// Allowed values are AlibabaCloud and DigitalOcean.
	// When omitted, image is required, and image, command and args determine what runs.
	// +optional
	Platform CustomCloudControllerManagerPlatform `json:"platform,omitempty"`

	// image is the pull specification of the cloud-controller-manager, best by digest. It has 1 to 1024 characters and no
	// whitespace.
	// When omitted, platform is required, and the image is the one that the release has for the platform.
	// +kubebuilder:validation:XValidation:rule="self.matches('^\\\\S+$')",message="image must not contain whitespace"
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Image string `json:"image,omitempty"`

	// command replaces the image's entrypoint. It has at most 32 words of at most 4096 characters.
	// When omitted, the image's entrypoint runs.
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=0
	// +kubebuilder:validation:items:MaxLength=4096
	// +listType=atomic
	// +optional
	Command []string `json:"command,omitempty"`

	// args are the arguments, at most 128 of at most 4096 characters. An argument of the form --name=value takes the place
	// of the operator's own one of that name; any other comes after them in the given order. Whether the
	// cloud-controller-manager is available is judged by lease/cloud-controller-manager in
	// openshift-cloud-controller-manager. Arguments that name another lease, or a file below
	// /etc/kubernetes/static-pod-resources or /etc/kubernetes/static-pod-certs that is not delivered, are not rolled out;
	// the condition ConfigurationDegraded names them. Delivered are
	// secrets/cloud-config/cloud.conf, configmaps/trusted-ca/ca-bundle.crt and
	// configmaps/kubeconfigs/cloud-controller-manager.kubeconfig in the first, secrets/serving-cert/tls.crt and tls.key,
	// configmaps/client-ca/ca-bundle.crt and configmaps/requestheader-client-ca/ca-bundle.crt in the second, and the keys
	// of secrets.
	// When omitted, the cloud-controller-manager gets the operator's own arguments.
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=128
	// +kubebuilder:validation:items:MinLength=0
	// +kubebuilder:validation:items:MaxLength=4096
	// +listType=atomic
	// +optional
	Args []string `json:"args,omitempty"`

	// argsPolicy determines what becomes of the arguments that the operator gives every cloud-controller-manager that is
	// built on k8s.io/cloud-provider.
	// Allowed values are Extend and Replace.
	// When set to Extend, args extend them.
	// When set to Replace, args replace them. Then nothing runs on the bootstrap node, because the operator could not
	// restrict it to initializing nodes there.
	// When omitted, the policy is Extend.
	// +optional
	ArgsPolicy CustomCloudControllerManagerArgsPolicy `json:"argsPolicy,omitempty"`

	// env are environment variables, at most 64, each with another name. Their values are literal and can be read by
	// everyone who can read pods: a secret belongs in secrets. HTTP_PROXY, HTTPS_PROXY and NO_PROXY come before those of
	// the cluster's Proxy. SSL_CERT_FILE is rejected, because it is the operator's: a CA to trust belongs in the Proxy's
	// trustedCA, or in ca-bundle.pem beside the cloud configuration.
	// When omitted, the cloud-controller-manager gets the operator's own variables.
	// +kubebuilder:validation:XValidation:rule="self.all(e, e.name != 'SSL_CERT_FILE')",message="SSL_CERT_FILE is the operator's: add the CA to spec.trustedCA of proxy.config.openshift.io/cluster"
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=name
	// +optional
	Env []CustomCloudControllerManagerEnvVar `json:"env,omitempty"`

	// cloudConfig is a ConfigMap in openshift-config whose key becomes the file cloud.conf, unchanged.
	// When omitted, it is the one that Infrastructure names in spec.cloudConfig.
	// +optional
	CloudConfig CustomCloudControllerManagerCloudConfig `json:"cloudConfig,omitzero"`

	// secrets are Secrets in openshift-cloud-controller-manager whose keys become files, at most 16, each with another
	// name. The operator rolls out none of them while one has the name of a Secret of the operator's, which the condition
	// ConfigurationDegraded names, or while two with the same delivery have the same key, which the condition
	// CredentialsDegraded names.
	// When omitted, no Secret is delivered.
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=name
	// +optional
	Secrets []CustomCloudControllerManagerSecret `json:"secrets,omitempty"`

	// probe is the health endpoint of the cloud-controller-manager.
	// When omitted, it is HTTPS on port 10258, path /healthz.
	// +optional
	Probe *CustomCloudControllerManagerProbe `json:"probe,omitempty"`
}

// CustomCloudControllerManagerPlatform is a platform whose cloud-controller-manager the operator knows how to run and
// no release ships.
//
// +kubebuilder:validation:Enum=AlibabaCloud;DigitalOcean
type CustomCloudControllerManagerPlatform string

// The platforms that spec.custom can name.
const (
	CustomCloudControllerManagerPlatformAlibabaCloud CustomCloudControllerManagerPlatform = "AlibabaCloud"
	CustomCloudControllerManagerPlatformDigitalOcean CustomCloudControllerManagerPlatform = "DigitalOcean"
)

// CustomCloudControllerManagerArgsPolicy determines what becomes of the operator's own arguments.
//
// +kubebuilder:validation:Enum=Extend;Replace
type CustomCloudControllerManagerArgsPolicy string

// The policies.
const (
	CustomCloudControllerManagerArgsPolicyExtend  CustomCloudControllerManagerArgsPolicy = "Extend"
	CustomCloudControllerManagerArgsPolicyReplace CustomCloudControllerManagerArgsPolicy = "Replace"
)

// CustomCloudControllerManagerEnvVar is an environment variable with a literal value.
type CustomCloudControllerManagerEnvVar struct {
	// name of the variable. It has 1 to 256 letters, digits and underscores, and does not start with a digit.
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z_][A-Za-z0-9_]*$')",message="name must consist of letters, digits and underscores, and not start with a digit"
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +required
	Name string `json:"name,omitempty"`

	// value of the variable, at most 32768 characters. It is required, even if empty, so that a valueFrom, which is not
	// supported, is rejected.
	// +kubebuilder:validation:MinLength=0
	// +kubebuilder:validation:MaxLength=32768
	// +required
	Value *string `json:"value,omitempty"`
}

// CustomCloudControllerManagerCloudConfig is a key of a ConfigMap in openshift-config.
type CustomCloudControllerManagerCloudConfig struct {
	// name of the ConfigMap. It has 1 to 253 lower case letters, digits, dots and hyphens, and starts and ends with a
	// letter or digit.
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')",message="name must consist of lower case letters, digits, dots and hyphens, and start and end with a letter or digit"
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name,omitempty"`

	// key in the ConfigMap. It has at most 253 letters, digits, dots, hyphens and underscores.
	// When omitted or empty, it is config.
	// +kubebuilder:validation:XValidation:rule="self.matches('^[-._a-zA-Z0-9]*$')",message="key must consist of letters, digits, dots, hyphens and underscores"
	// +kubebuilder:validation:MinLength=0
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Key *string `json:"key,omitempty"`
}

// CustomCloudControllerManagerSecret is a Secret in openshift-cloud-controller-manager.
type CustomCloudControllerManagerSecret struct {
	// name of the Secret. It has 1 to 253 lower case letters, digits, dots and hyphens, and starts and ends with a letter
	// or digit.
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')",message="name must consist of lower case letters, digits, dots and hyphens, and start and end with a letter or digit"
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name,omitempty"`

	// delivery determines how a change reaches the cloud-controller-manager.
	// Allowed values are ReadOnce and Reloaded.
	// When set to ReadOnce, for files that it reads at its start, a change is rolled out node by node. The files are in
	// /etc/kubernetes/static-pod-resources/secrets/cloud-credentials.
	// When set to Reloaded, for files that it reads again by itself, a change is written in place. The files are in
	// /etc/kubernetes/static-pod-certs/secrets/cloud-tokens.
	// When omitted, the delivery is ReadOnce.
	// +optional
	Delivery CustomCloudControllerManagerSecretDelivery `json:"delivery,omitempty"`
}

// CustomCloudControllerManagerSecretDelivery determines how a change of a Secret reaches its reader.
//
// +kubebuilder:validation:Enum=ReadOnce;Reloaded
type CustomCloudControllerManagerSecretDelivery string

// The deliveries.
const (
	CustomCloudControllerManagerSecretDeliveryReadOnce CustomCloudControllerManagerSecretDelivery = "ReadOnce"
	CustomCloudControllerManagerSecretDeliveryReloaded CustomCloudControllerManagerSecretDelivery = "Reloaded"
)

// CustomCloudControllerManagerProbe is the health endpoint of a cloud-controller-manager.
//
// +kubebuilder:validation:MinProperties=0
type CustomCloudControllerManagerProbe struct {
	// port on the node, from 1 to 65535.
	// When omitted, it is 10258.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +optional
	Port int32 `json:"port,omitempty"`

	// scheme of the request.
	// Allowed values are HTTP and HTTPS.
	// When omitted, it is HTTPS.
	// +optional
	Scheme CustomCloudControllerManagerProbeScheme `json:"scheme,omitempty"`

	// path of the request. It starts with a slash and has at most 1024 characters.
	// When omitted or empty, it is /healthz.
	// +kubebuilder:validation:XValidation:rule="self.matches('^(/.*)?$')",message="path must start with a slash"
	// +kubebuilder:validation:MinLength=0
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Path *string `json:"path,omitempty"`
}

// CustomCloudControllerManagerProbeScheme is the scheme of a probe's request.
//
// +kubebuilder:validation:Enum=HTTP;HTTPS
type CustomCloudControllerManagerProbeScheme string

// The schemes.
const (
	CustomCloudControllerManagerProbeSchemeHTTP  CustomCloudControllerManagerProbeScheme = "HTTP"
	CustomCloudControllerManagerProbeSchemeHTTPS CustomCloudControllerManagerProbeScheme = "HTTPS"
)
