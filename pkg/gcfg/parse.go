package gcfg

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const byteOrderMark = "\ufeff"

// end is the value of peek after the last byte. The text contains no NUL byte.
const end = 0

// A name is a letter followed by letters, digits and hyphens. An invalid name ends where a reader would end it.
var (
	namePattern       = regexp.MustCompile(`^\pL[\pL\p{Nd}-]*`)
	wordPattern       = regexp.MustCompile(`^[^ \t\r\n=:\[\]";#]*`)
	spacePattern      = regexp.MustCompile(`^[ \t\r]*`)
	linePattern       = regexp.MustCompile(`^[^\n]*`)
	unquotedPattern   = regexp.MustCompile(`^[^\s"\[\]=]{1,40}[ \t]*\]`)
	subsectionPattern = regexp.MustCompile(`^"((?:[^"\\\n]|\\[\\"])*)"`)
)

// Parse parses a text. It returns the sections that could be read, which are all of them if there are no errors.
func Parse(src []byte) ([]Section, []Error) {
	p := parse(src)
	return p.sections, p.errors
}

func parse(src []byte) *parser {
	p := &parser{src: src, lineNumber: 1}
	if err := checkText(src); err != nil {
		p.errors = []Error{*err}
		return p
	}
	if bytes.HasPrefix(src, []byte(byteOrderMark)) {
		p.fail(p.pos(), "", "the text starts with a byte-order mark, which is not allowed: save it as UTF-8 without one")
		p.offset, p.lineStart = len(byteOrderMark), len(byteOrderMark)
	}
	for p.skipSpace(); p.peek() != end; p.skipSpace() {
		p.line()
	}
	return p
}

// checkText returns an error for binary data or another encoding, instead of a long list with one for each line.
func checkText(src []byte) *Error {
	if at := bytes.IndexByte(src, 0); at >= 0 {
		return &Error{Pos: At(src, at), Message: "there is a NUL byte here: this is binary data or UTF-16, not UTF-8 text"}
	}
	for at := 0; at < len(src); {
		r, size := utf8.DecodeRune(src[at:])
		if r == utf8.RuneError && size == 1 {
			return &Error{Pos: At(src, at), Message: "the text is not UTF-8 from here on: save it as UTF-8"}
		}
		at += size
	}
	return nil
}

type parser struct {
	src        []byte
	offset     int
	lineNumber int
	lineStart  int // the byte offset of the line
	sections   []Section
	errors     []Error
	spans      []Span
	above      *Span // the previous entry of the section
	orphan     bool  // whether a key before the first section was reported
}

func (p *parser) fail(pos Position, name, message string) {
	p.errors = append(p.errors, Error{Pos: pos, Message: message, Name: name})
}

func (p *parser) pos() Position {
	return Position{Line: p.lineNumber, Column: 1 + utf8.RuneCount(p.src[p.lineStart:p.offset])}
}

// peek returns the next byte. All bytes with a meaning are ASCII.
func (p *parser) peek() byte {
	if p.offset >= len(p.src) {
		return end
	}
	return p.src[p.offset]
}

func (p *parser) next() byte {
	c := p.src[p.offset]
	p.offset++
	if c == '\n' {
		p.lineNumber++
		p.lineStart = p.offset
	}
	return c
}

// take reads the longest match of the pattern at the current offset. It must not contain a line break.
func (p *parser) take(pattern *regexp.Regexp) string {
	text := pattern.Find(p.src[p.offset:])
	p.offset += len(text)
	return string(text)
}

func (p *parser) skipSpace() { p.take(spacePattern) }

func (p *parser) skipLine() {
	start, isComment := p.offset, p.peek() == ';' || p.peek() == '#'
	p.take(linePattern)
	if p.peek() != end {
		p.next()
	}
	if isComment {
		p.addSpan(Span{Comment: true}, start)
	}
}

func (p *parser) atLineEnd() bool { return slices.Contains([]byte{end, '\n', ';', '#'}, p.peek()) }

func (p *parser) line() {
	switch {
	case p.atLineEnd():
		p.skipLine()
	case p.peek() == '[':
		p.header()
	case bytes.HasPrefix(p.src[p.offset:], []byte(byteOrderMark)):
		p.fail(p.pos(), "", "there is a byte-order mark here, which is not allowed: remove it")
		p.offset += len(byteOrderMark)
	default:
		p.entry()
	}
}

func (p *parser) header() {
	s := Section{Pos: p.pos()}
	p.above = nil
	p.next()
	message := p.headerName(&s)
	if message == "" {
		p.skipSpace()
		if !p.atLineEnd() {
			message = "there is text after the section header: start a new line after the closing bracket"
		}
	}
	if message != "" {
		p.fail(s.Pos, "", message)
	}
	p.skipLine()
	p.sections = append(p.sections, s)
}

// headerName reads the name and the closing bracket. It returns an error message, or an empty string.
func (p *parser) headerName(s *Section) string {
	p.skipSpace()
	if s.Name = p.take(namePattern); s.Name == "" {
		return `no section name after "[": write [Name], where the name starts with a letter`
	}
	p.skipSpace()
	if p.peek() == '"' {
		quoted := p.take(subsectionPattern)
		switch quoted {
		case "":
			return fmt.Sprintf(`the quoted name in the header of section [%s] is not closed or has an escape `+
				`other than \\ and \"`, s.Name)
		case `""`:
			return fmt.Sprintf(`the quoted name in the header of section [%s] is empty: `+
				`write a name or remove the quotes`, s.Name)
		}
		s.Subsection = unescape.Replace(quoted[1 : len(quoted)-1])
		p.skipSpace()
	}
	if name := p.take(unquotedPattern); name != "" {
		name = strings.Trim(strings.TrimRight(name, " \t]"), "'")
		s.Subsection = name
		return fmt.Sprintf(`the second name in the header of section [%[1]s] has no quotes: write [%[1]s %[2]q]`,
			s.Name, name)
	}
	if p.peek() != ']' {
		return fmt.Sprintf(`the header of section [%s] is not closed: write "]" after the name`, s.Name)
	}
	p.next()
	return ""
}

var unescape = strings.NewReplacer(`\\`, `\`, `\"`, `"`)

func (p *parser) entry() {
	defer p.skipLine()
	from, e := p.offset, Entry{Pos: p.pos()}
	e.Name = p.take(namePattern)
	if rest := p.take(wordPattern); e.Name == "" || rest != "" {
		p.brokenName(e.Name+rest, e.Pos)
		return
	}
	p.skipSpace()
	valueFrom := from
	e.ValuePos, e.Blank = e.Pos, p.atLineEnd()
	if !e.Blank {
		if p.peek() != '=' {
			p.fail(p.pos(), e.Name, `there is no "=" after the key: write key = value`)
			return
		}
		p.next()
		p.skipSpace()
		e.ValuePos, valueFrom = p.pos(), p.offset
		var ok bool
		if e.Value, ok = p.value(e.Name); !ok {
			return
		}
		if p.isCut(valueFrom) {
			e.Comment = p.pos()
		}
	}
	p.addEntrySpan(e, from, valueFrom)
	switch {
	case len(p.sections) > 0:
		s := &p.sections[len(p.sections)-1]
		s.Entries = append(s.Entries, e)
	case !p.orphan:
		p.fail(e.Pos, "", "there is a key before the first section: write a header such as [Global] above it")
		p.orphan = true
	}
}

// brokenName reports a line that does not start with a valid key. It neither shows the text nor reads the rest of the
// line, which may be the rest of a value.
func (p *parser) brokenName(name string, pos Position) {
	p.skipSpace()
	if name == "" || p.peek() != '=' {
		p.fail(pos, "", `this line is neither a section header, nor "key = value", nor a comment`)
	} else {
		message := `this is not a key: a key starts with a letter and has letters, digits and "-" only`
		if i := strings.IndexFunc(name, isLookalike); i >= 0 {
			r, _ := utf8.DecodeRuneInString(name[i:])
			message += fmt.Sprintf("; it has the character %U, which looks like another one: type it again", r)
		}
		p.fail(pos, name, message)
	}
}

// isLookalike reports whether a character is displayed like a space or a hyphen, or not at all, but is no such
// character to a parser. Text copied from a web page or a document may contain it.
func isLookalike(r rune) bool {
	return r > unicode.MaxASCII && unicode.In(r, unicode.Z, unicode.Pd, unicode.Cf)
}

func (p *parser) value(key string) (string, bool) {
	var b strings.Builder
	keep := 0 // the length of b without trailing whitespace
	start, quoted := p.pos(), false
	for !p.valueEnds(quoted) {
		c := p.next()
		switch c {
		case '\r':
			continue // the library drops every carriage return
		case '"':
			quoted = !quoted
		case '\\':
			at := p.pos()
			at.Column-- // the backslash
			if message := p.escape(&b, quoted); message != "" {
				p.fail(at, "", fmt.Sprintf("the value of %q has %s", key, message))
				return "", false
			}
		default:
			b.WriteByte(c)
		}
		if quoted || c != ' ' && c != '\t' {
			keep = b.Len()
		}
	}
	if quoted {
		p.fail(start, "", fmt.Sprintf("the quotes in the value of %q are not closed on the same line: "+
			`close them, and write \" for a quote inside them`, key))
		return "", false
	}
	return b.String()[:keep], true
}

// isCut reports whether a comment starts here that looks like a part of the value: "net#1", or "#1" without whitespace
// after the mark. A value that ends with a quote is complete, and "a; b" has a comment.
func (p *parser) isCut(valueFrom int) bool {
	rest := p.src[p.offset:]
	if len(rest) < 2 || rest[0] != '#' && rest[0] != ';' {
		return false
	}
	if p.offset == valueFrom {
		return !bytes.ContainsAny(rest[1:2], " \t\r\n#;-=*")
	}
	isSentence := rest[0] == ';' && (rest[1] == ' ' || rest[1] == '\t')
	return !isSentence && !bytes.ContainsAny(p.src[p.offset-1:p.offset], " \t\r\"")
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
			b.WriteByte(p.next())
		default:
			return `a backslash outside quotes that is followed by neither a quote nor the end of the line: ` +
				`put the value in quotes and write \\`
		}
		return ""
	}
	resolved, ok := map[byte]byte{'\\': '\\', '"': '"', 'n': '\n', 't': '\t'}[p.peek()]
	if !ok {
		return `an unknown escape (the known ones are \\, \", \n and \t): write \\ for a backslash`
	}
	p.next()
	b.WriteByte(resolved)
	return ""
}
