package aws

import (
	"regexp"
	"strings"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc"
)

// profile is one section of a shared credentials file. Its nodes have the positions of the header and of the keys.
type profile struct {
	name     string
	header   *confdoc.Node
	settings map[string]*confdoc.Node
}

func (p *profile) has(key string) bool { return p.settings[key] != nil }

func (p *profile) shown() string { return "[" + confdoc.Cut(p.name) + "]" }

func (p *profile) value(key string) string { return p.settings[key].String() }

// readProfiles reads a shared credentials file line by line and without errors, as github.com/aws/aws-sdk-go-v2 does
// (internal/ini v1.8.3). Sections of the same name are merged, and the last of duplicate keys wins. This is not gcfg's
// format.
func readProfiles(text string) []*profile {
	var profiles []*profile
	var current *profile
	var above *confdoc.Node // the setting that an indented line may continue
	byName := map[string]*profile{}
	for i, line := range strings.Split(text, "\n") {
		trimmed := strings.TrimLeft(line, " \t")
		here := &confdoc.Node{Kind: confdoc.TextNode,
			Position: confdoc.Position{Line: i + 1, Column: len(line) - len(trimmed) + 1}}
		if isBlankOrComment(trimmed) {
			continue
		}
		if name, ok := profileName(line); ok {
			if current = byName[name]; current == nil {
				current = &profile{name: name, header: here, settings: map[string]*confdoc.Node{}}
				byName[name] = current
				profiles = append(profiles, current)
			}
			above = nil
			continue
		}
		content := lineComment.ReplaceAllString(trimmed, "")
		at := strings.IndexAny(content, "=:")
		continues := here.Column > 1 && above != nil
		switch {
		case current == nil || continues && above.Text == "": // a part of a nested section
		case at >= 0:
			here.Text = withoutQuotes(strings.TrimSpace(content[at+1:]))
			above = here
			current.settings[strings.ToLower(strings.TrimSpace(content[:at]))] = here
		case continues && !strings.Contains(above.Text, "\n"): // one following line suffices to detect a multi-line value
			above.Text += "\n" + trimmed
		}
	}
	return profiles
}

func isBlankOrComment(trimmed string) bool {
	return strings.TrimSpace(trimmed) == "" || strings.HasPrefix(trimmed, "#") || strings.HasPrefix(trimmed, ";")
}

// profileName returns the name in a header, or false if the line is not a header.
func profileName(line string) (string, bool) {
	line, _, _ = strings.Cut(line, "#")
	line, _, _ = strings.Cut(line, ";")
	name, isOpened := strings.CutPrefix(strings.TrimSpace(line), "[")
	name, isClosed := strings.CutSuffix(name, "]")
	return strings.Join(strings.Fields(name), " "), isOpened && isClosed
}

func withoutQuotes(text string) string {
	for _, quote := range []string{`"`, `'`} {
		if len(text) > 1 && strings.HasPrefix(text, quote) && strings.HasSuffix(text, quote) {
			return text[1 : len(text)-1]
		}
	}
	return text
}

var lineComment = regexp.MustCompile(`[ \t][#;].*`)

// isLoneQuote reports whether the value of a line is a single quote character, on which the SDK panics.
func isLoneQuote(line string) bool {
	if trimmed := strings.TrimSpace(line); isBlankOrComment(trimmed) {
		return false
	}
	if !strings.HasPrefix(line, " ") && !strings.HasPrefix(line, "\t") {
		line = lineComment.ReplaceAllString(line, "")
	}
	at := strings.IndexAny(line, "=:")
	value := strings.TrimSpace(line[at+1:])
	return at >= 0 && (value == `"` || value == `'`)
}
