package configobservation

import (
	"regexp"
	"strings"

	"github.com/openshift/library-go/pkg/operator/events"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/eventfilter"
)

// userinfo is everything between the scheme of a URL and the last @ in its string. It may take more than a user name
// and a password, never less: what stands between the two need not be valid. Strings in these events are quoted, by %q
// or as JSON, so one ends at a quote without a backslash, or with its line.
var userinfo = regexp.MustCompile(`://(?:[^"\\\n]|\\.)*@`)

// login is the same for a proxy without a scheme: from the start of a string, or of a word, with a colon before the @.
var login = regexp.MustCompile(`"(?:[^"\\\n:]|\\.)+:(?:[^"\\\n]|\\.)*@(?:sha256:)?|[^\s"@:]+:[^\s"]+@(?:sha256:)?`)

func redact(message string) string {
	message = userinfo.ReplaceAllString(message, "://REDACTED@")
	return login.ReplaceAllStringFunc(message, func(found string) string {
		switch {
		case strings.HasSuffix(found, "://REDACTED@"), strings.HasSuffix(found, "sha256:"): // the digest of an image
			return found
		case found[0] == '"':
			return `"REDACTED@`
		}
		return "REDACTED@"
	})
}

// redacting keeps the passwords of proxies out of events and so out of the log, which has every event. library-go puts
// the difference between two observed configurations into one, its proxy observer the URLs.
func redacting(recorder events.Recorder) events.Recorder {
	return eventfilter.New(recorder, func(_, message string) (string, bool) { return redact(message), true })
}
