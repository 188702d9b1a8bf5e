package confdoc

import (
	"bytes"
	"cmp"
	"encoding/json"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/gcfg"
)

// EncodeJSON returns the value as JSON.
func EncodeJSON(n *Node) []byte {
	var out bytes.Buffer
	_ = json.Indent(&out, []byte(compactJSON(n)), "", "  ") // compactJSON returns valid JSON, so Indent cannot fail
	out.WriteByte('\n')
	return out.Bytes()
}

func compactJSON(n *Node) string {
	switch n.Kind {
	case NullNode:
		return "null"
	case TextNode:
		return quote(n.Text)
	case ListNode:
		items := make([]string, len(n.Items))
		for i, item := range n.Items {
			items[i] = compactJSON(item)
		}
		return "[" + strings.Join(items, ",") + "]"
	case MapNode:
		members := make([]string, len(n.Entries))
		for i, e := range n.Entries {
			members[i] = quote(e.Name) + ":" + compactJSON(e.Value)
		}
		return "{" + strings.Join(members, ",") + "}"
	default:
		return n.Text
	}
}

// quote encodes a string as JSON without escaping <, > and &.
func quote(text string) string {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(text) // encoding a string cannot fail
	return strings.TrimSpace(b.String())
}

// EncodeYAML encodes the value as YAML that readers of YAML 1.1 and of YAML 1.2 interpret in the same way.
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

func encodeINI(root *Node) []byte {
	sections := make([]gcfg.Section, len(root.Entries))
	for i, e := range root.Entries {
		sections[i] = gcfg.Section{Name: e.Name, Subsection: e.Sub}
		for _, key := range e.Value.Entries {
			value := cmp.Or(key.Value.written, key.Value.Text)
			sections[i].Entries = append(sections[i].Entries, gcfg.Entry{Name: key.Name, Value: value, Blank: key.Value.Blank})
		}
	}
	return gcfg.Format(sections)
}

// Encode returns the document in its own format, or as JSON if the format is YAMLAsJSON.
func (d *Document) Encode() []byte {
	switch d.Format {
	case INI:
		return encodeINI(d.Root)
	case YAML, YAML3:
		return EncodeYAML(d.Root)
	default:
		return EncodeJSON(d.Root)
	}
}
