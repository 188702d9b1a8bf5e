package offline

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
	kjson "sigs.k8s.io/json"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc"
)

type position = confdoc.Position

// document is a YAML or JSON document of a file. Its own positions start at 1:1.
type document struct {
	// line is the document's first line in its file, 1-based.
	line int
	// column is the number of characters before the document in that line.
	column int
	data   []byte
	// parsed caches the result of tree.
	parsed *confdoc.Node
}

// splitDocuments splits a file at its separators, and omits empty documents. The rest of a separator's line belongs to
// the next document.
func splitDocuments(data []byte) []*document {
	current, start, offset, number := &document{line: 1}, 0, 0, 0
	documents := []*document{current}
	for line := range bytes.Lines(data) {
		number++
		if isSeparator(line) {
			current.data = data[start:offset]
			current, start = &document{line: number, column: len("---")}, offset+len("---")
			documents = append(documents, current)
		}
		offset += len(line)
	}
	current.data = data[start:]
	return slices.DeleteFunc(documents, func(d *document) bool { return isBlank(d.data) })
}

func isSeparator(line []byte) bool {
	rest, found := bytes.CutPrefix(line, []byte("---"))
	return found && (len(rest) == 0 || strings.IndexByte(" \t\r\n", rest[0]) >= 0)
}

// isBlank reports whether a document has no content, or only null. kubectl skips both.
func isBlank(data []byte) bool {
	for line := range bytes.Lines(data) {
		line = bytes.TrimSpace(bytes.TrimPrefix(line, []byte("\ufeff")))
		if len(line) > 0 && line[0] != '#' && string(line) != "null" {
			return false
		}
	}
	return true
}

// CheckSingle returns an error if a file has a second document.
func CheckSingle(file string, data []byte) error {
	for i, d := range splitDocuments(data) {
		if i > 0 {
			return fmt.Errorf("%s:%d:1: a second document starts here: move it to a file of its own", file, d.line)
		}
		if err := d.checkEnd(); err != nil {
			return fmt.Errorf("%s:%w", file, err)
		}
	}
	return nil
}

// withoutBar matches a key with INI as its value and without the vertical bar of a literal block.
var withoutBar = regexp.MustCompile(
	`(?m)^([ ]*)([A-Za-z0-9._-]+):[ ]*\r?\n[ ]*\[[ ]*[A-Za-z][A-Za-z0-9 "._-]*\][ ]*\r?$`)

// notIndented matches a key with a literal block that starts with a section header or JSON, with the indentation of
// both.
var notIndented = regexp.MustCompile(`(?m)^([ ]*)([A-Za-z0-9._-]+):[ ]*[|>][-+]?[ ]*\r?\n([ ]*)[\[{]`)

// conflict matches the line in front of a conflict that git could not merge.
var conflict = regexp.MustCompile(`(?m)^<{7}( |\r?$)`)

// json converts the document to JSON. Errors start with the line and the column in the file.
func (d *document) json() ([]byte, error) {
	asJSON := bytes.TrimSpace(d.data)
	var err error
	if asJSON[0] == '{' && json.Valid(asJSON) {
		err = duplicateIn(asJSON)
	} else if asJSON, err = sigsyaml.YAMLToJSONStrict(d.data); err != nil {
		if mistake := d.mistake(); mistake != nil {
			return nil, mistake
		}
	}
	if err == nil {
		return asJSON, nil
	}
	defect := confdoc.YAMLError(d.data, err)
	if defect.SeeLine > 0 {
		defect.Message += fmt.Sprintf(" (see line %d)", d.inFile(position{Line: defect.SeeLine}).Line)
	}
	return nil, d.failf(defect.Position, "%s", defect.Message)
}

// mistake returns an error for a mistake in invalid YAML for which the library names only a consequence, or nil.
func (d *document) mistake() error {
	if found := withoutBar.FindSubmatchIndex(d.data); found != nil {
		key := string(d.data[found[4]:found[5]])
		return d.failf(confdoc.PositionAt(d.data, found[4]), "%s has no vertical bar, so its text is read as YAML: "+
			"write %q and indent the text below it", key, key+": |")
	}
	if found := conflict.FindIndex(d.data); found != nil {
		return d.failf(confdoc.PositionAt(d.data, found[0]), "a merge conflict starts here: keep one of the versions, "+
			"and remove the lines <<<<<<<, ======= and >>>>>>>")
	}
	for _, found := range notIndented.FindAllSubmatchIndex(d.data, -1) {
		if keyIndent, textIndent := found[3]-found[2], found[7]-found[6]; textIndent <= keyIndent {
			return d.failf(confdoc.PositionAt(d.data, found[7]), "the text of %s starts here, but is not indented below it: "+
				"put more spaces in front of each of its lines", d.data[found[4]:found[5]])
		}
	}
	return nil
}

// duplicateIn returns an error for duplicate keys in JSON. For YAML, the library detects them.
func duplicateIn(object []byte) error {
	var ignored map[string]any
	duplicates, err := kjson.UnmarshalStrict(object, &ignored, kjson.DisallowDuplicateFields)
	if err != nil || len(duplicates) == 0 {
		return nil //nolint:nilerr // Decode reports the error.
	}
	return fmt.Errorf("a key is already set: %w", duplicates[0])
}

func (d *document) failf(at position, format string, args ...any) error {
	at = d.inFile(at)
	return fmt.Errorf("%d:%d: "+format, append([]any{at.Line, at.Column}, args...)...)
}

func (d *document) inFile(place position) position {
	if place.Line == 1 {
		place.Column += d.column
	}
	place.Line += d.line - 1
	return place
}

// checkEnd returns an error if content follows the document: the YAML library would ignore it.
func (d *document) checkEnd() error {
	at, isDocument := confdoc.Rest(d.data)
	switch {
	case at.Line == 0:
		return nil
	case isDocument:
		return d.failf(at, "a second document starts here: write --- on a line of its own before it")
	}
	return d.failf(at, "content after the end of the document: write --- on a line of its own before another document")
}

// tree parses the document. The tree has no values if the document cannot be read, which json reports.
func (d *document) tree() *confdoc.Node {
	if d.parsed == nil {
		d.parsed = confdoc.Tree(d.data)
	}
	return d.parsed
}

// inBlock maps a line and column of the string at the path to a position in the file. known is false unless the string
// is a literal block, the only style that keeps the lines.
func (d *document) inBlock(path []string, line, column int) (at position, known bool) {
	value, _, found := d.tree().Find(path...)
	if !found || value.Style != yaml.LiteralStyle {
		return position{}, false
	}
	text := strings.Split(strings.TrimSuffix(value.Text, "\n"), "\n")
	if line > len(text) { // the end of the string
		line, column = len(text), utf8.RuneCountInString(text[len(text)-1])+1
	}
	// The block starts in the line after its header. Its first non-empty line shows the indentation.
	i := slices.IndexFunc(text, func(line string) bool { return line != "" })
	lines := strings.Split(strings.ReplaceAll(string(d.data), "\r\n", "\n"), "\n")
	if i < 0 || len(lines) <= value.Line+max(i, line-1) {
		return position{}, false
	}
	wanted := lines[value.Line+line-1]
	indent, isIndented := strings.CutSuffix(lines[value.Line+i], text[i])
	isSame := strings.TrimRight(wanted, " ") == strings.TrimRight(indent+text[line-1], " ")
	if !isIndented || strings.Trim(indent, " ") != "" || !isSame {
		return position{}, false // for example an anchor in the line above the header
	}
	return d.inFile(position{Line: value.Line + line, Column: len(indent) + column}), true
}
