package confdoc

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

// typed returns a value as the provider reads it, or a description of the expected type.
func (d *Document) typed(field Field, path string, n *Node) (typed *Node, wanted string) {
	switch {
	case field.Is == Any:
		return n, ""
	case field.Is == Map, field.Is == Object:
		return n.typedIf(n.Kind == MapNode, "a mapping of keys to values")
	case d.Format == INI:
		return typedINI(field, n)
	case field.Is == List:
		return n.typedIf(n.Kind == ListNode, "a list")
	}
	return d.typedScalar(field, path, n)
}

func (d *Document) typedScalar(field Field, path string, n *Node) (typed *Node, wanted string) {
	switch {
	case field.Is == Int:
		return d.typedInt(field, n)
	case field.Is == Bool:
		return n.typedIf(n.Kind == BoolNode, "true or false")
	case field.Is == Float:
		return n.typedIf(n.isNumber(), "a number")
	case n.Kind == TextNode:
		return n, ""
	case d.Format == JSON, n.Kind != BoolNode && !n.isNumber():
		return nil, "a string"
	}
	return d.textOf(field, path, n), ""
}

func (d *Document) typedInt(field Field, n *Node) (typed *Node, wanted string) {
	text := n.Text
	if n.Kind == FloatNode && d.Format != JSON {
		text = wholeNumber(text)
	}
	number, ok := whole(field, text)
	return n.as(IntNode, number).typedIf(ok && n.isNumber(), wholeWanted(field))
}

func (n *Node) isNumber() bool { return n.Kind == IntNode || n.Kind == FloatNode }

func (n *Node) as(kind NodeKind, text string) *Node {
	return &Node{Kind: kind, Text: text, written: n.written, Position: n.Position}
}

func (n *Node) typedIf(ok bool, wanted string) (*Node, string) {
	if !ok {
		return nil, wanted
	}
	return n, ""
}

func (d *Document) textOf(field Field, path string, n *Node) *Node {
	as := n.written
	if d.Format == YAMLAsJSON {
		as = convertedText(n)
	}
	if as != n.written {
		read := Quoted(as)
		if field.Secret {
			read = "another string"
		}
		d.Reportf(n, diagnostic.Typo,
			"%s has no quotes, so the cloud-controller-manager reads it as %s: put it in quotes", path, read)
	}
	return n.as(TextNode, as)
}

var iniBools = map[string]string{
	"true": "true", "yes": "true", "on": "true", "1": "true",
	"false": "false", "no": "false", "off": "false", "0": "false",
}

// typedINI returns a value as gopkg.in/gcfg.v1 reads it, or a description of the expected type. Without "=", a boolean
// is true, and a list becomes empty.
func typedINI(field Field, n *Node) (typed *Node, wanted string) {
	n.written = n.Text
	switch {
	case field.Is == Unsettable:
		return nil, "nothing"
	case n.Blank && field.Is == Bool:
		return &Node{Kind: BoolNode, Text: "true", Blank: true, Position: n.Position}, ""
	case n.Blank && field.Is != List:
		return nil, "a value"
	}
	switch field.Is {
	case Bool:
		value, ok := iniBools[strings.ToLower(n.Text)]
		return n.as(BoolNode, value).typedIf(ok, "true or false")
	case Int:
		number, ok := scannedWhole(field, strings.TrimSpace(n.Text))
		return n.as(IntNode, number).typedIf(ok, wholeWanted(field))
	case Word:
		one, ok := scanned[word](n.Text, 'v')
		return n.as(TextNode, one).typedIf(ok, "one word")
	case Duration:
		_, err := time.ParseDuration(n.Text)
		return n.as(TextNode, n.Text).typedIf(err == nil, "a duration with a unit, such as 5s or 1m30s")
	default:
		return n, ""
	}
}

// word is a named string type. gcfg scans into such a type, but assigns a plain string.
type word string

// scanned returns the value to which gcfg sets a target of type T, and whether it can. Like gcfg, it uses fmt.Sscanf
// for numbers and words, so that both accept the same texts.
func scanned[T any](text string, verb rune) (string, bool) {
	var target T
	var rest []byte
	n, err := fmt.Sscanf(text, "%"+string(verb)+"%s", &target, &rest)
	return fmt.Sprint(target), n == 1 && errors.Is(err, io.EOF)
}

func scannedWhole(field Field, text string) (string, bool) {
	verb := 'd'
	if strings.HasPrefix(text, "0x") || strings.HasPrefix(text, "-0x") {
		verb = 'v'
	}
	switch {
	case field.Unsigned:
		return scanned[uint](text, verb)
	case field.Bits == 32:
		return scanned[int32](text, verb)
	}
	return scanned[int](text, verb)
}

func whole(field Field, text string) (string, bool) {
	bits := cmp.Or(field.Bits, 64)
	if field.Unsigned {
		value, err := strconv.ParseUint(text, 10, bits)
		return strconv.FormatUint(value, 10), err == nil
	}
	value, err := strconv.ParseInt(text, 10, bits)
	return strconv.FormatInt(value, 10), err == nil
}

func wholeWanted(field Field) string {
	wanted := "a whole number"
	if field.Unsigned {
		wanted += " that is not negative"
	}
	if field.Bits != 0 {
		wanted += fmt.Sprintf(" of at most %d bits", field.Bits)
	}
	return wanted
}

// wholeNumber returns the canonical form of an integer with a fraction or an exponent, such as 1.0 or 1e3, which YAML
// libraries accept. It returns any other text unchanged.
func wholeNumber(text string) string {
	value, err := strconv.ParseFloat(text, 64)
	if err != nil || value != math.Trunc(value) || math.Abs(value) >= 1<<53 {
		return text
	}
	return strconv.FormatInt(int64(value), 10)
}
