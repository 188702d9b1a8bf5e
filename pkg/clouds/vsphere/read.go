package vsphere

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

// mostVCenters is how many vCenters there may be. Infrastructure has room for three.
const mostVCenters = 20

var (
	// comment matches a line that says nothing in either form.
	comment = regexp.MustCompile(`(?m)^[ \t]*[#;].*$`)
	// iniHeader matches a line that cannot stand in YAML, unless a list of lists begins the file.
	iniHeader = regexp.MustCompile(`(?m)^\[[ \t]*[A-Za-z][A-Za-z0-9-]*([ \t]+"[^"\n]*")?[ \t]*\][ \t\r]*$`)
	// yamlKey matches a line that cannot stand in INI.
	yamlKey = regexp.MustCompile(`(?m)^[ \t]*(global|vcenter|labels|nodes)[ \t]*:[ \t\r]*$`)
)

// read reads either form as the YAML form.
func (v *rewriter) read() *confdoc.Document {
	text := v.src.Config
	empty := &confdoc.Document{Reader: tree, Root: confdoc.NewMap(), Findings: &v.findings}
	if len(bytes.TrimSpace(comment.ReplaceAll(text, nil))) == 0 {
		v.reportNothing(empty)
		return empty
	}
	v.isINI = confdoc.LooksLikeINI(text) || bytes.HasPrefix(bytes.TrimSpace(text), []byte("["))
	mixed := iniHeader.FindIndex(text)
	if v.isINI {
		mixed = yamlKey.FindIndex(text)
	}
	if mixed != nil {
		line, column := confdoc.Position(text, mixed[0])
		empty.Report(line, column, diagnostic.Invalid, "INI and YAML are mixed from here on: write all of it as YAML")
		v.unread = true
		return empty
	}
	d := tree.Read
	if v.isINI {
		d = v.readINI
	}
	read := d(text, &v.findings)
	vcenters := read.Value("vcenter")
	if vcenters != nil && len(vcenters.Entries) > mostVCenters {
		first := vcenters.Entries[mostVCenters]
		read.Report(first.Line, first.Column, diagnostic.Invalid, "there are more than 20 vCenters: remove what is not used")
		v.unread = true
		return empty
	}
	v.unread = v.findings.Has(diagnostic.Invalid)
	if at := v.ofOtherCloud(); prune(tree.Fields, read.Root) == 0 && at != nil {
		v.findings = diagnostic.List{}
		read.Report(at.Line, at.Column, diagnostic.Invalid, "this is no configuration of vSphere, "+
			"but perhaps one of another cloud: none of its settings is one of vSphere's")
		v.unread = true
		return empty
	}
	return read
}

// reportNothing reports a missing configuration, which Infrastructure replaces. An empty one may be a mistake.
func (v *rewriter) reportNothing(d *confdoc.Document) {
	if v.src.Config == nil {
		v.adapted("there is no cloud configuration: it is made from " + clouds.Infrastructure)
		return
	}
	d.Report(0, 0, diagnostic.Rewritten, "the cloud configuration is empty: it is made from "+clouds.Infrastructure+
		"; if it should say more, such as insecureFlag, write it again")
}

// readINI makes the YAML form of an INI text. What is unknown has no place there.
func (v *rewriter) readINI(text []byte, findings *diagnostic.List) *confdoc.Document {
	v.adapted("the configuration is written as YAML: the cloud-controller-manager is going to drop the INI form")
	ini := confdoc.Reader{Format: confdoc.INI, Fields: schema, Input: diagnostic.CloudConfig}.Read(text, findings)
	d := &confdoc.Document{Reader: tree, Root: confdoc.NewMap(), Findings: findings}
	for _, e := range ini.Root.Entries {
		i := slices.IndexFunc(groups, func(g group) bool { return g.ini == e.Name && (e.Sub == "") != (g.yaml == "vcenter") })
		if i < 0 {
			if e.Name == "VirtualCenter" {
				d.ReportAt(e.Value, diagnostic.Invalid, `section [VirtualCenter] names no vCenter: write [VirtualCenter "server"]`)
			}
			continue
		}
		parent, name := d.Root, groups[i].yaml
		if e.Sub != "" {
			parent, name = d.Section(name), e.Sub
		}
		section := &confdoc.Node{Kind: confdoc.MapNode, Line: e.Line, Column: e.Column}
		for _, s := range groups[i].settings {
			if key := e.Value.Entry(s.ini); key != nil {
				value := split(s, key.Value)
				section.Entries = append(section.Entries, &confdoc.Entry{Name: s.Name, Value: value, Line: key.Line, Column: key.Column})
			}
		}
		parent.Entries = append(parent.Entries, &confdoc.Entry{Name: name, Value: section, Line: e.Line, Column: e.Column})
	}
	return d
}

// split makes a list of a string with commas where the setting is one.
func split(s setting, n *confdoc.Node) *confdoc.Node {
	if s.Is != confdoc.List {
		return n
	}
	out := &confdoc.Node{Kind: confdoc.ListNode, Line: n.Line, Column: n.Column}
	for item := range strings.SplitSeq(n.Text, ",") {
		out.Items = append(out.Items, &confdoc.Node{Kind: confdoc.TextNode, Text: strings.TrimSpace(item), Line: n.Line, Column: n.Column})
	}
	return out
}

// prune removes known settings that mean the same to the provider as none, and counts the others that only vSphere has: every
// cloud of OpenShift may name a Secret.
func prune(fields []confdoc.Field, n *confdoc.Node) (settings int) {
	for _, f := range fields {
		value := n.Get(f.Name)
		if value == nil {
			continue
		}
		inside := 1
		switch f.Is {
		case confdoc.Object:
			inside = prune(f.Fields, value)
		case confdoc.Map:
			for _, e := range value.Entries {
				if e.Value.Kind == confdoc.NullNode {
					e.Value.Kind = confdoc.MapNode
				}
				prune(f.Of.Fields, e.Value)
			}
		case confdoc.List:
			value.Items = slices.DeleteFunc(value.Items, func(item *confdoc.Node) bool { return item.Kind == confdoc.NullNode || item.Text == "" })
		default:
		}
		isZero := value.Text == "0" && f.Is == confdoc.Int
		if isZero || value.Text == "" && len(value.Items)+len(value.Entries) == 0 {
			n.Drop(f.Name)
		} else if !strings.HasPrefix(f.Name, "secret") {
			settings += inside
		}
	}
	return settings
}

// ofOtherCloud returns the first setting of a configuration with several, of which none is close to one of vSphere's; nil for any
// other configuration. Other clouds have load balancers too.
func (v *rewriter) ofOtherCloud() *diagnostic.Diagnostic {
	var strange []diagnostic.Diagnostic
	for _, f := range v.findings.Sorted() {
		isForeign := f.Kind == diagnostic.Unknown || f.Kind == diagnostic.Typo && !strings.Contains(f.Message, "did you mean")
		isOwn := f.Kind == diagnostic.Legacy && !strings.Contains(f.Message, legacyVSphereNSXT)
		if f.Kind == diagnostic.Invalid || isOwn {
			return nil
		} else if isForeign {
			strange = append(strange, f)
		}
	}
	if len(strange) < 2 {
		return nil
	}
	return &strange[0]
}
