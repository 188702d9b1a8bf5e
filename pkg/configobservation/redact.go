package configobservation

import (
	"github.com/openshift/library-go/pkg/operator/events"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/eventfilter"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/redaction"
)

// redacting keeps the passwords of proxies out of events and so out of the log, which has every event. library-go puts
// the difference between two observed configurations into one, its proxy observer the URLs.
func redacting(recorder events.Recorder) events.Recorder {
	return eventfilter.New(recorder, func(_, message string) (string, bool) { return redaction.Logins(message), true })
}
