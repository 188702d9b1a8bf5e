package vsphere

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

const (
	// MultiVCenterDay2 is the feature gate that lets Infrastructure gain and lose vCenters after the installation.
	MultiVCenterDay2 = "VSphereMultiVCenterDay2"

	platformSpec = "spec.platformSpec.vsphere"
	vCenters     = platformSpec + ".vcenters of " + clouds.Infrastructure

	// defaultVCenterPort is what the provider takes where no port is set.
	defaultVCenterPort = 443
)

// vCenter is a vCenter as Infrastructure has it.
type vCenter struct {
	server      string
	port        int32
	datacenters []string
}

// wantedVCenters are the vCenters of Infrastructure with the datacenters of its failure domains. There are none in a cluster
// that was installed before Infrastructure had them.
func (v *rewriter) wantedVCenters() []vCenter {
	spec := v.src.Cluster.Spec.VSphere
	if spec == nil {
		return nil
	}
	var wanted []vCenter
	for _, vcenter := range spec.VCenters {
		wanted = append(wanted, vCenter{vcenter.Server, vcenter.Port, slices.Clone(vcenter.Datacenters)})
	}
	for _, domain := range spec.FailureDomains {
		if domain.Server == "" {
			continue
		}
		i := slices.IndexFunc(wanted, func(w vCenter) bool { return strings.EqualFold(w.server, domain.Server) })
		if i < 0 {
			i = len(wanted)
			wanted = append(wanted, vCenter{server: domain.Server})
		}
		if datacenter := domain.Topology.Datacenter; datacenter != "" && !slices.Contains(wanted[i].datacenters, datacenter) {
			wanted[i].datacenters = append(wanted[i].datacenters, datacenter)
		}
	}
	return wanted
}

// useVCenters makes the vCenters those of Infrastructure. Where it has none, the user's count.
func (v *rewriter) useVCenters() {
	v.moveGlobalServer()
	var users []*confdoc.Entry
	if vcenters := v.Value("vcenter"); vcenters != nil {
		users = vcenters.Entries
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
	rebuilt := confdoc.NewMap()
	for _, w := range wanted {
		i := slices.IndexFunc(users, w.is)
		if i < 0 {
			rebuilt.Entries = append(rebuilt.Entries, v.newVCenter(w))
			continue
		}
		rebuilt.Entries = append(rebuilt.Entries, v.mergedVCenter(users[i], w))
		users = slices.Delete(slices.Clone(users), i, i+1)
	}
	for _, e := range users {
		v.Report(e.Line, e.Column, diagnostic.Rewritten, fmt.Sprintf("vCenter %s is dropped: %s does not have it, only %s",
			confdoc.Quoted(serverOf(e)), vCenters, serversOf(wanted)))
	}
	v.Set(rebuilt, "vcenter")
}

// moveGlobalServer gives the one vCenter of the oldest configurations an entry of its own.
func (v *rewriter) moveGlobalServer() {
	server := v.Drop("global", "server")
	if server == nil {
		return
	}
	if vcenters := v.Value("vcenter"); vcenters != nil && slices.ContainsFunc(vcenters.Entries, vCenter{server: server.Text}.is) {
		return // the provider takes no notice of it
	}
	vcenter := &confdoc.Node{Kind: confdoc.MapNode, Line: server.Line, Column: server.Column}
	vcenter.Set("server", server)
	v.Set(vcenter, "vcenter", server.Text)
	moved := v.Value("vcenter").Entry(server.Text)
	moved.Line, moved.Column = server.Line, server.Column
	v.ReportAt(server, diagnostic.Adapted, v.shown([]string{"global"}, "server")+" becomes an entry of vcenter: it is the form that knows several")
}

// serverOf is the name or address of a vCenter: its server, or the name of its entry.
func serverOf(e *confdoc.Entry) string {
	if server := e.Value.Get("server"); server != nil {
		return server.Text
	}
	return e.Name
}

func serversOf(wanted []vCenter) string {
	servers := make([]string, len(wanted))
	for i, w := range wanted {
		servers[i] = w.server
	}
	return few(servers)
}

// is tells whether the entry is about this vCenter.
func (w vCenter) is(e *confdoc.Entry) bool { return strings.EqualFold(w.server, serverOf(e)) }

// hostName has the characters of host names and IP addresses.
var hostName = regexp.MustCompile(`^[A-Za-z0-9._:%-]+$`)

// serverProblem says why the provider cannot reach a server of that name.
func serverProblem(server string) string {
	host, port, _ := strings.Cut(server, ":")
	_, err := strconv.ParseUint(port, 10, 16)
	switch {
	case !hostName.MatchString(server):
		return "is " + confdoc.Quoted(server) + ", but wants the host name or IP address alone"
	case err == nil && host != "":
		return "is " + confdoc.Quoted(server) + ", but wants the host name or IP address alone: write the port under its own key"
	}
	return ""
}

// checkServers reports names that are none and vCenters that stand twice.
func (v *rewriter) checkServers(users []*confdoc.Entry, wanted []vCenter) bool {
	good := true
	for _, w := range wanted {
		if problem := serverProblem(w.server); problem != "" {
			v.Report(0, 0, diagnostic.Invalid, "a server in "+vCenters+" "+problem)
			good = false
		}
	}
	for i, e := range users {
		server, at := serverOf(e), &confdoc.Node{Line: e.Line, Column: e.Column}
		if set := e.Value.Get("server"); set != nil {
			at = set
		}
		if problem := serverProblem(server); problem != "" {
			v.ReportAt(at, diagnostic.Invalid, "the vCenter's server "+problem)
			good = false
		}
		if twin := slices.IndexFunc(users[:i], vCenter{server: server}.is); twin >= 0 {
			v.ReportPair(e, users[twin].Line, diagnostic.Invalid, fmt.Sprintf("duplicate vCenter %s: keep one", confdoc.Quoted(server)))
			good = false
		}
	}
	return good
}

// checkPorts reports numbers that are no ports. The provider would find no vCenter there.
func (v *rewriter) checkPorts() {
	for _, scope := range v.scopes() {
		port := v.Value(append(slices.Clone(scope), "port")...)
		if port == nil {
			continue
		}
		if number, err := strconv.ParseUint(port.Text, 10, 16); err != nil || number == 0 {
			v.ReportAt(port, diagnostic.Invalid, fmt.Sprintf("%s is %s, but wants a port, which is at most 65535", v.shown(scope, "port"), confdoc.Cut(port.Text)))
		}
	}
}

// contradictsInfrastructure reports a configuration and an Infrastructure that have no vCenter in common: one of them is
// wrong, and nothing tells which. Behind the feature gate Infrastructure is the one that is edited, so there it is right.
func (v *rewriter) contradictsInfrastructure(users []*confdoc.Entry, wanted []vCenter) bool {
	if len(users) == 0 || len(wanted) == 0 || slices.Contains(v.src.Cluster.FeatureGates, MultiVCenterDay2) ||
		slices.ContainsFunc(wanted, func(w vCenter) bool { return slices.ContainsFunc(users, w.is) }) {
		return false
	}
	for _, e := range users {
		v.Report(e.Line, e.Column, diagnostic.Invalid, fmt.Sprintf("vCenter %s is not in %s, which has %s: write the same name in both",
			confdoc.Quoted(serverOf(e)), vCenters, serversOf(wanted)))
	}
	return true
}

// keepVCenters makes do without Infrastructure.
func (v *rewriter) keepVCenters(users []*confdoc.Entry) {
	if len(users) == 0 && !v.unread {
		v.noVCenters = true
		write := "write the key vcenter with an entry"
		if v.isINI {
			write = `write a section [VirtualCenter "server"]`
		}
		v.Report(0, 0, diagnostic.Invalid, fmt.Sprintf("there is no vCenter: %s, or add it to %s", write, vCenters))
	}
	for _, e := range users {
		switch {
		case e.Value.Get("server") != nil:
		case v.isINI:
			setFirst(e.Value, "server", confdoc.NewText(e.Name))
		default:
			v.Report(e.Line, e.Column, diagnostic.Invalid, fmt.Sprintf("%s has no server: write the host name or IP address of the vCenter",
				confdoc.Cut("vcenter."+e.Name)))
		}
	}
}

// setFirst adds a setting before all others.
func setFirst(n *confdoc.Node, name string, value *confdoc.Node) {
	n.Entries = slices.Insert(n.Entries, 0, &confdoc.Entry{Name: name, Value: value})
}

func (v *rewriter) newVCenter(w vCenter) *confdoc.Entry {
	v.adapted(fmt.Sprintf("vCenter %s is added: %s has it", confdoc.Quoted(w.server), vCenters))
	vcenter := confdoc.NewMap()
	vcenter.Set("server", confdoc.NewText(w.server))
	if w.port != 0 && int(w.port) != v.globalPort() {
		vcenter.Set("port", confdoc.NewInt(int(w.port)))
	}
	if len(w.datacenters) > 0 {
		vcenter.Set("datacenters", confdoc.NewTexts(w.datacenters))
	}
	return &confdoc.Entry{Name: w.server, Value: vcenter}
}

// globalPort is the port of vCenters that have none of their own.
func (v *rewriter) globalPort() int {
	if port, err := strconv.Atoi(v.Text("global", "port")); err == nil {
		return port
	}
	return defaultVCenterPort
}

// mergedVCenter is the user's entry with what Infrastructure says about it.
func (v *rewriter) mergedVCenter(e *confdoc.Entry, w vCenter) *confdoc.Entry {
	scope := []string{"vcenter", e.Name}
	switch server := e.Value.Get("server"); {
	case server == nil:
		setFirst(e.Value, "server", confdoc.NewText(w.server))
		if !v.isINI {
			v.Report(e.Line, e.Column, diagnostic.Adapted, fmt.Sprintf("%s is set to %s: %s has it", v.shown(scope, "server"), confdoc.Quoted(w.server), vCenters))
		}
	case server.Text != w.server:
		v.ReportAt(server, diagnostic.Rewritten, fmt.Sprintf("%s is set to %s: that is how %s spells it", v.shown(scope, "server"), confdoc.Quoted(w.server), vCenters))
		server.Text = w.server
	}
	if e.Name != w.server {
		v.Report(e.Line, e.Column, diagnostic.Adapted, fmt.Sprintf("the entry %s of vcenter is renamed to its server, %s", confdoc.Quoted(e.Name), confdoc.Quoted(w.server)))
	}
	v.mergePort(e, scope, w)
	v.mergeDatacenters(e, scope, w)
	return &confdoc.Entry{Name: w.server, Value: e.Value, Line: e.Line, Column: e.Column}
}

func (v *rewriter) mergePort(e *confdoc.Entry, scope []string, w vCenter) {
	user := e.Value.Get("port")
	if user == nil {
		scope, user = []string{"global"}, v.Value("global", "port")
	}
	port := strconv.Itoa(int(w.port))
	switch {
	case w.port == 0 || user == nil && w.port == defaultVCenterPort || user != nil && user.Text == port:
		return
	case user == nil:
		v.adapted(fmt.Sprintf("the port of vCenter %s is set to %s: %s says so", confdoc.Quoted(w.server), port, vCenters))
	default:
		v.ReportAt(user, diagnostic.Rewritten, fmt.Sprintf("%s is %s, but for vCenter %s %s has %s, and that counts",
			v.shown(scope, "port"), user.Text, confdoc.Quoted(w.server), vCenters, port))
	}
	e.Value.Set("port", confdoc.NewInt(int(w.port)))
}

func (v *rewriter) mergeDatacenters(e *confdoc.Entry, scope []string, w vCenter) {
	user := e.Value.Get("datacenters")
	if user == nil {
		scope, user = []string{"global"}, v.Value("global", "datacenters")
	}
	was := user.Texts()
	if len(w.datacenters) == 0 || slices.Equal(was, w.datacenters) {
		return
	}
	e.Value.Set("datacenters", confdoc.NewTexts(w.datacenters))
	if lost := without(was, w.datacenters); len(lost) > 0 {
		v.ReportAt(user, diagnostic.Rewritten, fmt.Sprintf("%s loses %s for vCenter %s: %s has only %s", v.shown(scope, "datacenters"),
			few(lost), confdoc.Quoted(w.server), vCenters, few(w.datacenters)))
		return
	}
	v.adapted(fmt.Sprintf("the datacenters of vCenter %s are %s: %s of %s says so", confdoc.Quoted(w.server), few(w.datacenters), platformSpec, clouds.Infrastructure))
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
	return strings.Join(confdoc.QuotedAll(texts), ", ")
}
