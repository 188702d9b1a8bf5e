package confdoc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

const (
	// deepest is how many mappings and lists may stand in each other. No configuration of a cloud needs a tenth of it, and
	// without a limit a small file could cost much.
	deepest = 100
	// mostAliased is how many values may come from aliases together, for the same reason.
	mostAliased = 10_000
	// longestName is how long a name can be: YAML readers refuse one beyond 1024 characters, and we add quotes.
	longestName = 1000
)

// yamlTreeBuilder makes nodes of ours out of those of the YAML library.
type yamlTreeBuilder struct {
	*Tree
	aliased int // how many values came from aliases
	inAlias int // how many aliases are being followed
}

// parseYAML reads YAML; nil means that the text cannot be read and that this is reported.
func (d *Tree) parseYAML(text []byte) *Node {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var document yaml.Node
	if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
		return &Node{} // nothing but comments
	} else if err != nil {
		d.reportYAMLError(text, err)
		return nil
	}
	before := len(*d.Findings)
	builder := yamlTreeBuilder{Tree: d}
	root := builder.node(document.Content[0], 1)
	if root.Kind == MapNode {
		d.reportRest(text, decoder)
	}
	if slices.ContainsFunc((*d.Findings)[before:], func(f diagnostic.Diagnostic) bool { return f.Kind == diagnostic.Invalid }) {
		return nil
	}
	return root
}

// reportRest reports what stands behind the first document: gopkg.in/yaml.v2 does not even look at it.
func (d *Tree) reportRest(text []byte, decoder *yaml.Decoder) {
	var second yaml.Node
	err := decoder.Decode(&second)
	if errors.Is(err, io.EOF) {
		return
	}
	line, column := 1, 1
	if err == nil {
		line, column = second.Content[0].Line, second.Content[0].Column
	} else {
		line = max(line, YAMLErrorLine(err.Error()))
	}
	var syntax *json.SyntaxError
	if errors.As(json.Unmarshal(text, new(json.RawMessage)), &syntax) && strings.Contains(syntax.Error(), "after top-level value") {
		line, column = Position(text, int(syntax.Offset)-1)
	}
	d.Report(line, column, diagnostic.Typo, "the cloud-controller-manager ignores everything from here on, as the document ends before: "+
		"look for a bracket too many or a line ---")
}

// reportYAMLError says where and why a text is not YAML.
func (d *Tree) reportYAMLError(text []byte, err error) {
	if offset, what := unprintable(text); offset >= 0 {
		line, column := Position(text, offset)
		d.Report(line, column, diagnostic.Invalid, what)
		return
	}
	if LooksLikeINI(text) {
		d.Report(1, 1, diagnostic.Invalid, d.wrongFormat(text))
		return
	}
	if bytes.HasPrefix(bytes.TrimSpace(bytes.TrimPrefix(text, []byte(ByteOrderMark))), []byte("{")) && d.reportJSONError(text) {
		return // JSON is YAML, but the place of an error is found better this way
	}
	line, column := YAMLErrorPlace(text, err)
	message := "this is not YAML: " + YAMLProblem(err)
	if TabIndents(text, line) {
		message = "this is not YAML: a tab is in front of the text; use blanks"
	}
	d.Report(line, column, diagnostic.Invalid, message)
}

// unprintable finds the first character that YAML does not allow; the offset is -1 when there is none.
func unprintable(text []byte) (offset int, what string) {
	if bytes.HasPrefix(text, []byte("\xff\xfe")) || bytes.HasPrefix(text, []byte("\xfe\xff")) {
		return -1, "" // UTF-16, which YAML allows
	}
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			return i, "there is a byte here that is not UTF-8: save the text as UTF-8"
		case r == 0:
			return i, "there is a NUL character here: remove it"
		case !YAMLPrintable(r) && (r != '\ufeff' || i > 0):
			return i, fmt.Sprintf("there is a control character here (%U): remove it", r)
		}
		i += size
	}
	return -1, ""
}

// YAMLPrintable tells whether a character may stand in a YAML text.
func YAMLPrintable(r rune) bool {
	switch {
	case r == '\t', r == '\n', r == '\r', r == 0x85:
		return true
	case r < 0x20, r > 0x7e && r < 0xa0, r == '\ufeff', r == 0xfffe, r == 0xffff:
		return false
	}
	return true
}

// node makes a node of ours.
func (b *yamlTreeBuilder) node(n *yaml.Node, depth int) *Node {
	out := &Node{Line: n.Line, Column: n.Column}
	if b.inAlias > 0 {
		b.aliased++
	}
	switch {
	case b.aliased > mostAliased:
		if b.aliased == mostAliased+1 {
			b.ReportAt(out, diagnostic.Invalid, fmt.Sprintf("aliases make more than %d values here: write the values themselves", mostAliased))
		}
		return out
	case depth > deepest:
		b.ReportAt(out, diagnostic.Invalid, fmt.Sprintf("there are more than %d mappings and lists in each other here: remove some of them", deepest))
		return out
	}
	switch n.Kind {
	case yaml.DocumentNode: // is never inside of another
	case yaml.AliasNode:
		b.inAlias++
		defer func() { b.inAlias-- }()
		return b.node(n.Alias, depth+1)
	case yaml.ScalarNode:
		b.scalar(n, out)
	case yaml.SequenceNode:
		out.Kind = ListNode
		b.checkTag(n, out, "!!seq")
		for _, item := range n.Content {
			out.Items = append(out.Items, b.node(item, depth+1))
		}
	case yaml.MappingNode:
		out.Kind = MapNode
		b.checkTag(n, out, "!!map")
		b.mapping(n, out, depth)
	}
	return out
}

func (b *yamlTreeBuilder) checkTag(n *yaml.Node, out *Node, allowed ...string) {
	if n.Style&yaml.TaggedStyle != 0 && !slices.Contains(allowed, n.ShortTag()) {
		b.ReportAt(out, diagnostic.Invalid, "the tag "+Quoted(n.Tag)+" is not one that fits here: remove it")
	}
}

// mapping fills a mapping. A name behind a merge key replaces what that brings in. One before it is ambiguous: gopkg.in/yaml.v2
// uses what the merge key brings in, against the standard.
func (b *yamlTreeBuilder) mapping(n *yaml.Node, out *Node, depth int) {
	at := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, value := n.Content[i], n.Content[i+1]
		if !isMerge(name) {
			if entry := b.name(name); entry != nil {
				entry.Value = b.node(value, depth+1)
				out.place(entry, at)
			}
			continue
		}
		for _, e := range b.merge(value, depth) {
			e.merged = true
			out.place(e, at)
		}
	}
}

// place adds an entry, in the place of one of that name that a merge key brought in. at is where the last entry of each
// name is.
func (n *Node) place(e *Entry, at map[string]int) {
	if before, again := at[e.Name]; again && n.Entries[before].merged {
		n.Entries[before] = e
		return
	}
	at[e.Name] = len(n.Entries)
	n.Entries = append(n.Entries, e)
}

// name is the entry for a name, without its value; nil when it is none, which is reported.
func (b *yamlTreeBuilder) name(n *yaml.Node) *Entry {
	entry := &Entry{Line: n.Line, Column: n.Column}
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	word := &Node{Line: entry.Line, Column: entry.Column}
	if n.Kind == yaml.ScalarNode {
		b.scalar(n, word)
	}
	switch entry.Name = n.Value; {
	case n.Kind != yaml.ScalarNode:
		b.ReportAt(word, diagnostic.Invalid, "a key has to be one word or text, not a mapping or a list")
		return nil
	case len(entry.Name) > longestName:
		b.ReportAt(word, diagnostic.Invalid, fmt.Sprintf("this key is longer than %d characters: a quote or a colon may be missing", longestName))
		return nil
	case word.Kind == NullNode:
		b.ReportAt(word, diagnostic.Invalid, "a key is missing before the colon: write one, or put it in quotes")
		return nil
	case word.Kind != TextNode && b.Format == YAMLAsJSONTree:
		if entry.Name = madeText(word); entry.Name != word.written {
			b.ReportAt(word, diagnostic.Typo, fmt.Sprintf("this key has no quotes, so the cloud-controller-manager reads it as %s: put it in quotes", Quoted(entry.Name)))
		}
	}
	return entry
}

func isMerge(name *yaml.Node) bool {
	return name.Kind == yaml.ScalarNode && name.Value == "<<" && name.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) == 0 &&
		name.ShortTag() == "!!merge"
}

// merge is what a merge key brings in: of several mappings the first one counts.
func (b *yamlTreeBuilder) merge(value *yaml.Node, depth int) []*Entry {
	n := b.node(value, depth+1)
	mappings := n.Items
	if n.Kind != ListNode {
		mappings = []*Node{n}
	}
	var all []*Entry
	seen := map[string]bool{}
	for _, mapping := range mappings {
		if mapping.Kind != MapNode {
			b.ReportAt(mapping, diagnostic.Invalid, "<< takes mappings only: write an alias of a mapping")
		}
		for _, e := range mapping.Entries {
			if !seen[e.Name] {
				all = append(all, e)
			}
		}
		for _, e := range mapping.Entries {
			seen[e.Name] = true
		}
	}
	return all
}
