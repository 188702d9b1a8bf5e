package confdoc

import (
	"regexp"
	"strings"
)

// libraryQuotes match what the scanner of the YAML libraries itself expects: ',' or '}'.
var libraryQuotes = regexp.MustCompile(`'.'|'<[a-z ]+>'`)

// YAMLReason returns the message of an error of a YAML library without what it quotes of the text. A text that cannot
// be read may be a secret that is not in quotes. Of a duplicate key, the key is kept.
func YAMLReason(message string) string {
	switch {
	case strings.Contains(message, "unknown anchor"):
		return "an alias has no anchor: put a value that starts with * in quotes"
	case strings.Contains(message, "contains itself"):
		return "the value of an anchor contains itself"
	case strings.Contains(message, " already set in map") && !strings.ContainsAny(message, "`'"):
		return message
	case strings.ContainsAny(libraryQuotes.ReplaceAllString(message, ""), "`\"'"), strings.Contains(message, "map key"):
		return "a value or a key does not fit here: put it in quotes"
	}
	return message
}
