package offline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

// places finds problems in the files that were read. Each document is parsed once.
type places struct {
	// manifests are those that problems may name.
	manifests []Manifest
	// otherwise is where a problem is reported whose object no file has.
	otherwise Manifest
	documents map[string]*document
}

// finding returns a problem with its place in the file. The problem's own line and column are positions in the value of
// its key. If that value is not a literal block, the place is that of the key, and the message has line and column.
func (p *places) finding(severity diagnostic.Severity, problem diagnostic.Diagnostic) diagnostic.Diagnostic {
	m, path, found := p.locate(problem)
	message := strings.ReplaceAll(strings.TrimSpace(problem.Message), "\n", "; ") + p.see(m, path, problem)
	if !found {
		object := diagnostic.Diagnostic{Object: problem.Object, Key: problem.Key, Message: message}
		start := m.place(p.document(m), nil)
		return diagnostic.Diagnostic{
			File: m.File, Line: start.line, Column: start.column, Severity: severity,
			Object: problem.Object, Key: problem.Key, Message: object.String(),
		}
	}
	place, exact := p.inBlock(m, path, problem.Line, problem.Column)
	if !exact {
		place = m.place(p.document(m), path)
	}
	name := "key " + problem.Key
	if m.GVK.Group != "" {
		name = problem.Key // the API has a field for it
	}
	switch {
	case problem.Key == "":
	case problem.Line > 0 && !exact:
		message = fmt.Sprintf("line %d:%d of the value of %s: %s", problem.Line, problem.Column, name, message)
	case m.GVK.Group != "" || !p.document(m).has(m.inDocument(path)...):
		message = fmt.Sprintf("%s: %s", name, message) // no place shows which key is meant
	}
	return diagnostic.Diagnostic{
		File: m.File, Line: place.line, Column: place.column, Severity: severity,
		Object: m.String(), Key: problem.Key, Message: message,
	}
}

// locate finds the object of a problem and the path to its key.
func (p *places) locate(problem diagnostic.Diagnostic) (m Manifest, path []string, found bool) {
	field := ""
	i := slices.IndexFunc(p.manifests, func(m Manifest) bool {
		var rest string
		if rest, found = strings.CutPrefix(problem.Object, m.Source()); found {
			field, found = strings.CutPrefix(rest, ", ")
			found = found || rest == ""
		}
		return found || problem.Object == m.String()
	})
	if i < 0 {
		return p.otherwise, nil, false
	}
	m = p.manifests[i]
	if m.GVK.Group != "" {
		return m, fieldPath(field + "." + problem.Key), true
	}
	// A Secret's stringData wins over its data.
	for _, field := range []string{"stringData", "data", "binaryData"} {
		if p.document(m).has(m.inDocument([]string{field, problem.Key})...) {
			return m, []string{field, problem.Key}, true
		}
	}
	return m, []string{"data", problem.Key}, true
}

// fieldPath is the path in the name of a field as messages have it, for example "spec.custom.secrets[acme].delivery". What
// stands in brackets is one part with all its dots.
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
	if line == 0 || isBase64(m, path) {
		return position{}, false
	}
	at, known := p.document(m).inBlock(m.inDocument(path), line, column)
	return m.inFile(at), known
}

// see names the other line that explains a problem: the line of the file where it is known.
func (p *places) see(m Manifest, path []string, problem diagnostic.Diagnostic) string {
	if problem.SeeLine == 0 {
		return ""
	}
	if at, known := p.inBlock(m, path, problem.SeeLine, 1); known {
		return fmt.Sprintf(" (see line %d)", at.line)
	}
	return fmt.Sprintf(" (see line %d of the value)", problem.SeeLine)
}

// isBase64 reports whether a Kubernetes object has the value at the path in base64.
func isBase64(m Manifest, path []string) bool {
	return m.GVK.Group == "" && len(path) > 0 && (path[0] == "binaryData" || m.GVK.Kind == "Secret" && path[0] == "data")
}

// inDocument is a path of the object in its document.
func (m Manifest) inDocument(path []string) []string { return slices.Concat(m.item, path) }

func (p *places) document(m Manifest) *document {
	if p.documents == nil {
		p.documents = map[string]*document{}
	}
	// All items of a list are in one document.
	key := fmt.Sprintf("%s:%d", m.File, m.document.line)
	if p.documents[key] == nil {
		p.documents[key] = parseDocument(m.document.data)
	}
	return p.documents[key]
}
