package offline

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc"
)

// Decode decodes the object and ignores unknown fields, which a newer installer may write.
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

func (m Manifest) wrongType(wrong *json.UnmarshalTypeError) error {
	path := pathAt(m.json, wrong.Offset)
	is, wants := confdoc.JSONTypes(wrong)
	action := "correct it"
	if wrong.Type.Kind() == reflect.String {
		if is != "a mapping" && is != "a list" {
			action = "put it in quotes"
		} else if m.GVK.Group == "" {
			action = fmt.Sprintf("write %q and indent the text below it", path[len(path)-1]+": |")
		}
	}
	return m.failf(path, "%s in %s is %s, but must be %s: %s", strings.Join(path, "."), m, is, wants, action)
}

func (m Manifest) notBase64() error {
	tree, action := confdoc.Tree(m.json), "encode it"
	if m.GVK.Kind == secretKind {
		action += ", or write it under stringData"
	}
	for _, field := range []string{"data", "binaryData"} {
		for _, e := range tree.Get(field).Members() { // in order
			path := []string{field, e.Name}
			if _, err := base64.StdEncoding.DecodeString(e.Value.Text); err != nil && isBase64(m, path) {
				if isBroken(e.Value.Text) {
					action = "it is cut off, or has a space or a line break: encode it again, in one line (base64 -w0)"
				}
				return m.failf(path, "%s.%s in %s is not base64: %s", field, e.Name, m, action)
			}
		}
	}
	return fmt.Errorf("%s: a value is not base64: encode it", m.Source())
}

// isBroken reports whether a text is base64 except for whitespace or a missing end.
func isBroken(text string) bool {
	joined := strings.TrimRight(strings.Join(strings.Fields(text), ""), "=")
	_, err := base64.RawStdEncoding.DecodeString(joined[:len(joined)-len(joined)%4])
	return err == nil && len(joined) >= minBroken
}

// minBroken is the length of a text that is hardly base64 by chance.
const minBroken = 40

func (m Manifest) failf(path []string, format string, args ...any) error {
	at := m.place(path...)
	return fmt.Errorf("%s:%d:%d: "+format, append([]any{m.File, at.Line, at.Column}, args...)...)
}

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
