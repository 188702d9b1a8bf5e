package vsphere

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc/gcfg"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

// mostVCenters is how many vCenters there may be. Infrastructure has room for three.
const mostVCenters = 20

// tree reads the YAML form.
var tree = confdoc.TreeReader{
	Format: confdoc.YAMLTree,
	Input:  diagnostic.CloudConfig,
	Empty:  "write a mapping with the keys global and vcenter",
	Fields: []confdoc.Field{
		{Name: "global", Is: confdoc.ObjectTree, Fields: append(treeFields(globalFields),
			confdoc.Field{Name: "apiDisable", Is: confdoc.BoolTree}, confdoc.Field{Name: "apiBinding", Is: confdoc.TextTree},
		)},
		{Name: "vcenter", Is: confdoc.MapTree, Of: &confdoc.Field{Is: confdoc.ObjectTree, Fields: append(treeFields(connectionFields),
			confdoc.Field{Name: "tenantref", Is: confdoc.TextTree}, confdoc.Field{Name: "secretref", Is: confdoc.TextTree},
		)}},
		{Name: "labels", Is: confdoc.ObjectTree, Fields: treeFields(labelFields)},
		{Name: "nodes", Is: confdoc.ObjectTree, Fields: treeFields(nodeFields)},
		{Name: "loadBalancer", Is: confdoc.AnyTree, Legacy: legacyVSphereNSXT},
		{Name: "loadBalancerClass", Is: confdoc.AnyTree, Legacy: legacyVSphereNSXT},
		{Name: "nsxt", Is: confdoc.AnyTree, Legacy: legacyVSphereNSXT},
		{Name: "route", Is: confdoc.AnyTree, Legacy: legacyVSphereNSXT},
	},
}

func treeFields(fields []vSphereField) []confdoc.Field {
	out := make([]confdoc.Field, len(fields))
	for i, f := range fields {
		out[i] = confdoc.Field{Name: f.yaml, Secret: f.yaml == "user" || f.yaml == "password"}
		switch f.kind {
		case vSphereText:
			out[i].Is = confdoc.TextTree
		case flag:
			out[i].Is = confdoc.BoolTree
		case vSphereNumber:
			out[i].Is, out[i].Unsigned = confdoc.IntTree, true
		case vSphereList:
			out[i].Is, out[i].Of = confdoc.ListTree, &confdoc.Field{Is: confdoc.TextTree}
		}
	}
	return out
}

var (
	// comment is a line that says nothing in either form.
	comment = regexp.MustCompile(`(?m)^[ \t]*[#;].*$`)
	// iniHeader is a line that cannot stand in YAML, unless a list of lists begins the file.
	iniHeader = regexp.MustCompile(`(?m)^\[[ \t]*[A-Za-z][A-Za-z0-9-]*([ \t]+"[^"\n]*")?[ \t]*\][ \t\r]*$`)
	// vSphereYAML is a line that cannot stand in INI.
	vSphereYAML = regexp.MustCompile(`(?m)^[ \t]*(global|vcenter|labels|nodes)[ \t]*:[ \t\r]*$`)
)

// read reads either form. What it returns has known settings of the right type only, whatever was wrong.
func (v *rewriter) read() *confdoc.Tree {
	text := v.src.Config
	if len(bytes.TrimSpace(comment.ReplaceAll(text, nil))) == 0 {
		return v.readNothing()
	}
	begins := bytes.TrimPrefix(text, []byte(confdoc.ByteOrderMark))
	v.isINI = confdoc.LooksLikeINI(begins) || bytes.HasPrefix(bytes.TrimSpace(begins), []byte("["))
	mixed, message := iniHeader.FindIndex(text), "here begins INI, but the text above is YAML: write all of it as YAML"
	if v.isINI {
		mixed, message = vSphereYAML.FindIndex(text), "here begins YAML, but the text above is INI: write all of it as YAML"
	}
	if mixed != nil {
		line, column := confdoc.Position(text, mixed[0])
		v.findings.Add(diagnostic.Diagnostic{Cause: diagnostic.CloudConfig, Line: line, Column: column, Kind: diagnostic.Invalid, Message: message})
		v.unread = true
		return v.emptyDocument()
	}
	var d *confdoc.Tree
	if v.isINI {
		d = v.fromINI(confdoc.ReadINI(text, schema, &v.findings))
	} else {
		d = tree.Read(text, &v.findings)
	}
	if tooMany(d) {
		vcenters := d.Value("vcenter")
		first := vcenters.Entries[mostVCenters]
		vcenters.Entries = vcenters.Entries[:mostVCenters]
		d.Report(first.Line, first.Column, diagnostic.Invalid, fmt.Sprintf("there are more than %d vCenters: remove what is not used", mostVCenters))
	}
	v.unread = slices.ContainsFunc(v.findings, func(f diagnostic.Diagnostic) bool { return f.Kind == diagnostic.Invalid })
	for _, field := range tree.Fields {
		dropUnreadable(field, d.Root)
	}
	v.dropUnused(d)
	return v.refuseOtherCloud(d)
}

// dropUnused removes what the installer writes without a value, as the provider's types have a field for it, and what nothing
// comes of.
func (v *rewriter) dropUnused(d *confdoc.Tree) {
	drop := func(parent *confdoc.Node, path, name string, kind diagnostic.Kind, reason string) {
		if e := parent.Drop(name); e != nil && e.Value.Text != "false" {
			d.Report(e.Line, e.Column, kind, confdoc.Inside(path, name)+" is dropped: "+reason)
		}
	}
	if global := d.Value("global"); global != nil {
		drop(global, "global", "apiDisable", diagnostic.Legacy, legacyVSphereAPI)
		drop(global, "global", "apiBinding", diagnostic.Legacy, legacyVSphereAPI)
	}
	if vcenters := d.Value("vcenter"); vcenters != nil {
		for _, e := range vcenters.Entries {
			drop(e.Value, confdoc.Cut("vcenter."+e.Name), "tenantref", diagnostic.Rewritten, "the provider takes the name of the entry")
			drop(e.Value, confdoc.Cut("vcenter."+e.Name), "secretref", diagnostic.Rewritten, "the provider sets it itself")
		}
	}
}

func (v *rewriter) emptyDocument() *confdoc.Tree {
	return &confdoc.Tree{TreeReader: tree, Root: confdoc.NewMap(), Findings: &v.findings}
}

// readNothing makes do without a configuration: Infrastructure has what is needed. An empty one may be a mistake, so that
// is said.
func (v *rewriter) readNothing() *confdoc.Tree {
	f := diagnostic.Diagnostic{Cause: diagnostic.CloudConfig, Kind: diagnostic.Adapted, Message: "there is no cloud configuration: it is made from " + clouds.Infrastructure}
	if v.src.Config != nil {
		f.Kind = diagnostic.Rewritten
		f.Message = "the cloud configuration is empty: it is made from " + clouds.Infrastructure +
			"; if it should say more, such as insecureFlag, write it again"
	}
	v.findings.Add(f)
	return v.emptyDocument()
}

// fromINI makes the YAML form of an INI document. What is unknown has no place there.
func (v *rewriter) fromINI(ini *confdoc.INIDocument) *confdoc.Tree {
	v.adaptedFormat()
	d := v.emptyDocument()
	for _, g := range ini.Sections {
		fields, where := v.placeOf(g)
		if where == nil || len(where) > 1 && tooMany(d) {
			continue
		}
		d.Set(v.fromGroup(g, fields), where...)
		if len(where) > 1 {
			e := d.Value("vcenter").Entry(g.Subsection)
			e.Line, e.Column = g.Pos.Line, g.Pos.Column
		}
	}
	return d
}

// tooMany tells whether there are enough vCenters to be refused.
func tooMany(d *confdoc.Tree) bool {
	vcenters := d.Value("vcenter")
	return vcenters != nil && len(vcenters.Entries) > mostVCenters
}

// placeOf is where the settings of a section stand in the YAML form; nil for a section that has no place there.
func (v *rewriter) placeOf(g *confdoc.INIGroup) ([]vSphereField, []string) {
	switch {
	case g.Name == "VirtualCenter" && g.Subsection == "":
		v.findings.Add(diagnostic.Diagnostic{Cause: diagnostic.CloudConfig, Line: g.Pos.Line, Column: g.Pos.Column, Kind: diagnostic.Invalid,
			Message: `section [VirtualCenter] names no vCenter: write [VirtualCenter "server"]`})
		return nil, nil
	case g.Name == "VirtualCenter":
		return connectionFields, []string{"vcenter", g.Subsection}
	case g.Subsection != "":
		return nil, nil // reported
	case g.Name == "Global":
		return globalFields, []string{"global"}
	case g.Name == "Labels":
		return labelFields, []string{"labels"}
	case g.Name == "Nodes":
		return nodeFields, []string{"nodes"}
	}
	return nil, nil // reported
}

func (v *rewriter) adaptedFormat() {
	v.findings.Add(diagnostic.Diagnostic{Cause: diagnostic.CloudConfig, Kind: diagnostic.Adapted,
		Message: "the configuration is written as YAML: the external provider is going to drop the INI form"})
}

func (v *rewriter) fromGroup(g *confdoc.INIGroup, fields []vSphereField) *confdoc.Node {
	section := &confdoc.Node{Kind: confdoc.MapNode, Line: g.Pos.Line, Column: g.Pos.Column}
	for _, f := range fields {
		e := g.Entry(f.ini)
		if e.Name == "" {
			continue
		}
		if value := v.fromEntry(f, e); value != nil {
			section.Entries = append(section.Entries, &confdoc.Entry{Name: f.yaml, Value: value, Line: e.Pos.Line, Column: e.Pos.Column})
		}
	}
	return section
}

// fromEntry is the value of an INI entry in the YAML form; nil for one that is empty or of the wrong type.
func (v *rewriter) fromEntry(f vSphereField, e gcfg.Entry) *confdoc.Node {
	n := &confdoc.Node{Line: e.ValuePos.Line, Column: e.ValuePos.Column}
	switch f.kind {
	case flag:
		n.Kind = confdoc.BoolNode
		n.Text = strconv.FormatBool(e.Blank || slices.Contains([]string{"true", "yes", "on", "1"}, strings.ToLower(e.Value)))
	case vSphereNumber:
		if n.Text = v.numberOf(f, e); n.Text == "" {
			return nil
		}
		n.Kind = confdoc.IntNode
	case vSphereList:
		n.Kind = confdoc.ListNode
		for item := range strings.SplitSeq(e.Value, ",") {
			if item = strings.TrimSpace(item); item != "" {
				n.Items = append(n.Items, &confdoc.Node{Kind: confdoc.TextNode, Text: item, Line: n.Line, Column: n.Column})
			}
		}
	case vSphereText:
		n.Kind, n.Text = confdoc.TextNode, e.Value
	}
	return n
}

// numberOf is a number in its usual form; empty for none.
func (v *rewriter) numberOf(f vSphereField, e gcfg.Entry) string {
	text, base := strings.TrimSpace(e.Value), 10
	if rest, found := strings.CutPrefix(text, "0x"); found {
		text, base = rest, 16
	}
	number, err := strconv.ParseUint(text, base, 32)
	if err == nil {
		return strconv.FormatUint(number, 10)
	}
	if text != "" && f.iniKind() == confdoc.TextValue { // otherwise it was reported
		v.findings.Add(diagnostic.Diagnostic{Cause: diagnostic.CloudConfig, Line: e.ValuePos.Line, Column: e.ValuePos.Column, Kind: diagnostic.Invalid,
			Message: fmt.Sprintf("%s is %s, but wants %s", f.ini, confdoc.Quoted(e.Value), confdoc.Wanted[confdoc.UintValue])})
	}
	return ""
}

// dropUnreadable removes known settings of the wrong type, which are reported, and those that say nothing.
func dropUnreadable(field confdoc.Field, parent *confdoc.Node) {
	n := parent.Get(field.Name)
	if n == nil {
		return
	}
	switch field.Is {
	case confdoc.ObjectTree:
		for _, f := range field.Fields {
			dropUnreadable(f, n)
		}
	case confdoc.MapTree:
		dropUnreadableValues(field, n)
	case confdoc.ListTree:
		n.Items = slices.DeleteFunc(n.Items, func(item *confdoc.Node) bool { return item.Kind != confdoc.TextNode || item.Text == "" })
	default:
	}
	kinds := map[confdoc.Type]confdoc.NodeKind{confdoc.TextTree: confdoc.TextNode, confdoc.BoolTree: confdoc.BoolNode, confdoc.IntTree: confdoc.IntNode, confdoc.ListTree: confdoc.ListNode, confdoc.MapTree: confdoc.MapNode, confdoc.ObjectTree: confdoc.MapNode}
	if n.Kind != kinds[field.Is] || saysNothing(n) {
		parent.Drop(field.Name)
	}
}

// dropUnreadableValues does that for every value of a mapping. One that is null is an empty mapping.
func dropUnreadableValues(field confdoc.Field, n *confdoc.Node) {
	for _, e := range n.Entries {
		if e.Value.Kind == confdoc.NullNode {
			e.Value = &confdoc.Node{Kind: confdoc.MapNode, Line: e.Line, Column: e.Column}
		}
		for _, f := range field.Of.Fields {
			dropUnreadable(f, e.Value)
		}
	}
	n.Entries = slices.DeleteFunc(n.Entries, func(e *confdoc.Entry) bool { return e.Value.Kind != confdoc.MapNode })
}

// saysNothing tells whether a value means the same to the provider as none.
func saysNothing(n *confdoc.Node) bool {
	switch n.Kind {
	case confdoc.TextNode:
		return n.Text == ""
	case confdoc.IntNode:
		return n.Text == "0"
	case confdoc.ListNode:
		return len(n.Items) == 0
	case confdoc.MapNode:
		return len(n.Entries) == 0
	default:
		return false
	}
}

// refuseOtherCloud refuses a configuration of which nothing is vSphere's. Infrastructure would fill all of it, and nobody
// would see the mistake.
func (v *rewriter) refuseOtherCloud(d *confdoc.Tree) *confdoc.Tree {
	strange := v.strangeSettings()
	if len(strange) < 2 || hasOwnSettings(d) || slices.ContainsFunc(v.findings, func(f diagnostic.Diagnostic) bool {
		// Other clouds have load balancers too.
		return f.Kind == diagnostic.Invalid || f.Kind == diagnostic.Legacy && !strings.Contains(f.Message, legacyVSphereNSXT)
	}) {
		return d
	}
	v.findings = diagnostic.List{{Cause: diagnostic.CloudConfig, Line: strange[0].Line, Column: strange[0].Column, Kind: diagnostic.Invalid,
		Message: "this is no configuration of vSphere, but perhaps one of another cloud: none of its settings is one of vSphere's"}}
	v.unread = true
	return v.emptyDocument()
}

// strangeSettings are remarks about settings that vSphere does not have. A name close to one of vSphere's is no sign of
// another cloud.
func (v *rewriter) strangeSettings() []diagnostic.Diagnostic {
	var strange []diagnostic.Diagnostic
	for _, f := range v.findings {
		if f.Kind == diagnostic.Unknown || f.Kind == diagnostic.Typo && !strings.Contains(f.Message, "did you mean") {
			strange = append(strange, f)
		}
	}
	return strange
}

// hasOwnSettings tells whether anything is there that only vSphere has: every cloud of OpenShift may name a Secret.
func hasOwnSettings(d *confdoc.Tree) bool {
	for _, f := range globalFields {
		if !strings.HasPrefix(f.yaml, "secret") && d.Value("global", f.yaml) != nil {
			return true
		}
	}
	return d.Value("vcenter") != nil || d.Value("labels") != nil || d.Value("nodes") != nil
}
