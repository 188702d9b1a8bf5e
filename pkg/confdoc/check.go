package confdoc

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/redaction"
)

// Inside joins a path and a name, as messages show them.
func Inside(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// inside is Inside for a key. In INI it returns the name alone, because the finding's position identifies the section.
func (d *Document) inside(path, name string) string {
	if d.Format == INI {
		return name
	}
	return Inside(path, name)
}

func (d *Document) owner(path string) string {
	if d.Format == INI {
		return "[" + path + "]"
	}
	return path
}

// Header returns the header of a section as messages show it.
func (d *Document) Header(e *Entry) string {
	if e.Sub == "" {
		return d.owner(Cut(e.Name))
	}
	return d.owner(Cut(e.Name) + " " + Quoted(e.Sub))
}

func (d *Document) isSection(path string) bool { return d.Format == INI && path == "" }

func (d *Document) find(fields []Field, e *Entry) (Field, bool) {
	field, ok := d.Format.Find(fields, e.Name)
	return field, ok && (e.Sub == "" || field.Named)
}

// checkObject checks a mapping against known.Fields and normalizes it as Document documents.
func (d *Document) checkObject(known Field, path string, n *Node) {
	misspelled := map[string]bool{}
	n.Entries = slices.DeleteFunc(n.Entries, func(e *Entry) bool {
		field, ok := d.find(known.Fields, e)
		if !ok && !d.IgnoresUnknown {
			misspelled[d.unknownName(known.Fields, path, n, e)] = true
		}
		isDropped := ok && field.Legacy != ""
		if isDropped {
			d.reportDropped(field, path, e)
		}
		return isDropped
	})
	d.onePerName(known, path, n)
	for _, e := range n.Entries {
		if field, ok := d.find(known.Fields, e); ok {
			e.Name = field.Name
			inner := d.inside(path, field.Name)
			if e.Sub != "" {
				inner += " " + Quoted(e.Sub)
			}
			e.Value = d.checkValue(field, inner, e.Value)
		}
	}
	d.checkRequired(slices.DeleteFunc(slices.Clone(known.Fields), func(f Field) bool {
		return misspelled[f.Name] && n.Entry(f.Name) == nil // reported
	}), path, n)
}

func (d *Document) reportDropped(field Field, path string, e *Entry) {
	if field.Only != nil && e.Value.Text != *field.Only {
		d.Reportf(e.Value, diagnostic.Typo, "%s is %s, but only its default %q can be used (%s): remove the line",
			d.inside(path, field.Name), shown(field, e.Value), *field.Only, field.Legacy)
		return
	}
	name := d.inside(path, field.Name)
	if d.isSection(path) {
		name = "section " + d.owner(field.Name)
	} else if d.Format == INI {
		name += " in " + d.owner(path)
	}
	kind := diagnostic.Legacy
	switch {
	case field.Mistaken:
		kind = diagnostic.Typo
	case e.Value.Blank: // an empty value has an equals sign
	case field.Installed, field.Only != nil, e.Value.IsEmpty(),
		slices.Contains(field.Harmless, strings.ToLower(e.Value.Text)):
		kind = diagnostic.Adapted
	}
	d.ReportAt(e.Position, kind, "%s is dropped: %s", name, field.Legacy)
}

// unknownName reports an unknown name. It returns the known name that the message suggests, or an empty string.
func (d *Document) unknownName(fields []Field, path string, n *Node, e *Entry) (meant string) {
	what, where := "unknown key "+Quoted(e.Name), ""
	quoted := strconv.Quote
	if d.isSection(path) {
		what, quoted = "unknown section "+d.Header(e), d.owner
	} else if path != "" {
		where = " in " + d.owner(path)
	}
	if e.Value.Blank {
		what = "unknown key without a value" // hide the name, which may be the rest of a wrapped secret
	}
	if meant = d.meantName(fields, path, e); meant != "" {
		kind := diagnostic.Typo
		if field, _ := d.Format.Find(fields, meant); field.Required != "" && n.Entry(meant) == nil {
			kind = diagnostic.Invalid // a required name is missing
		}
		d.ReportAt(e.Position, kind, "%s%s; did you mean %s?", what, where, quoted(meant))
		return meant
	}
	if places := d.knownPlaces(d.Fields, "", e.Name); len(places) > 0 && !d.isSection(path) {
		d.ReportAt(e.Position, diagnostic.Typo, "%s%s; it belongs %s", what, where, strings.Join(places, " or "))
		return ""
	}
	action := "remove it or correct its name"
	if e.Value.Blank {
		action = "remove it, or write it into the line above if it is the rest of that value"
	}
	if d.Input == diagnostic.CloudConfig && redaction.IsSecretName(e.Name) {
		action = "remove it, as everyone who may read the ConfigMap can read this secret"
	}
	d.ReportAt(e.Position, diagnostic.Unknown, "%s%s: the cloud-controller-manager ignores it; %s", what, where, action)
	return ""
}

// meantName returns the known name that an unknown one resembles, or an empty string. The name of a switch is not meant
// by one with another value, such as region by regional.
func (d *Document) meantName(fields []Field, path string, e *Entry) string {
	names := readNames(fields)
	meant := cmp.Or(Nearest(e.Name, names), completion(e.Name, names))
	field, _ := d.Format.Find(fields, meant)
	if _, wanted := d.typed(field, path, e.Value); field.Is == Bool && wanted != "" {
		return ""
	}
	return meant
}

func (d *Document) knownPlaces(fields []Field, path, name string) []string {
	var found []string
	for _, f := range fields {
		if !f.isRead() {
			continue
		}
		if SameName(f.Name, name) {
			place := "at the top level"
			if path != "" {
				place = "in " + d.owner(path)
			}
			if _, isSpelled := d.Format.Find([]Field{f}, name); !isSpelled {
				place += " as " + strconv.Quote(f.Name)
			}
			found = append(found, place)
		}
		inner := f
		for inner.Of != nil {
			inner = *inner.Of
		}
		found = append(found, d.knownPlaces(inner.Fields, Inside(path, f.Name), name)...)
	}
	return found
}

// checkRequired reports missing and empty required names. In INI, a section with required keys is itself required.
func (d *Document) checkRequired(fields []Field, path string, n *Node) {
	if d.incomplete {
		return
	}
	for i := range fields {
		f := &fields[i]
		e := n.Entry(f.Name)
		switch {
		case e == nil && f.Is == Object && !f.Named && d.isSection(path):
			d.checkRequired(f.Fields, f.Name, nil)
		case f.Required == "":
		case e == nil:
			d.missing(f, path, n)
		case e.Value.Kind == TextNode && !e.Value.Blank && strings.TrimSpace(e.Value.Text) == "":
			d.Rejectf(e.Value, "%s is empty: %s", d.inside(path, f.Name), f.Required)
		}
	}
}

func (d *Document) missing(f *Field, path string, n *Node) {
	if path == "" {
		d.Rejectf(nil, "there is no %s: %s", f.Name, f.Required)
		return
	}
	d.Rejectf(n, "%s has no %s: %s", d.owner(path), f.Name, f.Required)
}

// checkValue checks a value and returns it as the provider's library reads it.
func (d *Document) checkValue(field Field, path string, n *Node) *Node {
	if n.Kind == NullNode {
		return n
	}
	typed, wanted := d.typed(field, path, n)
	switch {
	case wanted != "":
		d.wrongType(field, path, n, wanted)
		return n
	case field.Is == Any:
	case field.Is == Object:
		d.checkObject(field, path, typed)
	case field.Is == Map:
		d.onePerName(field, path, typed)
		d.dropNameless(*field.Of, path, typed)
		for _, e := range typed.Entries {
			e.Value = d.checkValue(*field.Of, Inside(path, Cut(e.Name)), e.Value)
		}
	case typed.Kind == ListNode:
		for i, item := range typed.Items {
			typed.Items[i] = d.checkValue(*field.Of, fmt.Sprintf("%s[%d]", path, i), item)
		}
	default:
		d.checkMeaning(field, path, typed)
	}
	return typed
}

// dropNameless removes the settings of an item from a mapping of items, where they are a level too high, and reports
// the first one.
func (d *Document) dropNameless(item Field, path string, n *Node) {
	reported := false
	n.Entries = slices.DeleteFunc(n.Entries, func(e *Entry) bool {
		_, known := d.Format.Find(item.Fields, e.Name)
		isSetting := known && e.Value.Kind != MapNode && e.Value.Kind != NullNode
		if isSetting && !reported {
			d.ReportAt(e.Position, diagnostic.Invalid, "%s is directly below %s, which has named entries: write a line with "+
				"a name above it, and indent the settings below the name", e.Name, path)
		}
		reported = reported || isSetting
		return isSetting
	})
}

func (d *Document) checkMeaning(field Field, path string, n *Node) {
	switch wanted := field.wanted(n.Text); {
	case n.Text == "":
	case n.Kind == TextNode && d.isSuspicious(field, path, n):
	case field.Schemes != nil && !IsURL(n.Text, field.Schemes...):
		d.wrongURL(field, path, n)
	case wanted != "" && field.Passed:
		d.Reportf(n, diagnostic.Typo, "%s is %s, but must be %s", path, shown(field, n), wanted)
	case wanted != "":
		d.wrongType(field, path, n, wanted)
	case !field.allows(n.Text):
		d.Reportf(n, diagnostic.Typo, "%s is %s, and the cloud-controller-manager uses %s instead: write %s",
			path, shown(field, n), field.Fallback, oneOf(field.Values))
	case field.Secret && IsPlaceholder(n.Text): // a password may look like one
		d.Reportf(n, diagnostic.Doubtful, "%s: the value looks like a placeholder: replace it", path)
	}
}

func (d *Document) wrongURL(field Field, path string, n *Node) {
	kind := diagnostic.Invalid
	if field.Passed && strings.TrimSpace(n.Text) != "" {
		kind = diagnostic.Typo
	}
	d.Reportf(n, kind, "%s is not a URL of the form %s://host/path", path, field.Schemes[0])
}

// wanted describes what a value must be. It is empty if the value is valid or the provider uses Fallback.
func (f Field) wanted(text string) string {
	switch {
	case f.Max > 0 && !isUpTo(f.Max, text) && !(f.ZeroUnset && text == "0"):
		return fmt.Sprintf("a number from 1 to %d", f.Max)
	case f.Valid != nil && !f.Valid(text):
		return f.Hint
	case f.allows(text), f.Fallback != "":
		return ""
	case f.Hint != "":
		return oneOf(f.Values) + ": " + f.Hint
	}
	return oneOf(f.Values)
}

func isUpTo(most int, text string) bool {
	number, err := strconv.Atoi(text)
	return err == nil && number >= 1 && number <= most
}

// IsURL reports whether the address is an absolute URL with one of the schemes and a host that is no placeholder.
func IsURL(address string, schemes ...string) bool {
	u, err := url.Parse(address)
	return err == nil && slices.Contains(schemes, u.Scheme) && u.Host != "" && !strings.ContainsAny(u.Host, "<>$")
}

// oneOf joins the allowed values, for example to "a, b or c".
func oneOf(values []string) string {
	if len(values) == 1 {
		return values[0]
	}
	return strings.Join(values[:len(values)-1], ", ") + " or " + values[len(values)-1]
}

func (d *Document) wrongType(field Field, path string, n *Node, wanted string) {
	message := fmt.Sprintf("%s is %s, but must be %s", path, shown(field, n), wanted)
	switch {
	case field.Is == Unsettable:
		message = path + " cannot be set here: remove the line"
	case n.Blank:
		message = fmt.Sprintf("%s has no value: write %s = value or remove the line", path, path)
	case n.Kind == TextNode && n.Text == "":
		message = fmt.Sprintf("%s is empty, but must be %s", path, wanted)
	}
	kind, _ := plainKind(n.Text)
	isQuoted := n.Kind == TextNode && d.Format != INI
	if isQuoted && (field.Is == Bool && kind == BoolNode || (field.Is == Int || field.Is == Float) && kind == IntNode) {
		message += ": remove the quotes"
	}
	d.Rejectf(n, "%s", message)
}

func shown(field Field, n *Node) string {
	switch {
	case n.Kind == ListNode:
		return "a list"
	case n.Kind == MapNode:
		return "a mapping"
	case field.Secret || strings.Contains(n.Text, "\n"):
		return "a hidden value"
	case n.Kind == TextNode:
		return Quoted(n.Text)
	}
	return Cut(cmp.Or(n.written, n.Text))
}
