package preflight

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/nodecause"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/terminationmessage"
)

const (
	// wellTime is how long a process must have led with all its controllers. The last that ends it is the API server's
	// health, which it asks for 10 seconds after they have started.
	wellTime = 15 * time.Second

	// unlistedTime is how long it must have led where it does not tell what it has started. The slowest, Alibaba Cloud's,
	// ends after two minutes without its caches.
	unlistedTime = 130 * time.Second

	// startLimit is how long it may take to start its controllers. Azure's retries last for more than a minute.
	startLimit = 2 * time.Minute

	// moveLimit is how long the lead may take to move to the first node, and unledTime how long nobody may lead meanwhile:
	// the change may be the cure.
	moveLimit = 3 * time.Minute
	unledTime = time.Minute

	// recentTime is how old a revision may be that is taken back when every node has it.
	recentTime = time.Hour
)

// proof is what is known at one moment about a revision that is to lead on its first node.
type proof struct {
	now    time.Time
	record *operand.Leading
	// container is that of the first node while it leads, "" while it does not, and isElsewhere whether another node's
	// does.
	container   string
	isElsewhere bool
	// end is the verdict about the process of the first node that led, nil unless it has ended.
	end *operand.PreflightVerdict
	// unled is how long no process has led.
	unled time.Duration
	// started are the controllers that the process that leads has started, nil if it was not asked, or has not answered.
	// wellFor is how long the one of the first node has led with all of them.
	started []string
	wellFor time.Duration
	// changed are the causes of what the revision changes.
	changed []diagnostic.Cause
	// log is the end of the log of a process that has not started its controllers in time.
	log *evidence
}

// next returns the record of the next state, which may be the same, and the verdict that rejects the revision, nil if
// there is none. The package's documentation has the table.
func (p *proof) next() (*operand.Leading, *operand.PreflightVerdict) {
	r, age := p.record, p.now.Sub(p.record.Since.Time)
	switch {
	case r.State == operand.LeadHeld:
		return p.held(age)
	case p.end != nil && p.end.Result == operand.Failed:
		return r.In(operand.LeadFailed, p.end.Message, p.now), p.end
	case p.end != nil:
		return r.In(operand.LeadHeld, p.end.Message, p.now), nil
	case r.State == operand.LeadTaken:
		return p.leads(age), nil
	case p.container != "":
		next := r.In(operand.LeadTaken, "", p.now)
		next.Container = p.container
		return next, nil
	case p.unled >= unledTime:
		return r.In(operand.LeadUnproved, fmt.Sprintf("nobody has led for %s, and the change may be the cure", unledTime),
			p.now), nil
	case age >= moveLimit:
		return r.In(operand.LeadUnproved, fmt.Sprintf("the lead did not move to node/%s within %s", r.Node, moveLimit),
			p.now), nil
	}
	return r, nil
}

// leads returns the next record while the process of the first node leads.
func (p *proof) leads(age time.Duration) *operand.Leading {
	r := p.record
	switch {
	case p.wellFor >= wellTime, len(p.started) == 0 && len(r.Controllers) == 0 && age >= unlistedTime:
		return r.In(operand.LeadProven, "", p.now)
	case p.isElsewhere:
		return r.In(operand.LeadHeld, "another process has taken the lead", p.now)
	case age >= startLimit && len(r.Controllers) > 0:
		next := r.In(operand.LeadHeld, p.hangs(), p.now)
		next.Hangs = true
		return next
	}
	return r
}

// held returns the next record of a revision that has shown nothing. One that hangs has failed if a process of the
// former revision starts meanwhile what it did not.
func (p *proof) held(age time.Duration) (*operand.Leading, *operand.PreflightVerdict) {
	r := p.record
	switch {
	case r.Hangs && p.isElsewhere && len(r.Controllers) > 0 && isAmong(r.Controllers, p.started):
		verdict := &operand.PreflightVerdict{Result: operand.Failed, Class: hang, Node: r.Node, Message: fmt.Sprintf(
			"%s; one of revision %d has started them since", r.Why, r.Former)}
		verdict.Ended.Time, verdict.Took.Duration = r.Since.Time, startLimit
		return r.In(operand.LeadFailed, verdict.Message, p.now), verdict
	case age >= operand.LeadHold:
		return r.In(operand.LeadUnproved, fmt.Sprintf("it was held for %s: %s", operand.LeadHold, r.Why), p.now), nil
	}
	return r, nil
}

// hangs describes a process that has not started its controllers in time.
func (p *proof) hangs() string {
	missing := p.missing()
	text := fmt.Sprintf("within %s, it did not start %s", startLimit, strings.Join(missing, ", "))
	if p.log == nil {
		return text
	}
	last := errorOf(p.log.log)
	if class := nodecause.ClassOf(last); class != nodecause.Other {
		return fmt.Sprintf("%s: %s: %q; %s", text, class.Cause(), terminationmessage.Cut(last), class.Action())
	}
	if last != "" {
		text += fmt.Sprintf(", and logged %q last", terminationmessage.Cut(last))
	}
	return text + "; correct what was changed"
}

// hasStarted reports whether the process has started all that the former leader had. Each start function has returned
// if it lists any.
func (p *proof) hasStarted() bool { return len(p.started) > 0 && len(p.missing()) == 0 }

// serviceController is the one that a cloud configuration turns off, as where there are no load balancers.
const serviceController = "service-lb-controller"

// missing returns the controllers of the former leader that this one lacks and that the change does not explain. Other
// flags start others, and another image may have other names for them.
func (p *proof) missing() []string {
	explains := func(cause diagnostic.Cause) bool { return slices.Contains(p.changed, cause) }
	others := explains(diagnostic.Configuration) || explains(diagnostic.Image)
	return slices.DeleteFunc(slices.Clone(p.record.Controllers), func(name string) bool {
		isExplained := others || name == serviceController && explains(diagnostic.CloudConfig)
		return slices.Contains(p.started, name) || len(p.started) > 0 && isExplained
	})
}

// isAmong reports whether all names are among the others.
func isAmong(names, others []string) bool {
	return !slices.ContainsFunc(names, func(name string) bool { return !slices.Contains(others, name) })
}
