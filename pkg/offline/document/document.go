// Package document finds where the values of a YAML or JSON document stand in it.
//
// A cloud configuration is a text inside a ConfigMap, and a remark on it has a line and a column of that text. Whoever edits
// the file wants those of the file. For every way in which YAML and JSON write a string this package knows where each of its
// characters comes from: literal and folded blocks, plain, single and double quoted scalars, and the strings of JSON, whatever
// ends their lines. Where its own reading of a string differs from the library's, it has the place of the key only.
package document

import (
	"encoding/json"
	"strconv"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Place is a line and a column, both 1-based. Columns count characters.
type Place struct {
	Line, Column int
}

// Document is one parsed document.
type Document struct {
	root value
}

// value is a place in a document and what stands there.
type value struct {
	// place is that of the key, or of the element itself in a list or at the top.
	place Place
	// members are the values of a mapping by key, and of a list by index; nil for anything else. An
	// item of a list is found by its member name too.
	members map[string]value
	// text reads a string; nil for anything else.
	text func() (Text, bool)
}

// Parse reads one document. One that cannot be read has only a start: to complain is for those who want its content.
func Parse(data []byte) *Document {
	if json.Valid(data) {
		return &Document{root: parseJSON(data)}
	}
	d := &Document{root: value{place: Place{1, 1}}}
	var node yaml.Node
	if err := yaml.Unmarshal(data, &node); err != nil || len(node.Content) != 1 {
		return d
	}
	root := node.Content[0]
	d.root = valueOf(runes(data), root, Place{root.Line, root.Column}, 0)
	return d
}

// Place is that of the last key of the path, or of the nearest one before it that exists.
func (d *Document) Place(path ...string) Place {
	found, _ := d.find(path)
	return found.place
}

// Has tells whether there is a value at the path.
func (d *Document) Has(path ...string) bool {
	_, all := d.find(path)
	return all
}

// Text is the string at the path, and whether there is one whose characters have known places.
func (d *Document) Text(path ...string) (Text, bool) {
	found, all := d.find(path)
	if !all || found.text == nil {
		return Text{}, false
	}
	return found.text()
}

func (d *Document) find(path []string) (found value, all bool) {
	found = d.root
	for _, key := range path {
		member, exists := found.members[key]
		if !exists {
			return found, false
		}
		found = member
	}
	return found, true
}

// valueOf describes a node of the YAML library whose key stands at place, in a mapping that is indented by indent.
func valueOf(source []rune, node *yaml.Node, place Place, indent int) value {
	v := value{place: place}
	if node.Kind == yaml.AliasNode {
		// What is edited is the text behind the anchor.
		node = node.Alias
	}
	switch node.Kind {
	case yaml.MappingNode:
		v.members = map[string]value{}
		for i := 0; i+1 < len(node.Content); i += 2 {
			key := node.Content[i]
			v.members[key.Value] = valueOf(source, node.Content[i+1], Place{key.Line, key.Column}, node.Column-1)
		}
	case yaml.SequenceNode:
		v.members = map[string]value{}
		for i, item := range node.Content {
			v.addItem(i, valueOf(source, item, Place{item.Line, item.Column}, node.Column-1))
		}
	case yaml.ScalarNode:
		v.text = func() (Text, bool) { return readScalar(source, node, indent) }
	default:
	}
	return v
}

// addItem adds the item of a list.
func (v *value) addItem(i int, item value) {
	v.members[strconv.Itoa(i)] = item
	if name := item.members["name"]; name.text != nil {
		if text, known := name.text(); known {
			v.members[string(text.characters)] = item
		}
	}
}

// Text is a string with the place of each of its characters in the document.
type Text struct {
	characters []rune
	places     []Place
	// size is how many bytes the characters have.
	size int
}

// add appends a character that stands at place.
func (t *Text) add(place Place, character rune) {
	t.characters = append(t.characters, character)
	t.places = append(t.places, place)
	t.size += utf8.RuneLen(character)
}

func (t *Text) append(more Text) {
	t.characters = append(t.characters, more.characters...)
	t.places = append(t.places, more.places...)
	t.size += more.size
}

// Place is where the character at a line and column of the string stands in the document. What is past the end of a line or
// of the string has the place of that end.
func (t *Text) Place(line, column int) Place {
	i := 0
	for ; line > 1 && i < len(t.characters); i++ {
		if t.characters[i] == '\n' {
			line--
		}
	}
	for ; line == 1 && column > 1 && i < len(t.characters) && t.characters[i] != '\n'; i++ {
		column--
	}
	switch {
	case i < len(t.places):
		return t.places[i]
	case len(t.places) == 0:
		return Place{}
	}
	last := t.places[len(t.places)-1]
	return Place{last.Line, last.Column + 1}
}
