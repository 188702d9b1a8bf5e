package cloudconfig

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	configv1 "github.com/openshift/api/config/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/cloudconfig/gcfg"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

// awsOverride is what a ServiceOverride is for.
type awsOverride struct{ service, region string }

func (o awsOverride) String() string { return o.service + " in " + o.region }

// overrideOf takes both texts as the provider does, without blanks around them.
func overrideOf(g *iniGroup) awsOverride {
	return awsOverride{strings.TrimSpace(g.entry("Service").Value), strings.TrimSpace(g.entry("Region").Value)}
}

func (a *aws) overrides() []*iniGroup {
	var groups []*iniGroup
	for _, g := range a.config.sections {
		if g.Name == "ServiceOverride" {
			groups = append(groups, g)
		}
	}
	return groups
}

// awsIndex finds overrides by what they are for, and knows the names of all. A configuration may have thousands.
type awsIndex struct {
	groups map[awsOverride]*iniGroup
	names  map[string]bool
}

func (i awsIndex) add(g *iniGroup) {
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
func (a *aws) checkOverrides() {
	first := map[string]*iniGroup{}
	for _, g := range a.overrides() {
		complete := a.checkComplete(g)
		address := g.entry("URL")
		if address.Value != "" && !isEndpoint(address.Value) {
			a.config.report(address.ValuePos, diagnostic.Invalid, "URL is not of the form https://host or https://host/path")
		}
		o := overrideOf(g)
		if a.isForeign(o, address.Value) {
			a.config.report(address.ValuePos, diagnostic.Redirected, fmt.Sprintf("URL is %s, which is neither Amazon's nor in %s of %s: "+
				"the cloud-controller-manager would send its signed requests to it; remove the section, or add it to Infrastructure",
				shownEndpoint(address.Value), awsEndpointsField, infrastructure))
		}
		id := o.service + "_" + o.region // the provider makes them one text too
		if other := first[id]; other != nil && complete {
			a.config.report(g.Pos, diagnostic.Invalid, fmt.Sprintf("there are two overrides for %s, %s and %s: remove one of them",
				quoted(o.String()), awsHeader(other), awsHeader(g)))
		} else if complete {
			first[id] = g
		}
		if region := a.region(); o.region != "" && region != "" && o.region != region && !slices.Contains(awsServiceIDs(o.service), awsIMDS) {
			a.config.report(g.entry("Region").ValuePos, diagnostic.Typo, fmt.Sprintf("%s is for the region %s and never used: %s is %s",
				awsHeader(g), quoted(o.region), awsRegionField, quoted(region)))
		}
	}
}

// awsDomains are those of the endpoints of every partition.
var awsDomains = []string{"amazonaws.com", "amazonaws.com.cn", "amazonaws.eu", "api.aws", "api.amazonwebservices.com.cn",
	"c2s.ic.gov", "sc2s.sgov.gov", "csp.hci.ic.gov", "cloud.adc-e.uk"}

// isForeign reports whether an endpoint of a service that the provider asks is neither Amazon's nor, by its service, one of
// Infrastructure. The metadata service gets no credentials.
func (a *aws) isForeign(o awsOverride, address string) bool {
	status := a.src.Cluster.Status.AWS
	ids := awsServiceIDs(o.service)
	if status == nil || !isEndpoint(address) || isUnder(hostOf(address), awsDomains...) || len(ids) == 0 || slices.Contains(ids, awsIMDS) {
		return false
	}
	return !slices.ContainsFunc(status.ServiceEndpoints, func(endpoint configv1.AWSServiceEndpoint) bool {
		return slices.ContainsFunc(awsServiceIDs(endpoint.Name), func(id string) bool { return slices.Contains(ids, id) })
	})
}

// checkComplete tells whether the override has everything that the provider demands.
func (a *aws) checkComplete(g *iniGroup) bool {
	complete := !g.Broken
	for _, key := range []string{"Service", "Region", "URL", "SigningRegion"} {
		e := g.entry(key)
		if strings.TrimSpace(e.Value) != "" {
			continue
		}
		complete = false
		if !e.Blank && !g.Broken { // those were reported
			a.config.report(g.Pos, diagnostic.Invalid, fmt.Sprintf("%s has no %s, and the cloud-controller-manager would exit: add it or remove the section",
				awsHeader(g), key))
		}
	}
	return complete
}

func awsHeader(g *iniGroup) string {
	if g.Subsection == "" {
		return "[" + g.Name + "]"
	}
	return fmt.Sprintf("[%s %s]", g.Name, quoted(g.Subsection))
}

// isEndpoint tells whether a request can be sent to the address.
func isEndpoint(address string) bool {
	u, err := url.Parse(address)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

// sameEndpoint tells whether two addresses differ in nothing but a slash at the end.
func sameEndpoint(a, b string) bool {
	return strings.TrimRight(a, "/") == strings.TrimRight(b, "/")
}

// shownEndpoint is an address as messages show it.
func shownEndpoint(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "not a URL"
	}
	return quoted(u.Redacted())
}

// awsServiceIDs are the services that a name stands for; none when the provider does not ask any such service.
func awsServiceIDs(name string) []string {
	for _, id := range awsServices {
		if strings.EqualFold(id, name) {
			return []string{id}
		}
	}
	return awsServiceNames[strings.ToLower(name)]
}

// nameServices gives every override the name that the provider looks for. An override that has such a name already wins over
// one that stands for the same service.
func (a *aws) nameServices() {
	a.index = awsIndex{groups: map[awsOverride]*iniGroup{}, names: map[string]bool{}}
	for _, g := range a.overrides() {
		a.index.add(g)
	}
	for _, g := range a.overrides() {
		o := overrideOf(g)
		if o.service == "" || slices.Contains(awsServices, o.service) {
			continue
		}
		ids := awsServiceIDs(o.service)
		if len(ids) == 0 {
			a.unknownService(g, o.service)
			continue
		}
		ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return a.index.groups[awsOverride{id, o.region}] != nil })
		if len(ids) == 0 {
			a.config.remove(g)
			a.config.report(g.Pos, diagnostic.Rewritten, fmt.Sprintf("%s is dropped: there is another override for the same service, by the name that the cloud-controller-manager looks for", awsHeader(g)))
			continue
		}
		a.nameService(g, ids)
	}
}

func (a *aws) nameService(g *iniGroup, ids []string) {
	service := g.entry("Service")
	reason := "the cloud-controller-manager ignores an override by any other name"
	if len(ids) > 1 {
		second := a.config.insertAfter(g, "ServiceOverride", a.index.freeName(g.Subsection+"-v2"))
		second.Entries, second.single = slices.Clone(g.Entries), maps.Clone(g.single)
		second.set("Service", ids[1])
		a.index.add(second)
		reason = fmt.Sprintf("the cloud-controller-manager ignores an override by any other name; %s is added for %q", awsHeader(second), ids[1])
	}
	g.set("Service", ids[0])
	a.index.add(g)
	a.config.report(service.Pos, diagnostic.Adapted, fmt.Sprintf("Service is set to %q: %s", ids[0], reason))
}

// unknownService reports a service that the provider does not ask. What Infrastructure names is for the whole cluster.
func (a *aws) unknownService(g *iniGroup, name string) {
	if status := a.src.Cluster.Status.AWS; status != nil {
		for _, endpoint := range status.ServiceEndpoints {
			if endpoint.Name == name {
				return
			}
		}
	}
	a.config.report(g.entry("Service").ValuePos, diagnostic.Unknown, fmt.Sprintf("Service is %s, which the cloud-controller-manager does not ask: it knows %s",
		quoted(name), strings.Join(quotedAll(awsServices), ", ")))
}

// addEndpoints makes sure that every endpoint of Infrastructure for a service that the provider asks has an override.
// cluster-config-operator writes them too, under other names and not into every configuration.
func (a *aws) addEndpoints() {
	region := a.region()
	if region == "" {
		return
	}
	for _, endpoint := range a.src.Cluster.Status.AWS.ServiceEndpoints {
		for _, id := range awsServiceIDs(endpoint.Name) {
			a.addEndpoint(awsOverride{id, region}, endpoint.Name, endpoint.URL)
		}
	}
}

func (a *aws) addEndpoint(o awsOverride, name, address string) {
	if g := a.index.groups[o]; g != nil {
		e := g.entry("URL")
		f := diagnostic.Diagnostic{Cause: diagnostic.CloudConfig, Line: e.ValuePos.Line, Column: e.ValuePos.Column, Kind: diagnostic.Invalid, Message: fmt.Sprintf(
			"URL is %s, but %s of infrastructure.config.openshift.io/cluster has %s for %s: write the same URL, or remove the section",
			shownEndpoint(e.Value), awsEndpointsField, shownEndpoint(address), name)}
		if isEndpoint(e.Value) && !sameEndpoint(e.Value, address) && !slices.Contains(a.findings, f) { // one line may be for both kinds of load balancers
			a.findings.Add(f)
		}
		return
	}
	if o.service == awsELBv2 && !strings.HasSuffix(name, "v2") {
		name += "-v2"
	}
	g := a.config.insertAfter(nil, "ServiceOverride", a.index.freeName(name))
	g.set("Service", o.service)
	g.set("Region", o.region)
	g.set("URL", address)
	g.set("SigningRegion", o.region)
	a.index.add(g)
	a.config.report(gcfg.Position{}, diagnostic.Adapted, fmt.Sprintf("%s is added for %q: %s has this endpoint", awsHeader(g), o.service, awsEndpointsField))
}
