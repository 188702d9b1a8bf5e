package offline

import (
	"fmt"
	"regexp"
	"slices"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc"
)

// withoutBar matches a key whose value is INI without the vertical bar in front of it.
var withoutBar = regexp.MustCompile(
	`(?m)^([ ]*)([A-Za-z0-9._-]+):[ ]*\r?\n[ ]*\[[ ]*[A-Za-z][A-Za-z0-9 "._-]*\][ ]*\r?$`)

// slip returns the place and the cause of a document that is not YAML for a reason that the library does not name. It
// is empty for any other reason.
func (d yamlDocument) slip() string {
	if at := unreadable(d.data); at >= 0 {
		place := confdoc.PositionAt(d.data, at)
		r, _ := utf8.DecodeRune(d.data[at:])
		return fmt.Sprintf("%d:%d: invalid YAML: invalid character %U: remove it, or save the file as UTF-8",
			d.line-1+place.Line, place.Column, r)
	}
	if found := withoutBar.FindSubmatchIndex(d.data); found != nil {
		key := string(d.data[found[4]:found[5]])
		place := confdoc.PositionAt(d.data, found[4])
		return fmt.Sprintf("%d:%d: %s has no vertical bar, so its text is read as YAML: write %q and indent the text "+
			"below it", d.line-1+place.Line, place.Column, key, key+": |")
	}
	var document yaml.Node
	if yaml.Unmarshal(d.data, &document) != nil || len(document.Content) == 0 {
		return ""
	}
	if found := d.duplicate(document.Content[0]); found != "" {
		return found
	}
	return d.misfit(document.Content[0])
}

// unreadable returns the offset of the first byte that YAML does not allow, -1 if there is none.
func unreadable(text []byte) int {
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		isMark := i == 0 && r == '\ufeff'
		if r == utf8.RuneError && size == 1 || !confdoc.Printable(r) && !isMark {
			return i
		}
		i += size
	}
	return -1
}

// duplicate returns the place of the first key that a mapping has twice.
func (d yamlDocument) duplicate(n *yaml.Node) string {
	first := map[string]*yaml.Node{}
	for i, child := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			if before := first[child.Value]; before != nil && child.Kind == yaml.ScalarNode {
				return fmt.Sprintf("%d:%d: duplicate key %s (see line %d): keep one", d.line-1+child.Line, child.Column,
					confdoc.Quoted(child.Value), d.line-1+before.Line)
			}
			first[child.Value] = child
			continue
		}
		if found := d.duplicate(child); found != "" {
			return found
		}
	}
	return ""
}

// misfit returns the place of the first node that YAML's grammar permits and that has no value.
func (d yamlDocument) misfit(n *yaml.Node, above ...*yaml.Node) string {
	above = append(above, n)
	for i, child := range n.Content {
		reason := misfitOfValue(child, above)
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			reason = misfitOfKey(child, n.Content[i+1])
		}
		if reason != "" {
			return fmt.Sprintf("%d:%d: invalid YAML: %s", d.line-1+child.Line, child.Column, reason)
		}
		if found := d.misfit(child, above...); found != "" {
			return found
		}
	}
	return ""
}

// misfitOfKey returns why a node cannot be a key, empty if it can.
func misfitOfKey(key, value *yaml.Node) string {
	switch {
	case key.Kind == yaml.MappingNode, key.Kind == yaml.SequenceNode:
		return "a list or a mapping cannot be a key: put it in quotes"
	case key.Tag == "!!merge" && value.Kind == yaml.ScalarNode:
		return "the key << merges a mapping, and this is none: put the key in quotes"
	default:
		return ""
	}
}

// misfitOfValue returns why a node below others has no value, empty if it has one.
func misfitOfValue(value *yaml.Node, above []*yaml.Node) string {
	switch {
	case value.Kind == yaml.AliasNode && slices.Contains(above, value.Alias):
		return "the value of an anchor contains itself: put a value that starts with * in quotes"
	case value.Kind == yaml.ScalarNode && value.Style&yaml.TaggedStyle != 0 && value.Decode(new(any)) != nil:
		return "the value does not have the type that the exclamation marks name: put all of it in quotes"
	default:
		return ""
	}
}
