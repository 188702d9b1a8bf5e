// Package logging keeps the content of objects out of the process's log, at every verbosity. library-go logs the
// difference of each object that it applies and the pod that it installs. client-go logs the bodies of requests.
package logging

import (
	"regexp"
	"strings"

	"k8s.io/klog/v2"
)

// omitted replaces content in the log.
const omitted = "(content is not logged)"

var (
	// content matches the formats whose last argument is the content of an object: "ConfigMap %q changes: %v" and
	// "configmap %q changes for revision %d: %s" of library-go's controllers, "Writing static pod manifest %q ...\n%s" of
	// its installer.
	content = regexp.MustCompile(`changes.*: %[vs]$|\n%s$`)

	// userinfo matches the user information of a URL, for example a proxy's.
	userinfo = regexp.MustCompile(`([a-zA-Z][a-zA-Z0-9+.-]*://)[^/@\s"']+@`)

	// login matches the same without a scheme, which a proxy may have, and the digest of an image.
	login = regexp.MustCompile(`[^\s/@:"']+:[^\s/@"']+@(?:sha256:)?`)
)

// Install makes klog omit content. Call it before the first log message.
func Install() { klog.SetLogFilter(filter{}) }

// filter implements klog.LogFilter. It never changes the arguments in place, because the caller owns them.
type filter struct{}

// Filter redacts user information.
func (filter) Filter(args []any) []any { return redactAll(args) }

// FilterF omits content and redacts user information.
func (filter) FilterF(format string, args []any) (string, []any) {
	args = redactAll(args)
	if len(args) > 0 && content.MatchString(format) {
		args[len(args)-1] = omitted
	}
	return Redact(format), args
}

// FilterS omits the bodies of requests and responses, which client-go logs at verbosity 8 and above, and redacts user
// information.
func (filter) FilterS(msg string, keysAndValues []any) (string, []any) {
	keysAndValues = redactAll(keysAndValues)
	for i := 0; i+1 < len(keysAndValues); i += 2 {
		if keysAndValues[i] == "body" {
			keysAndValues[i+1] = omitted
		}
	}
	return Redact(msg), keysAndValues
}

// Redact replaces the user information of every URL in a string, and every user with a password before a host.
func Redact(s string) string {
	if !strings.Contains(s, "@") {
		return s
	}
	return login.ReplaceAllStringFunc(userinfo.ReplaceAllString(s, "${1}***@"), func(found string) string {
		if strings.HasSuffix(found, "sha256:") {
			return found
		}
		return "***@"
	})
}

func redactAll(args []any) []any {
	redacted := make([]any, len(args))
	for i, arg := range args {
		switch value := arg.(type) {
		case string:
			redacted[i] = Redact(value)
		case []byte:
			redacted[i] = Redact(string(value))
		case error:
			if text := value.Error(); Redact(text) != text {
				arg = Redact(text)
			}
			redacted[i] = arg
		default:
			redacted[i] = arg
		}
	}
	return redacted
}
