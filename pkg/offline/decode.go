package offline

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	kjson "sigs.k8s.io/json"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc"
)

// Decode reads the object into its type and ignores unknown fields, which a newer installer may write.
func (m Manifest) Decode(into any) error {
	if m.defect != nil {
		m.defect.reported = true
		return m.defect.err
	}
	err := utiljson.Unmarshal(m.json, into)
	var wrongType *json.UnmarshalTypeError
	var notBase64 base64.CorruptInputError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &wrongType):
		return m.wrongType(wrongType)
	case errors.As(err, &notBase64):
		return m.notBase64()
	}
	// A type's own error quotes the value.
	return fmt.Errorf("%s: a value does not have the form of its field: correct it", m.Source())
}

// wrongType returns an error with the place of a value that does not have its field's type.
func (m Manifest) wrongType(wrong *json.UnmarshalTypeError) error {
	path := pathAt(m.json, wrong.Offset)
	place := m.place(parseDocument(m.document.data), path)
	is, wants := confdoc.JSONTypes(wrong)
	action := "correct it"
	if wrong.Type.Kind() == reflect.String {
		if is != "a mapping" && is != "a list" {
			action = "put it in quotes"
		} else if m.GVK.Group == "" {
			action = fmt.Sprintf("write %q and indent the text below it", path[len(path)-1]+": |")
		}
	}
	return fmt.Errorf("%s:%d:%d: %s in %s is %s, but must be %s: %s",
		m.File, place.line, place.column, strings.Join(path, "."), m, is, wants, action)
}

// notBase64 returns an error with the place of the first value that is not base64.
func (m Manifest) notBase64() error {
	var object map[string]json.RawMessage
	_ = json.Unmarshal(m.json, &object) // it was read before
	for _, field := range []string{"data", "binaryData"} {
		var values map[string]string
		if json.Unmarshal(object[field], &values) != nil {
			continue // ConfigMaps may have any text in data
		}
		for _, key := range slices.Sorted(maps.Keys(values)) {
			var decoded []byte
			if quoted, err := json.Marshal(values[key]); err != nil || json.Unmarshal(quoted, &decoded) == nil ||
				field == "data" && m.GVK.Kind != secretKind {
				continue
			}
			place := m.place(parseDocument(m.document.data), []string{field, key})
			action := "encode it"
			if m.GVK.Kind == secretKind {
				action += ", or write it under stringData"
			}
			return fmt.Errorf("%s:%d:%d: %s.%s in %s is not base64: %s", m.File, place.line, place.column, field, key, m,
				action)
		}
	}
	return fmt.Errorf("%s: a value is not base64: encode it", m.Source())
}

// pathAt returns the path of the JSON value at the offset.
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

// json converts the document to JSON. Errors start with the line in the file and, if known, the column.
func (d yamlDocument) json() ([]byte, error) {
	if trimmed := bytes.TrimSpace(d.data); trimmed[0] == '{' && json.Valid(trimmed) {
		return trimmed, d.checkDuplicates(trimmed)
	}
	converted, err := sigsyaml.YAMLToJSONStrict(d.data)
	if err == nil {
		return converted, nil
	}
	line, _ := parseYAMLError(err)
	if tabLine, column := d.tabNear(line); tabLine > 0 {
		return nil, fmt.Errorf("%d:%d: invalid YAML: tab in the indentation: indent with spaces", d.line-1+tabLine,
			column)
	}
	if slip := d.slip(); slip != "" {
		return nil, errors.New(slip)
	}
	place, reason := confdoc.YAMLDefect(d.data, err)
	var syntax *json.SyntaxError
	if startOfJSON.Match(d.data) && errors.As(json.Unmarshal(d.data, new(any)), &syntax) {
		place = confdoc.PositionAt(d.data, max(0, int(syntax.Offset)-1)) // JSON may have one line only
	}
	return nil, fmt.Errorf("%d:%d: invalid YAML: %s", d.line-1+place.Line, place.Column, reason)
}

// startOfJSON matches what YAML's flow mappings rarely begin with.
var startOfJSON = regexp.MustCompile(`^\s*\{\s*"`)

// yamlLine matches the line number in an error of the YAML library.
var yamlLine = regexp.MustCompile(`(?s)^.*?line (\d+): (.*)$`)

// parseYAMLError returns the line and the message of an error of the YAML library, without what it quotes of the text.
func parseYAMLError(err error) (line int, message string) {
	found := yamlLine.FindStringSubmatch(err.Error())
	if found == nil {
		return 1, confdoc.YAMLReason(err.Error())
	}
	line, _ = strconv.Atoi(found[1]) // the pattern has digits only
	return line, confdoc.YAMLReason(found[2])
}

// checkDuplicates returns an error for duplicate keys in JSON. The YAML library does so for YAML.
func (d yamlDocument) checkDuplicates(object []byte) error {
	var ignored map[string]any
	duplicates, err := kjson.UnmarshalStrict(object, &ignored, kjson.DisallowDuplicateFields)
	if err != nil || len(duplicates) == 0 {
		return nil //nolint:nilerr // Decode reports the error.
	}
	if slip := d.slip(); slip != "" {
		return errors.New(slip)
	}
	return fmt.Errorf("%d:1: %w: keep one", d.line, errors.Join(duplicates...))
}

// atEnd returns an error if a second document follows, which the YAML library ignores.
func (d yamlDocument) atEnd() error {
	decoder := yaml.NewDecoder(bytes.NewReader(d.data))
	var first, second yaml.Node
	if err := decoder.Decode(&first); err != nil {
		return nil //nolint:nilerr // The converter accepted it as YAML 1.1.
	}
	switch err := decoder.Decode(&second); {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		line, message := parseYAMLError(err)
		if strings.Contains(message, "document start") {
			line++ // this error of the library counts lines from 0
		}
		return fmt.Errorf("%d:1: content after the end of the document: write --- on a line of its own before another "+
			"document", d.line-1+line)
	}
	return fmt.Errorf("%d:%d: a second document starts here: write --- on a line of its own before it",
		d.line-1+second.Line, max(1, second.Column))
}

// CheckSingle returns an error if a file has a second document.
func CheckSingle(file string, data []byte) error {
	found := 0
	for _, d := range splitDocuments(data) {
		if isBlank(d.data) {
			continue
		}
		found++
		if found > 1 {
			return fmt.Errorf("%s:%d:1: a second document starts here: move it to a file of its own", file, d.line)
		}
		if err := d.atEnd(); err != nil {
			return fmt.Errorf("%s:%w", file, err)
		}
	}
	return nil
}

// tabNear returns the position of a tab in the indentation. The YAML library's line may be off by one.
func (d yamlDocument) tabNear(line int) (tabLine, column int) {
	number := 0
	for text := range bytes.Lines(d.data) {
		number++
		if number < line-1 || number > line+1 {
			continue
		}
		indent := text[:len(text)-len(bytes.TrimLeft(text, " \t"))]
		if tab := bytes.IndexByte(indent, '\t'); tab >= 0 {
			return number, tab + 1
		}
	}
	return 0, 0
}

// place returns the place of a value in the file.
func (m Manifest) place(parsed *document, path []string) position {
	return m.inFile(parsed.place(m.inDocument(path)...))
}

// inFile translates a place in the document to one in the file.
func (m Manifest) inFile(place position) position {
	if place.line == 1 {
		place.column += m.document.column
	}
	place.line += m.document.line - 1
	return place
}
