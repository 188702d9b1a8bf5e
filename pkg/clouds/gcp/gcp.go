// Package gcp rewrites configurations for cloud-provider-gcp.
package gcp

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

const regionField = "status.platformStatus.gcp.region"

type rewriter struct {
	clouds.Run
	// region is the region in Infrastructure, or empty if it is unknown.
	region string
	// universe is the domain of the APIs that the credentials are for, empty if unknown.
	universe string
}

// Rewrite checks and rewrites a Google cloud.conf, and checks the key or the federation of the credentials Secret.
//
// The text is what openshift/cloud-provider-gcp reads. Rewrite makes the provider log in with service_account.json:
// without token-url = nil the provider requests tokens from the instance's metadata server, even if the file exists.
// The provider exits if GOOGLE_APPLICATION_CREDENTIALS names a file that does not exist, so the Secret is required. An
// api-endpoint without a trailing slash gets one. Unknown keys are kept because a newer provider may know them.
// Comments are dropped.
func Rewrite(src clouds.Source) clouds.Result {
	g := &rewriter{Run: clouds.NewRun(src, confdoc.Reader{
		Format: confdoc.INI, Fields: schema, Empty: "write at least the line [global]",
	})}
	if status := g.Cluster.Status.GCP; status != nil {
		g.region = g.RegionOf(regionField, status.Region, zonePattern)
	}
	g.AddSection("global") // the written file must not be empty
	if address := g.Text("global", "token-url"); address != "" && address != "nil" && !clouds.IsEndpoint(address) {
		g.Rejectf(g.Value("global", "token-url"), "token-url is neither nil nor of the form https://host/path")
	}
	g.checkCluster()
	g.checkNetwork()
	g.checkZones()
	credentials, tokens := g.credentials()
	g.checkEndpoints()
	g.Put(confdoc.NewText("nil"), diagnostic.Rewritten, "the cloud-controller-manager logs in with the "+
		"service_account.json of its own credentials Secret, and would ask the metadata server otherwise",
		"global", "token-url")
	g.endEndpoint()
	return g.Finish(clouds.Result{Config: g.Encode(), Credentials: credentials, Tokens: tokens})
}

// region returns the region of a zone as the provider derives it, or an empty string if the text cannot be a zone.
func region(zone string) string { return zone[:max(0, strings.LastIndex(zone, "-"))] }

func isZone(text string) bool { return region(text) != "" }

// The syntax of zones and tags (https://cloud.google.com/compute/docs/regions-zones#identifying_a_region_or_zone,
// https://cloud.google.com/vpc/docs/add-remove-network-tags#restrictions).
var (
	zonePattern = regexp.MustCompile(`^([a-z]+(?:-[a-z0-9]+)*\d)-[a-z0-9]+$`)
	tagPattern  = regexp.MustCompile(`^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$`)
)

// checkCluster reports contradictions to Infrastructure. A project given by its number cannot be compared.
func (g *rewriter) checkCluster() {
	status := g.Cluster.Status.GCP
	if status == nil {
		return
	}
	project := g.Value("global", "project-id")
	if _, err := strconv.ParseUint(project.String(), 10, 64); err != nil {
		g.Contradicts("project-id", project, "status.platformStatus.gcp.projectID", status.ProjectID)
	}
	if zone := g.Value("global", "local-zone"); isZone(zone.String()) && !zonePattern.MatchString(zone.Text) {
		g.Reportf(zone, diagnostic.Typo, "local-zone is %s, but must be a zone, such as %s-a", confdoc.Quoted(zone.Text),
			cmp.Or(g.region, "us-central1"))
	} else {
		g.checkRegion("local-zone", region(zone.String()))
	}
	if _, after, ok := strings.Cut("/"+g.Text("global", "subnetwork-name"), "/regions/"); ok {
		named, _, _ := strings.Cut(after, "/")
		g.checkRegion("subnetwork-name", named)
	}
	g.checkPrefix(g.Value("global", "external-instance-groups-prefix"))
}

// checkPrefix reports the prefix of another cluster's instance groups: the provider would put control-plane nodes into
// a second group, which Google rejects. The installer's groups start with the infrastructure name.
func (g *rewriter) checkPrefix(prefix *confdoc.Node) {
	text, name := prefix.String(), g.Cluster.Name
	if text != "" && name != "" && !strings.HasPrefix(text, name) && !strings.HasPrefix(name, text) {
		g.Reportf(prefix, diagnostic.Doubtful, "external-instance-groups-prefix is %s, but status.infrastructureName of %s "+
			"is %s, with which the names of the installer's instance groups start: correct it, unless yours have other names",
			confdoc.Quoted(text), clouds.Infrastructure, confdoc.Quoted(name))
	}
}

// checkNetwork reports missing tags, and a stack type that contradicts the order of the cluster's IP families. Without
// node-tags the provider looks on each instance for a tag that is a prefix of its name (computeHostTags in
// providers/gce/gce_instances.go). The stack type changes only the order of addresses (orderAddresses, same file).
func (g *rewriter) checkNetwork() {
	isDisabled, hasTags := g.Text("global", "firewall-rules-management") == "Disabled", false
	for _, e := range g.Value("global").Members() {
		if e.Name != "node-tags" {
			continue
		}
		hasTags = !e.Value.Blank // a key alone empties the list
		if hasTags && e.Value.Text == "" && !isDisabled {
			g.Reportf(e.Value, diagnostic.Typo, "node-tags is empty, and Google rejects an empty tag: Services of type "+
				"LoadBalancer get no load balancer; remove the line")
		}
	}
	if !hasTags && !isDisabled && !g.Findings.Has(diagnostic.Invalid) {
		g.Reportf(nil, diagnostic.Doubtful, "there is no node-tags: without it Services of type LoadBalancer get no load "+
			"balancer unless the name of each node starts with one of its tags; write a line for each tag of the nodes")
	}
	families := g.Cluster.IPFamilies()
	if stack := g.Value("global", "stack-type"); stack.String() == "IPV6" && slices.Index(families, clouds.IPv4) == 0 {
		g.Reportf(stack, diagnostic.Ambiguous, "stack-type is IPV6, so the IPv6 addresses of a node come first, but %s "+
			"starts with IPv4: remove the line", clouds.ServiceNetwork)
	}
}

// checkZones reports that the provider manages only the zone in which it runs (ManagedZones in providers/gce/gce.go).
// It finds new nodes and the members of load balancers in managed zones only (gce_instances.go in the same directory).
func (g *rewriter) checkZones() {
	if g.IsTrue("global", "multizone") || g.IsTrue("global", "regional") || g.Findings.Has(diagnostic.Invalid) {
		return
	}
	at := cmp.Or(g.Value("global", "multizone"), g.Value("global", "regional"))
	g.Reportf(at, diagnostic.Doubtful, "neither multizone nor regional is true: the cloud-controller-manager finds new "+
		"nodes, and nodes for load balancers, only in the zone in which it runs; write multizone = true")
}

func (g *rewriter) checkRegion(key, named string) {
	if at := g.Value("global", key); at != nil {
		value := *at
		value.Text = named
		g.Contradicts("the region of "+key, &value, regionField, g.region)
	}
}

// checkEndpoints reports an API endpoint outside the universe of the credentials: it would receive their tokens.
func (g *rewriter) checkEndpoints() {
	for _, key := range []string{"api-endpoint", "container-api-endpoint"} {
		address := g.Text("global", key)
		if g.universe == "" || !clouds.IsEndpoint(address) || clouds.IsSecureUnder(address, g.universe) {
			continue
		}
		g.Reportf(g.Value("global", key), diagnostic.Redirected,
			"%s is %s, which is not an API endpoint for the %s of the credentials Secret: "+
				"the cloud-controller-manager would send its tokens there; remove the line",
			key, confdoc.Quoted(address), credentialsFile)
	}
}

// computePath matches the path of the API of Compute Engine, to which the provider appends projects/.
var computePath = regexp.MustCompile(`^https://[^/]+/compute/[^/]+/?$`)

// endEndpoint reports an API endpoint of Google without the path of the API. It appends a slash to others, because the
// provider concatenates the endpoint and the paths of networks.
func (g *rewriter) endEndpoint() {
	address := g.Text("global", "api-endpoint")
	if clouds.IsSecureUnder(address, "googleapis.com") && !computePath.MatchString(address) {
		g.Reportf(g.Value("global", "api-endpoint"), diagnostic.Typo, "api-endpoint is %s, but must be like "+
			"https://compute.googleapis.com/compute/v1/: the cloud-controller-manager appends projects/",
			confdoc.Quoted(address))
	} else if address != "" && !strings.HasSuffix(address, "/") {
		g.Put(confdoc.NewText(address+"/"), diagnostic.Rewritten,
			"the cloud-controller-manager appends the names of networks to it", "global", "api-endpoint")
	}
}

// path returns a field for a network, which the provider passes to Google as a path if it has a slash.
func path(name, collection string) []confdoc.Field {
	return confdoc.Field{Passed: true, Valid: regexp.MustCompile(`^[^/]*$|(^|/)` + collection + `/[^/]+$`).MatchString,
		Hint: "only a name, or end in " + strings.Replace(collection, "[^/]+", "REGION", 1) + "/NAME"}.For(name)
}

// schema are the keys that openshift/cloud-provider-gcp reads (ConfigGlobal in providers/gce/gce.go, at commit
// 0811987e7530): the keys of kubernetes/cloud-provider-gcp (at commit 0315e7beef45) and two of its own,
// external-instance-groups-prefix and firewall-rules-management. No key is for the in-tree provider alone. token-body
// has no effect with token-url = nil.
var schema = []confdoc.Field{{Name: "global", Is: confdoc.Object, Fields: slices.Concat(
	confdoc.Dropped("the cloud-controller-manager logs in with service_account.json instead; remove it, as everyone who "+
		"may read the ConfigMap can read this secret", "token-body"),
	confdoc.FieldsOf(confdoc.Text, "token-url", "project-id", "network-project-id"),
	path("network-name", `global/networks`), path("subnetwork-name", `regions/[^/]+/subnetworks`),
	confdoc.FieldsOf(confdoc.Text, "secondary-range-name", "node-instance-prefix"),
	[]confdoc.Field{
		{Name: "local-zone", Valid: isZone, Hint: "a zone, such as us-central1-a"},
		{Name: "node-tags", Is: confdoc.List, Valid: tagPattern.MatchString, Passed: true,
			Hint: "one tag of lower-case letters, digits and hyphens; for several, write several lines"},
		{Name: "external-instance-groups-prefix"},
		{Name: "stack-type", Values: []string{"IPV4", "IPV6", "IPV4_IPV6"}, Fallback: "IPV4"},
		{Name: "firewall-rules-management", Values: []string{"Enabled", "Disabled"}, Fallback: "Enabled"},
	},
	confdoc.Field{Schemes: []string{"https", "http"}}.For("api-endpoint", "container-api-endpoint"),
	confdoc.FieldsOf(confdoc.Bool, "regional", "multizone"),
	confdoc.FieldsOf(confdoc.List, "alpha-features"),
)}}
