package cloudconfig

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/cloudconfig/gcfg"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

// iniType is how a cloud provider's own reader, gopkg.in/gcfg.v1, takes the value of a key.
type iniType int

const (
	textValue     iniType = iota // any text; the key alone is refused
	wordValue                    // one word without blanks (a Go type of its own that is made from string)
	boolValue                    // true, yes, on, 1, false, no, off, 0; the key alone is true
	intValue                     // a decimal or 0x number
	int32Value                   // likewise, of 32 bits
	uintValue                    // likewise, not negative
	durationValue                // as time.ParseDuration reads it
	listValue                    // every line adds one text; the key alone empties the list
	refusedValue                 // a field that the reader finds but cannot set
)

// iniKey is a key that a cloud provider knows.
type iniKey struct {
	name string
	kind iniType
	// legacy says why the key is dropped; empty for a key that the external provider reads.
	legacy string
	// only is the one value with which a legacy key can be dropped; nil when any can.
	only *string
}

// iniSection is a section that a cloud provider knows.
type iniSection struct {
	name string
	// named tells that the header has a second, quoted part: [Name "x"].
	named bool
	// legacy says why the section is dropped; empty for a section that the external provider reads.
	legacy string
	keys   []iniKey
}

func (s iniSection) key(name string) (iniKey, bool) {
	for _, k := range s.keys {
		if strings.EqualFold(k.name, name) {
			return k, true
		}
	}
	return iniKey{}, false
}

// keyNames are the keys that the external provider reads.
func (s iniSection) keyNames() []string {
	var names []string
	for _, k := range s.keys {
		if k.legacy == "" && k.kind != refusedValue {
			names = append(names, k.name)
		}
	}
	return names
}

// header is the section as a message shows it.
func (s iniSection) header() string {
	if s.named {
		return "[" + s.name + ` "name"]`
	}
	return "[" + s.name + "]"
}

// iniSchema is everything that one provider knows.
type iniSchema []iniSection

func (s iniSchema) section(name string) (iniSection, bool) {
	for _, sec := range s {
		if strings.EqualFold(sec.name, name) {
			return sec, true
		}
	}
	return iniSection{}, false
}

func (s iniSchema) names() []string {
	names := make([]string, len(s))
	for i, sec := range s {
		names[i] = sec.name
	}
	return names
}

// homes are the sections that know the key, as messages show them.
func (s iniSchema) homes(key string) string {
	var homes []string
	for _, sec := range s {
		if k, ok := sec.key(key); ok && k.legacy == "" && k.kind != refusedValue {
			homes = append(homes, sec.header())
		}
	}
	return strings.Join(homes, " or ")
}

// iniDocument is a configuration under rewriting: sections of the same name are one, known names are spelt as the
// provider spells them, single values stand once, and what is legacy is gone.
type iniDocument struct {
	schema   iniSchema
	sections []*iniGroup
	findings *findings
}

// iniGroup is one section with everything that was said about it.
type iniGroup struct {
	gcfg.Section
	single map[string]int // where the one entry of a known single-valued key is, by its name
}

// readINI reads a configuration strictly and adds what is wrong with it to fs. What it returns can be used even then.
func readINI(text []byte, schema iniSchema, fs *findings) *iniDocument {
	d := &iniDocument{schema: schema, findings: fs}
	if len(bytes.TrimSpace(text)) == 0 {
		state := "empty"
		if text == nil {
			state = "missing"
		}
		d.report(gcfg.Position{}, diagnostic.Invalid, "there is no cloud configuration: it is "+state+"; write at least the line "+d.schema[0].header())
		return d
	}
	sections, errs := gcfg.Parse(text)
	if format := otherFormat(text); format != "" && len(errs) > 0 {
		d.report(errs[0].Pos, diagnostic.Invalid, "this looks like "+format+", but here belong [Section] headers with lines of key = value below them")
		return d
	}
	for _, e := range errs {
		d.report(e.Pos, diagnostic.Invalid, e.Message+d.meant(e.Name))
	}
	groups := map[[2]string]*iniGroup{}
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
func (d *iniDocument) meant(text string) string {
	if text == "" {
		return ""
	}
	for _, s := range d.schema {
		if key := nearest(text, s.keyNames()); key != "" {
			return fmt.Sprintf("; perhaps this was meant: %s = value", key)
		}
	}
	return ""
}

func (d *iniDocument) report(pos gcfg.Position, kind diagnostic.Kind, message string) {
	d.findings.Add(diagnostic.Diagnostic{Cause: diagnostic.CloudConfig, Line: pos.Line, Column: pos.Column, Kind: kind, Message: message})
}

func (d *iniDocument) addSection(s gcfg.Section, groups map[[2]string]*iniGroup) {
	known, ok := d.schema.section(s.Name)
	switch {
	case s.Name == "":
		return // the header was reported
	case !ok:
		d.unknownSection(s)
	case known.legacy != "":
		d.report(s.Pos, diagnostic.Legacy, fmt.Sprintf("section [%s] is dropped: %s", known.name, known.legacy))
		return
	case s.Subsection != "" && !known.named:
		ok = false // the provider ignores all of it
		d.report(s.Pos, diagnostic.Typo, fmt.Sprintf("section [%s %s] is ignored by the cloud-controller-manager; did you mean [%s]?",
			known.name, quoted(s.Subsection), known.name))
	default:
		s.Name = known.name
	}
	id := [2]string{s.Name, s.Subsection}
	group := groups[id]
	if group == nil {
		group = &iniGroup{Section: gcfg.Section{Name: s.Name, Subsection: s.Subsection, Pos: s.Pos, Broken: s.Broken}, single: map[string]int{}}
		groups[id] = group
		d.sections = append(d.sections, group)
	}
	if !ok {
		group.Entries = append(group.Entries, s.Entries...)
		return
	}
	for _, e := range s.Entries {
		d.addEntry(known, group, e)
	}
}

func (d *iniDocument) unknownSection(s gcfg.Section) {
	if meant := nearest(s.Name, d.schema.names()); meant != "" {
		d.report(s.Pos, diagnostic.Typo, fmt.Sprintf("unknown section [%s]; did you mean [%s]?", s.Name, meant))
		return
	}
	d.report(s.Pos, diagnostic.Unknown, fmt.Sprintf("unknown section [%s]: the cloud-controller-manager ignores it; remove it or correct its name", cut(s.Name)))
}

func (d *iniDocument) addEntry(known iniSection, group *iniGroup, e gcfg.Entry) {
	key, ok := known.key(e.Name)
	switch {
	case !ok:
		d.unknownKey(known, e)
		group.Entries = append(group.Entries, e)
		return
	case key.only != nil && e.Value != *key.only:
		d.report(e.ValuePos, diagnostic.Invalid, fmt.Sprintf("%s is %s, but only its default %q can be honoured (%s): remove the line",
			key.name, quoted(e.Value), *key.only, key.legacy))
		return
	case key.legacy != "":
		d.report(e.Pos, diagnostic.Legacy, fmt.Sprintf("%s in [%s] is dropped: %s", key.name, known.name, key.legacy))
		return
	}
	e.Name = key.name
	if message := checkValue(key, e); message != "" {
		d.report(e.ValuePos, diagnostic.Invalid, message)
	}
	if key.kind == listValue {
		group.Entries = append(group.Entries, e)
		return
	}
	if at, again := group.single[key.name]; again {
		dropped := group.Entries[at].Pos
		d.findings.Add(diagnostic.Diagnostic{Cause: diagnostic.CloudConfig, Line: dropped.Line, Column: dropped.Column, Kind: diagnostic.Rewritten, SeeLine: e.Pos.Line,
			Message: fmt.Sprintf("this %s is dropped: it is set again, and the last value counts", key.name)})
		group.Entries[at] = e
		return
	}
	group.single[key.name] = len(group.Entries)
	group.Entries = append(group.Entries, e)
}

func (d *iniDocument) unknownKey(known iniSection, e gcfg.Entry) {
	where := "[" + known.name + "]"
	if meant := nearest(e.Name, known.keyNames()); meant != "" {
		d.report(e.Pos, diagnostic.Typo, fmt.Sprintf("unknown key %s in %s; did you mean %q?", quoted(e.Name), where, meant))
		return
	}
	if homes := d.schema.homes(e.Name); homes != "" {
		d.report(e.Pos, diagnostic.Typo, fmt.Sprintf("unknown key %s in %s; it belongs in %s", quoted(e.Name), where, homes))
		return
	}
	name := quoted(e.Name)
	if e.Blank {
		name = "without a value" // perhaps the second half of a value that was broken off: not shown
	}
	d.report(e.Pos, diagnostic.Unknown, fmt.Sprintf("unknown key %s in %s: the cloud-controller-manager ignores it; remove it or correct its name", name, where))
}

// wanted is what a value of a kind has to be, for the kinds of which some values are refused.
var wanted = map[iniType]string{
	wordValue:     "one word",
	boolValue:     "true or false",
	intValue:      "a whole number",
	int32Value:    "a whole number",
	uintValue:     "a whole number that is not negative",
	durationValue: "a duration with a unit, such as 5s or 1m30s",
}

// checkValue says why the provider's reader refuses the value; empty when it takes it.
func checkValue(key iniKey, e gcfg.Entry) string {
	wants, picky := wanted[key.kind]
	switch {
	case key.kind == refusedValue:
		return fmt.Sprintf("%s cannot be set here: remove the line", key.name)
	case e.Blank && (key.kind == listValue || key.kind == boolValue):
		return ""
	case e.Blank:
		return fmt.Sprintf("%s has no value: write %s = value or remove the line", key.name, key.name)
	case !picky || scans(key.kind, e.Value):
		return ""
	case e.Value == "":
		return fmt.Sprintf("%s is empty, but wants %s", key.name, wants)
	}
	return fmt.Sprintf("%s is %s, but wants %s", key.name, quoted(e.Value), wants)
}

// scans tells whether the provider's reader can make a value of a wanted kind out of the text. It reads numbers and words
// with fmt.Sscanf, which is repeated here so that neither accepts what the other does not.
func scans(kind iniType, text string) bool {
	number, verb := strings.TrimSpace(text), 'd'
	if strings.HasPrefix(number, "0x") || strings.HasPrefix(number, "-0x") {
		verb = 'v'
	}
	switch kind {
	case boolValue:
		return slices.Contains([]string{"true", "yes", "on", "1", "false", "no", "off", "0"}, strings.ToLower(text))
	case wordValue:
		var word named
		return scansAs(&word, text, 'v')
	case intValue:
		return scansAs(new(int), number, verb)
	case int32Value:
		return scansAs(new(int32), number, verb)
	case uintValue:
		return scansAs(new(uint), number, verb)
	case durationValue:
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

// group is the section without a second name; nil when there is none.
func (d *iniDocument) group(section string) *iniGroup {
	for _, g := range d.sections {
		if g.Name == section && g.Subsection == "" {
			return g
		}
	}
	return nil
}

// value is the value of a known single-valued key; the entry is empty when the key is not set.
func (d *iniDocument) value(section, key string) gcfg.Entry {
	if g := d.group(section); g != nil {
		if i, ok := g.single[key]; ok {
			return g.Entries[i]
		}
	}
	return gcfg.Entry{}
}

// drop removes a known single-valued key and returns what it was; the entry is empty when the key was not set.
func (d *iniDocument) drop(section, key string) gcfg.Entry {
	g := d.group(section)
	if g == nil {
		return gcfg.Entry{}
	}
	i, ok := g.single[key]
	if !ok {
		return gcfg.Entry{}
	}
	e := g.Entries[i]
	g.Entries = append(g.Entries[:i:i], g.Entries[i+1:]...)
	delete(g.single, key)
	for k, at := range g.single {
		if at > i {
			g.single[k] = at - 1
		}
	}
	return e
}

// add sets a known single-valued key that is not set, as the last one of its section.
func (d *iniDocument) add(section, key, value string) {
	g := d.group(section)
	if g == nil {
		g = &iniGroup{Section: gcfg.Section{Name: section}, single: map[string]int{}}
		d.sections = append(d.sections, g)
	}
	g.single[key] = len(g.Entries)
	g.Entries = append(g.Entries, gcfg.Entry{Name: key, Value: value})
}

// entry is a known single-valued key; it is empty when the key is not set.
func (g *iniGroup) entry(key string) gcfg.Entry {
	if i, ok := g.single[key]; ok {
		return g.Entries[i]
	}
	return gcfg.Entry{}
}

// set gives a known single-valued key a value, where the key stands or as the last one of the section.
func (g *iniGroup) set(key, value string) {
	if i, ok := g.single[key]; ok {
		g.Entries[i].Value, g.Entries[i].Blank = value, false
		return
	}
	g.single[key] = len(g.Entries)
	g.Entries = append(g.Entries, gcfg.Entry{Name: key, Value: value})
}

// setList gives a known list key one line with the value, where its first line stands or as the last one of the section. It
// returns the lines that the key had.
func (g *iniGroup) setList(key, value string) []gcfg.Entry {
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
		if _, ok := g.single[e.Name]; ok {
			g.single[e.Name] = i
		}
	}
	return was
}

// section is the section without a second name, which is added as the last one where there is none.
func (d *iniDocument) section(name string) *iniGroup {
	if d.group(name) == nil {
		d.sections = append(d.sections, &iniGroup{Section: gcfg.Section{Name: name}, single: map[string]int{}})
	}
	return d.group(name)
}

// insertAfter adds an empty section behind g, or as the last one where g is nil.
func (d *iniDocument) insertAfter(g *iniGroup, section, subsection string) *iniGroup {
	added := &iniGroup{Section: gcfg.Section{Name: section, Subsection: subsection}, single: map[string]int{}}
	at := len(d.sections)
	if i := slices.Index(d.sections, g); i >= 0 {
		at = i + 1
	}
	d.sections = slices.Insert(d.sections, at, added)
	return added
}

// remove drops a section.
func (d *iniDocument) remove(g *iniGroup) {
	d.sections = slices.DeleteFunc(d.sections, func(other *iniGroup) bool { return other == g })
}

// contradicts reports a value that differs from a fact of Infrastructure, which field names. Nothing is known of an empty fact.
func (d *iniDocument) contradicts(e gcfg.Entry, field, fact string) {
	if e.Value == "" || fact == "" || e.Value == fact {
		return
	}
	d.report(e.ValuePos, diagnostic.Invalid, fmt.Sprintf("%s is %s, but %s of infrastructure.config.openshift.io/cluster is %s: "+
		"correct it here", e.Name, quoted(e.Value), field, quoted(fact)))
}

// checkPlaceholders reports every text that would be another one in the file on the node.
func (d *iniDocument) checkPlaceholders() {
	for _, g := range d.sections {
		d.checkPlaceholder(g.Pos, g.Name+" "+g.Subsection)
		for _, e := range g.Entries {
			d.checkPlaceholder(e.Pos, e.Name)
			d.checkPlaceholder(e.ValuePos, e.Value)
		}
	}
}

func (d *iniDocument) checkPlaceholder(pos gcfg.Position, text string) {
	if _, _, name, found := Placeholders([]byte(text)); found {
		d.report(pos, diagnostic.Invalid, placeholderMessage(name)+": write another value")
	}
}

// format is the rewritten configuration.
func (d *iniDocument) format() []byte {
	sections := make([]gcfg.Section, len(d.sections))
	for i, g := range d.sections {
		sections[i] = g.Section
	}
	return gcfg.Format(sections)
}

// addFirst adds an empty section before all others.
func (d *iniDocument) addFirst(section string) {
	g := &iniGroup{Section: gcfg.Section{Name: section}, single: map[string]int{}}
	d.sections = append([]*iniGroup{g}, d.sections...)
}
