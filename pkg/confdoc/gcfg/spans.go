package gcfg

import "bytes"

// Span is the part of a text that holds a value or a comment.
type Span struct {
	// Key is the key of the value, and Value what a reader makes of the span. Both are empty for a comment.
	Key, Value string
	// Start and End are byte offsets. They include the quotes.
	Start, End int
	// Comment says that the span is a comment with its marker.
	Comment bool
	// Continues is the key above an entry that looks like the rest of that key's value: one without "=", or one that is indented
	// deeper. The span is the whole entry then, as its key may be a part of that value.
	Continues string

	column int
}

// Spans lists the values and comments of a text in their order. ok is false where the text cannot be read.
func Spans(src []byte) (spans []Span, ok bool) {
	p := parse(src)
	return p.spans, len(p.errors) == 0
}

// addSpan ends a span here, without the whitespace at its end.
func (p *parser) addSpan(s Span, start int) {
	s.Start = start
	s.End = start + len(bytes.TrimRight(p.src[start:p.offset], " \t\r\n"))
	p.spans = append(p.spans, s)
}

// addEntrySpan adds the span of an entry that starts at the offset from, and its value at valueFrom.
func (p *parser) addEntrySpan(e Entry, from, valueFrom int) {
	s := Span{Key: e.Name, Value: e.Value, column: e.Pos.Column}
	if above := p.entryAbove(); above != nil && (e.Blank || s.column > above.column) {
		s.Continues, s.column, valueFrom = above.Key, above.column, from
		if above.Continues != "" {
			s.Continues = above.Continues
		}
	}
	p.addSpan(s, valueFrom)
}

// entryAbove is the span of the entry before, or nil at the start of a section.
func (p *parser) entryAbove() *Span {
	for i := len(p.spans) - 1; i >= 0; i-- {
		if len(p.sections) > 0 && p.spans[i].Start < p.headerAt {
			return nil
		}
		if !p.spans[i].Comment {
			return &p.spans[i]
		}
	}
	return nil
}
