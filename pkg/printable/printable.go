// Package printable makes strings safe to write to a terminal, and limits their length.
//
// Names of files, objects and keys, and values in a configuration, may contain escape sequences that make a terminal
// hide, overwrite or execute text.
package printable

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Line returns the text as one line: it escapes every control or formatting character as in a Go string.
func Line(text string) string { return escape(text, "") }

// Text keeps line breaks and tabs, and escapes every other control or formatting character as in a Go string.
func Text(text string) string {
	// A carriage return before a line break overwrites nothing.
	lines := strings.Split(text, "\r\n")
	for i := range lines {
		lines[i] = escape(lines[i], "\n\t")
	}
	return strings.Join(lines, "\r\n")
}

// JSON escapes the unsafe characters that encoding/json keeps in strings. text must be JSON.
func JSON(text string) string {
	return replace(text, "\n\t", func(r rune) string {
		if r > 0xffff {
			return "" // dropped: invisible on a terminal, without another effect
		}
		return fmt.Sprintf(`\u%04x`, r)
	})
}

// Cut limits a text to a number of characters. It keeps both ends of a longer text: the start of an error says what
// failed, and the end says why.
func Cut(text string, limit int) string {
	if utf8.RuneCountInString(text) <= limit {
		return text
	}
	runes := []rune(text)
	half := (limit - 1) / 2
	return string(runes[:limit-1-half]) + "…" + string(runes[len(runes)-half:])
}

func escape(text, kept string) string {
	return replace(text, kept, func(r rune) string {
		if strings.ContainsRune("\a\b\f\v", r) {
			return fmt.Sprintf(`\x%02x`, r)
		}
		return strings.Trim(strconv.QuoteRuneToASCII(r), "'")
	})
}

func replace(text, kept string, escaped func(rune) string) string {
	var b strings.Builder
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case isUnsafe(r) && !strings.ContainsRune(kept, r):
			b.WriteString(escaped(r))
		default:
			b.WriteString(text[i : i+size])
		}
		i += size
	}
	return b.String()
}

// isUnsafe reports whether a character is a control character, or reorders, hides or breaks the text around it.
func isUnsafe(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029'
}
