package gcfg_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/gcfg"
)

func at(line, column int) gcfg.Position { return gcfg.Position{Line: line, Column: column} }

func TestParseReadsSectionsAndEntries(t *testing.T) {
	text := "; comment\n[Global] # comment\n\tregion = one ; comment\n  blank\nempty =\n" +
		"[Class \"a \\\"b\\\" \\\\\"]\r\nkey=v\r\n"
	sections, errs := gcfg.Parse([]byte(text))
	require.Empty(t, errs)
	require.Equal(t, []gcfg.Section{
		{Name: "Global", Pos: at(2, 1), Entries: []gcfg.Entry{
			{Name: "region", Value: "one", Pos: at(3, 2), ValuePos: at(3, 11)},
			{Name: "blank", Blank: true, Pos: at(4, 3), ValuePos: at(4, 3)},
			{Name: "empty", Pos: at(5, 1), ValuePos: at(5, 8)},
		}},
		{Name: "Class", Subsection: `a "b" \`, Pos: at(6, 1), Entries: []gcfg.Entry{
			{Name: "key", Value: "v", Pos: at(7, 1), ValuePos: at(7, 5)},
		}},
	}, sections)
}

func TestParseFindsCommentsThatLookLikeAPartOfTheValue(t *testing.T) {
	for written, column := range map[string]int{
		"a#b": 5, "a;b": 5, "#b": 4, `"a"b#c`: 8,
		"a; b": 0, "a;\tb": 0, "a;": 5, "a# b": 5,
		"a # b": 0, "a #b": 0, "# b": 0, "#": 0, "a#": 5, "## b": 0, `"a#b"`: 0, `"a"#b`: 0, "a": 0,
	} {
		sections, errs := gcfg.Parse([]byte("[s]\nk =" + written + "\n"))
		require.Empty(t, errs)
		want := gcfg.Position{}
		if column > 0 {
			want = at(2, column)
		}
		require.Equal(t, want, sections[0].Entries[0].Comment, written)
	}
}

func TestParseResolvesValues(t *testing.T) {
	for name, c := range map[string]struct{ written, value string }{
		"whitespace around the value is dropped":                      {"  a b \t", "a b"},
		"whitespace inside quotes is kept":                            {`" a "`, " a "},
		"a number sign ends the value without a space":                {"a#b", "a"},
		"a semicolon ends the value":                                  {"a ; b", "a"},
		"quotes keep number sign and semicolon":                       {`"a#b;c"`, "a#b;c"},
		"quotes may open and close in the middle":                     {`a"b c"d`, "ab cd"},
		"escapes inside quotes are resolved":                          {`"\\ \" \n \t"`, "\\ \" \n \t"},
		"an escaped quote outside quotes is a quote":                  {`a\"b`, `a"b`},
		"a backslash at the end of a line continues the value":        {"a\\\n  b", "a  b"},
		"a backslash before CRLF continues the value":                 {"a \\\r\nb", "a b"},
		"a carriage return inside is dropped":                         {"a\rb", "ab"},
		"an equals sign and brackets are literal":                     {"=[a]=", "=[a]="},
		"single quotes are literal":                                   {"'a'", "'a'"},
		"characters beyond ASCII are literal":                         {"Zürich ☃", "Zürich ☃"},
		"whitespace after the last quote is dropped":                  {`"a"  `, "a"},
		"a continued value keeps the whitespace before the backslash": {"a  \\\n", "a  "},
		"empty quotes are an empty string":                            {`""`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			sections, errs := gcfg.Parse([]byte("[s]\nk =" + c.written + "\n"))
			require.Empty(t, errs)
			require.Len(t, sections[0].Entries, 1)
			require.Equal(t, c.value, sections[0].Entries[0].Value)
			require.False(t, sections[0].Entries[0].Blank)
		})
	}
}

func TestParseReportsEveryError(t *testing.T) {
	for name, c := range map[string]struct {
		text   string
		errors []gcfg.Error
	}{
		"an unclosed header": {"[Global\na = 1\n", []gcfg.Error{
			{Pos: at(1, 1), Message: `the header of section [Global] is not closed: write "]" after the name`}}},
		"a header without a name": {"[]\n", []gcfg.Error{
			{Pos: at(1, 1), Message: `no section name after "[": write [Name], where the name starts with a letter`}}},
		"a second name without quotes": {"[Class gold]\na = 1\n", []gcfg.Error{
			{Pos: at(1, 1), Message: `the second name in the header of section [Class] has no quotes: write [Class "gold"]`}}},
		"text after a header": {"[Global] a = 1\n", []gcfg.Error{
			{Pos: at(1, 1), Message: "there is text after the section header: " +
				"start a new line after the closing bracket"}}},
		"an unclosed quoted name": {"[Class \"x]\n", []gcfg.Error{
			{Pos: at(1, 1), Message: `the quoted name in the header of section [Class] is not closed or has an ` +
				`escape other than \\ and \"`}}},
		"an empty quoted name": {"[Class \"\"]\n", []gcfg.Error{
			{Pos: at(1, 1), Message: `the quoted name in the header of section [Class] is empty: ` +
				`write a name or remove the quotes`}}},
		"keys before the first section": {"a = 1\nb = 2\n", []gcfg.Error{
			{Pos: at(1, 1), Message: "there is a key before the first section: " +
				"write a header such as [Global] above it"}}},
		"a colon instead of an equals sign": {"[s]\nauth-url: x\n", []gcfg.Error{
			{Pos: at(2, 9), Name: "auth-url", Message: `there is no "=" after the key: write key = value`}}},
		"an underscore in a key": {"[s]\nauth_url = x\n", []gcfg.Error{
			{Pos: at(2, 1), Name: "auth_url",
				Message: `this is not a key: a key starts with a letter and has letters, digits and "-" only`}}},
		"a line that is neither a header nor a key": {"[s]\n{json}\n", []gcfg.Error{
			{Pos: at(2, 1), Message: `this line is neither a section header, nor "key = value", nor a comment`}}},
		"unclosed quotes": {"[s]\na = \"x\nb = y\"\n", []gcfg.Error{
			{Pos: at(2, 5), Message: `the quotes in the value of "a" are not closed on the same line: ` +
				`close them, and write \" for a quote inside them`},
			{Pos: at(3, 5), Message: `the quotes in the value of "b" are not closed on the same line: ` +
				`close them, and write \" for a quote inside them`}}},
		"an unknown escape": {"[s]\na = \"C:\\dir\"\n", []gcfg.Error{
			{Pos: at(2, 8), Message: `the value of "a" has an unknown escape (the known ones are \\, \", \n and \t): ` +
				`write \\ for a backslash`}}},
		"a backslash outside quotes": {"[s]\na = C:\\dir\n", []gcfg.Error{
			{Pos: at(2, 7), Message: `the value of "a" has a backslash outside quotes that is followed by neither a ` +
				`quote nor the end of the line: put the value in quotes and write \\`}}},
		"a byte-order mark and a further error": {"\ufeff[s]\na_b = 1\n", []gcfg.Error{
			{Pos: at(1, 1), Message: "the text starts with a byte-order mark, which is not allowed: " +
				"save it as UTF-8 without one"},
			{Pos: at(2, 1), Name: "a_b",
				Message: `this is not a key: a key starts with a letter and has letters, digits and "-" only`}}},
		"a byte-order mark in front of a later header": {"[s]\n\ufeff[t]\na_b = 1\n", []gcfg.Error{
			{Pos: at(2, 1), Message: "there is a byte-order mark here, which is not allowed: remove it"},
			{Pos: at(3, 1), Name: "a_b",
				Message: `this is not a key: a key starts with a letter and has letters, digits and "-" only`}}},
		"a NUL byte": {"[s]\n# ü\x00\n", []gcfg.Error{
			{Pos: at(2, 4), Message: "there is a NUL byte here: this is binary data or UTF-16, not UTF-8 text"}}},
		"bytes that are not UTF-8": {"[s]\n# ü \xff\n", []gcfg.Error{
			{Pos: at(2, 5), Message: "the text is not UTF-8 from here on: save it as UTF-8"}}},
		"several lines": {"[s\n1 = 2\nok = 1\n-x\n", []gcfg.Error{
			{Pos: at(1, 1), Message: `the header of section [s] is not closed: write "]" after the name`},
			{Pos: at(2, 1), Name: "1",
				Message: `this is not a key: a key starts with a letter and has letters, digits and "-" only`},
			{Pos: at(4, 1), Message: `this line is neither a section header, nor "key = value", nor a comment`}}},
	} {
		t.Run(name, func(t *testing.T) {
			_, errs := gcfg.Parse([]byte(c.text))
			require.Equal(t, c.errors, errs)
		})
	}
}

func TestParseContinuesAfterABrokenHeader(t *testing.T) {
	sections, errs := gcfg.Parse([]byte("[Global\na = 1\n"))
	require.Len(t, errs, 1)
	require.Equal(t, []gcfg.Section{{Name: "Global", Pos: at(1, 1), Entries: []gcfg.Entry{
		{Name: "a", Value: "1", Pos: at(2, 1), ValuePos: at(2, 5)}}}}, sections)
}

func TestQuoteAddsQuotesOnlyIfNeeded(t *testing.T) {
	for value, written := range map[string]string{
		"":             `""`,
		"plain":        "plain",
		"two words":    "two words",
		"http://a/?b=": "http://a/?b=",
		" a":           `" a"`,
		"a ":           `"a "`,
		"a#b":          `"a#b"`,
		"a;b":          `"a;b"`,
		`a"b`:          `"a\"b"`,
		`a\b`:          `"a\\b"`,
		"a\nb":         `"a\nb"`,
		"a\tb":         `"a\tb"`,
		"'a'":          "'a'",
	} {
		require.Equal(t, written, gcfg.Quote(value))
	}
}

func TestFormatSeparatesSections(t *testing.T) {
	require.Equal(t, "[Global]\na = 1\nb\n\n[Class \"x \\\"y\\\" \\\\\"]\nc = \"\"\n",
		string(gcfg.Format([]gcfg.Section{
			{Name: "Global", Entries: []gcfg.Entry{{Name: "a", Value: "1"}, {Name: "b", Blank: true}}},
			{Name: "Class", Subsection: `x "y" \`, Entries: []gcfg.Entry{{Name: "c"}}},
		})))
}

// FuzzParse checks that a text without errors can be written and read back with the same names and values, and that
// every error has a position inside the text.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"[S]\na = 1\n",
		"[S \"x\"]\na = \"b\\\"c\" d ; e\nb\n", "[T]\r\na= x\\\r\n y\r\n", "[S\n", "a=1", "[S]\na=\"x\ny\"\n",
		"[s \"a\\\\\\\"\"]#c\nb=\\\"\n", "[T]\na==b\na=\"\"\na=\"a\\tb\\n\"", "\ufeff[T]\n", "[T]\na_b=1\nä=1\n",
		"[T] a=1", "\x00", "\xff",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		sections, errs := gcfg.Parse([]byte(text))
		lines := strings.Count(text, "\n") + 1
		for _, e := range errs {
			require.NotEmpty(t, e.Message)
			require.LessOrEqual(t, 1, e.Pos.Line)
			require.LessOrEqual(t, e.Pos.Line, lines)
			require.LessOrEqual(t, 1, e.Pos.Column)
		}
		if len(errs) > 0 {
			return
		}
		again, errs := gcfg.Parse(gcfg.Format(sections))
		require.Empty(t, errs)
		require.Equal(t, withoutPositions(sections), withoutPositions(again))
	})
}

func withoutPositions(sections []gcfg.Section) []gcfg.Section {
	out := make([]gcfg.Section, len(sections))
	for i, s := range sections {
		out[i] = gcfg.Section{Name: s.Name, Subsection: s.Subsection}
		for _, e := range s.Entries {
			out[i].Entries = append(out[i].Entries, gcfg.Entry{Name: e.Name, Value: e.Value, Blank: e.Blank})
		}
	}
	return out
}
