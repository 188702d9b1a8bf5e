package confdoc

import "strings"

// Format is how a cloud provider's own library reads a configuration.
type Format int

const (
	// JSON is encoding/json: keys in any case, numbers and booleans only where they belong.
	JSON Format = iota
	// YAML is gopkg.in/yaml.v2 into typed fields: YAML 1.1, a number or boolean is a string where one belongs.
	YAML
	// YAMLAsJSON is sigs.k8s.io/yaml: YAML 1.1 that is converted to JSON first.
	YAMLAsJSON
	// YAML3 is gopkg.in/yaml.v3 into typed fields. It rejects duplicate keys.
	YAML3
	// INI is gopkg.in/gcfg.v1: sections and keys in any case.
	INI
)

// Type is what a field holds.
type Type int

const (
	Text     Type = iota // a string
	Bool                 // true or false
	Int                  // a whole number
	Float                // a number
	List                 // a list of what Field.Of says; in INI, a key that may have several lines
	Map                  // a mapping of names that the user chooses to what Field.Of says
	Object               // a mapping with the names of Field.Fields; in INI, a section
	Any                  // anything; it is not checked
	Word                 // in INI, a string without whitespace
	Duration             // in INI, a duration as time.ParseDuration reads it
	Refused              // in INI, a key that the library finds but cannot set
)

// Field is a name that a cloud provider knows.
type Field struct {
	Name string
	Is   Type
	// Of is what the items of a list or the values of a mapping are. It has no name.
	Of *Field
	// Fields are the names that an object knows.
	Fields []Field
	// Named says that the header of an INI section has a second, quoted part: [Name "x"].
	Named bool
	// Required says what to write where the name is missing or empty; empty for an optional name.
	Required string
	// Legacy says why the name is dropped; empty for one that the cloud-controller-manager reads.
	Legacy string
	// Only is the one value with which a legacy name can be dropped; nil when any can.
	Only *string
	// Values are the only strings allowed beside the empty one, in any case where FoldValues is set; nil when any is.
	Values     []string
	FoldValues bool
	// Fallback is what the provider uses instead of a value that is not in Values; empty where it rejects such a value.
	Fallback string
	// Schemes are those of the URL that the string has to be; nil when it need not be one.
	Schemes []string
	// Port says that a number has to be from 1 to 65535.
	Port bool
	// Secret says that no message may show the value.
	Secret bool
	// Bits is the size of a whole number; 0 means 64.
	Bits int
	// Unsigned says that a whole number may not be negative.
	Unsigned bool
	// Pointer says that the provider distinguishes a zero value from none.
	Pointer bool
}

// FieldsOf returns fields of one type.
func FieldsOf(is Type, names ...string) []Field {
	fields := make([]Field, len(names))
	for i, name := range names {
		fields[i] = Field{Name: name, Is: is}
	}
	return fields
}

// Find returns the field that the provider's library finds for a name.
func (f Format) Find(fields []Field, name string) (Field, bool) {
	for i := range fields {
		if fields[i].Name == name {
			return fields[i], true
		}
	}
	if f == YAML || f == YAML3 {
		return Field{}, false
	}
	for i := range fields {
		if strings.EqualFold(fields[i].Name, name) {
			return fields[i], true
		}
	}
	return Field{}, false
}

// isRead reports whether the cloud-controller-manager reads the field.
func (f *Field) isRead() bool { return f.Legacy == "" && f.Is != Refused }

// readNames returns the names that the cloud-controller-manager reads.
func readNames(fields []Field) []string {
	var names []string
	for i := range fields {
		if fields[i].isRead() {
			names = append(names, fields[i].Name)
		}
	}
	return names
}
