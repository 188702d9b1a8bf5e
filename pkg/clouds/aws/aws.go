// Package aws rewrites configurations for cloud-provider-aws.
package aws

import (
	"bytes"
	"regexp"
	"slices"

	configv1 "github.com/openshift/api/config/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

const (
	// nlbGate is the feature gate that gives network load balancers security groups.
	nlbGate = "AWSServiceLBNetworkSecurityGroup"

	regionField    = "status.platformStatus.aws.region"
	endpointsField = "status.platformStatus.aws.serviceEndpoints"
)

// rewriter is one run of Rewrite.
type rewriter struct {
	src clouds.Source
	// status is what Infrastructure says; empty where it says nothing.
	status   configv1.AWSPlatformStatus
	config   *confdoc.Document
	index    index
	findings diagnostic.List
}

// Rewrite checks and rewrites an AWS cloud.conf, and checks the credentials that it is used with.
//
// It accepts what k8s.io/cloud-provider-aws v1.36.1 reads. A missing configuration is one with defaults only. Rewrite
// gives the services in ServiceOverride the names that the provider looks for, adds the region and endpoints of
// Infrastructure that are missing, and sets OpenShift's defaults. Credentials are optional: without them the provider
// uses the identity of the instance. With them, the result has one file "credentials" in the form that AWS's tools
// share. Unknown keys are kept, because a newer provider may know them. Comments are not kept.
func Rewrite(src clouds.Source) clouds.Result {
	a := &rewriter{
		src:    src,
		status: ptr.Deref(src.Cluster.Status.AWS, configv1.AWSPlatformStatus{}),
		index:  index{map[string]*confdoc.Entry{}, sets.New[string]()},
	}
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
	text, isMissing := a.src.Config, len(bytes.TrimSpace(a.src.Config)) == 0
	if isMissing {
		text = []byte("[Global]\n")
	}
	a.config = confdoc.Reader{Format: confdoc.INI, Fields: schema, Input: diagnostic.CloudConfig}.Read(text, &a.findings)
	a.config.First("Global")
	if isMissing {
		a.config.ReportAt(nil, diagnostic.Adapted, "there is no cloud configuration, which AWS does not need: "+
			"the cloud-controller-manager gets one with defaults only")
	}
}

// checkValues reports values that the provider can read, but with which it exits or does nothing.
func (a *rewriter) checkValues() {
	global := a.config.Value("Global")
	const pattern = "SupportedTopologyInstanceTypePattern"
	if _, err := regexp.Compile(global.String(pattern)); err != nil {
		a.config.ReportAt(global.Get(pattern), diagnostic.Invalid,
			pattern+" is not a regular expression: correct it or remove the line")
	}
	id, tag := global.String("KubernetesClusterID"), global.String("KubernetesClusterTag")
	if id != "" && tag != "" && id != tag {
		a.config.Reportf(global.Get("KubernetesClusterTag"), diagnostic.Invalid, "KubernetesClusterTag is not "+
			"KubernetesClusterID, %s: remove the line with KubernetesClusterTag", confdoc.Quoted(id))
	}
}

var zoneRegion = regexp.MustCompile(`^([a-zA-Z]+-)+\d+`)

// checkRegion compares the region with that of Infrastructure. The provider takes the region from Zone if that is set.
func (a *rewriter) checkRegion() {
	global := a.config.Value("Global")
	a.config.Contradicts("Region", global.Get("Region"), regionField, a.status.Region)
	if global.String("Zone") == "" {
		return
	}
	zone := *global.Get("Zone")
	if zone.Text = zoneRegion.FindString(zone.Text); zone.Text == "" {
		a.config.ReportAt(&zone, diagnostic.Invalid,
			"Zone is not the name of a zone, such as us-east-1a: correct it or remove the line")
	}
	a.config.Contradicts("the region of Zone", &zone, regionField, a.status.Region)
}

// setDefaults sets OpenShift's defaults where the user sets nothing.
func (a *rewriter) setDefaults() {
	a.config.Default("Shared",
		"one probe of kube-proxy for all Services lets a node that shuts down finish its connections",
		"Global", "ClusterServiceLoadBalancerHealthProbeMode")
	if a.status.Region != "" && a.config.Text("Global", "Zone") == "" {
		a.config.Default(a.status.Region, "without it the cloud-controller-manager asks the instance's metadata service "+
			"at every start, and exits when that does not answer", "Global", "Region")
	}
	if slices.Contains(a.src.Cluster.FeatureGates, nlbGate) {
		a.config.Default("Managed", "the feature gate "+nlbGate+" is on", "Global", "NLBSecurityGroupMode")
	}
}
