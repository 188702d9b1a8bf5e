// Package gcfg reads and writes the Git-like configuration format that gopkg.in/gcfg.v1 defines and several cloud
// providers read.
//
// That library stops at the first error, gives no position for a value that it rejects, and reads only into Go structs.
// This parser accepts exactly the texts that the library's scanner and grammar accept, keeps the order, records all
// positions, and reports all errors at once. It does not know sections, keys or types; its callers do.
package gcfg

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// Position is a position in a text. Line and column are 1-based; the column counts characters.
type Position struct {
	Line, Column int
}

// At returns the position of a byte offset.
func At(text []byte, offset int) Position {
	before := text[:offset]
	return Position{
		Line:   1 + bytes.Count(before, []byte("\n")),
		Column: 1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]),
	}
}

// Entry is one line of a section: a key with a value, or a key alone.
type Entry struct {
	// Name is the key as written. Keys are not case-sensitive.
	Name string
	// Value is the value with quotes and escapes resolved. It is empty if Blank is set.
	Value string
	// Blank means that the key has no equals sign, which differs from an empty value.
	Blank bool
	Pos   Position
	// ValuePos is where the value starts. It equals Pos if Blank is set.
	ValuePos Position
	// Comment is where a comment starts that looks like a part of the value, as no whitespace separates them, or zero.
	Comment Position
}

// Section is a header with the entries that follow it.
type Section struct {
	// Name is the section's name as written. Names are not case-sensitive. In a broken header it is what could be read.
	Name string
	// Subsection is the quoted second part of the header with its escapes resolved, empty if there is none.
	Subsection string
	Pos        Position
	Entries    []Entry
}

// Error is one reason why the library rejects the text.
type Error struct {
	Pos Position
	// Message states the cause and the action. It contains no part of a value.
	Message string
	// Name is the invalid key, if that is the error. It may be the rest of a value: use it as a hint, but do not show it.
	Name string
}

var (
	valueEscapes      = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`)
	subsectionEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`)
)

// Quote returns the value as it can follow an equals sign, quoted if needed. The format cannot represent a carriage
// return or NUL; Parse never returns a value that contains one.
func Quote(value string) string {
	if value != "" && !strings.ContainsAny(value, "\"\\;#\n\t\r") && strings.Trim(value, " ") == value {
		return value
	}
	return `"` + valueEscapes.Replace(value) + `"`
}

// Format returns the sections as text, from which Parse reads the same names and values.
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
