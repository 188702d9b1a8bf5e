package nodecause

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operandlog"
)

// The messages when a process starts to lead, of k8s.io/client-go/tools/leaderelection/leaderelection.go and of
// k8s.io/cloud-provider/app (core.go, controllermanager.go, names). If the provider offers no interface to instances at
// that moment, the node controller is skipped for the life of the process, which stays healthy.
const (
	acquiredLease = "successfully acquired lease"
	cannotStart   = "failed to start cloud node controller: "
	skipping      = `Skipping "cloud-node-controller"`
	started       = `Started "cloud-node-controller"`
	// The service controller, for example on OpenStack with enabled = false in [LoadBalancer].
	skippingServices = `Skipping "service-lb-controller"`
)

// Start is what a log contains about the moment when its process started to lead.
type Start struct {
	// Seen reports whether the log contains that moment, so that what follows is all that the process did as the leader.
	Seen bool
	// Started reports whether the node controller has started. Before that, the provider may wait for its cloud.
	Started bool
	// Skipped means that the process runs without the node controller, and Why is the error, "" if there is none.
	Skipped bool
	Why     string
	// WithoutServices means that the process runs without the service controller.
	WithoutServices bool
}

// StartOf returns what a log contains about the moment when its process started to lead.
func StartOf(log string) Start {
	var start Start
	var client, why string
	for line := range strings.Lines(log) {
		message, ok := messageOf(line)
		if !ok {
			continue
		}
		switch text, failed := strings.CutPrefix(message, cannotStart); {
		case strings.Contains(strings.ToLower(message), acquiredLease):
			start.Seen, client = true, ""
		case failed:
			why = cmp.Or(client, text)
		case message == skipping:
			start.Skipped = true
		case message == started:
			start.Started = true
		case message == skippingServices:
			start.WithoutServices = true
		default:
			client = cmp.Or(noClient(message), client)
		}
	}
	start.Why = why
	return start
}

// maxApart is how long after the acquisition time in the lease a process may log the acquisition.
const maxApart = 10 * time.Second

// Acquires reports whether a log contains the line with which its process acquired the lease at the given time, by the
// clock of its node. A tenant can forge such a line only with the time at which it is logged.
func Acquires(log string, acquired time.Time) bool {
	for line := range strings.Lines(log) {
		header, message, ok := operandlog.CutHeader(line)
		if ok && strings.Contains(strings.ToLower(message), acquiredLease) &&
			header.Near(acquired).Sub(acquired).Abs() <= maxApart {
			return true
		}
	}
	return false
}

// noClient returns why OpenStack's provider could not create a client, "" for another message.
func noClient(message string) string {
	for _, prefix := range noClients {
		if text, found := strings.CutPrefix(message, prefix); found {
			return text
		}
	}
	return ""
}

// Event is an Event that a CCM has logged. Type and Reason are empty if the line lacks them.
type Event struct {
	Type, Reason, Text string
	At                 operandlog.Header
}

var typeAndReason = regexp.MustCompile(` type="(\w+)" reason="(\w+)"$`)

// Logged returns the Events about an object, NAMESPACE/NAME, in the log of a CCM. A tenant can create an Event, but
// cannot write to the log: every recorder of k8s.io/cloud-provider logs its Events (client-go/tools/record,
// StartStructuredLogging).
func Logged(log, object string) []Event {
	var logged []Event
	begin := fmt.Sprintf(`"Event occurred" object=%q `, object)
	for line := range strings.Lines(log) {
		log = log[len(line):]
		message, ok := messageOf(line)
		head, text, isEvent := strings.Cut(message, " message=")
		if !ok || !isEvent || !strings.HasPrefix(message, begin) {
			continue
		}
		if text == "<" { // klog's form of a text with line breaks, such as an error of Azure
			text, _, _ = strings.Cut(log, "\n >\n")
			text = strings.ReplaceAll(strings.TrimPrefix(text, "\t"), "\n\t", "\n")
		} else {
			text, _ = strconv.Unquote(text)
		}
		event := Event{Text: text}
		event.At, _, _ = operandlog.CutHeader(line)
		if parts := typeAndReason.FindStringSubmatch(head); parts != nil {
			event.Type, event.Reason = parts[1], parts[2]
		}
		logged = append(logged, event)
	}
	return logged
}
