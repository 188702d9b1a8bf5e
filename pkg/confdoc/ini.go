package confdoc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc/gcfg"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

// INIDocument is a configuration under rewriting: sections of the same name are one, known names are spelt as the
// provider spells them, single values stand once, and what is legacy is gone.
type INIDocument struct {
	schema   INISchema
	Sections []*INIGroup
	findings *diagnostic.List
}

// INIGroup is one section with everything that was said about it.
type INIGroup struct {
	gcfg.Section
	Single map[string]int // where the one entry of a known single-valued key is, by its name
}

// ReadINI reads a configuration strictly and adds what is wrong with it to fs. What it returns can be used even then.
func ReadINI(text []byte, schema INISchema, fs *diagnostic.List) *INIDocument {
	d := &INIDocument{schema: schema, findings: fs}
	if len(bytes.TrimSpace(text)) == 0 {
		state := "empty"
		if text == nil {
			state = "missing"
		}
		d.Report(gcfg.Position{}, diagnostic.Invalid, "there is no cloud configuration: it is "+state+"; write at least the line "+d.schema[0].header())
		return d
	}
	sections, errs := gcfg.Parse(text)
	if format := otherFormat(text); format != "" && len(errs) > 0 {
		d.Report(errs[0].Pos, diagnostic.Invalid, "this looks like "+format+", but here belong [Section] headers with lines of key = value below them")
		return d
	}
	for _, e := range errs {
		d.Report(e.Pos, diagnostic.Invalid, e.Message+d.meant(e.Name))
	}
	groups := map[[2]string]*INIGroup{}
	for _, s := range sections {
		d.addSection(s, groups)
	}
	return d
}

// otherFormat is the format of another cloud's configuration that the text seems to have.
func otherFormat(text []byte) string {
	first, _, _ := bytes.Cut(bytes.TrimSpace(text), []byte("\n"))
	switch first = bytes.TrimSpace(first); {
	case bytes.HasPrefix(first, []byte("{")):
		return "JSON"
	case bytes.HasSuffix(first, []byte(":")) || bytes.Equal(first, []byte("---")):
		return "YAML"
	}
	return ""
}

// meant is what to add to a message about a text that cannot be a key, when it is close to a known one.
func (d *INIDocument) meant(text string) string {
	if text == "" {
		return ""
	}
	for _, s := range d.schema {
		if key := Nearest(text, s.keyNames()); key != "" {
			return fmt.Sprintf("; perhaps this was meant: %s = value", key)
		}
	}
	return ""
}

// Report adds a diagnostic at a place of the document.
func (d *INIDocument) Report(pos gcfg.Position, kind diagnostic.Kind, message string) {
	d.findings.Add(diagnostic.Diagnostic{Cause: diagnostic.CloudConfig, Line: pos.Line, Column: pos.Column, Kind: kind, Message: message})
}

func (d *INIDocument) addSection(s gcfg.Section, groups map[[2]string]*INIGroup) {
	known, ok := d.schema.Section(s.Name)
	switch {
	case s.Name == "":
		return // the header was reported
	case !ok:
		d.unknownSection(s)
	case known.Legacy != "":
		d.Report(s.Pos, diagnostic.Legacy, fmt.Sprintf("section [%s] is dropped: %s", known.Name, known.Legacy))
		return
	case s.Subsection != "" && !known.Named:
		ok = false // the provider ignores all of it
		d.Report(s.Pos, diagnostic.Typo, fmt.Sprintf("section [%s %s] is ignored by the cloud-controller-manager; did you mean [%s]?",
			known.Name, Quoted(s.Subsection), known.Name))
	default:
		s.Name = known.Name
	}
	id := [2]string{s.Name, s.Subsection}
	group := groups[id]
	if group == nil {
		group = &INIGroup{Section: gcfg.Section{Name: s.Name, Subsection: s.Subsection, Pos: s.Pos, Broken: s.Broken}, Single: map[string]int{}}
		groups[id] = group
		d.Sections = append(d.Sections, group)
	}
	if !ok {
		group.Entries = append(group.Entries, s.Entries...)
		return
	}
	for _, e := range s.Entries {
		d.addEntry(known, group, e)
	}
}

func (d *INIDocument) unknownSection(s gcfg.Section) {
	if meant := Nearest(s.Name, d.schema.names()); meant != "" {
		d.Report(s.Pos, diagnostic.Typo, fmt.Sprintf("unknown section [%s]; did you mean [%s]?", s.Name, meant))
		return
	}
	d.Report(s.Pos, diagnostic.Unknown, fmt.Sprintf("unknown section [%s]: the cloud-controller-manager ignores it; remove it or correct its name", Cut(s.Name)))
}

func (d *INIDocument) addEntry(known INISection, group *INIGroup, e gcfg.Entry) {
	key, ok := known.Key(e.Name)
	switch {
	case !ok:
		d.unknownKey(known, e)
		group.Entries = append(group.Entries, e)
		return
	case key.Only != nil && e.Value != *key.Only:
		d.Report(e.ValuePos, diagnostic.Invalid, fmt.Sprintf("%s is %s, but only its default %q can be honoured (%s): remove the line",
			key.Name, Quoted(e.Value), *key.Only, key.Legacy))
		return
	case key.Legacy != "":
		d.Report(e.Pos, diagnostic.Legacy, fmt.Sprintf("%s in [%s] is dropped: %s", key.Name, known.Name, key.Legacy))
		return
	}
	e.Name = key.Name
	if message := checkValue(key, e); message != "" {
		d.Report(e.ValuePos, diagnostic.Invalid, message)
	}
	if key.Kind == ListValue {
		group.Entries = append(group.Entries, e)
		return
	}
	if at, again := group.Single[key.Name]; again {
		first := group.Entries[at].Pos
		d.findings.Add(diagnostic.Diagnostic{Cause: diagnostic.CloudConfig, Line: e.Pos.Line, Column: e.Pos.Column, Kind: diagnostic.Ambiguous,
			SeeLine: first.Line, Message: fmt.Sprintf("duplicate key %s in [%s]: keep one", key.Name, known.Name)})
		group.Entries[at] = e
		return
	}
	group.Single[key.Name] = len(group.Entries)
	group.Entries = append(group.Entries, e)
}

func (d *INIDocument) unknownKey(known INISection, e gcfg.Entry) {
	where := "[" + known.Name + "]"
	if meant := Nearest(e.Name, known.keyNames()); meant != "" {
		d.Report(e.Pos, diagnostic.Typo, fmt.Sprintf("unknown key %s in %s; did you mean %q?", Quoted(e.Name), where, meant))
		return
	}
	if homes := d.schema.homes(e.Name); homes != "" {
		d.Report(e.Pos, diagnostic.Typo, fmt.Sprintf("unknown key %s in %s; it belongs in %s", Quoted(e.Name), where, homes))
		return
	}
	name := Quoted(e.Name)
	if e.Blank {
		name = "without a value" // perhaps the second half of a value that was broken off: not shown
	}
	d.Report(e.Pos, diagnostic.Unknown, fmt.Sprintf("unknown key %s in %s: the cloud-controller-manager ignores it; remove it or correct its name", name, where))
}

// Wanted is what a value of a kind has to be, for the kinds of which some values are refused.
var Wanted = map[INIType]string{
	WordValue:     "one word",
	BoolValue:     "true or false",
	IntValue:      "a whole number",
	Int32Value:    "a whole number",
	UintValue:     "a whole number that is not negative",
	DurationValue: "a duration with a unit, such as 5s or 1m30s",
}

// checkValue says why the provider's reader refuses the value; empty when it takes it.
func checkValue(key INIKey, e gcfg.Entry) string {
	wants, picky := Wanted[key.Kind]
	switch {
	case key.Kind == RefusedValue:
		return fmt.Sprintf("%s cannot be set here: remove the line", key.Name)
	case e.Blank && (key.Kind == ListValue || key.Kind == BoolValue):
		return ""
	case e.Blank:
		return fmt.Sprintf("%s has no value: write %s = value or remove the line", key.Name, key.Name)
	case !picky || Scans(key.Kind, e.Value):
		return ""
	case e.Value == "":
		return fmt.Sprintf("%s is empty, but wants %s", key.Name, wants)
	}
	return fmt.Sprintf("%s is %s, but wants %s", key.Name, Quoted(e.Value), wants)
}

// Scans tells whether the provider's reader can make a value of a wanted kind out of the text. It reads numbers and words
// with fmt.Sscanf, which is repeated here so that neither accepts what the other does not.
func Scans(kind INIType, text string) bool {
	number, verb := strings.TrimSpace(text), 'd'
	if strings.HasPrefix(number, "0x") || strings.HasPrefix(number, "-0x") {
		verb = 'v'
	}
	switch kind {
	case BoolValue:
		return slices.Contains([]string{"true", "yes", "on", "1", "false", "no", "off", "0"}, strings.ToLower(text))
	case WordValue:
		var word named
		return scansAs(&word, text, 'v')
	case IntValue:
		return scansAs(new(int), number, verb)
	case Int32Value:
		return scansAs(new(int32), number, verb)
	case UintValue:
		return scansAs(new(uint), number, verb)
	case DurationValue:
		_, err := time.ParseDuration(text)
		return err == nil
	default:
		return false
	}
}

// named is a type of its own that is made from string.
type named string

func scansAs(target any, text string, verb rune) bool {
	var rest []byte
	n, err := fmt.Sscanf(text, "%"+string(verb)+"%s", target, &rest)
	return n == 1 && errors.Is(err, io.EOF)
}

// Group is the section without a second name; nil when there is none.
func (d *INIDocument) Group(section string) *INIGroup {
	for _, g := range d.Sections {
		if g.Name == section && g.Subsection == "" {
			return g
		}
	}
	return nil
}

// Value is the value of a known single-valued key; the entry is empty when the key is not set.
func (d *INIDocument) Value(section, key string) gcfg.Entry {
	if g := d.Group(section); g != nil {
		if i, ok := g.Single[key]; ok {
			return g.Entries[i]
		}
	}
	return gcfg.Entry{}
}

// Drop removes a known single-valued key and returns what it was; the entry is empty when the key was not set.
func (d *INIDocument) Drop(section, key string) gcfg.Entry {
	g := d.Group(section)
	if g == nil {
		return gcfg.Entry{}
	}
	i, ok := g.Single[key]
	if !ok {
		return gcfg.Entry{}
	}
	e := g.Entries[i]
	g.Entries = append(g.Entries[:i:i], g.Entries[i+1:]...)
	delete(g.Single, key)
	for k, at := range g.Single {
		if at > i {
			g.Single[k] = at - 1
		}
	}
	return e
}

// Add sets a known single-valued key that is not set, as the last one of its section.
func (d *INIDocument) Add(section, key, value string) {
	g := d.Group(section)
	if g == nil {
		g = &INIGroup{Section: gcfg.Section{Name: section}, Single: map[string]int{}}
		d.Sections = append(d.Sections, g)
	}
	g.Single[key] = len(g.Entries)
	g.Entries = append(g.Entries, gcfg.Entry{Name: key, Value: value})
}

// Entry is a known single-valued key; it is empty when the key is not set.
func (g *INIGroup) Entry(key string) gcfg.Entry {
	if i, ok := g.Single[key]; ok {
		return g.Entries[i]
	}
	return gcfg.Entry{}
}

// Set gives a known single-valued key a value, where the key stands or as the last one of the section.
func (g *INIGroup) Set(key, value string) {
	if i, ok := g.Single[key]; ok {
		g.Entries[i].Value, g.Entries[i].Blank = value, false
		return
	}
	g.Single[key] = len(g.Entries)
	g.Entries = append(g.Entries, gcfg.Entry{Name: key, Value: value})
}

// SetList gives a known list key one line with the value, where its first line stands or as the last one of the section. It
// returns the lines that the key had.
func (g *INIGroup) SetList(key, value string) []gcfg.Entry {
	var was, kept []gcfg.Entry
	for _, e := range g.Entries {
		if e.Name == key {
			if was = append(was, e); len(was) > 1 {
				continue
			}
			e.Value, e.Blank = value, false
		}
		kept = append(kept, e)
	}
	if len(was) == 0 {
		kept = append(kept, gcfg.Entry{Name: key, Value: value})
	}
	g.Entries = kept
	for i, e := range kept {
		if _, ok := g.Single[e.Name]; ok {
			g.Single[e.Name] = i
		}
	}
	return was
}

// Section is the section without a second name, which is added as the last one where there is none.
func (d *INIDocument) Section(name string) *INIGroup {
	if d.Group(name) == nil {
		d.Sections = append(d.Sections, &INIGroup{Section: gcfg.Section{Name: name}, Single: map[string]int{}})
	}
	return d.Group(name)
}

// InsertAfter adds an empty section behind g, or as the last one where g is nil.
func (d *INIDocument) InsertAfter(g *INIGroup, section, subsection string) *INIGroup {
	added := &INIGroup{Section: gcfg.Section{Name: section, Subsection: subsection}, Single: map[string]int{}}
	at := len(d.Sections)
	if i := slices.Index(d.Sections, g); i >= 0 {
		at = i + 1
	}
	d.Sections = slices.Insert(d.Sections, at, added)
	return added
}

// Remove drops a section.
func (d *INIDocument) Remove(g *INIGroup) {
	d.Sections = slices.DeleteFunc(d.Sections, func(other *INIGroup) bool { return other == g })
}

// Contradicts reports a value that differs from a fact of Infrastructure, which field names. Nothing is known of an empty fact.
func (d *INIDocument) Contradicts(e gcfg.Entry, field, fact string) {
	if e.Value == "" || fact == "" || e.Value == fact {
		return
	}
	d.Report(e.ValuePos, diagnostic.Invalid, fmt.Sprintf("%s is %s, but %s of infrastructure.config.openshift.io/cluster is %s: "+
		"correct it here", e.Name, Quoted(e.Value), field, Quoted(fact)))
}

// CheckPlaceholders reports every text that would be another one in the file on the node.
func (d *INIDocument) CheckPlaceholders() {
	for _, g := range d.Sections {
		d.checkPlaceholder(g.Pos, g.Name+" "+g.Subsection)
		for _, e := range g.Entries {
			d.checkPlaceholder(e.Pos, e.Name)
			d.checkPlaceholder(e.ValuePos, e.Value)
		}
	}
}

func (d *INIDocument) checkPlaceholder(pos gcfg.Position, text string) {
	if _, _, name, found := Placeholders([]byte(text)); found {
		d.Report(pos, diagnostic.Invalid, PlaceholderMessage(name)+": write another value")
	}
}

// Format is the rewritten configuration.
func (d *INIDocument) Format() []byte {
	sections := make([]gcfg.Section, len(d.Sections))
	for i, g := range d.Sections {
		sections[i] = g.Section
	}
	return gcfg.Format(sections)
}

// AddFirst adds an empty section before all others.
func (d *INIDocument) AddFirst(section string) {
	g := &INIGroup{Section: gcfg.Section{Name: section}, Single: map[string]int{}}
	d.Sections = append([]*INIGroup{g}, d.Sections...)
}
