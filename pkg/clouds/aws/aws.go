// Package aws rewrites configurations for cloud-provider-aws.
package aws

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

const (
	// nlbGate is the feature gate with which network load balancers get security groups.
	nlbGate = "AWSServiceLBNetworkSecurityGroup"

	regionField    = "status.platformStatus.aws.region"
	endpointsField = "status.platformStatus.aws.serviceEndpoints"
)

// rewriter is one run of the AWS function.
type rewriter struct {
	src      clouds.Source
	config   *confdoc.Document
	index    awsIndex
	findings diagnostic.List
}

// Rewrite checks and rewrites an AWS cloud.conf, and checks the credentials that it is used with.
//
// The text is what k8s.io/cloud-provider-aws v1.36.1 reads: nothing passes that it would refuse. No configuration is one
// with defaults only. The rewriting gives services in ServiceOverride the names that the provider looks for, adds the
// region and endpoints of Infrastructure that are missing, and sets OpenShift's defaults. Credentials are optional: without them the
// identity of the instance serves. With them, one file "credentials" is delivered in the form that AWS's tools share. What
// is unknown is kept: a newer provider may know it. Comments are not kept.
func Rewrite(src clouds.Source) clouds.Result {
	a := &rewriter{src: src}
	a.read()
	a.checkValues()
	a.checkRegion()
	a.checkOverrides()
	a.nameServices()
	a.addEndpoints()
	a.setDefaults()
	credentials, tokens := a.credentials()
	return clouds.Finish(a.findings, clouds.Result{Config: a.config.Encode(), Credentials: credentials, Tokens: tokens})
}

func (a *rewriter) read() {
	text := a.src.Config
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte("[Global]\n")
		a.findings.Add(diagnostic.Diagnostic{Cause: diagnostic.CloudConfig, Kind: diagnostic.Adapted,
			Message: "there is no cloud configuration, which AWS does not need: the cloud-controller-manager gets one with defaults only"})
	}
	reader := confdoc.Reader{Format: confdoc.INI, Fields: schema, Input: diagnostic.CloudConfig}
	a.config = reader.Read(text, &a.findings)
	a.config.First("Global")
}

// checkValues finds values that can be read, but with which the provider exits or does nothing.
func (a *rewriter) checkValues() {
	global := a.config.Value("Global")
	const pattern = "SupportedTopologyInstanceTypePattern"
	if _, err := regexp.Compile(global.String(pattern)); err != nil {
		a.config.ReportAt(global.Get(pattern), diagnostic.Invalid, pattern+" is not a regular expression: correct it or remove the line")
	}
	if id := global.String("KubernetesClusterID"); global.String("KubernetesClusterTag") != "" && id != "" && global.String("KubernetesClusterTag") != id {
		a.config.ReportAt(global.Get("KubernetesClusterTag"), diagnostic.Invalid,
			fmt.Sprintf("KubernetesClusterTag is not KubernetesClusterID, %s: remove the line with KubernetesClusterTag", confdoc.Quoted(id)))
	}
}

var awsZone = regexp.MustCompile(`^([a-zA-Z]+-)+\d+`)

// checkRegion compares the region with that of Infrastructure. The provider makes the region out of Zone, where that is set.
func (a *rewriter) checkRegion() {
	global := a.config.Value("Global")
	a.config.Contradicts("Region", global.Get("Region"), regionField, a.region())
	if global.String("Zone") == "" {
		return
	}
	zone := *global.Get("Zone")
	if zone.Text = awsZone.FindString(zone.Text); zone.Text == "" {
		a.config.ReportAt(&zone, diagnostic.Invalid, "Zone is not the name of a zone, such as us-east-1a: correct it or remove the line")
		return
	}
	a.config.Contradicts("the region of Zone", &zone, regionField, a.region())
}

// region is the region of the cluster; empty when Infrastructure does not tell.
func (a *rewriter) region() string {
	if a.src.Cluster.Status.AWS == nil {
		return ""
	}
	return a.src.Cluster.Status.AWS.Region
}

// setDefaults sets OpenShift's defaults where the user says nothing.
func (a *rewriter) setDefaults() {
	a.config.Default("Shared", "one probe of kube-proxy for all Services lets a node that shuts down finish its connections",
		"Global", "ClusterServiceLoadBalancerHealthProbeMode")
	if region := a.region(); region != "" && a.config.Text("Global", "Zone") == "" {
		a.config.Default(region, "without it the cloud-controller-manager asks the instance's metadata service at every start, "+
			"and exits when that does not answer", "Global", "Region")
	}
	if slices.Contains(a.src.Cluster.FeatureGates, nlbGate) {
		a.config.Default("Managed", "the feature gate "+nlbGate+" is on", "Global", "NLBSecurityGroupMode")
	}
}
