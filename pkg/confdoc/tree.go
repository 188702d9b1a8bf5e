// Package confdoc reads configuration documents with the places of their values: INI in the dialect of
// gopkg.in/gcfg.v1, JSON and YAML.
package confdoc

import (
	"bytes"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

// Format is how a cloud provider's own reader takes a configuration that is made of mappings and lists. A reader in
// this package knows what each of them accepts and which value it ends up with.
type Format int

const (
	// JSONTree is encoding/json: strict JSON, names in any case, numbers and booleans only where they belong.
	JSONTree Format = iota
	// YAMLTree is gopkg.in/yaml.v2 into typed fields: YAML 1.1, names as they are written, a number or boolean where a text
	// belongs counts as it is written.
	YAMLTree
	// YAMLAsJSONTree is sigs.k8s.io/yaml: YAML 1.1 (of which JSON is a part) that is made JSON first and then read by
	// encoding/json, so names are in any case.
	YAMLAsJSONTree
)

// Type is what a field holds.
type Type int

// The types of a field.
const (
	TextTree   Type = iota // a text
	BoolTree               // true or false
	IntTree                // a whole number
	FloatTree              // a number
	ListTree               // a list of what treeField.of says
	MapTree                // a mapping of names that the user chooses to what treeField.of says
	ObjectTree             // a mapping with the names of treeField.fields
	AnyTree                // anything; it is not looked into
)

// Field is a name that a cloud provider knows.
type Field struct {
	Name string
	Is   Type
	// Of is what the items of a list or the values of a mapping are. It has no name.
	Of *Field
	// Fields are the names that an object knows.
	Fields []Field
	// Required says what to write where the name is missing or empty; empty for a name that may be missing.
	Required string
	// Legacy says why the name is dropped; empty for one that the external provider reads.
	Legacy string
	// Values are the only texts allowed, in any case where foldValues is set; nil when any is. The empty text is always
	// allowed, as it is the same as none.
	Values     []string
	FoldValues bool
	// Secret tells that no message may show the value.
	Secret bool
	// Bits is the size of a whole number; 0 means 64.
	Bits int
	// Unsigned tells that a whole number may not be negative.
	Unsigned bool
}

// TreeReader reads one kind of configuration.
type TreeReader struct {
	Format Format
	Fields []Field
	// List tells that the text is a list of such objects. It stands under the empty name then.
	List bool
	// Input and dataKey are where the findings are.
	Input   diagnostic.Cause
	DataKey string
	// Empty says what to write where there is nothing at all.
	Empty string
}

// Entry is the entry of that name; nil when there is none, or n is no mapping.
func (n *Node) Entry(name string) *Entry {
	if n == nil {
		return nil
	}
	for _, e := range n.Entries {
		if e.Name == name {
			return e
		}
	}
	return nil
}

// Get is the value at a path of names; nil when there is none.
func (n *Node) Get(path ...string) *Node {
	for _, name := range path {
		e := n.Entry(name)
		if e == nil {
			return nil
		}
		n = e.Value
	}
	return n
}

// Set gives the name its value: in its place where it is set, else as the last one.
func (n *Node) Set(name string, value *Node) {
	if e := n.Entry(name); e != nil {
		e.Value = value
		return
	}
	n.Entries = append(n.Entries, &Entry{Name: name, Value: value})
}

// Drop removes a name and returns its entry; nil when it was not set.
func (n *Node) Drop(name string) *Entry {
	e := n.Entry(name)
	if e != nil {
		n.Entries = slices.DeleteFunc(n.Entries, func(other *Entry) bool { return other == e })
	}
	return e
}

// Tree is a configuration under rewriting: known names are spelt as the provider spells them, each stands once,
// null values of known names are gone (they mean "not set"), and so is what is legacy.
type Tree struct {
	TreeReader
	Root     *Node
	Findings *diagnostic.List
	// Readable is false where the text as a whole could not be read, which is reported then.
	Readable bool
	// text is what was read, and decodedRoot what the provider's library makes of it; it is decoded where it is needed.
	text        []byte
	decodedRoot reflect.Value
}

// Read reads a configuration strictly and adds what is wrong with it to fs. What it returns can be used even then: its
// root is always a mapping.
func (r TreeReader) Read(text []byte, fs *diagnostic.List) *Tree {
	d := &Tree{TreeReader: r, Root: NewMap(), Findings: fs, text: text}
	if len(bytes.TrimSpace(text)) == 0 {
		state := "empty"
		if text == nil {
			state = "missing"
		}
		d.reportEmpty(state)
		return d
	}
	var root *Node
	if r.Format == JSONTree {
		root = d.parseJSON(text)
	} else {
		root = d.parseYAML(text)
	}
	switch {
	case root == nil: // reported
	case root.Kind == NullNode:
		d.reportEmpty("empty")
	case d.List && root.Kind == ListNode:
		d.Root.Set("", root)
		d.Readable = true
		d.checkList(Field{Is: ListTree, Of: &Field{Is: ObjectTree, Fields: r.Fields}}, "", root, d.root)
	case d.List || root.Kind != MapNode:
		d.Report(root.Line, root.Column, diagnostic.Invalid, d.wrongFormat(text))
	default:
		d.Root, d.Readable = root, true
		d.checkObject(Field{Is: ObjectTree, Fields: r.Fields}, "", root, d.root)
	}
	return d
}

func (d *Tree) reportEmpty(state string) {
	what := "there is no cloud configuration: it is " + state
	if d.DataKey != "" {
		what = "it is " + state
	}
	d.Report(0, 0, diagnostic.Invalid, what+"; "+d.Empty)
}

// wrongFormat says what a text is that has no names with values in it.
func (d *Tree) wrongFormat(text []byte) string {
	wanted := map[Format]string{
		JSONTree:       `JSON of the form {"key": "value"}`,
		YAMLTree:       "YAML with lines of key: value",
		YAMLAsJSONTree: `JSON of the form {"key": "value"}, or YAML with lines of key: value`,
	}[d.Format]
	if d.List {
		wanted = `JSON of the form [{"key": "value"}]`
	}
	if LooksLikeINI(text) {
		return "this looks like INI, but here belongs " + wanted
	}
	if d.Format == JSONTree && looksLikeYAML(text) {
		return "this looks like YAML, but here belongs " + wanted
	}
	if d.List {
		return "this is no list: write " + wanted
	}
	return "this is no mapping of keys to values: write " + wanted
}

// LooksLikeINI tells whether the first line with something in it is a section header or a key = value.
func LooksLikeINI(text []byte) bool {
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

// Report adds a diagnostic at a place of the document.
func (d *Tree) Report(line, column int, kind diagnostic.Kind, message string) {
	d.Findings.Add(diagnostic.Diagnostic{Cause: d.Input, Key: d.DataKey, Line: line, Column: column, Kind: kind, Message: message})
}

// ReportPair reports something about a name that another line explains.
func (d *Tree) ReportPair(at *Entry, seeLine int, kind diagnostic.Kind, message string) {
	d.Findings.Add(diagnostic.Diagnostic{
		Cause: d.Input, Key: d.DataKey, Line: at.Line, Column: at.Column, Kind: kind, Message: message, SeeLine: seeLine,
	})
}

// ReportAt reports something about a value, or about the whole input where the value is nil.
func (d *Tree) ReportAt(n *Node, kind diagnostic.Kind, message string) {
	if n == nil {
		n = &Node{}
	}
	d.Report(n.Line, n.Column, kind, message)
}

// Value is the value at a path; nil when it is not set.
func (d *Tree) Value(path ...string) *Node { return d.Root.Get(path...) }

// Text is the text at a path; empty when it is not set.
func (d *Tree) Text(path ...string) string {
	if n := d.Value(path...); n != nil {
		return n.Text
	}
	return ""
}

// IsTrue tells whether the boolean at a path is set to true.
func (d *Tree) IsTrue(path ...string) bool {
	n := d.Value(path...)
	return n != nil && n.Kind == BoolNode && n.Text == "true"
}

// Set gives the path its value. What is missing on the way is made.
func (d *Tree) Set(value *Node, path ...string) {
	n := d.Root
	for _, name := range path[:len(path)-1] {
		if n.Entry(name) == nil {
			n.Set(name, NewMap())
		}
		n = n.Get(name)
	}
	n.Set(path[len(path)-1], value)
}

// Drop removes a path and returns its entry; nil when it was not set.
func (d *Tree) Drop(path ...string) *Entry {
	n := d.Value(path[:len(path)-1]...)
	if n == nil {
		return nil
	}
	return n.Drop(path[len(path)-1])
}

// known is the schema's field at a path.
func (d *Tree) known(path ...string) Field {
	field := Field{Is: ObjectTree, Fields: d.Fields}
	for _, name := range path {
		if field.Is == MapTree {
			field = *field.Of
			continue
		}
		field, _ = d.field(field.Fields, name)
	}
	return field
}

// Put gives the path its value and says why. Where the user wrote another value that is a finding of the kind, and Adapted
// where he wrote none. Nothing is said where he wrote the same.
func (d *Tree) Put(value *Node, kind diagnostic.Kind, reason string, path ...string) {
	was := d.Value(path...)
	if was != nil && was.Kind == value.Kind && was.Text == value.Text && !isCollection(was) {
		return
	}
	if was == nil || was.Kind == TextNode && was.Text == "" {
		kind = diagnostic.Adapted
	}
	set := strings.Join(path, ".") + " is set"
	if field := d.known(path...); !field.Secret && !isCollection(value) {
		set += " to " + shownNew(value)
	}
	d.ReportAt(was, kind, set+": "+reason)
	d.Set(value, path...)
}

func shownNew(value *Node) string {
	if value.Kind == TextNode {
		return Quoted(value.Text)
	}
	return value.Text
}

// CheckPlaceholders reports every text that would be another one in the file on the node.
func (d *Tree) CheckPlaceholders() { d.checkPlaceholdersOf(d.Root) }

func (d *Tree) checkPlaceholdersOf(n *Node) {
	d.checkPlaceholder(n.Line, n.Column, n.Text)
	for _, item := range n.Items {
		d.checkPlaceholdersOf(item)
	}
	for _, e := range n.Entries {
		d.checkPlaceholder(e.Line, e.Column, e.Name)
		d.checkPlaceholdersOf(e.Value)
	}
}

func (d *Tree) checkPlaceholder(line, column int, text string) {
	if _, _, name, found := Placeholders([]byte(text)); found {
		d.Report(line, column, diagnostic.Invalid, PlaceholderMessage(name)+": write another value")
	}
}

// FieldsOf are fields of one type.
func FieldsOf(is Type, names ...string) []Field {
	fields := make([]Field, len(names))
	for i, name := range names {
		fields[i] = Field{Name: name, Is: is}
	}
	return fields
}
