package cloudconfig

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

// treeFormat is how a cloud provider's own reader takes a configuration that is made of mappings and lists. A reader in
// this package knows what each of them accepts and which value it ends up with.
type treeFormat int

const (
	// jsonTree is encoding/json: strict JSON, names in any case, numbers and booleans only where they belong.
	jsonTree treeFormat = iota
	// yamlTree is gopkg.in/yaml.v2 into typed fields: YAML 1.1, names as they are written, a number or boolean where a text
	// belongs counts as it is written.
	yamlTree
	// yamlAsJSONTree is sigs.k8s.io/yaml: YAML 1.1 (of which JSON is a part) that is made JSON first and then read by
	// encoding/json, so names are in any case.
	yamlAsJSONTree
)

// treeType is what a field holds.
type treeType int

const (
	textTree   treeType = iota // a text
	boolTree                   // true or false
	intTree                    // a whole number
	floatTree                  // a number
	listTree                   // a list of what treeField.of says
	mapTree                    // a mapping of names that the user chooses to what treeField.of says
	objectTree                 // a mapping with the names of treeField.fields
	anyTree                    // anything; it is not looked into
)

// treeField is a name that a cloud provider knows.
type treeField struct {
	name string
	is   treeType
	// of is what the items of a list or the values of a mapping are. It has no name.
	of *treeField
	// fields are the names that an object knows.
	fields []treeField
	// required says what to write where the name is missing or empty; empty for a name that may be missing.
	required string
	// legacy says why the name is dropped; empty for one that the external provider reads.
	legacy string
	// values are the only texts allowed, in any case where foldValues is set; nil when any is. The empty text is always
	// allowed, as it is the same as none.
	values     []string
	foldValues bool
	// secret tells that no message may show the value.
	secret bool
	// bits is the size of a whole number; 0 means 64.
	bits int
	// unsigned tells that a whole number may not be negative.
	unsigned bool
}

// treeReader reads one kind of configuration.
type treeReader struct {
	format treeFormat
	fields []treeField
	// list tells that the text is a list of such objects. It stands under the empty name then.
	list bool
	// input and dataKey are where the findings are.
	input   diagnostic.Cause
	dataKey string
	// empty says what to write where there is nothing at all.
	empty string
}

// treeKind is what a value is.
type treeKind int

const (
	nullNode treeKind = iota
	textNode
	boolNode
	intNode
	floatNode
	listNode
	mapNode
)

// treeNode is one value.
type treeNode struct {
	kind treeKind
	// text is a text without its quotes, or a boolean or number in its usual form.
	text string
	// written is how a boolean or number stands in the file.
	written string
	items   []*treeNode
	entries []*treeEntry
	// line and column are 1-based and count characters; both are 0 for what does not come from the file.
	line, column int
}

// treeEntry is a name with its value.
type treeEntry struct {
	name         string
	value        *treeNode
	line, column int
	// merged tells that a merge key of YAML brought it in.
	merged bool
}

// newText is a text that does not come from the file; newBool, newInt, newList and newMap are likewise.
func newText(text string) *treeNode { return &treeNode{kind: textNode, text: text} }

func newBool(value bool) *treeNode {
	return &treeNode{kind: boolNode, text: fmt.Sprint(value)}
}

func newInt(value int) *treeNode { return &treeNode{kind: intNode, text: fmt.Sprint(value)} }

func newList(items ...*treeNode) *treeNode { return &treeNode{kind: listNode, items: items} }

func newMap() *treeNode { return &treeNode{kind: mapNode} }

// entry is the entry of that name; nil when there is none, or n is no mapping.
func (n *treeNode) entry(name string) *treeEntry {
	if n == nil {
		return nil
	}
	for _, e := range n.entries {
		if e.name == name {
			return e
		}
	}
	return nil
}

// get is the value at a path of names; nil when there is none.
func (n *treeNode) get(path ...string) *treeNode {
	for _, name := range path {
		e := n.entry(name)
		if e == nil {
			return nil
		}
		n = e.value
	}
	return n
}

// set gives the name its value: in its place where it is set, else as the last one.
func (n *treeNode) set(name string, value *treeNode) {
	if e := n.entry(name); e != nil {
		e.value = value
		return
	}
	n.entries = append(n.entries, &treeEntry{name: name, value: value})
}

// drop removes a name and returns its entry; nil when it was not set.
func (n *treeNode) drop(name string) *treeEntry {
	e := n.entry(name)
	if e != nil {
		n.entries = slices.DeleteFunc(n.entries, func(other *treeEntry) bool { return other == e })
	}
	return e
}

// treeDocument is a configuration under rewriting: known names are spelt as the provider spells them, each stands once,
// null values of known names are gone (they mean "not set"), and so is what is legacy.
type treeDocument struct {
	treeReader
	root     *treeNode
	findings *findings
	// readable is false where the text as a whole could not be read, which is reported then.
	readable bool
}

// read reads a configuration strictly and adds what is wrong with it to fs. What it returns can be used even then: its
// root is always a mapping.
func (r treeReader) read(text []byte, fs *findings) *treeDocument {
	d := &treeDocument{treeReader: r, root: newMap(), findings: fs}
	if len(bytes.TrimSpace(text)) == 0 {
		state := "empty"
		if text == nil {
			state = "missing"
		}
		d.reportEmpty(state)
		return d
	}
	var root *treeNode
	if r.format == jsonTree {
		root = d.parseJSON(text)
	} else {
		root = d.parseYAML(text)
	}
	switch {
	case root == nil: // reported
	case root.kind == nullNode:
		d.reportEmpty("empty")
	case d.list && root.kind == listNode:
		d.root.set("", root)
		d.readable = true
		d.checkList(treeField{is: listTree, of: &treeField{is: objectTree, fields: r.fields}}, "", root)
	case d.list || root.kind != mapNode:
		d.report(root.line, root.column, diagnostic.Invalid, d.wrongFormat(text))
	default:
		d.root, d.readable = root, true
		d.checkObject(treeField{is: objectTree, fields: r.fields}, "", root)
	}
	return d
}

func (d *treeDocument) reportEmpty(state string) {
	what := "there is no cloud configuration: it is " + state
	if d.dataKey != "" {
		what = "it is " + state
	}
	d.report(0, 0, diagnostic.Invalid, what+"; "+d.empty)
}

// wrongFormat says what a text is that has no names with values in it.
func (d *treeDocument) wrongFormat(text []byte) string {
	wanted := map[treeFormat]string{
		jsonTree:       `JSON of the form {"key": "value"}`,
		yamlTree:       "YAML with lines of key: value",
		yamlAsJSONTree: `JSON of the form {"key": "value"}, or YAML with lines of key: value`,
	}[d.format]
	if d.list {
		wanted = `JSON of the form [{"key": "value"}]`
	}
	if looksLikeINI(text) {
		return "this looks like INI, but here belongs " + wanted
	}
	if d.format == jsonTree && looksLikeYAML(text) {
		return "this looks like YAML, but here belongs " + wanted
	}
	if d.list {
		return "this is no list: write " + wanted
	}
	return "this is no mapping of keys to values: write " + wanted
}

// looksLikeINI tells whether the first line with something in it is a section header or a key = value.
func looksLikeINI(text []byte) bool {
	for line := range bytes.Lines(text) {
		line = bytes.TrimSpace(line)
		switch {
		case len(line) == 0 || line[0] == '#' || line[0] == ';':
			continue
		case line[0] == '[':
			return bytes.HasSuffix(line, []byte("]")) && !bytes.ContainsAny(line, `,{}:`)
		}
		name, _, found := bytes.Cut(line, []byte("="))
		return found && !bytes.ContainsAny(name, `:{}"'`)
	}
	return false
}

var yamlFirstLine = regexp.MustCompile(`^(?:---|"?[A-Za-z][A-Za-z0-9_.-]*"?:)(?:\s|$)`)

// looksLikeYAML tells whether the first line with something in it is a key of YAML's, which JSON never starts with.
func looksLikeYAML(text []byte) bool {
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			return yamlFirstLine.Match(line)
		}
	}
	return false
}

func (d *treeDocument) report(line, column int, kind diagnostic.Kind, message string) {
	d.findings.Add(diagnostic.Diagnostic{Cause: d.input, Key: d.dataKey, Line: line, Column: column, Kind: kind, Message: message})
}

// reportPair reports something about a name that another line explains.
func (d *treeDocument) reportPair(at *treeEntry, seeLine int, kind diagnostic.Kind, message string) {
	d.findings.Add(diagnostic.Diagnostic{
		Cause: d.input, Key: d.dataKey, Line: at.line, Column: at.column, Kind: kind, Message: message, SeeLine: seeLine,
	})
}

// reportAt reports something about a value, or about the whole input where the value is nil.
func (d *treeDocument) reportAt(n *treeNode, kind diagnostic.Kind, message string) {
	if n == nil {
		n = &treeNode{}
	}
	d.report(n.line, n.column, kind, message)
}

// value is the value at a path; nil when it is not set.
func (d *treeDocument) value(path ...string) *treeNode { return d.root.get(path...) }

// text is the text at a path; empty when it is not set.
func (d *treeDocument) text(path ...string) string {
	if n := d.value(path...); n != nil {
		return n.text
	}
	return ""
}

// isTrue tells whether the boolean at a path is set to true.
func (d *treeDocument) isTrue(path ...string) bool {
	n := d.value(path...)
	return n != nil && n.kind == boolNode && n.text == "true"
}

// set gives the path its value. What is missing on the way is made.
func (d *treeDocument) set(value *treeNode, path ...string) {
	n := d.root
	for _, name := range path[:len(path)-1] {
		if n.entry(name) == nil {
			n.set(name, newMap())
		}
		n = n.get(name)
	}
	n.set(path[len(path)-1], value)
}

// drop removes a path and returns its entry; nil when it was not set.
func (d *treeDocument) drop(path ...string) *treeEntry {
	n := d.value(path[:len(path)-1]...)
	if n == nil {
		return nil
	}
	return n.drop(path[len(path)-1])
}

// known is the schema's field at a path.
func (d *treeDocument) known(path ...string) treeField {
	field := treeField{is: objectTree, fields: d.fields}
	for _, name := range path {
		if field.is == mapTree {
			field = *field.of
			continue
		}
		field, _ = d.field(field.fields, name)
	}
	return field
}

// put gives the path its value and says why. Where the user wrote another value that is a finding of the kind, and Adapted
// where he wrote none. Nothing is said where he wrote the same.
func (d *treeDocument) put(value *treeNode, kind diagnostic.Kind, reason string, path ...string) {
	was := d.value(path...)
	if was != nil && was.kind == value.kind && was.text == value.text && !isCollection(was) {
		return
	}
	if was == nil || was.kind == textNode && was.text == "" {
		kind = diagnostic.Adapted
	}
	set := strings.Join(path, ".") + " is set"
	if field := d.known(path...); !field.secret && !isCollection(value) {
		set += " to " + shownNew(value)
	}
	d.reportAt(was, kind, set+": "+reason)
	d.set(value, path...)
}

func shownNew(value *treeNode) string {
	if value.kind == textNode {
		return quoted(value.text)
	}
	return value.text
}

// checkPlaceholders reports every text that would be another one in the file on the node.
func (d *treeDocument) checkPlaceholders() { d.checkPlaceholdersOf(d.root) }

func (d *treeDocument) checkPlaceholdersOf(n *treeNode) {
	d.checkPlaceholder(n.line, n.column, n.text)
	for _, item := range n.items {
		d.checkPlaceholdersOf(item)
	}
	for _, e := range n.entries {
		d.checkPlaceholder(e.line, e.column, e.name)
		d.checkPlaceholdersOf(e.value)
	}
}

func (d *treeDocument) checkPlaceholder(line, column int, text string) {
	if _, _, name, found := Placeholders([]byte(text)); found {
		d.report(line, column, diagnostic.Invalid, placeholderMessage(name)+": write another value")
	}
}
