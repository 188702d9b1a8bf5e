// Package adminevents records only events that matter to an administrator. library-go's controllers record each object
// that they write and each change of a message: more than fifty events in a rollout. The others are logged.
package adminevents

import (
	"regexp"

	"github.com/openshift/library-go/pkg/operator/events"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/eventfilter"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/printable"
)

// bookkeeping are the reasons of events that are logged instead. RevisionTriggered, NodeCurrentRevisionChanged and the
// changes of Progressing report a rollout.
var bookkeeping = sets.New(
	// The objects of a candidate and their copies in a revision.
	"ConfigMapCreated", "ConfigMapUpdated", "SecretCreated", "SecretUpdated",
	// The steps to RevisionTriggered, and from there to NodeCurrentRevisionChanged.
	"StartingNewRevision", "RevisionCreate", "NodeTargetRevisionChanged", "PodCreated",
	// During a rollout, nodes differ in their images.
	"MultipleVersions",
	// The installer controller runs before revision 1 exists. Later, InstallerControllerDegraded reports missing objects.
	"RequiredInstallerResourcesMissing",
)

// maxMessage limits the message of an event, in bytes: a Node, a tenant or a cloud may have written what it quotes.
const maxMessage = 4096

// statusChanged is the reason of library-go's events about each change of the ClusterOperator.
const statusChanged = "OperatorStatusChanged"

// statusFlipped matches such a message if a condition's status changed, not only its message.
var statusFlipped = regexp.MustCompile(`\b(Available|Progressing|Degraded|Upgradeable) (changed from|set to) `)

// lostRace matches library-go's warning about a conflict, perhaps with the operator's own former write, which a cache
// does not show yet. The controllers repeat such a write; see reconciler.Retried.
var lostRace = regexp.MustCompile(`^Failed to (?:create|update) \S+ -n \S+: .*` +
	`(?:the object has been modified; please apply your changes to the latest version and try again|already exists)$`)

// New returns a recorder that passes the events for administrators to recorder.
func New(recorder events.Recorder) events.Recorder {
	return eventfilter.New(recorder, func(reason, message string) (string, bool) {
		isUnflipped := reason == statusChanged && !statusFlipped.MatchString(message)
		if bookkeeping.Has(reason) || isUnflipped || lostRace.MatchString(message) {
			klog.InfoS("not an event", "reason", reason, "message", message)
			return "", false
		}
		return printable.Cut(message, maxMessage), true
	})
}
