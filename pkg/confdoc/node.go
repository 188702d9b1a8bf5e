package confdoc

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/gcfg"
)

// NodeKind is the type of a value.
type NodeKind int

// The types of values.
const (
	NullNode NodeKind = iota
	TextNode
	BoolNode
	IntNode
	FloatNode
	ListNode
	MapNode
)

// Node is one value of a document in any format. An INI document is a mapping of sections.
type Node struct {
	Kind NodeKind
	// Text is a string without its quotes, or the canonical form of a boolean or number.
	Text string
	// written is a boolean or number as the document has it.
	written string
	Style   yaml.Style
	// Blank means that an INI key has no equals sign.
	Blank   bool
	Items   []*Node
	Entries []*Entry
	ordered bool
	// Position is zero for a value that is not from the document.
	Position
}

// Position is a 1-based line and column in a document. The column counts characters.
type Position = gcfg.Position

// PositionAt returns the position of a byte offset.
func PositionAt(text []byte, offset int) Position { return gcfg.At(text, offset) }

// Entry is a name with its value.
type Entry struct {
	Name string
	// Sub is the quoted second part of an INI section's header.
	Sub   string
	Value *Node
	Position
	// Label is how messages refer to the entry; empty means by its path.
	Label string
	// merged means that the entry is from a YAML merge key.
	merged bool
}

// NewText returns a string node that is not from a document.
func NewText(text string) *Node { return &Node{Kind: TextNode, Text: text} }

// NewBool returns a boolean node.
func NewBool(value bool) *Node { return &Node{Kind: BoolNode, Text: fmt.Sprint(value)} }

// NewInt returns an integer node.
func NewInt(value int) *Node { return &Node{Kind: IntNode, Text: fmt.Sprint(value)} }

// NewMap returns an empty mapping node.
func NewMap() *Node { return &Node{Kind: MapNode} }

// Members returns the entries of a mapping, or nil if n is nil.
func (n *Node) Members() []*Entry { return cmp.Or(n, &Node{}).Entries }

// Entry returns the first entry with the name and without a subsection, or nil.
func (n *Node) Entry(name string) *Entry {
	for _, e := range n.Members() {
		if e.Name == name && e.Sub == "" {
			return e
		}
	}
	return nil
}

// Find returns the value at a path and the position of its key. List items are found by their index or by their key
// name. If there is no such value, it returns the position of the nearest parent.
func (n *Node) Find(path ...string) (value *Node, at Position, found bool) {
	if n == nil {
		return nil, at, false
	}
	value, at = n, n.Position
	for _, name := range path {
		e := value.member(name)
		if e == nil {
			return nil, at, false
		}
		value, at = e.Value, e.Position
	}
	return value, at, true
}

func (n *Node) member(name string) *Entry {
	for i, item := range n.Items {
		if strconv.Itoa(i) == name || item.String("name") == name {
			return &Entry{Value: item, Position: item.Position}
		}
	}
	return n.Entry(name)
}

// Get returns the value at a path, or nil.
func (n *Node) Get(path ...string) *Node {
	value, _, _ := n.Find(path...)
	return value
}

// String returns the text at a path, or an empty string.
func (n *Node) String(path ...string) string { return cmp.Or(n.Get(path...), &Node{}).Text }

// IsEmpty reports whether a value is missing or an empty string.
func (n *Node) IsEmpty() bool { return n == nil || n.Kind == TextNode && n.Text == "" }

// Set replaces the value of an entry, or appends an entry.
func (n *Node) Set(name string, value *Node) {
	if e := n.Entry(name); e != nil {
		e.Value = value
		return
	}
	n.Entries = append(n.Entries, &Entry{Name: name, Value: value})
}

// Section returns the mapping under a name. It appends a missing one.
func (n *Node) Section(name string) *Node {
	if n.Entry(name) == nil {
		n.Set(name, NewMap())
	}
	return n.Get(name)
}

// Drop removes all entries with the name and without a subsection.
func (n *Node) Drop(name string) {
	n.Entries = slices.DeleteFunc(n.Entries, func(e *Entry) bool { return e.Name == name && e.Sub == "" })
}

func isCollection(n *Node) bool { return n.Kind == ListNode || n.Kind == MapNode }

// Texts returns the texts of a list's items, or the text of a scalar.
func (n *Node) Texts() []string {
	if !isCollection(n) {
		return []string{n.Text}
	}
	texts := make([]string, len(n.Items))
	for i, item := range n.Items {
		texts[i] = item.Text
	}
	return texts
}

// NewTexts returns a list of strings.
func NewTexts(texts []string) *Node {
	list := &Node{Kind: ListNode}
	for _, text := range texts {
		list.Items = append(list.Items, NewText(text))
	}
	return list
}
