package nodecause

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operandlog"
)

// The messages about the begin of a process's lead, of k8s.io/client-go/tools/leaderelection/leaderelection.go and of
// k8s.io/cloud-provider/app (core.go, controllermanager.go, names). If the provider offers no interface to instances at
// that moment, the controller of nodes is skipped for the life of the process, which stays healthy.
const (
	acquiredLease = "successfully acquired lease"
	cannotStart   = "failed to start cloud node controller: "
	skipping      = `Skipping "cloud-node-controller"`
	started       = `Started "cloud-node-controller"`
	// Of the controller of Services, for example on OpenStack with enabled = false in [LoadBalancer].
	skippingServices = `Skipping "service-lb-controller"`
)

// Start is the begin of a process's lead, as its log has it.
type Start struct {
	// Seen reports whether the log has the begin, so that what follows is all that the process did as the leader.
	Seen bool
	// Started reports whether the controller of nodes has started. Before, the provider may wait for its cloud.
	Started bool
	// Skipped reports that the process runs without the controller of nodes, and Why is the error, "" if there is none.
	Skipped bool
	Why     string
	// WithoutServices reports that the process runs without the controller of Services.
	WithoutServices bool
}

// StartOf returns what a log says about the begin of its process's lead.
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

// maxApart is how long after the time in the lease a process may log that it has acquired it.
const maxApart = 10 * time.Second

// Acquires reports whether a log has the line with which its process acquired the lease at a time by the clock of its
// node. A tenant can write such a line only with the time at which it is logged.
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

// noClient returns why OpenStack's provider could not make a client, "" if the message is another one.
func noClient(message string) string {
	for _, prefix := range noClients {
		if text, found := strings.CutPrefix(message, prefix); found {
			return text
		}
	}
	return ""
}

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
