package vsphere

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"net/url"
	"slices"
	"sync"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/machines"
)

const (
	// Region is the tag of the datacenter.
	Region = "region-a"
	// InstanceType is what the cloud-controller-manager makes of the hardware and the guest system of the virtual
	// machines. It does not know those of RHEL 8 and later.
	InstanceType = "vsphere-vm.cpu-4.mem-16gb.os-unknown"

	// The categories of tags that OpenShift uses for failure domains.
	regionCategory = "openshift-region"
	zoneCategory   = "openshift-zone"

	// The simulator names its objects.
	datacenter = "DC0"
	datastore  = "LocalDS_0"
	network    = "VM Network"
)

// zones are the tags of the clusters, in their order.
var zones = []string{"zone-a", "zone-b", "zone-c"}

func clusterName(zone int) string { return fmt.Sprintf("%s_C%d", datacenter, zone) }

// newModel describes the inventory without virtual machines.
func newModel() *simulator.Model {
	model := simulator.VPX()
	model.Host, model.Cluster, model.ClusterHost, model.Machine, model.Portgroup = 0, len(zones), 1, 0, 0
	return model
}

// UUID is the BIOS UUID of the virtual machine with a name, as vCenter writes it.
func UUID(name string) string {
	id := sha256.Sum256([]byte(name))
	return machines.FormatUUID(id[:16])
}

// ProviderID is the one that the cloud-controller-manager gives the Node of a virtual machine.
func (s *Server) ProviderID(name string) string { return "vsphere://" + UUID(name) }

// SystemUUID returns the UUID of a virtual machine as its Linux reads it from the firmware: there the first three parts
// are little-endian, which vCenter disregards.
func (s *Server) SystemUUID(name string) string {
	id := sha256.Sum256([]byte(name))
	for _, part := range [][]byte{id[:4], id[4:6], id[6:8]} {
		slices.Reverse(part)
	}
	return machines.FormatUUID(id[:16])
}

// Region returns the region of all virtual machines.
func (s *Server) Region() string { return Region }

// inventory has the virtual machines.
type inventory struct {
	// Zones are the tags of clusters.
	*machines.Zones
	registry *simulator.Registry
	client   *vim25.Client
	folder   *object.Folder
	clusters []*object.ClusterComputeResource

	changes  sync.Mutex
	machines map[string]*object.VirtualMachine
	// duplicates are virtual machines whose guest has the name of another one.
	duplicates map[string]*object.VirtualMachine
	// hidden are the virtual machines that the vCenter denies.
	hidden []mo.Reference
}

// init looks up the objects of the model and tags them. The URL is that of the simulator's own server.
func (i *inventory) init(ctx context.Context, model *simulator.Model, own *url.URL) error {
	i.registry, i.machines = model.Map(), map[string]*object.VirtualMachine{}
	i.duplicates = map[string]*object.VirtualMachine{}
	i.Zones = machines.NewZones(zones...)
	var err error
	// Requests of this client do not leave the process.
	if i.client, err = vim25.NewClient(ctx, model.Service); err != nil {
		return fmt.Errorf("client: %w", err)
	}
	finder := find.NewFinder(i.client)
	center, err := finder.Datacenter(ctx, datacenter)
	if err != nil {
		return err
	}
	finder.SetDatacenter(center)
	folders, err := center.Folders(ctx)
	if err != nil {
		return err
	}
	i.folder = folders.VmFolder
	tagged := map[string]map[string]mo.Reference{regionCategory: {Region: center}, zoneCategory: {}}
	for zone, name := range zones {
		cluster, err := finder.ClusterComputeResource(ctx, clusterName(zone))
		if err != nil {
			return err
		}
		i.clusters = append(i.clusters, cluster)
		tagged[zoneCategory][name] = cluster
	}
	return tag(ctx, own, tagged)
}

// tag makes categories with tags and attaches each tag to its object.
func tag(ctx context.Context, own *url.URL, tagged map[string]map[string]mo.Reference) error {
	client, err := govmomi.NewClient(ctx, own, true)
	if err != nil {
		return fmt.Errorf("client: %w", err)
	}
	api := rest.NewClient(client.Client)
	if err := api.Login(ctx, own.User); err != nil {
		return fmt.Errorf("login: %w", err)
	}
	manager := tags.NewManager(api)
	for category, values := range tagged {
		id, err := manager.CreateCategory(ctx, &tags.Category{Name: category, Cardinality: "SINGLE"})
		if err != nil {
			return fmt.Errorf("category %s: %w", category, err)
		}
		for name, to := range values {
			id, err := manager.CreateTag(ctx, &tags.Tag{Name: name, CategoryID: id})
			if err != nil {
				return fmt.Errorf("tag %s: %w", name, err)
			}
			if err := manager.AttachTag(ctx, id, to); err != nil {
				return fmt.Errorf("tag %s: %w", name, err)
			}
		}
	}
	return client.Logout(ctx)
}

// SetInstances makes the vCenter have a running virtual machine for each machine, and no others. Those that exist stay
// as they are.
func (s *Server) SetInstances(instances []Instance) error {
	ctx := context.Background() // nothing leaves the process
	s.changes.Lock()
	defer s.changes.Unlock()
	for name, machine := range s.machines {
		if slices.ContainsFunc(instances, func(m Instance) bool { return m.Name == name }) {
			continue
		}
		if err := s.destroy(ctx, machine); err != nil {
			return fmt.Errorf("vsphere stand-in: destroy %s: %w", name, err)
		}
		delete(s.machines, name)
	}
	for _, machine := range instances {
		if s.machines[machine.Name] != nil {
			continue
		}
		created, err := s.create(ctx, machine)
		if err != nil {
			return fmt.Errorf("vsphere stand-in: create %s: %w", machine.Name, err)
		}
		s.machines[machine.Name] = created
	}
	return nil
}

func (i *inventory) create(ctx context.Context, machine Instance) (*object.VirtualMachine, error) {
	pool, err := i.clusters[slices.Index(zones, i.Zone(machine.Name))].ResourcePool(ctx)
	if err != nil {
		return nil, err
	}
	task, err := i.folder.CreateVM(ctx, types.VirtualMachineConfigSpec{
		Name: machine.Name, Uuid: UUID(machine.Name), GuestId: "rhel9_64Guest", NumCPUs: 4, MemoryMB: 16384,
		Files: &types.VirtualMachineFileInfo{VmPathName: "[" + datastore + "]"},
	}, pool, nil)
	if err != nil {
		return nil, err
	}
	result, err := task.WaitForResult(ctx)
	if err != nil {
		return nil, err
	}
	reference, isReference := result.Result.(types.ManagedObjectReference)
	if !isReference {
		return nil, fmt.Errorf("created a %T", result.Result)
	}
	created := object.NewVirtualMachine(i.client, reference)
	return created, cmp.Or(i.power(ctx, created, true), i.boot(reference, machine))
}

// boot makes the guest tools of a virtual machine report its name and addresses.
func (i *inventory) boot(reference types.ManagedObjectReference, machine Instance) error {
	entity := i.registry.Get(reference)
	if entity == nil {
		return fmt.Errorf("%s does not exist", reference)
	}
	nic := types.GuestNicInfo{Network: network, IpAddress: machine.Addresses, MacAddress: "00:50:56:00:00:01",
		Connected: true, DeviceConfigId: 4000}
	i.registry.AtomicUpdate(&simulator.Context{Map: i.registry}, entity, []types.PropertyChange{
		{Name: "guest.hostName", Val: machine.Name},
		{Name: "summary.guest.hostName", Val: machine.Name},
		{Name: "guest.net", Val: []types.GuestNicInfo{nic}},
	})
	return nil
}

// power turns a virtual machine on or off.
func (i *inventory) power(ctx context.Context, machine *object.VirtualMachine, on bool) error {
	change := machine.PowerOff
	if on {
		change = machine.PowerOn
	}
	task, err := change(ctx)
	if err != nil {
		return err
	}
	return task.Wait(ctx)
}

func (i *inventory) destroy(ctx context.Context, machine *object.VirtualMachine) error {
	state, err := machine.PowerState(ctx)
	if err != nil {
		return err
	}
	if state == types.VirtualMachinePowerStatePoweredOn {
		if err := i.power(ctx, machine, false); err != nil {
			return err
		}
	}
	task, err := machine.Destroy(ctx)
	if err != nil {
		return err
	}
	return task.Wait(ctx)
}

// StopInstance powers a virtual machine off. What its guest tools reported stays known.
func (s *Server) StopInstance(name string) error { return s.setPower(name, false) }

// StartInstance powers a virtual machine on.
func (s *Server) StartInstance(name string) error { return s.setPower(name, true) }

// DenyInstances makes the vCenter know no virtual machine until it is called with false. In between the machines must
// not change. A cloud-controller-manager asks by UUID, and if that fails, by the reference that it found before.
func (s *Server) DenyInstances(denied bool) error {
	s.changes.Lock()
	defer s.changes.Unlock()
	for _, hidden := range s.hidden {
		s.registry.Put(hidden)
	}
	s.hidden = nil
	if !denied {
		return nil
	}
	for name, machine := range s.machines {
		entity := s.registry.Get(machine.Reference())
		if entity == nil {
			return fmt.Errorf("vsphere stand-in: %s does not exist", name)
		}
		s.hidden = append(s.hidden, entity)
		s.registry.Remove(&simulator.Context{Map: s.registry}, machine.Reference())
	}
	return nil
}

// Duplicate makes the vCenter have a second virtual machine whose guest has the name of one, or destroys that.
func (s *Server) Duplicate(name string, twice bool) error {
	ctx := context.Background() // nothing leaves the process
	s.changes.Lock()
	defer s.changes.Unlock()
	if second := s.duplicates[name]; second != nil {
		if err := s.destroy(ctx, second); err != nil {
			return fmt.Errorf("vsphere stand-in: destroy the second %s: %w", name, err)
		}
		delete(s.duplicates, name)
	}
	if !twice {
		return nil
	}
	// The name in the inventory is another one.
	address := []string{"192.0.2.99"}
	second, err := s.create(ctx, Instance{Name: name + "-again", Addresses: address})
	if err == nil {
		err = s.boot(second.Reference(), Instance{Name: name, Addresses: address})
	}
	if err != nil {
		return fmt.Errorf("vsphere stand-in: create a second %s: %w", name, err)
	}
	s.duplicates[name] = second
	return nil
}

func (s *Server) setPower(name string, on bool) error {
	s.changes.Lock()
	defer s.changes.Unlock()
	machine := s.machines[name]
	if machine == nil {
		return fmt.Errorf("vsphere stand-in: no virtual machine %q", name)
	}
	if err := s.power(context.Background(), machine, on); err != nil {
		return fmt.Errorf("vsphere stand-in: power of %s: %w", name, err)
	}
	return nil
}
