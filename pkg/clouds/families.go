package clouds

import (
	"net/netip"
	"slices"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

// The IP families as the providers spell them.
const (
	IPv4 = "ipv4"
	IPv6 = "ipv6"
)

// ServiceNetwork is the field that decides the IP families of a cluster.
const ServiceNetwork = "spec.serviceNetwork of network.config.openshift.io/cluster"

// IPFamilies returns the IP families of the service networks, the primary one first; nil if they are unknown.
func (c Cluster) IPFamilies() []string {
	var families []string
	for _, network := range c.ServiceNetworks {
		prefix, err := netip.ParsePrefix(network)
		if err != nil {
			return nil
		}
		family := IPv6
		if prefix.Addr().Is4() {
			family = IPv4
		}
		if !slices.Contains(families, family) {
			families = append(families, family)
		}
	}
	return families
}

// CheckIPFamilies reports a setting with which nodes get only addresses of the reported families, if a service network
// has another family. k8s.io/cloud-provider initializes no node with an address that its cloud does not report
// (node/helpers/address.go).
func (r Run) CheckIPFamilies(at *confdoc.Node, kind diagnostic.Kind, setting, action string, reported ...string) {
	for _, family := range r.Cluster.IPFamilies() {
		if !slices.Contains(reported, family) {
			r.Reportf(at, kind, "%s, so nodes get no %s addresses, but %s has %[2]s: %[4]s", setting,
				map[string]string{IPv4: "IPv4", IPv6: "IPv6"}[family], ServiceNetwork, action)
		}
	}
}
