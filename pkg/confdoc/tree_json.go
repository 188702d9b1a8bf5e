package confdoc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

// ByteOrderMark may begin a text in UTF-8.
const ByteOrderMark = "\ufeff"

// parseJSON reads JSON; nil means that the text cannot be read and that this is reported.
func (d *Tree) parseJSON(text []byte) *Node {
	if d.reportJSONError(text) {
		return nil
	}
	b := &jsonTreeBuilder{Tree: d, text: text, decoder: json.NewDecoder(bytes.NewReader(text)), line: 1, column: 1}
	b.decoder.UseNumber()
	root := b.node(1)
	if b.failed {
		return nil
	}
	if offset, what := unprintable(text); offset >= 0 && !utf8.Valid(text) {
		line, column := Position(text, offset)
		d.Report(line, column, diagnostic.Typo, what) // encoding/json puts U+FFFD in its place
	}
	return root
}

// reportJSONError reports the first place where a text stops being JSON, and tells whether there is one.
func (d *Tree) reportJSONError(text []byte) bool {
	if bytes.HasPrefix(text, []byte(ByteOrderMark)) {
		if d.Format == JSONTree {
			d.Report(1, 1, diagnostic.Invalid, "there is a byte order mark at the start, which JSON does not allow: save the text as UTF-8 without it")
			return true
		}
		text = text[len(ByteOrderMark):]
	}
	var syntax *json.SyntaxError
	if err := json.Unmarshal(text, new(json.RawMessage)); !errors.As(err, &syntax) {
		return false
	}
	at := min(max(0, int(syntax.Offset)-1), len(text))
	if atEnd := strings.Contains(syntax.Error(), "unexpected end"); atEnd {
		at = len(text)
	}
	line, column := Position(text, at)
	start := "{"
	if d.List {
		start = "["
	}
	if !bytes.HasPrefix(bytes.TrimSpace(text), []byte(start)) {
		d.Report(line, column, diagnostic.Invalid, d.wrongFormat(text))
		return true
	}
	d.Report(line, column, diagnostic.Invalid, "this is not JSON: "+jsonProblem(text, at, syntax.Error()))
	return true
}

// jsonProblem says why a text is not JSON at an offset, without showing anything of it.
func jsonProblem(text []byte, at int, problem string) string {
	if at >= len(text) {
		return "it ends in the middle: a quote or a bracket is not closed"
	}
	before := bytes.TrimRight(text[:at], " \t\r\n")
	for _, p := range jsonProblems {
		if strings.Contains(problem, p.part) && (p.at == "" || strings.IndexByte(p.at, text[at]) >= 0) && bytes.HasSuffix(before, []byte(p.after)) {
			return p.message
		}
	}
	if c := text[at]; c == '\t' || c >= ' ' && c < 0x7f {
		return "names and texts stand in double quotes, and the only bare words are true, false and null"
	}
	return "there is a character here that has no place outside of a text: remove it"
}

// jsonProblems are what a part of the message of encoding/json, the character that it is about and what stands before that
// mean together. The first one that fits counts.
var jsonProblems = []struct{ part, at, after, message string }{
	{part: "max depth", message: "there are too many mappings and lists in each other here"},
	{part: "after top-level value", message: "there is more text after the end of the document: remove it"},
	{part: "in string literal", message: "a text may not have a line break, a tab or another control character in it: a quote may be missing, or write \\n"},
	{part: "in string escape code", message: `there is no such escape: write \\ for one backslash`},
	{part: `in \u`, message: `there is no such escape: write \\ for one backslash`},
	{at: "/#", message: "it has no comments: remove this one"},
	{at: "'", message: `names and texts stand in double quotes ("), not in single ones`},
	{at: "}]", after: ",", message: "the comma before this bracket is one too many: remove it"},
	{part: "after object key:value pair", message: "a comma is missing before this"},
	{part: "after array element", message: "a comma is missing before this"},
	{part: "after object key", message: "a colon is missing before this"},
}

// jsonTreeBuilder makes nodes out of a text that is JSON.
type jsonTreeBuilder struct {
	*Tree
	text    []byte
	decoder *json.Decoder
	failed  bool
	// line and column are the place of the offset seen.
	seen, line, column int
}

// next returns the next token and its place.
func (b *jsonTreeBuilder) next() (token json.Token, line, column int) {
	start := int(b.decoder.InputOffset())
	for start < len(b.text) && strings.IndexByte(" \t\r\n:,", b.text[start]) >= 0 {
		start++
	}
	passed := b.text[b.seen:start]
	if breaks := bytes.Count(passed, []byte("\n")); breaks > 0 {
		b.line += breaks
		b.column = 1
		passed = passed[bytes.LastIndexByte(passed, '\n')+1:]
	}
	b.column += utf8.RuneCount(passed)
	b.seen = start
	token, err := b.decoder.Token()
	if err != nil {
		b.failed = true
	}
	return token, b.line, b.column
}

func (b *jsonTreeBuilder) node(depth int) *Node {
	token, line, column := b.next()
	out := &Node{Line: line, Column: column}
	if b.failed {
		return out
	}
	if depth > deepest {
		b.failed = true
		b.ReportAt(out, diagnostic.Invalid, fmt.Sprintf("there are more than %d mappings and lists in each other here: remove some of them", deepest))
		return out
	}
	switch t := token.(type) {
	case json.Delim:
		b.collection(t, out, depth)
	case string:
		out.Kind, out.Text = TextNode, t
	case bool:
		out.Kind, out.Text = BoolNode, strconv.FormatBool(t)
	case json.Number:
		out.Kind, out.Text = floatNode, t.String()
		if !strings.ContainsAny(out.Text, ".eE") {
			out.Kind = IntNode
		}
	}
	out.written = out.Text
	return out
}

func (b *jsonTreeBuilder) collection(start json.Delim, out *Node, depth int) {
	out.Kind = ListNode
	if start == '{' {
		out.Kind = MapNode
	}
	for b.decoder.More() && !b.failed {
		if out.Kind == ListNode {
			out.Items = append(out.Items, b.node(depth+1))
			continue
		}
		name, line, column := b.next()
		text, _ := name.(string)
		if len(text) > longestName {
			b.failed = true
			b.Report(line, column, diagnostic.Invalid, fmt.Sprintf("this key is longer than %d characters: a quote may be missing", longestName))
			return
		}
		out.Entries = append(out.Entries, &Entry{Name: text, Line: line, Column: column, Value: b.node(depth + 1)})
	}
	if !b.failed {
		b.next() // the closing bracket
	}
}
