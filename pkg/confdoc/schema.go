package confdoc

import (
	"slices"
	"strings"
)

// Format is a file format, together with the library with which a cloud provider reads it.
type Format int

const (
	// JSON is encoding/json: names are not case-sensitive, and numbers and booleans are not converted to strings.
	JSON Format = iota
	// YAML is gopkg.in/yaml.v2 with typed fields: YAML 1.1; it accepts an unquoted number or boolean as a string.
	YAML
	// YAMLAsJSON is sigs.k8s.io/yaml: YAML 1.1, which it converts to JSON first.
	YAMLAsJSON
	// YAML3 is gopkg.in/yaml.v3 with typed fields. It rejects duplicate keys.
	YAML3
	// INI is gopkg.in/gcfg.v1: names of sections and keys are not case-sensitive.
	INI
)

// Type is the type of a field's value.
type Type int

// The types.
const (
	Text       Type = iota // a string
	Bool                   // true or false
	Int                    // a whole number
	Float                  // a number
	List                   // a list whose items Field.Of describes; in INI, a key that may be repeated
	Map                    // a mapping with arbitrary names, whose values Field.Of describes
	Object                 // a mapping with the names of Field.Fields; in INI, a section
	Any                    // a value that is not checked
	Word                   // in INI, a string without whitespace
	Duration               // in INI, a duration for time.ParseDuration
	Unsettable             // in INI, a key that the library finds but cannot set
)

// Field is a name that a cloud provider reads, or used to read.
type Field struct {
	Name string
	Is   Type
	// Of describes the items of a list or the values of a map. It has no name.
	Of     *Field
	Fields []Field
	// Named means that the header of an INI section has a quoted second part: [Name "x"].
	Named bool
	// Required is the action in the message about a missing or empty name; empty for an optional name.
	Required string
	// Legacy is the reason why the name is dropped; empty for a name that the cloud-controller-manager reads.
	Legacy string
	// Only is the only value with which a legacy name can be dropped; nil if it can always be dropped.
	Only *string
	// Harmless are values of a legacy name, in lower case, that request what the cloud-controller-manager does anyway.
	// Dropping them is no warning. Neither is dropping an empty value or Only.
	Harmless []string
	// Mistaken means that a legacy name never had an effect. Its author needs another name, which Legacy states.
	Mistaken bool
	// Installed means that installers write the legacy name, so dropping it is no warning.
	Installed bool
	// Values are the allowed strings, besides the empty string; nil allows any string. FoldValues ignores case, and
	// TrimValues ignores surrounding whitespace.
	Values                 []string
	FoldValues, TrimValues bool
	// Valid reports whether a string is allowed; nil allows any string.
	Valid func(text string) bool
	// Hint describes the strings that Valid allows. Without Valid, it ends the message about a value that is not in
	// Values.
	Hint string
	// Passed means that the provider starts even with a value that Schemes, Valid, Values or Max reject: it ignores the
	// value, or passes it to its cloud, which rejects it. Such a value is only a likely mistake.
	Passed bool
	// Max is the maximum of an integer; 0 means no maximum.
	Max int
	// ZeroUnset means that the provider takes 0 of an integer with a Max for its default.
	ZeroUnset bool
	// Fallback is the value that the provider uses instead of one that is not in Values; empty if it rejects such a value.
	Fallback string
	// Schemes are the schemes of a string that must be a URL; nil for any other string.
	Schemes []string
	// Secret means that messages must not contain the value.
	Secret bool
	// Bits is the size of an integer; 0 means 64.
	Bits     int
	Unsigned bool
	// Pointer means that the provider distinguishes a zero value from an unset one.
	Pointer bool
}

// MaxPort is the largest port number.
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

// PublicNames returns the names of the fields, recursively. For a mapping with arbitrary names and scalar values, it
// also returns "name.*"; one of those names may still be that of a secret.
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
