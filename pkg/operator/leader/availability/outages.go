package availability

import (
	"time"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/patience"
)

// outages decides when a failure has lasted long enough to be an outage. Its zero value is ready for use.
//
// The grace period starts when the operand last worked. For the lease, that is its expiry after the last renewal by a
// settled process. For readiness, it is the moment when the last Ready pod became unready. A holder that dies before
// it settles changes neither, so a series of such holders counts as one failure.
//
// What came before this process is unknown, and so is what came before etcd was restored from an older snapshot: the
// lease in it proves neither work nor an outage. The standbys count its duration from when they see it, so it counts as
// renewed at that moment.
//
// A lease that processes acquire one after the other without settling is no lease that has to expire. Then a minute
// without a process that has settled is an outage.
type outages struct {
	lease controlplane.Record
	// ready reports whether a pod is Ready.
	ready     patience.Since[bool]
	heldUntil time.Time
	// works reports whether the lease has a leader that works, and taken counts the acquisitions until it had none.
	works patience.Since[bool]
	taken int32
	// granted is when a holder settles that acquired the lease before the deadline. It is granted once per failure.
	granted time.Time
}

// see records the lease. It precedes observe.
func (o *outages) see(v controlplane.View) {
	lease := v.Record()
	if o.heldUntil.IsZero() {
		o.heldUntil, o.taken = v.Now(), lease.Transitions()
	}
	if !lease.ObservedStaleSince.Equal(o.lease.ObservedStaleSince) {
		o.heldUntil, o.granted = lease.ObservedStaleSince.Add(v.Duration()), time.Time{}
		o.works, o.taken = patience.Since[bool]{}, lease.Transitions()
	}
	o.lease = lease
}

// observe records the state, and returns when its failure becomes an outage.
func (o *outages) observe(state operandState, now time.Time) time.Time {
	unready := o.ready.See(state.ready, now)
	works := state.leader.State == controlplane.Leading || state.leader.State == controlplane.Predecessor
	o.follow(works, state.leader, now)
	byReadiness, byLease := unready.Add(state.gracePeriod), o.heldUntil.Add(state.gracePeriod)
	if state.leader.State == controlplane.Starting {
		byLease = o.grant(state.leader.Acquired, byLease)
	}
	if minute := o.works.At().Add(leaderlessGrace); o.fails(state.leader) && minute.Before(byLease) {
		byLease = minute
	}
	switch {
	case works:
		return byReadiness
	case state.ready || byLease.Before(byReadiness):
		return byLease
	default:
		return byReadiness
	}
}

// follow records whether the lease has a leader that works.
func (o *outages) follow(works bool, leader controlplane.Holder, now time.Time) {
	if works && o.lease.Observed {
		o.heldUntil, o.granted = now.Add(leader.ExpiresIn), time.Time{}
	}
	if works {
		o.taken = o.lease.Transitions()
	}
	o.works.See(works, now)
}

// leaderlessGrace is how long no process may have led while each that acquires the lease ends.
const leaderlessGrace = time.Minute

// fails reports whether two processes have acquired the lease since the operand worked, and have not settled. One may
// be a process that was killed, or a revision that is taken back.
func (o *outages) fails(leader controlplane.Holder) bool {
	failed := o.lease.Transitions() - o.taken
	if leader.State == controlplane.Starting {
		failed--
	}
	return !o.works.Value() && failed > 1
}

// grant returns the deadline for a starting holder. A holder that acquired the lease before byLease gets the time to
// settle, once per failure.
func (o *outages) grant(acquired, byLease time.Time) time.Time {
	if settled := acquired.Add(controlplane.SettleTime); o.granted.IsZero() && acquired.Before(byLease) &&
		settled.After(byLease) {
		o.granted = settled
	}
	if o.granted.After(byLease) {
		return o.granted
	}
	return byLease
}
