package confdoc

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

	yamlv2 "go.yaml.in/yaml/v2"
	"go.yaml.in/yaml/v3"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/gcfg"
)

const byteOrderMark = "\ufeff"

// maxKeyLength is the maximum length of a key in bytes. YAML readers reject a key of more than 1024 characters, and
// quotes are added.
const maxKeyLength = 1000

// decode decodes a text with the provider's library.
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

// syntaxError is a reason why a text cannot be read.
type syntaxError struct {
	Position
	message string
}

// parse returns the text as nodes, or the errors because of which it cannot be read. JSON is parsed as YAML, after a
// check that it is valid JSON.
func (f Format) parse(text []byte) (*Node, []syntaxError) {
	if p := unprintable(text, f); p != nil {
		return nil, []syntaxError{*p}
	}
	isJSON := bytes.HasPrefix(bytes.TrimSpace(text), []byte("{"))
	if p := jsonError(text); p != nil && f == JSON {
		return nil, []syntaxError{*p}
	}
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		if p := jsonError(text); p != nil && isJSON {
			return nil, []syntaxError{*p} // the JSON library gives a more precise position
		}
		return nil, []syntaxError{yamlError(text, err)}
	}
	if len(document.Content) == 0 {
		return &Node{}, nil
	}
	err := f.decode(text, new(any))
	if err != nil && bytes.ContainsRune(text, '*') {
		return nil, []syntaxError{yamlError(text, err)} // do not expand aliases, which may be recursive
	}
	p := &parser{format: f}
	root := p.node(document.Content[0])
	if err != nil && len(p.errs) == 0 {
		p.errs = []syntaxError{yamlError(text, err)}
	}
	return root, p.errs
}

// unprintable returns an error for the first character that YAML does not allow.
func unprintable(text []byte, f Format) *syntaxError {
	at := Unprintable(text, f != JSON)
	if at < 0 {
		return nil
	}
	r, _ := utf8.DecodeRune(text[at:])
	return &syntaxError{gcfg.At(text, at), fmt.Sprintf("invalid character %U: remove it, or save the text as UTF-8", r)}
}

// Unprintable returns the offset of the first character that YAML does not allow, -1 if there is none. A text may begin
// with a byte order mark if mark is true.
func Unprintable(text []byte, mark bool) int {
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		isMark := mark && i == 0 && r == '\ufeff'
		if r == utf8.RuneError && size == 1 || !Printable(r) && !isMark {
			return i
		}
		i += size
	}
	return -1
}

// Printable reports whether every reader accepts the character and interprets it in the same way.
func Printable(r rune) bool {
	switch {
	case r == '\t', r == '\n', r == '\r':
		return true
	case r < 0x20, r > 0x7e && r < 0xa0, r == '\ufeff', r == 0xfffe, r == 0xffff:
		return false
	}
	return true
}

const notJSON = "this is not JSON: "

// startOfJSON matches what YAML's flow mappings rarely begin with.
var startOfJSON = regexp.MustCompile(`^\s*\{\s*"`)

// jsonError returns the position at which a text stops being JSON, or nil if it is JSON. The message does not quote
// the text.
func jsonError(text []byte) *syntaxError {
	var syntax *json.SyntaxError
	if err := json.Unmarshal(text, new(json.RawMessage)); !errors.As(err, &syntax) {
		return nil
	}
	at, message := max(0, int(syntax.Offset)-1), syntax.Error()
	if !strings.Contains(message, "' ") {
		at = min(at+1, len(text))
	}
	return &syntaxError{gcfg.At(text, at), notJSON + jsonReason(message)}
}

// jsonReasons are the messages of encoding/json and what they mean for the author of a text.
var jsonReasons = []struct{ message, reason string }{
	{"looking for beginning of object key string", "a key in quotes is expected; JSON has no comments, and no comma " +
		"after the last key"},
	{"looking for beginning of value", "a value is expected: a string in quotes, a number, true, false, null, { or ["},
	{"after object key:value pair", "a comma or } is missing before this"},
	{"after object key", "a colon is missing after the key"},
	{"after array element", "a comma or ] is missing before this"},
	{"after top-level value", "the JSON ends before this: remove the rest, or look for an extra bracket"},
	{"in string literal", `a string has a line break or a control character: write \n, or close the quotes`},
	{"in string escape code", `a backslash starts an unknown escape: write \\`},
	{`in \u`, `a backslash starts an unknown escape: write \\`},
	{"in literal", "a value is expected: true, false and null are the only words without quotes"},
	{"in numeric literal", "this is not a number: put it in quotes"},
	{"in exponent of numeric literal", "this is not a number: put it in quotes"},
	{"after decimal point", "this is not a number: put it in quotes"},
	{"unexpected end of JSON input", "the text ends too early: a closing bracket or quote is missing"},
	{"exceeded max depth", "too many brackets are open"},
}

func jsonReason(message string) string {
	for _, known := range jsonReasons {
		if strings.Contains(message, known.message) {
			return known.reason
		}
	}
	return "an unexpected character"
}

var yamlLine = regexp.MustCompile(`(?:^|: |\s)line (\d+): `)

// maxPrefixLines is the maximum number of lines for which yamlError parses one prefix of the text after the other.
const maxPrefixLines = 300

func yamlError(text []byte, err error) syntaxError {
	at, reason := YAMLDefect(text, err)
	return syntaxError{at, "this is not YAML: " + reason}
}

// YAMLLine returns the line that an error of a YAML library names, 1 if it names none.
func YAMLLine(err error) int {
	found := yamlLine.FindStringSubmatch(err.Error())
	if found == nil {
		return 1
	}
	line, _ := strconv.Atoi(found[1]) // the pattern has digits only
	return line
}

// YAMLDefect returns the position and the reason why a text is not YAML. The library reports the start of the block
// around the error, or no line at all. The first line after the longest prefix that can be parsed is closer. Messages
// of the library that quote the text are replaced. JSON, which may have one line only, has its own reason.
func YAMLDefect(text []byte, err error) (Position, string) {
	if p := jsonError(text); p != nil && startOfJSON.Match(text) {
		return p.Position, strings.TrimPrefix(p.message, notJSON)
	}
	line := YAMLLine(err)
	lines := bytes.SplitAfter(text, []byte("\n"))
	if len(lines) <= maxPrefixLines && !isYAML(text) {
		line = len(lines)
		for line > 1 && !isYAML(bytes.Join(lines[:line-1], nil)) {
			line--
		}
	}
	for line < len(lines) && isBlankOrComment(lines[line-1]) {
		line++
	}
	whole := lines[min(line, len(lines))-1]
	indent := whole[:len(whole)-len(bytes.TrimLeft(whole, " \t"))]
	if tab := bytes.IndexByte(indent, '\t'); tab >= 0 {
		return Position{Line: line, Column: tab + 1}, "a tab in the indentation: indent with spaces"
	}
	return Position{Line: line, Column: len(indent) + 1}, yamlReason(err.Error())
}

// yamlReason is YAMLReason without the place, for a text that is not YAML.
func yamlReason(message string) string {
	if found := yamlLine.FindStringIndex(message); found != nil {
		message = message[found[1]:]
	}
	message = unprefixed(message)
	reason := YAMLReason(message)
	switch {
	case strings.Contains(message, "already"):
		return "duplicate key: keep one"
	case reason == message && strings.ContainsAny(message, "`\"'\n"):
		return "an alias, an anchor, a tag or a key does not fit here: put the value in quotes"
	}
	return reason
}

func isBlankOrComment(line []byte) bool {
	line = bytes.TrimSpace(line)
	return len(line) == 0 || line[0] == '#'
}

func isYAML(text []byte) bool { return yaml.Unmarshal(text, new(yaml.Node)) == nil }

// parser converts the nodes of the YAML library.
type parser struct {
	format Format
	errs   []syntaxError
}

func (p *parser) fail(n *yaml.Node, message string) {
	p.errs = append(p.errs, syntaxError{Position{Line: n.Line, Column: n.Column}, message})
}

func (p *parser) node(n *yaml.Node) *Node {
	out := &Node{Position: Position{Line: n.Line, Column: n.Column}}
	if n.Style&yaml.TaggedStyle != 0 {
		p.fail(n, "YAML tags are not supported: remove the tag")
		return out
	}
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
		for i := 0; i+1 < len(n.Content); i += 2 {
			if key, value := n.Content[i], n.Content[i+1]; key.ShortTag() == "!!merge" {
				p.merge(out, p.node(value))
			} else if e := p.entry(key, value); e != nil {
				out.add(e)
			}
		}
	default:
	}
	return out
}

// scalar fills in a value that is neither a list nor a mapping.
func (p *parser) scalar(n *yaml.Node, out *Node) {
	out.Kind, out.Text, out.written = TextNode, n.Value, n.Value
	switch {
	case strings.ContainsFunc(n.Value, func(r rune) bool { return !Printable(r) }):
		p.fail(n, "this value contains a control character: remove it")
	case n.Style != 0: // in quotes, or a block
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

// entry returns an entry of a mapping. It reports a key of an unsupported type or length and returns nil.
func (p *parser) entry(key, value *yaml.Node) *Entry {
	name := p.node(key)
	e := &Entry{Name: name.Text, Position: name.Position}
	if name.Kind == BoolNode || name.isNumber() {
		e.Name = name.written
		if made := convertedText(name); p.format == YAMLAsJSON && made != e.Name {
			p.fail(key, "this key is read as "+Quoted(made)+": put it in quotes")
		}
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
func (n *Node) add(e *Entry) {
	isMerged := func(other *Entry) bool { return other.merged && other.Name == e.Name }
	if i := slices.IndexFunc(n.Entries, isMerged); i >= 0 {
		n.Entries[i] = e
		return
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

// plainKind returns the type that the libraries, which read YAML 1.1, give to an unquoted word: "yes" is a boolean and
// "010" is eight. The text is the boolean or number in canonical form.
func plainKind(word string) (NodeKind, string) {
	if word != "" && !strings.ContainsRune("yYnNtTfFoO~+-.0123456789", rune(word[0])) || strings.Contains(word, "\n") {
		return TextNode, word // a word with another type starts with one of these characters
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
		if strings.Contains(text, "n") { // NaN and Inf
			text = strings.Replace(strings.TrimPrefix(text, "+"), "inf", ".inf", 1)
			text = strings.Replace(text, "nan", ".nan", 1)
		}
		return FloatNode, text
	}
	return TextNode, word
}

// convertedText returns the string to which sigs.k8s.io/yaml converts a boolean or number.
func convertedText(n *Node) string {
	var made struct {
		V string `json:"v"`
	}
	_ = sigsyaml.Unmarshal([]byte("v: "+n.written), &made) // a boolean or number can be a string
	return made.V
}

// reportRest reports text after the first document, which the libraries ignore silently.
func (d *Document) reportRest(text []byte) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var document yaml.Node
	if decoder.Decode(&document) != nil {
		return
	}
	err := decoder.Decode(&document)
	if errors.Is(err, io.EOF) {
		return
	}
	line := document.Line
	if p := jsonError(text); err != nil && p != nil {
		line = p.Line
	}
	d.ReportAt(Position{Line: line, Column: 1}, diagnostic.Typo,
		"the document ends before this line, and the cloud-controller-manager ignores the rest: "+
			"look for an extra bracket or a line ---")
}
