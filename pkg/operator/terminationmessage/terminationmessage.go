// Package terminationmessage extracts from a container's termination message the one line that says why the process
// ended, safe to show in a condition.
//
// With the policy FallbackToLogsOnError the message is the tail of the log, up to 80 lines and 2048 bytes: a dump of
// all flags, progress messages and possibly the stacks of all goroutines surround the line that matters.
package terminationmessage

import (
	"regexp"
	"strings"
	"sync"
	"unicode"
)

// maxRunes bounds a summary, so that those of a few containers fit into a condition.
const maxRunes = 300

const redacted = "<redacted>"

// rank orders the lines of a log by how likely they say why the process ended.
type rank int

const (
	noise rank = iota
	info
	warning
	plain
	problem
	usage
	fatal
)

var (
	// header is klog's: severity, date, time, process and position. It differs in each run and is dropped.
	header = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^([IWEF])\d{4} \d{2}:\d{2}:\d{2}\.\d+ +\d+ [^\]\s]+\] ?(.*)$`)
	})
	severities = map[string]rank{"I": info, "W": warning, "E": problem, "F": fatal}

	// goroutine begins a stack, which lasts until the next line of klog.
	goroutine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^goroutine \d+ (gp=|\[)`) })

	// secrets are what a message may quote from a configuration or a request. The first group stays.
	secrets = sync.OnceValue(func() []*regexp.Regexp {
		const key = `[\w.-]*(?:password|passwd|passphrase|secret|token|credentials?|signature|` +
			`api[-_]?key|access[-_]?key|private[-_]?key)[\w-]*`
		const value = `(?:\\?"(?:[^"\\]|\\[^"])*\\?"|'[^']*'|[^\s,;&"'\\)\]}]+)`
		return []*regexp.Regexp{
			// The userinfo of a URL, up to the last @ before its path.
			regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.-]*://)[^\s/"'\\]*@`),
			regexp.MustCompile(`((?i:` + key + `)\\?["']?\s*=\s*)` + value),
			// With a colon only a quoted key or a password: "getting the secret: not found" is no secret.
			regexp.MustCompile(`((?i:\\?["']` + key + `\\?["']|passw(?:or)?d|passphrase)\s*:\s*)` + value),
			regexp.MustCompile(`((?i:\b(?:bearer|basic)) +)[A-Za-z0-9._~+/=-]{8,}`),
			regexp.MustCompile(`()\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_.-]+`),
		}
	})
)

// Summary returns the last line of message with the highest severity: a fatal one, else the error that the process
// returned, else an error that it logged, else its last words. It is without klog's header, control characters and
// secrets, at most 300 characters long, and empty if the message is.
func Summary(message string) string {
	best, text := noise, ""
	inStack := false
	for line := range strings.Lines(message) {
		line = strings.TrimRight(line, "\r\n")
		r, content := rankOf(line)
		if goroutine().MatchString(line) {
			inStack = true
		}
		if header().MatchString(line) {
			inStack = false
		}
		if inStack || r == noise || r < best || strings.TrimSpace(content) == "" {
			continue
		}
		best, text = r, content
	}
	return bound(redact(printable(text)))
}

// rankOf returns how likely the line says why the process ended, and the line without klog's header.
func rankOf(line string) (rank, string) {
	if parts := header().FindStringSubmatch(line); parts != nil {
		return severities[parts[1]], parts[2]
	}
	switch {
	case goroutine().MatchString(line), strings.HasPrefix(line, "\t"), strings.HasPrefix(line, "FLAG: "):
		return noise, line
	case strings.HasPrefix(line, "panic: "), strings.HasPrefix(line, "fatal error: "):
		return fatal, line
	case strings.HasPrefix(line, "Error: "):
		return usage, line
	default:
		return plain, line
	}
}

// printable returns text in one line: a name from elsewhere may hold line breaks, escape sequences of a terminal or
// marks that turn the direction of writing.
func printable(text string) string {
	text = strings.Map(func(r rune) rune {
		if r == unicode.ReplacementChar || !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
	return strings.Join(strings.Fields(text), " ")
}

func redact(text string) string {
	for _, pattern := range secrets() {
		replacement := "${1}" + redacted
		if strings.HasSuffix(pattern.String(), "@") {
			replacement += "@"
		}
		text = pattern.ReplaceAllString(text, replacement)
	}
	return text
}

func bound(text string) string {
	runes := []rune(text)
	if len(runes) <= maxRunes {
		return text
	}
	return string(runes[:maxRunes-1]) + "…"
}
