package confdoc

import "fmt"

// NodeKind is what a value is.
type NodeKind int

// The kinds of a value.
const (
	NullNode NodeKind = iota
	TextNode
	BoolNode
	IntNode
	floatNode
	ListNode
	MapNode
)

// Node is one value.
type Node struct {
	Kind NodeKind
	// Text is a text without its quotes, or a boolean or number in its usual form.
	Text string
	// written is how a boolean or number stands in the file.
	written string
	Items   []*Node
	Entries []*Entry
	// Line and column are 1-based and count characters; both are 0 for what does not come from the file.
	Line, Column int
}

// Entry is a name with its value.
type Entry struct {
	Name         string
	Value        *Node
	Line, Column int
	// merged tells that a merge key of YAML brought it in.
	merged bool
}

// NewText returns a string that does not come from the file.
func NewText(text string) *Node { return &Node{Kind: TextNode, Text: text} }

// NewBool returns a boolean that does not come from the file.
func NewBool(value bool) *Node {
	return &Node{Kind: BoolNode, Text: fmt.Sprint(value)}
}

// NewInt returns a number that does not come from the file.
func NewInt(value int) *Node { return &Node{Kind: IntNode, Text: fmt.Sprint(value)} }

// NewList returns a list that does not come from the file.
func NewList(items ...*Node) *Node { return &Node{Kind: ListNode, Items: items} }

// NewMap returns an empty mapping that does not come from the file.
func NewMap() *Node { return &Node{Kind: MapNode} }
