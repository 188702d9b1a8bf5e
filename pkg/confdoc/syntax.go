package confdoc

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/gcfg"
)

// SyntaxError is why a text cannot be read. The message contains the cause and the action, but neither a library's
// words nor a value, which may be a secret.
type SyntaxError struct {
	Position
	// SeeLine is the line of the first of two duplicate keys, otherwise 0.
	SeeLine int
	Message string
}

// unprintable returns an error for the first character that YAML rejects, or nil. mark permits a byte-order mark.
func unprintable(text []byte, mark bool) *SyntaxError {
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		isMark := mark && i == 0 && r == '\ufeff'
		if r == utf8.RuneError && size == 1 || !Printable(r) && !isMark {
			message := fmt.Sprintf("invalid character %U: remove it, or save the text as UTF-8", r)
			return &SyntaxError{Position: gcfg.At(text, i), Message: message}
		}
		i += size
	}
	return nil
}

// Printable reports whether all readers accept the character and interpret it in the same way.
func Printable(r rune) bool {
	switch {
	case r == '\t', r == '\n', r == '\r':
		return true
	case r < 0x20, r > 0x7e && r < 0xa0, r == '\ufeff', r == 0xfffe, r == 0xffff:
		return false
	}
	return true
}

// translation maps a part of a library's message to a reason for the author of a text.
type translation struct{ message, reason string }

func translate(message string, known []translation) string {
	for _, t := range known {
		if strings.Contains(message, t.message) {
			return t.reason
		}
	}
	return ""
}

var jsonReasons = []translation{
	{"looking for beginning of object key string", "a key in quotes is expected; JSON has no comments, and no comma " +
		"after the last key"},
	{"looking for beginning of value", "a value is expected: a string in quotes, a number, true, false, null, { or ["},
	{"after object key:value pair", "a comma or } is missing before this"},
	{"after object key", "a colon is missing after the key"},
	{"after array element", "a comma or ] is missing before this"},
	{"after top-level value", "the JSON ends before this: remove the rest, or look for an extra bracket"},
	{"in string literal", `a string has a line break or a control character: write \n, or close the quotes`},
	{"escape", `a backslash starts an unknown escape: write \\`},
	{"in literal", "a value is expected: true, false and null are the only words without quotes"},
	{"numeric literal", "this is not a number: put it in quotes"},
	{"unexpected end of JSON input", "the text ends too early: a closing bracket or quote is missing"},
	{"exceeded max depth", "too many brackets are open"},
	{"", "an unexpected character"},
}

var yamlReasons = []translation{
	{"unknown anchor", "an alias has no anchor: put a value that starts with * in quotes"},
	{"contains itself", containsItself},
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
	{"already", "duplicate key: keep one"},
}

const containsItself = "the value of an anchor contains itself: put a value that starts with * in quotes"

// jsonError returns the position and the reason of the first error in JSON, or nil if the text is valid JSON.
func jsonError(text []byte) *SyntaxError {
	var syntax *json.SyntaxError
	if err := json.Unmarshal(text, new(json.RawMessage)); !errors.As(err, &syntax) {
		return nil
	}
	at, message := max(0, int(syntax.Offset)-1), syntax.Error()
	if !strings.Contains(message, "' ") {
		at = min(at+1, len(text))
	}
	return &SyntaxError{Position: gcfg.At(text, at), Message: "invalid JSON: " + translate(message, jsonReasons)}
}

// startOfJSON matches a first key in quotes, or a comment, with which flow mappings in YAML rarely start.
var startOfJSON = regexp.MustCompile(`^\s*\{\s*["/]`)

// YAMLError returns the position and the reason of an error of a YAML library. The library reports only the start of
// the block around the defect, or no line at all. For JSON, it uses jsonError, because JSON may have a single line.
func YAMLError(text []byte, err error) *SyntaxError {
	if found := unprintable(text, true); found != nil {
		return found
	}
	if found := jsonError(text); found != nil && startOfJSON.Match(text) {
		return found
	}
	var document yaml.Node
	if yaml.Unmarshal(text, &document) == nil {
		if found := misfit(&document); found != nil {
			return found
		}
		if found := duplicate(&document); found != nil && strings.Contains(err.Error(), "already") {
			return found
		}
	}
	number, line, above := defectiveLine(text, err)
	reason := yamlReason(err.Error())
	if strings.Contains(err.Error(), "mapping values") && isWithoutColon(above, line) {
		number, line, reason = number-1, above, "there is no colon and space after the key, or a colon too many in the next "+
			"line: write key: value, or put the value in quotes"
	}
	indent := line[:len(line)-len(bytes.TrimLeft(line, " \t"))]
	at := Position{Line: number, Column: len(indent) + 1}
	if tab := bytes.IndexByte(indent, '\t'); tab >= 0 {
		at.Column, reason = tab+1, "a tab in the indentation: indent with spaces"
	}
	return &SyntaxError{Position: at, Message: "invalid YAML: " + reason}
}

// maxPrefixLines is the maximum number of lines for which defectiveLine parses all prefixes of the text.
const maxPrefixLines = 300

var colon = regexp.MustCompile(`:(\s|$)`)

// isWithoutColon reports whether YAML takes a line without a colon for the start of the key in the next line.
func isWithoutColon(line, next []byte) bool {
	return len(colon.FindAll(next, -1)) == 1 && !colon.Match(line) && !isBlankOrComment(line)
}

// defectiveLine returns the line after the longest prefix that can be parsed, or the line that the library names, and
// the one above it.
func defectiveLine(text []byte, err error) (number int, line, above []byte) {
	number, lines := lineOf(err), bytes.SplitAfter(text, []byte("\n"))
	if len(lines) <= maxPrefixLines && !isYAML(text) {
		number = len(lines)
		for number > 1 && !isYAML(bytes.Join(lines[:number-1], nil)) {
			number--
		}
	}
	for number < len(lines) && isBlankOrComment(lines[number-1]) {
		number++
	}
	last := min(number, len(lines)) - 1
	return number, lines[last], lines[max(0, last-1)]
}

func isYAML(text []byte) bool { return yaml.Unmarshal(text, new(yaml.Node)) == nil }

func isBlankOrComment(line []byte) bool {
	line = bytes.TrimSpace(line)
	return len(line) == 0 || line[0] == '#'
}

var (
	yamlLine   = regexp.MustCompile(`(?:^|: |\s)line (\d+): `)
	yamlPrefix = regexp.MustCompile(`^(error converting YAML to JSON: )?(yaml: )?`)
	// libraryQuotes match what the libraries' scanner expects, for example ',' or '}'.
	libraryQuotes = regexp.MustCompile(`'.'|'<[a-z ]+>'`)
)

// lineOf returns the line that an error of a YAML library names, or 1.
func lineOf(err error) int {
	found := yamlLine.FindStringSubmatch(err.Error())
	if found == nil {
		return 1
	}
	line, _ := strconv.Atoi(found[1]) // the pattern has digits only
	return line
}

// yamlReason translates a message of a YAML library, without the parts of the text that it quotes.
func yamlReason(message string) string {
	if reason := translate(message, yamlReasons); reason != "" {
		return reason
	}
	if found := yamlLine.FindStringIndex(message); found != nil {
		message = message[found[1]:]
	}
	message = yamlPrefix.ReplaceAllString(message, "")
	if strings.ContainsAny(libraryQuotes.ReplaceAllString(message, ""), "`\"'\n") ||
		strings.Contains(message, "map key") {
		return "an alias, an anchor, a tag or a key does not fit here: put the value in quotes"
	}
	return message
}

func errorAt(n *yaml.Node, format string, args ...any) *SyntaxError {
	return &SyntaxError{Position: Position{Line: n.Line, Column: n.Column}, Message: fmt.Sprintf(format, args...)}
}

func duplicate(n *yaml.Node) *SyntaxError {
	first := map[string]*yaml.Node{}
	for i, child := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			if before := first[child.Value]; before != nil && child.Kind == yaml.ScalarNode {
				found := errorAt(child, "duplicate key %s: keep one", Quoted(child.Value))
				found.SeeLine = before.Line
				return found
			}
			first[child.Value] = child
			continue
		}
		if found := duplicate(child); found != nil {
			return found
		}
	}
	return nil
}

// misfit returns an error for the first node that YAML's grammar permits but that has no value, or nil.
func misfit(n *yaml.Node, above ...*yaml.Node) *SyntaxError {
	above = append(above, n)
	for i, child := range n.Content {
		reason := ""
		switch {
		case n.Kind == yaml.MappingNode && i%2 == 0:
			reason = misfitOfKey(child, n.Content[i+1])
		case child.Kind == yaml.AliasNode && slices.Contains(above, child.Alias):
			reason = containsItself
		case child.Kind == yaml.ScalarNode && child.Style&yaml.TaggedStyle != 0 && child.Decode(new(any)) != nil:
			reason = "the value does not have the type that the exclamation marks name: put all of it in quotes"
		}
		if reason != "" {
			return errorAt(child, "invalid YAML: %s", reason)
		}
		if found := misfit(child, above...); found != nil {
			return found
		}
	}
	return nil
}

func misfitOfKey(key, value *yaml.Node) string {
	switch {
	case key.Kind == yaml.MappingNode, key.Kind == yaml.SequenceNode:
		return "a list or a mapping cannot be a key: put it in quotes"
	case key.Tag == "!!merge" && value.Kind == yaml.ScalarNode:
		return "the key << merges a mapping, and this is none: put the key in quotes"
	}
	return ""
}

// JSONReason translates an error of encoding/json for the author of a text, without the library's words and without the
// value, which may be a secret.
func JSONReason(err error) string {
	var wrongType *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &wrongType):
		is, wants := JSONTypes(wrongType)
		reason := fmt.Sprintf("%s where %s must be", is, wants)
		if wrongType.Field == "" {
			return reason
		}
		// The library does not name keys of maps, so the value may be below the field.
		return fmt.Sprintf("in %s: %s", wrongType.Field, reason)
	case errors.As(err, &syntax):
		return "it is not valid JSON"
	}
	return strings.TrimPrefix(err.Error(), "json: ") // unknown field "x"
}

// JSONTypes describes the type of a value and the expected type.
func JSONTypes(wrong *json.UnmarshalTypeError) (is, wants string) {
	kind, _, _ := strings.Cut(wrong.Value, " ") // a number comes with its digits
	is = cmp.Or(map[string]string{"object": "a mapping", "array": "a list", "bool": "a boolean"}[kind], "a "+kind)
	wants = map[reflect.Kind]string{
		reflect.String: "a string", reflect.Struct: "a mapping", reflect.Map: "a mapping", reflect.Slice: "a list",
		reflect.Bool: "true or false", reflect.Int32: "a number", reflect.Int64: "a number",
	}[wrong.Type.Kind()]
	if wrong.Type == reflect.TypeFor[[]byte]() {
		wants = "a string in base64"
	}
	return is, cmp.Or(wants, "a "+wrong.Type.String())
}
