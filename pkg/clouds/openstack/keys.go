package openstack

import (
	"slices"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc"
)

// loadBalancerClassKeys are all texts.
var loadBalancerClassKeys = confdoc.INIKeys(confdoc.TextValue, "floating-network-id", "floating-subnet-id", "floating-subnet",
	"floating-subnet-tags", "network-id", "subnet-id", "member-subnet-id")

// schema is what k8s.io/cloud-provider-openstack v1.36.0 reads (Config in pkg/openstack/openstack.go, AuthOpts in
// pkg/client/client.go, Opts in pkg/util/metadata) and what the in-tree provider, which ended with Kubernetes v1.25, or older
// external ones read beyond that.
var schema = confdoc.INISchema{
	{
		Name: "Global",
		Keys: slices.Concat(
			confdoc.INIKeys(confdoc.TextValue, "auth-url", "user-id", "username", "password", "tenant-id", "tenant-name", "trust-id",
				"trustee-id", "trustee-password", "domain-id", "domain-name", "tenant-domain-id", "tenant-domain-name",
				"user-domain-id", "user-domain-name", "region", "ca-file", "tls-insecure", "token", "cert-file", "key-file",
				"cafilecontents", "clouds-file", "cloud", "application-credential-id", "application-credential-name",
				"application-credential-secret"),
			confdoc.INIKeys(confdoc.WordValue, "os-endpoint-type"),
			confdoc.INIKeys(confdoc.BoolValue, "use-clouds"),
			[]confdoc.INIKey{
				{Name: "secret-name", Legacy: legacyCredentials, Only: new("openstack-credentials")},
				{Name: "secret-namespace", Legacy: legacyCredentials, Only: new("kube-system")},
				{Name: "kubeconfig-path", Legacy: legacyCredentials, Only: new("")},
			},
		),
	},
	{
		Name: "LoadBalancer",
		Keys: slices.Concat(
			loadBalancerClassKeys,
			confdoc.INIKeys(confdoc.TextValue, "lb-version", "lb-method", "lb-provider", "node-selector", "flavor-id", "availability-zone",
				"ingress-hostname-suffix", "container-store", "default-tls-container-ref"),
			confdoc.INIKeys(confdoc.BoolValue, "enabled", "create-monitor", "manage-security-groups", "internal-lb", "cascade-delete",
				"enable-ingress-hostname", "provider-requires-serial-api-calls"),
			confdoc.INIKeys(confdoc.DurationValue, "monitor-delay", "monitor-timeout"),
			confdoc.INIKeys(confdoc.UintValue, "monitor-max-retries", "monitor-max-retries-down"),
			confdoc.INIKeys(confdoc.IntValue, "max-shared-lb"),
			confdoc.INIKeys(confdoc.RefusedValue, "lbclasses"),
			[]confdoc.INIKey{
				{Name: "use-octavia", Legacy: "Octavia is the only load balancer that the external provider knows"},
				{Name: "node-security-group", Legacy: "the external provider finds the security groups of the nodes itself"},
			},
		),
	},
	{Name: "LoadBalancerClass", Named: true, Keys: loadBalancerClassKeys},
	{Name: "Networking", Keys: slices.Concat(
		confdoc.INIKeys(confdoc.BoolValue, "ipv6-support-disabled"),
		confdoc.INIKeys(confdoc.ListValue, "public-network-name", "internal-network-name"),
		confdoc.INIKeys(confdoc.TextValue, "address-sort-order"),
	)},
	{Name: "Metadata", Keys: slices.Concat(confdoc.INIKeys(confdoc.TextValue, "search-order"), confdoc.INIKeys(confdoc.DurationValue, "request-timeout"))},
	{Name: "Route", Keys: confdoc.INIKeys(confdoc.TextValue, "router-id")},
	{Name: "BlockStorage", Legacy: "volumes are the matter of the Cinder CSI driver, which has its own configuration"},
}

const legacyCredentials = "the external provider reads its credentials from a file"
