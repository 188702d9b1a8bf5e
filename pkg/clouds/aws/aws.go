// Package aws rewrites configurations for cloud-provider-aws.
package aws

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/featuregate"
)

const (
	regionField    = "status.platformStatus.aws.region"
	endpointsField = "status.platformStatus.aws.serviceEndpoints"
)

type rewriter struct {
	clouds.Run
	// status is empty if Infrastructure has none.
	status configv1.AWSPlatformStatus
	index  index
}

// Rewrite checks and rewrites an AWS cloud.conf, and checks the credentials that it is used with.
//
// It accepts what k8s.io/cloud-provider-aws v1.36.2 reads. A missing configuration consists of the defaults alone.
// Rewrite renames the services in ServiceOverride to what the provider looks for, adds the region and endpoints of
// Infrastructure that are missing, and sets OpenShift's defaults. Credentials are optional: without them the provider
// uses the identity of the instance. With them, the result has one file "credentials" in the format of AWS's shared
// credentials file. Unknown keys are kept because a newer provider may know them. Comments are dropped.
func Rewrite(src clouds.Source) clouds.Result {
	isMissing := len(bytes.TrimSpace(src.Config)) == 0
	if isMissing {
		src.Config = []byte("[Global]\n")
	}
	a := &rewriter{
		Run:    clouds.NewRun(src, confdoc.Reader{Format: confdoc.INI, Fields: schema}),
		status: ptr.Deref(src.Cluster.Status.AWS, configv1.AWSPlatformStatus{}),
		index:  index{map[string]*confdoc.Entry{}, sets.New[string]()},
	}
	a.status.Region = a.RegionOf(regionField, a.status.Region, zoneName)
	a.AddSection("Global")
	if isMissing {
		a.Reportf(nil, diagnostic.Adapted, "there is no cloud configuration, which AWS does not need: "+
			"the cloud-controller-manager gets one with defaults only")
	}
	a.checkValues()
	a.checkRegion()
	a.checkIPFamilies()
	a.checkOverrides()
	a.nameServices()
	a.checkEndpoints()
	a.addEndpoints()
	a.setDefaults()
	credentials, tokens := a.credentials()
	return a.Finish(clouds.Result{Config: a.Encode(), Credentials: credentials, Tokens: tokens})
}

// checkValues reports values that the provider can read, but with which it exits or has no effect.
func (a *rewriter) checkValues() {
	const pattern = "SupportedTopologyInstanceTypePattern"
	if _, err := regexp.Compile(a.Text("Global", pattern)); err != nil {
		a.Rejectf(a.Value("Global", pattern), "%s is not a regular expression: correct it or remove the line", pattern)
	}
	id, tag := a.Text("Global", "KubernetesClusterID"), a.Value("Global", "KubernetesClusterTag")
	if id != "" && tag.String() != "" && id != tag.Text {
		a.Rejectf(tag, "KubernetesClusterTag is not KubernetesClusterID, %s: remove the line with KubernetesClusterTag",
			confdoc.Quoted(id))
	}
	a.checkCluster()
	if role := a.Value("Global", "RoleARN"); role.String() != "" {
		a.checkPartition(a.Document, role, "RoleARN")
	}
}

// partitions are the partitions by the starts of their regions, except for aws (internal/endpoints/awsrulesfn of
// github.com/aws/aws-sdk-go-v2 v1.41.1).
var partitions = map[string]string{"cn-": "aws-cn", "us-gov-": "aws-us-gov", "us-iso-": "aws-iso",
	"us-isob-": "aws-iso-b", "eu-isoe-": "aws-iso-e", "us-isof-": "aws-iso-f", "eusc-": "aws-eusc"}

// checkPartition reports a role of another known partition than the cluster's region: no login crosses partitions.
func (a *rewriter) checkPartition(d *confdoc.Document, role *confdoc.Node, name string) {
	wanted, isKnown := "aws", strings.HasPrefix(role.Text, "arn:aws:")
	for start, partition := range partitions {
		if strings.HasPrefix(a.status.Region, start) {
			wanted = partition
		}
		isKnown = isKnown || strings.HasPrefix(role.Text, "arn:"+partition+":")
	}
	if a.status.Region != "" && isKnown && !strings.HasPrefix(role.Text, "arn:"+wanted+":") {
		d.Reportf(role, diagnostic.Typo, "%s is a role of another partition than the region %s: write arn:%s:iam::…", name,
			confdoc.Quoted(a.status.Region), wanted)
	}
}

// checkCluster reports a VPC that the provider ignores (newAWSCloud in pkg/providers/v1/aws.go), and the ID of another
// cluster. The provider finds subnets, security groups and load balancers by the tag kubernetes.io/cluster/<ID>, which
// the installer writes with the infrastructure name. KubernetesClusterTag is an ID too (init in
// pkg/providers/v1/tags.go).
func (a *rewriter) checkCluster() {
	global := a.Value("Global")
	vpc, key := global.Get("VPC"), "KubernetesClusterID"
	if global.String(key) == "" {
		key = "KubernetesClusterTag"
	}
	id := global.Get(key)
	if vpc.String() != "" && (id.String() == "" || global.String("SubnetID") == "" && global.String("RoleARN") == "") {
		a.Reportf(vpc, diagnostic.Doubtful, "VPC is ignored: it needs KubernetesClusterID, and SubnetID or RoleARN; "+
			"add them or remove the line")
	}
	if id.String() != "" && a.Cluster.Name != "" && id.Text != a.Cluster.Name {
		a.Reportf(id, diagnostic.Doubtful, "%s is %s, but status.infrastructureName of %s is %s, by which the installer "+
			"tags the cluster's resources: remove the line", key, confdoc.Quoted(id.Text), clouds.Infrastructure,
			confdoc.Quoted(a.Cluster.Name))
	}
}

// checkIPFamilies reports IP families of the cluster that the provider does not report for a node. Its default is IPv4
// (newAWSCloud in pkg/providers/v1/aws.go). Values that the provider does not know are already reported.
func (a *rewriter) checkIPFamilies() {
	const key = "NodeIPFamilies"
	const action = "write a line for each family"
	var families []string
	for _, e := range a.Value("Global").Members() {
		if e.Name == key && e.Value.Text != "" {
			families = append(families, e.Value.Text)
		}
	}
	switch {
	case len(families) == 0:
		a.CheckIPFamilies(nil, diagnostic.Doubtful, "there is no "+key, action, clouds.IPv4)
	case !slices.ContainsFunc(families, func(f string) bool { return f != clouds.IPv4 && f != clouds.IPv6 }):
		a.CheckIPFamilies(a.Value("Global", key), diagnostic.Ambiguous, key+" is "+confdoc.JoinFew(families), action,
			families...)
	}
}

var zoneName = regexp.MustCompile(`^([a-z]+(?:-[a-z]+)+-\d+)[a-z]$`)

var zoneRegion = regexp.MustCompile(`^([a-zA-Z]+-)+\d+`)

// checkRegion compares the region with Infrastructure's. The provider derives the region from Zone if that is set.
func (a *rewriter) checkRegion() {
	a.Contradicts("Region", a.Value("Global", "Region"), regionField, a.status.Region)
	if a.Text("Global", "Zone") == "" {
		return
	}
	zone := *a.Value("Global", "Zone")
	if regionName.MatchString(zone.Text) {
		a.Reportf(&zone, diagnostic.Typo, "Zone is %s, which is a region: write a zone, such as %sa, or Region = %[2]s",
			confdoc.Quoted(zone.Text), zone.Text)
	}
	if zone.Text = zoneRegion.FindString(zone.Text); zone.Text == "" {
		a.Rejectf(&zone, "Zone is not the name of a zone, such as us-east-1a: correct it or remove the line")
	}
	a.Contradicts("the region of Zone", &zone, regionField, a.status.Region)
}

func (a *rewriter) setDefaults() {
	a.Default(confdoc.NewText("Shared"),
		"one probe of kube-proxy for all Services lets a node that shuts down finish its connections",
		"Global", "ClusterServiceLoadBalancerHealthProbeMode")
	if a.status.Region != "" && a.Text("Global", "Zone") == "" {
		a.Default(confdoc.NewText(a.status.Region), "without it the cloud-controller-manager asks the instance's "+
			"metadata service at every start, and exits when that does not answer", "Global", "Region")
	}
	if slices.Contains(a.Cluster.FeatureGates, featuregate.NLBSecurityGroups) {
		a.Default(confdoc.NewText("Managed"), "the feature gate "+featuregate.NLBSecurityGroups+" is on",
			"Global", "NLBSecurityGroupMode")
	}
}
