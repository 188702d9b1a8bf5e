package offline

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

// places adds files and positions to diagnostics.
type places struct {
	// manifests are the objects that diagnostics may name.
	manifests []Manifest
	// fallback is the object for diagnostics about an object without a file.
	fallback Manifest
}

// locate returns d with its file and position. The line and column of d are positions in the value of its key. If that
// value is not a literal block, the position is the key's, and the message has line and column.
func (p *places) locate(severity diagnostic.Severity, d diagnostic.Diagnostic) diagnostic.Diagnostic {
	m, path, found := p.find(d)
	message := strings.ReplaceAll(strings.TrimSpace(d.Message), "\n", "; ") + p.see(m, path, d)
	if !found {
		object := diagnostic.Diagnostic{Object: d.Object, Key: d.Key, Message: message}
		start := m.place()
		return diagnostic.Diagnostic{
			File: m.File, Line: start.Line, Column: start.Column, Severity: severity,
			Object: d.Object, Key: d.Key, Message: object.String(), Cause: d.Cause, Kind: d.Kind,
		}
	}
	place, exact := p.inBlock(m, path, d.Line, d.Column)
	if !exact {
		place = m.place(path...)
	}
	if message = p.folded(m, path, d, message); strings.HasPrefix(message, foldedMark) {
		exact = true // there is one message for the whole value
	}
	name := "key " + d.Key
	if m.GVK.Group != "" {
		name = d.Key // the API has a field for it
	}
	switch {
	case d.Key == "":
	case d.Line > 0 && !exact:
		message = fmt.Sprintf("line %d:%d of the value of %s: %s", d.Line, d.Column, name, message)
	case m.GVK.Group != "" || !m.has(path...):
		message = fmt.Sprintf("%s: %s", name, message) // no place shows which key is meant
	}
	return diagnostic.Diagnostic{
		File: m.File, Line: place.Line, Column: place.Column, Severity: severity,
		Object: m.String(), Key: d.Key, Message: message, Cause: d.Cause, Kind: d.Kind,
	}
}

// joinedHeader matches the header of a section in front of the line that was below it.
var joinedHeader = regexp.MustCompile(`^\[[^\]\n]*\][ \t]*[^\s#;]`)

// foldedMark starts the message about a folded block.
const foldedMark = "the greater-than sign joins the lines of the text"

// folded returns the message about a place in a folded block: the library's message is about a text that the user did
// not write. It returns any other message as it is.
func (p *places) folded(m Manifest, path []string, d diagnostic.Diagnostic, message string) string {
	value, _, found := m.find(path...)
	if !found || d.Line == 0 || isBase64(m, path) || value.Style != yaml.FoldedStyle ||
		!joinedHeader.MatchString(value.Text) {
		return message
	}
	return fmt.Sprintf("%s: write %q", foldedMark, d.Key+": |")
}

// find returns the object of a diagnostic and the path of its key.
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

// inBlock returns the place in the file of a line and column of the literal block at the path.
func (p *places) inBlock(m Manifest, path []string, line, column int) (position, bool) {
	if line == 0 || m.document == nil || isBase64(m, path) {
		return position{}, false
	}
	return m.document.inBlock(m.inDocument(path), line, column)
}

// see returns the reference to the other line of a diagnostic, if possible as a line of the file.
func (p *places) see(m Manifest, path []string, d diagnostic.Diagnostic) string {
	if d.SeeLine == 0 {
		return ""
	}
	if at, known := p.inBlock(m, path, d.SeeLine, 1); known {
		return fmt.Sprintf(" (see line %d)", at.Line)
	}
	return fmt.Sprintf(" (see line %d of the value)", d.SeeLine)
}

// isBase64 reports whether the value at the path is in base64.
func isBase64(m Manifest, path []string) bool {
	return m.GVK.Group == "" && len(path) > 0 && (path[0] == "binaryData" || m.GVK.Kind == "Secret" && path[0] == "data")
}
