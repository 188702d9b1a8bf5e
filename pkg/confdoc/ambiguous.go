package confdoc

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	yamlv2 "go.yaml.in/yaml/v2"
	"go.yaml.in/yaml/v3"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

// A key that has several values is ambiguous: the same name twice, two spellings of one name, or a name beside a merge key
// that sets it too. Readers differ in which of them they use, so a change is rejected. Where an ambiguous text is accepted,
// the value is what the provider's own library decodes.

// onePerName reports ambiguous names and leaves one entry of each. spelling returns a name as the provider spells it, and
// whether it knows the name: a null value of a known name means that it is not set.
func (d *Tree) onePerName(path string, entries []*Entry, spelling func(string) (string, bool), valueOf func(name string) decoded) []*Entry {
	at := map[string]int{}
	last := map[int]*Entry{} // of each ambiguous name
	var kept []*Entry
	for _, e := range entries {
		name, _ := spelling(e.Name)
		first, again := at[name]
		if !again {
			at[name] = len(kept)
			kept = append(kept, e)
			continue
		}
		message := fmt.Sprintf("duplicate key %s: keep one", Inside(path, Cut(name)))
		d.ReportPair(e, kept[first].Line, diagnostic.Ambiguous, message)
		last[first] = e
	}
	for i, e := range last {
		name, known := spelling(e.Name)
		value := e.Value
		if v := valueOf(name); known || v().IsValid() {
			value = d.nodeOf(v, e.Value)
		}
		kept[i] = &Entry{Name: name, Value: value, Line: e.Line, Column: e.Column}
	}
	return slices.DeleteFunc(kept, func(e *Entry) bool {
		_, known := spelling(e.Name)
		return known && e.Value.Kind == NullNode
	})
}

// decoded is a value that the provider's library has decoded, or one inside of it. It is not decoded before it is needed.
type decoded func() reflect.Value

// root decodes the text with the provider's library into types made of the fields.
func (d *Tree) root() reflect.Value {
	if d.decodedRoot.IsValid() {
		return d.decodedRoot
	}
	document := Field{Is: ObjectTree, Fields: d.Fields}
	if d.List {
		document = Field{Is: ListTree, Of: &Field{Is: ObjectTree, Fields: d.Fields}}
	}
	target := reflect.New(d.typeOf(document))
	decode := map[Format]func([]byte, any) error{
		JSONTree:       json.Unmarshal,
		YAMLTree:       yamlv2.Unmarshal,
		YAMLAsJSONTree: func(text []byte, into any) error { return sigsyaml.Unmarshal(text, into) },
	}[d.Format]
	// A value of the wrong type is reported with its place elsewhere; the libraries decode the rest.
	_ = decode(d.text, target.Interface())
	d.decodedRoot = target.Elem()
	return d.decodedRoot
}

// typeOf returns a Go type into which a provider reads the field.
func (d *Tree) typeOf(f Field) reflect.Type {
	switch f.Is {
	case TextTree:
		return reflect.TypeFor[string]()
	case BoolTree:
		return reflect.TypeFor[bool]()
	case IntTree:
		return reflect.TypeFor[int64]()
	case FloatTree:
		return reflect.TypeFor[float64]()
	case ListTree:
		return reflect.SliceOf(d.typeOf(*f.Of))
	case MapTree:
		return reflect.MapOf(reflect.TypeFor[string](), d.typeOf(*f.Of))
	case ObjectTree:
		var fields []reflect.StructField
		for i, inner := range f.Fields {
			tag := fmt.Sprintf(`json:%q yaml:%q`, inner.Name, inner.Name)
			fields = append(fields, reflect.StructField{Name: fmt.Sprintf("F%d", i), Type: d.typeOf(inner), Tag: reflect.StructTag(tag)})
		}
		return reflect.StructOf(fields)
	case AnyTree:
	}
	return reflect.TypeFor[any]()
}

// member returns the value of a known field.
func (v decoded) member(fields []Field, name string) decoded {
	return func() reflect.Value {
		i := slices.IndexFunc(fields, func(f Field) bool { return f.Name == name })
		if value := v(); i >= 0 && value.Kind() == reflect.Struct {
			return value.Field(i)
		}
		return reflect.Value{}
	}
}

// key returns the value of a name that the user chose.
func (v decoded) key(name string) decoded {
	return func() reflect.Value {
		if value := v(); value.Kind() == reflect.Map {
			return value.MapIndex(reflect.ValueOf(name))
		}
		return reflect.Value{}
	}
}

// item returns an item of a list.
func (v decoded) item(i int) decoded {
	return func() reflect.Value {
		if value := v(); value.Kind() == reflect.Slice && i < value.Len() {
			return value.Index(i)
		}
		return reflect.Value{}
	}
}

// nodeOf makes nodes of a decoded value, at the place of another one. A zero value means that it is not set.
func (d *Tree) nodeOf(v decoded, at *Node) *Node {
	value := concrete(v())
	n := &Node{Line: at.Line, Column: at.Column}
	if !value.IsValid() || value.IsZero() {
		return n
	}
	switch value.Kind() {
	case reflect.Slice:
		n.Kind = ListNode
		for i := range value.Len() {
			n.Items = append(n.Items, d.nodeWithin(value.Index(i), at))
		}
	case reflect.Map:
		n.Kind = MapNode
		for _, key := range value.MapKeys() {
			n.Entries = append(n.Entries, &Entry{Name: fmt.Sprint(key), Value: d.nodeWithin(value.MapIndex(key), at), Line: at.Line, Column: at.Column})
		}
		slices.SortFunc(n.Entries, func(a, b *Entry) int { return strings.Compare(a.Name, b.Name) })
	case reflect.Struct:
		n.Kind = MapNode
		for i := range value.NumField() {
			if member := d.nodeWithin(value.Field(i), at); member.Kind != NullNode {
				n.Entries = append(n.Entries, &Entry{Name: value.Type().Field(i).Tag.Get("json"), Value: member, Line: at.Line, Column: at.Column})
			}
		}
	default:
		n.Kind, n.Text = scalarKind(value.Interface())
		n.written = n.Text
	}
	return n
}

// nodeWithin makes nodes of a value inside of a decoded one.
func (d *Tree) nodeWithin(v reflect.Value, at *Node) *Node {
	return d.nodeOf(func() reflect.Value { return v }, at)
}

// concrete returns what an interface holds, and any other value as it is.
func concrete(v reflect.Value) reflect.Value {
	for v.IsValid() && v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	return v
}

// plainKind returns what a word without quotes is for gopkg.in/yaml.v2 and sigs.k8s.io/yaml, which read YAML 1.1: yes is a
// boolean and 010 is eight. The text is a boolean or number in its usual form.
func plainKind(word string) (NodeKind, string) {
	if word != "" && !strings.ContainsRune("yYnNtTfFoO~+-.0123456789", rune(word[0])) || strings.Contains(word, "\n") {
		return TextNode, word // no other word starts so
	}
	kind, text, err := decodeScalar(word)
	if err != nil {
		return TextNode, word
	}
	return kind, text
}

// decodeScalar decodes a scalar, as it is written, with the library.
func decodeScalar(written string) (NodeKind, string, error) {
	var document struct {
		V any `yaml:"v"`
	}
	if err := yamlv2.Unmarshal([]byte("v: "+written), &document); err != nil {
		return TextNode, written, err
	}
	kind, text := scalarKind(document.V)
	return kind, text, nil
}

// scalar fills a value that is neither a list nor a mapping.
func (b *yamlTreeBuilder) scalar(n *yaml.Node, out *Node) {
	out.Text, out.written = n.Value, n.Value
	isQuoted := n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0
	switch tag := n.ShortTag(); {
	case n.Style&yaml.TaggedStyle == 0 && isQuoted:
		out.Kind = TextNode
	case n.Style&yaml.TaggedStyle == 0:
		out.Kind, out.Text = plainKind(n.Value)
	case tag == "!!str" || tag == "!":
		out.Kind = TextNode
	default:
		b.tagged(n, out, isQuoted)
	}
	if endless := out.Kind == floatNode && strings.ContainsAny(out.Text, "iInN"); endless && b.Format == YAMLAsJSONTree {
		b.ReportAt(out, diagnostic.Invalid, "this is not a number that can be calculated with: write another one")
	}
}

// tagged fills a value with a tag other than that of strings.
func (b *yamlTreeBuilder) tagged(n *yaml.Node, out *Node, isQuoted bool) {
	tag, written := n.ShortTag(), n.Value
	if isQuoted {
		written = quoteText(written)
	}
	var err error
	known := slices.Contains([]string{"!!null", "!!bool", "!!int", "!!float"}, tag)
	if out.Kind, out.Text, err = decodeScalar(tag + " " + written); err != nil || !known {
		b.ReportAt(out, diagnostic.Invalid, "the value does not fit the tag "+Quoted(n.Tag)+" before it: remove the tag or put the value in quotes")
	}
}

// madeText returns the text that sigs.k8s.io/yaml makes of a boolean or number.
func madeText(n *Node) string {
	var made struct {
		V string `json:"v"`
	}
	if err := sigsyaml.Unmarshal([]byte("v: "+n.written), &made); err != nil {
		return n.Text
	}
	return made.V
}

// scalarKind returns what a value is that a library decoded, and its text in its usual form.
func scalarKind(value any) (NodeKind, string) {
	switch v := value.(type) {
	case nil:
		return NullNode, ""
	case bool:
		return BoolNode, strconv.FormatBool(v)
	case int, int64, uint64:
		return IntNode, fmt.Sprint(v)
	case float64:
		switch {
		case math.IsNaN(v):
			return floatNode, ".nan"
		case math.IsInf(v, 0):
			return floatNode, map[bool]string{true: ".inf", false: "-.inf"}[v > 0]
		}
		return floatNode, strconv.FormatFloat(v, 'g', -1, 64)
	}
	return TextNode, fmt.Sprint(value)
}
