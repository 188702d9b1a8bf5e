package ibm

import (
	"fmt"
	"net/http"
	"strings"

	configv1 "github.com/openshift/api/config/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/machines"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/seed"
)

// The endpoints of a Power Virtual Server's workspace. Its load balancers are those of the VPC.
const (
	ListPVMs  = "GET /pcloud/v1/cloud-instances/{workspace}/pvm-instances"
	GetPVM    = "GET /pcloud/v1/cloud-instances/{workspace}/pvm-instances/{pvm}"
	ListDHCPs = "GET /pcloud/v1/cloud-instances/{workspace}/services/dhcp"
	GetDHCP   = "GET /pcloud/v1/cloud-instances/{workspace}/services/dhcp/{dhcp}"
)

const (
	powerHost = regionName + ".power-iaas.cloud.ibm.com"
	powerZone = regionName + "-1"
	// workspace is the identity of the workspace with the machines, and powerNetwork its only network.
	workspace    = "6b3c1a52-7f0e-4d5a-9c1b-2e8f4a6d0c37"
	powerNetwork = seed.InfrastructureName + "-dhcp"
)

// power are the endpoints of a workspace; none if the machines are in the VPC.
func (s *Server) power() map[string]handler {
	if !s.isPower {
		return nil
	}
	return map[string]handler{
		ListPVMs:  inWorkspace(s.listPVMs),
		GetPVM:    inWorkspace(s.getPVM),
		ListDHCPs: inWorkspace(listDHCPs),
		GetDHCP:   inWorkspace(s.getDHCP),
	}
}

// inWorkspace rejects requests that do not name the workspace in their path and, with its account and zone, in the
// header CRN.
func inWorkspace(handle handler) handler {
	return func(r *http.Request) (int, any, *apiError) {
		crn := fmt.Sprintf("crn:v1:bluemix:public:power-iaas:%s:a/%s:%s::", powerZone, accountID, workspace)
		switch {
		case r.PathValue("workspace") != workspace:
			return 0, nil, errNotFound
		case r.Header.Get("CRN") != crn:
			return 0, nil, &apiError{http.StatusBadRequest, "bad_request", "The header CRN does not name the workspace."}
		}
		return handle(r)
	}
}

func (s *Server) listPVMs(*http.Request) (int, any, *apiError) {
	found := []object{}
	for _, machine := range s.Known() {
		found = append(found, describePVM(machine))
	}
	return http.StatusOK, object{"pvmInstances": found}, nil
}

func (s *Server) getPVM(r *http.Request) (int, any, *apiError) {
	for _, machine := range s.Known() {
		if identity(machine.Name) == r.PathValue("pvm") {
			return http.StatusOK, describePVM(machine), nil
		}
	}
	return 0, nil, errNotFound
}

// describePVM returns a virtual machine of a workspace in the form of the API. Only the DHCP server knows its address.
func describePVM(machine machines.Machine) object {
	status := "ACTIVE"
	if machine.Stopped {
		status = "SHUTOFF"
	}
	network := object{"networkName": powerNetwork, "networkID": identity(powerNetwork), "type": "dynamic",
		"macAddress": macAddress(machine.Name)}
	return object{
		"pvmInstanceID": identity(machine.Name), "serverName": machine.Name, "status": status, "sysType": "s1022",
		"href": "/pcloud/v1/cloud-instances/" + workspace + "/pvm-instances/" + identity(machine.Name), "procType": "shared",
		"processors": 1, "memory": 16, "diskSize": 120, "osType": "rhel", "storageType": "tier1",
		"imageID": identity("image"), "networkIDs": []string{identity(powerNetwork)}, "networks": []object{network},
		"volumeIDs": []string{}, "creationDate": created, "updatedDate": created,
	}
}

// macAddress is the address of a machine's interface; it depends on the name alone.
func macAddress(name string) string {
	digits := strings.ReplaceAll(identity(name), "-", "")
	return "fa:16:3e:" + digits[:2] + ":" + digits[2:4] + ":" + digits[4:6]
}

// describeDHCP returns the network's DHCP server in the form of the API.
func describeDHCP() object {
	return object{"id": identity("dhcp"), "status": "ACTIVE",
		"network": object{"id": identity(powerNetwork), "name": powerNetwork}}
}

func listDHCPs(*http.Request) (int, any, *apiError) {
	return http.StatusOK, []object{describeDHCP()}, nil
}

func (s *Server) getDHCP(r *http.Request) (int, any, *apiError) {
	if r.PathValue("dhcp") != identity("dhcp") {
		return 0, nil, errNotFound
	}
	leases := []object{}
	for _, machine := range s.All() {
		leases = append(leases, object{"instanceIP": machine.Addresses[0], "instanceMacAddress": macAddress(machine.Name)})
	}
	described := describeDHCP()
	described["leases"] = leases
	return http.StatusOK, described, nil
}

// powerConfig is what the installer's configuration has of a workspace, at the end of its section [provider].
const powerConfig = `powerVSCloudInstanceID = ` + workspace + `
powerVSCloudInstanceName =
powerVSRegion = ` + regionName + `
powerVSZone = ` + powerZone + `
g2EndpointOverride =
iamEndpointOverride =
powerVSEndpointOverride =
rcEndpointOverride =
rmEndpointOverride =
`

// powerInstallation returns what the installer leaves in a cluster in a workspace.
func (s *Server) powerInstallation() *seed.Example {
	installed := s.vpcInstallation()
	installed.Spec = configv1.PlatformSpec{Type: configv1.PowerVSPlatformType, PowerVS: &configv1.PowerVSPlatformSpec{}}
	installed.Status = configv1.PlatformStatus{Type: configv1.PowerVSPlatformType,
		PowerVS: &configv1.PowerVSPlatformStatus{Region: regionName, Zone: powerZone, ResourceGroup: groupName}}
	installed.CloudConfig[seed.CloudConfigKey] = strings.TrimRight(installed.CloudConfig[seed.CloudConfigKey], "\n") +
		"\n" + powerConfig
	return installed
}
