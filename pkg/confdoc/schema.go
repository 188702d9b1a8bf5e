package confdoc

import (
	"slices"
	"strings"
)

// Format is the file format together with the library that a cloud provider reads it with.
type Format int

const (
	// JSON is encoding/json: keys match in any case, and numbers and booleans are not converted to strings.
	JSON Format = iota
	// YAML is gopkg.in/yaml.v2 with typed fields: YAML 1.1, and an unquoted number or boolean is accepted as a string.
	YAML
	// YAMLAsJSON is sigs.k8s.io/yaml: YAML 1.1 that is converted to JSON first.
	YAMLAsJSON
	// YAML3 is gopkg.in/yaml.v3 with typed fields. It rejects duplicate keys.
	YAML3
	// INI is gopkg.in/gcfg.v1: sections and keys match in any case.
	INI
)

// Type is the type of a field's value.
type Type int

// The types of fields.
const (
	Text       Type = iota // a string
	Bool                   // true or false
	Int                    // a whole number
	Float                  // a number
	List                   // a list with items of type Field.Of; in INI, a key that may occur on several lines
	Map                    // a mapping of names that the user chooses to values of type Field.Of
	Object                 // a mapping with the names of Field.Fields; in INI, a section
	Any                    // a value that is not checked
	Word                   // in INI, a string without whitespace
	Duration               // in INI, a duration as time.ParseDuration reads it
	Unsettable             // in INI, a key that the library finds but cannot set
)

// Field is a name that a cloud provider reads, or used to read.
type Field struct {
	Name string
	Is   Type
	// Of describes the items of a list or the values of a mapping. It has no name.
	Of *Field
	// Fields are the known names of an object.
	Fields []Field
	// Named means that the header of an INI section has a second, quoted part: [Name "x"].
	Named bool
	// Required is the action in the message if the name is missing or empty. It is empty for an optional name.
	Required string
	// Legacy is the reason why the name is dropped. It is empty for a name that the cloud-controller-manager reads.
	Legacy string
	// Only is the only value with which a legacy name can be dropped. If it is nil, any value can be dropped.
	Only *string
	// Harmless are values of a legacy name that mean what the cloud-controller-manager does without it, in lower case. To
	// drop one is worth no warning, and neither is an empty value or the one in Only.
	Harmless []string
	// Mistaken means that a legacy name has never had an effect, so whoever writes it needs another one, which Legacy
	// names.
	Mistaken bool
	// Installed means that installers write the legacy name, so to drop it is worth no warning.
	Installed bool
	// Values are the allowed strings. The empty string is always allowed. If FoldValues is set, case is ignored, and
	// with TrimValues the spaces around too. If Values is nil, any string is allowed.
	Values                 []string
	FoldValues, TrimValues bool
	// Valid reports whether a string is allowed. If it is nil, any string is allowed.
	Valid func(text string) bool
	// Hint describes the strings that Valid allows. Without Valid it ends the message about a value that is not in
	// Values; empty where that message says enough.
	Hint string
	// Passed means that the provider starts with a value that Schemes, Valid, Values or Max do not allow: it ignores
	// the value, or passes it on to its cloud, which rejects it. Such a value is a likely mistake.
	Passed bool
	// Max is the largest allowed number of an integer. It is 0 if any number is allowed.
	Max int
	// Fallback is the value that the provider uses instead of a value that is not in Values. It is empty if the
	// provider rejects such a value.
	Fallback string
	// Schemes are the schemes of a string that must be a URL. If it is nil, the string need not be a URL.
	Schemes []string
	// Secret means that no message may show the value.
	Secret bool
	// Bits is the size of an integer; 0 means 64.
	Bits int
	// Unsigned means that an integer must not be negative.
	Unsigned bool
	// Pointer means that the provider distinguishes a zero value from an unset one.
	Pointer bool
}

// MaxPort is the largest number of a port.
const MaxPort = 65535

// For returns a copy of the field for each name.
func (f Field) For(names ...string) []Field {
	fields := make([]Field, len(names))
	for i, name := range names {
		fields[i] = f
		fields[i].Name = name
	}
	return fields
}

// FieldsOf returns a field of the given type for each name.
func FieldsOf(is Type, names ...string) []Field { return Field{Is: is}.For(names...) }

// Secrets returns a string field with a secret value for each name.
func Secrets(names ...string) []Field { return Field{Secret: true}.For(names...) }

// Dropped returns a legacy field for each name, with one reason.
func Dropped(reason string, names ...string) []Field {
	return Field{Is: Any, Legacy: reason}.For(names...)
}

// PublicNames returns the names of the fields and of the fields in them. A mapping whose names the user chooses is
// "name.*" if its values are neither lists nor mappings. A name among them may be a secret's.
func PublicNames(fields []Field) []string {
	var names []string
	for _, f := range fields {
		names = append(names, f.Name)
		inner := &f
		for inner.Of != nil {
			if inner.Is == Map && inner.Of.Is != Object {
				names = append(names, f.Name+".*")
			}
			inner = inner.Of
		}
		names = append(names, PublicNames(inner.Fields)...)
	}
	return names
}

// Find returns the field to which the provider's library assigns a name.
func (f Format) Find(fields []Field, name string) (Field, bool) {
	i := slices.IndexFunc(fields, func(field Field) bool { return field.Name == name })
	if i < 0 && f != YAML && f != YAML3 {
		i = slices.IndexFunc(fields, func(field Field) bool { return strings.EqualFold(field.Name, name) })
	}
	if i < 0 {
		return Field{}, false
	}
	return fields[i], true
}

func (f Field) allows(text string) bool {
	if f.TrimValues {
		text = strings.TrimSpace(text)
	}
	return f.Values == nil || slices.ContainsFunc(f.Values, func(value string) bool {
		return value == text || f.FoldValues && strings.EqualFold(value, text)
	})
}

func (f Field) isRead() bool { return f.Legacy == "" && f.Is != Unsettable }

func readNames(fields []Field) []string {
	var names []string
	for i := range fields {
		if fields[i].isRead() {
			names = append(names, fields[i].Name)
		}
	}
	return names
}
