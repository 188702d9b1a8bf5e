package cloudconfig

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/cloudconfig/gcfg"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

// mostVCenters is how many vCenters there may be. Infrastructure has room for three.
const mostVCenters = 20

// vSphereTree reads the YAML form.
var vSphereTree = treeReader{
	format: yamlTree,
	input:  diagnostic.CloudConfig,
	empty:  "write a mapping with the keys global and vcenter",
	fields: []treeField{
		{name: "global", is: objectTree, fields: append(vSphereTreeFields(vSphereGlobalFields),
			treeField{name: "apiDisable", is: boolTree}, treeField{name: "apiBinding", is: textTree},
		)},
		{name: "vcenter", is: mapTree, of: &treeField{is: objectTree, fields: append(vSphereTreeFields(vSphereConnectionFields),
			treeField{name: "tenantref", is: textTree}, treeField{name: "secretref", is: textTree},
		)}},
		{name: "labels", is: objectTree, fields: vSphereTreeFields(vSphereLabelFields)},
		{name: "nodes", is: objectTree, fields: vSphereTreeFields(vSphereNodeFields)},
		{name: "loadBalancer", is: anyTree, legacy: legacyVSphereNSXT},
		{name: "loadBalancerClass", is: anyTree, legacy: legacyVSphereNSXT},
		{name: "nsxt", is: anyTree, legacy: legacyVSphereNSXT},
		{name: "route", is: anyTree, legacy: legacyVSphereNSXT},
	},
}

func vSphereTreeFields(fields []vSphereField) []treeField {
	out := make([]treeField, len(fields))
	for i, f := range fields {
		out[i] = treeField{name: f.yaml, secret: f.yaml == "user" || f.yaml == "password"}
		switch f.kind {
		case vSphereText:
			out[i].is = textTree
		case vSphereFlag:
			out[i].is = boolTree
		case vSphereNumber:
			out[i].is, out[i].unsigned = intTree, true
		case vSphereList:
			out[i].is, out[i].of = listTree, &treeField{is: textTree}
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
func (v *vSphere) read() *treeDocument {
	text := v.src.Config
	if len(bytes.TrimSpace(comment.ReplaceAll(text, nil))) == 0 {
		return v.readNothing()
	}
	begins := bytes.TrimPrefix(text, []byte(byteOrderMark))
	v.isINI = looksLikeINI(begins) || bytes.HasPrefix(bytes.TrimSpace(begins), []byte("["))
	mixed, message := iniHeader.FindIndex(text), "here begins INI, but the text above is YAML: write all of it as YAML"
	if v.isINI {
		mixed, message = vSphereYAML.FindIndex(text), "here begins YAML, but the text above is INI: write all of it as YAML"
	}
	if mixed != nil {
		line, column := position(text, mixed[0])
		v.findings.Add(diagnostic.Diagnostic{Cause: diagnostic.CloudConfig, Line: line, Column: column, Kind: diagnostic.Invalid, Message: message})
		v.unread = true
		return v.emptyDocument()
	}
	var d *treeDocument
	if v.isINI {
		d = v.fromINI(readINI(text, vSphereSchema, &v.findings))
	} else {
		d = vSphereTree.read(text, &v.findings)
	}
	if tooMany(d) {
		vcenters := d.value("vcenter")
		first := vcenters.entries[mostVCenters]
		vcenters.entries = vcenters.entries[:mostVCenters]
		d.report(first.line, first.column, diagnostic.Invalid, fmt.Sprintf("there are more than %d vCenters: remove what is not used", mostVCenters))
	}
	v.unread = slices.ContainsFunc(v.findings, func(f diagnostic.Diagnostic) bool { return f.Kind == diagnostic.Invalid })
	for _, field := range vSphereTree.fields {
		dropUnreadable(field, d.root)
	}
	v.dropUnused(d)
	return v.refuseOtherCloud(d)
}

// dropUnused removes what the installer writes without a value, as the provider's types have a field for it, and what nothing
// comes of.
func (v *vSphere) dropUnused(d *treeDocument) {
	drop := func(parent *treeNode, path, name string, kind diagnostic.Kind, reason string) {
		if e := parent.drop(name); e != nil && e.value.text != "false" {
			d.report(e.line, e.column, kind, inside(path, name)+" is dropped: "+reason)
		}
	}
	if global := d.value("global"); global != nil {
		drop(global, "global", "apiDisable", diagnostic.Legacy, legacyVSphereAPI)
		drop(global, "global", "apiBinding", diagnostic.Legacy, legacyVSphereAPI)
	}
	if vcenters := d.value("vcenter"); vcenters != nil {
		for _, e := range vcenters.entries {
			drop(e.value, cut("vcenter."+e.name), "tenantref", diagnostic.Rewritten, "the provider takes the name of the entry")
			drop(e.value, cut("vcenter."+e.name), "secretref", diagnostic.Rewritten, "the provider sets it itself")
		}
	}
}

func (v *vSphere) emptyDocument() *treeDocument {
	return &treeDocument{treeReader: vSphereTree, root: newMap(), findings: &v.findings}
}

// readNothing makes do without a configuration: Infrastructure has what is needed. An empty one may be a mistake, so that
// is said.
func (v *vSphere) readNothing() *treeDocument {
	f := diagnostic.Diagnostic{Cause: diagnostic.CloudConfig, Kind: diagnostic.Adapted, Message: "there is no cloud configuration: it is made from " + infrastructure}
	if v.src.Config != nil {
		f.Kind = diagnostic.Rewritten
		f.Message = "the cloud configuration is empty: it is made from " + infrastructure +
			"; if it should say more, such as insecureFlag, write it again"
	}
	v.findings.Add(f)
	return v.emptyDocument()
}

// fromINI makes the YAML form of an INI document. What is unknown has no place there.
func (v *vSphere) fromINI(ini *iniDocument) *treeDocument {
	v.adaptedFormat()
	d := v.emptyDocument()
	for _, g := range ini.sections {
		fields, where := v.placeOf(g)
		if where == nil || len(where) > 1 && tooMany(d) {
			continue
		}
		d.set(v.fromGroup(g, fields), where...)
		if len(where) > 1 {
			e := d.value("vcenter").entry(g.Subsection)
			e.line, e.column = g.Pos.Line, g.Pos.Column
		}
	}
	return d
}

// tooMany tells whether there are enough vCenters to be refused.
func tooMany(d *treeDocument) bool {
	vcenters := d.value("vcenter")
	return vcenters != nil && len(vcenters.entries) > mostVCenters
}

// placeOf is where the settings of a section stand in the YAML form; nil for a section that has no place there.
func (v *vSphere) placeOf(g *iniGroup) ([]vSphereField, []string) {
	switch {
	case g.Name == "VirtualCenter" && g.Subsection == "":
		v.findings.Add(diagnostic.Diagnostic{Cause: diagnostic.CloudConfig, Line: g.Pos.Line, Column: g.Pos.Column, Kind: diagnostic.Invalid,
			Message: `section [VirtualCenter] names no vCenter: write [VirtualCenter "server"]`})
		return nil, nil
	case g.Name == "VirtualCenter":
		return vSphereConnectionFields, []string{"vcenter", g.Subsection}
	case g.Subsection != "":
		return nil, nil // reported
	case g.Name == "Global":
		return vSphereGlobalFields, []string{"global"}
	case g.Name == "Labels":
		return vSphereLabelFields, []string{"labels"}
	case g.Name == "Nodes":
		return vSphereNodeFields, []string{"nodes"}
	}
	return nil, nil // reported
}

func (v *vSphere) adaptedFormat() {
	v.findings.Add(diagnostic.Diagnostic{Cause: diagnostic.CloudConfig, Kind: diagnostic.Adapted,
		Message: "the configuration is written as YAML: the external provider is going to drop the INI form"})
}

func (v *vSphere) fromGroup(g *iniGroup, fields []vSphereField) *treeNode {
	section := &treeNode{kind: mapNode, line: g.Pos.Line, column: g.Pos.Column}
	for _, f := range fields {
		e := g.entry(f.ini)
		if e.Name == "" {
			continue
		}
		if value := v.fromEntry(f, e); value != nil {
			section.entries = append(section.entries, &treeEntry{name: f.yaml, value: value, line: e.Pos.Line, column: e.Pos.Column})
		}
	}
	return section
}

// fromEntry is the value of an INI entry in the YAML form; nil for one that is empty or of the wrong type.
func (v *vSphere) fromEntry(f vSphereField, e gcfg.Entry) *treeNode {
	n := &treeNode{line: e.ValuePos.Line, column: e.ValuePos.Column}
	switch f.kind {
	case vSphereFlag:
		n.kind = boolNode
		n.text = strconv.FormatBool(e.Blank || slices.Contains([]string{"true", "yes", "on", "1"}, strings.ToLower(e.Value)))
	case vSphereNumber:
		if n.text = v.numberOf(f, e); n.text == "" {
			return nil
		}
		n.kind = intNode
	case vSphereList:
		n.kind = listNode
		for item := range strings.SplitSeq(e.Value, ",") {
			if item = strings.TrimSpace(item); item != "" {
				n.items = append(n.items, &treeNode{kind: textNode, text: item, line: n.line, column: n.column})
			}
		}
	case vSphereText:
		n.kind, n.text = textNode, e.Value
	}
	return n
}

// numberOf is a number in its usual form; empty for none.
func (v *vSphere) numberOf(f vSphereField, e gcfg.Entry) string {
	text, base := strings.TrimSpace(e.Value), 10
	if rest, found := strings.CutPrefix(text, "0x"); found {
		text, base = rest, 16
	}
	number, err := strconv.ParseUint(text, base, 32)
	if err == nil {
		return strconv.FormatUint(number, 10)
	}
	if text != "" && f.iniKind() == textValue { // otherwise it was reported
		v.findings.Add(diagnostic.Diagnostic{Cause: diagnostic.CloudConfig, Line: e.ValuePos.Line, Column: e.ValuePos.Column, Kind: diagnostic.Invalid,
			Message: fmt.Sprintf("%s is %s, but wants %s", f.ini, quoted(e.Value), wanted[uintValue])})
	}
	return ""
}

// dropUnreadable removes known settings of the wrong type, which are reported, and those that say nothing.
func dropUnreadable(field treeField, parent *treeNode) {
	n := parent.get(field.name)
	if n == nil {
		return
	}
	switch field.is {
	case objectTree:
		for _, f := range field.fields {
			dropUnreadable(f, n)
		}
	case mapTree:
		dropUnreadableValues(field, n)
	case listTree:
		n.items = slices.DeleteFunc(n.items, func(item *treeNode) bool { return item.kind != textNode || item.text == "" })
	default:
	}
	kinds := map[treeType]treeKind{textTree: textNode, boolTree: boolNode, intTree: intNode, listTree: listNode, mapTree: mapNode, objectTree: mapNode}
	if n.kind != kinds[field.is] || saysNothing(n) {
		parent.drop(field.name)
	}
}

// dropUnreadableValues does that for every value of a mapping. One that is null is an empty mapping.
func dropUnreadableValues(field treeField, n *treeNode) {
	for _, e := range n.entries {
		if e.value.kind == nullNode {
			e.value = &treeNode{kind: mapNode, line: e.line, column: e.column}
		}
		for _, f := range field.of.fields {
			dropUnreadable(f, e.value)
		}
	}
	n.entries = slices.DeleteFunc(n.entries, func(e *treeEntry) bool { return e.value.kind != mapNode })
}

// saysNothing tells whether a value means the same to the provider as none.
func saysNothing(n *treeNode) bool {
	switch n.kind {
	case textNode:
		return n.text == ""
	case intNode:
		return n.text == "0"
	case listNode:
		return len(n.items) == 0
	case mapNode:
		return len(n.entries) == 0
	default:
		return false
	}
}

// refuseOtherCloud refuses a configuration of which nothing is vSphere's. Infrastructure would fill all of it, and nobody
// would see the mistake.
func (v *vSphere) refuseOtherCloud(d *treeDocument) *treeDocument {
	strange := v.strangeSettings()
	if len(strange) < 2 || hasOwnSettings(d) || slices.ContainsFunc(v.findings, func(f diagnostic.Diagnostic) bool {
		// Other clouds have load balancers too.
		return f.Kind == diagnostic.Invalid || f.Kind == diagnostic.Legacy && !strings.Contains(f.Message, legacyVSphereNSXT)
	}) {
		return d
	}
	v.findings = findings{{Cause: diagnostic.CloudConfig, Line: strange[0].Line, Column: strange[0].Column, Kind: diagnostic.Invalid,
		Message: "this is no configuration of vSphere, but perhaps one of another cloud: none of its settings is one of vSphere's"}}
	v.unread = true
	return v.emptyDocument()
}

// strangeSettings are remarks about settings that vSphere does not have. A name close to one of vSphere's is no sign of
// another cloud.
func (v *vSphere) strangeSettings() []diagnostic.Diagnostic {
	var strange []diagnostic.Diagnostic
	for _, f := range v.findings {
		if f.Kind == diagnostic.Unknown || f.Kind == diagnostic.Typo && !strings.Contains(f.Message, "did you mean") {
			strange = append(strange, f)
		}
	}
	return strange
}

// hasOwnSettings tells whether anything is there that only vSphere has: every cloud of OpenShift may name a Secret.
func hasOwnSettings(d *treeDocument) bool {
	for _, f := range vSphereGlobalFields {
		if !strings.HasPrefix(f.yaml, "secret") && d.value("global", f.yaml) != nil {
			return true
		}
	}
	return d.value("vcenter") != nil || d.value("labels") != nil || d.value("nodes") != nil
}
