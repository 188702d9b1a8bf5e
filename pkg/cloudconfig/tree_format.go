package cloudconfig

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// formatJSON is the rewritten configuration as JSON that every reader of JSON and of YAML takes the same way.
func (d *treeDocument) formatJSON() []byte {
	var b bytes.Buffer
	writeJSON(&b, d.root, "")
	b.WriteByte('\n')
	return b.Bytes()
}

// only is the document with no other keys than these.
func (d *treeDocument) only(names []string) *treeDocument {
	root := *d.root
	root.entries = slices.DeleteFunc(slices.Clone(root.entries), func(e *treeEntry) bool {
		return !slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, e.name) })
	})
	kept := *d
	kept.root = &root
	return &kept
}

func writeJSON(b *bytes.Buffer, n *treeNode, indent string) {
	switch {
	case n.kind == nullNode:
		b.WriteString("null")
	case n.kind == textNode:
		b.WriteString(quoteText(n.text))
	case n.kind == listNode && len(n.items) == 0:
		b.WriteString("[]")
	case n.kind == mapNode && len(n.entries) == 0:
		b.WriteString("{}")
	case n.kind == listNode:
		b.WriteString("[")
		for i, item := range n.items {
			b.WriteString(separator(i) + "\n" + indent + "  ")
			writeJSON(b, item, indent+"  ")
		}
		b.WriteString("\n" + indent + "]")
	case n.kind == mapNode:
		b.WriteString("{")
		for i, e := range n.entries {
			b.WriteString(separator(i) + "\n" + indent + "  " + quoteText(e.name) + ": ")
			writeJSON(b, e.value, indent+"  ")
		}
		b.WriteString("\n" + indent + "}")
	default:
		b.WriteString(n.text)
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
		case r == '\r', r == 0x85, r == 0x2028, r == 0x2029, !yamlPrintable(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// formatYAML is the rewritten configuration as YAML, of which every reader makes the same. Texts that need no quotes have
// none.
func (d *treeDocument) formatYAML() []byte {
	var b bytes.Buffer
	if len(d.root.entries) == 0 {
		return []byte("{}\n")
	}
	writeYAML(&b, d.root, "")
	return b.Bytes()
}

// bareWord is a text that no YAML reader takes for anything but a text, unless it is one of its words.
var bareWord = regexp.MustCompile(`^[A-Za-z/][A-Za-z0-9_./-]*$`)

func writeWord(b *bytes.Buffer, text string) {
	if kind, _ := resolvePlain(text); kind == textNode && bareWord.MatchString(text) {
		b.WriteString(text)
		return
	}
	b.WriteString(quoteText(text))
}

// writeYAML writes the lines of a collection that is not empty.
func writeYAML(b *bytes.Buffer, n *treeNode, indent string) {
	for _, item := range n.items {
		b.WriteString(indent + "-")
		writeYAMLValue(b, item, indent+"  ")
	}
	for _, e := range n.entries {
		b.WriteString(indent)
		writeWord(b, e.name)
		b.WriteString(":")
		writeYAMLValue(b, e.value, indent+"  ")
	}
}

// writeYAMLValue writes what follows a dash or colon.
func writeYAMLValue(b *bytes.Buffer, n *treeNode, indent string) {
	switch {
	case n.kind == textNode:
		b.WriteByte(' ')
		writeWord(b, n.text)
	case len(n.items)+len(n.entries) > 0:
		b.WriteByte('\n')
		writeYAML(b, n, indent)
		return
	case n.kind == listNode:
		b.WriteString(" []")
	case n.kind == mapNode:
		b.WriteString(" {}")
	case n.kind == nullNode:
		b.WriteString(" null")
	default:
		b.WriteString(" " + n.text)
	}
	b.WriteByte('\n')
}
