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

// useLabels names the tag categories by which OpenShift marks regions and zones, where there is more than one failure domain.
func (v *rewriter) useLabels() {
	spec := v.src.Cluster.Spec.VSphere
	if spec == nil || len(spec.FailureDomains) < 2 {
		return
	}
	reason := fmt.Sprintf("%s.failureDomains of %s has several, which the tags of this category mark", platformSpec, clouds.Infrastructure)
	v.put("openshift-region", diagnostic.Rewritten, reason, "labels", "region")
	v.put("openshift-zone", diagnostic.Rewritten, reason, "labels", "zone")
}

// The IP families, as the provider calls them.
const (
	ipv4 = "ipv4"
	ipv6 = "ipv6"
)

// ipFamilies are those of the service networks, the primary one first; nil when it is not known.
func (v *rewriter) ipFamilies() []string {
	var families []string
	for _, network := range v.src.Cluster.ServiceNetworks {
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

// useIPFamilies makes the provider look for the addresses that the cluster's networks need. Where that is IPv4 only, the
// provider's default, the user may ask for IPv6 in addition.
func (v *rewriter) useIPFamilies() {
	wanted := v.ipFamilies()
	list := strings.Join(wanted, ", ")
	for _, scope := range v.scopes() {
		user := v.Value(append(slices.Clone(scope), "ipFamily")...)
		if user == nil || !v.readIPFamilies(scope, user) {
			continue
		}
		families := user.Texts()
		if len(families) == 0 || wanted == nil || slices.Equal(families, wanted) || list == ipv4 && families[0] == ipv4 {
			continue
		}
		v.ReportAt(user, diagnostic.Rewritten, fmt.Sprintf("%s is dropped: it is %s, but spec.serviceNetwork of network.config.openshift.io/cluster makes it %s",
			v.shown(scope, "ipFamily"), confdoc.Cut(strings.Join(families, ", ")), list))
		v.Drop(append(slices.Clone(scope), "ipFamily")...)
	}
	if wanted == nil || list == ipv4 || v.Value("global", "ipFamily") != nil {
		return
	}
	v.adapted(fmt.Sprintf("global.ipFamily is set to %s: spec.serviceNetwork of network.config.openshift.io/cluster has these families", list))
	v.Set(confdoc.NewTexts(wanted), "global", "ipFamily")
}

// readIPFamilies checks the words and writes them as the provider compares them.
func (v *rewriter) readIPFamilies(scope []string, user *confdoc.Node) bool {
	good := true
	for _, item := range user.Items {
		family := strings.ToLower(strings.TrimSpace(item.Text))
		switch {
		case family != ipv4 && family != ipv6:
			v.ReportAt(item, diagnostic.Invalid, fmt.Sprintf("%s is %s, but wants ipv4, ipv6 or both", v.shown(scope, "ipFamily"), confdoc.Quoted(item.Text)))
			good = false
		case family != item.Text:
			v.ReportAt(item, diagnostic.Adapted, fmt.Sprintf("%s is written as %s, the word that the provider knows", v.shown(scope, "ipFamily"), family))
			item.Text = family
		}
	}
	return good
}
