package gcfg

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

const byteOrderMark = '\ufeff'

// end is what peek returns behind the last character.
const end rune = -1

// Parse reads a text. The sections are what could be read; they are the whole of the text when there are no errors.
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
		p.fail(p.pos, "", "the text starts with a byte-order mark, which the reader refuses: save it as UTF-8 without one")
		p.offset += utf8.RuneLen(byteOrderMark)
	}
	for p.skipBlanks(); p.peek() != end; p.skipBlanks() {
		p.line()
	}
	return p
}

// checkText finds what is not text at all, of which a line by line report would be long and useless.
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
	before := src[:at]
	return &Error{Message: msg, Pos: Position{
		Line:   1 + bytes.Count(before, []byte("\n")),
		Column: 1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]),
	}}
}

type parser struct {
	src      []byte
	offset   int
	pos      Position
	sections []Section
	errors   []Error
	spans    []Span
	headerAt int  // the offset of the last section's header
	orphan   bool // a key before the first section was reported
}

func (p *parser) fail(pos Position, name, message string) {
	p.errors = append(p.errors, Error{Pos: pos, Message: message, Name: name})
}

// peek is the next character; the text is known to be UTF-8.
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

func (p *parser) skipBlanks() {
	for r := p.peek(); r == ' ' || r == '\t' || r == '\r'; r = p.peek() {
		p.next()
	}
}

// skipLine goes behind the end of the line.
func (p *parser) skipLine() {
	start, isComment := p.offset, p.peek() == ';' || p.peek() == '#'
	for r := p.next(); r != '\n' && r != end; {
		r = p.next()
	}
	if isComment {
		p.addSpan(Span{Comment: true}, start)
	}
}

// atLineEnd tells whether nothing but a comment is left of the line.
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

// identifier reads a name; it is empty when none starts here.
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

// word reads on from a broken name, which started at the offset from, to where a reader would say that it ends.
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
		p.skipBlanks()
		if !p.atLineEnd() {
			message = "there is more text behind the section header: start a new line after the closing bracket"
		}
	}
	if message != "" {
		s.Broken = true
		p.fail(s.Pos, "", message)
	}
	p.skipLine()
	p.sections = append(p.sections, s)
}

// headerName reads what stands between the brackets and the closing one, and says what is wrong with it.
func (p *parser) headerName(s *Section) string {
	p.skipBlanks()
	if s.Name = p.identifier(); s.Name == "" {
		return `no section name behind "[": write [Name], where the name starts with a letter`
	}
	p.skipBlanks()
	if p.peek() == '"' {
		name, ok := p.subsection()
		if !ok {
			return fmt.Sprintf(`the quoted name in the header of section [%s] is not closed or has an escape other than \\ and \"`, s.Name)
		}
		if name == "" {
			return fmt.Sprintf(`the quoted name in the header of section [%s] is empty: name it or leave the quotes out`, s.Name)
		}
		s.Subsection = name
		p.skipBlanks()
	}
	if p.peek() != ']' {
		return fmt.Sprintf(`the header of section [%s] is not closed: write "]" behind the name`, s.Name)
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
	p.skipBlanks()
	e.ValuePos, e.Blank = e.Pos, p.atLineEnd()
	if !e.Blank {
		if p.peek() != '=' {
			p.fail(p.pos, e.Name, `there is no "=" behind the key: write key = value`)
			p.skipLine()
			return
		}
		p.next()
		p.skipBlanks()
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

// brokenName reports a line that starts with something that cannot be a key. The text is not shown, nor the rest of the
// line looked at: they may be the second half of a value.
func (p *parser) brokenName(from int, pos Position) {
	name := p.word(from)
	p.skipBlanks()
	if name == "" || p.peek() != '=' {
		p.fail(pos, "", `this line is neither a section header, nor "key = value", nor a comment`)
	} else {
		p.fail(pos, name, `this is not a key: a key starts with a letter and has letters, digits and "-" only`)
	}
	p.skipLine()
}

// value reads up to the end of the value: a comment or the end of the line outside quotes.
func (p *parser) value(key string) (string, bool) {
	var b strings.Builder
	keep := 0 // how much of b stands before the trailing blanks
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

// escape resolves what stands behind a backslash and says what is wrong with it.
func (p *parser) escape(b *strings.Builder, quoted bool) string {
	if !quoted {
		if p.peek() == '\r' {
			p.next()
		}
		switch p.peek() {
		case '\n':
			p.next() // the value goes on in the next line
		case '"':
			b.WriteRune(p.next())
		default:
			return `a backslash outside quotes that is followed by neither a quote nor the end of the line: put the value in quotes and write \\`
		}
		return ""
	}
	resolved, ok := map[rune]rune{'\\': '\\', '"': '"', 'n': '\n', 't': '\t'}[p.peek()]
	if !ok {
		return `an escape that does not exist (the reader knows \\, \", \n and \t): write \\ for a backslash`
	}
	p.next()
	b.WriteRune(resolved)
	return ""
}
