// Package gcfg reads and writes the Git-like configuration format that gopkg.in/gcfg.v1 defines, and which several
// cloud providers read.
//
// That library stops at the first error, gives no position for a value that it refuses, and reads into Go structs only.
// This reader accepts exactly the texts that the library's scanner and grammar accept, keeps the order, knows where
// everything stands, and reports every error at once. It knows no sections, keys or types: those are its caller's.
package gcfg

import "strings"

// Position is a place in a text: line and column are 1-based, the column counts characters.
type Position struct {
	Line, Column int
}

// Entry is one line of a section: a key with a value, or a key alone.
type Entry struct {
	// Name is the key as it was written; keys are compared without regard to case.
	Name string
	// Value is the value with quotes and escapes resolved; empty when Blank.
	Value string
	// Blank tells that the key stands alone, without an equals sign. That is not the same as an empty value.
	Blank bool
	// Pos is where the key starts.
	Pos Position
	// ValuePos is where the value starts; the same as Pos when Blank.
	ValuePos Position
}

// Section is a header with the entries below it.
type Section struct {
	// Name is the section's name as it was written; names are compared without regard to case.
	Name string
	// Subsection is the quoted second part of the header with its escapes resolved; empty when there is none.
	Subsection string
	// Pos is where the header starts.
	Pos Position
	// Broken tells that the header has an error and that Name and Subsection are what could be made out of it.
	Broken bool
	// Entries are in the order of the text.
	Entries []Entry
}

// Error is one reason for which the library refuses the text.
type Error struct {
	Pos Position
	// Message says what is wrong and what to do. It holds no part of a value.
	Message string
	// Name is the text that stands where a key was expected, when that is what is wrong. It may be the second half of
	// a value: it is for finding the key that was meant, not for showing.
	Name string
}

// bare tells whether the value means itself when written without quotes.
func bare(value string) bool {
	return value != "" && !strings.ContainsAny(value, "\"\\;#\n\t\r") && strings.Trim(value, " ") == value
}

var (
	valueEscapes      = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`)
	subsectionEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`)
)

// Quote is the value as it can stand behind an equals sign, quoted where needed. A carriage return and NUL cannot be
// written in this format; Parse never returns a value that holds one.
func Quote(value string) string {
	if bare(value) {
		return value
	}
	return `"` + valueEscapes.Replace(value) + `"`
}

// Format writes the sections. Parse reads back the same names and values from what it wrote.
func Format(sections []Section) []byte {
	var b strings.Builder
	for i, s := range sections {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString("[" + s.Name)
		if s.Subsection != "" {
			b.WriteString(` "` + subsectionEscapes.Replace(s.Subsection) + `"`)
		}
		b.WriteString("]\n")
		for _, e := range s.Entries {
			b.WriteString(e.Name)
			if !e.Blank {
				b.WriteString(" = " + Quote(e.Value))
			}
			b.WriteByte('\n')
		}
	}
	return []byte(b.String())
}
