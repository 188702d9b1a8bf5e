// Package aws rewrites configurations for cloud-provider-aws.
package aws

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"

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
	config   *confdoc.INIDocument
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
	a.config.CheckPlaceholders()
	credentials, tokens := a.credentials()
	return clouds.Finish(a.findings, clouds.Result{Config: a.config.Format(), Credentials: credentials, Tokens: tokens})
}

func (a *rewriter) read() {
	text := a.src.Config
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte("[Global]\n")
		a.findings.Add(diagnostic.Diagnostic{Cause: diagnostic.CloudConfig, Kind: diagnostic.Adapted,
			Message: "there is no cloud configuration, which AWS does not need: the cloud-controller-manager gets one with defaults only"})
	}
	a.config = confdoc.ReadINI(text, schema, &a.findings)
	if a.config.Group("Global") == nil {
		a.config.AddFirst("Global")
	}
}

// checkValues finds values that can be read, but with which the provider exits or does nothing.
func (a *rewriter) checkValues() {
	a.checkWord("ClusterServiceLoadBalancerHealthProbeMode", "Shared", "ServiceNodePort")
	a.checkWord("NLBSecurityGroupMode", "Managed")
	global := a.config.Group("Global")
	for _, e := range global.Entries {
		if e.Name == "NodeIPFamilies" && !e.Blank && e.Value != "ipv4" && e.Value != "ipv6" {
			a.config.Report(e.ValuePos, diagnostic.Invalid, fmt.Sprintf("NodeIPFamilies is %s, but wants ipv4 or ipv6: for both, write two lines", confdoc.Quoted(e.Value)))
		}
	}
	port := global.Entry("ClusterServiceSharedLoadBalancerHealthProbePort")
	if number := strings.TrimSpace(port.Value); confdoc.Scans(confdoc.Int32Value, number) && !isPort(number) {
		a.config.Report(port.ValuePos, diagnostic.Invalid, fmt.Sprintf("%s is %s, but wants a port from 1 to 65535", port.Name, confdoc.Quoted(port.Value)))
	}
	pattern := global.Entry("SupportedTopologyInstanceTypePattern")
	if _, err := regexp.Compile(pattern.Value); err != nil {
		a.config.Report(pattern.ValuePos, diagnostic.Invalid, pattern.Name+" is not a regular expression: correct it or remove the line")
	}
	tag, id := global.Entry("KubernetesClusterTag"), global.Entry("KubernetesClusterID")
	if tag.Value != "" && id.Value != "" && tag.Value != id.Value {
		a.config.Report(tag.ValuePos, diagnostic.Invalid, fmt.Sprintf("KubernetesClusterTag is %s, but KubernetesClusterID is %s: remove the line with KubernetesClusterTag",
			confdoc.Quoted(tag.Value), confdoc.Quoted(id.Value)))
	}
}

func (a *rewriter) checkWord(key string, known ...string) {
	e := a.config.Value("Global", key)
	if e.Value == "" || slices.Contains(known, e.Value) {
		return
	}
	a.config.Report(e.ValuePos, diagnostic.Invalid, fmt.Sprintf("%s is %s, but wants %s", key, confdoc.Quoted(e.Value), strings.Join(known, " or ")))
}

// isPort tells whether a number, as the provider's reader takes it, is a port; 0 stands for the default.
func isPort(number string) bool {
	var port int32
	if _, err := fmt.Sscanf(number, "%v", &port); err != nil {
		return false
	}
	return 0 <= port && port <= 65535
}

var awsZone = regexp.MustCompile(`^([a-zA-Z]+-)+\d+`)

// checkRegion compares the region with that of Infrastructure. The provider makes the region out of Zone, where that is set.
func (a *rewriter) checkRegion() {
	a.config.Contradicts(a.config.Value("Global", "Region"), regionField, a.region())
	zone := a.config.Value("Global", "Zone")
	if zone.Value == "" {
		return
	}
	if zone.Value = awsZone.FindString(zone.Value); zone.Value == "" {
		a.config.Report(zone.ValuePos, diagnostic.Invalid, "Zone is not the name of a zone, such as us-east-1a: correct it or remove the line")
		return
	}
	zone.Name = "the region of Zone"
	a.config.Contradicts(zone, regionField, a.region())
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
	a.setDefault("ClusterServiceLoadBalancerHealthProbeMode", "Shared",
		"one probe of kube-proxy for all Services lets a node that shuts down finish its connections")
	if region := a.region(); region != "" && a.config.Value("Global", "Zone").Value == "" {
		a.setDefault("Region", region, "without it the cloud-controller-manager asks the instance's metadata service at every start, and exits when that does not answer")
	}
	if slices.Contains(a.src.Cluster.FeatureGates, nlbGate) {
		a.setDefault("NLBSecurityGroupMode", "Managed", "the feature gate "+nlbGate+" is on")
	}
}

func (a *rewriter) setDefault(key, value, reason string) {
	e := a.config.Value("Global", key)
	if e.Value != "" || e.Blank {
		return
	}
	a.config.Group("Global").Set(key, value)
	a.config.Report(e.Pos, diagnostic.Adapted, fmt.Sprintf("%s is set to %q: %s", key, value, reason))
}
