package vsphere

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	configv1 "github.com/openshift/api/config/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

// ovnInternalAddress is what OVN-Kubernetes assigns to every node of a cluster with IPv6 for internal traffic.
const ovnInternalAddress = "fd69::2/128"

type nodeNetwork struct {
	name string
	// field is the path below nodeNetworking of Infrastructure, and wanted is its value.
	field  string
	wanted []string
	// foreign are the networks to exclude in any case.
	foreign []string
	// isList means that the setting is a comma-separated list.
	isList bool
}

// useNodeNetworks sets the networks in which the provider looks for node addresses to Infrastructure's. In a cluster
// with IPv6 it excludes addresses that an interface of a node may have but that are not node addresses. Other clusters
// had no problems with such addresses, so their exclusions do not change.
func (v *rewriter) useNodeNetworks() {
	var internal, external configv1.VSpherePlatformNodeNetworkingSpec
	if v.infrastructureDecides() {
		networking := v.Cluster.Spec.VSphere.NodeNetworking
		internal, external = networking.Internal, networking.External
	}
	foreign := v.foreignAddresses()
	for _, n := range []nodeNetwork{
		{"internalVmNetworkName", "internal.network", nonEmpty(internal.Network), nil, false},
		{"externalVmNetworkName", "external.network", nonEmpty(external.Network), nil, false},
		{"internalNetworkSubnetCidr", "internal.networkSubnetCidr", internal.NetworkSubnetCIDR, nil, true},
		{"externalNetworkSubnetCidr", "external.networkSubnetCidr", external.NetworkSubnetCIDR, nil, true},
		{"excludeInternalNetworkSubnetCidr", "internal.excludeNetworkSubnetCidr",
			internal.ExcludeNetworkSubnetCIDR, foreign, true},
		{"excludeExternalNetworkSubnetCidr", "external.excludeNetworkSubnetCidr",
			external.ExcludeNetworkSubnetCIDR, foreign, true},
	} {
		v.useNodeNetwork(n)
	}
	if nodes := v.Value("nodes"); nodes != nil && len(nodes.Entries) == 0 {
		v.Drop("nodes")
	}
}

// infrastructureDecides reports whether Infrastructure decides the node networks, even where its fields are empty.
func (v *rewriter) infrastructureDecides() bool { return v.Cluster.Spec.VSphere != nil }

func (v *rewriter) foreignAddresses() []string {
	if !slices.Contains(v.Cluster.IPFamilies(), clouds.IPv6) {
		return nil
	}
	var foreign []string
	if status := v.Cluster.Status.VSphere; status != nil {
		for _, text := range slices.Concat(status.APIServerInternalIPs, status.IngressIPs) {
			if address, err := netip.ParseAddr(text); err == nil {
				foreign = append(foreign, netip.PrefixFrom(address, address.BitLen()).String())
			}
		}
	}
	return append(foreign, ovnInternalAddress)
}

func nonEmpty(texts ...string) []string {
	return slices.DeleteFunc(texts, func(text string) bool { return text == "" })
}

func (v *rewriter) useNodeNetwork(n nodeNetwork) {
	path := []string{"nodes", n.name}
	user, old := v.Value(path...), v.Text(path...)
	was := nonEmpty(old)
	if n.isList {
		was = nonEmpty(split(confdoc.NewText(old)).Texts()...)
	}
	if !v.infrastructureDecides() {
		n.wanted = was
	}
	wanted := slices.Concat(n.wanted, without(n.foreign, n.wanted))
	text := strings.Join(wanted, ",")
	if n.isList && !v.checkNetworks(n, wanted) || text == old {
		return
	}
	kind, change := diagnostic.Adapted, "is set to "+quotedFew(wanted)
	if len(without(was, wanted)) > 0 {
		kind = diagnostic.Rewritten
	}
	if text == "" {
		change = "is dropped"
	}
	v.Reportf(user, kind, "%s %s: %s", v.Shown(path...), change, v.networkReason(n, was))
	v.Drop(path...)
	if text != "" {
		v.Set(confdoc.NewText(text), path...)
	}
}

// checkNetworks reports networks that the provider cannot parse, and returns whether there are none. One of them
// suffices for the provider to find no address for any node.
func (v *rewriter) checkNetworks(n nodeNetwork, wanted []string) bool {
	before := len(*v.Findings)
	for _, network := range wanted {
		const format = "%s has %s, but must have networks such as 192.0.2.0/24"
		if _, err := netip.ParsePrefix(network); err != nil && v.infrastructureDecides() {
			v.ReportInfrastructure(n.path(), diagnostic.Invalid, format, "it", confdoc.Quoted(network))
		} else if err != nil {
			v.Rejectf(v.Value("nodes", n.name), format, v.Shown("nodes", n.name), confdoc.Quoted(network))
		}
	}
	return len(*v.Findings) == before
}

// checkNodeNetworks reports settings with which nodes get no InternalIP, or no address at all: the provider applies the
// exclusions first, and if it finds one kind of address, it does not need the other (discoverIPs in
// pkg/cloudprovider/vsphere/nodemanager.go).
func (v *rewriter) checkNodeNetworks() {
	for _, n := range []nodeNetwork{{name: "internalVmNetworkName", field: "internal.network"},
		{name: "externalVmNetworkName", field: "external.network"}} {
		if name := v.Text("nodes", n.name); strings.HasPrefix(name, "/") {
			v.reportNodes(n, diagnostic.Doubtful, "it is %s, but the cloud-controller-manager compares the names of networks "+
				"without a path: write the part after the last slash", confdoc.Quoted(name))
		}
	}
	v.checkExclusions()
	isSet := func(names ...string) bool { return v.Text("nodes", names[0])+v.Text("nodes", names[1]) != "" }
	if isSet("externalVmNetworkName", "externalNetworkSubnetCidr") &&
		!isSet("internalVmNetworkName", "internalNetworkSubnetCidr") {
		n := nodeNetwork{name: "externalNetworkSubnetCidr", field: "external"}
		if v.Text("nodes", n.name) == "" {
			n.name = "externalVmNetworkName"
		}
		v.reportNodes(n, diagnostic.Doubtful, "only the network of external addresses is set, so nodes in it get no "+
			"InternalIP: set that of internal addresses too, such as internalNetworkSubnetCidr or, in Infrastructure, "+
			"internal.networkSubnetCidr")
	}
}

func (v *rewriter) checkExclusions() {
	n := nodeNetwork{name: "excludeInternalNetworkSubnetCidr", field: "internal.excludeNetworkSubnetCidr"}
	internal, external := v.networks(n.name), v.networks("excludeExternalNetworkSubnetCidr")
	wanted := v.networks("internalNetworkSubnetCidr")
	if spec := v.Cluster.Spec.VSphere; spec != nil && len(wanted) == 0 {
		for _, network := range spec.MachineNetworks {
			wanted = append(wanted, prefixes(string(network))...) // nodes may have addresses elsewhere
		}
	}
	families := cmp.Or(v.Value("global", "ipFamily"), confdoc.NewTexts([]string{clouds.IPv4})).Texts()
	for _, family := range families {
		all, isOfOther := prefixes("0.0.0.0/0"), netip.Addr.Is6
		if family == clouds.IPv6 {
			all, isOfOther = prefixes("::/0"), netip.Addr.Is4
		}
		ofFamily := slices.DeleteFunc(slices.Clone(wanted), func(p netip.Prefix) bool { return isOfOther(p.Addr()) })
		switch {
		case contain(internal, all) && contain(external, all):
			v.reportNodes(n, diagnostic.Typo, "it excludes all %s addresses of the nodes, as that of external addresses does: "+
				"the cloud-controller-manager initializes no node; exclude only addresses that no node has", family)
		case contain(internal, all), contain(internal, ofFamily):
			v.reportNodes(n, diagnostic.Doubtful, "it excludes all %s addresses of the nodes that could be internal ones, so "+
				"the nodes may get no InternalIP: exclude only addresses that no node has", family)
		}
	}
}

// contain reports whether the excluded networks contain all the others. It is false if there are no others.
func contain(excluded, networks []netip.Prefix) bool {
	isExcluded := func(n netip.Prefix) bool {
		return slices.ContainsFunc(excluded, func(e netip.Prefix) bool {
			return e.Bits() <= n.Bits() && e.Contains(n.Addr())
		})
	}
	isLeft := func(n netip.Prefix) bool { return !isExcluded(n) }
	return len(networks) > 0 && !slices.ContainsFunc(networks, isLeft)
}

// networks returns those of a setting that can be parsed; the others are reported.
func (v *rewriter) networks(name string) []netip.Prefix {
	return prefixes(split(confdoc.NewText(v.Text("nodes", name))).Texts()...)
}

func prefixes(texts ...string) []netip.Prefix {
	var networks []netip.Prefix
	for _, text := range texts {
		if network, err := netip.ParsePrefix(text); err == nil {
			networks = append(networks, network)
		}
	}
	return networks
}

// reportNodes reports a setting where the administrator edits it.
func (v *rewriter) reportNodes(n nodeNetwork, kind diagnostic.Kind, format string, args ...any) {
	if v.infrastructureDecides() {
		v.ReportInfrastructure(n.path(), kind, format, args...)
		return
	}
	v.Reportf(v.Value("nodes", n.name), kind, v.Shown("nodes", n.name)+": "+format, args...)
}

func (n nodeNetwork) path() string { return platformSpec + ".nodeNetworking." + n.field }

func (n nodeNetwork) source() string { return n.path() + " of " + clouds.Infrastructure }

func (v *rewriter) networkReason(n nodeNetwork, was []string) string {
	var reasons []string
	switch {
	case !v.infrastructureDecides() || len(n.wanted)+len(was) == 0: // Infrastructure changes nothing
	case len(n.wanted) == 0:
		reasons = append(reasons, n.source()+" decides and is empty: write it there")
	default:
		reasons = append(reasons, n.source()+" says so")
	}
	if len(without(n.foreign, was)) > 0 {
		reasons = append(reasons,
			"the addresses of the API, of ingress and of OVN-Kubernetes are virtual IPs, not node addresses")
	}
	if len(reasons) == 0 {
		return "the provider allows no spaces and no empty elements in the list"
	}
	return strings.Join(reasons, "; ")
}

func (v *rewriter) useLabels() {
	spec := v.Cluster.Spec.VSphere
	if spec == nil || len(spec.FailureDomains) < 2 {
		v.checkLabels()
		return
	}
	reason := platformSpec + ".failureDomains of " + clouds.Infrastructure +
		" has several, which the tags of this category mark"
	v.Put(confdoc.NewText(regionCategory), diagnostic.Rewritten, reason, "labels", "region")
	v.Put(confdoc.NewText(zoneCategory), diagnostic.Rewritten, reason, "labels", "zone")
}

// OpenShift's tag categories.
const (
	regionCategory = "openshift-region"
	zoneCategory   = "openshift-zone"
)

// checkLabels reports categories by which the provider finds no region and zone of a node, or takes one for the other.
// It looks for both or neither (pkg/cloudprovider/vsphere/zones.go), and initializes no node without both
// (LookupZoneByMoref in pkg/common/connectionmanager/zones.go).
func (v *rewriter) checkLabels() {
	region, zone := v.Value("labels", "region"), v.Value("labels", "zone")
	const alone = "%s alone has no effect, because a node gets both labels or none: add %s, or remove the line"
	shownRegion, shownZone := v.Shown("labels", "region"), v.Shown("labels", "zone")
	switch {
	case region.String() == zone.String() && region.String() != "":
		v.Reportf(zone, diagnostic.Typo, "%s and %s are the same category of tags, but a node needs a tag of each: the "+
			"cloud-controller-manager would initialize no node; correct one of them", shownRegion, shownZone)
	case zone.String() == "" && region.String() != "":
		v.Reportf(region, diagnostic.Doubtful, alone, shownRegion, "zone")
	case region.String() == "" && zone.String() != "":
		v.Reportf(zone, diagnostic.Doubtful, alone, shownZone, "region")
	case region.String() == zoneCategory || zone.String() == regionCategory:
		v.Reportf(region, diagnostic.Doubtful, "%s is %s and %s is %s, but the tags of OpenShift's regions are in the "+
			"category %s, and those of its zones in %s: exchange them", shownRegion, confdoc.Quoted(region.Text), shownZone,
			confdoc.Quoted(zone.Text), regionCategory, zoneCategory)
	}
}

// useIPFamilies makes the provider look for addresses of the cluster's IP families. If the cluster has only IPv4, which
// is the provider's default, the user may add IPv6.
func (v *rewriter) useIPFamilies() {
	wanted := v.Cluster.IPFamilies()
	list := strings.Join(wanted, ", ")
	for _, setting := range v.everywhere("ipFamily") {
		user := v.Value(setting...)
		if user == nil || !v.checkIPFamilies(user, setting) || wanted == nil {
			continue // nil if Infrastructure has the same vCenter twice
		}
		families := user.Texts()
		if slices.Equal(families, wanted) || list == clouds.IPv4 && families[0] == clouds.IPv4 {
			continue
		}
		v.drop(diagnostic.Rewritten, fmt.Sprintf("it is %s, but %s makes it %s",
			confdoc.Cut(strings.Join(families, ", ")), clouds.ServiceNetwork, list), setting...)
	}
	if wanted != nil && list != clouds.IPv4 && v.Value("global", "ipFamily") == nil {
		v.Reportf(nil, diagnostic.Adapted, "global.ipFamily is set to %s: %s has these families", list, clouds.ServiceNetwork)
		v.Set(confdoc.NewTexts(wanted), "global", "ipFamily")
	}
}

// checkIPFamilies reports whether a list contains only known families, and normalizes them to the provider's spelling.
func (v *rewriter) checkIPFamilies(list *confdoc.Node, path []string) bool {
	isKnown := len(list.Items) > 0
	for _, item := range list.Items {
		family := strings.ToLower(strings.TrimSpace(item.Text))
		switch {
		case family != clouds.IPv4 && family != clouds.IPv6:
			v.Rejectf(item, "%s is %s, but must be ipv4, ipv6 or both", v.Shown(path...), confdoc.Quoted(item.Text))
			isKnown = false
		case family != item.Text:
			v.Reportf(item, diagnostic.Adapted, "%s is written as %s, the word that the provider knows",
				v.Shown(path...), family)
			item.Text = family
		}
	}
	return isKnown
}
