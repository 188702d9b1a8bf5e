package confdoc

import "strings"

// INIType is how a cloud provider's own reader, gopkg.in/gcfg.v1, takes the value of a key.
type INIType int

// The types of a value.
const (
	TextValue     INIType = iota // any text; the key alone is refused
	WordValue                    // one word without blanks (a Go type of its own that is made from string)
	BoolValue                    // true, yes, on, 1, false, no, off, 0; the key alone is true
	IntValue                     // a decimal or 0x number
	Int32Value                   // likewise, of 32 bits
	UintValue                    // likewise, not negative
	DurationValue                // as time.ParseDuration reads it
	ListValue                    // every line adds one text; the key alone empties the list
	RefusedValue                 // a field that the reader finds but cannot set
)

// INIKey is a key that a cloud provider knows.
type INIKey struct {
	Name string
	Kind INIType
	// Legacy says why the key is dropped; empty for a key that the external provider reads.
	Legacy string
	// Only is the one value with which a legacy key can be dropped; nil when any can.
	Only *string
}

// INISection is a section that a cloud provider knows.
type INISection struct {
	Name string
	// Named tells that the header has a second, quoted part: [Name "x"].
	Named bool
	// Legacy says why the section is dropped; empty for a section that the external provider reads.
	Legacy string
	Keys   []INIKey
}

// Key returns the key of that name, in any case, and whether the section has it.
func (s INISection) Key(name string) (INIKey, bool) {
	for _, k := range s.Keys {
		if strings.EqualFold(k.Name, name) {
			return k, true
		}
	}
	return INIKey{}, false
}

// keyNames are the keys that the external provider reads.
func (s INISection) keyNames() []string {
	var names []string
	for _, k := range s.Keys {
		if k.Legacy == "" && k.Kind != RefusedValue {
			names = append(names, k.Name)
		}
	}
	return names
}

// header is the section as a message shows it.
func (s INISection) header() string {
	if s.Named {
		return "[" + s.Name + ` "name"]`
	}
	return "[" + s.Name + "]"
}

// INISchema is everything that one provider knows.
type INISchema []INISection

// Section returns the section of that name, in any case, and whether the provider knows it.
func (s INISchema) Section(name string) (INISection, bool) {
	for _, sec := range s {
		if strings.EqualFold(sec.Name, name) {
			return sec, true
		}
	}
	return INISection{}, false
}

func (s INISchema) names() []string {
	names := make([]string, len(s))
	for i, sec := range s {
		names[i] = sec.Name
	}
	return names
}

// homes are the sections that know the key, as messages show them.
func (s INISchema) homes(key string) string {
	var homes []string
	for _, sec := range s {
		if k, ok := sec.Key(key); ok && k.Legacy == "" && k.Kind != RefusedValue {
			homes = append(homes, sec.header())
		}
	}
	return strings.Join(homes, " or ")
}

// INIKeys are keys of one type.
func INIKeys(kind INIType, names ...string) []INIKey {
	keys := make([]INIKey, len(names))
	for i, name := range names {
		keys[i] = INIKey{Name: name, Kind: kind}
	}
	return keys
}
