package cloudconfig

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

const (
	// VSphereMultiVCenterDay2 is the feature gate that lets Infrastructure gain and lose vCenters after the installation.
	VSphereMultiVCenterDay2 = "VSphereMultiVCenterDay2"

	vSpherePlatformSpec = "spec.platformSpec.vsphere"
	vSphereVCenters     = vSpherePlatformSpec + ".vcenters of " + infrastructure

	// defaultVCenterPort is what the provider takes where no port is set.
	defaultVCenterPort = 443
)

// vSphereVCenter is a vCenter as Infrastructure has it.
type vSphereVCenter struct {
	server      string
	port        int32
	datacenters []string
}

// wantedVCenters are the vCenters of Infrastructure with the datacenters of its failure domains. There are none in a cluster
// that was installed before Infrastructure had them.
func (v *vSphere) wantedVCenters() []vSphereVCenter {
	spec := v.src.Cluster.Spec.VSphere
	if spec == nil {
		return nil
	}
	var wanted []vSphereVCenter
	for _, vcenter := range spec.VCenters {
		wanted = append(wanted, vSphereVCenter{vcenter.Server, vcenter.Port, slices.Clone(vcenter.Datacenters)})
	}
	for _, domain := range spec.FailureDomains {
		if domain.Server == "" {
			continue
		}
		i := slices.IndexFunc(wanted, func(w vSphereVCenter) bool { return strings.EqualFold(w.server, domain.Server) })
		if i < 0 {
			i = len(wanted)
			wanted = append(wanted, vSphereVCenter{server: domain.Server})
		}
		if datacenter := domain.Topology.Datacenter; datacenter != "" && !slices.Contains(wanted[i].datacenters, datacenter) {
			wanted[i].datacenters = append(wanted[i].datacenters, datacenter)
		}
	}
	return wanted
}

// useVCenters makes the vCenters those of Infrastructure. Where it has none, the user's count.
func (v *vSphere) useVCenters() {
	v.moveGlobalServer()
	var users []*treeEntry
	if vcenters := v.value("vcenter"); vcenters != nil {
		users = vcenters.entries
	}
	wanted := v.wantedVCenters()
	v.checkPorts()
	if !v.checkServers(users, wanted) || v.contradictsInfrastructure(users, wanted) {
		v.noVCenters = true
		return
	}
	if len(wanted) == 0 {
		v.keepVCenters(users)
		return
	}
	rebuilt := newMap()
	for _, w := range wanted {
		i := slices.IndexFunc(users, w.is)
		if i < 0 {
			rebuilt.entries = append(rebuilt.entries, v.newVCenter(w))
			continue
		}
		rebuilt.entries = append(rebuilt.entries, v.mergedVCenter(users[i], w))
		users = slices.Delete(slices.Clone(users), i, i+1)
	}
	for _, e := range users {
		v.report(e.line, e.column, diagnostic.Rewritten, fmt.Sprintf("vCenter %s is dropped: %s does not have it, only %s",
			quoted(serverOf(e)), vSphereVCenters, serversOf(wanted)))
	}
	v.set(rebuilt, "vcenter")
}

// moveGlobalServer gives the one vCenter of the oldest configurations an entry of its own.
func (v *vSphere) moveGlobalServer() {
	e := v.drop("global", "server")
	if e == nil {
		return
	}
	if vcenters := v.value("vcenter"); vcenters != nil && slices.ContainsFunc(vcenters.entries, vSphereVCenter{server: e.value.text}.is) {
		return // the provider takes no notice of it
	}
	vcenter := &treeNode{kind: mapNode, line: e.line, column: e.column}
	vcenter.set("server", e.value)
	v.set(vcenter, "vcenter", e.value.text)
	moved := v.value("vcenter").entry(e.value.text)
	moved.line, moved.column = e.line, e.column
	v.report(e.line, e.column, diagnostic.Adapted, fmt.Sprintf("%s becomes an entry of vcenter: it is the form that knows several",
		v.shown([]string{"global"}, "server")))
}

// serverOf is the name or address of a vCenter: its server, or the name of its entry.
func serverOf(e *treeEntry) string {
	if server := e.value.get("server"); server != nil {
		return server.text
	}
	return e.name
}

func serversOf(wanted []vSphereVCenter) string {
	servers := make([]string, len(wanted))
	for i, w := range wanted {
		servers[i] = w.server
	}
	return few(servers)
}

// is tells whether the entry is about this vCenter.
func (w vSphereVCenter) is(e *treeEntry) bool { return strings.EqualFold(w.server, serverOf(e)) }

// hostName has the characters of host names and IP addresses.
var hostName = regexp.MustCompile(`^[A-Za-z0-9._:%-]+$`)

// serverProblem says why the provider cannot reach a server of that name.
func serverProblem(server string) string {
	host, port, _ := strings.Cut(server, ":")
	_, err := strconv.ParseUint(port, 10, 16)
	switch {
	case !hostName.MatchString(server):
		return "is " + quoted(server) + ", but wants the host name or IP address alone"
	case err == nil && host != "":
		return "is " + quoted(server) + ", but wants the host name or IP address alone: write the port under its own key"
	}
	return ""
}

// checkServers reports names that are none and vCenters that stand twice.
func (v *vSphere) checkServers(users []*treeEntry, wanted []vSphereVCenter) bool {
	good := true
	for _, w := range wanted {
		if problem := serverProblem(w.server); problem != "" {
			v.report(0, 0, diagnostic.Invalid, "a server in "+vSphereVCenters+" "+problem)
			good = false
		}
	}
	for i, e := range users {
		server, at := serverOf(e), &treeNode{line: e.line, column: e.column}
		if set := e.value.get("server"); set != nil {
			at = set
		}
		if problem := serverProblem(server); problem != "" {
			v.reportAt(at, diagnostic.Invalid, "the vCenter's server "+problem)
			good = false
		}
		if twin := slices.IndexFunc(users[:i], vSphereVCenter{server: server}.is); twin >= 0 {
			v.reportPair(e, users[twin].line, diagnostic.Invalid, fmt.Sprintf("duplicate vCenter %s: keep one", quoted(server)))
			good = false
		}
	}
	return good
}

// checkPorts reports numbers that are no ports. The provider would find no vCenter there.
func (v *vSphere) checkPorts() {
	for _, scope := range v.scopes() {
		port := v.value(append(slices.Clone(scope), "port")...)
		if port == nil {
			continue
		}
		if number, err := strconv.ParseUint(port.text, 10, 16); err != nil || number == 0 {
			v.reportAt(port, diagnostic.Invalid, fmt.Sprintf("%s is %s, but wants a port, which is at most 65535", v.shown(scope, "port"), cut(port.text)))
		}
	}
}

// contradictsInfrastructure reports a configuration and an Infrastructure that have no vCenter in common: one of them is
// wrong, and nothing tells which. Behind the feature gate Infrastructure is the one that is edited, so there it is right.
func (v *vSphere) contradictsInfrastructure(users []*treeEntry, wanted []vSphereVCenter) bool {
	if len(users) == 0 || len(wanted) == 0 || slices.Contains(v.src.Cluster.FeatureGates, VSphereMultiVCenterDay2) ||
		slices.ContainsFunc(wanted, func(w vSphereVCenter) bool { return slices.ContainsFunc(users, w.is) }) {
		return false
	}
	for _, e := range users {
		v.report(e.line, e.column, diagnostic.Invalid, fmt.Sprintf("vCenter %s is not in %s, which has %s: write the same name in both",
			quoted(serverOf(e)), vSphereVCenters, serversOf(wanted)))
	}
	return true
}

// keepVCenters makes do without Infrastructure.
func (v *vSphere) keepVCenters(users []*treeEntry) {
	if len(users) == 0 && !v.unread {
		v.noVCenters = true
		write := "write the key vcenter with an entry"
		if v.isINI {
			write = `write a section [VirtualCenter "server"]`
		}
		v.report(0, 0, diagnostic.Invalid, fmt.Sprintf("there is no vCenter: %s, or add it to %s", write, vSphereVCenters))
	}
	for _, e := range users {
		switch {
		case e.value.get("server") != nil:
		case v.isINI:
			setFirst(e.value, "server", newText(e.name))
		default:
			v.report(e.line, e.column, diagnostic.Invalid, fmt.Sprintf("%s has no server: write the host name or IP address of the vCenter",
				cut("vcenter."+e.name)))
		}
	}
}

// setFirst adds a setting before all others.
func setFirst(n *treeNode, name string, value *treeNode) {
	n.entries = slices.Insert(n.entries, 0, &treeEntry{name: name, value: value})
}

func (v *vSphere) newVCenter(w vSphereVCenter) *treeEntry {
	v.adapted(fmt.Sprintf("vCenter %s is added: %s has it", quoted(w.server), vSphereVCenters))
	vcenter := newMap()
	vcenter.set("server", newText(w.server))
	if w.port != 0 && int(w.port) != v.globalPort() {
		vcenter.set("port", newInt(int(w.port)))
	}
	if len(w.datacenters) > 0 {
		vcenter.set("datacenters", textList(w.datacenters))
	}
	return &treeEntry{name: w.server, value: vcenter}
}

// globalPort is the port of vCenters that have none of their own.
func (v *vSphere) globalPort() int {
	if port, err := strconv.Atoi(v.text("global", "port")); err == nil {
		return port
	}
	return defaultVCenterPort
}

// mergedVCenter is the user's entry with what Infrastructure says about it.
func (v *vSphere) mergedVCenter(e *treeEntry, w vSphereVCenter) *treeEntry {
	scope := []string{"vcenter", e.name}
	switch server := e.value.get("server"); {
	case server == nil:
		setFirst(e.value, "server", newText(w.server))
		if !v.isINI {
			v.report(e.line, e.column, diagnostic.Adapted, fmt.Sprintf("%s is set to %s: %s has it", v.shown(scope, "server"), quoted(w.server), vSphereVCenters))
		}
	case server.text != w.server:
		v.reportAt(server, diagnostic.Rewritten, fmt.Sprintf("%s is set to %s: that is how %s spells it", v.shown(scope, "server"), quoted(w.server), vSphereVCenters))
		server.text = w.server
	}
	if e.name != w.server {
		v.report(e.line, e.column, diagnostic.Adapted, fmt.Sprintf("the entry %s of vcenter is renamed to its server, %s", quoted(e.name), quoted(w.server)))
	}
	v.mergePort(e, scope, w)
	v.mergeDatacenters(e, scope, w)
	return &treeEntry{name: w.server, value: e.value, line: e.line, column: e.column}
}

func (v *vSphere) mergePort(e *treeEntry, scope []string, w vSphereVCenter) {
	user := e.value.get("port")
	if user == nil {
		scope, user = []string{"global"}, v.value("global", "port")
	}
	port := strconv.Itoa(int(w.port))
	switch {
	case w.port == 0 || user == nil && w.port == defaultVCenterPort || user != nil && user.text == port:
		return
	case user == nil:
		v.adapted(fmt.Sprintf("the port of vCenter %s is set to %s: %s says so", quoted(w.server), port, vSphereVCenters))
	default:
		v.reportAt(user, diagnostic.Rewritten, fmt.Sprintf("%s is %s, but for vCenter %s %s has %s, and that counts",
			v.shown(scope, "port"), user.text, quoted(w.server), vSphereVCenters, port))
	}
	e.value.set("port", newInt(int(w.port)))
}

func (v *vSphere) mergeDatacenters(e *treeEntry, scope []string, w vSphereVCenter) {
	user := e.value.get("datacenters")
	if user == nil {
		scope, user = []string{"global"}, v.value("global", "datacenters")
	}
	was := textsOf(user)
	if len(w.datacenters) == 0 || slices.Equal(was, w.datacenters) {
		return
	}
	e.value.set("datacenters", textList(w.datacenters))
	if lost := without(was, w.datacenters); len(lost) > 0 {
		v.reportAt(user, diagnostic.Rewritten, fmt.Sprintf("%s loses %s for vCenter %s: %s has only %s", v.shown(scope, "datacenters"),
			few(lost), quoted(w.server), vSphereVCenters, few(w.datacenters)))
		return
	}
	v.adapted(fmt.Sprintf("the datacenters of vCenter %s are %s: %s of %s says so", quoted(w.server), few(w.datacenters), vSpherePlatformSpec, infrastructure))
}

func textList(texts []string) *treeNode {
	list := newList()
	for _, text := range texts {
		list.items = append(list.items, newText(text))
	}
	return list
}

func textsOf(list *treeNode) []string {
	var texts []string
	if list != nil {
		for _, item := range list.items {
			texts = append(texts, item.text)
		}
	}
	return texts
}

// without are the texts that are not in others.
func without(texts, others []string) []string {
	known := map[string]bool{}
	for _, text := range others {
		known[text] = true
	}
	var left []string
	for _, text := range texts {
		if !known[text] {
			left = append(left, text)
		}
	}
	return left
}

// few is a list as messages show it.
func few(texts []string) string {
	const most = 12
	if len(texts) > most {
		return fmt.Sprintf("%s and %d more", few(texts[:most]), len(texts)-most)
	}
	return strings.Join(quotedAll(texts), ", ")
}

// useLabels names the tag categories by which OpenShift marks regions and zones, where there is more than one failure domain.
func (v *vSphere) useLabels() {
	spec := v.src.Cluster.Spec.VSphere
	if spec == nil || len(spec.FailureDomains) < 2 {
		return
	}
	for _, label := range []struct{ name, category string }{{"region", "openshift-region"}, {"zone", "openshift-zone"}} {
		reason := fmt.Sprintf("%s.failureDomains of %s has several, which the tags of this category mark", vSpherePlatformSpec, infrastructure)
		switch was := v.value("labels", label.name); {
		case was == nil:
			v.adapted(fmt.Sprintf("labels.%s is set to %q: %s", label.name, label.category, reason))
		case was.text != label.category:
			v.reportAt(was, diagnostic.Rewritten, fmt.Sprintf("%s is set to %q: %s", v.shown([]string{"labels"}, label.name), label.category, reason))
		}
		v.set(newText(label.category), "labels", label.name)
	}
}

// The IP families, as the provider calls them.
const (
	ipv4 = "ipv4"
	ipv6 = "ipv6"
)

// ipFamilies are those of the service networks, the primary one first; nil when it is not known.
func (v *vSphere) ipFamilies() []string {
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
func (v *vSphere) useIPFamilies() {
	wanted := v.ipFamilies()
	list := strings.Join(wanted, ", ")
	for _, scope := range v.scopes() {
		user := v.value(append(slices.Clone(scope), "ipFamily")...)
		if user == nil || !v.readIPFamilies(scope, user) {
			continue
		}
		families := textsOf(user)
		if wanted == nil || slices.Equal(families, wanted) || list == ipv4 && families[0] == ipv4 {
			continue
		}
		v.reportAt(user, diagnostic.Rewritten, fmt.Sprintf("%s is dropped: it is %s, but spec.serviceNetwork of network.config.openshift.io/cluster makes it %s",
			v.shown(scope, "ipFamily"), cut(strings.Join(families, ", ")), list))
		v.drop(append(slices.Clone(scope), "ipFamily")...)
	}
	if wanted == nil || list == ipv4 || v.value("global", "ipFamily") != nil {
		return
	}
	v.adapted(fmt.Sprintf("global.ipFamily is set to %s: spec.serviceNetwork of network.config.openshift.io/cluster has these families", list))
	v.set(textList(wanted), "global", "ipFamily")
}

// readIPFamilies checks the words and writes them as the provider compares them.
func (v *vSphere) readIPFamilies(scope []string, user *treeNode) bool {
	good := true
	for _, item := range user.items {
		family := strings.ToLower(strings.TrimSpace(item.text))
		switch {
		case family != ipv4 && family != ipv6:
			v.reportAt(item, diagnostic.Invalid, fmt.Sprintf("%s is %s, but wants ipv4, ipv6 or both", v.shown(scope, "ipFamily"), quoted(item.text)))
			good = false
		case family != item.text:
			v.reportAt(item, diagnostic.Adapted, fmt.Sprintf("%s is written as %s, the word that the provider knows", v.shown(scope, "ipFamily"), family))
			item.text = family
		}
	}
	return good
}
