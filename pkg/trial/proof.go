package trial

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
)

// ProofState is the state of the proof of a revision, which must lead on its first node.
type ProofState string

// The states; see package preflight.
const (
	ProofAwaited ProofState = "Awaited"  // the lead will move to the first node
	ProofHeld    ProofState = "Held"     // it led, and showed nothing: the cloud may be down
	ProofLeads   ProofState = "Leads"    // the process on the first node leads
	Proven       ProofState = "Proven"   // it led well, or a preflight logged in with its credentials and CAs
	Unproved     ProofState = "Unproved" // the rollout proceeds, although nothing has proved the revision
	ProofFailed  ProofState = "Failed"   // the revision is rejected
)

// Proof is what is recorded about the proof of a revision.
type Proof struct {
	// Revision is the revision to prove, and Former the one that led before.
	Revision int32      `json:"revision"`
	Former   int32      `json:"former"`
	Node     string     `json:"node"`
	State    ProofState `json:"state"`
	// Why is the reason for Held, Unproved or Failed.
	Why string `json:"why,omitempty"`
	// Began is when the proof began, and Since when its state started.
	Began metav1.Time `json:"began"`
	Since metav1.Time `json:"since"`
	// Controllers are those that the former leader had started, as far as they are known.
	Controllers []string `json:"controllers,omitempty"`
	// Container is the ID of the first node's container that led.
	Container string `json:"container,omitempty"`
	// Accept is the command that ends Held early.
	Accept string `json:"accept,omitempty"`
	// Hangs means that it led, but did not start its controllers in time.
	Hangs bool `json:"hangs,omitempty"`
	// End is the verdict, in the state Held, about a process that led and then ended, perhaps not because of the change.
	End *Verdict `json:"end,omitempty"`
	// Again means that the revision leads for the second time: its first process had such an end.
	Again bool `json:"again,omitempty"`
}

// In returns the proof in another state, which starts now.
func (p *Proof) In(state ProofState, why string, now time.Time) *Proof {
	next := *p
	next.State, next.Why, next.Since = state, why, metav1.NewTime(now)
	return &next
}

// IsOpen reports whether the proof is about the revision and has no result yet. p may be nil.
func (p *Proof) IsOpen(revision int32) bool {
	return p != nil && p.Revision == revision && (p.State == ProofAwaited || p.State == ProofLeads || p.State == ProofHeld)
}

// HasEnded reports whether the proof is about the revision and has a result. p may be nil.
func (p *Proof) HasEnded(revision int32) bool {
	return p != nil && p.Revision == revision && !p.IsOpen(revision)
}

// HasFailed reports whether the revision failed when it led. p may be nil.
func (p *Proof) HasFailed(revision int32) bool {
	return p != nil && p.Revision == revision && p.State == ProofFailed
}

// AwaitsFormer reports whether the result depends on what a process of the former revision does.
func (p *Proof) AwaitsFormer() bool { return p.Hangs || p.End != nil }

// Counts reports whether the proof still matters: it is about the latest revision, and open or failed, or it is not
// older than RememberPeriod. p may be nil.
func (p *Proof) Counts(latest int32, now time.Time) bool {
	return p != nil && (p.IsOpen(latest) || p.HasFailed(latest) || now.Sub(p.Began.Time).Abs() < RememberPeriod)
}

// NeedsProof reports whether the latest revision must lead well before another node with the present revision gets it:
// it IsNew, and what it changes MustLead. p may be nil.
func (p *Proof) NeedsProof(objects operand.Objects, latest, present int32) bool {
	return MustLead(objects.Changes(latest, present)) && p.IsNew(objects, latest, present)
}

// MustLead reports whether not only credentials and CAs change. If the former credentials are no longer valid, a former
// leader that ends for the proof cannot start again.
func MustLead(changed operand.StartDigests) bool {
	return slices.ContainsFunc(changed.Causes(), func(cause diagnostic.Cause) bool {
		return cause != diagnostic.Credentials && cause != diagnostic.TrustedCA
	})
}

// IsNew reports whether the latest revision gets a proof: it changes what the cloud-controller-manager of the present
// revision starts with, it has no result or has failed, and it does not replace a failed revision. p is the last proof,
// and may be nil.
func (p *Proof) IsNew(objects operand.Objects, latest, present int32) bool {
	if latest == present || present == 0 || p.HasEnded(latest) && !p.HasFailed(latest) || p.HasFailed(present) {
		return false
	}
	return len(objects.Changes(latest, present)) > 0
}

// Describe returns what a rollout waits for, "" if it does not wait for the proof.
func (p *Proof) Describe() string {
	again := ""
	if p.Again {
		again = " once more"
	}
	switch p.State {
	case ProofAwaited:
		return fmt.Sprintf("the cloud-controller-manager on node/%s is to lead with revision %d%s, to prove it", p.Node,
			p.Revision, again)
	case ProofLeads:
		return fmt.Sprintf("the cloud-controller-manager on node/%s leads with revision %d%s to prove it", p.Node,
			p.Revision, again)
	case ProofHeld:
		return fmt.Sprintf("no other node gets revision %d before %s: %s; to roll it out unproved, run: %s", p.Revision,
			p.Since.Add(ProofHoldPeriod).UTC().Format(time.RFC3339), p.Why, p.Accept)
	case Proven, Unproved, ProofFailed:
	}
	return ""
}

// ProofHoldPeriod is how long a rollout waits after its revision has led and shown nothing.
const ProofHoldPeriod = 10 * time.Minute
