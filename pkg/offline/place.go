package offline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/offline/document"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
)

// Severity tells whether a finding refuses the input.
type Severity string

// The severities.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
	// Change is no remark on the input: it tells what becomes of it.
	Change Severity = "change"
)

// Finding is a problem at its place in the file that was given.
type Finding struct {
	File string `json:"file"`
	// Line and Column are those of the file, 1-based; columns count characters.
	Line     int      `json:"line"`
	Column   int      `json:"column"`
	Severity Severity `json:"severity"`
	// Object is the object in the file, or the one that is missing, and Key the key in it.
	Object  string `json:"object"`
	Key     string `json:"key"`
	Message string `json:"message"`
}

// Place is file:line:column.
func (f Finding) Place() string { return fmt.Sprintf("%s:%d:%d", f.File, f.Line, f.Column) }

// String is the finding as compilers write theirs.
func (f Finding) String() string { return fmt.Sprintf("%s: %s: %s", f.Place(), f.Severity, f.Message) }

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
func (p *places) finding(severity Severity, problem operand.Problem) Finding {
	m, path, found := p.locate(problem)
	message := strings.ReplaceAll(strings.TrimSpace(problem.Message), "\n", "; ") + p.see(m, path, problem)
	if !found {
		object := operand.Problem{Source: problem.Source, Key: problem.Key, Message: message}
		start := p.place(m, nil, operand.Problem{})
		return Finding{
			File: m.File, Line: start.Line, Column: start.Column, Severity: severity,
			Object: problem.Source, Key: problem.Key, Message: object.String(),
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
	return Finding{
		File: m.File, Line: place.Line, Column: place.Column, Severity: severity,
		Object: m.String(), Key: problem.Key, Message: message,
	}
}

// locate finds the object of a problem and the path to its key.
func (p *places) locate(problem operand.Problem) (m Manifest, path []string, found bool) {
	field := ""
	i := slices.IndexFunc(p.manifests, func(m Manifest) bool {
		var rest string
		if rest, found = strings.CutPrefix(problem.Source, m.Source()); found {
			field, found = strings.CutPrefix(rest, ", ")
			found = found || rest == ""
		}
		return found || problem.Source == m.String()
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

// fieldPath is the path in the name of a field as messages have it, for example "spec.external.secrets[acme].delivery". What
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
func (p *places) place(m Manifest, path []string, problem operand.Problem) document.Place {
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
func (p *places) see(m Manifest, path []string, problem operand.Problem) string {
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
