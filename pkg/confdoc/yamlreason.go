package confdoc

import (
	"regexp"
	"strings"
)

// libraryQuotes match what the scanner of the YAML libraries itself expects: ',' or '}'.
var libraryQuotes = regexp.MustCompile(`'.'|'<[a-z ]+>'`)

// yamlReasons are the YAML libraries' messages and what they mean for the author of a text.
var yamlReasons = []struct{ message, reason string }{
	{"unknown anchor", "an alias has no anchor: put a value that starts with * in quotes"},
	{"contains itself", "the value of an anchor contains itself"},
	{"did not find expected key", "a key is expected here: check the indentation and the colons"},
	{"could not find expected ':'", "there is no colon after the key: write key: value"},
	{"mapping values are not allowed", "there is a second colon, or the indentation is wrong: " +
		"put the value in quotes or correct the indentation"},
	{"block sequence entries are not allowed", "a list cannot start here: start it on a line of its own"},
	{"did not find expected '-' indicator", "this is not an item of the list above: check the indentation"},
	{"did not find expected ',' or", "a comma or a closing bracket is missing"},
	{"did not find expected node content", "a value is expected here: check the brackets, or put the value in quotes"},
	{"unknown directive", "a line cannot start with % here: put the value in quotes"},
	{"expected tag URI", "a value cannot start with ! here: put it in quotes"},
	{"excessive aliasing", "the aliases repeat too much: write the values themselves"},
	{"exceeded max depth", "the values are nested too deeply"},
	{"unsupported value", "a number cannot be infinite: put the value in quotes"},
	{"found unexpected end of stream", "the text ends inside quotes: close them"},
	{"found unexpected document indicator", "the document ends inside quotes: close them"},
	{"found character that cannot start any token", "a value cannot start with this character: put it in quotes"},
	{"found unknown escape character", `a backslash in double quotes starts an escape: write \\`},
	{"while scanning an anchor", "a value cannot start with & here: put it in quotes"},
	{"while scanning an alias", "a value cannot start with * here: put it in quotes"},
}

// unprefixed returns a message of a YAML library without the prefixes that the libraries add.
func unprefixed(message string) string {
	return strings.TrimPrefix(strings.TrimPrefix(message, "error converting YAML to JSON: "), "yaml: ")
}

// YAMLReason returns the message of an error of a YAML library without what it quotes of the text. A text that cannot
// be read may be a secret that is not in quotes. Of a duplicate key, the key is kept.
func YAMLReason(message string) string {
	message = unprefixed(message)
	for _, known := range yamlReasons {
		if strings.Contains(message, known.message) {
			return known.reason
		}
	}
	switch {
	case strings.Contains(message, " already set in map") && !strings.ContainsAny(message, "`'"):
		return message
	case strings.ContainsAny(libraryQuotes.ReplaceAllString(message, ""), "`\"'"), strings.Contains(message, "map key"):
		return "a value or a key does not fit here: put it in quotes"
	}
	return message
}
