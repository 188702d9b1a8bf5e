// Package terminationmessage extracts the line of a container's termination message that explains why the process
// ended. The result is safe to show in a condition.
//
// With the policy FallbackToLogsOnError the message is the tail of the log, up to 80 lines and 2048 bytes. A dump of
// all flags, progress messages and possibly the stacks of all goroutines surround the relevant line.
package terminationmessage

import (
	"regexp"
	"strings"
	"sync"
	"unicode"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/printable"
)

// maxRunes limits a summary, so that several fit in a condition.
const maxRunes = 300

const redacted = "<redacted>"

// rank is how likely a line of the log explains why the process ended.
type rank int

const (
	noise rank = iota
	info
	warning
	plain
	logged
	usage
	fatal
)

var (
	// header matches klog's header: severity, date, time, process and position. It differs in each run and is
	// removed.
	header = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^([IWEF])\d{4} \d{2}:\d{2}:\d{2}\.\d+ +\d+ [^\]\s]+\] ?(.*)$`)
	})
	severities = map[string]rank{"I": info, "W": warning, "E": logged, "F": fatal}

	// goroutine matches the start of a stack, which ends at klog's next line.
	goroutine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^goroutine \d+ (gp=|\[)`) })

	// page matches the start of a page that a proxy or a load balancer answers instead of the cloud's API, tag its tags
	// and what is written without them: line breaks that a log escapes.
	page = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)</?(?:!doctype|html|head|body|title|meta|center|style|script|h[1-6]|p|hr|div)\b|<!--`)
	})
	tag = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?is)<(style|script)\b.*?</(?:style|script)>|<!--.*?-->|<[^>]*>?|\\[rn]`)
	})

	// privateKey matches a key, which has several lines.
	privateKey = sync.OnceValue(func() *regexp.Regexp {
		const space, base64 = `(?:\s|\\+[nr])*`, `[A-Za-z0-9+/=]`
		return regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----(?:` + space + base64 + `{20,})*(?:` + space + base64 +
			`*` + space + `-----END [A-Z ]*PRIVATE KEY-----)?`)
	})

	// secrets matches secrets that a message may quote from a configuration or a request. The first group is kept.
	secrets = sync.OnceValue(func() []*regexp.Regexp {
		const key = `[\w.-]*(?:password|passwd|passphrase|secret|token|credentials?|signature|` +
			`api[-_]?key|access[-_]?key|private[-_]?key)[\w-]*`
		const value = `(?:\\?"(?:[^"\\]|\\[^"])*\\?"|'[^']*'|[^\s,;&"'\\)\]}]+)`
		return []*regexp.Regexp{
			// The userinfo of a URL, up to the last @ before its path.
			regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.-]*://)[^\s/"'\\]*@`),
			regexp.MustCompile(`((?i:` + key + `)\\?["']?\s*=\s*)` + value),
			// With a colon, only a quoted key or a password marks a secret: "getting the secret: not found" has none.
			regexp.MustCompile(`((?i:\\?["']` + key + `\\?["']|passw(?:or)?d|passphrase)\s*:\s*)` + value),
			regexp.MustCompile(`((?i:\b(?:bearer|basic)) +)[A-Za-z0-9._~+/=-]{8,}`),
			regexp.MustCompile(`()\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_.-]+`),
			// Headers of HTTP, also as Go prints them: X-Auth-Token:[value]. Then fields of the SDKs' structs, and short names.
			regexp.MustCompile(`((?i:\bx-[a-z-]*token|authorization|\bcookie|vmware-api-session-id)\\?["']?\s*:\s*\[?` +
				`(?i:(?:bearer|basic|digest|negotiate|token) +)?)` + value),
			regexp.MustCompile(`((?:Secret(?:AccessKey|Key)?|(?:Session|Security|Access|Refresh|Auth)Token|ClientSecret|` +
				`AccessKeySecret|A[Pp][Ii]Key|TokenID):)` + value),
			regexp.MustCompile(`((?i:\b(?:pwd|sig|vmware_soap_session))=)` + value),
			// Tokens by their form: Keystone, Google Cloud, DigitalOcean, AWS.
			regexp.MustCompile(`()\b(?:gAAAAA[A-Za-z0-9_=-]{20,}|ya29\.[A-Za-z0-9_-]{10,}|do[opr]_v1_[0-9a-f]{16,}|` +
				`(?:IQoJ|FwoG)[A-Za-z0-9+/=]{20,})`),
		}
	})
)

// Summary returns the Reason, limited to 300 characters. The summary of an empty message is empty.
func Summary(message string) string { return Cut(Reason(message)) }

// Reason returns the last line of the highest rank: a fatal error, else the error that the process returned, else a
// logged error, else the last line. Lines that follow what klog has logged belong to it. It removes klog's header,
// control characters and secrets, and leaves the first words of a page of HTML.
func Reason(message string) string {
	var s selection
	for line := range strings.Lines(message) {
		line = strings.TrimRight(line, "\r\n")
		if !s.isStack(line) {
			s.read(line)
		}
	}
	return Redact(oneLine(withoutPage(s.text)))
}

// selection is what was selected of the lines so far.
type selection struct {
	best rank
	text string
	// continues reports that the text may go on in the next line, and inStack that a stack does.
	continues, inStack bool
}

// isStack reports whether a line belongs to a stack.
func (s *selection) isStack(line string) bool {
	s.inStack = !header().MatchString(line) && (s.inStack || goroutine().MatchString(line))
	s.continues = s.continues && !s.inStack
	return s.inStack
}

func (s *selection) read(line string) {
	r, content := rankOf(line)
	switch {
	case s.continues && (r == plain || strings.HasPrefix(line, "\t")):
		s.text += " " + content
	case r != noise && r >= s.best && strings.TrimSpace(content) != "":
		s.best, s.text = r, content
		s.continues = r >= logged && header().MatchString(line)
	case r != noise:
		s.continues = false
	}
}

// Alike reports whether two summaries differ only by a number or an ID, such as that of a request, a port or a
// duration. A condition must not change with each.
func Alike(a, b string) bool {
	return number().ReplaceAllString(a, "#") == number().ReplaceAllString(b, "#")
}

var number = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[0-9A-Fa-f-]{8,}|\d+`) })

// rankOf returns the line's rank and its content without klog's header.
func rankOf(line string) (rank, string) {
	if parts := header().FindStringSubmatch(line); parts != nil {
		return severities[parts[1]], parts[2]
	}
	switch {
	case goroutine().MatchString(line), strings.HasPrefix(line, "\t"), strings.HasPrefix(line, "FLAG: "),
		strings.HasPrefix(strings.TrimSpace(line), "<") && page().MatchString(line):
		return noise, line
	case strings.HasPrefix(line, "panic: "), strings.HasPrefix(line, "fatal error: "):
		return fatal, line
	case strings.HasPrefix(line, "Error: "):
		return usage, line
	default:
		return plain, line
	}
}

// withoutPage replaces a page in a line with its first text, which is its title or its status. What precedes the page
// has the request and the status.
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

// oneLine returns text as one line, without line breaks, escape sequences and characters that change the direction
// of text.
func oneLine(text string) string {
	text = strings.Map(func(r rune) rune {
		if r == unicode.ReplacementChar || !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
	return strings.Join(strings.Fields(text), " ")
}

// Redact returns a text without the secrets that are known by their form or by their name: those of a proxy, of a
// session or of a configuration that the operator does not have.
func Redact(text string) string {
	text = privateKey().ReplaceAllString(text, redacted)
	var out strings.Builder
	for line := range strings.Lines(text) {
		out.WriteString(redactLine(line))
	}
	return out.String()
}

// redactLine is Redact for one line: the value of a name is not in the next one.
func redactLine(line string) string {
	text, isWhole := strings.CutSuffix(line, "\n")
	for _, pattern := range secrets() {
		replacement := "${1}" + redacted
		if strings.HasSuffix(pattern.String(), "@") {
			replacement += "@"
		}
		text = pattern.ReplaceAllString(text, replacement)
	}
	if isWhole {
		text += "\n"
	}
	return text
}

// Cut limits a text to 300 characters.
func Cut(text string) string { return printable.Cut(text, maxRunes) }
