package aws

import (
	"strings"
	"unicode/utf8"
)

// setting is one key of a profile.
type setting struct {
	value        string
	line, column int // of the key
}

// profile is one section of a shared credentials file.
type profile struct {
	name         string
	line, column int
	settings     map[string]setting
	// last is the key that an indented line may belong to.
	last string
}

func (p *profile) has(key string) bool {
	_, ok := p.settings[key]
	return ok
}

func (p *profile) value(key string) string { return p.settings[key].value }

// readAWSProfiles reads a shared credentials file as the reader of github.com/aws/aws-sdk-go-v2 does (internal/ini v1.8.3):
// line by line, without errors. Sections of the same name are one, and the last of equal keys counts.
func readAWSProfiles(text string) []*profile {
	var profiles []*profile
	var current *profile
	byName := map[string]*profile{}
	for i, line := range strings.Split(text, "\n") {
		trimmed := strings.TrimLeft(line, " \t")
		column := utf8.RuneCountInString(line[:len(line)-len(trimmed)]) + 1
		if strings.TrimSpace(line) == "" || strings.HasPrefix(trimmed, "#") || strings.HasPrefix(trimmed, ";") {
			continue
		}
		if name, ok := profileName(line); ok {
			if current = byName[name]; current == nil {
				current = &profile{name: name, line: i + 1, column: column, settings: map[string]setting{}}
				byName[name] = current
				profiles = append(profiles, current)
			}
			current.last = ""
			continue
		}
		if current != nil {
			current.add(trimmed, column > 1, i+1, column)
		}
	}
	return profiles
}

// profileName is the name in a header; false when the line is none.
func profileName(line string) (string, bool) {
	line, _, _ = strings.Cut(line, "#")
	line, _, _ = strings.Cut(line, ";")
	line = strings.TrimSpace(line)
	if len(line) < 2 || line[0] != '[' || line[len(line)-1] != ']' {
		return "", false
	}
	return strings.Join(strings.Fields(line[1:len(line)-1]), " "), true
}

// add reads one line of the profile. An indented line goes on with the value before it, unless it looks like a key and that
// value is not empty.
func (p *profile) add(text string, indented bool, line, column int) {
	at := strings.IndexAny(withoutComment(text), "=:")
	before, within := p.settings[p.last]
	switch {
	case at < 0 && indented && within && before.value != "":
		if !strings.Contains(before.value, "\n") { // that there is more is enough to know
			before.value += "\n" + text
		}
		p.settings[p.last] = before
		return
	case at < 0 || indented && within && before.value == "":
		return
	}
	p.last = strings.ToLower(strings.TrimSpace(text[:at]))
	value := withoutQuotes(strings.TrimSpace(withoutComment(text)[at+1:]))
	p.settings[p.last] = setting{value: value, line: line, column: column}
}

func withoutQuotes(text string) string {
	for _, quote := range []string{`"`, `'`} {
		if len(text) > 1 && strings.HasPrefix(text, quote) && strings.HasSuffix(text, quote) {
			return text[1 : len(text)-1]
		}
	}
	return text
}

func withoutComment(text string) string {
	for _, comment := range []string{" #", " ;", "\t#", "\t;"} {
		text, _, _ = strings.Cut(text, comment)
	}
	return text
}

// isLoneQuote tells whether the value of a line is one quote and nothing else: that SDK panics on it, wherever the line is.
func isLoneQuote(line string) bool {
	if !strings.HasPrefix(line, " ") && !strings.HasPrefix(line, "\t") {
		line = withoutComment(line)
	}
	trimmed := strings.TrimSpace(line)
	at := strings.IndexAny(line, "=:")
	if at < 0 || strings.HasPrefix(trimmed, "#") || strings.HasPrefix(trimmed, ";") {
		return false
	}
	value := strings.TrimSpace(line[at+1:])
	return value == `"` || value == `'`
}
