// Package confdoc reads cloud configurations and credentials in JSON, YAML or INI as the cloud provider's own library
// does. It checks them against a schema, reports every mistake with its position, and writes the normalized result.
package confdoc

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/gcfg"
)

// Reader reads one kind of configuration.
type Reader struct {
	Format Format
	Fields []Field
	// List means that the text is a list of objects with these fields. Document stores the list under the empty name.
	List           bool
	IgnoresUnknown bool
	// Input and DataKey are the cause and the key of the diagnostics.
	Input   diagnostic.Cause
	DataKey string
	// Empty is the action in the message about an empty or missing text.
	Empty string
}

// Document is a configuration that is being rewritten. Known names have the provider's spelling and are unique. Null
// values of known names, which mean "not set", and legacy names are removed.
type Document struct {
	Reader
	Root     *Node
	Findings *diagnostic.List
	// Also are the fields of another form of the configuration, or of a file beside it.
	Also []Field
	// Readable is false if the text as a whole cannot be read, which Read reports.
	Readable bool
	// incomplete means that parts of the text cannot be read, so a missing name may be there.
	incomplete bool
	text       []byte
}

// Read parses a configuration strictly and adds diagnostics to the list. The document is usable even if there are
// errors: its root is always a mapping.
func (r Reader) Read(text []byte, list *diagnostic.List) *Document {
	d := &Document{Reader: r, Root: NewMap(), Findings: list, text: text}
	root, errs := d.parse()
	for _, err := range errs {
		d.ReportPair(err.Position, err.SeeLine, diagnostic.Invalid, err.Message)
	}
	d.incomplete = len(errs) > 0
	d.check(root)
	return d
}

// parse returns the root of the text, or nil if the text cannot be read. The root of an empty text is null.
func (d *Document) parse() (*Node, []SyntaxError) {
	root, errs := &Node{}, []SyntaxError(nil)
	switch {
	case len(bytes.TrimSpace(d.text)) == 0:
	case d.Format == INI:
		root, errs = d.parseINI()
	default:
		if root, errs = d.Format.parse(d.text); len(errs) > 0 {
			root = nil
		}
	}
	if len(errs) > 0 && d.otherFormat() != "" {
		return nil, []SyntaxError{{Position: errs[0].Position, Message: d.otherFormat()}}
	}
	return root, errs
}

func (d *Document) check(root *Node) {
	switch {
	case root == nil || root.Kind == NullNode && d.incomplete:
	case root.Kind == NullNode:
		state := "empty"
		if d.text == nil {
			state = "missing"
		}
		d.Rejectf(nil, "it is %s: %s", state, d.Empty)
	case d.List && root.Kind == ListNode:
		d.Root.Set("", root)
		d.Readable = true
		d.checkValue(d.field(), "", root)
	case d.List || root.Kind != MapNode:
		is := "this has no keys with values: "
		if d.List {
			is = "this is no list: "
		}
		d.Rejectf(root, "%s", cmp.Or(d.otherFormat(), is+d.Empty))
	default:
		d.Root, d.Readable = root, true
		d.reportRest()
		d.checkObject(d.field(), "", root)
	}
}

func (d *Document) reportRest() {
	if at, _ := Rest(d.text); at.Line > 0 && d.Format != INI {
		d.ReportAt(Position{Line: at.Line, Column: 1}, diagnostic.Typo, "the document ends before this line, and "+
			"the cloud-controller-manager ignores the rest: look for an extra bracket or a line ---")
	}
}

func (r Reader) field() Field {
	f := Field{Is: Object, Fields: r.Fields}
	if r.List {
		return Field{Is: List, Of: &f}
	}
	return f
}

// otherFormat returns a message if the text is base64 or another format than expected; otherwise an empty string.
func (d *Document) otherFormat() string {
	first, _, _ := bytes.Cut(bytes.TrimSpace(d.text), []byte("\n"))
	first = bytes.TrimSpace(first)
	isJSON := bytes.HasPrefix(first, []byte("{"))
	isYAML := bytes.HasSuffix(first, []byte(":")) || bytes.HasPrefix(first, []byte("- ")) || string(first) == "---"
	wanted := cmp.Or(map[Format]string{INI: "INI", JSON: "JSON", YAMLAsJSON: "JSON or YAML"}[d.Format], "YAML")
	switch {
	case IsBase64(d.text):
		return TooMuchBase64
	case d.Format != INI && LooksLikeINI(d.text):
		return "this looks like INI, but must be " + wanted
	case d.Format == INI && isJSON:
		return "this looks like JSON, but must be " + wanted
	case (d.Format == INI || d.Format == JSON) && isYAML:
		return "this looks like YAML, but must be " + wanted
	}
	return ""
}

// LooksLikeINI reports whether the first line that is neither blank nor a comment is a section header or key = value.
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

// parseINI returns a mapping of sections. Sections with the same name are merged.
func (d *Document) parseINI() (*Node, []SyntaxError) {
	sections, parseErrs := gcfg.Parse(d.text)
	var errs []SyntaxError
	for _, e := range parseErrs {
		message := cmp.Or(d.joinHeader(sections, e.Pos), e.Message+d.suggestion(e.Name))
		errs = append(errs, SyntaxError{Position: e.Pos, Message: message})
	}
	root, found := NewMap(), map[[2]string]*Node{}
	for _, s := range sections {
		if s.Name == "" {
			continue // reported
		}
		known, _ := d.Format.Find(d.Fields, s.Name)
		name := cmp.Or(known.Name, s.Name)
		id := [2]string{name, s.Subsection}
		section := found[id]
		if section == nil {
			section = &Node{Kind: MapNode, Position: s.Pos}
			found[id] = section
			root.Entries = append(root.Entries, &Entry{Name: name, Sub: s.Subsection, Value: section, Position: s.Pos})
		}
		for _, e := range s.Entries {
			if e.Comment.Line > 0 {
				d.ReportAt(e.Comment, diagnostic.Typo, "the value of %q ends here, because # and ; start a comment: "+
					"put the value in quotes, or a space before the comment", Cut(e.Name))
			}
			value := &Node{Kind: TextNode, Text: e.Value, Blank: e.Blank, Position: e.ValuePos}
			section.Entries = append(section.Entries, &Entry{Name: e.Name, Value: value, Position: e.Pos})
		}
	}
	return root, errs
}

// joinHeader corrects a header whose name has a space, as in [Load Balancer], and returns the message about it. It
// returns an empty string if the header at the position is another one.
func (d *Document) joinHeader(sections []gcfg.Section, at Position) string {
	for i := range sections {
		s := &sections[i]
		for _, f := range d.Fields {
			if s.Pos == at && s.Subsection != "" && SameName(f.Name, s.Name+s.Subsection) {
				s.Name, s.Subsection = f.Name, ""
				return fmt.Sprintf("the name of the section has a space: write [%s]", f.Name)
			}
		}
	}
	return ""
}

// suggestion returns the end of a message that suggests a known key for an invalid key, or an empty string.
func (d *Document) suggestion(text string) string {
	for _, section := range d.Fields {
		key := Nearest(text, readNames(section.Fields))
		if strings.EqualFold(key, text) {
			return ""
		}
		if key != "" {
			return fmt.Sprintf("; did you mean %q?", key)
		}
	}
	return ""
}

// ReportPair adds a diagnostic that refers to another line, for example the first of two duplicate keys.
func (d *Document) ReportPair(at Position, seeLine int, kind diagnostic.Kind, message string) {
	d.Findings.Add(diagnostic.Diagnostic{Cause: d.Input, Key: d.DataKey, Line: at.Line, Column: at.Column,
		SeeLine: seeLine, Kind: kind, Message: message})
}

// ReportAt adds a diagnostic at a position.
func (d *Document) ReportAt(at Position, kind diagnostic.Kind, format string, args ...any) {
	d.ReportPair(at, 0, kind, fmt.Sprintf(format, args...))
}

// Reportf adds a diagnostic about a value, or about the whole input if the value is nil.
func (d *Document) Reportf(n *Node, kind diagnostic.Kind, format string, args ...any) {
	d.ReportAt(cmp.Or(n, &Node{}).Position, kind, format, args...)
}

// Rejectf reports a value that the provider rejects; see Reportf.
func (d *Document) Rejectf(n *Node, format string, args ...any) {
	d.Reportf(n, diagnostic.Invalid, format, args...)
}

// Value returns the value at a path, or nil.
func (d *Document) Value(path ...string) *Node { return d.Root.Get(path...) }

// Items returns the items of the list at a path, or nil.
func (d *Document) Items(path ...string) []*Node { return cmp.Or(d.Value(path...), &Node{}).Items }

// Text returns the text at a path, or an empty string.
func (d *Document) Text(path ...string) string { return d.Root.String(path...) }

// IsTrue reports whether the boolean at a path is true.
func (d *Document) IsTrue(path ...string) bool {
	n := d.Value(path...)
	return n != nil && n.Kind == BoolNode && n.Text == "true"
}

// Set sets the value at a path. It adds missing parents.
func (d *Document) Set(value *Node, path ...string) {
	n := d.Root
	for _, name := range path[:len(path)-1] {
		n = n.Section(name)
	}
	n.Set(path[len(path)-1], value)
}

// AddSection adds a missing section as the first one.
func (d *Document) AddSection(section string) {
	if d.Value(section) == nil {
		d.Root.Entries = slices.Insert(d.Root.Entries, 0, &Entry{Name: section, Value: NewMap()})
	}
}

// Drop removes the value at a path.
func (d *Document) Drop(path ...string) {
	if n := d.Value(path[:len(path)-1]...); n != nil {
		n.Drop(path[len(path)-1])
	}
}

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

// Put sets the value at a path and reports the reason. The diagnostic has the given kind if it replaces the user's
// value; otherwise it is Adapted. Put does not report an unchanged value.
func (d *Document) Put(value *Node, kind diagnostic.Kind, reason string, path ...string) {
	was := d.Value(path...)
	if was != nil && was.Kind == value.Kind && was.Text == value.Text && !isCollection(was) {
		return
	}
	if was.IsEmpty() {
		kind = diagnostic.Adapted
	}
	set := d.Shown(path...) + " is set"
	if !d.known(path...).Secret && !isCollection(value) {
		set += " to " + shown(Field{}, value)
	}
	d.Reportf(was, kind, "%s: %s", set, reason)
	d.Set(value, path...)
}

// Default sets the value at a path if it is unset or empty.
func (d *Document) Default(value *Node, reason string, path ...string) {
	if was := d.Value(path...); was == nil || was.Text == "" && !isCollection(was) {
		d.Put(value, diagnostic.Adapted, reason, path...)
	}
}

// Shown returns a path as messages show it.
func (d *Document) Shown(path ...string) string {
	name := path[len(path)-1]
	if e := d.Value(path[:len(path)-1]...).Entry(name); e != nil && e.Label != "" {
		return e.Label
	}
	if d.Format == INI {
		return name
	}
	return Cut(strings.Join(path, "."))
}

// Contradicts reports a value that differs from the fact in a field of Infrastructure. An empty fact is unknown and
// never differs.
func (d *Document) Contradicts(name string, value *Node, field, fact string) {
	if value.String() == "" || fact == "" || value.Text == fact {
		return
	}
	action := "correct one of them"
	if strings.HasPrefix(field, "status.") { // only the installer writes it
		action = "correct it here"
	}
	d.Reportf(value, diagnostic.Contradictory, "%s is %s, but %s of infrastructure.config.openshift.io/cluster is %s: %s",
		name, Quoted(value.Text), field, Quoted(fact), action)
}
