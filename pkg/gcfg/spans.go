package gcfg

import (
	"bytes"
	"cmp"
)

// Span is the part of a text that contains a value or a comment.
type Span struct {
	// Key is the key of the value, and Value what a reader reads from the span. Both are empty for a comment.
	Key, Value string
	// Start and End are byte offsets. The span includes the quotes.
	Start, End int
	// Comment means that the span is a comment, including its marker.
	Comment bool
	// Blank means that the entry has no equals sign. The span is then the key, which may be a part of a value above.
	Blank bool
	// Continues is the key above an entry that looks like the rest of that key's value: without "=", or with deeper
	// indentation. The span is then the whole entry, because its key may be a part of that value.
	Continues string

	column int
}

// Spans returns the values and comments of a text in order. ok is false if the text cannot be parsed.
func Spans(src []byte) (spans []Span, ok bool) {
	p := parse(src)
	return p.spans, len(p.errors) == 0
}

func (p *parser) addSpan(s Span, start int) {
	s.Start = start
	s.End = start + len(bytes.TrimRight(p.src[start:p.offset], " \t\r\n"))
	p.spans = append(p.spans, s)
}

// addEntrySpan adds the span of an entry that starts at from and whose value starts at valueFrom.
func (p *parser) addEntrySpan(e Entry, from, valueFrom int) {
	s := Span{Key: e.Name, Value: e.Value, Blank: e.Blank, column: e.Pos.Column}
	if e.Blank {
		valueFrom = from
	}
	if p.above != nil && (e.Blank || s.column > p.above.column) {
		s.Continues, s.column, valueFrom = cmp.Or(p.above.Continues, p.above.Key), p.above.column, from
	}
	p.addSpan(s, valueFrom)
	p.above = &s
}
