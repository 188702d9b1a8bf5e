package confdoc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	yamlv2 "go.yaml.in/yaml/v2"
	"go.yaml.in/yaml/v3"
	sigsyaml "sigs.k8s.io/yaml"
)

const byteOrderMark = "\ufeff"

// maxKeyLength is the maximum length of a key in bytes. YAML readers limit a key with its quotes to 1024 characters.
const maxKeyLength = 1000

func (f Format) decode(text []byte, into any) error {
	switch f {
	case YAML:
		return yamlv2.Unmarshal(text, into)
	case YAML3:
		return yaml.Unmarshal(text, into)
	case YAMLAsJSON:
		return sigsyaml.Unmarshal(text, into)
	default:
		return json.Unmarshal(text, into)
	}
}

// parse converts the text to nodes, or returns errors. JSON is parsed as YAML after a check that it is valid JSON.
func (f Format) parse(text []byte) (*Node, []SyntaxError) {
	found := unprintable(text, f != JSON)
	if found == nil && f == JSON {
		found = jsonError(text)
	}
	if found != nil {
		return nil, []SyntaxError{*found}
	}
	return f.nodes(text)
}

func (f Format) nodes(text []byte) (*Node, []SyntaxError) {
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, []SyntaxError{*YAMLError(text, err)}
	}
	if len(document.Content) == 0 {
		return &Node{}, nil
	}
	err := f.decode(text, new(any))
	if err != nil && bytes.ContainsRune(text, '*') {
		return nil, []SyntaxError{*YAMLError(text, err)} // do not expand aliases, which may be recursive
	}
	p := &parser{format: f}
	root := p.node(document.Content[0])
	if err != nil && len(p.errs) == 0 {
		p.errs = []SyntaxError{*YAMLError(text, err)}
	}
	return root, p.errs
}

// Tree parses YAML or JSON for the positions of its values. If the text cannot be read, the tree has no values. A value
// may contain what parse rejects and the library accepts, such as a byte-order mark.
func Tree(text []byte) *Node {
	root, _ := YAMLAsJSON.nodes(text)
	if root == nil || root.Line == 0 {
		root = &Node{Position: Position{Line: 1, Column: 1}}
	}
	return root
}

type parser struct {
	format Format
	errs   []SyntaxError
}

func (p *parser) fail(n *yaml.Node, message string) {
	p.errs = append(p.errs, *errorAt(n, "%s", message))
}

func (p *parser) node(n *yaml.Node) *Node {
	out := &Node{Position: Position{Line: n.Line, Column: n.Column}, Style: n.Style &^ yaml.TaggedStyle}
	switch n.Kind {
	case yaml.AliasNode:
		return p.node(n.Alias)
	case yaml.ScalarNode:
		p.scalar(n, out)
	case yaml.SequenceNode:
		out.Kind = ListNode
		for _, item := range n.Content {
			out.Items = append(out.Items, p.node(item))
		}
	case yaml.MappingNode:
		out.Kind = MapNode
		hasMerge := false
		for i := 0; i+1 < len(n.Content); i += 2 {
			if key, value := n.Content[i], n.Content[i+1]; key.ShortTag() == "!!merge" {
				p.merge(out, p.node(value))
				hasMerge = true
			} else if e := p.entry(key, value); e != nil {
				out.add(e, hasMerge)
			}
		}
	default:
	}
	if n.Style&yaml.TaggedStyle != 0 && tagOf[out.Kind] != n.ShortTag() {
		p.fail(n, "YAML tags are not supported: remove the tag")
	}
	return out
}

// tagOf are the tags that do not change the type of a value, except for that of a string.
var tagOf = map[NodeKind]string{TextNode: "!!str", BoolNode: "!!bool", IntNode: "!!int", FloatNode: "!!float",
	ListNode: "!!seq", MapNode: "!!map"}

func (p *parser) scalar(n *yaml.Node, out *Node) {
	out.Kind, out.Text, out.written = TextNode, n.Value, n.Value
	switch {
	case strings.ContainsFunc(n.Value, func(r rune) bool { return !Printable(r) }):
		p.fail(n, "this value contains a control character: remove it")
	case out.Style != 0, n.Style&yaml.TaggedStyle != 0 && n.ShortTag() == "!!str": // quoted, a block or tagged
	case p.format != JSON:
		out.Kind, out.Text = plainKind(n.Value)
	case n.Value == "null":
		out.Kind, out.Text = NullNode, ""
	case n.Value == "true", n.Value == "false":
		out.Kind = BoolNode
	case strings.ContainsAny(n.Value, ".eE"):
		out.Kind = FloatNode
	default:
		out.Kind = IntNode
	}
}

func (p *parser) entry(key, value *yaml.Node) *Entry {
	name := p.node(key)
	e := &Entry{Name: name.Text, Position: name.Position}
	if name.Kind == BoolNode || name.isNumber() {
		e.Name = name.written
		if made := convertedText(name); p.format == YAMLAsJSON && made != e.Name {
			p.fail(key, "this key is read as "+Quoted(made)+": put it in quotes")
		}
	}
	if name.Kind == MapNode {
		p.fail(key, "a brace starts a mapping here: put the value in quotes, or replace the placeholder")
		return nil
	}
	if isCollection(name) || name.Kind == NullNode || len(e.Name) > maxKeyLength {
		p.fail(key, fmt.Sprintf("a key must be a string of at most %d characters: a quote or a colon may be missing",
			maxKeyLength))
		return nil
	}
	e.Value = p.node(value)
	return e
}

// add adds an entry to a mapping. A name after a merge key replaces the merged entry. A name before it is ambiguous:
// gopkg.in/yaml.v2 uses the merged value, contrary to the standard.
func (n *Node) add(e *Entry, hasMerge bool) {
	if hasMerge { // searching for each name is slow
		isMerged := func(other *Entry) bool { return other.merged && other.Name == e.Name }
		if i := slices.IndexFunc(n.Entries, isMerged); i >= 0 {
			n.Entries[i] = e
			return
		}
	}
	n.Entries = append(n.Entries, e)
}

// merge adds the entries of a merge key. If several mappings have the same name, the first one wins.
func (p *parser) merge(out, value *Node) {
	mappings := value.Items
	if value.Kind != ListNode {
		mappings = []*Node{value}
	}
	for _, mapping := range mappings {
		for _, e := range mapping.Entries {
			before := out.Entry(e.Name)
			if before == nil || !before.merged && p.format != YAML3 {
				merged := *e
				merged.merged = true
				out.Entries = append(out.Entries, &merged)
			}
		}
	}
}

// plainKind returns the type that the libraries, which implement YAML 1.1, give an unquoted word: "yes" is a boolean,
// and "010" is eight. The text is the canonical form of a boolean or number.
func plainKind(word string) (NodeKind, string) {
	if word != "" && !strings.ContainsRune("yYnNtTfFoO~+-.0123456789", rune(word[0])) || strings.Contains(word, "\n") {
		return TextNode, word // words of other types start with one of these characters
	}
	var document struct {
		V any `yaml:"v"`
	}
	if err := yamlv2.Unmarshal([]byte("v: "+word), &document); err != nil {
		return TextNode, word
	}
	switch v := document.V.(type) {
	case nil:
		return NullNode, ""
	case bool:
		return BoolNode, strconv.FormatBool(v)
	case int, int64, uint64:
		return IntNode, fmt.Sprint(v)
	case float64:
		text := strings.ToLower(strconv.FormatFloat(v, 'g', -1, 64))
		text = strings.Replace(strings.TrimPrefix(text, "+"), "inf", ".inf", 1)
		return FloatNode, strings.Replace(text, "nan", ".nan", 1)
	}
	return TextNode, word
}

func convertedText(n *Node) string {
	var made struct {
		V string `json:"v"`
	}
	_ = sigsyaml.Unmarshal([]byte("v: "+n.written), &made) // a boolean or number can be a string
	return made.V
}

// Rest returns the position of what follows the first document of a text and is silently ignored by the libraries.
// isDocument is false if it is not a document. The line is 0 if nothing follows.
func Rest(text []byte) (at Position, isDocument bool) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var document yaml.Node
	if decoder.Decode(&document) != nil {
		return Position{}, false
	}
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		return Position{}, false
	case err == nil:
		return Position{Line: document.Line, Column: max(1, document.Column)}, true
	case strings.Contains(err.Error(), "document start"):
		return Position{Line: lineOf(err) + 1, Column: 1}, false // the library counts lines from 0 in this error
	default:
		return Position{Line: lineOf(err), Column: 1}, false
	}
}
