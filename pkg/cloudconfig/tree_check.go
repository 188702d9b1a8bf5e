package cloudconfig

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

// inside is a name below a path, as messages show it.
func inside(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// checkObject checks a mapping with the names of known.fields and brings it into the form that treeDocument promises.
func (d *treeDocument) checkObject(known treeField, path string, n *treeNode) {
	n.entries = slices.DeleteFunc(n.entries, func(e *treeEntry) bool {
		field, ok := d.field(known.fields, e.name)
		switch {
		case !ok:
			d.unknownName(known.fields, path, e)
		case field.legacy != "":
			d.report(e.line, e.column, diagnostic.Legacy, fmt.Sprintf("%s is dropped: %s", inside(path, field.name), field.legacy))
			return true
		}
		return false
	})
	n.entries = d.onePerName(path, n.entries, func(name string) (string, bool) {
		if field, ok := d.field(known.fields, name); ok {
			return field.name, true
		}
		return name, false
	})
	for _, e := range n.entries {
		if field, ok := d.field(known.fields, e.name); ok {
			e.name = field.name
			e.value = d.checkValue(field, inside(path, field.name), e.value)
		}
	}
	d.checkRequired(known.fields, path, n)
}

// onePerName lets each name stand once. spelling is a name as the provider spells it, and whether it knows it: a null value
// of a known name means that it is not set.
func (d *treeDocument) onePerName(path string, entries []*treeEntry, spelling func(string) (string, bool)) []*treeEntry {
	d.refuseNullBeside(path, entries, spelling)
	at := map[string]int{}
	var kept []*treeEntry
	for _, e := range entries {
		name, known := spelling(e.name)
		first, again := at[name]
		unset := known && e.value.kind == nullNode
		switch {
		case !again && unset:
		case !again:
			at[name] = len(kept)
			kept = append(kept, e)
		case !unset:
			kept[first] = d.duplicate(inside(path, cut(name)), kept[first], e)
		case d.format != jsonTree && kept[first].name == e.name: // encoding/json leaves a value as it is where null follows
			d.reportPair(kept[first], e.line, diagnostic.Rewritten,
				fmt.Sprintf("this %s is dropped: it is set to null again, and the last value counts", inside(path, cut(name))))
			kept[first] = nil
			delete(at, name)
		}
	}
	return slices.DeleteFunc(kept, func(e *treeEntry) bool { return e == nil })
}

// refuseNullBeside reports a null beside a map or a list of the same name: which of them counts depends on the order in which the
// provider's reader comes to them.
func (d *treeDocument) refuseNullBeside(path string, entries []*treeEntry, spelling func(string) (string, bool)) {
	seen := map[string]*treeEntry{}
	for _, e := range entries {
		name, known := spelling(e.name)
		other := seen[name]
		seen[name] = e
		if !known || other == nil || other.name == e.name && d.format != jsonTree {
			continue // of names that are spelt alike, YAML's readers take the last one
		}
		for _, pair := range [][2]*treeNode{{e.value, other.value}, {other.value, e.value}} {
			if pair[0].kind == nullNode && isCollection(pair[1]) {
				d.duplicate(inside(path, cut(name)), other, e)
			}
		}
	}
}

// field is the known field of that name, as the provider's reader finds it.
func (d *treeDocument) field(fields []treeField, name string) (treeField, bool) {
	for _, f := range fields {
		if f.name == name {
			return f, true
		}
	}
	if d.format == yamlTree {
		return treeField{}, false
	}
	for _, f := range fields {
		if strings.EqualFold(f.name, name) {
			return f, true
		}
	}
	return treeField{}, false
}

// duplicate reports that a name stands twice and returns the entry that counts: the last one, except that
// sigs.k8s.io/yaml sorts different spellings of a name.
func (d *treeDocument) duplicate(name string, first, second *treeEntry) *treeEntry {
	if isCollection(first.value) || isCollection(second.value) {
		d.reportPair(second, first.line, diagnostic.Invalid, fmt.Sprintf("duplicate key %s: keep one", name))
		return first
	}
	counts, dropped := second, first
	if d.format == yamlAsJSONTree && first.name > second.name {
		counts, dropped = first, second
	}
	reason := "the last value counts"
	if counts == first {
		reason = "the other value counts"
	}
	d.reportPair(dropped, counts.line, diagnostic.Rewritten, fmt.Sprintf("this %s is dropped: duplicate key, and %s", name, reason))
	return counts
}

func isCollection(n *treeNode) bool { return n.kind == listNode || n.kind == mapNode }

func (d *treeDocument) unknownName(fields []treeField, path string, e *treeEntry) {
	where := ""
	if path != "" {
		where = " in " + path
	}
	var names []string
	for _, f := range fields {
		if f.legacy == "" {
			names = append(names, f.name)
		}
	}
	if meant := nearest(e.name, names); meant != "" {
		d.report(e.line, e.column, diagnostic.Typo, fmt.Sprintf("unknown key %s%s; did you mean %q?", quoted(e.name), where, meant))
		return
	}
	if homes := homes(d.fields, "", e.name); len(homes) > 0 {
		d.report(e.line, e.column, diagnostic.Typo, fmt.Sprintf("unknown key %s%s; it belongs %s", quoted(e.name), where, strings.Join(homes, " or ")))
		return
	}
	d.report(e.line, e.column, diagnostic.Unknown,
		fmt.Sprintf("unknown key %s%s: the cloud-controller-manager ignores it; remove it or correct its name", quoted(e.name), where))
}

// homes are the places that know the name, as messages show them.
func homes(fields []treeField, path, name string) []string {
	var found []string
	for _, f := range fields {
		if f.legacy != "" {
			continue
		}
		switch {
		case f.name == name && path == "":
			found = append(found, "at the top")
		case f.name == name:
			found = append(found, "in "+path)
		}
		below := inside(path, f.name)
		inner := f
		for inner.of != nil {
			inner = *inner.of
		}
		found = append(found, homes(inner.fields, below, name)...)
	}
	return found
}

// checkRequired reports what is missing.
func (d *treeDocument) checkRequired(fields []treeField, path string, n *treeNode) {
	for _, f := range fields {
		if f.required == "" {
			continue
		}
		switch e := n.entry(f.name); {
		case e == nil && path == "":
			d.report(0, 0, diagnostic.Invalid, fmt.Sprintf("there is no %s: %s", f.name, f.required))
		case e == nil:
			d.reportAt(n, diagnostic.Invalid, fmt.Sprintf("%s has no %s: %s", path, f.name, f.required))
		case e.value.kind == textNode && strings.TrimSpace(e.value.text) == "":
			d.reportAt(e.value, diagnostic.Invalid, fmt.Sprintf("%s is empty: %s", inside(path, f.name), f.required))
		}
	}
}

// checkValue checks a value and returns the one that the provider's reader makes of it.
func (d *treeDocument) checkValue(field treeField, path string, n *treeNode) *treeNode {
	switch field.is {
	case textTree:
		n = d.checkText(field, path, n)
	case boolTree:
		if n.kind != boolNode {
			d.wrongType(field, path, n, "true or false")
		}
	case intTree:
		n = d.checkInt(field, path, n)
	case floatTree:
		if n.kind != intNode && n.kind != floatNode {
			d.wrongType(field, path, n, "a number")
		}
	case listTree:
		d.checkList(field, path, n)
	case mapTree, objectTree:
		d.checkMap(field, path, n)
	case anyTree:
	}
	return n
}

func (d *treeDocument) checkText(field treeField, path string, n *treeNode) *treeNode {
	switch n.kind {
	case textNode:
	case boolNode, intNode, floatNode:
		if d.format == jsonTree {
			d.wrongType(field, path, n, "a text")
			return n
		}
		n = d.textOf(field, path, n)
	default:
		d.wrongType(field, path, n, "a text")
		return n
	}
	if n.text == "" || field.values == nil || slices.ContainsFunc(field.values, func(allowed string) bool {
		return allowed == n.text || field.foldValues && strings.EqualFold(allowed, n.text)
	}) {
		return n
	}
	message := fmt.Sprintf("%s is %s, but wants %s", path, shown(field, n), oneOf(field.values))
	if meant := nearest(n.text, field.values); meant != "" && len(field.values) > 4 {
		message = fmt.Sprintf("%s is %s, which it cannot be; did you mean %q?", path, shown(field, n), meant)
	}
	d.reportAt(n, diagnostic.Invalid, message)
	return n
}

// textOf is the text that a YAML reader makes of a number or boolean that stands without quotes where a text belongs.
func (d *treeDocument) textOf(field treeField, path string, n *treeNode) *treeNode {
	text := &treeNode{kind: textNode, text: n.written, line: n.line, column: n.column}
	if as := madeText(n); d.format == yamlAsJSONTree && as != n.written {
		text.text = as
		if as = quoted(as); field.secret {
			as = "another text"
		}
		d.reportAt(n, diagnostic.Typo, fmt.Sprintf("%s has no quotes, so the cloud-controller-manager reads it as %s: put it in quotes", path, as))
	}
	return text
}

// madeText is the text that sigs.k8s.io/yaml makes of a boolean or number.
func madeText(n *treeNode) string {
	if n.kind == floatNode {
		if value, err := strconv.ParseFloat(n.text, 64); err == nil {
			return strconv.FormatFloat(value, 'g', -1, 32)
		}
	}
	return n.text
}

// oneOf lists what a value may be.
func oneOf(values []string) string {
	if len(values) == 1 {
		return values[0]
	}
	return strings.Join(values[:len(values)-1], ", ") + " or " + values[len(values)-1]
}

func (d *treeDocument) checkInt(field treeField, path string, n *treeNode) *treeNode {
	text := n.text
	if n.kind == floatNode && d.format != jsonTree {
		text = wholeNumber(text)
	}
	bits := cmp.Or(field.bits, 64)
	value, err := strconv.ParseInt(text, 10, bits)
	isNumber := n.kind == intNode || n.kind == floatNode
	if isNumber && err == nil && (value >= 0 || !field.unsigned) {
		return &treeNode{kind: intNode, text: text, written: n.written, line: n.line, column: n.column}
	}
	wanted := "a whole number"
	if field.unsigned {
		wanted += " that is not negative"
	}
	if n.kind == intNode && err != nil && bits < 64 {
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

func (d *treeDocument) checkList(field treeField, path string, n *treeNode) {
	if n.kind != listNode {
		d.wrongType(field, path, n, "a list")
		return
	}
	for i, item := range n.items {
		if item.kind != nullNode {
			n.items[i] = d.checkValue(*field.of, fmt.Sprintf("%s[%d]", path, i), item)
		}
	}
}

func (d *treeDocument) checkMap(field treeField, path string, n *treeNode) {
	switch {
	case n.kind != mapNode:
		d.wrongType(field, path, n, "a mapping of keys to values")
	case field.is == objectTree:
		d.checkObject(field, path, n)
	default:
		n.entries = d.onePerName(path, n.entries, func(name string) (string, bool) { return name, false }) // no reader folds these
		for _, e := range n.entries {
			if e.value.kind != nullNode {
				e.value = d.checkValue(*field.of, inside(path, cut(e.name)), e.value)
			}
		}
	}
}

// wrongType reports a value that the provider's reader refuses.
func (d *treeDocument) wrongType(field treeField, path string, n *treeNode, wanted string) {
	message := fmt.Sprintf("%s is %s, but wants %s", path, shown(field, n), wanted)
	if n.kind == textNode && n.text == "" {
		message = fmt.Sprintf("%s is empty, but wants %s", path, wanted)
	}
	if n.kind == textNode && resolvesTo(field.is, n.text) {
		message += ": remove the quotes"
	}
	d.reportAt(n, diagnostic.Invalid, message)
}

// resolvesTo tells whether a text without quotes would be a value of the type.
func resolvesTo(is treeType, text string) bool {
	kind, _ := resolvePlain(text)
	return is == boolTree && kind == boolNode || is == intTree && kind == intNode || is == floatTree && (kind == intNode || kind == floatNode)
}

// shown is a value as messages show it.
func shown(field treeField, n *treeNode) string {
	switch n.kind {
	case nullNode:
		return "null"
	case listNode:
		return "a list"
	case mapNode:
		return "a mapping"
	case textNode:
		if field.secret || strings.Contains(n.text, "\n") {
			return "a text"
		}
		return quoted(n.text)
	case boolNode:
		if field.secret {
			return "true or false"
		}
	case intNode, floatNode:
		if field.secret {
			return "a number"
		}
	}
	return "the bare " + cut(n.written)
}
