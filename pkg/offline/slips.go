package offline

import (
	"fmt"
	"regexp"
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
	return d.duplicate(document.Content[0])
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
