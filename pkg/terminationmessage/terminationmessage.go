// Package terminationmessage extracts the line of a container's termination message that explains why the process
// ended. The result is safe to show in a condition.
//
// With the policy FallbackToLogsOnError the message is the tail of the log, up to 80 lines and 2048 bytes. The relevant
// line is among a dump of all flags, progress messages and possibly the stacks of all goroutines.
package terminationmessage

import (
	"regexp"
	"strings"
	"sync"
	"unicode"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operandlog"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/printable"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/redaction"
)

// maxRunes limits a summary, so that several fit in a condition.
const maxRunes = 300

// rank is how likely a line of the log explains why the process ended.
type rank int

const (
	noise rank = iota
	info
	warning
	plain
	logged
	usage
	panicked
	fatal
)

var (
	severities = map[string]rank{"I": info, "W": warning, "E": logged, "F": fatal}

	// goroutine matches the start of a stack, which ends at klog's next line.
	goroutine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^goroutine \d+ (gp=|\[)`) })

	// page matches the start of a page with which a proxy or a load balancer answers instead of the cloud's API. tag
	// matches its tags, their hidden content, and line breaks that a log escapes.
	page = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)</?(?:!doctype|html|head|body|title|meta|center|style|script|h[1-6]|p|hr|div)\b|<!--`)
	})
	tag = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?is)<(style|script)\b.*?</(?:style|script)>|<!--.*?-->|<[^>]*>?|\\[rn]`)
	})
)

// Summary returns the Reason, limited to 300 characters.
func Summary(message string) string { return Cut(Reason(message)) }

// Reason returns the last line of the highest rank: a fatal error, else the error that the process returned, else a
// logged error, else the last line. Lines without a header that follow a line of klog belong to it. Reason removes
// klog's header, control characters and secrets, and reduces an HTML page to its first words.
//
// Only what follows the last header can be a panic, a returned error or last words: a process that has printed one logs
// nothing more. A line without a header before that continues a value, which a tenant may have written.
func Reason(message string) string {
	var s selection
	lines := strings.SplitAfter(message, "\n")
	lastWords := len(lines)
	for lastWords > 0 && !hasHeader(lines[lastWords-1]) {
		lastWords--
	}
	for i, line := range lines {
		line = strings.TrimRight(line, "\r\n")
		if !s.isStack(line) {
			s.read(line, i < lastWords && !hasHeader(line))
		}
	}
	return redaction.Text(oneLine(withoutPage(s.text)))
}

type selection struct {
	best rank
	text string
	// continues means that the next line may continue the text, and inStack that it may continue a stack.
	continues, inStack bool
}

func (s *selection) isStack(line string) bool {
	s.inStack = !isKlog(line) && (s.inStack || goroutine().MatchString(line))
	s.continues = s.continues && !s.inStack
	return s.inStack
}

func hasHeader(line string) bool {
	_, _, ok := operandlog.CutHeader(line)
	return ok
}

func isKlog(line string) bool {
	header, _, _ := operandlog.CutHeader(line)
	return header.Severity != ""
}

func (s *selection) read(line string, isValue bool) {
	r, content := rankOf(line)
	if isValue {
		r = min(r, plain)
	}
	switch {
	case s.continues && (r == plain || strings.HasPrefix(line, "\t")):
		s.text += " " + content
	case isValue:
	case r != noise && r >= s.best && strings.TrimSpace(content) != "":
		s.best, s.text = r, content
		s.continues = r >= logged && isKlog(line)
	case r != noise:
		s.continues = false
	}
}

// Alike reports whether two summaries differ only by a number or an ID, such as that of a request, a port or a
// duration. Such a difference must not change a condition.
func Alike(a, b string) bool {
	return number().ReplaceAllString(a, "#") == number().ReplaceAllString(b, "#")
}

var number = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[0-9A-Fa-f-]{8,}|\d+`) })

func rankOf(line string) (rank, string) {
	if header, message, _ := operandlog.CutHeader(line); header.Severity != "" {
		return severities[header.Severity], message
	}
	switch {
	case goroutine().MatchString(line), strings.HasPrefix(line, "\t"), strings.HasPrefix(line, "FLAG: "),
		strings.HasPrefix(strings.TrimSpace(line), "<") && page().MatchString(line):
		return noise, line
	case strings.HasPrefix(line, "panic: "), strings.HasPrefix(line, "fatal error: "):
		return panicked, line
	case strings.HasPrefix(line, "Error: "):
		return usage, line
	default:
		return plain, line
	}
}

// withoutPage replaces a page in a line with its first text, which is its title or its status. The line contains the
// request and the status before the page.
func withoutPage(text string) string {
	start := page().FindStringIndex(text)
	if start == nil {
		return text
	}
	for _, words := range tag().Split(text[start[0]:], -1) {
		if words = strings.TrimSpace(words); words != "" {
			return text[:start[0]] + words
		}
	}
	return text[:start[0]]
}

// oneLine returns text on one line, without escape sequences and characters that change the direction of text.
func oneLine(text string) string {
	text = strings.Map(func(r rune) rune {
		if r == unicode.ReplacementChar || !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
	return strings.Join(strings.Fields(text), " ")
}

// Cut limits a text to 300 characters.
func Cut(text string) string { return printable.Cut(text, maxRunes) }
