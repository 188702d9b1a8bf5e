package vsphere

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

// maxVCenters limits the vCenters of a configuration. Infrastructure allows three.
const maxVCenters = 20

var (
	comment = regexp.MustCompile(`(?m)^[ \t]*[#;].*$`)
	// iniHeader matches a line that cannot be YAML, unless the file starts with a list of lists.
	iniHeader = regexp.MustCompile(`(?m)^\[[ \t]*[A-Za-z][A-Za-z0-9-]*([ \t]+"[^"\n]*")?[ \t]*\][ \t\r]*$`)
	// yamlKey matches a line that cannot be INI.
	yamlKey = regexp.MustCompile(`(?m)^[ \t]*(global|vcenter|labels|nodes)[ \t]*:[ \t\r]*$`)
)

func empty(findings *diagnostic.List) *confdoc.Document {
	return &confdoc.Document{Reader: tree, Root: confdoc.NewMap(), Findings: findings}
}

// read parses the configuration into the YAML form. It reports a configuration that cannot be read and leaves v empty.
func (v *rewriter) read() {
	const made = "it is made from " + clouds.Infrastructure
	switch text := v.Config; {
	case text == nil:
		v.Reportf(nil, diagnostic.Adapted, "there is no cloud configuration: "+made)
		return
	case len(bytes.TrimSpace(comment.ReplaceAll(text, nil))) == 0:
		v.Reportf(nil, diagnostic.Rewritten, "the cloud configuration is empty: "+made+
			"; if it should say more, such as insecureFlag, write it again")
		return
	}
	v.isINI = confdoc.LooksLikeINI(v.Config) || bytes.HasPrefix(bytes.TrimSpace(v.Config), []byte("["))
	read, otherForm := tree.Read, iniHeader
	if v.isINI {
		read, otherForm = readINI, yamlKey
	}
	if at := otherForm.FindIndex(v.Config); at != nil {
		v.ReportAt(confdoc.PositionAt(v.Config, at[0]), diagnostic.Invalid,
			"INI and YAML are mixed from here on: write all of it as YAML")
		v.unread = true
		return
	}
	d := read(v.Config, v.Findings)
	if vcenters := d.Value("vcenter").Members(); len(vcenters) > maxVCenters {
		v.ReportAt(vcenters[maxVCenters].Position, diagnostic.Invalid,
			"there are more than %d vCenters: remove what is not used", maxVCenters)
		v.unread = true
		return
	}
	v.unread = v.Findings.Has(diagnostic.Invalid)
	v.Document = d
	if at := v.ofOtherCloud(); prune(tree.Fields, d.Root) == 0 && at != nil {
		v.Document, v.unread = empty(&diagnostic.List{}), true
		v.ReportAt(confdoc.Position{Line: at.Line, Column: at.Column}, diagnostic.Invalid,
			"no known vSphere key found; is this another cloud's configuration?")
	}
}

// readINI converts the INI form to the YAML form, which cannot contain unknown settings.
func readINI(text []byte, findings *diagnostic.List) *confdoc.Document {
	ini := confdoc.Reader{Format: confdoc.INI, Fields: schema, Input: diagnostic.CloudConfig}.Read(text, findings)
	ini.Reportf(nil, diagnostic.Adapted,
		"the configuration is written as YAML: the cloud-controller-manager is going to drop the INI form")
	d := empty(findings)
	d.Also = schema
	for _, e := range ini.Root.Entries {
		i := slices.IndexFunc(sections, func(s section) bool { return s.ini == e.Name })
		if i < 0 {
			continue
		}
		parent, name, isVCenter := d.Root, sections[i].yaml, sections[i].ini == virtualCenter
		switch {
		case isVCenter && e.Sub == "":
			ini.Rejectf(e.Value, `section [VirtualCenter] names no vCenter: write [VirtualCenter "server"]`)
			continue
		case isVCenter:
			parent, name = d.Root.Section(name), e.Sub
		case e.Sub != "":
			continue
		}
		settings := confdoc.NewMap()
		settings.Position = e.Position
		for _, f := range sections[i].fields {
			if setting := e.Value.Entry(iniName(f.Name)); setting != nil {
				setting.Label = fmt.Sprintf("%s in %s", setting.Name, ini.Header(e))
				setting.Name = f.Name
				if f.Is == confdoc.List {
					setting.Value = split(setting.Value)
				}
				settings.Entries = append(settings.Entries, setting)
			}
		}
		parent.Entries = append(parent.Entries, &confdoc.Entry{Name: name, Value: settings, Position: e.Position})
	}
	return d
}

func split(n *confdoc.Node) *confdoc.Node {
	list := &confdoc.Node{Kind: confdoc.ListNode, Position: n.Position}
	for item := range strings.SplitSeq(n.Text, ",") {
		item := &confdoc.Node{Kind: confdoc.TextNode, Text: strings.TrimSpace(item), Position: n.Position}
		list.Items = append(list.Items, item)
	}
	return list
}

// prune removes known settings whose value means the same to the provider as no value, and returns how many of the
// others only vSphere has. A secretName is not one: the configuration of another cloud may also name a Secret.
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
			isEmpty := func(item *confdoc.Node) bool { return item.Kind == confdoc.NullNode || item.Text == "" }
			value.Items = slices.DeleteFunc(value.Items, isEmpty)
		default:
		}
		if isNone(f, value) {
			n.Drop(f.Name)
		} else if !strings.HasPrefix(f.Name, "secret") {
			settings += inside
		}
	}
	return settings
}

func isNone(f confdoc.Field, value *confdoc.Node) bool {
	isZero := value.Text == "0" && f.Is == confdoc.Int
	return isZero || value.Text == "" && len(value.Items)+len(value.Entries) == 0
}

// ofOtherCloud returns the first of several unknown settings if none resembles one of vSphere's, or nil. Load balancers
// of NSX-T do not count, because other clouds have sections of these names too.
func (v *rewriter) ofOtherCloud() *diagnostic.Diagnostic {
	var foreign []diagnostic.Diagnostic
	for _, f := range v.Findings.Sorted() {
		switch {
		case f.Kind == diagnostic.Invalid, f.Kind == diagnostic.Legacy && !strings.Contains(f.Message, legacyNSXT),
			strings.Contains(f.Message, legacyVolumes):
			return nil
		case f.Kind == diagnostic.Unknown, f.Kind == diagnostic.Typo && !strings.Contains(f.Message, "did you mean"):
			foreign = append(foreign, f)
		}
	}
	if len(foreign) < 2 {
		return nil
	}
	return &foreign[0]
}
