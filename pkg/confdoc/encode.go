package confdoc

import (
	"bytes"
	"encoding/json"
	"regexp"

	"go.yaml.in/yaml/v3"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc/gcfg"
)

// EncodeJSON returns the value as JSON.
func EncodeJSON(n *Node) []byte {
	var compact, out bytes.Buffer
	writeJSON(&compact, n)
	// writeJSON writes valid JSON, so Indent cannot fail.
	_ = json.Indent(&out, compact.Bytes(), "", "  ")
	out.WriteByte('\n')
	return out.Bytes()
}

func writeJSON(b *bytes.Buffer, n *Node) {
	separate := func(i int) {
		if i > 0 {
			b.WriteByte(',')
		}
	}
	switch n.Kind {
	case NullNode:
		b.WriteString("null")
	case TextNode:
		b.Write(quote(n.Text))
	case ListNode:
		b.WriteByte('[')
		for i, item := range n.Items {
			separate(i)
			writeJSON(b, item)
		}
		b.WriteByte(']')
	case MapNode:
		b.WriteByte('{')
		for i, e := range n.Entries {
			separate(i)
			b.Write(append(quote(e.Name), ':'))
			writeJSON(b, e.Value)
		}
		b.WriteByte('}')
	default:
		b.WriteString(n.Text)
	}
}

// quote returns the string as JSON without escaping <, > and &.
func quote(text string) []byte {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(text) // encoding a string cannot fail
	return bytes.TrimSpace(b.Bytes())
}

// EncodeYAML returns the value as YAML that YAML 1.1 and YAML 1.2 readers interpret in the same way.
func EncodeYAML(n *Node) []byte {
	var b bytes.Buffer
	encoder := yaml.NewEncoder(&b)
	encoder.SetIndent(2)
	_ = encoder.Encode(yamlNode(n)) // encoding our own nodes cannot fail
	_ = encoder.Close()
	return b.Bytes()
}

func yamlNode(n *Node) *yaml.Node {
	switch n.Kind {
	case TextNode:
		return yamlText(n.Text)
	case NullNode:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: "null"}
	case ListNode:
		out := &yaml.Node{Kind: yaml.SequenceNode}
		for _, item := range n.Items {
			out.Content = append(out.Content, yamlNode(item))
		}
		return out
	case MapNode:
		out := &yaml.Node{Kind: yaml.MappingNode}
		for _, e := range n.Entries {
			out.Content = append(out.Content, yamlText(e.Name), yamlNode(e.Value))
		}
		return out
	default:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: n.Text}
	}
}

// bareWord matches strings that need no quotes, unless YAML gives them a meaning, as it does to "yes" and "null".
var bareWord = regexp.MustCompile(`^[A-Za-z/][A-Za-z0-9_./-]*$`)

func yamlText(text string) *yaml.Node {
	out := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text, Style: yaml.DoubleQuotedStyle}
	if kind, _ := plainKind(text); kind == TextNode && bareWord.MatchString(text) {
		out.Style = 0
	}
	return out
}

// EncodeINI returns a mapping of sections in the format of gopkg.in/gcfg.v1.
func EncodeINI(root *Node) []byte {
	sections := make([]gcfg.Section, len(root.Entries))
	for i, e := range root.Entries {
		sections[i] = gcfg.Section{Name: e.Name, Subsection: e.Sub}
		for _, key := range e.Value.Entries {
			value := key.Value.Text
			if key.Value.written != "" {
				value = key.Value.written
			}
			sections[i].Entries = append(sections[i].Entries, gcfg.Entry{Name: key.Name, Value: value,
				Blank: key.Value.Blank})
		}
	}
	return gcfg.Format(sections)
}

// Encode returns the document in its own format, or as JSON if the format is YAMLAsJSON.
func (d *Document) Encode() []byte {
	switch d.Format {
	case INI:
		return EncodeINI(d.Root)
	case YAML, YAML3:
		return EncodeYAML(d.Root)
	default:
		return EncodeJSON(d.Root)
	}
}
