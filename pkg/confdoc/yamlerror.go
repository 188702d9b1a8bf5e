package confdoc

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

var yamlLine = regexp.MustCompile(`(?:^|: )line (\d+): `)

// YAMLErrorLine is the line that a message of the library names; 0 when there is none.
func YAMLErrorLine(message string) int {
	m := yamlLine.FindStringSubmatch(message)
	if m == nil {
		return 0
	}
	line, err := strconv.Atoi(m[1])
	if err != nil {
		return 0
	}
	return line
}

// YAMLProblem is what the library says without its place and without parts of the text.
func YAMLProblem(err error) string {
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	if YAMLErrorLine(message) > 0 {
		_, message, _ = strings.Cut(message, ": ")
	}
	switch {
	case strings.Contains(message, "anchor"):
		return `a value starts with "*" or "&", which makes it an alias or an anchor: put it in quotes`
	case strings.ContainsAny(message, "`\"") || strings.Contains(message, "invalid map key"):
		return `a key or value does not fit the tag ("!!…") before it: remove the tag or put the value in quotes`
	}
	return message
}

// YAMLTypeProblem is what a type error of the library says, without the value that it quotes.
func YAMLTypeProblem(message string) string {
	if strings.Contains(message, "already defined at line") {
		return "the key stands twice in the same mapping: remove one of them"
	}
	switch target := message[strings.LastIndexByte(message, ' ')+1:]; {
	case target == "string":
		return "there has to be a text here, not a mapping or a list"
	case target == "bool":
		return "there has to be true or false here"
	case strings.HasPrefix(target, "[]"):
		return "there has to be a list here"
	}
	return "there has to be a mapping here"
}

// mostLines is up to how many lines yamlErrorPlace reads one beginning after the other.
const mostLines = 300

// YAMLErrorPlace finds where a text stops being YAML. The library names the start of the block around the error, or
// nothing; the first line behind the longest beginning that can be read is nearer.
func YAMLErrorPlace(text []byte, err error) (line, column int) {
	if _, after, ok := strings.Cut(err.Error(), "unknown anchor '"); ok {
		name, _, _ := strings.Cut(after, "'")
		return Position(text, max(0, bytes.Index(text, []byte("*"+name))))
	}
	lines := bytes.SplitAfter(text, []byte("\n"))
	if len(lines) > mostLines {
		line = max(1, YAMLErrorLine(err.Error()))
		return line, max(1, FirstColumn(text, line))
	}
	readable := len(lines) - 1
	for ; readable > 0; readable-- {
		var ignored yaml.Node
		if yaml.Unmarshal(bytes.Join(lines[:readable], nil), &ignored) == nil {
			break
		}
	}
	for line = readable + 1; line < len(lines) && FirstColumn(text, line) == 0; {
		line++
	}
	return line, max(1, FirstColumn(text, line))
}

// TabIndents reports whether a tab is in the indentation of the line, which YAML forbids.
func TabIndents(text []byte, line int) bool {
	return bytes.ContainsRune(lineOf(text, line)[:max(0, FirstColumn(text, line)-1)], '\t')
}

// lineOf is a line of the text, which starts with line 1; nil when there is no such line.
func lineOf(text []byte, line int) []byte {
	lines := bytes.SplitN(text, []byte("\n"), line+1)
	if line < 1 || line > len(lines) {
		return nil
	}
	return lines[line-1]
}

// FirstColumn is the column of the first character of the line that is not blank; 0 when there is none or it starts a comment.
func FirstColumn(text []byte, line int) int {
	whole := lineOf(text, line)
	trimmed := bytes.TrimLeft(whole, " \t\r")
	if len(trimmed) == 0 || trimmed[0] == '#' {
		return 0
	}
	return len(whole) - len(trimmed) + 1
}
