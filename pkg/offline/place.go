package offline

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

// places adds files and positions to diagnostics.
type places struct {
	manifests []Manifest
	// fallback is the object of diagnostics about objects without a file.
	fallback Manifest
}

// locate returns d with its file and position. d has positions in the value of its key. If that value is not a literal
// block, the result has the key's position, and the message has the line and column.
func (p *places) locate(severity diagnostic.Severity, d diagnostic.Diagnostic) diagnostic.Diagnostic {
	m, path, found := p.find(d)
	object, at := m.String(), m.place(path...)
	message := strings.ReplaceAll(strings.TrimSpace(d.Message), "\n", "; ") + m.see(path, d.SeeLine)
	if found {
		at, message = m.locate(path, d, message)
	} else {
		object, message = d.Object, diagnostic.Diagnostic{Object: d.Object, Key: d.Key, Message: message}.String()
		message += didYouMean(p.manifests, d.Object, d.Key)
	}
	return diagnostic.Diagnostic{
		File: m.File, Line: at.Line, Column: at.Column, Severity: severity,
		Object: object, Key: d.Key, Message: message, Cause: d.Cause, Kind: d.Kind,
	}
}

// joinedHeader matches a section header in front of the line that was below it.
var joinedHeader = regexp.MustCompile(`^\[[^\]\n]*\][ \t]*[^\s#;]`)

// locate returns the position of a diagnostic in the file, and its message with what the position does not show.
func (m Manifest) locate(path []string, d diagnostic.Diagnostic, message string) (position, string) {
	value, key, has := m.find(path...)
	at, exact := m.inBlock(path, d.Line, d.Column)
	at = cmp.Or(at, key)
	isJoined := has && value.Style == yaml.FoldedStyle && joinedHeader.MatchString(value.Text) && !isBase64(m, path)
	name := "key " + d.Key
	if m.GVK.Group != "" {
		name = d.Key // the API has a field for it
	}
	switch {
	case d.Key == "":
	case d.Line > 0 && isJoined: // the library's message is about a text that the user did not write
		message = fmt.Sprintf("the greater-than sign joins the lines of the text: write %q", d.Key+": |")
	case d.Line > 0 && !exact:
		message = fmt.Sprintf("line %d:%d of the value of %s: %s", d.Line, d.Column, name, message)
	case m.GVK.Group != "" || !has:
		message = fmt.Sprintf("%s: %s", name, message) // the position does not show the key
	}
	return at, message
}

func (p *places) find(d diagnostic.Diagnostic) (m Manifest, path []string, found bool) {
	field := ""
	i := slices.IndexFunc(p.manifests, func(m Manifest) bool {
		var rest string
		if rest, found = strings.CutPrefix(d.Object, m.Source()); found {
			field, found = strings.CutPrefix(rest, ", ")
			found = found || rest == ""
		}
		return found || d.Object == m.String()
	})
	if i < 0 {
		path := []string{"spec", "cloudConfig", "name"}
		if name, _, named := p.fallback.find(path...); named && strings.HasPrefix(d.Object, "configmap/"+name.Text+" in ") {
			return p.fallback, path, false
		}
		return p.fallback, nil, false
	}
	m = p.manifests[i]
	if m.GVK.Group != "" {
		return m, fieldPath(field + "." + d.Key), true
	}
	// A Secret's stringData takes precedence over its data.
	for _, field := range []string{"stringData", "data", "binaryData"} {
		if m.has(field, d.Key) {
			return m, []string{field, d.Key}, true
		}
	}
	return m, []string{"data", d.Key}, true
}

// fieldPath returns the path of a field in a message, for example "spec.custom.secrets[acme].delivery". A part in
// brackets may contain dots.
func fieldPath(field string) []string {
	var path []string
	for field != "" {
		separators := ".["
		if field[0] == '[' {
			field, separators = field[1:], "]"
		}
		part, rest := field, ""
		if i := strings.IndexAny(field, separators); i >= 0 {
			part, rest = field[:i], strings.TrimLeft(field[i:], ".]")
		}
		if part != "" {
			path = append(path, part)
		}
		field = rest
	}
	return path
}

func (m Manifest) inBlock(path []string, line, column int) (position, bool) {
	if line == 0 || m.document == nil || isBase64(m, path) {
		return position{}, false
	}
	return m.document.inBlock(slices.Concat(m.item, path), line, column)
}

// see returns the reference to another line of a value, if possible as a line of the file.
func (m Manifest) see(path []string, line int) string {
	if line == 0 {
		return ""
	}
	if at, known := m.inBlock(path, line, 1); known {
		return fmt.Sprintf(" (see line %d)", at.Line)
	}
	return fmt.Sprintf(" (see line %d of the value)", line)
}

func isBase64(m Manifest, path []string) bool {
	return m.GVK.Group == "" && len(path) > 0 && (path[0] == "binaryData" || m.GVK.Kind == "Secret" && path[0] == "data")
}

// find returns the value at a path in the object, and the position in the file of its key or of the nearest parent. An
// object of a cluster has no positions.
func (m Manifest) find(path ...string) (value *confdoc.Node, at position, found bool) {
	if m.document == nil {
		return nil, position{}, false
	}
	value, at, found = m.document.tree().Find(slices.Concat(m.item, path)...)
	return value, m.document.inFile(at), found
}

func (m Manifest) place(path ...string) position {
	_, at, _ := m.find(path...)
	return at
}

func (m Manifest) has(path ...string) bool {
	_, _, found := m.find(path...)
	return found
}

func (m Manifest) failf(path []string, format string, args ...any) error {
	at := m.place(path...)
	return fmt.Errorf("%s:%d:%d: "+format, append([]any{m.File, at.Line, at.Column}, args...)...)
}

// pathAt returns the path of the value at an offset of an object in JSON.
func pathAt(data []byte, offset int64) []string {
	decoder := json.NewDecoder(bytes.NewReader(data))
	var path []string
	var visit func() bool
	visit = func() bool {
		token, err := decoder.Token()
		if err != nil || decoder.InputOffset() >= offset {
			return true
		}
		for i := 0; (token == json.Delim('{') || token == json.Delim('[')) && decoder.More(); i++ {
			name := strconv.Itoa(i)
			if token == json.Delim('{') {
				key, _ := decoder.Token()
				name, _ = key.(string)
			}
			path = append(path, name)
			if visit() {
				return true
			}
			path = path[:len(path)-1]
		}
		if token == json.Delim('{') || token == json.Delim('[') {
			_, err = decoder.Token() // the closing bracket
		}
		return err != nil
	}
	visit()
	return path
}
