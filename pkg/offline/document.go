package offline

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc"
)

type position = confdoc.Position

// document is a parsed YAML or JSON document, which tells where its values are.
type document struct {
	// root is nil if the document cannot be parsed; the decoder reports the error.
	root  *yaml.Node
	lines []string
}

func positionOf(n *yaml.Node) position { return position{Line: n.Line, Column: n.Column} }

func parseDocument(data []byte) *document {
	var node yaml.Node
	if err := yaml.Unmarshal(data, &node); err != nil || len(node.Content) != 1 {
		return &document{}
	}
	return &document{root: node.Content[0], lines: strings.Split(string(data), "\n")}
}

// find returns the value at the path and the position of its key, or of the item of a list. If there is no such value,
// found is false and the position is that of the nearest value above.
func (d *document) find(path ...string) (value *yaml.Node, at position, found bool) {
	if d.root == nil {
		return nil, position{Line: 1, Column: 1}, false
	}
	value, at = d.root, positionOf(d.root)
	for _, name := range path {
		key, member := memberOf(resolve(value), name)
		if member == nil {
			return nil, at, false
		}
		value, at = member, positionOf(key)
	}
	return resolve(value), at, true
}

func (d *document) place(path ...string) position {
	_, at, _ := d.find(path...)
	return at
}

func (d *document) has(path ...string) bool {
	_, _, found := d.find(path...)
	return found
}

// resolve returns the node behind an alias: it is what the user has to edit.
func resolve(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// memberOf returns a member of a mapping, or the item of a list with that index or name. An item is its own key.
func memberOf(n *yaml.Node, name string) (key, value *yaml.Node) {
	switch n.Kind {
	case yaml.MappingNode:
		for i := len(n.Content) - 2; i >= 0; i -= 2 { // of duplicate keys the decoder takes the last
			if n.Content[i].Value == name {
				return n.Content[i], n.Content[i+1]
			}
		}
	case yaml.SequenceNode:
		for i, item := range n.Content {
			if strconv.Itoa(i) == name || hasName(resolve(item), name) {
				return item, item
			}
		}
	default:
	}
	return nil, nil
}

func hasName(item *yaml.Node, name string) bool {
	if item.Kind != yaml.MappingNode {
		return false
	}
	_, value := memberOf(item, "name")
	return value != nil && resolve(value).Kind == yaml.ScalarNode && resolve(value).Value == name
}

// inBlock returns the position of a line and column of the string at the path. Only a literal block has the lines of
// the string as they are; known is false for any other style.
func (d *document) inBlock(path []string, line, column int) (at position, known bool) {
	value, _, found := d.find(path...)
	if !found || value.Kind != yaml.ScalarNode || value.Style&yaml.LiteralStyle == 0 {
		return position{}, false
	}
	text := strings.Split(strings.TrimSuffix(value.Value, "\n"), "\n")
	if line > len(text) { // the end of the string
		line, column = len(text), utf8.RuneCountInString(text[len(text)-1])+1
	}
	// The block starts in the line after its header. The first line that is not empty shows the indentation.
	i := slices.IndexFunc(text, func(line string) bool { return line != "" })
	if i < 0 {
		return position{}, false
	}
	first, wanted := d.line(value.Line+1+i), d.line(value.Line+line)
	indent, isIndented := strings.CutSuffix(first, text[i])
	isSame := strings.TrimRight(wanted, " ") == strings.TrimRight(indent+text[line-1], " ")
	if !isIndented || strings.Trim(indent, " ") != "" || !isSame {
		return position{}, false // for example an anchor in the line above the header
	}
	return position{Line: value.Line + line, Column: len(indent) + column}, true
}

func (d *document) line(number int) string {
	if number > len(d.lines) {
		return ""
	}
	return strings.TrimSuffix(d.lines[number-1], "\r")
}
