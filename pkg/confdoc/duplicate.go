package confdoc

import (
	"fmt"
	"slices"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

// A key with several values is ambiguous: the same name twice, two spellings of one name, or a name next to a merge key
// that also sets it. Readers differ in which value they use, so a change with an ambiguous key is rejected. Where an
// ambiguous text is accepted, the value is the one that the provider's own library would use.

// onePerName reports ambiguous names and keeps one entry for each name. A null value of a known name means that the
// name is not set.
func (d *Document) onePerName(path string, entries []*Entry, fields []Field) []*Entry {
	type id struct{ name, sub string }
	var kept []*Entry
	used := map[id]*Entry{}
	for _, e := range entries {
		field, known := d.find(fields, e)
		this := id{e.Name, e.Sub}
		if known {
			this.name = field.Name
		}
		before := used[this]
		if before == nil || d.Format == INI && (field.Is == List || !known) {
			used[this] = e
			kept = append(kept, e)
			continue
		}
		where := ""
		if path != "" {
			where = " in " + d.owner(path)
		}
		d.ReportPair(e.Position, before.Line, diagnostic.Ambiguous,
			fmt.Sprintf("duplicate key %s%s: keep one", Quoted(this.name), where))
		d.merge(field, d.inside(path, this.name), before, e)
	}
	return slices.DeleteFunc(kept, func(e *Entry) bool {
		_, known := d.find(fields, e)
		return known && e.Value.Kind == NullNode
	})
}

// merge gives an entry the value that the provider's library uses if a second entry of the same name follows. A library
// sets one value after the other, and mappings into each other.
func (d *Document) merge(field Field, path string, kept, next *Entry) {
	before, after := kept.Value, next.Value
	if d.Format == YAMLAsJSON { // JSON has the keys in order, and only the last value of each
		if kept.Name == next.Name {
			kept.Value = after
			return
		}
		if kept.Name > next.Name {
			before, after = after, before
		}
		kept.Name = max(kept.Name, next.Name)
	}
	isMapping := before.Kind == MapNode && after.Kind == MapNode && (field.Is == Map || field.Is == Object)
	switch {
	case after.Kind == NullNode && !d.setsNull(field):
		kept.Value = before
	case isMapping:
		kept.Value = &Node{Kind: MapNode, Position: after.Position, Entries: slices.Concat(before.Entries, after.Entries)}
	default:
		d.checkReplaced(field, path, before)
		kept.Value = after
	}
}

// setsNull reports whether null replaces a value that the field already has. encoding/json keeps most values.
func (d *Document) setsNull(field Field) bool {
	return d.Format == YAML || field.Pointer || field.Is == List || field.Is == Map
}

// checkReplaced reports a value that a later one replaces, if the provider's library cannot set it: it fails at the
// first that it cannot.
func (d *Document) checkReplaced(field Field, path string, n *Node) {
	if n.Kind == NullNode {
		return
	}
	typed, wanted := d.typed(field, path, n)
	switch {
	case wanted != "":
		d.wrongType(field, path, n, wanted)
	case field.Is == List:
		for i, item := range typed.Items {
			d.checkReplaced(*field.Of, fmt.Sprintf("%s[%d]", path, i), item)
		}
	}
}
