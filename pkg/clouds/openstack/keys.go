package openstack

import (
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc"
)

// loadBalancerClassKeys are the keys of a [LoadBalancerClass]. [LoadBalancer] has them too. The provider passes the IDs
// on to Octavia and Neutron, whose IDs are UUIDs (https://docs.openstack.org/api-ref/load-balancer/v2,
// https://docs.openstack.org/api-ref/network/v2).
var loadBalancerClassKeys = slices.Concat(
	confdoc.UUIDs("floating-network-id", "floating-subnet-id", "network-id", "subnet-id", "member-subnet-id"),
	confdoc.Field{Valid: isSubnetPattern, Passed: true, Hint: "a name, a pattern such as public-*, or ~ and a regular " +
		"expression"}.For("floating-subnet"),
	confdoc.FieldsOf(confdoc.Text, "floating-subnet-tags"))

// algorithms are the values of lb_algorithm in Octavia (https://docs.openstack.org/api-ref/load-balancer/v2). The
// provider's documentation (docs/openstack-cloud-controller-manager) has the same.
var algorithms = []string{"ROUND_ROBIN", "LEAST_CONNECTIONS", "SOURCE_IP", "SOURCE_IP_PORT"}

// maxRetries is the maximum of max_retries and max_retries_down in Octavia.
const maxRetries = 10

// schema are the keys that k8s.io/cloud-provider-openstack v1.36.0 reads (Config in pkg/openstack/openstack.go,
// AuthOpts in pkg/client/client.go, Opts in pkg/util/metadata), and the keys that only older external providers read,
// or the in-tree provider, which ended with Kubernetes v1.25.
var schema = []confdoc.Field{
	{Name: "Global", Is: confdoc.Object, Fields: slices.Concat(
		confdoc.FieldsOf(confdoc.Text, "user-id", "username", "password", "tenant-id", "tenant-name", "trust-id",
			"trustee-id", "trustee-password", "domain-id", "domain-name", "tenant-domain-id", "tenant-domain-name",
			"user-domain-id", "user-domain-name", "region", "ca-file", "tls-insecure", "token", "cert-file", "key-file",
			"cafilecontents", "clouds-file", "cloud", "application-credential-id", "application-credential-name",
			"application-credential-secret"),
		[]confdoc.Field{
			{Name: "auth-url", Schemes: []string{"https", "http"}}, {Name: "use-clouds", Is: confdoc.Bool},
			{Name: "os-endpoint-type", Is: confdoc.Word, Values: endpointTypes},
			{Name: "secret-name", Legacy: legacyCredentials, Only: new("openstack-credentials")},
			{Name: "secret-namespace", Legacy: legacyCredentials, Only: new("kube-system")},
			{Name: "kubeconfig-path", Legacy: legacyCredentials, Only: new("")},
		},
		confdoc.Dropped("the cloud-controller-manager takes the project from the clouds.yaml of the credentials Secret",
			"project-id", "project-name", "project-domain-id", "project-domain-name"),
	)},
	{Name: "LoadBalancer", Is: confdoc.Object, Fields: slices.Concat(
		loadBalancerClassKeys,
		confdoc.UUIDs("flavor-id"),
		confdoc.FieldsOf(confdoc.Text, "lb-version", "lb-provider", "availability-zone", "ingress-hostname-suffix",
			"default-tls-container-ref"),
		confdoc.FieldsOf(confdoc.Bool, "enabled", "create-monitor", "manage-security-groups", "internal-lb",
			"cascade-delete", "enable-ingress-hostname", "provider-requires-serial-api-calls"),
		confdoc.FieldsOf(confdoc.Duration, "monitor-delay", "monitor-timeout"),
		[]confdoc.Field{
			{Name: "max-shared-lb", Is: confdoc.Int},
			{Name: "lbclasses", Is: confdoc.Unsettable},
			{Name: "lb-method", Values: algorithms, Passed: true},
			{Name: "container-store", Values: []string{barbican, "external"}, Passed: true},
			{Name: "node-selector", Valid: areLabels, Passed: true,
				Hint: "labels of nodes such as a=b, separated by commas"},
			{Name: "monitor-max-retries", Is: confdoc.Int, Unsigned: true, Max: maxRetries, Passed: true},
			{Name: "monitor-max-retries-down", Is: confdoc.Int, Unsigned: true, Max: maxRetries, Passed: true},
			{Name: "use-octavia", Legacy: "Octavia is the only load balancer that the cloud-controller-manager supports",
				Harmless: []string{"true"}},
			{Name: "node-security-group", Legacy: "the cloud-controller-manager finds the security groups of the nodes itself"},
		},
	)},
	{Name: "LoadBalancerClass", Named: true, Is: confdoc.Object, Fields: loadBalancerClassKeys},
	{Name: "Networking", Is: confdoc.Object, Fields: []confdoc.Field{
		{Name: "ipv6-support-disabled", Is: confdoc.Bool}, {Name: "public-network-name", Is: confdoc.List},
		{Name: "internal-network-name", Is: confdoc.List},
		{Name: "address-sort-order", Valid: areNetworks, Passed: true, // The provider ignores other elements.
			Hint: "networks such as 10.0.0.0/16, separated by commas"},
	}},
	{Name: "Metadata", Is: confdoc.Object, Fields: []confdoc.Field{
		{Name: "search-order", Valid: isSearchOrder, Hint: "configDrive, metadataService or both, separated by a comma"},
		{Name: "request-timeout", Is: confdoc.Duration},
	}},
	// The cloud-controller-manager runs without routes, so any router-id has no effect.
	{Name: "Route", Is: confdoc.Object, Fields: confdoc.FieldsOf(confdoc.Text, "router-id")},
	{Name: "BlockStorage", Legacy: "the Cinder CSI driver manages volumes and has its own configuration"},
}

const legacyCredentials = "the cloud-controller-manager reads its credentials from a file"

// isSubnetPattern reports whether the provider can compile the pattern (subnetNameMatcher in
// pkg/openstack/loadbalancer_subnet_match.go). A regular expression that it cannot compile fails each Service, and a
// glob makes it panic (Globexp in gopkg.in/godo.v2/glob, which keeps brackets, and makes groups of braces).
func isSubnetPattern(text string) bool {
	pattern, isRegexp := strings.CutPrefix(strings.TrimPrefix(text, "!"), "~")
	if !isRegexp {
		pattern = strings.NewReplacer(`\[`, "[", `\]`, "]").Replace(regexp.QuoteMeta(pattern))
	}
	_, err := regexp.Compile(pattern)
	return err == nil && (isRegexp || strings.Count(pattern, "{") <= strings.Count(pattern, "}"))
}

// areLabels reports whether nodes can have the labels that the provider reads (StringToMap in pkg/util/util.go). It
// puts no node without them behind a load balancer.
func areLabels(selector string) bool {
	cannotBe := func(label string) bool {
		name, value, hasValue := strings.Cut(strings.TrimSpace(label), "=")
		isUnread := name == "" && !hasValue
		return !isUnread && len(validation.IsQualifiedName(name))+len(validation.IsValidLabelValue(value)) > 0
	}
	return !slices.ContainsFunc(strings.Split(strings.TrimSpace(selector), ","), cannotBe)
}

func areNetworks(order string) bool {
	isNone := func(element string) bool {
		_, err := netip.ParsePrefix(strings.TrimSpace(element))
		return err != nil && strings.TrimSpace(element) != ""
	}
	return !slices.ContainsFunc(strings.Split(order, ","), isNone)
}

func isSearchOrder(order string) bool {
	elements := strings.Split(order, ",")
	isUnknown := func(element string) bool {
		return !slices.Contains([]string{"configDrive", "metadataService"}, strings.TrimSpace(element))
	}
	return len(elements) <= 2 && !slices.ContainsFunc(elements, isUnknown)
}
