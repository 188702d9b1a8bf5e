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

// Result is how a preflight ended.
type Result string

const (
	// Successful is a preflight whose cloud-controller-manager led and looked up its nodes.
	Successful Result = "Successful"
	// Failed is one whose cloud-controller-manager cannot work with what the candidate has.
	Failed Result = "Failed"
	// Inconclusive is one that shows nothing about the candidate: the cloud may be down, or the pod did not run. The
	// candidate waits while a former one works.
	Inconclusive Result = "Inconclusive"
)

// The pauses after which a preflight that did not succeed is repeated: the first, doubled each time, and the longest.
// What waits for its cloud has longestWait, because only a repeated preflight ends the wait. A rejected login counts
// against an account, which many clouds lock for half an hour after some of them. So at most three are made in half an
// hour with the same credentials, unless the running ones are rejected too: then nothing works until new ones do, so
// soonTries follow each other after the first pause, and the others after ever longer ones.
const (
	firstPause      = time.Minute
	soonTries       = 5
	firstLoginPause = 5 * time.Minute
	longestWait     = 5 * time.Minute
	longestPause    = time.Hour
)

// The classes that decide when, and about what, a preflight is repeated.
const (
	// RejectedLogin is the class of a rejected login.
	RejectedLogin = "Unauthenticated"
	// ImageNotPulled is that of an image that the kubelet has failed to pull.
	ImageNotPulled = "ImageNotPulled"
)

// Verdict is what a preflight shows about a candidate.
type Verdict struct {
	Result Result `json:"result"`
	// Class is why, for Failed and Inconclusive: the name of a nodecause.Class, ImageNotPulled, or a class of package
	// preflight.
	Class string `json:"class,omitempty"`
	// Message has the cause, the last words of the cloud-controller-manager without secrets, and the action.
	Message string `json:"message,omitempty"`
	// Node is where the preflight ran, Ended when it ended, and Took how long it ran.
	Node  string          `json:"node,omitempty"`
	Ended metav1.Time     `json:"ended"`
	Took  metav1.Duration `json:"took"`
	// Tries is how many preflights of this candidate have ended. With LeaderRejected, 0 means that the next one is due.
	Tries int `json:"tries"`
	// Revision is the one that has failed on the first node of its rollout, or in a preflight meanwhile. Former is the one
	// that runs on the others. Both are 0 for a preflight before a rollout.
	Revision int32 `json:"revision,omitempty"`
	Former   int32 `json:"former,omitempty"`
	// Late means that a preflight has failed after the revision had started to roll out unproved.
	Late bool `json:"late,omitempty"`
	// LeaderRejected means that the cloud rejects the running cloud-controller-manager for the same reason.
	LeaderRejected bool `json:"leaderRejected,omitempty"`
	// Led means that the revision has failed when its cloud-controller-manager led.
	Led bool `json:"led,omitempty"`
}

// Rejection is what a candidate changed whose preflight has failed. Only the cloud knows which of the inputs
// it is, so they are rejected together, until one of them changes.
type Rejection struct {
	Inputs  operand.StartDigests `json:"inputs"`
	Verdict Verdict              `json:"verdict"`
	// Credentials is the digest of those that were tried, empty if it is not known.
	Credentials string `json:"credentials,omitempty"`
}

// IsFor reports whether the rejection is about a revision that has failed on its first node.
func (r *Rejection) IsFor(revision int32) bool {
	return revision != 0 && r.Verdict.Revision == revision
}

// RememberPeriod is how long rejections are remembered.
const RememberPeriod = longestPause

// maxRemembered is how many rejections are remembered about inputs that were undone.
const maxRemembered = 8

// toReject returns the digests of what is rejected together. After a preflight, an image or flags that were changed at
// the same time are not among them: without the rest, they can be tried on their own. Only a changed image is where it
// is not pulled.
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

// remembers reports whether a rejection counts when its inputs come back: within an hour, a login would be repeated
// against the account, and a rollout on the node where it has failed.
func (r *Rejection) remembers(now time.Time) bool {
	matters := !r.Waits() && (r.Verdict.Class == RejectedLogin || r.Verdict.Revision != 0)
	return matters && now.Sub(r.Verdict.Ended.Time).Abs() < RememberPeriod // A clock may have been ahead.
}

// Remembered returns those of the rejections that are still remembered, the latest of them.
func Remembered(rejections []Rejection, now time.Time) []Rejection {
	kept := slices.DeleteFunc(slices.Clone(rejections), func(r Rejection) bool { return !r.remembers(now) })
	slices.SortFunc(kept, func(a, b Rejection) int { return a.Verdict.Ended.Compare(b.Verdict.Ended.Time) })
	return kept[max(0, len(kept)-maxRemembered):]
}

// Waits reports whether the inputs wait for a verdict, and are not known to be wrong.
func (r *Rejection) Waits() bool { return r.Verdict.Result == Inconclusive }

// AppliesTo reports whether a candidate with these digests, of which some have changed, has what was rejected.
func (r *Rejection) AppliesTo(digests, changed operand.StartDigests) bool {
	changes := func(cause diagnostic.Cause) bool { return changed[cause] != "" }
	return digests.Matches(r.Inputs) && slices.ContainsFunc(r.Inputs.Causes(), changes)
}

// update takes the verdict of a repeated preflight. One that shows nothing refutes no failure.
func (r *Rejection) update(present *Rejection) {
	if present.Waits() && !r.Waits() {
		r.Verdict.Ended = present.Verdict.Ended
		return
	}
	r.Verdict, r.Credentials = present.Verdict, present.Credentials
}

// AwaitsLeader reports whether a preflight failed with a login that is repeated after a longer pause while the running
// cloud-controller-manager's is not rejected.
func (v *Verdict) AwaitsLeader() bool {
	return v.Result == Failed && v.Class == RejectedLogin && v.Revision == 0 && !v.LeaderRejected
}

// After returns the verdict of a repeated preflight; former may be nil. One that shows nothing does not refute a
// failure.
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

// Never is the pause after which nothing is repeated.
const Never = time.Duration(math.MaxInt64)

// RepeatIn returns when the preflight is repeated, 0 if that is due.
func (v *Verdict) RepeatIn(now time.Time) time.Duration {
	pause := v.pause()
	if pause == Never {
		return Never
	}
	return min(pause, max(0, v.Ended.Add(pause).Sub(now)))
}

func (v *Verdict) pause() time.Duration {
	if v.Result == Successful || v.Revision != 0 {
		return Never
	}
	first, longest := firstPause, longestPause
	switch {
	case v.LeaderRejected && v.Tries == 0:
		return 0
	case v.LeaderRejected && v.Class == RejectedLogin:
		if v.Tries <= soonTries {
			return firstPause
		}
		return min(longestPause, longestWait<<min(v.Tries-soonTries-1, 6))
	case v.LeaderRejected || v.Result == Inconclusive || v.Class == ImageNotPulled:
		longest = longestWait
	case v.Class == RejectedLogin:
		first = firstLoginPause
	}
	return min(longest, first<<min(max(0, v.Tries-1), 6))
}

// NextTry says when the preflight is repeated, empty if it is not.
func (v *Verdict) NextTry() string {
	switch pause := v.pause(); pause {
	case Never:
		return ""
	case 0:
		return "; it is tried again now"
	default:
		return "; it is tried again at " + v.Ended.Add(pause).UTC().Format(time.RFC3339)
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
