package cloudconfig

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
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
	*treeDocument
	aliased int // how many values came from aliases
	inAlias int // how many aliases are being followed
}

// parseYAML reads YAML; nil means that the text cannot be read and that this is reported.
func (d *treeDocument) parseYAML(text []byte) *treeNode {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var document yaml.Node
	if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
		return &treeNode{} // nothing but comments
	} else if err != nil {
		d.reportYAMLError(text, err)
		return nil
	}
	before := len(*d.findings)
	builder := yamlTreeBuilder{treeDocument: d}
	root := builder.node(document.Content[0], 1)
	if root.kind == mapNode {
		d.reportRest(text, decoder)
	}
	if slices.ContainsFunc((*d.findings)[before:], func(f diagnostic.Diagnostic) bool { return f.Kind == diagnostic.Invalid }) {
		return nil
	}
	return root
}

// reportRest reports what stands behind the first document: gopkg.in/yaml.v2 does not even look at it.
func (d *treeDocument) reportRest(text []byte, decoder *yaml.Decoder) {
	var second yaml.Node
	err := decoder.Decode(&second)
	if errors.Is(err, io.EOF) {
		return
	}
	line, column := 1, 1
	if err == nil {
		line, column = second.Content[0].Line, second.Content[0].Column
	} else {
		line = max(line, yamlErrorLine(err.Error()))
	}
	var syntax *json.SyntaxError
	if errors.As(json.Unmarshal(text, new(json.RawMessage)), &syntax) && strings.Contains(syntax.Error(), "after top-level value") {
		line, column = position(text, int(syntax.Offset)-1)
	}
	d.report(line, column, diagnostic.Typo, "the cloud-controller-manager ignores everything from here on, as the document ends before: "+
		"look for a bracket too many or a line ---")
}

// reportYAMLError says where and why a text is not YAML.
func (d *treeDocument) reportYAMLError(text []byte, err error) {
	if offset, what := unprintable(text); offset >= 0 {
		line, column := position(text, offset)
		d.report(line, column, diagnostic.Invalid, what)
		return
	}
	if looksLikeINI(text) {
		d.report(1, 1, diagnostic.Invalid, d.wrongFormat(text))
		return
	}
	if bytes.HasPrefix(bytes.TrimSpace(bytes.TrimPrefix(text, []byte(byteOrderMark))), []byte("{")) && d.reportJSONError(text) {
		return // JSON is YAML, but the place of an error is found better this way
	}
	line, column := yamlErrorPlace(text, err)
	message := "this is not YAML: " + yamlProblem(err)
	if tabIndents(text, line) {
		message = "this is not YAML: a tab is in front of the text; use blanks"
	}
	d.report(line, column, diagnostic.Invalid, message)
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
		case !yamlPrintable(r) && (r != '\ufeff' || i > 0):
			return i, fmt.Sprintf("there is a control character here (%U): remove it", r)
		}
		i += size
	}
	return -1, ""
}

// yamlPrintable tells whether a character may stand in a YAML text.
func yamlPrintable(r rune) bool {
	switch {
	case r == '\t', r == '\n', r == '\r', r == 0x85:
		return true
	case r < 0x20, r > 0x7e && r < 0xa0, r == '\ufeff', r == 0xfffe, r == 0xffff:
		return false
	}
	return true
}

// node makes a node of ours.
func (b *yamlTreeBuilder) node(n *yaml.Node, depth int) *treeNode {
	out := &treeNode{line: n.Line, column: n.Column}
	if b.inAlias > 0 {
		b.aliased++
	}
	switch {
	case b.aliased > mostAliased:
		if b.aliased == mostAliased+1 {
			b.reportAt(out, diagnostic.Invalid, fmt.Sprintf("aliases make more than %d values here: write the values themselves", mostAliased))
		}
		return out
	case depth > deepest:
		b.reportAt(out, diagnostic.Invalid, fmt.Sprintf("there are more than %d mappings and lists in each other here: remove some of them", deepest))
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
		out.kind = listNode
		b.checkTag(n, out, "!!seq")
		for _, item := range n.Content {
			out.items = append(out.items, b.node(item, depth+1))
		}
	case yaml.MappingNode:
		out.kind = mapNode
		b.checkTag(n, out, "!!map")
		b.mapping(n, out, depth)
	}
	return out
}

func (b *yamlTreeBuilder) checkTag(n *yaml.Node, out *treeNode, allowed ...string) {
	if n.Style&yaml.TaggedStyle != 0 && !slices.Contains(allowed, n.ShortTag()) {
		b.reportAt(out, diagnostic.Invalid, "the tag "+quoted(n.Tag)+" is not one that fits here: remove it")
	}
}

// mapping fills a mapping. What a merge key brings in counts over what stands before it, and what stands behind it counts
// over that: so gopkg.in/yaml.v2 has it, against the standard, by which a mapping's own names count wherever they stand.
func (b *yamlTreeBuilder) mapping(n *yaml.Node, out *treeNode, depth int) {
	at := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, value := n.Content[i], n.Content[i+1]
		if !isMerge(name) {
			if entry := b.name(name); entry != nil {
				entry.value = b.node(value, depth+1)
				out.place(entry, at)
			}
			continue
		}
		for _, e := range b.merge(value, depth) {
			if before, again := at[e.name]; again && !out.entries[before].merged {
				own := out.entries[before]
				b.reportPair(own, name.Line, diagnostic.Rewritten,
					fmt.Sprintf("this %s is dropped: a merge key (<<) sets it too, and the last value counts", quoted(own.name)))
				own.merged = true
			}
			e.merged = true
			out.place(e, at)
		}
	}
}

// place adds an entry, in the place of one of that name that a merge key brought in. at is where the last entry of each
// name is.
func (n *treeNode) place(e *treeEntry, at map[string]int) {
	if before, again := at[e.name]; again && n.entries[before].merged {
		n.entries[before] = e
		return
	}
	at[e.name] = len(n.entries)
	n.entries = append(n.entries, e)
}

// name is the entry for a name, without its value; nil when it is none, which is reported.
func (b *yamlTreeBuilder) name(n *yaml.Node) *treeEntry {
	entry := &treeEntry{line: n.Line, column: n.Column}
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	word := &treeNode{line: entry.line, column: entry.column}
	if n.Kind == yaml.ScalarNode {
		b.scalar(n, word)
	}
	switch entry.name = n.Value; {
	case n.Kind != yaml.ScalarNode:
		b.reportAt(word, diagnostic.Invalid, "a key has to be one word or text, not a mapping or a list")
		return nil
	case len(entry.name) > longestName:
		b.reportAt(word, diagnostic.Invalid, fmt.Sprintf("this key is longer than %d characters: a quote or a colon may be missing", longestName))
		return nil
	case word.kind == nullNode:
		b.reportAt(word, diagnostic.Invalid, "a key is missing before the colon: write one, or put it in quotes")
		return nil
	case word.kind != textNode && b.format == yamlAsJSONTree:
		if entry.name = madeText(word); entry.name != word.written {
			b.reportAt(word, diagnostic.Typo, fmt.Sprintf("this key has no quotes, so the cloud-controller-manager reads it as %s: put it in quotes", quoted(entry.name)))
		}
	}
	return entry
}

func isMerge(name *yaml.Node) bool {
	return name.Kind == yaml.ScalarNode && name.Value == "<<" && name.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) == 0 &&
		name.ShortTag() == "!!merge"
}

// merge is what a merge key brings in: of several mappings the first one counts.
func (b *yamlTreeBuilder) merge(value *yaml.Node, depth int) []*treeEntry {
	n := b.node(value, depth+1)
	mappings := n.items
	if n.kind != listNode {
		mappings = []*treeNode{n}
	}
	var all []*treeEntry
	seen := map[string]bool{}
	for _, mapping := range mappings {
		if mapping.kind != mapNode {
			b.reportAt(mapping, diagnostic.Invalid, "<< takes mappings only: write an alias of a mapping")
		}
		for _, e := range mapping.entries {
			if !seen[e.name] {
				all = append(all, e)
			}
		}
		for _, e := range mapping.entries {
			seen[e.name] = true
		}
	}
	return all
}

// scalar fills a value that is neither a list nor a mapping.
func (b *yamlTreeBuilder) scalar(n *yaml.Node, out *treeNode) {
	out.text, out.written = n.Value, n.Value
	tagged := n.Style&yaml.TaggedStyle != 0
	isQuoted := n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0
	if isQuoted && !tagged {
		out.kind = textNode
		return
	}
	out.kind, out.text = resolvePlain(n.Value)
	if endless := out.kind == floatNode && strings.ContainsAny(out.text, "iInN"); endless && b.format == yamlAsJSONTree {
		b.reportAt(out, diagnostic.Invalid, "this is not a number that can be calculated with: write another one")
	}
	if !tagged {
		return
	}
	switch tag := n.ShortTag(); {
	case tag == "!!str" || tag == "!":
		out.kind, out.text = textNode, n.Value
	case tag == "!!float" && out.kind == intNode:
		out.kind = floatNode
	case tag != map[treeKind]string{nullNode: "!!null", boolNode: "!!bool", intNode: "!!int", floatNode: "!!float"}[out.kind]:
		b.reportAt(out, diagnostic.Invalid, "the value does not fit the tag "+quoted(n.Tag)+" before it: remove the tag or put the value in quotes")
	}
}

var (
	yamlBoolean = regexp.MustCompile(`^(?:[yY]|yes|Yes|YES|true|True|TRUE|on|On|ON)$|^([nN]|no|No|NO|false|False|FALSE|off|Off|OFF)$`)
	yamlFloat   = regexp.MustCompile(`^[-+]?(\.\d+|\d+(\.\d*)?)([eE][-+]?\d+)?$`)
)

// resolvePlain tells what a word without quotes is for gopkg.in/yaml.v2 and go.yaml.in/yaml/v2, which read YAML 1.1: yes
// is a boolean and 010 is eight. The text is a boolean or number in its usual form.
func resolvePlain(word string) (treeKind, string) {
	switch word {
	case "", "~", "null", "Null", "NULL":
		return nullNode, ""
	case ".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF", "-.inf", "-.Inf", "-.INF", ".nan", ".NaN", ".NAN":
		return floatNode, word
	}
	if negative := yamlBoolean.FindStringSubmatch(word); negative != nil {
		return boolNode, strconv.FormatBool(negative[1] == "")
	}
	digits := strings.ReplaceAll(word, "_", "")
	if !strings.ContainsRune("+-.0123456789", rune(word[0])) || digits == "" {
		return textNode, word
	}
	if word[0] != '.' {
		if value, err := strconv.ParseInt(digits, 0, 64); err == nil {
			return intNode, strconv.FormatInt(value, 10)
		}
		if value, err := strconv.ParseUint(digits, 0, 64); err == nil {
			return intNode, strconv.FormatUint(value, 10)
		}
	}
	if yamlFloat.MatchString(digits) {
		if value, err := strconv.ParseFloat(digits, 64); err == nil {
			return floatNode, strconv.FormatFloat(value, 'g', -1, 64)
		}
	}
	return textNode, word
}
