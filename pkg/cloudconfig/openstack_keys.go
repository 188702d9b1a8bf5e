package cloudconfig

import "slices"

// loadBalancerClassKeys are all texts.
var loadBalancerClassKeys = iniKeys(textValue, "floating-network-id", "floating-subnet-id", "floating-subnet",
	"floating-subnet-tags", "network-id", "subnet-id", "member-subnet-id")

// openStackSchema is what k8s.io/cloud-provider-openstack v1.36.0 reads (Config in pkg/openstack/openstack.go, AuthOpts in
// pkg/client/client.go, Opts in pkg/util/metadata) and what the in-tree provider, which ended with Kubernetes v1.25, or older
// external ones read beyond that.
var openStackSchema = iniSchema{
	{
		name: "Global",
		keys: slices.Concat(
			iniKeys(textValue, "auth-url", "user-id", "username", "password", "tenant-id", "tenant-name", "trust-id",
				"trustee-id", "trustee-password", "domain-id", "domain-name", "tenant-domain-id", "tenant-domain-name",
				"user-domain-id", "user-domain-name", "region", "ca-file", "tls-insecure", "token", "cert-file", "key-file",
				"cafilecontents", "clouds-file", "cloud", "application-credential-id", "application-credential-name",
				"application-credential-secret"),
			iniKeys(wordValue, "os-endpoint-type"),
			iniKeys(boolValue, "use-clouds"),
			[]iniKey{
				{name: "secret-name", legacy: legacyCredentials, only: new("openstack-credentials")},
				{name: "secret-namespace", legacy: legacyCredentials, only: new("kube-system")},
				{name: "kubeconfig-path", legacy: legacyCredentials, only: new("")},
			},
		),
	},
	{
		name: "LoadBalancer",
		keys: slices.Concat(
			loadBalancerClassKeys,
			iniKeys(textValue, "lb-version", "lb-method", "lb-provider", "node-selector", "flavor-id", "availability-zone",
				"ingress-hostname-suffix", "container-store", "default-tls-container-ref"),
			iniKeys(boolValue, "enabled", "create-monitor", "manage-security-groups", "internal-lb", "cascade-delete",
				"enable-ingress-hostname", "provider-requires-serial-api-calls"),
			iniKeys(durationValue, "monitor-delay", "monitor-timeout"),
			iniKeys(uintValue, "monitor-max-retries", "monitor-max-retries-down"),
			iniKeys(intValue, "max-shared-lb"),
			iniKeys(refusedValue, "lbclasses"),
			[]iniKey{
				{name: "use-octavia", legacy: "Octavia is the only load balancer that the external provider knows"},
				{name: "node-security-group", legacy: "the external provider finds the security groups of the nodes itself"},
			},
		),
	},
	{name: "LoadBalancerClass", named: true, keys: loadBalancerClassKeys},
	{name: "Networking", keys: slices.Concat(
		iniKeys(boolValue, "ipv6-support-disabled"),
		iniKeys(listValue, "public-network-name", "internal-network-name"),
		iniKeys(textValue, "address-sort-order"),
	)},
	{name: "Metadata", keys: slices.Concat(iniKeys(textValue, "search-order"), iniKeys(durationValue, "request-timeout"))},
	{name: "Route", keys: iniKeys(textValue, "router-id")},
	{name: "BlockStorage", legacy: "volumes are the matter of the Cinder CSI driver, which has its own configuration"},
}

const legacyCredentials = "the external provider reads its credentials from a file"

func iniKeys(kind iniType, names ...string) []iniKey {
	keys := make([]iniKey, len(names))
	for i, name := range names {
		keys[i] = iniKey{name: name, kind: kind}
	}
	return keys
}
