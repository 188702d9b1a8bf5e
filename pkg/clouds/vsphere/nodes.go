package vsphere

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	configv1 "github.com/openshift/api/config/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

// ovnInternalAddress is what OVN-Kubernetes gives every node for its own traffic on a cluster with IPv6.
const ovnInternalAddress = "fd69::2/128"

// useNodeNetworks makes the networks that node addresses are looked for in those of Infrastructure. In a cluster with IPv6
// it excludes the addresses that a node may hold but that are not its own; in one without it, such addresses were never a
// problem, and a change might be one.
func (v *rewriter) useNodeNetworks() {
	var networking configv1.VSpherePlatformNodeNetworking
	decides := v.src.Cluster.Spec.VSphere != nil
	if decides {
		networking = v.src.Cluster.Spec.VSphere.NodeNetworking
	}
	foreign := v.foreignAddresses()
	for _, side := range []struct {
		name, title string
		spec        configv1.VSpherePlatformNodeNetworkingSpec
	}{{"internal", "Internal", networking.Internal}, {"external", "External", networking.External}} {
		field := platformSpec + ".nodeNetworking." + side.name
		v.useNodeNetwork(nodeNetwork{
			name: side.name + "VmNetworkName", field: field + ".network", decides: decides, wanted: nonEmptyTexts(side.spec.Network)})
		v.useNodeNetwork(nodeNetwork{
			name: side.name + "NetworkSubnetCidr", field: field + ".networkSubnetCidr", decides: decides, wanted: side.spec.NetworkSubnetCIDR, isList: true})
		v.useNodeNetwork(nodeNetwork{
			name: "exclude" + side.title + "NetworkSubnetCidr", field: field + ".excludeNetworkSubnetCidr", decides: decides,
			wanted: side.spec.ExcludeNetworkSubnetCIDR, more: foreign, isList: true})
	}
}

// foreignAddresses are the addresses of the API and of ingress and OVN-Kubernetes' own, where the cluster has IPv6.
func (v *rewriter) foreignAddresses() []string {
	if !slices.Contains(v.ipFamilies(), ipv6) {
		return nil
	}
	var foreign []string
	if status := v.src.Cluster.Status.VSphere; status != nil {
		for _, text := range slices.Concat(status.APIServerInternalIPs, status.IngressIPs) {
			if address, err := netip.ParseAddr(text); err == nil {
				foreign = append(foreign, netip.PrefixFrom(address, address.BitLen()).String())
			}
		}
	}
	return append(foreign, ovnInternalAddress)
}

func nonEmptyTexts(texts ...string) []string {
	return slices.DeleteFunc(texts, func(text string) bool { return text == "" })
}

// nodeNetwork is one setting of nodes.
type nodeNetwork struct {
	name string
	// field is the field of Infrastructure that has the setting, and wanted is what it says.
	field  string
	wanted []string
	// decides tells that Infrastructure decides, even where it says nothing.
	decides bool
	// more is excluded whatever the field says.
	more []string
	// isList tells that the setting is a list of networks with commas.
	isList bool
}

// textsOf are the elements of the user's value.
func (n nodeNetwork) textsOf(user *confdoc.Node) []string {
	switch {
	case user == nil:
		return nil
	case !n.isList:
		return nonEmptyTexts(user.Text)
	}
	var texts []string
	for network := range strings.SplitSeq(user.Text, ",") {
		texts = append(texts, nonEmptyTexts(strings.TrimSpace(network))...)
	}
	return texts
}

func (v *rewriter) useNodeNetwork(n nodeNetwork) {
	user := v.Value("nodes", n.name)
	was := n.textsOf(user)
	wanted := slices.Clone(n.wanted)
	if !n.decides {
		wanted = slices.Clone(was)
	}
	wanted = append(wanted, without(n.more, wanted)...)
	if n.isList && !v.areNetworks(n, user, wanted) {
		return
	}
	text := strings.Join(wanted, ",")
	if user != nil && user.Text == text || user == nil && text == "" {
		return
	}
	v.reportNodeNetwork(n, user, was, wanted)
	v.Drop("nodes", n.name)
	if nodes := v.Value("nodes"); text != "" {
		v.Set(confdoc.NewText(text), "nodes", n.name)
	} else if len(nodes.Entries) == 0 {
		v.Drop("nodes")
	}
}

// areNetworks reports what the provider could not read: it would find no address for any node.
func (v *rewriter) areNetworks(n nodeNetwork, user *confdoc.Node, wanted []string) bool {
	good := true
	for _, network := range wanted {
		if _, err := netip.ParsePrefix(network); err == nil {
			continue
		}
		good = false
		const wants = "%s has %s, but wants networks such as 192.0.2.0/24"
		if n.decides {
			v.Report(0, 0, diagnostic.Invalid, fmt.Sprintf(wants, n.field+" of "+clouds.Infrastructure, confdoc.Quoted(network)))
			continue
		}
		v.ReportAt(user, diagnostic.Invalid, fmt.Sprintf(wants, v.shown([]string{"nodes"}, n.name), confdoc.Quoted(network)))
	}
	return good
}

func (v *rewriter) reportNodeNetwork(n nodeNetwork, user *confdoc.Node, was, wanted []string) {
	var reasons []string
	if n.decides {
		reasons = append(reasons, fmt.Sprintf("%s of %s says so", n.field, clouds.Infrastructure))
		if len(n.wanted) == 0 {
			reasons = []string{fmt.Sprintf("%s of %s decides and is empty: write it there", n.field, clouds.Infrastructure)}
		}
	}
	if len(without(n.more, was)) > 0 {
		more := "the addresses of the API, of ingress and of OVN-Kubernetes are not a node's own"
		if len(n.wanted) == 0 && len(was) == 0 {
			reasons = nil // Infrastructure has no part in it
		}
		reasons = append(reasons, more)
	}
	if len(reasons) == 0 {
		reasons = []string{"the provider allows no blanks in the list"}
	}
	reason := strings.Join(reasons, "; ")
	kind, shown := diagnostic.Adapted, "nodes."+n.name
	if user == nil {
		user = &confdoc.Node{}
	} else {
		shown = v.shown([]string{"nodes"}, n.name)
	}
	if len(without(was, wanted)) > 0 {
		kind = diagnostic.Rewritten
	}
	if len(wanted) == 0 {
		v.ReportAt(user, kind, fmt.Sprintf("%s is dropped: %s", shown, reason))
		return
	}
	v.ReportAt(user, kind, fmt.Sprintf("%s is set to %s: %s", shown, few(wanted), reason))
}
