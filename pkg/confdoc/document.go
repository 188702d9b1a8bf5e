package confdoc

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc/gcfg"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

// Reader reads one kind of configuration.
type Reader struct {
	Format Format
	Fields []Field
	// List says that the text is a list of such objects. It stands under the empty name then.
	List bool
	// IgnoresUnknown says that unknown names are not reported.
	IgnoresUnknown bool
	// Input and DataKey are where the findings are.
	Input   diagnostic.Cause
	DataKey string
	// Empty says what to write where there is nothing at all.
	Empty string
}

// Document is a configuration under rewriting: known names are spelled as the provider spells them, each stands once, null
// values of known names are gone (they mean "not set"), and so is what is legacy.
type Document struct {
	Reader
	Root     *Node
	Findings *diagnostic.List
	// Readable is false where the text as a whole cannot be read, which is reported then.
	Readable bool
	// incomplete says that parts of the text cannot be read, so that what is missing may be there.
	incomplete bool
	text       []byte
}

// Read reads a configuration strictly and adds what is wrong with it to fs. What it returns can be used even then: its root is
// always a mapping.
func (r Reader) Read(text []byte, fs *diagnostic.List) *Document {
	d := &Document{Reader: r, Root: NewMap(), Findings: fs, text: text}
	root, problems := &Node{}, []problem(nil)
	switch {
	case len(bytes.TrimSpace(text)) == 0:
	case r.Format == INI:
		root, problems = d.parseINI(text)
	default:
		if root, problems = r.Format.parse(text); len(problems) > 0 {
			root = nil
		}
	}
	if len(problems) > 0 && d.otherFormat(text) != "" {
		root, problems = nil, []problem{{problems[0].line, problems[0].column, d.otherFormat(text)}}
	}
	for _, p := range problems {
		d.Report(p.line, p.column, diagnostic.Invalid, p.message)
	}
	d.incomplete = len(problems) > 0
	switch {
	case root == nil || root.Kind == NullNode && d.incomplete:
	case root.Kind == NullNode:
		state := "empty"
		if text == nil {
			state = "missing"
		}
		d.Report(0, 0, diagnostic.Invalid, "it is "+state+": "+r.Empty)
	case d.List && root.Kind == ListNode:
		d.Root.Set("", root)
		d.Readable = true
		d.checkList(d.field(), "", root, sync.OnceValue(d.decodeTyped))
	case d.List || root.Kind != MapNode:
		d.ReportAt(root, diagnostic.Invalid, cmp.Or(d.otherFormat(text), "this has no keys with values: "+r.Empty))
	default:
		d.Root, d.Readable = root, true
		if r.Format != INI {
			d.reportRest(text)
		}
		d.checkObject(d.field(), "", root, sync.OnceValue(d.decodeTyped))
	}
	d.checkDecodable()
	return d
}

// field is the field of the whole document.
func (r Reader) field() Field {
	f := Field{Is: Object, Fields: r.Fields}
	if r.List {
		return Field{Is: List, Of: &f}
	}
	return f
}

// otherFormat returns a message about a text in the format of another cloud's configuration; empty for any other text.
func (d *Document) otherFormat(text []byte) string {
	first, _, _ := bytes.Cut(bytes.TrimSpace(text), []byte("\n"))
	first = bytes.TrimSpace(first)
	isJSON := bytes.HasPrefix(first, []byte("{"))
	isYAML := bytes.HasSuffix(first, []byte(":")) || bytes.Equal(first, []byte("---"))
	wanted := map[Format]string{INI: "INI", JSON: "JSON", YAMLAsJSON: "JSON or YAML"}[d.Format]
	if wanted == "" {
		wanted = "YAML"
	}
	switch {
	case d.Format != INI && LooksLikeINI(text):
		return "this looks like INI, but has to be " + wanted
	case d.Format == INI && isJSON:
		return "this looks like JSON, but has to be " + wanted
	case (d.Format == INI || d.Format == JSON) && isYAML:
		return "this looks like YAML, but has to be " + wanted
	}
	return ""
}

// LooksLikeINI reports whether the first line with something in it is a section header or a key = value.
func LooksLikeINI(text []byte) bool {
	for line := range bytes.Lines(bytes.TrimPrefix(text, []byte(byteOrderMark))) {
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

// parseINI makes a mapping of sections. Sections of one name are one.
func (d *Document) parseINI(text []byte) (*Node, []problem) {
	sections, errs := gcfg.Parse(text)
	var problems []problem
	for _, e := range errs {
		problems = append(problems, problem{e.Pos.Line, e.Pos.Column, e.Message + d.meant(e.Name)})
	}
	root, found := NewMap(), map[[2]string]*Node{}
	for _, s := range sections {
		name := s.Name
		if name == "" {
			continue // reported
		}
		if known, ok := d.Format.Find(d.Fields, name); ok {
			name = known.Name
		}
		id := [2]string{name, s.Subsection}
		section := found[id]
		if section == nil {
			section = &Node{Kind: MapNode, Line: s.Pos.Line, Column: s.Pos.Column}
			found[id] = section
			e := &Entry{Name: name, Sub: s.Subsection, Value: section, Line: s.Pos.Line, Column: s.Pos.Column}
			root.Entries = append(root.Entries, e)
		}
		for _, e := range s.Entries {
			value := &Node{Kind: TextNode, Text: e.Value, Blank: e.Blank, Line: e.ValuePos.Line, Column: e.ValuePos.Column}
			section.Entries = append(section.Entries, &Entry{Name: e.Name, Value: value, Line: e.Pos.Line, Column: e.Pos.Column})
		}
	}
	return root, problems
}

// meant returns what to add to a message about a text that cannot be a key, when it is close to a known one.
func (d *Document) meant(text string) string {
	for _, section := range d.Fields {
		if key := Nearest(text, readNames(section.Fields)); text != "" && key != "" {
			return fmt.Sprintf("; did you mean %q?", key)
		}
	}
	return ""
}

// Report adds a finding at a place.
func (d *Document) Report(line, column int, kind diagnostic.Kind, message string) {
	d.Findings.Add(diagnostic.Diagnostic{Cause: d.Input, Key: d.DataKey, Line: line, Column: column, Kind: kind, Message: message})
}

// ReportPair adds a finding about a name that another line explains.
func (d *Document) ReportPair(at *Entry, seeLine int, kind diagnostic.Kind, message string) {
	d.Findings.Add(diagnostic.Diagnostic{
		Cause: d.Input, Key: d.DataKey, Line: at.Line, Column: at.Column, Kind: kind, Message: message, SeeLine: seeLine,
	})
}

// ReportAt adds a finding about a value, or about the whole input where the value is nil.
func (d *Document) ReportAt(n *Node, kind diagnostic.Kind, message string) {
	if n == nil {
		n = &Node{}
	}
	d.Report(n.Line, n.Column, kind, message)
}

// Reportf is ReportAt with a formatted message.
func (d *Document) Reportf(n *Node, kind diagnostic.Kind, format string, args ...any) {
	d.ReportAt(n, kind, fmt.Sprintf(format, args...))
}

// Value returns the value at a path; nil when it is not set.
func (d *Document) Value(path ...string) *Node { return d.Root.Get(path...) }

// Text returns the text at a path; empty when it is not set.
func (d *Document) Text(path ...string) string { return d.Root.String(path...) }

// IsTrue reports whether the boolean at a path is set to true.
func (d *Document) IsTrue(path ...string) bool {
	n := d.Value(path...)
	return n != nil && n.Kind == BoolNode && n.Text == "true"
}

// Set gives the path its value. It adds what is missing on the way.
func (d *Document) Set(value *Node, path ...string) {
	n := d.Root
	for _, name := range path[:len(path)-1] {
		if n.Entry(name) == nil {
			n.Set(name, NewMap())
		}
		n = n.Get(name)
	}
	n.Set(path[len(path)-1], value)
}

// First returns the section of that name, which it adds before all others where there is none.
func (d *Document) First(section string) *Node {
	if d.Value(section) == nil {
		d.Root.Entries = slices.Insert(d.Root.Entries, 0, &Entry{Name: section, Value: NewMap()})
	}
	return d.Value(section)
}

// Section returns the section of that name, which it adds as the last one where there is none.
func (d *Document) Section(name string) *Node {
	if d.Value(name) == nil {
		d.Root.Set(name, NewMap())
	}
	return d.Value(name)
}

// Drop removes a path and returns the value that it had; nil when it was not set.
func (d *Document) Drop(path ...string) *Node {
	n := d.Value(path[:len(path)-1]...)
	if n == nil {
		return nil
	}
	if dropped := n.Drop(path[len(path)-1]); len(dropped) > 0 {
		return dropped[len(dropped)-1].Value
	}
	return nil
}

// known returns the schema's field at a path.
func (d *Document) known(path ...string) Field {
	field := d.field()
	for _, name := range path {
		if field.Is == Map {
			field = *field.Of
			continue
		}
		field, _ = d.Format.Find(field.Fields, name)
	}
	return field
}

// Put gives the path its value and says why. Where the user wrote another value that is a finding of the kind, and Adapted where
// the user wrote none. Nothing is reported where the value is the same.
func (d *Document) Put(value *Node, kind diagnostic.Kind, reason string, path ...string) {
	was := d.Value(path...)
	if was != nil && was.Kind == value.Kind && was.Text == value.Text && !isCollection(was) {
		return
	}
	if was == nil || was.Kind == TextNode && was.Text == "" {
		kind = diagnostic.Adapted
	}
	set := d.Shown(path...) + " is set"
	if !d.known(path...).Secret && !isCollection(value) {
		set += " to " + shown(Field{}, value)
	}
	d.ReportAt(was, kind, set+": "+reason)
	d.Set(value, path...)
}

// Default gives the path its value where it is not set or empty.
func (d *Document) Default(value, reason string, path ...string) {
	if was := d.Value(path...); was == nil || was.Text == "" && !isCollection(was) {
		d.Put(NewText(value), diagnostic.Adapted, reason, path...)
	}
}

// Shown returns a path as messages show it.
func (d *Document) Shown(path ...string) string {
	name := path[len(path)-1]
	if e := d.Value(path[:len(path)-1]...).Entry(name); e != nil && e.Written != "" {
		return e.Written
	}
	if d.Format == INI {
		return name
	}
	return Cut(strings.Join(path, "."))
}

// Contradicts reports a value that differs from a fact of Infrastructure, which field names, and reports whether it does. An
// empty fact is unknown.
func (d *Document) Contradicts(name string, value *Node, field, fact string) bool {
	if value == nil || value.Text == "" || fact == "" || value.Text == fact {
		return false
	}
	action := "correct one of them"
	if strings.HasPrefix(field, "status.") { // only the installer writes it
		action = "correct it here"
	}
	d.ReportAt(value, diagnostic.Invalid, fmt.Sprintf("%s is %s, but %s of infrastructure.config.openshift.io/cluster is %s: %s",
		name, Quoted(value.Text), field, Quoted(fact), action))
	return true
}
