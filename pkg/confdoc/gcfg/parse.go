package gcfg

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

const byteOrderMark = '\ufeff'

// end is the value of peek after the last character.
const end rune = -1

// Parse parses a text. The sections are those that could be read. They are complete if there are no errors.
func Parse(src []byte) ([]Section, []Error) {
	p := parse(src)
	return p.sections, p.errors
}

func parse(src []byte) *parser {
	p := &parser{src: src, pos: Position{Line: 1, Column: 1}}
	if err := checkText(src); err != nil {
		p.errors = []Error{*err}
		return p
	}
	if p.peek() == byteOrderMark {
		p.fail(p.pos, "", "the text starts with a byte-order mark, which is not allowed: save it as UTF-8 without one")
		p.offset += utf8.RuneLen(byteOrderMark)
	}
	for p.skipSpace(); p.peek() != end; p.skipSpace() {
		p.line()
	}
	return p
}

// checkText returns an error for binary data or another encoding, for which an error per line would be long and
// useless.
func checkText(src []byte) *Error {
	at, msg := bytes.IndexByte(src, 0), "there is a NUL byte here: this is binary data or UTF-16, not UTF-8 text"
	if at < 0 {
		if utf8.Valid(src) {
			return nil
		}
		for at = 0; ; {
			r, size := utf8.DecodeRune(src[at:])
			if r == utf8.RuneError && size == 1 {
				break
			}
			at += size
		}
		msg = "the text is not UTF-8 from here on: save it as UTF-8"
	}
	return &Error{Message: msg, Pos: At(src, at)}
}

type parser struct {
	src      []byte
	offset   int
	pos      Position
	sections []Section
	errors   []Error
	spans    []Span
	headerAt int  // the byte offset of the last section's header
	orphan   bool // whether a key before the first section was reported
}

func (p *parser) fail(pos Position, name, message string) {
	p.errors = append(p.errors, Error{Pos: pos, Message: message, Name: name})
}

// peek returns the next character. The text is known to be UTF-8.
func (p *parser) peek() rune {
	if p.offset >= len(p.src) {
		return end
	}
	r, _ := utf8.DecodeRune(p.src[p.offset:])
	return r
}

func (p *parser) next() rune {
	if p.offset >= len(p.src) {
		return end
	}
	r, size := utf8.DecodeRune(p.src[p.offset:])
	p.offset += size
	p.pos.Column++
	if r == '\n' {
		p.pos = Position{Line: p.pos.Line + 1, Column: 1}
	}
	return r
}

func (p *parser) skipSpace() {
	for r := p.peek(); r == ' ' || r == '\t' || r == '\r'; r = p.peek() {
		p.next()
	}
}

// skipLine moves to the start of the next line.
func (p *parser) skipLine() {
	start, isComment := p.offset, p.peek() == ';' || p.peek() == '#'
	for r := p.next(); r != '\n' && r != end; {
		r = p.next()
	}
	if isComment {
		p.addSpan(Span{Comment: true}, start)
	}
}

// atLineEnd reports whether the rest of the line is empty or a comment.
func (p *parser) atLineEnd() bool {
	switch p.peek() {
	case end, '\n', ';', '#':
		return true
	}
	return false
}

func isLetter(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || r >= utf8.RuneSelf && unicode.IsLetter(r)
}

func isDigit(r rune) bool {
	return '0' <= r && r <= '9' || r >= utf8.RuneSelf && unicode.IsDigit(r)
}

// identifier reads a name. It returns an empty string if no name starts here.
func (p *parser) identifier() string {
	from := p.offset
	if !isLetter(p.peek()) {
		return ""
	}
	for r := p.peek(); isLetter(r) || isDigit(r) || r == '-'; r = p.peek() {
		p.next()
	}
	return string(p.src[from:p.offset])
}

// word reads the rest of a broken name, which started at the offset from, up to where a person would say that it ends.
func (p *parser) word(from int) string {
	for !p.atLineEnd() && !strings.ContainsRune(" \t\r=:[]\"", p.peek()) {
		p.next()
	}
	return string(p.src[from:p.offset])
}

func (p *parser) line() {
	switch r := p.peek(); {
	case p.atLineEnd():
		p.skipLine()
	case r == '[':
		p.header()
	default:
		p.entry()
	}
}

func (p *parser) header() {
	s := Section{Pos: p.pos}
	p.headerAt = p.offset
	p.next()
	message := p.headerName(&s)
	if message == "" {
		p.skipSpace()
		if !p.atLineEnd() {
			message = "there is text after the section header: start a new line after the closing bracket"
		}
	}
	if message != "" {
		s.Broken = true
		p.fail(s.Pos, "", message)
	}
	p.skipLine()
	p.sections = append(p.sections, s)
}

// headerName reads the name between the brackets and the closing bracket. It returns an error message, or an empty
// string.
func (p *parser) headerName(s *Section) string {
	p.skipSpace()
	if s.Name = p.identifier(); s.Name == "" {
		return `no section name after "[": write [Name], where the name starts with a letter`
	}
	p.skipSpace()
	if p.peek() == '"' {
		name, ok := p.subsection()
		if !ok {
			return fmt.Sprintf(`the quoted name in the header of section [%s] is not closed or has an escape `+
				`other than \\ and \"`,
				s.Name)
		}
		if name == "" {
			return fmt.Sprintf(`the quoted name in the header of section [%s] is empty: `+
				`write a name or remove the quotes`,
				s.Name)
		}
		s.Subsection = name
		p.skipSpace()
	}
	if p.peek() != ']' {
		return fmt.Sprintf(`the header of section [%s] is not closed: write "]" after the name`, s.Name)
	}
	p.next()
	return ""
}

// subsection reads the quoted part of a header.
func (p *parser) subsection() (string, bool) {
	var b strings.Builder
	for p.next(); ; {
		switch r := p.peek(); r {
		case end, '\n':
			return "", false
		case '"':
			p.next()
			return b.String(), true
		case '\\':
			p.next()
			if r = p.peek(); r != '\\' && r != '"' {
				return "", false
			}
			fallthrough
		default:
			b.WriteRune(p.next())
		}
	}
}

func (p *parser) entry() {
	from, e := p.offset, Entry{Pos: p.pos}
	valueFrom := from
	e.Name = p.identifier()
	if e.Name == "" || !p.atLineEnd() && !strings.ContainsRune(" \t\r=:[]\"", p.peek()) {
		p.brokenName(from, e.Pos)
		return
	}
	p.skipSpace()
	e.ValuePos, e.Blank = e.Pos, p.atLineEnd()
	if !e.Blank {
		if p.peek() != '=' {
			p.fail(p.pos, e.Name, `there is no "=" after the key: write key = value`)
			p.skipLine()
			return
		}
		p.next()
		p.skipSpace()
		e.ValuePos = p.pos
		valueFrom = p.offset
		var ok bool
		if e.Value, ok = p.value(e.Name); !ok {
			p.skipLine()
			return
		}
	}
	p.addEntrySpan(e, from, valueFrom)
	p.skipLine()
	if len(p.sections) == 0 {
		if !p.orphan {
			p.fail(e.Pos, "", "there is a key before the first section: write a header such as [Global] above it")
		}
		p.orphan = true
		return
	}
	s := &p.sections[len(p.sections)-1]
	s.Entries = append(s.Entries, e)
}

// brokenName reports a line that does not start with a valid key. It neither shows the text nor reads the rest of the
// line, because they may be the second half of a value.
func (p *parser) brokenName(from int, pos Position) {
	name := p.word(from)
	p.skipSpace()
	if name == "" || p.peek() != '=' {
		p.fail(pos, "", `this line is neither a section header, nor "key = value", nor a comment`)
	} else {
		p.fail(pos, name, `this is not a key: a key starts with a letter and has letters, digits and "-" only`)
	}
	p.skipLine()
}

// value reads a value up to the end of the line or, outside quotes, a comment.
func (p *parser) value(key string) (string, bool) {
	var b strings.Builder
	keep := 0 // the length of b without trailing whitespace
	start, quoted := p.pos, false
	for !p.valueEnds(quoted) {
		at := p.pos
		r := p.next()
		switch r {
		case '\r':
			continue // the library drops every carriage return
		case '"':
			quoted = !quoted
		case '\\':
			if message := p.escape(&b, quoted); message != "" {
				p.fail(at, "", fmt.Sprintf("the value of %q has %s", key, message))
				return "", false
			}
		default:
			b.WriteRune(r)
		}
		if quoted || r != ' ' && r != '\t' {
			keep = b.Len()
		}
	}
	if quoted {
		p.fail(start, "", fmt.Sprintf("the quotes in the value of %q are not closed on the same line", key))
		return "", false
	}
	return b.String()[:keep], true
}

func (p *parser) valueEnds(quoted bool) bool {
	if quoted {
		return p.peek() == '\n' || p.peek() == end
	}
	return p.atLineEnd()
}

// escape resolves the escape sequence after a backslash. It returns an error message, or an empty string.
func (p *parser) escape(b *strings.Builder, quoted bool) string {
	if !quoted {
		if p.peek() == '\r' {
			p.next()
		}
		switch p.peek() {
		case '\n':
			p.next() // the value continues on the next line
		case '"':
			b.WriteRune(p.next())
		default:
			return `a backslash outside quotes that is followed by neither a quote nor the end of the line: ` +
				`put the value in quotes and write \\`
		}
		return ""
	}
	resolved, ok := map[rune]rune{'\\': '\\', '"': '"', 'n': '\n', 't': '\t'}[p.peek()]
	if !ok {
		return `an unknown escape (the known ones are \\, \", \n and \t): write \\ for a backslash`
	}
	p.next()
	b.WriteRune(resolved)
	return ""
}
