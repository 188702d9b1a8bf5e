package document

import (
	"bytes"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// byteOrderMark may start a file; the YAML library does not count it as a character.
var byteOrderMark = []byte("\ufeff")

func runes(data []byte) []rune {
	return []rune(string(bytes.TrimPrefix(data, byteOrderMark)))
}

// cursor reads a document character by character as the YAML library does, which follows YAML 1.1 in what ends a line.
type cursor struct {
	source []rune
	next   int
	place  Place
}

// end is what peek returns behind the last character.
const end = -1

func (c *cursor) peek() rune { return c.peekAt(0) }

func (c *cursor) peekAt(offset int) rune {
	if c.next+offset >= len(c.source) {
		return end
	}
	return c.source[c.next+offset]
}

func (c *cursor) isBlank() bool { return c.peek() == ' ' || c.peek() == '\t' }

func (c *cursor) isBreak() bool { return strings.ContainsRune("\r\n\u0085\u2028\u2029", c.peek()) }

// isBreakOrEnd tells whether there is nothing more on the line.
func (c *cursor) isBreakOrEnd() bool { return c.peek() == end || c.isBreak() }

// read returns a character and where it stands. The two characters that end a line on Windows are one.
func (c *cursor) read() (rune, Place) {
	character, place := c.peek(), c.place
	if !c.isBreak() {
		c.next++
		c.place.Column++
		return character, place
	}
	if character == '\r' && c.peekAt(1) == '\n' {
		c.next++
	}
	c.next++
	c.place = Place{place.Line + 1, 1}
	if character == '\r' || character == '\u0085' {
		character = '\n'
	}
	return character, place
}

func (c *cursor) skipWhile(condition func() bool) {
	for condition() {
		c.read()
	}
}

// goTo moves forward to a place.
func (c *cursor) goTo(place Place) {
	c.skipWhile(func() bool { return c.peek() != end && c.place.Line < place.Line })
	c.skipWhile(func() bool { return !c.isBreakOrEnd() && c.place.Column < place.Column })
}

// skipProperties passes over an anchor and a tag.
func (c *cursor) skipProperties() {
	for c.peek() == '&' || c.peek() == '!' {
		c.skipWhile(func() bool { return !c.isBlank() && !c.isBreakOrEnd() })
		c.skipWhile(func() bool { return c.isBlank() || c.isBreak() })
	}
}

// readScalar reads the scalar that the YAML library found, and tells whether both read the same.
func readScalar(source []rune, node *yaml.Node, indent int) (Text, bool) {
	c := &cursor{source: source, place: Place{1, 1}}
	c.goTo(Place{node.Line, node.Column})
	c.skipProperties()
	text := c.scalarText(node, indent)
	return text, string(text.characters) == node.Value
}

// scalarText reads a scalar from its first character.
func (c *cursor) scalarText(node *yaml.Node, indent int) Text {
	var text Text
	switch {
	case node.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		text = c.block(indent)
	case node.Style&yaml.DoubleQuotedStyle != 0:
		c.read()
		text = c.flow('"', len(node.Value))
	case node.Style&yaml.SingleQuotedStyle != 0:
		c.read()
		text = c.flow('\'', len(node.Value))
	default:
		text = c.flow(0, len(node.Value))
	}
	return text
}

// block reads a literal or folded block. Its rules for ends of lines are those of YAML's reference implementation.
func (c *cursor) block(parentIndent int) Text {
	var text, leading, trailing Text // leading is the end of the line before, trailing are the empty lines after it
	indicator, _ := c.read()
	indent, chomping := c.blockHeader(parentIndent)
	indent = c.blockBreaks(indent, parentIndent, &trailing)
	leadingBlank := false
	for c.place.Column-1 == indent && c.peek() != end {
		text.join(leading, trailing, indicator == '>' && !leadingBlank && !c.isBlank())
		leading, trailing = Text{}, Text{}
		leadingBlank = c.isBlank()
		for !c.isBreakOrEnd() {
			character, place := c.read()
			text.add(place, character)
		}
		if c.isBreak() {
			character, place := c.read()
			leading.add(place, character)
		}
		indent = c.blockBreaks(indent, parentIndent, &trailing)
	}
	if chomping != '-' {
		text.append(leading)
	}
	if chomping == '+' {
		text.append(trailing)
	}
	return text
}

// join adds the end of the line before and the empty lines after it. Where lines are folded the end becomes a blank, or nothing
// before empty lines.
func (t *Text) join(leading, trailing Text, folds bool) {
	switch {
	case !folds || len(leading.characters) == 0 || leading.characters[0] != '\n':
		t.append(leading)
	case len(trailing.characters) == 0:
		t.add(leading.places[0], ' ')
	}
	t.append(trailing)
}

// blockHeader reads what follows the indicator on its line. An indentation of 0 is to be found out.
func (c *cursor) blockHeader(parentIndent int) (indent int, chomping rune) {
	for ; !c.isBreakOrEnd() && !c.isBlank(); c.read() {
		if c.peek() >= '1' && c.peek() <= '9' {
			indent = parentIndent + int(c.peek()-'0')
		} else {
			chomping = c.peek()
		}
	}
	c.skipWhile(func() bool { return !c.isBreakOrEnd() })
	if c.isBreak() {
		c.read()
	}
	return indent, chomping
}

// blockBreaks passes over indentation and collects empty lines. It returns the indentation, which the first line that has
// text decides where it is 0.
func (c *cursor) blockBreaks(indent, parentIndent int, breaks *Text) int {
	deepest := 0
	for {
		c.skipWhile(func() bool { return (indent == 0 || c.place.Column <= indent) && c.peek() == ' ' })
		deepest = max(deepest, c.place.Column-1)
		if !c.isBreak() {
			break
		}
		character, place := c.read()
		breaks.add(place, character)
	}
	if indent == 0 {
		return max(deepest, parentIndent+1, 1)
	}
	return indent
}

// flow reads a scalar that is no block, until its quote or until it has the wanted length in bytes: where a plain one ends
// is for the library to say. A plain one has the quote 0, which no document has.
func (c *cursor) flow(quote rune, wanted int) Text {
	var text Text
	for text.size < wanted && c.peek() != end {
		switch {
		case c.isBlank() || c.isBreak():
			c.fold(&text, false)
		case quote == '"' && c.peek() == '\\':
			c.escape(&text)
		case quote == '\'' && c.peek() == '\'' && c.peekAt(1) == '\'':
			character, place := c.read()
			c.read()
			text.add(place, character)
		case c.peek() == quote:
			return text
		default:
			character, place := c.read()
			text.add(place, character)
		}
	}
	return text
}

// fold reads blanks and ends of lines: the first end of a line becomes a blank unless empty lines follow. It becomes nothing
// where it was escaped, which the caller has seen and read then.
func (c *cursor) fold(text *Text, escaped bool) {
	var blanks, leading, trailing Text
	inNextLine := escaped
	for c.isBlank() || c.isBreak() {
		isBreak := c.isBreak()
		character, place := c.read()
		switch {
		case isBreak && !inNextLine:
			leading.add(place, character)
			inNextLine = true
		case isBreak:
			trailing.add(place, character)
		case !inNextLine:
			blanks.add(place, character)
		}
	}
	switch {
	case !inNextLine:
		text.append(blanks)
	case len(leading.characters) == 0 || leading.characters[0] != '\n':
		text.append(leading)
		text.append(trailing)
	case len(trailing.characters) == 0:
		text.add(leading.places[0], ' ')
	default:
		text.append(trailing)
	}
}

// Each of escapeNames after a backslash between double quotes stands for the character at the same place of escaped.
const (
	escapeNames = "0abt\tnvfre \"/\\N_LP"
	escaped     = "\x00\a\b\t\t\n\v\f\r\x1b \"/\\\u0085\u00a0\u2028\u2029"
)

// escape reads a backslash and what follows it. A sequence that means nothing adds nothing: the library has refused it.
func (c *cursor) escape(text *Text) {
	_, place := c.read()
	if c.isBreak() {
		c.read()
		c.fold(text, true)
		return
	}
	kind, _ := c.read()
	if i := strings.IndexRune(escapeNames, kind); i >= 0 {
		text.add(place, []rune(escaped)[i])
		return
	}
	digits := make([]rune, map[rune]int{'x': 2, 'u': 4, 'U': 8}[kind])
	for i := range digits {
		digits[i], _ = c.read()
	}
	if code, err := strconv.ParseUint(string(digits), 16, 21); err == nil {
		text.add(place, rune(code))
	}
}
