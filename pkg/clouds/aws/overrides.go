package aws

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	configv1 "github.com/openshift/api/config/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc/gcfg"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

// override is what a ServiceOverride is for.
type override struct{ service, region string }

func (o override) String() string { return o.service + " in " + o.region }

// overrideOf takes both texts as the provider does, without blanks around them.
func overrideOf(g *confdoc.INIGroup) override {
	return override{strings.TrimSpace(g.Entry("Service").Value), strings.TrimSpace(g.Entry("Region").Value)}
}

func (a *rewriter) overrides() []*confdoc.INIGroup {
	var groups []*confdoc.INIGroup
	for _, g := range a.config.Sections {
		if g.Name == "ServiceOverride" {
			groups = append(groups, g)
		}
	}
	return groups
}

// awsIndex finds overrides by what they are for, and knows the names of all. A configuration may have thousands.
type awsIndex struct {
	groups map[override]*confdoc.INIGroup
	names  map[string]bool
}

func (i awsIndex) add(g *confdoc.INIGroup) {
	if o := overrideOf(g); i.groups[o] == nil {
		i.groups[o] = g
	}
	i.names[g.Subsection] = true
}

// freeName is a name that no override has.
func (i awsIndex) freeName(name string) string {
	free := name
	for n := 2; i.names[free]; n++ {
		free = fmt.Sprintf("%s-%d", name, n)
	}
	return free
}

// checkOverrides finds overrides with which the provider exits, cannot make a request, or which it never uses.
func (a *rewriter) checkOverrides() {
	first := map[string]*confdoc.INIGroup{}
	for _, g := range a.overrides() {
		complete := a.checkComplete(g)
		address := g.Entry("URL")
		if address.Value != "" && !clouds.IsEndpoint(address.Value) {
			a.config.Report(address.ValuePos, diagnostic.Invalid, "URL is not of the form https://host or https://host/path")
		}
		o := overrideOf(g)
		if a.isForeign(o, address.Value) {
			a.config.Report(address.ValuePos, diagnostic.Redirected, fmt.Sprintf("URL is %s, which is neither Amazon's nor in %s of %s: "+
				"the cloud-controller-manager would send its signed requests to it; remove the section, or add it to Infrastructure",
				clouds.ShownEndpoint(address.Value), endpointsField, clouds.Infrastructure))
		}
		id := o.service + "_" + o.region // the provider makes them one text too
		if other := first[id]; other != nil && complete {
			a.config.Report(g.Pos, diagnostic.Invalid, fmt.Sprintf("there are two overrides for %s, %s and %s: remove one of them",
				confdoc.Quoted(o.String()), header(other), header(g)))
		} else if complete {
			first[id] = g
		}
		if region := a.region(); o.region != "" && region != "" && o.region != region && !slices.Contains(serviceIDs(o.service), imds) {
			a.config.Report(g.Entry("Region").ValuePos, diagnostic.Typo, fmt.Sprintf("%s is for the region %s and never used: %s is %s",
				header(g), confdoc.Quoted(o.region), regionField, confdoc.Quoted(region)))
		}
	}
}

// domains are dnsSuffix and dualStackDnsSuffix of every partition in internal/endpoints/awsrulesfn/partitions.json of
// github.com/aws/aws-sdk-go-v2 v1.41.1.
var domains = []string{
	"amazonaws.com", "api.aws", // aws, aws-us-gov
	"amazonaws.com.cn", "api.amazonwebservices.com.cn", // aws-cn
	"amazonaws.eu", "api.amazonwebservices.eu", // aws-eusc
	"c2s.ic.gov", "api.aws.ic.gov", // aws-iso
	"sc2s.sgov.gov", "api.aws.scloud", // aws-iso-b
	"cloud.adc-e.uk", "api.cloud-aws.adc-e.uk", // aws-iso-e
	"csp.hci.ic.gov", "api.aws.hci.ic.gov", // aws-iso-f
}

// hosts are the first labels of the endpoints of services (service/*/endpoints.go of github.com/aws/aws-sdk-go-v2).
var hosts = []string{"ec2", "elasticloadbalancing", "kms"}

// regionName matches the regions of every partition, and no name of a service such as s3, elb or execute-api.
var regionName = regexp.MustCompile(`^[a-z]+(-[a-z]+)+-\d+$`)

// isAmazons reports whether the host is an endpoint of services. Amazon's customers have hosts in the same domains: load
// balancers, instances, buckets, API gateways and endpoint services. So the host must be the service, its region if any,
// and the domain, or the DNS name of an interface endpoint, vpce-<id>.<service>.<region>.vpce.amazonaws.com.
func isAmazons(host string) bool {
	return slices.ContainsFunc(domains, func(domain string) bool {
		name, found := strings.CutSuffix(host, "."+domain)
		labels := strings.Split(name, ".")
		if len(labels) == 4 && strings.HasPrefix(labels[0], "vpce-") && labels[3] == "vpce" {
			labels = labels[1:3]
		}
		return found && len(labels) <= 2 && slices.Contains(hosts, strings.TrimSuffix(labels[0], "-fips")) &&
			(len(labels) == 1 || regionName.MatchString(labels[1]))
	})
}

// isForeign reports whether an endpoint of a service that the provider asks is neither Amazon's nor, by its service, one of
// Infrastructure. The metadata service gets no credentials.
func (a *rewriter) isForeign(o override, address string) bool {
	status := a.src.Cluster.Status.AWS
	ids := serviceIDs(o.service)
	if status == nil || !clouds.IsEndpoint(address) || isAmazons(clouds.HostOf(address)) || len(ids) == 0 || slices.Contains(ids, imds) {
		return false
	}
	return !slices.ContainsFunc(status.ServiceEndpoints, func(endpoint configv1.AWSServiceEndpoint) bool {
		return slices.ContainsFunc(serviceIDs(endpoint.Name), func(id string) bool { return slices.Contains(ids, id) })
	})
}

// checkComplete tells whether the override has everything that the provider demands.
func (a *rewriter) checkComplete(g *confdoc.INIGroup) bool {
	complete := !g.Broken
	for _, key := range []string{"Service", "Region", "URL", "SigningRegion"} {
		e := g.Entry(key)
		if strings.TrimSpace(e.Value) != "" {
			continue
		}
		complete = false
		if !e.Blank && !g.Broken { // those were reported
			a.config.Report(g.Pos, diagnostic.Invalid, fmt.Sprintf("%s has no %s, and the cloud-controller-manager would exit: add it or remove the section",
				header(g), key))
		}
	}
	return complete
}

func header(g *confdoc.INIGroup) string {
	if g.Subsection == "" {
		return "[" + g.Name + "]"
	}
	return fmt.Sprintf("[%s %s]", g.Name, confdoc.Quoted(g.Subsection))
}

// serviceIDs are the services that a name stands for; none when the provider does not ask any such service.
func serviceIDs(name string) []string {
	for _, id := range services {
		if strings.EqualFold(id, name) {
			return []string{id}
		}
	}
	return serviceNames[strings.ToLower(name)]
}

// nameServices gives every override the name that the provider looks for. An override that has such a name already wins over
// one that stands for the same service.
func (a *rewriter) nameServices() {
	a.index = awsIndex{groups: map[override]*confdoc.INIGroup{}, names: map[string]bool{}}
	for _, g := range a.overrides() {
		a.index.add(g)
	}
	for _, g := range a.overrides() {
		o := overrideOf(g)
		if o.service == "" || slices.Contains(services, o.service) {
			continue
		}
		ids := serviceIDs(o.service)
		if len(ids) == 0 {
			a.unknownService(g, o.service)
			continue
		}
		ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return a.index.groups[override{id, o.region}] != nil })
		if len(ids) == 0 {
			a.config.Remove(g)
			a.config.Report(g.Pos, diagnostic.Rewritten, fmt.Sprintf("%s is dropped: there is another override for the same service, by the name that the cloud-controller-manager looks for", header(g)))
			continue
		}
		a.nameService(g, ids)
	}
}

func (a *rewriter) nameService(g *confdoc.INIGroup, ids []string) {
	service := g.Entry("Service")
	reason := "the cloud-controller-manager ignores an override by any other name"
	if len(ids) > 1 {
		second := a.config.InsertAfter(g, "ServiceOverride", a.index.freeName(g.Subsection+"-v2"))
		second.Entries, second.Single = slices.Clone(g.Entries), maps.Clone(g.Single)
		second.Set("Service", ids[1])
		a.index.add(second)
		reason = fmt.Sprintf("the cloud-controller-manager ignores an override by any other name; %s is added for %q", header(second), ids[1])
	}
	g.Set("Service", ids[0])
	a.index.add(g)
	a.config.Report(service.Pos, diagnostic.Adapted, fmt.Sprintf("Service is set to %q: %s", ids[0], reason))
}

// unknownService reports a service that the provider does not ask. What Infrastructure names is for the whole cluster.
func (a *rewriter) unknownService(g *confdoc.INIGroup, name string) {
	if status := a.src.Cluster.Status.AWS; status != nil {
		for _, endpoint := range status.ServiceEndpoints {
			if endpoint.Name == name {
				return
			}
		}
	}
	a.config.Report(g.Entry("Service").ValuePos, diagnostic.Unknown, fmt.Sprintf("Service is %s, which the cloud-controller-manager does not ask: it knows %s",
		confdoc.Quoted(name), strings.Join(confdoc.QuotedAll(services), ", ")))
}

// addEndpoints makes sure that every endpoint of Infrastructure for a service that the provider asks has an override.
// cluster-config-operator writes them too, under other names and not into every configuration.
func (a *rewriter) addEndpoints() {
	region := a.region()
	if region == "" {
		return
	}
	for _, endpoint := range a.src.Cluster.Status.AWS.ServiceEndpoints {
		for _, id := range serviceIDs(endpoint.Name) {
			a.addEndpoint(override{id, region}, endpoint.Name, endpoint.URL)
		}
	}
}

func (a *rewriter) addEndpoint(o override, name, address string) {
	if g := a.index.groups[o]; g != nil {
		e := g.Entry("URL")
		f := diagnostic.Diagnostic{Cause: diagnostic.CloudConfig, Line: e.ValuePos.Line, Column: e.ValuePos.Column, Kind: diagnostic.Invalid, Message: fmt.Sprintf(
			"URL is %s, but %s of infrastructure.config.openshift.io/cluster has %s for %s: write the same URL, or remove the section",
			clouds.ShownEndpoint(e.Value), endpointsField, clouds.ShownEndpoint(address), name)}
		if clouds.IsEndpoint(e.Value) && !clouds.SameEndpoint(e.Value, address) && !slices.Contains(a.findings, f) { // one line may be for both kinds of load balancers
			a.findings.Add(f)
		}
		return
	}
	if o.service == elBv2 && !strings.HasSuffix(name, "v2") {
		name += "-v2"
	}
	g := a.config.InsertAfter(nil, "ServiceOverride", a.index.freeName(name))
	g.Set("Service", o.service)
	g.Set("Region", o.region)
	g.Set("URL", address)
	g.Set("SigningRegion", o.region)
	a.index.add(g)
	a.config.Report(gcfg.Position{}, diagnostic.Adapted, fmt.Sprintf("%s is added for %q: %s has this endpoint", header(g), o.service, endpointsField))
}
