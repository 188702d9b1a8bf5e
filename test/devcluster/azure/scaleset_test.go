package azure

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/standin"
)

// list is the form of an answer with resources of one kind.
type list[T any] struct {
	Value []T `json:"value"`
}

// membersPath is the path of the members of a scale set.
func membersPath(set string) string {
	return resourceID(scaleSetsPath, set) + "/virtualMachines?api-version=2024-07-01"
}

// requireMembers requires the computer names of the members of a scale set, and returns the members.
func (c running) requireMembers(t *testing.T, set string, names ...string) []member {
	t.Helper()
	found := requireResource[list[member]](t, c, membersPath(set)).Value
	var has []string
	for _, m := range found {
		has = append(has, m.Properties.OSProfile.ComputerName)
	}
	require.Equal(t, names, has)
	return found
}

func TestAMemberOfAScaleSetHasAZoneAndAnInterface(t *testing.T) {
	c := start(t, Options{})
	require.NoError(t, c.SetInstances([]Instance{{Name: "a"}}))
	require.NoError(t, c.SetScaleSet("worker", []Instance{
		{Name: "worker000003", Addresses: []string{"10.200.0.10"}}, {Name: "worker00000a", Addresses: []string{"10.200.0.11"}},
	}))
	sets := requireResource[list[scaleSet]](t, c, resourceID("Microsoft.Compute/", "virtualMachineScaleSets")+"?api-version=1")
	require.Len(t, sets.Value, 1)
	require.Equal(t, "worker", sets.Value[0].Name)
	require.Equal(t, "Uniform", sets.Value[0].Properties.OrchestrationMode)
	require.Equal(t, "worker", sets.Value[0].Properties.Profile.OSProfile.Prefix)
	found := c.requireMembers(t, "WORKER", "worker000003", "worker00000a")[1]
	require.Equal(t, resourceID(scaleSetsPath, "worker")+"/virtualMachines/10", found.ID)
	require.Equal(t, "azure://"+found.ID, c.ProviderID("worker00000a"))
	require.Equal(t, []string{"10", "worker_10", "westeurope", machineSize},
		[]string{found.InstanceID, found.Name, found.Location, found.SKU.Name})
	require.Equal(t, []string{"3"}, found.Zones)
	require.Equal(t, "westeurope-3", c.Zone("worker00000a"))
	require.Equal(t, c.SystemUUID("worker00000a"), found.Properties.VMID)
	path := "/subscriptions/" + subscriptionID + "/resourceGroups/" + resourceGroup +
		"/providers/microsoft.Compute/virtualMachineScaleSets/worker/virtualMachines/"
	card := requireResource[networkInterface](t, c, path+"10/networkInterfaces/worker-nic?api-version=1")
	require.Equal(t, found.Properties.NetworkProfile.Interfaces[0].ID, card.ID)
	require.Equal(t, found.ID, card.Properties.VirtualMachine.ID)
	require.Equal(t, "10.200.0.11", card.Properties.IPConfigurations[0].Properties.PrivateIPAddress)
	for _, other := range []string{"10/networkInterfaces/x-nic", "11/networkInterfaces/worker-nic"} {
		c.requireError(t, c.newToken(t), path+other+"?api-version=1", http.StatusNotFound, "ResourceNotFound")
	}
}

func TestAMemberOfAScaleSetIsNoVirtualMachineOfItsOwn(t *testing.T) {
	c := start(t, Options{})
	worker := Instance{Name: "worker000000", Addresses: []string{"10.200.0.10"}}
	require.NoError(t, c.SetInstances([]Instance{{Name: "a"}, worker}))
	require.Equal(t, "azure://"+resourceID(machinesPath, worker.Name), c.ProviderID(worker.Name))
	require.NoError(t, c.SetScaleSet("worker", []Instance{worker}))
	c.requireError(t, c.newToken(t), machinePath(worker.Name), http.StatusNotFound, "ResourceNotFound")
	c.requireError(t, c.newToken(t), resourceID(interfacesPath, worker.Name+"-nic")+"?api-version=1", http.StatusNotFound,
		"ResourceNotFound")
	status, _ := c.join(t, worker.Name)
	require.Equal(t, http.StatusNotFound, status)
	require.NoError(t, c.SetInstances([]Instance{{Name: "a"}, {Name: "worker000001"}}))
	machines := requireResource[list[virtualMachine]](t, c, resourceID("Microsoft.Compute/", "virtualMachines")+"?api-version=1")
	require.Len(t, machines.Value, 1)
	require.Equal(t, "a", machines.Value[0].Properties.OSProfile.ComputerName)
	c.requireMembers(t, "worker", worker.Name)
}

func TestThePowerStateOfAMemberIsInTheInstanceViewOnly(t *testing.T) {
	c := start(t, Options{Stack: true})
	require.NoError(t, c.SetScaleSet("worker", []Instance{{Name: "worker000000"}}))
	require.NoError(t, c.StopInstance("worker000000"))
	require.Nil(t, c.requireMembers(t, "worker", "worker000000")[0].Properties.InstanceView)
	power := func() string {
		found := requireResource[list[member]](t, c, membersPath("worker")+"&$expand=instanceView").Value[0]
		require.Empty(t, found.Zones)
		return found.Properties.InstanceView.Statuses[1].Code
	}
	require.Equal(t, "PowerState/deallocated", power())
	require.NoError(t, c.SetScaleSet("worker", []Instance{{Name: "worker000001"}, {Name: "worker000000"}}))
	require.NoError(t, c.StartInstance("worker000001"))
	require.NoError(t, c.SetScaleSet("worker", []Instance{{Name: "worker000000"}}))
	require.Equal(t, "PowerState/deallocated", power(), "it stayed as it was")
	require.NoError(t, c.StartInstance("worker000000"))
	require.Equal(t, "PowerState/running", power())
}

func TestADeletedScaleSetIsNotFound(t *testing.T) {
	c := start(t, Options{})
	require.NoError(t, c.SetScaleSet("worker", []Instance{{Name: "worker000000"}, {Name: "worker000001"}}))
	require.NoError(t, c.SetScaleSet("infra", []Instance{{Name: "infra000000"}}))
	require.NoError(t, c.SetScaleSet("worker", []Instance{{Name: "worker000001"}}))
	c.requireMembers(t, "worker", "worker000001")
	require.NoError(t, c.SetScaleSet("worker", nil))
	c.requireMembers(t, "worker")
	require.NoError(t, c.DeleteScaleSet("worker"))
	c.requireError(t, c.newToken(t), membersPath("worker"), http.StatusNotFound, "ParentResourceNotFound")
	c.requireMembers(t, "infra", "infra000000")
	require.EqualError(t, c.DeleteScaleSet("worker"), `azure stand-in: no scale set "worker"`)
	require.Equal(t, 0, c.Requests()[standin.Unserved])
}

func TestDeniedMachinesAreInNoList(t *testing.T) {
	c := start(t, Options{})
	require.NoError(t, c.SetInstances([]Instance{{Name: "a"}}))
	require.NoError(t, c.SetScaleSet("worker", []Instance{{Name: "worker000000"}}))
	count := func(kind string) int {
		return len(requireResource[list[resource]](t, c, resourceID("Microsoft.Compute/", kind)+"?api-version=1").Value)
	}
	require.Equal(t, []int{1, 1}, []int{count("virtualMachines"), count("virtualMachineScaleSets")})
	require.NoError(t, c.DenyInstances(true))
	require.Equal(t, []int{0, 0}, []int{count("virtualMachines"), count("virtualMachineScaleSets")})
	c.requireError(t, c.newToken(t), membersPath("worker"), http.StatusNotFound, "ParentResourceNotFound")
	require.NoError(t, c.DenyInstances(false))
	c.requireMembers(t, "worker", "worker000000")
}

func TestTheMetadataServiceKnowsAMembersScaleSet(t *testing.T) {
	c := start(t, Options{})
	ask := c.serveMetadata(t)
	require.NoError(t, c.SetScaleSet("worker", []Instance{{Name: "worker00000b", Addresses: []string{"127.0.0.1"}}}))
	status, content := ask("/metadata/instance?api-version=2021-10-01", "true")
	require.Equal(t, http.StatusOK, status)
	var found instanceMetadata
	require.NoError(t, json.Unmarshal(content, &found))
	require.Equal(t, "worker_11", found.Compute.Name)
	require.Equal(t, "worker", found.Compute.ScaleSet)
	require.Equal(t, c.ProviderID("worker00000b"), "azure://"+found.Compute.ResourceID)
}

func TestAMemberHasTheNameThatAzureWouldChoose(t *testing.T) {
	c := start(t, Options{})
	for _, name := range []string{"worker", "worker00000", "worker-00000", "infra000000"} {
		require.EqualError(t, c.SetScaleSet("worker", []Instance{{Name: name}}), `azure stand-in: member "`+name+
			`": must have the name of the scale set, "worker", and 6 digits of base 36`)
	}
	c.requireError(t, c.newToken(t), membersPath("worker"), http.StatusNotFound, "ParentResourceNotFound")
}
