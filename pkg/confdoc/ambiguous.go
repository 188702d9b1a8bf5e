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
func (d *Document) onePerName(path string, entries []*Entry, fields []Field, decoded *Node) []*Entry {
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
		d.ReportPair(e.Position, kept[first].Line, diagnostic.Ambiguous,
			fmt.Sprintf("duplicate key %s%s: keep one", Quoted(id[0]), where))
		if d.Format == INI {
			d.checkOverwritten(field, path, cmp.Or(last[first], kept[first]).Value)
		}
		last[first] = e
	}
	for i, e := range last {
		kept[i] = d.winner(e, fields, decoded)
	}
	return slices.DeleteFunc(kept, func(e *Entry) bool {
		_, known := d.find(fields, e)
		return known && e.Value.Kind == NullNode
	})
}

// winner returns the last entry of a name with the value that the provider uses.
func (d *Document) winner(last *Entry, fields []Field, decoded *Node) *Entry {
	winner := *last
	if field, known := d.find(fields, last); known {
		winner.Name = field.Name
	}
	if used := decoded.Get(winner.Name); used != nil {
		used.moveTo(last.Value.Position)
		winner.Value = used
	}
	return &winner
}

// checkOverwritten reports a value of an INI file that a later one replaces, if the provider's library cannot set it:
// it sets each in turn and fails at the first that it cannot.
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
	if err := d.Format.decode(d.text, d.newTyped()); err != nil {
		// The error may quote a secret.
		d.Rejectf(nil, "one value of a duplicate key is of the wrong type: keep the other one")
	}
}

// decoded returns the text as the provider's library decodes it, without unset values and values of the type Any. It is
// nil for an INI file.
func (d *Document) decoded() *Node {
	if d.Format == INI {
		return nil
	}
	typed := d.newTyped()
	// Values of the wrong type are reported elsewhere, with their position. The libraries decode the rest.
	_ = d.Format.decode(d.text, typed)
	text, err := json.Marshal(typed)
	if err != nil {
		return nil
	}
	root, _ := JSON.parse(text)
	return root
}

// newTyped returns a pointer to a new value of the type that is built from the fields.
func (d *Document) newTyped() any {
	field := d.field()
	return reflect.New(field.goType()).Interface()
}

// scalarTypes are the Go types of the values that are neither strings nor collections.
var scalarTypes = map[Type]reflect.Type{
	Bool: reflect.TypeFor[bool](), Int: reflect.TypeFor[int64](), Float: reflect.TypeFor[float64](),
	Any: reflect.TypeFor[any](),
}

// goType returns a Go type that can hold the field, as the provider's own type does.
func (f Field) goType() reflect.Type {
	t := cmp.Or(scalarTypes[f.Is], reflect.TypeFor[string]())
	switch f.Is {
	case List:
		t = reflect.SliceOf(f.Of.goType())
	case Map:
		t = reflect.MapOf(reflect.TypeFor[string](), f.Of.goType())
	case Object:
		var fields []reflect.StructField
		for i, inner := range f.Fields {
			if inner.Is == Any {
				continue
			}
			tag := fmt.Sprintf(`json:"%s,omitzero" yaml:"%s"`, inner.Name, inner.Name)
			fields = append(fields, reflect.StructField{Name: fmt.Sprintf("F%d", i), Type: inner.goType(),
				Tag: reflect.StructTag(tag)})
		}
		t = reflect.StructOf(fields)
	default:
	}
	if f.Pointer {
		return reflect.PointerTo(t)
	}
	return t
}

func (n *Node) moveTo(at Position) {
	n.Position = at
	for _, item := range n.Items {
		item.moveTo(at)
	}
	for _, e := range n.Entries {
		e.Position = at
		e.Value.moveTo(at)
	}
}
