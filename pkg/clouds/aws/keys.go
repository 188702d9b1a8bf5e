package aws

import (
	"regexp"
	"slices"
	"strings"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc"
)

// schema is what k8s.io/cloud-provider-aws v1.36.2 reads (CloudConfig in pkg/providers/v1/config/config.go), and the
// one key that only the in-tree provider read, which ended with Kubernetes v1.26. OverrideEndpoints and
// ServiceOverrides are from a draft that was not merged (https://github.com/kubernetes/kubernetes/pull/72245).
var schema = []confdoc.Field{
	{Name: "Global", Is: confdoc.Object, Fields: slices.Concat(
		confdoc.FieldsOf(confdoc.Text, "Zone", "Region", "KubernetesClusterTag", "KubernetesClusterID",
			"SupportedTopologyInstanceTypePattern"),
		resource("vpc", "VPC"), resource("subnet", "SubnetID"), resource("rtb", "RouteTableID"),
		resource("sg", "ElbSecurityGroup"),
		confdoc.Field{Passed: true, Valid: arnPattern.MatchString, Hint: "the ARN of the resource for which it assumes the " +
			"role, such as arn:aws:eks:eu-central-1:123456789012:cluster/a"}.For("SourceARN"),
		confdoc.Field{Passed: true, Valid: rolePattern.MatchString, Hint: aRole}.For("RoleARN"),
		[]confdoc.Field{
			// An unknown mode fails each network load balancer.
			{Name: "ClusterServiceLoadBalancerHealthProbeMode", Passed: true, Values: []string{"Shared", "ServiceNodePort"}},
			{Name: "NLBSecurityGroupMode", Values: []string{"Managed"}},
			{Name: "DisableSecurityGroupIngress", Is: confdoc.Bool},
			// An unknown family is ignored.
			{Name: "NodeIPFamilies", Is: confdoc.List, Passed: true, Values: []string{"ipv4", "ipv6"},
				Hint: "for both, write two lines"},
			{Name: "ClusterServiceSharedLoadBalancerHealthProbePort", Is: confdoc.Int, Passed: true, Bits: 32,
				Max: confdoc.MaxPort, ZeroUnset: true},
			{Name: "ClusterServiceSharedLoadBalancerHealthProbePath", Passed: true, Valid: isPath,
				Hint: "a path that starts with /, such as /healthz"},
			{Name: "OverrideEndpoints", Mistaken: true, Legacy: "a section " + overrideForm + " needs no other key"},
			{Name: "ServiceOverrides", Mistaken: true, Legacy: "the cloud-controller-manager would call the public endpoints; " +
				"write a section " + overrideForm + " with Service, Region, URL and SigningRegion for each endpoint"},
			{Name: "DisableStrictZoneCheck", Legacy: "the cloud-controller-manager takes every region"},
		},
	)},
	{Name: overrideSection, Is: confdoc.Object, Named: true, Fields: slices.Concat(
		confdoc.Field{Required: incomplete}.For("Service", "Region"),
		// Requests to a value that is not a URL fail.
		confdoc.Field{Required: incomplete, Passed: true, Schemes: []string{"https", "http"}}.For("URL"),
		confdoc.Field{Required: incomplete}.For("SigningRegion"),
		confdoc.FieldsOf(confdoc.Text, "SigningMethod", "SigningName"),
	)},
}

// rolePattern matches the ARNs of roles in every partition. A path may have characters that a name does not have
// (https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html#identifiers-arns).
var rolePattern = regexp.MustCompile(`^arn:aws[a-z-]*:iam::\d{12}:role/(.+/)?[\w+=,.@-]+$`)

var arnPattern = regexp.MustCompile(`^arn:aws[a-z-]*:`)

const aRole = "the ARN of a role, such as arn:aws:iam::123456789012:role/ccm"

// isPath reports whether the text can be the path of a health check, which the provider passes to the load balancer.
func isPath(text string) bool { return strings.HasPrefix(text, "/") }

// resource returns a field for the ID of a resource, which the provider passes to the EC2 API. IDs have the form
// prefix-hexadecimal (https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/resource-ids.html).
func resource(prefix, name string) []confdoc.Field {
	return confdoc.Field{Passed: true, Valid: regexp.MustCompile("^" + prefix + "-[0-9a-f]+$").MatchString,
		Hint: "an ID such as " + prefix + "-0123456789abcdef0"}.For(name)
}

const (
	overrideSection = "ServiceOverride"
	overrideForm    = `[ServiceOverride "1"]`
	incomplete      = "add it or remove the section; otherwise the cloud-controller-manager exits"
)

// The services that the provider uses, by the case-sensitive names that it looks for in ServiceOverride: the constants
// ServiceID of the packages ec2, elasticloadbalancing, elasticloadbalancingv2, kms and imds of
// github.com/aws/aws-sdk-go-v2.
const (
	ec2   = "EC2"
	elb   = "Elastic Load Balancing"
	elBv2 = "Elastic Load Balancing v2"
	kms   = "KMS"
	imds  = "ec2imds"
)

var services = []string{ec2, elb, elBv2, kms, imds}

// serviceNames are other names of these services. Infrastructure and the in-tree provider use those of AWS's list of
// endpoints, where both kinds of load balancers share one endpoint. The AWS CLI uses the others.
var serviceNames = map[string][]string{
	"ec2":                    {ec2},
	"elasticloadbalancing":   {elb, elBv2},
	"elb":                    {elb},
	"elbv2":                  {elBv2},
	"elasticloadbalancingv2": {elBv2},
	"kms":                    {kms},
	"ec2metadata":            {imds},
}
