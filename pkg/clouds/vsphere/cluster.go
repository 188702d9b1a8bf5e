package vsphere

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/featuregate"
)

const (
	platformSpec = "spec.platformSpec.vsphere"
	vCenters     = platformSpec + ".vcenters of " + clouds.Infrastructure

	// defaultPort is the provider's default.
	defaultPort = 443
)

type vCenter = configv1.VSpherePlatformVCenterSpec

// wantedVCenters returns the vCenters of Infrastructure with the datacenters of its failure domains. There are none in
// a cluster that was installed before Infrastructure had vCenters.
func (v *rewriter) wantedVCenters() []vCenter {
	spec := v.Cluster.Spec.VSphere.DeepCopy()
	if spec == nil {
		return nil
	}
	wanted, given := spec.VCenters, v.Cluster.Spec.VSphere.VCenters
	for _, domain := range spec.FailureDomains {
		if domain.Server == "" {
			continue
		}
		i := slices.IndexFunc(wanted, func(w vCenter) bool { return strings.EqualFold(w.Server, domain.Server) })
		if i < 0 {
			i = len(wanted)
			wanted = append(wanted, vCenter{Server: domain.Server})
			if len(given) > 0 {
				v.ReportInfrastructure(platformSpec+".failureDomains", diagnostic.Doubtful, "failure domain %s is in vCenter %s, "+
					"which vcenters does not have: the cloud-controller-manager connects to it too; add it there, or correct the "+
					"failure domain", confdoc.Quoted(domain.Name), confdoc.Quoted(domain.Server))
			}
		}
		w, name := &wanted[i], domain.Topology.Datacenter
		if name == "" || slices.Contains(w.Datacenters, name) {
			continue
		}
		if i < len(given) && len(given[i].Datacenters) > 0 {
			v.ReportInfrastructure(platformSpec+".failureDomains", diagnostic.Doubtful, "failure domain %s is in datacenter "+
				"%s, which the datacenters of vCenter %s do not have: the cloud-controller-manager looks there too; "+
				"add it to them, or correct the failure domain",
				confdoc.Quoted(domain.Name), confdoc.Quoted(name), confdoc.Quoted(domain.Server))
		}
		w.Datacenters = append(w.Datacenters, name)
	}
	return wanted
}

func (v *rewriter) useVCenters() {
	v.moveGlobalServer()
	users, wanted := slices.Clone(v.vCenters()), v.wantedVCenters()
	if !v.checkServers(users, wanted) {
		v.unknownVCenters = true
		return
	}
	if len(wanted) == 0 || v.contradictsInfrastructure(users, wanted) {
		v.keepVCenters(users)
		return
	}
	rebuilt := confdoc.NewMap()
	for _, w := range wanted {
		i := slices.IndexFunc(users, isServer(w.Server))
		if i < 0 {
			rebuilt.Entries = append(rebuilt.Entries, v.newVCenter(w))
			continue
		}
		rebuilt.Entries = append(rebuilt.Entries, v.mergedVCenter(users[i], w))
		users = slices.Delete(users, i, i+1)
	}
	for _, e := range users {
		v.ReportAt(e.Position, diagnostic.Rewritten, "vCenter %s is dropped: %s does not have it, only %s",
			confdoc.Quoted(serverOf(e)), vCenters, serversOf(wanted))
	}
	v.Set(rebuilt, "vcenter")
}

// checkPlaceholders reports the vCenter that the Assisted Installer writes until the administrator names another one.
func (v *rewriter) checkPlaceholders() {
	for _, e := range v.vCenters() {
		if strings.EqualFold(serverOf(e), "vcenterplaceholder") {
			v.ReportAt(e.Position, diagnostic.Doubtful, "vCenter %s is a placeholder of the Assisted Installer, with which the "+
				"cloud-controller-manager initializes no node: complete the vSphere connection", confdoc.Quoted(serverOf(e)))
		}
	}
}

// moveGlobalServer moves the single vCenter of the oldest configurations, the global server, to an entry of vcenter.
// The provider ignores the global server if there is an entry for it.
func (v *rewriter) moveGlobalServer() {
	server := v.Value("global", "server")
	if server == nil {
		return
	}
	shown, entry := v.Shown("global", "server"), v.Value("global").Entry("server")
	v.Drop("global", "server")
	if slices.ContainsFunc(v.vCenters(), isServer(server.Text)) {
		return
	}
	v.Set(&confdoc.Node{Kind: confdoc.MapNode, Entries: []*confdoc.Entry{entry}}, "vcenter", server.Text)
	v.Value("vcenter").Entry(server.Text).Position = server.Position
	v.Reportf(server, diagnostic.Adapted, "%s becomes an entry of vcenter: it is the form that knows several", shown)
}

// serverOf returns the host name or address of a vCenter: its server, or by default the name of its entry.
func serverOf(e *confdoc.Entry) string {
	return cmp.Or(e.Value.Get("server"), confdoc.NewText(e.Name)).Text
}

func isServer(server string) func(*confdoc.Entry) bool {
	return func(e *confdoc.Entry) bool { return strings.EqualFold(server, serverOf(e)) }
}

func serversOf(wanted []vCenter) string {
	servers := make([]string, len(wanted))
	for i, w := range wanted {
		servers[i] = w.Server
	}
	return quotedFew(servers)
}

var hostName = regexp.MustCompile(`^[A-Za-z0-9._:%-]+$`)

// checkServer reports a server that is no host. It is Infrastructure's if at is nil.
func (v *rewriter) checkServer(at *confdoc.Node, server string) {
	host, port, _ := strings.Cut(server, ":")
	_, err := strconv.ParseUint(port, 10, 16)
	action := ""
	switch {
	case !hostName.MatchString(server):
	case err == nil && host != "":
		action = ": write the port under its own key"
	default:
		return
	}
	message := "server is " + confdoc.Quoted(server) + ", but must be the host name or IP address alone" + action
	if at == nil {
		v.ReportInfrastructure(platformSpec+".vcenters", diagnostic.Invalid, "a %s", message)
		return
	}
	v.Rejectf(at, "the vCenter's %s", message)
}

// checkServers reports invalid server names and duplicate vCenters, and returns whether there are none of them.
func (v *rewriter) checkServers(users []*confdoc.Entry, wanted []vCenter) bool {
	before := len(*v.Findings)
	for _, w := range wanted {
		v.checkServer(nil, w.Server)
	}
	for i, e := range users {
		server := serverOf(e)
		v.checkServer(cmp.Or(e.Value.Get("server"), &confdoc.Node{Position: e.Position}), server)
		if twin := slices.IndexFunc(users[:i], isServer(server)); twin >= 0 {
			v.ReportPair(e.Position, users[twin].Line, diagnostic.Invalid,
				"duplicate vCenter "+confdoc.Quoted(server)+": keep one")
		}
	}
	return len(*v.Findings) == before
}

// contradictsInfrastructure reports a configuration that has no vCenter in common with Infrastructure, and returns
// whether the user's vCenters stay. One of the two is wrong. The cluster may have worked with the user's, unless the
// credentials Secret has no login for any of them. With the feature gate, Infrastructure is right, because
// administrators edit it.
func (v *rewriter) contradictsInfrastructure(users []*confdoc.Entry, wanted []vCenter) bool {
	isCommon := func(w vCenter) bool { return slices.ContainsFunc(users, isServer(w.Server)) }
	isEdited := slices.Contains(v.Cluster.FeatureGates, featuregate.MultiVCenterDay2)
	if len(wanted) == 0 || isEdited || slices.ContainsFunc(wanted, isCommon) {
		return false
	}
	for _, e := range users {
		v.ReportAt(e.Position, diagnostic.Contradictory, "vCenter %s is not in %s, which has %s: write the same name in both",
			confdoc.Quoted(serverOf(e)), vCenters, serversOf(wanted))
	}
	hasUser := func(e *confdoc.Entry) bool {
		keys := v.loginKeys(slices.Sorted(maps.Keys(v.Credentials)), serverOf(e))
		return len(v.Credentials[keys[0]]) > 0 || !v.hasNoValue(serverOf(e)+sessionURL)
	}
	return len(users) > 0 && (len(v.Credentials) == 0 || slices.ContainsFunc(users, hasUser))
}

func (v *rewriter) keepVCenters(users []*confdoc.Entry) {
	if len(users) == 0 && !v.unread {
		v.unknownVCenters = true
		write := "write the key vcenter with an entry"
		if v.isINI {
			write = `write a section [VirtualCenter "server"]`
		}
		v.Rejectf(nil, "there is no vCenter: %s, or add it to %s", write, vCenters)
	}
	for _, e := range users {
		switch {
		case e.Value.Get("server") != nil:
		case v.isINI:
			e.Value.Set("server", confdoc.NewText(e.Name))
		default:
			v.ReportAt(e.Position, diagnostic.Invalid, "%s has no server: write the host name or IP address of the vCenter",
				v.Shown("vcenter", e.Name))
		}
	}
}

func (v *rewriter) newVCenter(w vCenter) *confdoc.Entry {
	v.Reportf(nil, diagnostic.Adapted, "vCenter %s is added: %s has it", confdoc.Quoted(w.Server), vCenters)
	vcenter := confdoc.NewMap()
	vcenter.Set("server", confdoc.NewText(w.Server))
	port := cmp.Or(v.Text("global", "port"), strconv.Itoa(defaultPort))
	if w.Port != 0 && strconv.Itoa(int(w.Port)) != port {
		vcenter.Set("port", confdoc.NewInt(int(w.Port)))
	}
	if len(w.Datacenters) > 0 {
		vcenter.Set("datacenters", confdoc.NewTexts(w.Datacenters))
	}
	return &confdoc.Entry{Name: w.Server, Value: vcenter}
}

func (v *rewriter) mergedVCenter(e *confdoc.Entry, w vCenter) *confdoc.Entry {
	server, wanted := e.Value.Get("server"), confdoc.Quoted(w.Server)
	shown := v.Shown("vcenter", e.Name, "server")
	switch {
	case server == nil && !v.isINI:
		v.ReportAt(e.Position, diagnostic.Adapted, "%s is set to %s: %s has it", shown, wanted, vCenters)
	case server != nil && server.Text != w.Server:
		v.Reportf(server, diagnostic.Rewritten, "%s is set to %s: that is how %s spells it", shown, wanted, vCenters)
	}
	e.Value.Set("server", confdoc.NewText(w.Server))
	if e.Name != w.Server {
		v.ReportAt(e.Position, diagnostic.Adapted, "the entry %s of vcenter is renamed to its server, %s",
			confdoc.Quoted(e.Name), wanted)
	}
	if w.Port != 0 {
		v.merge(e, w, "port", confdoc.NewInt(int(w.Port)), confdoc.NewInt(defaultPort))
	}
	if len(w.Datacenters) > 0 {
		v.merge(e, w, "datacenters", confdoc.NewTexts(w.Datacenters), confdoc.NewTexts(nil))
	}
	return &confdoc.Entry{Name: w.Server, Value: e.Value, Position: e.Position}
}

// merge sets a vCenter's setting to Infrastructure's value, unless the entry, the global setting or the provider's
// default already has that value.
func (v *rewriter) merge(e *confdoc.Entry, w vCenter, name string, value, byDefault *confdoc.Node) {
	user := cmp.Or(e.Value.Get(name), v.Value("global", name), byDefault)
	if slices.Equal(user.Texts(), value.Texts()) {
		return
	}
	e.Value.Set(name, value)
	kind, change := diagnostic.Adapted, quotedFew(value.Texts())
	if lost := without(user.Texts(), value.Texts()); len(lost) > 0 && user != byDefault {
		kind = diagnostic.Rewritten
		change += " instead of " + quotedFew(lost)
	}
	v.Reportf(user, kind, "vCenter %s gets the %s %s: %s of %s says so",
		confdoc.Quoted(w.Server), name, change, platformSpec, clouds.Infrastructure)
}

func without(texts, others []string) []string {
	return slices.DeleteFunc(slices.Clone(texts), sets.New(others...).Has)
}

func quotedFew(texts []string) string { return confdoc.JoinFew(confdoc.QuotedAll(texts)) }
