package controlplane

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane/leaseholder"
)

// memory is what a process of the operator has seen of the lease, for the next process in its pod.
type memory struct {
	Lease *coordinationv1.Lease `json:"lease"`
	// Since and HeldSince are those of the Record.
	Since     time.Time `json:"since"`
	HeldSince time.Time `json:"heldSince"`
	// Node, Duration, Manifest and Container are those of the Process that holds the lease.
	Node      string        `json:"node"`
	Duration  time.Duration `json:"duration"`
	Manifest  string        `json:"manifest"`
	Container string        `json:"container"`
}

// Remember returns what the next process of the operator needs to know of the holder, nil if that is no process of ours
// that was seen to hold the lease. It must not be kept in the API server, see Recall.
func (l *Lease) Remember() ([]byte, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	r := &l.record
	if !r.Exists || !r.Observed || r.Process.Identity == "" || r.Process.Identity != leaseholder.Identity(r.Lease) {
		return nil, nil
	}
	return json.Marshal(memory{
		Lease: r.Lease, Since: r.Since, HeldSince: r.HeldSince,
		Node: r.Process.Node, Duration: r.Process.Duration, Manifest: r.Process.manifest, Container: r.Process.container,
	})
}

// Recall makes what Remember returned count as seen before the first sight of the lease, as if one process had watched
// it all the time. It must be called before the informer starts.
//
// The memory counts for the duration of a lease. Without the operator, no other process can have acquired the lease
// meanwhile. So if etcd was restored from a snapshot meanwhile, the holder is either the one of the memory, or the
// lease has gone back.
func (l *Lease) Recall(data []byte) error {
	var m memory
	if err := json.Unmarshal(data, &m); err != nil {
		return fmt.Errorf("decoding the memory of the lease: %w", err)
	}
	if m.Lease == nil {
		return errors.New("decoding the memory of the lease: it has no lease")
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.former = &Record{
		Lease: m.Lease, Exists: true, Since: m.Since, HeldSince: m.HeldSince, Observed: true,
		Process: Process{
			Identity: leaseholder.Identity(m.Lease), Node: m.Node, Duration: m.Duration,
			lease: m.Lease, since: m.Since, manifest: m.Manifest, container: m.Container,
		},
	}
	return nil
}

// recall takes the memory as the record, if it is not too old. A clock that was set back makes it come from the future.
func (l *Lease) recall(now time.Time) {
	if l.former == nil || l.record.Lease != nil {
		return
	}
	if age := now.Sub(l.former.Since); age >= 0 && age < l.former.Process.Duration {
		l.record = *l.former
	}
	l.former = nil
}
