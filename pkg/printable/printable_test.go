package printable

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhatATerminalWouldObeyIsEscaped(t *testing.T) {
	for name, tc := range map[string]struct{ text, line, whole string }{
		"plain text stays":          {"Zürich ☃ 😀 a\\b", "Zürich ☃ 😀 a\\b", "Zürich ☃ 😀 a\\b"},
		"an escape sequence":        {"a\x1b[2Jb", `a\x1b[2Jb`, `a\x1b[2Jb`},
		"the 8-bit sequence":        {"a\u009b2Jb", `a\u009b2Jb`, `a\u009b2Jb`},
		"a raw byte of 8 bits":      {"a\x9b2J", `a\x9b2J`, `a\x9b2J`},
		"a backspace, a bell, DEL":  {"\b\a\x7f", `\x08\x07\x7f`, `\x08\x07\x7f`},
		"a carriage return":         {"a\rb", `a\rb`, `a\rb`},
		"the end of a Windows line": {"a\r\nb", `a\r\nb`, "a\r\nb"},
		"a line break and a tab":    {"a\n\tb", `a\n\tb`, "a\n\tb"},
		"a change of direction":     {"a\u202eb\u2066", `a\u202eb\u2066`, `a\u202eb\u2066`},
		"a space without width":     {"a\u200bb\ufeff", `a\u200bb\ufeff`, `a\u200bb\ufeff`},
		"an invisible tag":          {"a\U000e0041", `a\U000e0041`, `a\U000e0041`},
		"a line break of Unicode":   {"a\u2028b\u0085", `a\u2028b\u0085`, `a\u2028b\u0085`},
		"the replacement character": {"\ufffd", "\ufffd", "\ufffd"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.line, Line(tc.text))
			require.Equal(t, tc.whole, Text(tc.text))
		})
	}
	require.Equal(t, //nolint:testifylint // the bytes count, not what they mean
		"{\n\t\"a\\u009b\": \"\\u202e\\u007f\"}", JSON("{\n\t\"a\u009b\": \"\u202e\x7f\"}"))
}
