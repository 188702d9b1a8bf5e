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
		m.File, place.Line, place.Column, strings.Join(path, "."), m, is, wants, action)
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
			return fmt.Errorf("%s:%d:%d: %s.%s in %s is not base64: %s", m.File, place.Line, place.Column, field, key, m,
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

// json converts the document to JSON. Errors start with the line and the column in the file.
func (d yamlDocument) json() ([]byte, error) {
	if trimmed := bytes.TrimSpace(d.data); trimmed[0] == '{' && json.Valid(trimmed) {
		return trimmed, d.checkDuplicates(trimmed)
	}
	converted, err := sigsyaml.YAMLToJSONStrict(d.data)
	if err == nil {
		return converted, nil
	}
	if slip := d.slip(); slip != nil {
		return nil, slip
	}
	place, reason := confdoc.YAMLDefect(d.data, err)
	return nil, d.failf(place, "invalid YAML: %s", reason)
}

func (d yamlDocument) failf(at position, format string, args ...any) error {
	at = d.inFile(at)
	return fmt.Errorf("%d:%d: "+format, append([]any{at.Line, at.Column}, args...)...)
}

// checkDuplicates returns an error for duplicate keys in JSON. The YAML library does so for YAML.
func (d yamlDocument) checkDuplicates(object []byte) error {
	var ignored map[string]any
	duplicates, err := kjson.UnmarshalStrict(object, &ignored, kjson.DisallowDuplicateFields)
	if err != nil || len(duplicates) == 0 {
		return nil //nolint:nilerr // Decode reports the error.
	}
	if slip := d.slip(); slip != nil {
		return slip
	}
	return d.failf(position{Line: 1, Column: 1}, "%w: keep one", errors.Join(duplicates...))
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
		line := confdoc.YAMLLine(err)
		if strings.Contains(err.Error(), "document start") {
			line++ // this error of the library counts lines from 0
		}
		return d.failf(position{Line: line, Column: 1}, "content after the end of the document: write --- on a line of its "+
			"own before another document")
	}
	return d.failf(position{Line: second.Line, Column: max(1, second.Column)},
		"a second document starts here: write --- on a line of its own before it")
}

// CheckSingle returns an error if a file has a second document.
func CheckSingle(file string, data []byte) error {
	for i, d := range nonEmptyDocuments(data) {
		if i > 0 {
			return fmt.Errorf("%s:%d:1: a second document starts here: move it to a file of its own", file, d.line)
		}
		if err := d.atEnd(); err != nil {
			return fmt.Errorf("%s:%w", file, err)
		}
	}
	return nil
}

func (m Manifest) place(parsed *document, path []string) position {
	return m.document.inFile(parsed.place(m.inDocument(path)...))
}

// inFile translates a place in the document to one in the file.
func (d yamlDocument) inFile(place position) position {
	if place.Line == 1 {
		place.Column += d.column
	}
	place.Line += d.line - 1
	return place
}
