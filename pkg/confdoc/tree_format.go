package confdoc

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// FormatJSON is the rewritten configuration as JSON that every reader of JSON and of YAML takes the same way.
func (d *Tree) FormatJSON() []byte {
	var b bytes.Buffer
	writeJSON(&b, d.Root, "")
	b.WriteByte('\n')
	return b.Bytes()
}

// Only is the document with no other keys than these.
func (d *Tree) Only(names []string) *Tree {
	root := *d.Root
	root.Entries = slices.DeleteFunc(slices.Clone(root.Entries), func(e *Entry) bool {
		return !slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, e.Name) })
	})
	kept := *d
	kept.Root = &root
	return &kept
}

func writeJSON(b *bytes.Buffer, n *Node, indent string) {
	switch {
	case n.Kind == NullNode:
		b.WriteString("null")
	case n.Kind == TextNode:
		b.WriteString(quoteText(n.Text))
	case n.Kind == ListNode && len(n.Items) == 0:
		b.WriteString("[]")
	case n.Kind == MapNode && len(n.Entries) == 0:
		b.WriteString("{}")
	case n.Kind == ListNode:
		b.WriteString("[")
		for i, item := range n.Items {
			b.WriteString(separator(i) + "\n" + indent + "  ")
			writeJSON(b, item, indent+"  ")
		}
		b.WriteString("\n" + indent + "]")
	case n.Kind == MapNode:
		b.WriteString("{")
		for i, e := range n.Entries {
			b.WriteString(separator(i) + "\n" + indent + "  " + quoteText(e.Name) + ": ")
			writeJSON(b, e.Value, indent+"  ")
		}
		b.WriteString("\n" + indent + "}")
	default:
		b.WriteString(n.Text)
	}
}

func separator(i int) string {
	if i == 0 {
		return ""
	}
	return ","
}

// quoteText writes a text as JSON and YAML do, with everything escaped that one of them does not allow as it is.
func quoteText(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r', r == 0x85, r == 0x2028, r == 0x2029, !YAMLPrintable(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// FormatYAML is the rewritten configuration as YAML, of which every reader makes the same. Texts that need no quotes have
// none.
func (d *Tree) FormatYAML() []byte {
	var b bytes.Buffer
	if len(d.Root.Entries) == 0 {
		return []byte("{}\n")
	}
	writeYAML(&b, d.Root, "")
	return b.Bytes()
}

// bareWord is a text that no YAML reader takes for anything but a text, unless it is one of its words.
var bareWord = regexp.MustCompile(`^[A-Za-z/][A-Za-z0-9_./-]*$`)

func writeWord(b *bytes.Buffer, text string) {
	if kind, _ := plainKind(text); kind == TextNode && bareWord.MatchString(text) {
		b.WriteString(text)
		return
	}
	b.WriteString(quoteText(text))
}

// writeYAML writes the lines of a collection that is not empty.
func writeYAML(b *bytes.Buffer, n *Node, indent string) {
	for _, item := range n.Items {
		b.WriteString(indent + "-")
		writeYAMLValue(b, item, indent+"  ")
	}
	for _, e := range n.Entries {
		b.WriteString(indent)
		writeWord(b, e.Name)
		b.WriteString(":")
		writeYAMLValue(b, e.Value, indent+"  ")
	}
}

// writeYAMLValue writes what follows a dash or colon.
func writeYAMLValue(b *bytes.Buffer, n *Node, indent string) {
	switch {
	case n.Kind == TextNode:
		b.WriteByte(' ')
		writeWord(b, n.Text)
	case len(n.Items)+len(n.Entries) > 0:
		b.WriteByte('\n')
		writeYAML(b, n, indent)
		return
	case n.Kind == ListNode:
		b.WriteString(" []")
	case n.Kind == MapNode:
		b.WriteString(" {}")
	case n.Kind == NullNode:
		b.WriteString(" null")
	default:
		b.WriteString(" " + n.Text)
	}
	b.WriteByte('\n')
}
