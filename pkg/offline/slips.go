package offline

import (
	"regexp"
	"slices"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc"
)

// withoutBar matches a key whose value is INI without the vertical bar in front of it.
var withoutBar = regexp.MustCompile(
	`(?m)^([ ]*)([A-Za-z0-9._-]+):[ ]*\r?\n[ ]*\[[ ]*[A-Za-z][A-Za-z0-9 "._-]*\][ ]*\r?$`)

// slip returns the place and the cause of a document that is not YAML for a reason that the library does not name, nil
// for any other reason.
func (d yamlDocument) slip() error {
	if at := confdoc.Unprintable(d.data, true); at >= 0 {
		r, _ := utf8.DecodeRune(d.data[at:])
		return d.failf(confdoc.PositionAt(d.data, at),
			"invalid YAML: invalid character %U: remove it, or save the file as UTF-8", r)
	}
	if found := withoutBar.FindSubmatchIndex(d.data); found != nil {
		key := string(d.data[found[4]:found[5]])
		return d.failf(confdoc.PositionAt(d.data, found[4]),
			"%s has no vertical bar, so its text is read as YAML: write %q and indent the text below it", key, key+": |")
	}
	var document yaml.Node
	if yaml.Unmarshal(d.data, &document) != nil || len(document.Content) == 0 {
		return nil //nolint:nilerr // YAMLDefect explains the library's error.
	}
	if found := d.duplicate(document.Content[0]); found != nil {
		return found
	}
	return d.misfit(document.Content[0])
}

// duplicate returns the place of the first key that a mapping has twice.
func (d yamlDocument) duplicate(n *yaml.Node) error {
	first := map[string]*yaml.Node{}
	for i, child := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			if before := first[child.Value]; before != nil && child.Kind == yaml.ScalarNode {
				return d.failf(positionOf(child), "duplicate key %s (see line %d): keep one", confdoc.Quoted(child.Value),
					d.line-1+before.Line)
			}
			first[child.Value] = child
			continue
		}
		if found := d.duplicate(child); found != nil {
			return found
		}
	}
	return nil
}

// misfit returns the place of the first node that YAML's grammar permits and that has no value.
func (d yamlDocument) misfit(n *yaml.Node, above ...*yaml.Node) error {
	above = append(above, n)
	for i, child := range n.Content {
		reason := misfitOfValue(child, above)
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			reason = misfitOfKey(child, n.Content[i+1])
		}
		if reason != "" {
			return d.failf(positionOf(child), "invalid YAML: %s", reason)
		}
		if found := d.misfit(child, above...); found != nil {
			return found
		}
	}
	return nil
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
