package aws

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	configv1 "github.com/openshift/api/config/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

// override is what a ServiceOverride is for.
type override struct{ service, region string }

func (o override) String() string { return o.service + " in " + o.region }

// overrideOf takes both texts as the provider does, without whitespace around them.
func overrideOf(e *confdoc.Entry) override {
	return override{strings.TrimSpace(e.Value.String("Service")), strings.TrimSpace(e.Value.String("Region"))}
}

func (a *rewriter) overrides() []*confdoc.Entry {
	return slices.DeleteFunc(slices.Clone(a.config.Root.Entries), func(e *confdoc.Entry) bool { return e.Name != overrideSection })
}

// awsIndex finds overrides by what they are for, and knows the names of all. A configuration may have thousands.
type awsIndex struct {
	entries map[override]*confdoc.Entry
	names   map[string]bool
}

func (i awsIndex) add(e *confdoc.Entry) {
	if o := overrideOf(e); i.entries[o] == nil {
		i.entries[o] = e
	}
	i.names[e.Sub] = true
}

// freeName is a name that no override has.
func (i awsIndex) freeName(name string) string {
	free := name
	for n := 2; i.names[free]; n++ {
		free = fmt.Sprintf("%s-%d", name, n)
	}
	return free
}

// checkOverrides finds overrides with which the provider exits or sends its requests elsewhere, or which it never uses.
func (a *rewriter) checkOverrides() {
	first := map[string]*confdoc.Entry{}
	for _, e := range a.overrides() {
		o, address := overrideOf(e), e.Value.String("URL")
		if a.isForeign(o, address) {
			a.config.ReportAt(e.Value.Get("URL"), diagnostic.Redirected, fmt.Sprintf("URL is %s, which is neither Amazon's nor in %s of %s: "+
				"the cloud-controller-manager would send its signed requests to it; remove the section, or add it to Infrastructure",
				confdoc.Quoted(address), endpointsField, clouds.Infrastructure))
		}
		id := o.service + "_" + o.region // the provider makes them one text too
		if other := first[id]; other != nil && o.service != "" && o.region != "" {
			a.config.ReportAt(e.Value, diagnostic.Invalid, fmt.Sprintf("there are two overrides for %s, %s and %s: remove one of them",
				confdoc.Quoted(o.String()), header(other), header(e)))
		}
		first[id] = e
		if region := a.region(); o.region != "" && region != "" && o.region != region && !slices.Contains(serviceIDs(o.service), imds) {
			a.config.ReportAt(e.Value.Get("Region"), diagnostic.Typo, fmt.Sprintf("%s is for the region %s and never used: %s is %s",
				header(e), confdoc.Quoted(o.region), regionField, confdoc.Quoted(region)))
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

func header(e *confdoc.Entry) string {
	if e.Sub == "" {
		return "[" + e.Name + "]"
	}
	return fmt.Sprintf("[%s %s]", e.Name, confdoc.Quoted(e.Sub))
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
	a.index = awsIndex{entries: map[override]*confdoc.Entry{}, names: map[string]bool{}}
	for _, e := range a.overrides() {
		a.index.add(e)
	}
	for _, e := range a.overrides() {
		o := overrideOf(e)
		if o.service == "" || slices.Contains(services, o.service) {
			continue
		}
		ids := serviceIDs(o.service)
		if len(ids) == 0 {
			a.unknownService(e, o.service)
			continue
		}
		ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return a.index.entries[override{id, o.region}] != nil })
		if len(ids) == 0 {
			a.config.Root.Entries = slices.DeleteFunc(a.config.Root.Entries, func(other *confdoc.Entry) bool { return other == e })
			a.config.ReportAt(e.Value, diagnostic.Rewritten, fmt.Sprintf("%s is dropped: there is another override for the same service, "+
				"by the name that the cloud-controller-manager looks for", header(e)))
			continue
		}
		a.nameService(e, ids)
	}
}

func (a *rewriter) nameService(e *confdoc.Entry, ids []string) {
	service := e.Value.Get("Service")
	reason := "the cloud-controller-manager ignores an override by any other name"
	if len(ids) > 1 {
		second := &confdoc.Entry{Name: overrideSection, Sub: a.index.freeName(e.Sub + "-v2"), Value: confdoc.NewMap()}
		for _, key := range e.Value.Entries {
			again := *key
			second.Value.Entries = append(second.Value.Entries, &again)
		}
		second.Value.Set("Service", confdoc.NewText(ids[1]))
		after := slices.Index(a.config.Root.Entries, e) + 1
		a.config.Root.Entries = slices.Insert(a.config.Root.Entries, after, second)
		a.index.add(second)
		reason += fmt.Sprintf("; %s is added for %q", header(second), ids[1])
	}
	e.Value.Set("Service", confdoc.NewText(ids[0]))
	a.index.add(e)
	a.config.ReportAt(service, diagnostic.Adapted, fmt.Sprintf("Service is set to %q: %s", ids[0], reason))
}

// unknownService reports a service that the provider does not ask. What Infrastructure names is for the whole cluster.
func (a *rewriter) unknownService(e *confdoc.Entry, name string) {
	status := a.src.Cluster.Status.AWS
	isNamed := func(endpoint configv1.AWSServiceEndpoint) bool { return endpoint.Name == name }
	if status != nil && slices.ContainsFunc(status.ServiceEndpoints, isNamed) {
		return
	}
	a.config.ReportAt(e.Value.Get("Service"), diagnostic.Unknown, fmt.Sprintf(
		"Service is %s, which the cloud-controller-manager does not ask: it knows %s",
		confdoc.Quoted(name), strings.Join(confdoc.QuotedAll(services), ", ")))
}

// addEndpoints makes sure that every endpoint of Infrastructure for a service that the provider asks has an override.
// cluster-config-operator writes them too, under other names and not into every configuration.
func (a *rewriter) addEndpoints() {
	region := a.region()
	if region == "" {
		return
	}
	compared := map[*confdoc.Node]bool{} // one line may be for both kinds of load balancers
	for _, endpoint := range a.src.Cluster.Status.AWS.ServiceEndpoints {
		for _, id := range serviceIDs(endpoint.Name) {
			e := a.index.entries[override{id, region}]
			if e == nil {
				a.addEndpoint(override{id, region}, endpoint)
				continue
			}
			named := e.Value.Get("URL")
			if !compared[named] && !clouds.SameEndpoint(e.Value.String("URL"), endpoint.URL) {
				a.config.Contradicts("URL", named, endpointsField, endpoint.URL)
			}
			compared[named] = true
		}
	}
}

func (a *rewriter) addEndpoint(o override, endpoint configv1.AWSServiceEndpoint) {
	name := endpoint.Name
	if o.service == elBv2 && !strings.HasSuffix(name, "v2") {
		name += "-v2"
	}
	e := &confdoc.Entry{Name: overrideSection, Sub: a.index.freeName(name), Value: confdoc.NewMap()}
	for _, set := range [][2]string{{"Service", o.service}, {"Region", o.region}, {"URL", endpoint.URL}, {"SigningRegion", o.region}} {
		e.Value.Set(set[0], confdoc.NewText(set[1]))
	}
	a.config.Root.Entries = append(a.config.Root.Entries, e)
	a.index.add(e)
	a.config.Report(0, 0, diagnostic.Adapted, fmt.Sprintf("%s is added for %q: %s has this endpoint", header(e), o.service, endpointsField))
}
