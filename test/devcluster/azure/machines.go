package azure

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/machines"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/seed"
)

const (
	subscriptionID = "66666666-7777-8888-9999-000000000000"
	resourcePrefix = seed.InfrastructureName
	resourceGroup  = seed.InfrastructureName + "-rg"
	machineSize    = "Standard_D4s_v5"
	// interfaceSuffix is what the installer adds to the name of a machine to name its interface.
	interfaceSuffix = "-nic"
)

// machine is a virtual machine with its network interface.
type machine struct {
	Instance
	// set is the scale set that it is a member of, and id its instance ID there. They are empty for a virtual machine of
	// its own.
	set, id string
	// zone is empty without availability zones.
	zone    string
	stopped bool
	// pools are the identifiers of the backend pools that its interface is in.
	pools []string
}

// resourceID returns the identifier of a machine.
func (m *machine) resourceID() string {
	if m.set == "" {
		return resourceID(machinesPath, m.Name)
	}
	return resourceID(scaleSetsPath, m.set) + "/virtualMachines/" + m.id
}

// vmName returns the name of a machine as Azure has it. It is not the computer name of a member of a scale set.
func (m *machine) vmName() string {
	if m.set == "" {
		return m.Name
	}
	return m.set + "_" + m.id
}

// interfaceID returns the identifier of a machine's interface.
func (m *machine) interfaceID() string {
	if m.set == "" {
		return resourceID(interfacesPath, m.Name+interfaceSuffix)
	}
	return m.resourceID() + "/networkInterfaces/" + m.set + interfaceSuffix
}

// zones returns the list with the zone of a machine.
func (m *machine) zones() []string {
	if m.zone == "" {
		return nil
	}
	return []string{m.zone}
}

// inventory has the scale sets and all virtual machines. The server's mutex guards it.
type inventory struct {
	*machines.Zones
	// Denial is as in another resource group, and of scale sets too.
	machines.Denial
	scaleSets []string
	machines  []*machine
}

func newInventory(zones []string) inventory { return inventory{Zones: machines.NewZones(zones...)} }

// find returns the first machine for which a condition holds, or nil.
func (i *inventory) find(holds func(m *machine) bool) *machine {
	if at := slices.IndexFunc(i.machines, holds); at >= 0 {
		return i.machines[at]
	}
	return nil
}

// named returns the condition of a computer name, whose case does not matter.
func named(name string) func(m *machine) bool {
	return func(m *machine) bool { return strings.EqualFold(m.Name, name) }
}

// of returns the condition of a computer name in a scale set, or with "" of a virtual machine of its own.
func of(set, name string) func(m *machine) bool {
	return func(m *machine) bool { return m.set == set && named(name)(m) }
}

// SetInstances makes the cloud have a virtual machine for each machine; others are deleted. Those that exist stay as
// they are, and so do the members of scale sets. It returns no error.
func (s *Server) SetInstances(instances []Instance) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.replace("", instances)
	return nil
}

// replace makes the wanted machines the members of a scale set, or with "" the virtual machines of their own. It
// ignores those whose names belong elsewhere.
func (s *Server) replace(set string, instances []Instance) {
	var all []*machine
	for _, m := range s.machines {
		if other, _ := s.setOf(m.Name); other != set {
			all = append(all, m)
		}
	}
	for _, wanted := range instances {
		owner, id := s.setOf(wanted.Name)
		if owner != set {
			continue
		}
		m := s.find(of(set, wanted.Name))
		if m == nil {
			wanted.Addresses = slices.Clone(wanted.Addresses)
			m = &machine{Instance: wanted, set: set, id: id, zone: s.Zones.Zone(wanted.Name)}
		}
		all = append(all, m)
	}
	s.machines = all
}

// StopInstance deallocates a virtual machine.
func (s *Server) StopInstance(name string) error { return s.setStopped(name, true) }

// StartInstance starts a deallocated virtual machine.
func (s *Server) StartInstance(name string) error { return s.setStopped(name, false) }

func (s *Server) setStopped(name string, stopped bool) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	m := s.find(named(name))
	if m == nil {
		return fmt.Errorf("azure stand-in: no virtual machine %q", name)
	}
	m.stopped = stopped
	return nil
}

// resourceID returns the identifier of a resource in the resource group.
func resourceID(path, name string) string {
	return "/subscriptions/" + subscriptionID + "/resourceGroups/" + resourceGroup + "/providers/" + path + name
}

// ProviderID is the one that the cloud-node-manager gives the Node of a virtual machine. It depends on the name and on
// the scale sets that exist.
func (s *Server) ProviderID(name string) string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	m := machine{Instance: Instance{Name: name}}
	m.set, m.id = s.setOf(name)
	return "azure://" + m.resourceID()
}

// Region returns the location of all virtual machines.
func (s *Server) Region() string { return s.cloud.location }

// Zone returns the zone of the Node of a virtual machine. An Azure Stack Hub has no zones: it is the fault domain then,
// which the cloud-node-manager takes to be 0 because it does not ask for the instance view.
func (s *Server) Zone(name string) string {
	if zone := s.Zones.Zone(name); zone != "" {
		return s.cloud.location + "-" + zone
	}
	return "0"
}

// SystemUUID returns the UUID in the firmware of a virtual machine, which is its vmId.
func (s *Server) SystemUUID(name string) string { return machines.UUID(name) }

// The forms of the answers.
type (
	resource struct {
		ID       string `json:"id"`
		Name     string `json:"name"`
		Type     string `json:"type"`
		Location string `json:"location"`
	}
	virtualMachine struct {
		resource
		Zones      []string          `json:"zones,omitempty"`
		Properties machineProperties `json:"properties"`
	}
	machineProperties struct {
		ProvisioningState string          `json:"provisioningState"`
		VMID              string          `json:"vmId"`
		HardwareProfile   hardwareProfile `json:"hardwareProfile"`
		OSProfile         osProfile       `json:"osProfile"`
		NetworkProfile    networkProfile  `json:"networkProfile"`
		InstanceView      *instanceView   `json:"instanceView,omitempty"`
	}
	hardwareProfile struct {
		VMSize string `json:"vmSize,omitempty"`
	}
	osProfile struct {
		ComputerName string `json:"computerName"`
	}
	networkProfile struct {
		Interfaces []interfaceReference `json:"networkInterfaces"`
	}
	interfaceReference struct {
		ID         string            `json:"id"`
		Properties primaryProperties `json:"properties"`
	}
	primaryProperties struct {
		Primary bool `json:"primary"`
	}
	instanceView struct {
		FaultDomain int          `json:"platformFaultDomain"`
		Statuses    []viewStatus `json:"statuses"`
	}
	viewStatus struct {
		Code string `json:"code"`
	}
	networkInterface struct {
		resource
		ETag       string              `json:"etag,omitempty"`
		Properties interfaceProperties `json:"properties"`
	}
	interfaceProperties struct {
		ProvisioningState string            `json:"provisioningState"`
		Primary           bool              `json:"primary"`
		IPConfigurations  []ipConfiguration `json:"ipConfigurations"`
		VirtualMachine    subResource       `json:"virtualMachine"`
	}
	ipConfiguration struct {
		Name       string                    `json:"name"`
		Properties ipConfigurationProperties `json:"properties"`
	}
	ipConfigurationProperties struct {
		Primary          bool   `json:"primary"`
		PrivateIPAddress string `json:"privateIPAddress"`
		AddressVersion   string `json:"privateIPAddressVersion"`
		// Pools are the backend pools of load balancers.
		Pools []subResource `json:"loadBalancerBackendAddressPools,omitempty"`
	}
	subResource struct {
		ID string `json:"id"`
	}
	provider struct {
		Namespace     string         `json:"namespace"`
		ResourceTypes []resourceType `json:"resourceTypes"`
	}
	resourceType struct {
		ResourceType string        `json:"resourceType"`
		Locations    []string      `json:"locations"`
		ZoneMappings []zoneMapping `json:"zoneMappings"`
	}
	zoneMapping struct {
		Location string   `json:"location"`
		Zones    []string `json:"zones"`
	}
)

const succeeded = "Succeeded"

// lookUp returns a copy of the virtual machine with a name.
func (s *Server) lookUp(name, path string) (machine, *apiError) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	m := s.find(of("", name))
	if m == nil || s.Denied() {
		return machine{}, notFound(path, name)
	}
	return *m, nil
}

func notFound(path, name string) *apiError {
	return &apiError{http.StatusNotFound, "ResourceNotFound", fmt.Sprintf(
		"The Resource '%s%s' under resource group '%s' was not found.", path, name, resourceGroup)}
}

func (s *Server) getMachine(r *http.Request) (int, any, *apiError) {
	m, failed := s.lookUp(r.PathValue("name"), machinesPath)
	if failed != nil {
		return 0, nil, failed
	}
	return http.StatusOK, s.describeMachine(m, expandsView(r)), nil
}

// expandsView reports whether a request is for the instance view too.
func expandsView(r *http.Request) bool {
	return strings.EqualFold(r.URL.Query().Get("$expand"), "instanceView")
}

func (s *Server) listMachines(*http.Request) (int, any, *apiError) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	found := []any{}
	for _, m := range s.machines {
		if m.set == "" && !s.Denied() {
			found = append(found, s.describeMachine(*m, false))
		}
	}
	return http.StatusOK, object{"value": found}, nil
}

func (s *Server) describeMachine(m machine, withView bool) virtualMachine {
	return virtualMachine{
		resource: s.describe(machinesPath, m.Name), Zones: m.zones(), Properties: s.describeProperties(m, withView),
	}
}

// describeProperties returns the properties that all virtual machines have.
func (s *Server) describeProperties(m machine, withView bool) machineProperties {
	answer := machineProperties{
		ProvisioningState: succeeded,
		VMID:              s.SystemUUID(m.Name),
		HardwareProfile:   hardwareProfile{machineSize},
		OSProfile:         osProfile{m.Name},
		NetworkProfile: networkProfile{[]interfaceReference{{
			ID: m.interfaceID(), Properties: primaryProperties{Primary: true},
		}}},
	}
	if withView {
		power := "PowerState/running"
		if m.stopped {
			power = "PowerState/deallocated"
		}
		answer.InstanceView = &instanceView{Statuses: []viewStatus{{"ProvisioningState/succeeded"}, {power}}}
	}
	return answer
}

func (s *Server) getInterface(r *http.Request) (int, any, *apiError) {
	m, failed := s.lookUp(ownerOf(r), interfacesPath)
	if failed != nil {
		return 0, nil, failed
	}
	return http.StatusOK, s.describeInterface(m), nil
}

// ownerOf returns the name of the machine with the interface that a request is for.
func ownerOf(r *http.Request) string { return strings.TrimSuffix(r.PathValue("name"), interfaceSuffix) }

func (s *Server) describeInterface(m machine) networkInterface {
	properties := interfaceProperties{
		ProvisioningState: succeeded, Primary: true, VirtualMachine: subResource{m.resourceID()},
	}
	for i, address := range m.Addresses {
		described := ipConfiguration{
			Name:       fmt.Sprintf("pipConfig%d", i),
			Properties: ipConfigurationProperties{Primary: i == 0, PrivateIPAddress: address, AddressVersion: "IPv4"},
		}
		for _, pool := range m.pools {
			if i == 0 {
				described.Properties.Pools = append(described.Properties.Pools, subResource{pool})
			}
		}
		properties.IPConfigurations = append(properties.IPConfigurations, described)
	}
	described := networkInterface{
		resource: s.describe(interfacesPath, lastSegment(m.interfaceID())), Properties: properties,
	}
	described.ID = m.interfaceID()
	described.ETag = etag(described)
	return described
}

// putInterface changes the backend pools of a machine's interface. Everything else in the request is what it was.
func (s *Server) putInterface(r *http.Request) (int, any, *apiError) {
	var wanted networkInterface
	if err := json.NewDecoder(r.Body).Decode(&wanted); err != nil {
		return 0, nil, &apiError{http.StatusBadRequest, "InvalidRequestContent", err.Error()}
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	m := s.find(of("", ownerOf(r)))
	if m == nil {
		return 0, nil, notFound(interfacesPath, r.PathValue("name"))
	}
	if failed := checkMatch(r, s.describeInterface(*m).ETag); failed != nil {
		return 0, nil, failed
	}
	var pools []string
	for _, configuration := range wanted.Properties.IPConfigurations {
		for _, pool := range configuration.Properties.Pools {
			if !s.hasPool(pool.ID) {
				return 0, nil, &apiError{http.StatusBadRequest, "InvalidResourceReference", fmt.Sprintf(
					"Resource %s referenced by resource %s was not found.", pool.ID, r.PathValue("name"))}
			}
			pools = append(pools, pool.ID)
		}
	}
	m.pools = pools
	return http.StatusOK, s.describeInterface(*m), nil
}

// describe returns what all resources have.
func (s *Server) describe(path, name string) resource {
	return resource{
		ID: resourceID(path, name), Name: name, Type: strings.TrimSuffix(path, "/"), Location: s.cloud.location,
	}
}

// getProvider answers with the availability zones for virtual machines.
func (s *Server) getProvider(r *http.Request) (int, any, *apiError) {
	namespace, kind, _ := strings.Cut(strings.TrimSuffix(machinesPath, "/"), "/")
	if !strings.EqualFold(r.PathValue("namespace"), namespace) {
		return 0, nil, &apiError{http.StatusNotFound, "InvalidResourceNamespace",
			fmt.Sprintf("The resource namespace '%s' is invalid.", r.PathValue("namespace"))}
	}
	return http.StatusOK, provider{Namespace: namespace, ResourceTypes: []resourceType{{
		ResourceType: kind, Locations: []string{locationName}, ZoneMappings: []zoneMapping{{locationName, s.cloud.zones}},
	}}}, nil
}

// locationName is what the resource manager calls Azure's location here.
const locationName = "West Europe"
