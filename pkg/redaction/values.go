package redaction

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/gcfg"
)

type value struct {
	// names are the keys above the value, the outermost first. List items have the names of their list.
	names []string
	// text is the decoded value, empty for a comment.
	text             string
	isKey, isComment bool
	// continues means that the value is an INI entry that looks like the rest of the value under the first name. isBlank
	// means that it is an entry without an equals sign, whose key may also be the rest of a value.
	continues, isBlank bool
	// start and end are the byte offsets of an INI or JSON value with its quotes.
	start, end int
	// quote encloses the replacement of an INI or JSON value.
	quote string
	node  *yaml.Node
}

// hiddenKey is the name of a value without a name, or whose name may be part of a secret.
const hiddenKey = "value"

// name returns the name that replaces the value: that of a secret above it, otherwise its own.
func (v value) name() string {
	if i := slices.IndexFunc(v.names, v.isSecretUnder); i >= 0 && !v.isBlank {
		return v.names[i]
	}
	switch {
	case v.isBlank && !v.continues || len(v.names) == 0:
		return hiddenKey
	case v.continues:
		return cmp.Or(v.names[0], hiddenKey)
	}
	return cmp.Or(v.names[len(v.names)-1], hiddenKey)
}

// filePath is the start of file paths, which some names that end like a secret's have as their value.
const filePath = "/etc/"

// isSecretUnder reports whether one of its names makes the value a secret. A switch and a file path are no secrets.
func (v value) isSecretUnder(name string) bool {
	return IsSecretName(name) && !isSwitch(name, v.text) && !strings.HasPrefix(v.text, filePath)
}

// maxValues limits the values that aliases add to a small file.
const maxValues = 100_000

// valuesOf lists the values of a file in INI, JSON or YAML. A YAML value with aliases is listed for each of them.
// documents are the YAML documents. ok is false if the file has none of the formats.
func valuesOf(data []byte) (values []value, documents []*yaml.Node, ok bool) {
	if json.Valid(data) {
		return jsonValues(data), nil, true
	}
	if spans, isINI := gcfg.Spans(data); isINI {
		return iniValues(data, spans), nil, true
	}
	return yamlValues(data)
}

func iniValues(data []byte, spans []gcfg.Span) []value {
	values := make([]value, 0, len(spans))
	blank := map[string]bool{} // such a key may be the rest of a value too, so it names nothing
	for _, s := range spans {
		if blank[s.Continues] {
			s.Continues = hiddenKey
		}
		blank[s.Key] = blank[s.Key] || s.Blank
		v := value{names: []string{s.Key}, text: s.Value, isComment: s.Comment, start: s.Start, end: s.End}
		raw := data[s.Start:s.End]
		if s.Blank {
			v.text, v.isBlank = string(raw), true
		}
		if s.Continues != "" {
			v.names, v.text, v.continues = []string{s.Continues, s.Key}, string(raw), true
		}
		if len(raw) > 1 && raw[0] == '"' && raw[len(raw)-1] == '"' {
			v.quote = `"`
		}
		values = append(values, v)
	}
	return values
}

func jsonValues(data []byte) []value {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var values []value
	next := func(names []string, isKey bool) json.Token {
		start := int(decoder.InputOffset())
		token, _ := decoder.Token() // the data is valid
		for start < len(data) && strings.IndexByte(" \t\r\n,:", data[start]) >= 0 {
			start++
		}
		if _, isDelimiter := token.(json.Delim); !isDelimiter && token != nil {
			v := value{names: names, isKey: isKey, start: start, end: int(decoder.InputOffset()), quote: `"`}
			if v.text, _ = token.(string); v.text == "" {
				v.text = strings.Trim(string(data[v.start:v.end]), `"`)
			}
			values = append(values, v)
		}
		return token
	}
	var visit func(names []string)
	visit = func(names []string) {
		token := next(names, false)
		if token != json.Delim('{') && token != json.Delim('[') {
			return
		}
		for decoder.More() {
			inner := names
			if token == json.Delim('{') {
				key, _ := next(names, true).(string)
				inner = slices.Concat(names, []string{key})
			}
			visit(inner)
		}
		next(nil, false)
	}
	visit(nil)
	return values
}

// yamlValues lists the values of YAML documents. It also replaces the comments in the documents.
func yamlValues(data []byte) (values []value, documents []*yaml.Node, ok bool) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	visited := 0
	for {
		document := &yaml.Node{}
		err := decoder.Decode(document)
		if errors.Is(err, io.EOF) {
			return values, documents, visited <= maxValues
		}
		if err != nil || len(document.Content) != 1 || document.Content[0].Kind == yaml.ScalarNode {
			return nil, nil, false
		}
		documents = append(documents, document)
		visitYAML(document, nil, false, func(v value) bool {
			visited++
			if v.node.Kind == yaml.ScalarNode {
				values = append(values, v)
			}
			return visited <= maxValues
		})
	}
}

// visitYAML calls add for n and the nodes in it until add returns false.
func visitYAML(n *yaml.Node, names []string, isKey bool, add func(value) bool) {
	for _, comment := range []*string{&n.HeadComment, &n.LineComment, &n.FootComment} {
		if *comment != "" {
			*comment = "# <comment>" + strings.Repeat("\n# <comment>", strings.Count(*comment, "\n"))
		}
	}
	if !add(value{names: names, text: n.Value, isKey: isKey && n.Kind == yaml.ScalarNode, node: n}) {
		return
	}
	if n.Kind == yaml.AliasNode {
		visitYAML(n.Alias, names, isKey, add)
	}
	for i, child := range n.Content {
		switch {
		case n.Kind != yaml.MappingNode:
			visitYAML(child, names, false, add)
		case i%2 == 0:
			visitYAML(child, names, true, add)
		default:
			key := n.Content[i-1]
			if key.Kind == yaml.AliasNode {
				key = key.Alias
			}
			visitYAML(child, slices.Concat(names, []string{key.Value}), false, add)
		}
	}
}
