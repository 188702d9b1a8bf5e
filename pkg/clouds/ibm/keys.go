package ibm

import (
	"slices"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc"
)

const legacyNode = "it describes one node to the in-tree provider; the external one finds out about all of them"

// ibmSchema is what IBM-Cloud/cloud-provider-ibm reads (CloudConfig in ibm/ibm.go, at the commits 6dac554a4cff and 08cc2f15c656,
// which openshift/cloud-provider-ibm follows). Of [provider], that file says itself which keys are for the in-tree provider only.
var ibmSchema = confdoc.INISchema{
	{Name: "global", Keys: confdoc.INIKeys(confdoc.TextValue, "version")},
	{Name: "kubernetes", Keys: slices.Concat(
		confdoc.INIKeys(confdoc.ListValue, "config-file"),
		confdoc.INIKeys(confdoc.TextValue, "calico-datastore", "cniProvider"),
		confdoc.INIKeys(confdoc.BoolValue, "set-network-unavailable"),
	)},
	{Name: "load-balancer-deployment", Keys: confdoc.INIKeys(confdoc.TextValue, "image", "application", "vlan-ip-config-map")},
	{Name: "provider", Keys: slices.Concat(providerKeys, confdoc.INIKeys(confdoc.TextValue, "iksPrivateEndpointHostname", "cloudCredentials"))},
}

// powerVSSchema is what openshift/cloud-provider-powervs reads (CloudConfig in ibm/ibm.go, at commit 5e592bba546c).
var powerVSSchema = confdoc.INISchema{
	ibmSchema[0], ibmSchema[1], ibmSchema[2],
	{Name: "provider", Keys: slices.Concat(providerKeys, confdoc.INIKeys(confdoc.TextValue, "powerVSCloudInstanceID", "powerVSCloudInstanceName",
		"powerVSRegion", "powerVSZone", "powerVSEndpointOverride", "rcEndpointOverride"))},
}

// providerKeys are those that both providers know.
var providerKeys = slices.Concat(
	confdoc.INIKeys(confdoc.TextValue, "region", "clusterID", "accountID", "cluster-default-provider", "g2workerServiceAccountID", "g2VpcName",
		"g2Credentials", "g2ResourceGroupName", "g2VpcSubnetNames", "g2EndpointOverride", "iamEndpointOverride", "rmEndpointOverride"),
	[]confdoc.INIKey{
		{Name: "providerID", Legacy: legacyNode},
		{Name: "internalIP", Legacy: legacyNode},
		{Name: "externalIP", Legacy: legacyNode},
		{Name: "zone", Legacy: legacyNode},
		{Name: "instanceType", Legacy: legacyNode},
	},
)

// vpc is the one kind of infrastructure that OpenShift runs on.
const vpc = "g2"

// required are the keys of [provider] without which neither load balancers nor nodes can be looked up (ConfigVpc.validate
// in pkg/vpcctl/vpc_config.go of both providers). The provider only warns of them.
var required = []string{"accountID", "clusterID", "cluster-default-provider", "region", "g2ResourceGroupName", "g2VpcName", "g2VpcSubnetNames"}

// ibmEndpoints are the keys of [provider] for the endpoints of Infrastructure, by the names that those have there. It has
// endpoints for more services, which the provider does not ask.
var ibmEndpoints = []ibmEndpoint{
	{"IAM", "iamEndpointOverride"},
	{"ResourceManager", "rmEndpointOverride"},
	{vpcEndpoint, "g2EndpointOverride"},
}

var powerVSEndpoints = slices.Concat(ibmEndpoints, []ibmEndpoint{
	{"Power", "powerVSEndpointOverride"},
	{"ResourceController", "rcEndpointOverride"},
})

// domains are those of the services that the providers ask, regional and private endpoints included: identity, the VPC
// (https://cloud.ibm.com/docs/vpc?topic=vpc-service-endpoints-for-vpc), the resource manager and controller
// (https://cloud.ibm.com/apidocs/resource-controller/resource-controller) and Power
// (https://cloud.ibm.com/apidocs/power-cloud). The domain around them will not do, and less so appdomain.cloud, which is that
// of customers' applications (https://cloud.ibm.com/docs/codeengine) and clusters.
var domains = []string{"iam.cloud.ibm.com", "iaas.cloud.ibm.com", "resource-controller.cloud.ibm.com", "power-iaas.cloud.ibm.com"}

// vpcEndpoint is the service to whose endpoint the provider adds the version.
const vpcEndpoint = "VPC"

type ibmEndpoint struct{ service, key string }
