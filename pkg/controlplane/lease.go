package controlplane

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationinformers "k8s.io/client-go/informers/coordination/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane/leaseholder"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
)

// Lease records the operand's lease, event by event: a controller that reads a lister once for several events would
// miss holders in between. It is also the informer of the controllers that use it, so that an event is recorded before
// they are called. The zero value has seen no lease, and can be used with See and Deleted.
type Lease struct {
	mutex  sync.Mutex
	record Record
	// former is the record that the previous process of the operator in this pod left, until the first sight of the lease.
	former *Record

	registration cache.ResourceEventHandlerRegistration
	handlers     []cache.ResourceEventHandler
}

// Record is the lease as this process of the operator last saw it.
type Record struct {
	// Lease is the object, nil before the first sight. After a deletion it is the deleted object.
	Lease *coordinationv1.Lease
	// Exists is false after a deletion.
	Exists bool
	// Since is when the operator first saw this renewal, or this holder.
	Since time.Time
	// HeldSince is when the holder acquired the lease, by the operator's clock.
	HeldSince time.Time
	// Observed reports whether a process has written the lease while this process of the operator watched. The first sight
	// may be stale: restored from an etcd snapshot, with the holder of that time. A lease that goes back after a restore
	// is stale again. If only the holder changes, without a renewal or an acquisition, no process wrote it.
	Observed bool
	// ObservedStaleSince is when the lease was first seen, or went back. Remember does not store it.
	ObservedStaleSince time.Time `json:"-"`
	// Process is the last process of ours that was seen to hold the lease.
	Process Process
}

// NewLease returns the Lease that follows the informer. It must be called before the informer starts.
func NewLease(informer coordinationinformers.LeaseInformer, clock clock.PassiveClock) (*Lease, error) {
	l := &Lease{}
	follow := func(record func(*coordinationv1.Lease, time.Time), obj any, call func(cache.ResourceEventHandler)) {
		if lease := leaseOf(obj); lease != nil {
			record(lease, clock.Now())
			l.call(call)
		}
	}
	var err error
	l.registration, err = informer.Informer().AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(obj any, isInInitialList bool) {
			follow(l.See, obj, func(h cache.ResourceEventHandler) { h.OnAdd(obj, isInInitialList) })
		},
		UpdateFunc: func(former, obj any) {
			follow(l.See, obj, func(h cache.ResourceEventHandler) { h.OnUpdate(former, obj) })
		},
		DeleteFunc: func(obj any) {
			follow(l.Deleted, obj, func(h cache.ResourceEventHandler) { h.OnDelete(obj) })
		},
	})
	if err != nil {
		return nil, fmt.Errorf("watching lease/%s in %s: %w", operand.Lease, operand.Namespace, err)
	}
	return l, nil
}

func leaseOf(obj any) *coordinationv1.Lease {
	if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = tombstone.Obj
	}
	lease, ok := obj.(*coordinationv1.Lease)
	if !ok || lease.Namespace != operand.Namespace || lease.Name != operand.Lease {
		return nil
	}
	return lease
}

// AddEventHandler implements factory.Informer. The handler is called after the event has been recorded. It gets later
// events only, so it must be added before the informer starts.
func (l *Lease) AddEventHandler(handler cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.handlers = append(l.handlers, handler)
	return l.registration, nil
}

// HasSynced implements factory.Informer.
func (l *Lease) HasSynced() bool { return l.registration.HasSynced() }

func (l *Lease) call(do func(cache.ResourceEventHandler)) {
	l.mutex.Lock()
	handlers := l.handlers
	l.mutex.Unlock()
	for _, handler := range handlers {
		do(handler)
	}
}

// Record returns the current record.
func (l *Lease) Record() Record {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.record
}

// See records a version of the lease.
func (l *Lease) See(lease *coordinationv1.Lease, now time.Time) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.recall(now)
	l.record.see(lease, now)
}

// Deleted records the deletion of the lease, whose last version is given.
func (l *Lease) Deleted(lease *coordinationv1.Lease, now time.Time) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.record.see(lease, now)
	l.record.Exists = false
}

// see orders the versions of the lease by its transitions, which an acquisition increases, and by the time of the last
// renewal. The clocks of two holders may differ.
func (r *Record) see(lease *coordinationv1.Lease, now time.Time) {
	former := r.Lease
	sameHolder := former != nil && leaseholder.Identity(former) == leaseholder.Identity(lease)
	sameTerm := sameHolder && transitions(former) == transitions(lease)
	if sameTerm && lease.Spec.AcquireTime == nil {
		// A user removed it. client-go's leader election always sets AcquireTime, and keeps what it finds.
		lease = lease.DeepCopy()
		lease.Spec.AcquireTime = former.Spec.AcquireTime
	}
	r.Lease, r.Exists = lease, true
	if former == nil {
		r.HeldSince = now.Add(-leaseholder.HeldFor(lease))
		if acquired := lease.Spec.AcquireTime; acquired != nil && acquired.Time.Before(r.HeldSince) {
			r.HeldSince = acquired.Time // the acquisition was not observed
		}
		r.Since, r.Observed, r.ObservedStaleSince = now, false, now
		return
	}
	if !sameTerm {
		r.HeldSince = now.Add(-leaseholder.HeldFor(lease))
	}
	byTransitions := cmp.Compare(transitions(lease), transitions(former))
	switch order := cmp.Or(byTransitions, renewed(lease).Compare(renewed(former))); {
	case order < 0:
		r.Since, r.Observed, r.ObservedStaleSince = now, false, now
	case order > 0:
		r.Since, r.Observed = now, true
	case !sameHolder:
		r.Since, r.Observed = now, false
	}
}

// Rebase makes what the operator saw, by a clock that showed one time, as long ago by a clock that shows another one.
func (r *Record) Rebase(from, to time.Time) {
	for _, at := range []*time.Time{&r.Since, &r.HeldSince, &r.Process.Since} {
		*at = to.Add(-from.Sub(*at))
	}
}

// Duration returns how long the lease lasts after a renewal by a process of ours. The duration in the lease is its
// holder's, which may not be ours.
func (r *Record) Duration(topology configv1.TopologyMode) time.Duration {
	switch {
	case r.Process.Duration > 0:
		return r.Process.Duration
	case r.Lease == nil:
		return leaseholder.Default(topology)
	default:
		return min(leaseholder.Duration(r.Lease), leaseholder.Default(topology))
	}
}

// Term returns an identity that differs between processes, and between terms of one process, or "" if no process renews
// the lease. It is for callers that do not know the topology: it assumes the longest duration, that of a single node,
// unless our process or the lease has a shorter one.
func (r *Record) Term(now time.Time) string {
	if r.Lease == nil || !r.Exists || leaseholder.Identity(r.Lease) == "" ||
		now.Sub(r.Since) > leaseholder.Silence(r.Duration(configv1.SingleReplicaTopologyMode)) {
		return ""
	}
	return fmt.Sprintf("%s since %s", leaseholder.Identity(r.Lease), r.Lease.Spec.AcquireTime)
}

// IsUnrenewed reports whether a process holds the lease and the operator does not see it renew in time. Before the
// first renewal that the operator sees, it is true. Like Term, it is for callers that do not know the topology.
func (r *Record) IsUnrenewed(now time.Time) bool {
	return r.Lease != nil && r.Exists && leaseholder.Identity(r.Lease) != "" &&
		(!r.Observed || now.Sub(r.Since) > leaseholder.Overdue(r.Duration(configv1.SingleReplicaTopologyMode)))
}

// remaining returns the time until the lease expires, if it lasts for the duration after a renewal. Like the standbys,
// it counts from when the operator saw the last change, because the clock of the holder's node may be wrong. Before the
// first change, it has only the lease's own time.
func (r *Record) remaining(duration time.Duration, now time.Time) time.Duration {
	if r.Lease == nil || r.Lease.Spec.RenewTime == nil {
		return 0
	}
	since := renewed(r.Lease)
	if r.Observed || r.Since.After(r.ObservedStaleSince) {
		since = r.Since
	}
	return max(0, since.Add(duration).Sub(now))
}

// Transitions counts the acquisitions of the lease by another process.
func (r *Record) Transitions() int32 {
	if r.Lease == nil {
		return 0
	}
	return transitions(r.Lease)
}

func transitions(lease *coordinationv1.Lease) int32 { return ptr.Deref(lease.Spec.LeaseTransitions, 0) }

// WasRenewedWithin reports whether the lease exists and was renewed at most a period ago, by the clock of the holder's
// node.
func (r *Record) WasRenewedWithin(period time.Duration, now time.Time) bool {
	return r.Exists && now.Sub(renewed(r.Lease)).Abs() <= period
}

func renewed(lease *coordinationv1.Lease) time.Time {
	return ptr.Deref(lease.Spec.RenewTime, metav1.MicroTime{}).Time
}

// Remembered returns the record if the next process of the operator needs it: the holder is a process of ours that was
// seen to hold the lease.
func (l *Lease) Remembered() (Record, bool) {
	r := l.Record()
	return r, r.Exists && r.Observed && r.Process.Identity != "" && r.Process.Identity == leaseholder.Identity(r.Lease)
}

// Remember returns Remembered for Recall, nil if there is nothing to remember. What is stored of it in the API server
// must be forgotten soon; see Recall.
func (l *Lease) Remember() ([]byte, error) {
	r, known := l.Remembered()
	if !known {
		return nil, nil
	}
	return json.Marshal(r)
}

// Recall restores what Remember returned, as if one process had watched the lease all the time. It must be called
// before the informer starts. The memory is valid for the duration of a lease, in which no other process can have
// acquired it. If etcd is restored meanwhile, the holder is that of the memory, or the lease has gone back. A memory
// that is stored in etcd is restored too, and does not show that.
func (l *Lease) Recall(data []byte) error {
	var former Record
	if err := json.Unmarshal(data, &former); err != nil {
		return fmt.Errorf("decoding the memory of the lease: %w", err)
	}
	if former.Lease == nil || former.Process.Lease == nil {
		return errors.New("decoding the memory of the lease: it has no lease")
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.former = &former
	return nil
}

// recall uses the memory if it is not too old. After the clock was set back, the memory may be from the future.
func (l *Lease) recall(now time.Time) {
	if l.former == nil || l.record.Lease != nil {
		return
	}
	if age := now.Sub(l.former.Since); age >= 0 && age < l.former.Process.Duration {
		l.record = *l.former
		l.record.Rebase(now, now) // From now on, the clock may be set.
	}
	l.former = nil
}
