package machines

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
)

// Instance is a machine of a cloud as the development cluster knows it.
type Instance struct {
	// Name is the host name, which is also the Node's.
	Name string
	// Addresses are the machine's IPs.
	Addresses []string
}

// Machine is a machine with its state.
type Machine struct {
	Instance
	// Stopped says that StopInstance stopped it.
	Stopped bool
}

// Machines are those of a cloud.
type Machines struct {
	*Zones
	Denial
	cloud, kind string

	mutex     sync.Mutex
	instances []Instance
	stopped   map[string]bool
}

// New returns the machines of a cloud, of which there are none yet. Kind is what the cloud calls a machine, for errors.
func New(cloud, kind string, zones ...string) *Machines {
	return &Machines{Zones: NewZones(zones...), cloud: cloud, kind: kind, stopped: map[string]bool{}}
}

// SetInstances makes the cloud have exactly these machines. It returns no error.
func (m *Machines) SetInstances(instances []Instance) error {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.instances = nil
	for _, instance := range instances {
		instance.Addresses = slices.Clone(instance.Addresses)
		m.instances = append(m.instances, instance)
	}
	return nil
}

// StopInstance stops a machine until StartInstance. A machine that has its name later is stopped too.
func (m *Machines) StopInstance(name string) error { return m.setStopped(name, true) }

// StartInstance starts a machine that StopInstance stopped.
func (m *Machines) StartInstance(name string) error { return m.setStopped(name, false) }

func (m *Machines) setStopped(name string, stopped bool) error {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if !slices.ContainsFunc(m.instances, func(i Instance) bool { return i.Name == name }) {
		return fmt.Errorf("%s stand-in: no %s %q", m.cloud, m.kind, name)
	}
	m.stopped[name] = stopped
	return nil
}

// All returns the machines that exist, in the order of SetInstances.
func (m *Machines) All() []Machine {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	var all []Machine
	for _, instance := range m.instances {
		all = append(all, Machine{Instance: instance, Stopped: m.stopped[instance.Name]})
	}
	return all
}

// Known returns the machines that the cloud does not deny.
func (m *Machines) Known() []Machine {
	if m.Denied() {
		return nil
	}
	return m.All()
}

// SystemUUID returns the UUID in the firmware of a machine.
func (m *Machines) SystemUUID(name string) string { return UUID(name) }

// Denial is whether a cloud denies its machines.
type Denial struct{ denied atomic.Bool }

// DenyInstances makes the cloud know no machine, as with credentials that may not see them, until it is called with
// false. It returns no error.
func (d *Denial) DenyInstances(denied bool) error {
	d.denied.Store(denied)
	return nil
}

// Denied reports whether the cloud denies its machines.
func (d *Denial) Denied() bool { return d.denied.Load() }

// UUID returns the UUID of what has a name; it depends on the name alone.
func UUID(name string) string {
	b := sha256.Sum256([]byte(name))
	b[6], b[8] = 0x40|b[6]&0x0f, 0x80|b[8]&0x3f
	return FormatUUID(b[:])
}

// FormatUUID returns the UUID of 16 bytes, or of the first ones of more.
func FormatUUID(b []byte) string {
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:16])
}
