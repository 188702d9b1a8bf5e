package cloudconfig

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

const (
	// awsNLBGate is the feature gate with which network load balancers get security groups.
	awsNLBGate = "AWSServiceLBNetworkSecurityGroup"

	awsRegionField    = "status.platformStatus.aws.region"
	awsEndpointsField = "status.platformStatus.aws.serviceEndpoints"
)

// aws is one run of the AWS function.
type aws struct {
	src      Source
	config   *iniDocument
	index    awsIndex
	findings findings
}

// AWS checks and rewrites an AWS cloud.conf, and checks the credentials that it is used with.
//
// The text is what k8s.io/cloud-provider-aws v1.36.1 reads: nothing passes that it would refuse. No configuration is one
// with defaults only. The rewriting gives services in ServiceOverride the names that the provider looks for, adds the
// region and endpoints of Infrastructure that are missing, and sets OpenShift's defaults. Credentials are optional: without them the
// identity of the instance serves. With them, one file "credentials" is delivered in the form that AWS's tools share. What
// is unknown is kept: a newer provider may know it. Comments are not kept.
func AWS(src Source) Result {
	a := &aws{src: src}
	a.read()
	a.checkValues()
	a.checkRegion()
	a.checkOverrides()
	a.nameServices()
	a.addEndpoints()
	a.setDefaults()
	a.config.checkPlaceholders()
	credentials, tokens := a.credentials()
	return finish(a.findings, Result{Config: a.config.format(), Credentials: credentials, Tokens: tokens})
}

func (a *aws) read() {
	text := a.src.Config
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte("[Global]\n")
		a.findings.Add(diagnostic.Diagnostic{Cause: diagnostic.CloudConfig, Kind: diagnostic.Adapted,
			Message: "there is no cloud configuration, which AWS does not need: the cloud-controller-manager gets one with defaults only"})
	}
	a.config = readINI(text, awsSchema, &a.findings)
	if a.config.group("Global") == nil {
		a.config.addFirst("Global")
	}
}

// checkValues finds values that can be read, but with which the provider exits or does nothing.
func (a *aws) checkValues() {
	a.checkWord("ClusterServiceLoadBalancerHealthProbeMode", "Shared", "ServiceNodePort")
	a.checkWord("NLBSecurityGroupMode", "Managed")
	global := a.config.group("Global")
	for _, e := range global.Entries {
		if e.Name == "NodeIPFamilies" && !e.Blank && e.Value != "ipv4" && e.Value != "ipv6" {
			a.config.report(e.ValuePos, diagnostic.Invalid, fmt.Sprintf("NodeIPFamilies is %s, but wants ipv4 or ipv6: for both, write two lines", quoted(e.Value)))
		}
	}
	port := global.entry("ClusterServiceSharedLoadBalancerHealthProbePort")
	if number := strings.TrimSpace(port.Value); scans(int32Value, number) && !isPort(number) {
		a.config.report(port.ValuePos, diagnostic.Invalid, fmt.Sprintf("%s is %s, but wants a port from 1 to 65535", port.Name, quoted(port.Value)))
	}
	pattern := global.entry("SupportedTopologyInstanceTypePattern")
	if _, err := regexp.Compile(pattern.Value); err != nil {
		a.config.report(pattern.ValuePos, diagnostic.Invalid, pattern.Name+" is not a regular expression: correct it or remove the line")
	}
	tag, id := global.entry("KubernetesClusterTag"), global.entry("KubernetesClusterID")
	if tag.Value != "" && id.Value != "" && tag.Value != id.Value {
		a.config.report(tag.ValuePos, diagnostic.Invalid, fmt.Sprintf("KubernetesClusterTag is %s, but KubernetesClusterID is %s: remove the line with KubernetesClusterTag",
			quoted(tag.Value), quoted(id.Value)))
	}
}

func (a *aws) checkWord(key string, known ...string) {
	e := a.config.value("Global", key)
	if e.Value == "" || slices.Contains(known, e.Value) {
		return
	}
	a.config.report(e.ValuePos, diagnostic.Invalid, fmt.Sprintf("%s is %s, but wants %s", key, quoted(e.Value), strings.Join(known, " or ")))
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
func (a *aws) checkRegion() {
	a.config.contradicts(a.config.value("Global", "Region"), awsRegionField, a.region())
	zone := a.config.value("Global", "Zone")
	if zone.Value == "" {
		return
	}
	if zone.Value = awsZone.FindString(zone.Value); zone.Value == "" {
		a.config.report(zone.ValuePos, diagnostic.Invalid, "Zone is not the name of a zone, such as us-east-1a: correct it or remove the line")
		return
	}
	zone.Name = "the region of Zone"
	a.config.contradicts(zone, awsRegionField, a.region())
}

// region is the region of the cluster; empty when Infrastructure does not tell.
func (a *aws) region() string {
	if a.src.Cluster.Status.AWS == nil {
		return ""
	}
	return a.src.Cluster.Status.AWS.Region
}

// setDefaults sets OpenShift's defaults where the user says nothing.
func (a *aws) setDefaults() {
	a.setDefault("ClusterServiceLoadBalancerHealthProbeMode", "Shared",
		"one probe of kube-proxy for all Services lets a node that shuts down finish its connections")
	if region := a.region(); region != "" && a.config.value("Global", "Zone").Value == "" {
		a.setDefault("Region", region, "without it the cloud-controller-manager asks the instance's metadata service at every start, and exits when that does not answer")
	}
	if slices.Contains(a.src.Cluster.FeatureGates, awsNLBGate) {
		a.setDefault("NLBSecurityGroupMode", "Managed", "the feature gate "+awsNLBGate+" is on")
	}
}

func (a *aws) setDefault(key, value, reason string) {
	e := a.config.value("Global", key)
	if e.Value != "" || e.Blank {
		return
	}
	a.config.group("Global").set(key, value)
	a.config.report(e.Pos, diagnostic.Adapted, fmt.Sprintf("%s is set to %q: %s", key, value, reason))
}
