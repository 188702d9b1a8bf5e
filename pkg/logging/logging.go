// Package logging keeps secrets and the content of objects out of the process's log, at every verbosity. library-go
// logs the difference of each object that it applies, and the pod that it installs. client-go logs the bodies of
// requests.
package logging

import (
	"regexp"
	"slices"

	"k8s.io/klog/v2"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/redaction"
)

const omitted = "(content is not logged)"

// content matches the formats whose last argument is the content of an object: "ConfigMap %q changes: %v" and
// "configmap %q changes for revision %d: %s" of library-go's controllers, "Writing static pod manifest %q ...\n%s" of
// its installer.
var content = regexp.MustCompile(`changes.*: %[vs]$|\n%s$`)

// Install makes klog omit content and secrets. Call it before the first log message.
func Install() { klog.SetLogFilter(filter{}) }

// filter implements klog.LogFilter. It never changes the arguments in place, because the caller owns them.
type filter struct{}

func (filter) Filter(args []any) []any { return redactAll(args) }

func (filter) FilterF(format string, args []any) (string, []any) {
	if len(args) == 0 {
		return redact(format), args
	}
	args = slices.Clone(args)
	if content.MatchString(format) {
		args[len(args)-1] = omitted
	}
	return redaction.Logins(format), redactAll(args) // redaction.Text could take a verb for a password
}

// FilterS also omits the bodies of requests and responses, which client-go logs at verbosity 8 and above.
func (filter) FilterS(msg string, keysAndValues []any) (string, []any) {
	keysAndValues = slices.Clone(keysAndValues)
	for i := 0; i+1 < len(keysAndValues); i += 2 {
		if keysAndValues[i] == "body" {
			keysAndValues[i+1] = omitted
		}
	}
	return redact(msg), redactAll(keysAndValues)
}

func redact(text string) string { return redaction.Text(redaction.Logins(text)) }

func redactAll(args []any) []any {
	redacted := make([]any, len(args))
	for i, arg := range args {
		switch value := arg.(type) {
		case string:
			redacted[i] = redact(value)
		case []byte:
			redacted[i] = redact(string(value))
		case error:
			if text := value.Error(); redact(text) != text {
				arg = redact(text)
			}
			redacted[i] = arg
		default:
			redacted[i] = arg
		}
	}
	return redacted
}
