package document

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc/gcfg"
)

// Value is a value, a key or a comment with the bytes of the text that it takes.
type Value struct {
	// Names are the keys above the value, the outermost first. The items of a list have the names of the list.
	Names []string
	// Text is what a reader makes of the bytes; empty for a comment.
	Text string
	// Start and End are byte offsets in the text. Quotes and the header of a block belong to the value.
	Start, End int
	// Quote is what a replacement has to be put between, and Break whether a line break ends it.
	Quote string
	Break bool
	// Comment says that this is a comment with its marker.
	Comment bool
	// Key says that this is a key of a mapping.
	Key bool
}

// mostValues bounds what aliases can make of a small text.
const mostValues = 100_000

// Values lists every value and comment of a text in INI, JSON or YAML in the order of the text. A value that aliases deliver to
// several places is listed for each of them. ok is false where the text is in none of these formats, or where its bytes are
// not known for certain.
func Values(data []byte) (values []Value, ok bool) {
	if json.Valid(data) {
		return jsonValues(data), true
	}
	if spans, isINI := gcfg.Spans(data); isINI {
		return iniValues(data, spans), true
	}
	return yamlValues(data)
}

func iniValues(data []byte, spans []gcfg.Span) []Value {
	values := make([]Value, 0, len(spans))
	for _, s := range spans {
		v := Value{Names: []string{s.Key}, Text: s.Value, Start: s.Start, End: s.End, Comment: s.Comment}
		raw := data[s.Start:s.End]
		if s.Continues != "" {
			v.Names, v.Text = []string{s.Continues, s.Key}, string(raw)
		}
		if len(raw) > 1 && raw[0] == '"' && raw[len(raw)-1] == '"' {
			v.Quote = `"`
		}
		values = append(values, v)
	}
	return values
}

func jsonValues(data []byte) []Value {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var values []Value
	next := func(names []string, isKey bool) json.Token {
		start := int(decoder.InputOffset())
		token, _ := decoder.Token() // the text is valid
		for start < len(data) && strings.IndexByte(" \t\r\n,:", data[start]) >= 0 {
			start++
		}
		if _, isDelimiter := token.(json.Delim); !isDelimiter && token != nil {
			v := Value{Names: names, Start: start, End: int(decoder.InputOffset()), Quote: `"`, Key: isKey}
			if v.Text, _ = token.(string); v.Text == "" {
				v.Text = strings.Trim(string(data[v.Start:v.End]), `"`)
			}
			values = append(values, v)
		}
		return token
	}
	var visit func(names []string)
	visit = func(names []string) {
		token := next(names, false)
		if token != json.Delim('{') && token != json.Delim('[') {
			return
		}
		for decoder.More() {
			inner := names
			if token == json.Delim('{') {
				key, _ := next(names, true).(string)
				inner = slices.Concat(names, []string{key})
			}
			visit(inner)
		}
		next(nil, false)
	}
	visit(nil)
	return values
}

// yamlReader collects the values of a YAML stream.
type yamlReader struct {
	nodes []scalarNode
	count int
}

// scalarNode is a scalar with the indentation of the mapping or list around it.
type scalarNode struct {
	*yaml.Node
	names  []string
	indent int
	isKey  bool
}

func yamlValues(data []byte) ([]Value, bool) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	r := &yamlReader{}
	for {
		var document yaml.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil || len(document.Content) != 1 || document.Content[0].Kind == yaml.ScalarNode {
			return nil, false
		}
		r.visit(document.Content[0], nil, 0)
	}
	if r.count > mostValues {
		return nil, false
	}
	slices.SortStableFunc(r.nodes, func(a, b scalarNode) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return locate(data, r.nodes)
}

func (r *yamlReader) visit(n *yaml.Node, names []string, indent int) {
	r.count++
	if r.count > mostValues {
		return
	}
	switch n.Kind {
	case yaml.AliasNode:
		r.visit(n.Alias, names, -1)
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			if key.Kind == yaml.ScalarNode {
				r.nodes = append(r.nodes, scalarNode{key, names, n.Column - 1, true})
			} else {
				r.visit(key, names, n.Column-1)
			}
			r.visit(n.Content[i+1], slices.Concat(names, []string{key.Value}), n.Column-1)
		}
	case yaml.SequenceNode:
		for _, item := range n.Content {
			r.visit(item, names, n.Column-1)
		}
	case yaml.ScalarNode:
		r.nodes = append(r.nodes, scalarNode{n, names, indent, false})
	default:
	}
}

// locate finds the bytes of the scalars, which are in the order of the text, and of the comments between them.
func locate(data []byte, nodes []scalarNode) ([]Value, bool) {
	source := runes(data)
	c := &cursor{source: source, place: Place{1, 1}}
	offsets := newOffsets(data, source)
	var values []Value
	var former scalarNode
	for _, node := range nodes {
		if former.Node == node.Node {
			// An alias delivers it here too.
			again := values[len(values)-1]
			again.Names = node.names
			values = append(values, again)
			continue
		}
		former = node
		values = append(values, c.comments(Place{node.Line, node.Column}, offsets)...)
		v, ok := c.scalar(node)
		if !ok {
			return nil, false
		}
		v.Start, v.End = offsets.of(v.Start), offsets.of(v.End)
		values = append(values, v)
	}
	return append(values, c.comments(Place{}, offsets)...), true
}

// scalar reads a scalar from its first character. ok is false where the library has read it differently.
func (c *cursor) scalar(node scalarNode) (v Value, ok bool) {
	v = Value{Names: node.names, Text: node.Value, Key: node.isKey}
	if node.Value == "" && node.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) == 0 {
		v.Start, v.End = c.next, c.next
		return v, true
	}
	c.skipProperties()
	v.Start = c.next
	text := c.scalarText(node.Node, node.indent)
	switch style := node.Style; {
	case style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		v.Break = true
		for c.next > v.Start && c.source[c.next-1] == ' ' {
			c.next--
			c.place.Column--
		}
	case style&yaml.DoubleQuotedStyle != 0:
		v.Quote = `"`
		c.skipQuoted(v.Start, '"')
	case style&yaml.SingleQuotedStyle != 0:
		v.Quote = `'`
		c.skipQuoted(v.Start, '\'')
	}
	v.End = c.next
	return v, string(text.characters) == node.Value
}

// skipQuoted goes behind the closing quote of the scalar that starts at the offset.
func (c *cursor) skipQuoted(start int, quote rune) {
	for i := start + 1; i < len(c.source); i++ {
		switch {
		case quote == '"' && c.source[i] == '\\':
			i++
		case quote == '\'' && c.source[i] == quote && i+1 < len(c.source) && c.source[i+1] == quote:
			i++
		case c.source[i] == quote:
			c.skipWhile(func() bool { return c.next <= i })
			return
		}
	}
}

// comments goes to the place, or to the end of the text where it is zero, and returns the comments on the way. Between scalars a
// number sign after whitespace starts one.
func (c *cursor) comments(until Place, offsets offsets) []Value {
	var found []Value
	before := func() bool {
		return c.peek() != end && (until.Line == 0 || c.place.Line < until.Line || c.place.Line == until.Line && c.place.Column < until.Column)
	}
	for before() {
		starts := c.peek() == '#' && (c.next == 0 || strings.ContainsRune(" \t\r\n", c.source[c.next-1]))
		if !starts {
			c.read()
			continue
		}
		start := c.next
		c.skipWhile(func() bool { return !c.isBreakOrEnd() })
		found = append(found, Value{Start: offsets.of(start), End: offsets.of(c.next), Comment: true})
	}
	return found
}

// offsets translate from characters to bytes.
type offsets []int

func newOffsets(data []byte, source []rune) offsets {
	byteOffset := 0
	if bytes.HasPrefix(data, byteOrderMark) {
		byteOffset = len(byteOrderMark)
	}
	all := make(offsets, 0, len(source)+1)
	for _, r := range source {
		all = append(all, byteOffset)
		byteOffset += utf8.RuneLen(r)
	}
	return append(all, byteOffset)
}

func (o offsets) of(character int) int { return o[character] }
