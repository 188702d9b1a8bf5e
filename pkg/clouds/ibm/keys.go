package ibm

import (
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc"
)

// ibmSchema are the keys that IBM-Cloud/cloud-provider-ibm reads (CloudConfig in ibm/ibm.go, at the commits
// 6dac554a4cff and 08cc2f15c656, which openshift/cloud-provider-ibm follows). That file also states which keys of
// [provider] are for the in-tree provider alone.
var ibmSchema = slices.Concat(commonSections, []confdoc.Field{
	{Name: "provider", Is: confdoc.Object, Fields: slices.Concat(providerKeys,
		confdoc.FieldsOf(confdoc.Text, "iksPrivateEndpointHostname", "cloudCredentials"))},
})

// powerVSSchema are the keys that openshift/cloud-provider-powervs reads (ibm/ibm.go at commit 5e592bba546c).
var powerVSSchema = slices.Concat(commonSections, []confdoc.Field{
	{Name: "provider", Is: confdoc.Object, Fields: slices.Concat(providerKeys,
		confdoc.FieldsOf(confdoc.Text, "powerVSCloudInstanceID", "powerVSCloudInstanceName"),
		confdoc.Field{Required: noPowerVS}.For("powerVSRegion", "powerVSZone"),
		confdoc.Field{Valid: isHostOrURL, Hint: "a URL of the form https://host"}.For("powerVSEndpointOverride"),
		confdoc.Field{Schemes: webSchemes}.For("rcEndpointOverride"))},
})

// isHostOrURL reports whether the text is what NewIBMPISession of github.com/IBM-Cloud/power-go-client takes: a URL, or
// a host that it calls with TLS. It takes a path for a part of the host.
func isHostOrURL(text string) bool {
	address, err := url.Parse(withScheme(text))
	return err == nil && clouds.IsEndpoint(address.String()) && strings.Trim(address.Path, "/") == ""
}

func withScheme(address string) string {
	if address == "" || strings.Contains(address, "://") {
		return address
	}
	return "https://" + address
}

// noPowerVS is the message for keys without which the provider treats the nodes as VPC instances. noVPC is the message
// for keys without which it can look up neither load balancers nor nodes (ConfigVpc.validate in
// pkg/vpcctl/vpc_config.go of both providers); the provider only logs a warning.
const (
	noPowerVS = "add it; otherwise the cloud-controller-manager looks for the nodes in VPC infrastructure"
	noVPC     = "add it; otherwise the cloud-controller-manager looks up neither nodes nor load balancers"
)

var webSchemes = []string{"https", "http"}

var commonSections = []confdoc.Field{
	{Name: "global", Is: confdoc.Object, Fields: []confdoc.Field{
		{Name: "version", Required: "write version = 1.1.0; otherwise the cloud-controller-manager exits",
			Values: []string{"1.1.0", "1.0.0"}},
	}},
	{Name: "kubernetes", Is: confdoc.Object, Fields: slices.Concat(
		confdoc.FieldsOf(confdoc.List, "config-file"),
		confdoc.Dropped("it was for classic infrastructure; the cloud-controller-manager no longer reads it",
			"calico-datastore"),
		[]confdoc.Field{{Name: "cniProvider", Values: []string{"Calico", "OVNKubernetes"},
			Fallback: "neither of the two that it knows"}},
		confdoc.FieldsOf(confdoc.Bool, "set-network-unavailable"),
	)},
	{Name: "load-balancer-deployment", Is: confdoc.Object,
		Fields: confdoc.FieldsOf(confdoc.Text, "image", "application", "vlan-ip-config-map")},
}

// providerKeys are the keys of [provider] that both providers read. OpenShift runs only on VPC infrastructure.
var providerKeys = slices.Concat(
	confdoc.Field{Required: noVPC}.For("region", "clusterID", "accountID"),
	[]confdoc.Field{{Name: "cluster-default-provider", Required: noVPC, Values: []string{"g2"},
		Hint: "OpenShift runs on VPC infrastructure only"}},
	confdoc.Field{Required: noVPC}.For("g2VpcName", "g2ResourceGroupName", "g2VpcSubnetNames"),
	confdoc.Field{Schemes: webSchemes}.For("g2EndpointOverride", "iamEndpointOverride", "rmEndpointOverride"),
	confdoc.Dropped("it describes one node to the in-tree provider; the external provider discovers all nodes",
		"providerID", "internalIP", "externalIP", "zone", "instanceType"),
	confdoc.FieldsOf(confdoc.Text, "g2workerServiceAccountID", "g2Credentials"),
)

// ibmEndpoints maps the services in Infrastructure whose endpoints can be overridden to keys of [provider].
var ibmEndpoints = []ibmEndpoint{
	{service: "IAM", key: "iamEndpointOverride", adds: "/identity/token", always: tokenSuffix},
	{service: "ResourceManager", key: "rmEndpointOverride", adds: "/v2"},
	{service: "VPC", key: "g2EndpointOverride", adds: "/v1", always: versionSuffix},
}

var powerVSEndpoints = slices.Concat(ibmEndpoints, []ibmEndpoint{
	{service: "Power", key: "powerVSEndpointOverride", always: slashSuffix},
	{service: "ResourceController", key: "rcEndpointOverride", adds: "/v2"},
})

var (
	versionSuffix = regexp.MustCompile(`(/v\d+)+/?$`)
	tokenSuffix   = regexp.MustCompile(`/identity/token/?$`)
	slashSuffix   = regexp.MustCompile(`/+$`)
	pathSuffix    = regexp.MustCompile(`(/v\d+|/identity/token)+/?$`)
)

// domains are the domains of the services that the providers use, including regional and private endpoints: identity,
// the VPC (https://cloud.ibm.com/docs/vpc?topic=vpc-service-endpoints-for-vpc), the resource manager and controller
// (https://cloud.ibm.com/apidocs/resource-controller/resource-controller) and Power
// (https://cloud.ibm.com/apidocs/power-cloud). Their common parent domain is too broad, and so is appdomain.cloud,
// which contains customers' applications (https://cloud.ibm.com/docs/codeengine) and clusters.
var domains = []string{"iam.cloud.ibm.com", "iaas.cloud.ibm.com", "resource-controller.cloud.ibm.com",
	"power-iaas.cloud.ibm.com"}

type ibmEndpoint struct {
	service, key string
	// adds is the path that the provider appends to the endpoint, empty if it takes all of the endpoint for a host. An
	// endpoint in Infrastructure may end in a version; a cluster with the feature gate DyanmicServiceEndpointIBMCloud
	// accepts no other.
	adds string
	// always matches the end of the key's value that is wrong even in the URL of a gateway; nil if there is none.
	always *regexp.Regexp
}
