package confdoc

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

// Inside is a name below a path, as messages show it.
func Inside(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// checkObject checks a mapping with the names of known.fields and brings it into the form that treeDocument promises.
func (d *Tree) checkObject(known Field, path string, n *Node, v decoded) {
	n.Entries = slices.DeleteFunc(n.Entries, func(e *Entry) bool {
		field, ok := d.field(known.Fields, e.Name)
		switch {
		case !ok:
			d.unknownName(known.Fields, path, e)
		case field.Legacy != "":
			d.Report(e.Line, e.Column, diagnostic.Legacy, fmt.Sprintf("%s is dropped: %s", Inside(path, field.Name), field.Legacy))
			return true
		}
		return false
	})
	n.Entries = d.onePerName(path, n.Entries, func(name string) (string, bool) {
		if field, ok := d.field(known.Fields, name); ok {
			return field.Name, true
		}
		return name, false
	}, func(name string) decoded { return v.member(known.Fields, name) })
	for _, e := range n.Entries {
		if field, ok := d.field(known.Fields, e.Name); ok {
			e.Name = field.Name
			e.Value = d.checkValue(field, Inside(path, field.Name), e.Value, v.member(known.Fields, field.Name))
		}
	}
	d.checkRequired(known.Fields, path, n)
}

// field is the known field of that name, as the provider's reader finds it.
func (d *Tree) field(fields []Field, name string) (Field, bool) {
	for _, f := range fields {
		if f.Name == name {
			return f, true
		}
	}
	if d.Format == YAMLTree {
		return Field{}, false
	}
	for _, f := range fields {
		if strings.EqualFold(f.Name, name) {
			return f, true
		}
	}
	return Field{}, false
}

func isCollection(n *Node) bool { return n.Kind == ListNode || n.Kind == MapNode }

func (d *Tree) unknownName(fields []Field, path string, e *Entry) {
	where := ""
	if path != "" {
		where = " in " + path
	}
	var names []string
	for _, f := range fields {
		if f.Legacy == "" {
			names = append(names, f.Name)
		}
	}
	if meant := Nearest(e.Name, names); meant != "" {
		d.Report(e.Line, e.Column, diagnostic.Typo, fmt.Sprintf("unknown key %s%s; did you mean %q?", Quoted(e.Name), where, meant))
		return
	}
	if homes := homes(d.Fields, "", e.Name); len(homes) > 0 {
		d.Report(e.Line, e.Column, diagnostic.Typo, fmt.Sprintf("unknown key %s%s; it belongs %s", Quoted(e.Name), where, strings.Join(homes, " or ")))
		return
	}
	d.Report(e.Line, e.Column, diagnostic.Unknown,
		fmt.Sprintf("unknown key %s%s: the cloud-controller-manager ignores it; remove it or correct its name", Quoted(e.Name), where))
}

// homes are the places that know the name, as messages show them.
func homes(fields []Field, path, name string) []string {
	var found []string
	for _, f := range fields {
		if f.Legacy != "" {
			continue
		}
		switch {
		case f.Name == name && path == "":
			found = append(found, "at the top")
		case f.Name == name:
			found = append(found, "in "+path)
		}
		below := Inside(path, f.Name)
		inner := f
		for inner.Of != nil {
			inner = *inner.Of
		}
		found = append(found, homes(inner.Fields, below, name)...)
	}
	return found
}

// checkRequired reports what is missing.
func (d *Tree) checkRequired(fields []Field, path string, n *Node) {
	for _, f := range fields {
		if f.Required == "" {
			continue
		}
		switch e := n.Entry(f.Name); {
		case e == nil && path == "":
			d.Report(0, 0, diagnostic.Invalid, fmt.Sprintf("there is no %s: %s", f.Name, f.Required))
		case e == nil:
			d.ReportAt(n, diagnostic.Invalid, fmt.Sprintf("%s has no %s: %s", path, f.Name, f.Required))
		case e.Value.Kind == TextNode && strings.TrimSpace(e.Value.Text) == "":
			d.ReportAt(e.Value, diagnostic.Invalid, fmt.Sprintf("%s is empty: %s", Inside(path, f.Name), f.Required))
		}
	}
}

// checkValue checks a value and returns the one that the provider's reader makes of it.
func (d *Tree) checkValue(field Field, path string, n *Node, v decoded) *Node {
	switch field.Is {
	case TextTree:
		n = d.checkText(field, path, n)
	case BoolTree:
		if n.Kind != BoolNode {
			d.wrongType(field, path, n, "true or false")
		}
	case IntTree:
		n = d.checkInt(field, path, n)
	case FloatTree:
		if n.Kind != IntNode && n.Kind != floatNode {
			d.wrongType(field, path, n, "a number")
		}
	case ListTree:
		d.checkList(field, path, n, v)
	case MapTree, ObjectTree:
		d.checkMap(field, path, n, v)
	case AnyTree:
	}
	return n
}

func (d *Tree) checkText(field Field, path string, n *Node) *Node {
	switch n.Kind {
	case TextNode:
	case BoolNode, IntNode, floatNode:
		if d.Format == JSONTree {
			d.wrongType(field, path, n, "a text")
			return n
		}
		n = d.textOf(field, path, n)
	default:
		d.wrongType(field, path, n, "a text")
		return n
	}
	if n.Text == "" || field.Values == nil || slices.ContainsFunc(field.Values, func(allowed string) bool {
		return allowed == n.Text || field.FoldValues && strings.EqualFold(allowed, n.Text)
	}) {
		return n
	}
	message := fmt.Sprintf("%s is %s, but wants %s", path, shown(field, n), OneOf(field.Values))
	if meant := Nearest(n.Text, field.Values); meant != "" && len(field.Values) > 4 {
		message = fmt.Sprintf("%s is %s, which it cannot be; did you mean %q?", path, shown(field, n), meant)
	}
	d.ReportAt(n, diagnostic.Invalid, message)
	return n
}

// textOf is the text that a YAML reader makes of a number or boolean that stands without quotes where a text belongs.
func (d *Tree) textOf(field Field, path string, n *Node) *Node {
	text := &Node{Kind: TextNode, Text: n.written, Line: n.Line, Column: n.Column}
	if as := madeText(n); d.Format == YAMLAsJSONTree && as != n.written {
		text.Text = as
		if as = Quoted(as); field.Secret {
			as = "another text"
		}
		d.ReportAt(n, diagnostic.Typo, fmt.Sprintf("%s has no quotes, so the cloud-controller-manager reads it as %s: put it in quotes", path, as))
	}
	return text
}

// OneOf lists what a value may be.
func OneOf(values []string) string {
	if len(values) == 1 {
		return values[0]
	}
	return strings.Join(values[:len(values)-1], ", ") + " or " + values[len(values)-1]
}

func (d *Tree) checkInt(field Field, path string, n *Node) *Node {
	text := n.Text
	if n.Kind == floatNode && d.Format != JSONTree {
		text = wholeNumber(text)
	}
	bits := cmp.Or(field.Bits, 64)
	value, err := strconv.ParseInt(text, 10, bits)
	isNumber := n.Kind == IntNode || n.Kind == floatNode
	if isNumber && err == nil && (value >= 0 || !field.Unsigned) {
		return &Node{Kind: IntNode, Text: text, written: n.written, Line: n.Line, Column: n.Column}
	}
	wanted := "a whole number"
	if field.Unsigned {
		wanted += " that is not negative"
	}
	if n.Kind == IntNode && err != nil && bits < 64 {
		wanted += fmt.Sprintf(" of at most %d bits", bits)
	}
	d.wrongType(field, path, n, wanted)
	return n
}

// wholeNumber is a whole number that is written as a fraction or with an exponent, such as 1.0 and 1e3, in its usual form:
// YAML takes them. Any other text is returned as it is.
func wholeNumber(text string) string {
	value, err := strconv.ParseFloat(text, 64)
	if err != nil || value != math.Trunc(value) || math.Abs(value) >= 1<<53 {
		return text
	}
	return strconv.FormatInt(int64(value), 10)
}

func (d *Tree) checkList(field Field, path string, n *Node, v decoded) {
	if n.Kind != ListNode {
		d.wrongType(field, path, n, "a list")
		return
	}
	for i, item := range n.Items {
		if item.Kind != NullNode {
			n.Items[i] = d.checkValue(*field.Of, fmt.Sprintf("%s[%d]", path, i), item, v.item(i))
		}
	}
}

func (d *Tree) checkMap(field Field, path string, n *Node, v decoded) {
	switch {
	case n.Kind != MapNode:
		d.wrongType(field, path, n, "a mapping of keys to values")
	case field.Is == ObjectTree:
		d.checkObject(field, path, n, v)
	default:
		n.Entries = d.onePerName(path, n.Entries, func(name string) (string, bool) { return name, false }, v.key) // no reader folds these
		for _, e := range n.Entries {
			if e.Value.Kind != NullNode {
				e.Value = d.checkValue(*field.Of, Inside(path, Cut(e.Name)), e.Value, v.key(e.Name))
			}
		}
	}
}

// wrongType reports a value that the provider's reader refuses.
func (d *Tree) wrongType(field Field, path string, n *Node, wanted string) {
	message := fmt.Sprintf("%s is %s, but wants %s", path, shown(field, n), wanted)
	if n.Kind == TextNode && n.Text == "" {
		message = fmt.Sprintf("%s is empty, but wants %s", path, wanted)
	}
	if n.Kind == TextNode && resolvesTo(field.Is, n.Text) {
		message += ": remove the quotes"
	}
	d.ReportAt(n, diagnostic.Invalid, message)
}

// resolvesTo tells whether a text without quotes would be a value of the type.
func resolvesTo(is Type, text string) bool {
	kind, _ := plainKind(text)
	return is == BoolTree && kind == BoolNode || is == IntTree && kind == IntNode || is == FloatTree && (kind == IntNode || kind == floatNode)
}

// shown is a value as messages show it.
func shown(field Field, n *Node) string {
	switch n.Kind {
	case NullNode:
		return "null"
	case ListNode:
		return "a list"
	case MapNode:
		return "a mapping"
	case TextNode:
		if field.Secret || strings.Contains(n.Text, "\n") {
			return "a text"
		}
		return Quoted(n.Text)
	case BoolNode:
		if field.Secret {
			return "true or false"
		}
	case IntNode, floatNode:
		if field.Secret {
			return "a number"
		}
	}
	return "the bare " + Cut(n.written)
}
