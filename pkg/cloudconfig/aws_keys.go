package cloudconfig

import "slices"

// awsSchema is what k8s.io/cloud-provider-aws v1.36.1 reads (CloudConfig in pkg/providers/v1/config/config.go) and the one key
// that only the in-tree provider knew, which ended with Kubernetes v1.26.
var awsSchema = iniSchema{
	{name: "Global", keys: slices.Concat(
		iniKeys(textValue, "Zone", "Region", "VPC", "SubnetID", "RouteTableID", "RoleARN", "SourceARN", "KubernetesClusterTag",
			"KubernetesClusterID", "ElbSecurityGroup", "ClusterServiceLoadBalancerHealthProbeMode",
			"ClusterServiceSharedLoadBalancerHealthProbePath", "SupportedTopologyInstanceTypePattern", "NLBSecurityGroupMode"),
		iniKeys(boolValue, "DisableSecurityGroupIngress"),
		iniKeys(listValue, "NodeIPFamilies"),
		iniKeys(int32Value, "ClusterServiceSharedLoadBalancerHealthProbePort"),
		[]iniKey{{name: "DisableStrictZoneCheck", legacy: "the external provider takes every region"}},
	)},
	{name: "ServiceOverride", named: true, keys: iniKeys(textValue, "Service", "Region", "URL", "SigningRegion",
		"SigningMethod", "SigningName")},
}

// The services that the provider asks, by the SDK's name: it looks for these in ServiceOverride, letter by letter (constants
// ServiceID of the packages ec2, elasticloadbalancing, elasticloadbalancingv2, kms and imds of github.com/aws/aws-sdk-go-v2).
const (
	awsEC2   = "EC2"
	awsELB   = "Elastic Load Balancing"
	awsELBv2 = "Elastic Load Balancing v2"
	awsKMS   = "KMS"
	awsIMDS  = "ec2imds"
)

var awsServices = []string{awsEC2, awsELB, awsELBv2, awsKMS, awsIMDS}

// awsServiceNames are the other names of these services: those of AWS's list of endpoints, which Infrastructure and the
// in-tree provider used and where both kinds of load balancers have one endpoint, and those of AWS's command line tool.
var awsServiceNames = map[string][]string{
	"ec2":                    {awsEC2},
	"elasticloadbalancing":   {awsELB, awsELBv2},
	"elb":                    {awsELB},
	"elbv2":                  {awsELBv2},
	"elasticloadbalancingv2": {awsELBv2},
	"kms":                    {awsKMS},
	"ec2metadata":            {awsIMDS},
}
