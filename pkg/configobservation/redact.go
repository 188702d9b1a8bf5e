package configobservation

import (
	"github.com/openshift/library-go/pkg/operator/events"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/eventfilter"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/redaction"
)

// redacting keeps the passwords of proxies out of events, and thus out of the log. library-go records the difference
// between two observed configurations, and its proxy observer records the URLs.
func redacting(recorder events.Recorder) events.Recorder {
	return eventfilter.New(recorder, func(_, message string) (string, bool) { return redaction.Logins(message), true })
}
