package preflight

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/nodecause"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/terminationmessage"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/trial"
)

const (
	// wellPeriod is how long a process must have led with all its controllers. The last check that can end it reads the
	// API server's health, 10 seconds after they have started.
	wellPeriod = 15 * time.Second

	// unlistedPeriod is the same for a process that does not list its controllers. The slowest, Alibaba Cloud's, ends
	// after two minutes if its caches have not synced.
	unlistedPeriod = 130 * time.Second

	// startTimeout is how long it may take to start its controllers. Azure's retries last for more than a minute.
	startTimeout = 2 * time.Minute

	// moveTimeout is how long the lead may take to move to the first node. The rollout goes on after unledTimeout without
	// a leader, or without another node's process, which the move needs: the change may be the fix.
	moveTimeout  = 3 * time.Minute
	unledTimeout = time.Minute

	// robbedTimeout is until when a leader's lease cannot have expired. If another process leads before, a client has
	// written or deleted the lease, or the leader has restarted.
	robbedTimeout = time.Minute

	// watchPeriod is how long after the start of its proof a revision is taken back if its leaders end.
	watchPeriod = time.Hour
)

// proving is what is known about a revision that is to lead on its first node.
type proving struct {
	now   time.Time
	proof *trial.Proof
	// container is that of the first node while it leads, "" otherwise, and isElsewhere whether another node's leads.
	container   string
	isElsewhere bool
	// end is the verdict about the first node's process if it led and has ended, nil otherwise.
	end *trial.Verdict
	// lost is how long another node's process has been missing after it ended.
	lost time.Duration
	// unled is how long no process has held the lease, and awaited how long this process of the operator has waited for a
	// move, both 0 while a client that is no CCM of ours holds it. isSettled is whether the leader has settled.
	unled, awaited time.Duration
	isSettled      bool
	// started are the controllers that the leader has started, and answers whether it was asked and has answered. wellFor
	// is how long the first node's process has led with all of them.
	started []string
	answers bool
	wellFor time.Duration
	// changed are the causes of the changes, accepted whether an administrator accepted them, accept the command for that.
	changed  []diagnostic.Cause
	accepted bool
	accept   string
	// log is the end of the log of a process that has not started its controllers in time.
	log string
}

// next returns the next state of the proof, perhaps the same, and the verdict that rejects the revision, if any. See
// doc.go.
func (p *proving) next() (*trial.Proof, *trial.Verdict) {
	proof, age := p.proof, p.now.Sub(p.proof.Since.Time)
	switch {
	case proof.State == trial.ProofHeld:
		return p.held(age)
	case p.end != nil && p.end.Result == trial.Failed:
		return proof.In(trial.ProofFailed, p.end.Message, p.now), p.end
	case p.end != nil && p.end.Class == killed && p.isRecent():
		return proof.In(trial.ProofAwaited, "", p.now), nil // It has shown nothing, and leads once more.
	case p.end != nil:
		next := p.hold(p.end.Message)
		next.End = p.end
		return next, nil
	case proof.State == trial.ProofLeads:
		return p.leads(age), nil
	case p.container != "":
		next := proof.In(trial.ProofLeads, "", p.now)
		next.Container = p.container
		return next, nil
	}
	if why := p.staysAway(); why != "" {
		return proof.In(trial.Unproved, why, p.now), nil
	}
	return proof, nil
}

// isRecent reports whether the revision may lead once more at once. A process that is killed again and again may end
// because of the change.
func (p *proving) isRecent() bool { return p.now.Sub(p.proof.Began.Time) < moveTimeout }

func (p *proving) staysAway() string {
	switch {
	case p.unled >= unledTimeout:
		return fmt.Sprintf("no static pod has led for %s, and the change may be the cure", unledTimeout)
	case p.lost >= unledTimeout:
		return otherIsLost
	case p.awaited >= moveTimeout:
		return fmt.Sprintf("the lead did not move to node/%s within %s", p.proof.Node, moveTimeout)
	}
	return ""
}

var otherIsLost = fmt.Sprintf("a process of another node has ended and was not Ready for %s, and the change may be "+
	"the cure", unledTimeout)

func (p *proving) leads(age time.Duration) *trial.Proof {
	proof := p.proof
	switch {
	case p.wellFor >= wellPeriod, p.leadsUntold() && age >= unlistedPeriod:
		return proof.In(trial.Proven, "", p.now)
	case p.isElsewhere && age < robbedTimeout && p.isRecent():
		return proof.In(trial.ProofAwaited, "", p.now) // It has shown nothing, and leads once more.
	case p.isElsewhere:
		// A client has written the lease, or its kubelet has not reported yet how the process ended.
		return p.hold("another process has taken the lead")
	case age >= startTimeout && p.tells() && !p.hasStarted():
		next := p.hold(p.hangs())
		next.Hangs = true
		return next
	case p.container == "" && age >= trial.ProofHoldPeriod:
		return proof.In(trial.Unproved, fmt.Sprintf("it no longer leads, and no other process has led within %s",
			trial.ProofHoldPeriod), p.now)
	}
	return proof
}

// leadsUntold reports whether the first node's process leads, and it is not known what it has started.
func (p *proving) leadsUntold() bool {
	return p.container != "" && p.isSettled && len(p.started) == 0 && !p.tells()
}

// tells reports whether it is known what the first node's process has started. Some CCMs do not list it, and the
// operator may not reach the port of another node. The kubelet there ends a process that does not answer.
func (p *proving) tells() bool { return p.answers && len(p.proof.Controllers) > 0 }

func (p *proving) hold(why string) *trial.Proof {
	next := p.proof.In(trial.ProofHeld, why, p.now)
	next.Accept = p.accept
	return next
}

// held is next for a revision that is held. A revision that hangs has failed if a process of the former revision
// starts the controllers that it did not start.
func (p *proving) held(age time.Duration) (*trial.Proof, *trial.Verdict) {
	p.proof = p.withLateEnd()
	proof := p.proof
	if why := p.goesOn(); why != "" {
		return proof.In(trial.Unproved, why, p.now), nil
	}
	switch {
	case proof.End != nil && age >= trial.ProofHoldPeriod && p.formerLeads():
		return p.leadsAgain()
	case proof.Hangs && len(proof.Controllers) > 0 && p.formerStarts():
		verdict := &trial.Verdict{Result: trial.Failed, Class: hang, Node: proof.Node, Message: fmt.Sprintf(
			"%s; one of revision %d has started them since", proof.Why, proof.Former)}
		verdict.Ended.Time, verdict.Took.Duration = proof.Since.Time, startTimeout
		return proof.In(trial.ProofFailed, verdict.Message, p.now), verdict
	case proof.End != nil && p.isElsewhere && age < trial.ProofHoldPeriod+moveTimeout:
		return proof, nil // The leader may settle, and may answer late.
	case age >= trial.ProofHoldPeriod:
		why := fmt.Sprintf("it was held for %s: %s", trial.ProofHoldPeriod, proof.Why)
		return proof.In(trial.Unproved, why, p.now), nil
	}
	return proof, nil
}

// goesOn returns why a rollout goes on that is held, or an empty string.
func (p *proving) goesOn() string {
	switch {
	case p.accepted:
		return acceptedByAdmin
	case p.lost >= unledTimeout && (p.wellFor >= wellPeriod || p.leadsUntold()):
		return otherIsLost
	}
	return ""
}

// withLateEnd returns the proof with the end of a process that its kubelet has reported after another one took the
// lead.
func (p *proving) withLateEnd() *trial.Proof {
	if p.end == nil || p.proof.AwaitsFormer() {
		return p.proof
	}
	ended := *p.proof
	ended.End = p.end
	return &ended
}

// leadsAgain is next for a revision whose process led and ended, if a process of the former revision leads with all its
// controllers at the end of the hold. The first time, the revision leads once more: an outage, or what else ended its
// process, may be over. The second time, it has failed: a mistake may look like an outage, or like a fault of the node,
// and tenants can write into the log that distinguishes them.
func (p *proving) leadsAgain() (*trial.Proof, *trial.Verdict) {
	proof := p.proof
	if !proof.Again {
		next := proof.In(trial.ProofAwaited, "", p.now)
		next.Began, next.Container, next.Accept, next.End, next.Again = next.Since, "", "", nil, true
		return next, nil
	}
	verdict := *proof.End
	verdict.Result = trial.Failed
	verdict.Message += fmt.Sprintf("; it ended twice, and one of revision %d has led since", proof.Former)
	return proof.In(trial.ProofFailed, verdict.Message, p.now), &verdict
}

func (p *proving) formerStarts() bool {
	return p.isElsewhere && sets.New(p.started...).HasAll(p.proof.Controllers...)
}

func (p *proving) formerLeads() bool { return p.isSettled && p.formerStarts() }

func (p *proving) hangs() string {
	missing := p.missing()
	text := fmt.Sprintf("within %s, it did not start %s", startTimeout, strings.Join(missing, ", "))
	last := errorOf(p.log)
	if class := nodecause.ClassOf(last); class != nodecause.Other {
		cause, action := class.Explain(last)
		return fmt.Sprintf("%s: %s: %q; %s", text, cause, terminationmessage.Cut(last), action)
	}
	if last != "" {
		text += fmt.Sprintf(", and logged %q last", terminationmessage.Cut(last))
	}
	return text + "; correct what was changed"
}

// hasStarted reports whether the process has started all controllers of the former leader. A process lists its
// controllers only once all start functions have returned.
func (p *proving) hasStarted() bool { return len(p.started) > 0 && len(p.missing()) == 0 }

// serviceController is the one that a cloud configuration turns off, for example without load balancers.
const serviceController = "service-lb-controller"

// missing returns the controllers of the former leader that this process lacks, unless the change explains that: other
// flags start other controllers, and another image may rename them.
func (p *proving) missing() []string {
	explains := func(cause diagnostic.Cause) bool { return slices.Contains(p.changed, cause) }
	others := explains(diagnostic.Configuration) || explains(diagnostic.Image)
	return slices.DeleteFunc(slices.Clone(p.proof.Controllers), func(name string) bool {
		isExplained := others || name == serviceController && explains(diagnostic.CloudConfig)
		return slices.Contains(p.started, name) || len(p.started) > 0 && isExplained
	})
}
