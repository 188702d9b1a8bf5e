package availability

import "time"

// patience decides when a trouble has lasted long enough to be an outage. Its zero value has seen nothing.
//
// It counts from the last time at which the operand is known to have worked: a lease from its expiry after the last
// renewal by a process that had settled, readiness from the moment at which no pod was Ready any more. A holder that
// dies before it has settled changes neither, so that any number of them is one trouble.
type patience struct {
	// unreadySince is when the last pod turned unready, zero while one is Ready.
	unreadySince time.Time
	heldUntil    time.Time
	// granted is when a holder settles that acquired the lease in time, if only just; once per trouble.
	granted time.Time
}

// observe records v and returns when it is an outage, if it is a trouble.
func (p *patience) observe(v verdict, now time.Time) time.Time {
	if p.heldUntil.IsZero() {
		// What happened before this process began is unknown: whatever the lease still allows is allowed.
		p.heldUntil = now.Add(v.leader.runsFor)
	}
	if v.ready {
		p.unreadySince = time.Time{}
	} else if p.unreadySince.IsZero() {
		p.unreadySince = now
	}
	if v.leader.tenure == leading {
		p.heldUntil, p.granted = now.Add(v.leader.runsFor), time.Time{}
	}
	byReadiness, byLease := p.unreadySince.Add(v.patience), p.heldUntil.Add(v.patience)
	if v.leader.tenure == starting {
		byLease = p.grant(v.leader.acquired, byLease)
	}
	switch {
	case v.leader.tenure == leading:
		return byReadiness
	case v.ready || byLease.Before(byReadiness):
		return byLease
	default:
		return byReadiness
	}
}

// grant returns when a starting holder must have settled: a holder that acquired the lease before byLease is given the
// time to settle, once per trouble.
func (p *patience) grant(acquired, byLease time.Time) time.Time {
	if settled := acquired.Add(settleTime); p.granted.IsZero() && acquired.Before(byLease) && settled.After(byLease) {
		p.granted = settled
	}
	if p.granted.After(byLease) {
		return p.granted
	}
	return byLease
}
