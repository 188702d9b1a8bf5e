package document

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// jsonReader walks over a document that is known to be valid JSON.
type jsonReader struct {
	data    []byte
	decoder *json.Decoder
	// at is the offset that place belongs to: places are counted on from the last one.
	at    int
	place Place
}

func parseJSON(data []byte) value {
	r := &jsonReader{data: data, decoder: json.NewDecoder(bytes.NewReader(data)), place: Place{1, 1}}
	return r.value(Place{})
}

// value reads the next value. One that has no key stands where it begins.
func (r *jsonReader) value(key Place) value {
	token, place := r.token()
	v := value{place: key}
	if key == (Place{}) {
		v.place = place
	}
	switch token {
	case json.Delim('{'):
		v.members = map[string]value{}
		for r.decoder.More() {
			name, at := r.token()
			member := r.value(at)
			if text, is := name.(string); is {
				v.members[text] = member
			}
		}
		r.token()
	case json.Delim('['):
		v.members = map[string]value{}
		for i := 0; r.decoder.More(); i++ {
			v.addItem(i, r.value(Place{}))
		}
		r.token()
	}
	if _, is := token.(string); is {
		end := int(r.decoder.InputOffset())
		start := r.at
		v.text = func() (Text, bool) { return readJSONString(r.data[start:end], place), true }
	}
	return v
}

// token returns the next token and where it begins. The document has been found valid before.
func (r *jsonReader) token() (json.Token, Place) {
	begin := int(r.decoder.InputOffset())
	token, err := r.decoder.Token()
	if err != nil {
		return nil, r.place
	}
	for begin < len(r.data) && strings.IndexByte(" \t\r\n,:", r.data[begin]) >= 0 {
		begin++
	}
	r.place = advance(r.place, r.data[r.at:begin])
	r.at = begin
	return token, r.place
}

// advance is the place behind some text that begins at place. The two characters that end a line on Windows, the first of
// which is invisible, count as one line.
func advance(place Place, passed []byte) Place {
	if lines := bytes.Count(passed, []byte("\n")); lines > 0 {
		place.Line += lines
		place.Column = 1
		passed = passed[bytes.LastIndexByte(passed, '\n')+1:]
	}
	place.Column += utf8.RuneCount(passed)
	return place
}

// readJSONString reads a string with its quotes that begins at place. No line ends within it.
func readJSONString(quoted []byte, place Place) Text {
	var text Text
	rest := []rune(string(quoted))[1:]
	place.Column++
	for len(rest) > 1 {
		character, length := rest[0], 1
		if character == '\\' {
			character, length = jsonEscape(rest)
		}
		text.add(place, character)
		place.Column += length
		rest = rest[length:]
	}
	return text
}

// Each of jsonEscapeNames after a backslash stands for the character at the same place of jsonEscaped, any other for itself.
const (
	jsonEscapeNames = "bfnrt"
	jsonEscaped     = "\b\f\n\r\t"
)

// jsonEscape returns the character that an escape sequence stands for and how long the sequence is.
func jsonEscape(rest []rune) (character rune, length int) {
	if rest[1] != 'u' {
		if i := strings.IndexRune(jsonEscapeNames, rest[1]); i >= 0 {
			return rune(jsonEscaped[i]), 2
		}
		return rest[1], 2
	}
	first := hexadecimal(rest[2:6])
	if utf16.IsSurrogate(first) && len(rest) >= 12 && rest[6] == '\\' && rest[7] == 'u' {
		if pair := utf16.DecodeRune(first, hexadecimal(rest[8:12])); pair != utf8.RuneError {
			return pair, 12
		}
	}
	if utf16.IsSurrogate(first) {
		return utf8.RuneError, 6
	}
	return first, 6
}

// hexadecimal reads the digits of an escape sequence, which are valid.
func hexadecimal(digits []rune) rune {
	code, err := strconv.ParseUint(string(digits), 16, 16)
	if err != nil {
		return utf8.RuneError
	}
	return rune(code)
}
