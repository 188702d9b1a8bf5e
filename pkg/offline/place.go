package offline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/offline/document"
)

// places finds problems in the files that were read. Each document is parsed once.
type places struct {
	// manifests are those that problems may name.
	manifests []Manifest
	// otherwise is where a problem is reported whose object no file has.
	otherwise Manifest
	documents map[string]*document.Document
	texts     map[string]document.Text
}

// finding puts a problem at its place. The problem's own line and column are those of the text under its key: where the
// document says the text in another way, such as base64, the place is the key's.
func (p *places) finding(severity diagnostic.Severity, problem diagnostic.Diagnostic) diagnostic.Diagnostic {
	m, path, found := p.locate(problem)
	message := strings.ReplaceAll(strings.TrimSpace(problem.Message), "\n", "; ") + p.see(m, path, problem)
	if !found {
		object := diagnostic.Diagnostic{Object: problem.Object, Key: problem.Key, Message: message}
		start := p.place(m, nil, diagnostic.Diagnostic{})
		return diagnostic.Diagnostic{
			File: m.File, Line: start.Line, Column: start.Column, Severity: severity,
			Object: problem.Object, Key: problem.Key, Message: object.String(),
		}
	}
	switch {
	case problem.Key == "":
	case m.GVK.Group != "":
		// What the API has fields for is named by them.
		message = fmt.Sprintf("%s: %s", problem.Key, message)
	case !p.document(m).Has(m.inDocument(path)...):
		// No place shows which key is meant.
		message = fmt.Sprintf("key %s: %s", problem.Key, message)
	}
	place := p.place(m, path, problem)
	return diagnostic.Diagnostic{
		File: m.File, Line: place.Line, Column: place.Column, Severity: severity,
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
		if p.document(m).Has(m.inDocument([]string{field, problem.Key})...) {
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

// place is the place of a problem below the path, in the file.
func (p *places) place(m Manifest, path []string, problem diagnostic.Diagnostic) document.Place {
	if inner, known := p.inText(m, path, problem.Line, problem.Column); known {
		return m.inFile(inner)
	}
	return m.place(p.document(m), path)
}

// inText is the place in the document of a place in the text at the path.
func (p *places) inText(m Manifest, path []string, line, column int) (document.Place, bool) {
	if line == 0 || isBase64(m, path) {
		return document.Place{}, false
	}
	text, known := p.text(m, path)
	if !known {
		return document.Place{}, false
	}
	inner := text.Place(line, column)
	return inner, inner.Line > 0
}

// see names the other line that explains a problem, which is one of the file where the document tells.
func (p *places) see(m Manifest, path []string, problem diagnostic.Diagnostic) string {
	if problem.SeeLine == 0 {
		return ""
	}
	if inner, known := p.inText(m, path, problem.SeeLine, 1); known {
		return fmt.Sprintf(" (see line %d)", m.inFile(inner).Line)
	}
	return fmt.Sprintf(" (see line %d of the value)", problem.SeeLine)
}

// isBase64 tells whether a Kubernetes object has the value at the path in base64.
func isBase64(m Manifest, path []string) bool {
	return m.GVK.Group == "" && len(path) > 0 && (path[0] == "binaryData" || m.GVK.Kind == "Secret" && path[0] == "data")
}

// inDocument is a path of the object in its document.
func (m Manifest) inDocument(path []string) []string { return slices.Concat(m.item, path) }

func (p *places) document(m Manifest) *document.Document {
	if p.documents == nil {
		p.documents = map[string]*document.Document{}
	}
	// All items of a list are in one document.
	key := fmt.Sprintf("%s:%d", m.File, m.document.line)
	if p.documents[key] == nil {
		p.documents[key] = document.Parse(m.document.data)
	}
	return p.documents[key]
}

func (p *places) text(m Manifest, path []string) (document.Text, bool) {
	key := m.Source() + ": " + strings.Join(path, " ")
	if text, read := p.texts[key]; read {
		return text, true
	}
	text, known := p.document(m).Text(m.inDocument(path)...)
	if known {
		if p.texts == nil {
			p.texts = map[string]document.Text{}
		}
		p.texts[key] = text
	}
	return text, known
}
