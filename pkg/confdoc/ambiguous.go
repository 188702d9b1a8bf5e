package confdoc

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

// A key with several values is ambiguous: the same name twice, two spellings of one name, or a name next to a merge key
// that also sets it. Readers differ in which value they use, so a change with an ambiguous key is rejected. Where an
// ambiguous text is accepted, the value is the one that the provider's own library decodes.

// onePerName reports ambiguous names and keeps one entry for each name. A null value of a known name means that the
// name is not set.
func (d *Document) onePerName(path string, entries []*Entry, fields []Field,
	valueOf func(name string) decoded) []*Entry {
	var kept []*Entry
	at, last := map[[2]string]int{}, map[int]*Entry{}
	for _, e := range entries {
		field, known := d.find(fields, e)
		id := [2]string{e.Name, e.Sub}
		if known {
			id[0] = field.Name
		}
		first, again := at[id]
		if !again || d.Format == INI && (field.Is == List || !known) {
			at[id] = len(kept)
			kept = append(kept, e)
			continue
		}
		where := ""
		if path != "" {
			where = " in " + d.owner(path)
		}
		d.ReportPair(e, kept[first].Line, diagnostic.Ambiguous, fmt.Sprintf("duplicate key %s%s: keep one",
			Quoted(id[0]), where))
		if d.Format == INI {
			d.checkOverwritten(field, path, cmp.Or(last[first], kept[first]).Value)
		}
		last[first] = e
	}
	for i, e := range last {
		kept[i] = d.winner(kept[i], e, fields, valueOf)
	}
	return slices.DeleteFunc(kept, func(e *Entry) bool {
		_, known := d.find(fields, e)
		return known && isNull(e)
	})
}

// winner returns the entry of a name whose first and last entries these are, with the value that the provider uses.
func (d *Document) winner(first, last *Entry, fields []Field, valueOf func(name string) decoded) *Entry {
	field, known := d.find(fields, last)
	winner := &Entry{Name: last.Name, Value: last.Value, Line: last.Line, Column: last.Column}
	if known {
		winner.Name = field.Name
	}
	if d.Format == INI || field.Is == Any || isNull(first) && isNull(last) {
		return winner
	}
	if v := valueOf(winner.Name)(); v.IsValid() {
		winner.Value = nodeOf(v, last.Value)
	}
	return winner
}

// checkOverwritten reports a value of an INI file that a later one replaces, if the provider's library cannot set it: it
// sets each in turn and fails at the first that it cannot.
func (d *Document) checkOverwritten(field Field, path string, n *Node) {
	if _, wanted := typedINI(field, n); wanted != "" {
		d.wrongType(field, d.inside(path, field.Name), n, wanted)
	}
}

// checkDecodable reports a value that a duplicate key replaces, if the provider's library rejects it all the same. The
// values that are left have been checked one by one.
func (d *Document) checkDecodable() {
	if d.Format == INI || !d.Findings.Has(diagnostic.Ambiguous) || d.Findings.Has(diagnostic.Invalid) {
		return
	}
	if err := d.Format.decode(d.text, d.newTyped().Interface()); err != nil {
		// The error may quote a secret.
		d.Report(0, 0, diagnostic.Invalid, "one value of a duplicate key is of the wrong type: keep the other one")
	}
}

func isNull(e *Entry) bool { return e.Value.Kind == NullNode }

// decoded returns a value that the provider's library has decoded. The text is decoded only when a value is needed.
type decoded func() reflect.Value

// decodeTyped decodes the text with the provider's library into types that are built from the fields.
func (d *Document) decodeTyped() reflect.Value {
	target := d.newTyped()
	// Values of the wrong type are reported elsewhere, with their position. The libraries decode the rest.
	_ = d.Format.decode(d.text, target.Interface())
	return target.Elem()
}

// newTyped returns a pointer to a new value of the type that is built from the fields.
func (d *Document) newTyped() reflect.Value {
	field := d.field()
	return reflect.New(field.goType())
}

// goType returns a Go type that can hold the field, as the provider's own type does.
func (f *Field) goType() reflect.Type {
	t := reflect.TypeFor[any]()
	switch f.Is {
	case Bool:
		t = reflect.TypeFor[bool]()
	case Int:
		t = reflect.TypeFor[int64]()
	case Float:
		t = reflect.TypeFor[float64]()
	case List:
		t = reflect.SliceOf(f.Of.goType())
	case Map:
		t = reflect.MapOf(reflect.TypeFor[string](), f.Of.goType())
	case Object:
		var fields []reflect.StructField
		for i, inner := range f.Fields {
			tag := fmt.Sprintf(`json:"%s,omitzero" yaml:"%s"`, inner.Name, inner.Name)
			fields = append(fields, reflect.StructField{Name: fmt.Sprintf("F%d", i), Type: inner.goType(),
				Tag: reflect.StructTag(tag)})
		}
		t = reflect.StructOf(fields)
	case Any:
	default:
		t = reflect.TypeFor[string]()
	}
	if f.Pointer {
		return reflect.PointerTo(t)
	}
	return t
}

// member returns the value of a known field.
func (v decoded) member(fields []Field, name string) decoded {
	return func() reflect.Value {
		i := slices.IndexFunc(fields, func(f Field) bool { return f.Name == name })
		if value := reflect.Indirect(v()); i >= 0 && value.Kind() == reflect.Struct {
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

// nodeOf converts a decoded value to nodes at the position of another node.
func nodeOf(v reflect.Value, at *Node) *Node {
	text, err := json.Marshal(v.Interface())
	if err != nil {
		return at
	}
	n, errs := JSON.parse(text)
	if len(errs) > 0 {
		return at
	}
	n.moveTo(at)
	return n
}

func (n *Node) moveTo(at *Node) {
	n.Line, n.Column = at.Line, at.Column
	for _, item := range n.Items {
		item.moveTo(at)
	}
	for _, e := range n.Entries {
		e.Line, e.Column = at.Line, at.Column
		e.Value.moveTo(at)
	}
}
