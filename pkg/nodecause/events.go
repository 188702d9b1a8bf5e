package nodecause

import (
	"fmt"
	"strings"
)

// HasLogged reports whether the log of a CCM has the Event about an object, NAMESPACE/NAME. A tenant can write an
// Event, but not into the log: every recorder of k8s.io/cloud-provider logs its Events (client-go/tools/record,
// StartStructuredLogging).
func HasLogged(log, object, text string) bool {
	event, said := fmt.Sprintf(`"Event occurred" object=%q `, object), fmt.Sprintf(" message=%q", text)
	for line := range strings.Lines(log) {
		message, ok := messageOf(line)
		if ok && strings.HasPrefix(message, event) && strings.HasSuffix(message, said) {
			return true
		}
	}
	return false
}
