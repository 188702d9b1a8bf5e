package confdoc

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

// A key with several values is ambiguous: the same name twice, two spellings of one name, or a name next to a merge key
// that also sets it. Readers differ in which value they use, so a change with an ambiguous key is rejected. Where an
// ambiguous text is accepted, the value is the one that the provider's own library would use.

// onePerName reports ambiguous names of a mapping and keeps one entry for each. A null value of a known name means that
// the name is not set.
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

// lastValue returns what a library makes of the values of one name. It sets one after the other, and mappings with
// known names into each other.
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

// inOrder returns the entries of a mapping in the order in which the library reads them. JSON that is made from YAML
// has its keys sorted, and only the last value of each.
func (d *Document) inOrder(n *Node) []*Entry {
	if d.Format != YAMLAsJSON || n.ordered {
		return n.Entries
	}
	sorted := slices.Clone(n.Entries)
	slices.Reverse(sorted)
	slices.SortStableFunc(sorted, func(a, b *Entry) int { return cmp.Compare(a.Name, b.Name) })
	return slices.CompactFunc(sorted, func(a, b *Entry) bool { return a.Name == b.Name })
}

// checkReplaced reports a value that a later one replaces, if the provider's library cannot set it: it fails at the
// first that it cannot.
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
