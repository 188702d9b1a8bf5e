package vsphere

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

// useLabels sets the tag categories that mark regions and zones in OpenShift where there are several failure domains.
func (v *rewriter) useLabels() {
	spec := v.Cluster.Spec.VSphere
	if spec == nil || len(spec.FailureDomains) < 2 {
		return
	}
	reason := platformSpec + ".failureDomains of " + clouds.Infrastructure +
		" has several, which the tags of this category mark"
	v.Put(confdoc.NewText("openshift-region"), diagnostic.Rewritten, reason, "labels", "region")
	v.Put(confdoc.NewText("openshift-zone"), diagnostic.Rewritten, reason, "labels", "zone")
}

// The IP families as the provider spells them.
const (
	ipv4 = "ipv4"
	ipv6 = "ipv6"
)

// serviceNetwork is the field that decides the IP families.
const serviceNetwork = "spec.serviceNetwork of network.config.openshift.io/cluster"

// ipFamilies returns the IP families of the service networks, the primary one first; nil where they are unknown.
func (v *rewriter) ipFamilies() []string {
	var families []string
	for _, network := range v.Cluster.ServiceNetworks {
		prefix, err := netip.ParsePrefix(network)
		if err != nil {
			return nil
		}
		family := ipv6
		if prefix.Addr().Is4() {
			family = ipv4
		}
		if !slices.Contains(families, family) {
			families = append(families, family)
		}
	}
	return families
}

// useIPFamilies makes the provider look for the addresses that the cluster's networks need. In a cluster with IPv4
// only, which is the provider's default, the user may ask for IPv6 in addition.
func (v *rewriter) useIPFamilies() {
	wanted := v.ipFamilies()
	list := strings.Join(wanted, ", ")
	for _, setting := range v.everywhere("ipFamily") {
		user := v.Value(setting...)
		if user == nil || !v.checkIPFamilies(user, setting) || wanted == nil {
			continue // nil where Infrastructure has the same vCenter twice
		}
		families := user.Texts()
		if slices.Equal(families, wanted) || list == ipv4 && families[0] == ipv4 {
			continue
		}
		v.drop(diagnostic.Rewritten, fmt.Sprintf("it is %s, but %s makes it %s",
			confdoc.Cut(strings.Join(families, ", ")), serviceNetwork, list), setting...)
	}
	if wanted != nil && list != ipv4 && v.Value("global", "ipFamily") == nil {
		v.Reportf(nil, diagnostic.Adapted, "global.ipFamily is set to %s: %s has these families", list, serviceNetwork)
		v.Set(confdoc.NewTexts(wanted), "global", "ipFamily")
	}
}

// checkIPFamilies reports whether a list has known words only, and writes them as the provider compares them.
func (v *rewriter) checkIPFamilies(list *confdoc.Node, path []string) bool {
	isKnown := len(list.Items) > 0
	for _, item := range list.Items {
		family := strings.ToLower(strings.TrimSpace(item.Text))
		switch {
		case family != ipv4 && family != ipv6:
			v.Rejectf(item, "%s is %s, but must be ipv4, ipv6 or both",
				v.Shown(path...), confdoc.Quoted(item.Text))
			isKnown = false
		case family != item.Text:
			v.Reportf(item, diagnostic.Adapted, "%s is written as %s, the word that the provider knows",
				v.Shown(path...), family)
			item.Text = family
		}
	}
	return isKnown
}
