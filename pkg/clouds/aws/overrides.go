package aws

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

// serviceOf and regionOf return the trimmed Service and Region of a ServiceOverride; the provider trims them too.
func serviceOf(e *confdoc.Entry) string { return strings.TrimSpace(e.Value.String("Service")) }

func regionOf(e *confdoc.Entry) string { return strings.TrimSpace(e.Value.String("Region")) }

// overrideKey returns the key by which the provider looks an override up.
func overrideKey(service, region string) string { return service + "_" + region }

func keyOf(e *confdoc.Entry) string { return overrideKey(serviceOf(e), regionOf(e)) }

func (a *rewriter) overrides() []*confdoc.Entry {
	isOther := func(e *confdoc.Entry) bool { return e.Name != overrideSection }
	return slices.DeleteFunc(slices.Clone(a.Root.Entries), isOther)
}

// index finds overrides by service and region, and stores all their names. A configuration may have thousands.
type index struct {
	entries map[string]*confdoc.Entry // by overrideKey
	names   sets.Set[string]
}

func (i index) add(e *confdoc.Entry) {
	if key := keyOf(e); i.entries[key] == nil {
		i.entries[key] = e
	}
	i.names.Insert(e.Sub)
}

// insert inserts an override at a position of the document, under a name that is not used yet.
func (a *rewriter) insert(position int, name string, settings *confdoc.Node) *confdoc.Entry {
	free := name
	for n := 2; a.index.names.Has(free); n++ {
		free = fmt.Sprintf("%s-%d", name, n)
	}
	e := &confdoc.Entry{Name: overrideSection, Sub: free, Value: settings}
	a.Root.Entries = slices.Insert(a.Root.Entries, position, e)
	a.index.add(e)
	return e
}

// checkOverrides reports overrides with which the provider exits or calls another server, and those that it ignores.
func (a *rewriter) checkOverrides() {
	for _, e := range a.overrides() {
		service, region := serviceOf(e), regionOf(e)
		a.checkURL(e)
		if other := a.index.entries[keyOf(e)]; other != nil && service != "" && region != "" {
			a.Rejectf(e.Value, "there are two overrides for %s, %s and %s: remove one of them",
				confdoc.Quoted(service+" in "+region), a.Header(other), a.Header(e))
		}
		a.index.add(e)
		isUsed := slices.Contains([]string{"", region}, a.status.Region) || slices.Contains(serviceIDs(service), imds)
		if region != "" && !isUsed {
			a.Reportf(e.Value.Get("Region"), diagnostic.Typo, "%s is for the region %s and never used: %s is %s",
				a.Header(e), confdoc.Quoted(region), regionField, confdoc.Quoted(a.status.Region))
		}
	}
}

// checkURL reports an endpoint that is not AWS's, or without TLS, or that rejects the signatures of another region.
func (a *rewriter) checkURL(e *confdoc.Entry) {
	service, address, at := serviceOf(e), e.Value.String("URL"), e.Value.Get("URL")
	signing, host := e.Value.String("SigningRegion"), clouds.HostOf(address) // the provider does not trim it here
	labels := strings.Split(host, ".")
	region := slices.IndexFunc(labels, regionName.MatchString)
	switch {
	case a.isForeign(service, address):
		a.Reportf(at, diagnostic.Redirected, "URL is %s, which is neither Amazon's nor in %s of %s: "+
			"the cloud-controller-manager would send its signed requests to it; remove the section, or add it to "+
			"Infrastructure", confdoc.Quoted(address), endpointsField, clouds.Infrastructure)
	case strings.HasPrefix(address, "http:") && !slices.Contains(serviceIDs(service), imds):
		a.Reportf(at, diagnostic.Insecure, "URL is %s, without TLS: anyone between the nodes and the endpoint can change "+
			"the answers; write https://", confdoc.Quoted(address))
	case isAmazons(host) && region >= 0 && strings.HasPrefix(labels[region], "cn-") != strings.HasSuffix(host, ".cn"):
		a.Reportf(at, diagnostic.Typo, "URL is %s, but only the endpoints of China's regions end in .com.cn, and all of "+
			"them: correct it", confdoc.Quoted(address))
	case isAmazons(host) && region >= 0 && signing != "" && labels[region] != signing:
		a.Reportf(at, diagnostic.Doubtful, "URL is an endpoint of the region %s, which rejects requests that are signed for "+
			"%s: write the same region in URL and SigningRegion", labels[region], confdoc.Quoted(signing))
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

// regionName matches the regions of every partition, but no name of a service such as s3, elb or execute-api.
var regionName = regexp.MustCompile(`^[a-z]+(-[a-z]+)+-\d+$`)

// isAmazons reports whether the host is an endpoint of AWS's services. Customers' load balancers, instances, buckets,
// API gateways and endpoint services are in the same domains. So the host must consist of the service, its region if
// any, and the domain, or be the DNS name of an interface endpoint, vpce-<id>.<service>.<region>.vpce.amazonaws.com.
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

// isForeign reports whether the endpoint of a service that the provider uses is neither Amazon's nor one that
// Infrastructure has for that service. The metadata service receives no credentials and is never foreign.
func (a *rewriter) isForeign(service, address string) bool {
	ids := serviceIDs(service)
	isKnown := a.Cluster.Status.AWS != nil && len(ids) > 0 && !slices.Contains(ids, imds)
	if !isKnown || !clouds.IsEndpoint(address) || isAmazons(clouds.HostOf(address)) {
		return false
	}
	return !slices.ContainsFunc(a.status.ServiceEndpoints, func(endpoint configv1.AWSServiceEndpoint) bool {
		return sets.New(ids...).HasAny(serviceIDs(endpoint.Name)...)
	})
}

// serviceIDs returns the services that a name stands for; none if the provider does not use it.
func serviceIDs(name string) []string {
	if i := slices.IndexFunc(services, func(id string) bool { return strings.EqualFold(id, name) }); i >= 0 {
		return services[i : i+1]
	}
	return serviceNames[strings.ToLower(name)]
}

// nameServices renames the service of every override to what the provider looks for. An override that already has such
// a name takes precedence over another one for the same service, and one for a single service over one for several.
func (a *rewriter) nameServices() {
	overrides := a.overrides()
	slices.SortStableFunc(overrides, func(x, y *confdoc.Entry) int {
		return len(serviceIDs(serviceOf(x))) - len(serviceIDs(serviceOf(y)))
	})
	for _, e := range overrides {
		service := serviceOf(e)
		if service == "" || slices.Contains(services, service) {
			continue
		}
		known := serviceIDs(service)
		isTaken := func(id string) bool { return a.index.entries[overrideKey(id, regionOf(e))] != nil }
		isNamed := func(endpoint configv1.AWSServiceEndpoint) bool { return endpoint.Name == service }
		ids := slices.DeleteFunc(slices.Clone(known), isTaken)
		switch {
		case len(ids) > 0:
			a.nameService(e, ids)
		case len(known) > 0:
			position := slices.Index(a.Root.Entries, e)
			a.Root.Entries = slices.Delete(a.Root.Entries, position, position+1)
			a.Reportf(e.Value, diagnostic.Rewritten, "%s is dropped: there is another override for the same service, "+
				"by the name that the cloud-controller-manager looks for", a.Header(e))
		case !slices.ContainsFunc(a.status.ServiceEndpoints, isNamed): // Infrastructure's names apply to the whole cluster
			a.Reportf(e.Value.Get("Service"), diagnostic.Unknown,
				"Service is %s, which the cloud-controller-manager does not ask: it knows %s",
				confdoc.Quoted(service), strings.Join(confdoc.QuotedAll(services), ", "))
		}
	}
}

// nameService renames an override's service to the first ID, and adds a copy for the second ID if there is one.
func (a *rewriter) nameService(e *confdoc.Entry, ids []string) {
	service := e.Value.Get("Service")
	reason := "the cloud-controller-manager ignores an override by any other name"
	if len(ids) > 1 {
		settings := confdoc.NewMap()
		for _, key := range e.Value.Entries {
			again := *key
			settings.Entries = append(settings.Entries, &again)
		}
		settings.Set("Service", confdoc.NewText(ids[1]))
		second := a.insert(slices.Index(a.Root.Entries, e)+1, e.Sub+"-v2", settings)
		reason += fmt.Sprintf("; %s is added for %q", a.Header(second), ids[1])
	}
	e.Value.Set("Service", confdoc.NewText(ids[0]))
	a.index.add(e)
	a.Reportf(service, diagnostic.Adapted, "Service is set to %q: %s", ids[0], reason)
}

// checkEndpoints reports endpoints of Infrastructure that the API server rejects (AWSServiceEndpoint in openshift/api).
func (a *rewriter) checkEndpoints() {
	for _, endpoint := range a.status.ServiceEndpoints {
		if !endpointName.MatchString(endpoint.Name) {
			a.ReportInfrastructure(endpointsField, diagnostic.Typo, "the API server rejects the name %s: write it in lower "+
				"case, with letters, digits and hyphens only", confdoc.Quoted(endpoint.Name))
		}
		if !strings.HasPrefix(endpoint.URL, "https://") {
			a.ReportInfrastructure(endpointsField, diagnostic.Typo, "the API server rejects the URL %s of %s: write one that "+
				"starts with https://", confdoc.Quoted(endpoint.URL), endpoint.Name)
		}
	}
}

var endpointName = regexp.MustCompile(`^[a-z0-9-]+$`)

// addEndpoints adds an override for every endpoint of Infrastructure for a service that the provider uses.
// cluster-config-operator writes overrides too, but under other names and not into every configuration.
func (a *rewriter) addEndpoints() {
	if a.status.Region == "" {
		return
	}
	// A name for both kinds of load balancers gives way to one for a single kind.
	hasOwn := func(id string) bool {
		return slices.ContainsFunc(a.status.ServiceEndpoints, func(endpoint configv1.AWSServiceEndpoint) bool {
			return slices.Equal(serviceIDs(endpoint.Name), []string{id})
		})
	}
	compared := sets.New[*confdoc.Node]() // one entry may cover both kinds of load balancers
	for _, endpoint := range a.status.ServiceEndpoints {
		ids := serviceIDs(endpoint.Name)
		for _, id := range ids {
			e := a.index.entries[overrideKey(id, a.status.Region)]
			if len(ids) > 1 && hasOwn(id) {
				continue
			}
			if e == nil {
				a.addEndpoint(id, endpoint)
				continue
			}
			named := e.Value.Get("URL")
			if !compared.Has(named) && !clouds.SameEndpoint(e.Value.String("URL"), endpoint.URL) {
				a.Contradicts("URL", named, endpointsField, endpoint.URL)
			}
			compared.Insert(named)
		}
	}
}

func (a *rewriter) addEndpoint(service string, endpoint configv1.AWSServiceEndpoint) {
	name, settings := endpoint.Name, confdoc.NewMap()
	if service == elBv2 && !strings.HasSuffix(name, "v2") {
		name += "-v2"
	}
	settings.Set("Service", confdoc.NewText(service))
	settings.Set("Region", confdoc.NewText(a.status.Region))
	settings.Set("URL", confdoc.NewText(endpoint.URL))
	settings.Set("SigningRegion", confdoc.NewText(a.status.Region))
	e := a.insert(len(a.Root.Entries), name, settings)
	a.Reportf(nil, diagnostic.Adapted, "%s is added for %q: %s has this endpoint", a.Header(e), service, endpointsField)
}
