package confdoc

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

// A key with several values is ambiguous: a duplicate name, two spellings of a name, or a name next to a merge key that
// also sets it. Libraries differ in the value that they use, so a change with an ambiguous key is rejected. If an
// ambiguous text is accepted, the value is the one that the provider's own library uses.

// onePerName reports ambiguous names of a mapping and keeps one entry for each. It removes known names whose value is
// null, which means "not set".
func (d *Document) onePerName(mapping Field, path string, n *Node) {
	type id struct{ name, sub string }
	var kept []*Entry
	same := map[id][]*Entry{}
	idOf := func(e *Entry) (id, Field, bool) {
		field, known := d.member(mapping, e)
		return id{cmp.Or(field.Name, e.Name), e.Sub}, field, known
	}
	for _, e := range n.Entries {
		this, field, known := idOf(e)
		if before := same[this]; len(before) > 0 && (d.Format != INI || known && field.Is != List) {
			where := ""
			if path != "" {
				where = " in " + d.owner(path)
			}
			d.ReportPair(e.Position, before[0].Line, diagnostic.Ambiguous,
				fmt.Sprintf("duplicate key %s%s: keep one", Quoted(this.name), where))
			same[this] = append(before, e)
			continue
		}
		same[this] = []*Entry{e}
		kept = append(kept, e)
	}
	for _, e := range kept {
		if this, field, _ := idOf(e); len(same[this]) > 1 {
			e.Value = d.lastValue(mapping, field, d.inside(path, this.name), n.copy(same[this]))
		}
	}
	n.Entries = slices.DeleteFunc(kept, func(e *Entry) bool {
		_, known := d.find(mapping.Fields, e)
		return known && e.Value.Kind == NullNode
	})
}

func (d *Document) member(mapping Field, e *Entry) (Field, bool) {
	if mapping.Is == Map {
		return *mapping.Of, true
	}
	field, known := d.find(mapping.Fields, e)
	if !known {
		return Field{Is: Any}, false
	}
	return field, true
}

func (n *Node) copy(entries []*Entry) *Node {
	return &Node{Kind: MapNode, Position: n.Position, Entries: entries, ordered: n.ordered}
}

// lastValue returns what the library makes of several values of one name: it sets them one after the other, and merges
// mappings with known names.
func (d *Document) lastValue(mapping, field Field, path string, values *Node) *Node {
	entries := d.inOrder(values)
	last := entries[0].Value
	for _, e := range entries[1:] {
		before, after := last, e.Value
		isMapping := before.Kind == MapNode && after.Kind == MapNode && field.Is != Any
		switch {
		case mapping.Is != Map && after.Kind == NullNode && !d.setsNull(field): // keeps the value
		case mapping.Is != Map && isMapping:
			last = after.copy(slices.Concat(d.inOrder(before), d.inOrder(after)))
			last.ordered = true
		default:
			d.checkReplaced(field, path, before)
			last = after
		}
	}
	return last
}

// setsNull reports whether null unsets a field. encoding/json keeps most values.
func (d *Document) setsNull(field Field) bool {
	return d.Format == YAML || field.Pointer || field.Is == List || field.Is == Map
}

// inOrder returns the entries of a mapping in the order in which the library reads them. If JSON is converted from
// YAML, its keys are sorted, and only the last value of each key remains.
func (d *Document) inOrder(n *Node) []*Entry {
	if d.Format != YAMLAsJSON || n.ordered {
		return n.Entries
	}
	sorted := slices.Clone(n.Entries)
	slices.Reverse(sorted)
	slices.SortStableFunc(sorted, func(a, b *Entry) int { return cmp.Compare(a.Name, b.Name) })
	return slices.CompactFunc(sorted, func(a, b *Entry) bool { return a.Name == b.Name })
}

// checkReplaced reports a replaced value that the provider's library cannot set: it fails at the first such value.
func (d *Document) checkReplaced(field Field, path string, n *Node) {
	if n.Kind == NullNode || field.Is == Any {
		return
	}
	typed, wanted := d.typed(field, path, n)
	if wanted != "" {
		d.wrongType(field, path, n, wanted)
		return
	}
	for i, item := range typed.Items {
		d.checkReplaced(*field.Of, fmt.Sprintf("%s[%d]", path, i), item)
	}
	for _, e := range typed.Entries {
		inner, _ := d.member(field, e)
		d.checkReplaced(inner, d.inside(path, Cut(e.Name)), e.Value)
	}
}
