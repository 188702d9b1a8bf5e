package trial

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
)

// Result is the outcome of a preflight.
type Result string

const (
	// Successful means that the cloud-controller-manager led and looked up its nodes.
	Successful Result = "Successful"
	// Failed means that the cloud-controller-manager cannot work with the candidate.
	Failed Result = "Failed"
	// Inconclusive means that the preflight shows nothing about the candidate: the cloud may be down, or the pod did not
	// run. The candidate waits while a former one works.
	Inconclusive Result = "Inconclusive"
)

// The pauses before a preflight that did not succeed is repeated: the first, doubled each time, and the longest. What
// waits for its cloud has longestWait, because only another preflight ends the wait.
//
// A rejected login counts against an account, which many clouds lock for half an hour after some of them. So at most
// three are made in half an hour with the same credentials. If the running credentials are rejected too, nothing works
// until new ones do: then soonTries follow each other after firstPause, and the others after ever longer pauses.
const (
	firstPause      = time.Minute
	soonTries       = 5
	firstLoginPause = 5 * time.Minute
	longestWait     = 5 * time.Minute
	longestPause    = time.Hour
)

// The classes that decide when, and for what, a preflight is repeated.
const (
	// RejectedLogin is the class of a login that the cloud rejects: nodecause.Unauthenticated.
	RejectedLogin = "Unauthenticated"
	// ImageNotPulled is the class of an image that the kubelet cannot pull.
	ImageNotPulled = "ImageNotPulled"
)

// Verdict is what a preflight, or a revision on its first node, shows about a candidate.
type Verdict struct {
	Result Result `json:"result"`
	// Class is the reason for Failed and Inconclusive: a nodecause.Class, ImageNotPulled, or a class of package preflight.
	Class string `json:"class,omitempty"`
	// Message contains the cause, the last log line of the cloud-controller-manager without secrets, and the action.
	Message string `json:"message,omitempty"`
	// Node is where the preflight ran, Ended when it ended, and Took how long it ran.
	Node  string          `json:"node,omitempty"`
	Ended metav1.Time     `json:"ended"`
	Took  metav1.Duration `json:"took"`
	// Tries is how many preflights of this candidate have ended. If LeaderRejected is found later than the verdict, it is
	// set to 0, so that the next one is due at once.
	Tries int `json:"tries"`
	// Revision failed on the first node of its rollout, or in a preflight meanwhile. Former is the revision on the other
	// nodes. Both are 0 for a preflight before a rollout.
	Revision int32 `json:"revision,omitempty"`
	Former   int32 `json:"former,omitempty"`
	// Late means that a preflight failed after the revision had started to roll out unproved.
	Late bool `json:"late,omitempty"`
	// LeaderRejected means that the cloud rejects what runs for the same reason: the leader or, for a login, a static pod
	// whose process has ended.
	LeaderRejected bool `json:"leaderRejected,omitempty"`
	// Led means that the revision failed when its cloud-controller-manager led.
	Led bool `json:"led,omitempty"`
	// LoggedIn means that a preflight had logged in with what the revision changes.
	LoggedIn bool `json:"loggedIn,omitempty"`
}

// Rejection is what a candidate with a failed preflight changed. Only the cloud knows which of the inputs is wrong, so
// they are rejected together, until one of them changes.
type Rejection struct {
	Inputs  operand.StartDigests `json:"inputs"`
	Verdict Verdict              `json:"verdict"`
	// Credentials is the digest of the credentials that were tried, empty if unknown.
	Credentials string `json:"credentials,omitempty"`
}

// IsFor reports whether the rejection is about a revision that failed on its first node.
func (r *Rejection) IsFor(revision int32) bool {
	return revision != 0 && r.Verdict.Revision == revision
}

// RememberPeriod is how long rejections are remembered.
const RememberPeriod = longestPause

// maxRemembered is how many rejections of inputs that were undone are remembered.
const maxRemembered = 8

// toReject returns the digests of what is rejected together. After a preflight, it omits an image and flags that
// changed at the same time, because they can be tried without the rest. If the image is not pulled, it is only that.
func toReject(inputs operand.StartDigests, verdict *Verdict) operand.StartDigests {
	if verdict.Revision != 0 {
		return inputs
	}
	if image := inputs[diagnostic.Image]; verdict.Class == ImageNotPulled && image != "" {
		return operand.StartDigests{diagnostic.Image: image}
	}
	rest := maps.Clone(inputs)
	delete(rest, diagnostic.Image)
	delete(rest, diagnostic.Configuration)
	if len(rest) == 0 {
		return inputs
	}
	return rest
}

// remembers reports whether a rejection counts when its inputs come back: within RememberPeriod, a login would count
// against the account again, and a rollout would repeat on the node where it failed.
func (r *Rejection) remembers(now time.Time) bool {
	matters := !r.Waits() && (r.Verdict.Class == RejectedLogin || r.Verdict.Revision != 0)
	return matters && now.Sub(r.Verdict.Ended.Time).Abs() < RememberPeriod // the node's clock may have been ahead
}

// Remembered returns the latest of the rejections that are still remembered. That of the latest revision is, until
// another revision replaces it: no node may get it, and the condition must say why.
func Remembered(rejections []Rejection, latest int32, now time.Time) []Rejection {
	kept := slices.DeleteFunc(slices.Clone(rejections), func(r Rejection) bool {
		return !r.remembers(now) && !r.IsFor(latest)
	})
	slices.SortFunc(kept, func(a, b Rejection) int { return a.Verdict.Ended.Compare(b.Verdict.Ended.Time) })
	return kept[max(0, len(kept)-maxRemembered):]
}

// Waits reports whether the inputs wait for a verdict and are not known to be wrong.
func (r *Rejection) Waits() bool { return r.Verdict.Result == Inconclusive }

// update takes the verdict of a repeated preflight. An inconclusive verdict does not refute a failure.
func (r *Rejection) update(present *Rejection) {
	if present.Waits() && !r.Waits() {
		r.Verdict.Ended = present.Verdict.Ended
		return
	}
	r.Verdict, r.Credentials = present.Verdict, present.Credentials
}

// AwaitsLeader reports whether a login was rejected that is tried again soon if that of the running
// cloud-controller-manager is rejected too: a preflight's, or that of a revision which is not the latest any more.
func (v *Verdict) AwaitsLeader(latest int32) bool {
	isBack := v.Revision == 0 || v.Revision != latest && !v.LoggedIn
	return v.Result == Failed && v.Class == RejectedLogin && isBack && !v.LeaderRejected
}

// After returns the verdict of a repeated preflight; former may be nil. Inconclusive does not refute a failure.
func (v *Verdict) After(former *Verdict) *Verdict {
	if former == nil {
		return v
	}
	after := *v
	if former.Result == Failed && v.Result == Inconclusive {
		after = *former
		after.Ended = v.Ended
	}
	if former.Result != Inconclusive || v.Result != Failed {
		after.Tries = former.Tries + v.Tries // An outage says nothing about the failure after it.
	}
	// Otherwise the leader's rejection would be found again, and each preflight repeated at once.
	after.LeaderRejected = after.LeaderRejected || former.LeaderRejected && after.Class == RejectedLogin
	return &after
}

// Never is the pause of a preflight that is not repeated.
const Never = time.Duration(math.MaxInt64)

// RepeatIn returns the time until the preflight is repeated, 0 if it is due.
func (v *Verdict) RepeatIn(now time.Time) time.Duration {
	pause := v.pause()
	if pause == Never {
		return Never
	}
	return min(pause, max(0, v.Ended.Add(pause).Sub(now)))
}

func (v *Verdict) pause() time.Duration {
	if v.Result == Successful || v.Revision != 0 && !v.LeaderRejected {
		return Never
	}
	first, longest := firstPause, longestPause
	switch {
	case v.LeaderRejected && v.Tries == 0:
		return 0
	case v.LeaderRejected && v.Class == RejectedLogin:
		return v.pauseOfAll()
	case v.LeaderRejected || v.Result == Inconclusive || v.Class == ImageNotPulled:
		longest = longestWait
	case v.Class == RejectedLogin:
		first = firstLoginPause
	}
	return min(longest, first<<min(max(0, v.Tries-1), 6))
}

// pauseOfAll is the pause while the cloud rejects every login.
func (v *Verdict) pauseOfAll() time.Duration {
	if v.Tries <= soonTries {
		return firstPause
	}
	return min(longestPause, longestWait<<min(v.Tries-soonTries-1, 6))
}

// NextTry returns when the preflight is repeated, as the end of a message, empty if it is not.
func (v *Verdict) NextTry() (text string) {
	if v.LeaderRejected && v.Class == RejectedLogin {
		text = "; the login of the running one is rejected too, so leave these credentials if they were just created: a " +
			"cloud may take minutes to know them"
	}
	switch pause := v.pause(); pause {
	case Never:
		return text
	case 0:
		return text + "; it is tried again now"
	default:
		return text + "; it is tried again at " + v.Ended.Add(pause).UTC().Format(time.RFC3339)
	}
}

// Describe returns the verdict for a condition or an event.
func (v *Verdict) Describe() string {
	text := "a cloud-controller-manager with the changed inputs, on node/%[2]s for %[3]s at %[4]s: %[5]s"
	switch {
	case v.Late:
		text = "a cloud-controller-manager with what revision %[1]d changes, on node/%[2]s for %[3]s at %[4]s: %[5]s; " +
			"the nodes go back to what revision %[6]d has"
	case v.Led:
		text = "the cloud-controller-manager of revision %[1]d on node/%[2]s led for %[3]s until %[4]s: %[5]s; " +
			"the nodes go back to what revision %[6]d has"
	case v.Revision != 0:
		text = "revision %[1]d on node/%[2]s, the first one that got it, for %[3]s at %[4]s: %[5]s; " +
			"the node goes back to what revision %[6]d has"
	}
	return fmt.Sprintf(text, v.Revision, v.Node, v.Took.Round(time.Second), v.Ended.UTC().Format(time.RFC3339), v.Message,
		v.Former)
}
