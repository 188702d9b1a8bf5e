package ibm

import (
	"fmt"
	"net/http"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/machines"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/seed"
)

// Instance is a machine that the cloud runs: a virtual server instance.
type Instance = machines.Instance

const (
	regionName = "eu-de"
	profile    = "bx2-4x16"
	accountID  = "1e1f75646aef447814a6d907cc83fb3c"
	vpcName    = seed.InfrastructureName + "-vpc"
	groupName  = seed.InfrastructureName
)

var zones = []string{regionName + "-1", regionName + "-2", regionName + "-3"}

// identity is the UUID of what has a name.
func identity(name string) string { return machines.UUID(name) }

// identify returns the identity of what has a name in a list of resources, in the form of the VPC.
func identify(name string) string { return "02c7_" + identity(name) }

// ProviderID is the one that the cloud-controller-manager gives the Node of an instance.
func (s *Server) ProviderID(name string) string {
	if s.isPower {
		return fmt.Sprintf("ibmpowervs://%s/%s/%s/%s", regionName, powerZone, workspace, identity(name))
	}
	return fmt.Sprintf("ibm://%s///%s/%s", accountID, seed.InfrastructureName, identify(name))
}

// Region returns the region of all instances.
func (s *Server) Region() string { return regionName }

// Zone returns the zone of an instance. A workspace is in one zone.
func (s *Server) Zone(name string) string {
	if s.isPower {
		return powerZone
	}
	return s.Machines.Zone(name)
}

// listInstances lists the instances, or those with a name or in a VPC.
func (s *Server) listInstances(r *http.Request) (int, any, *apiError) {
	name, vpc := r.URL.Query().Get("name"), r.URL.Query().Get("vpc.name")
	found := []object{}
	for _, machine := range s.Known() {
		if (name == "" || name == machine.Name) && (vpc == "" || vpc == vpcName) {
			found = append(found, s.describe(machine))
		}
	}
	return http.StatusOK, page(r, "instances", found), nil
}

// describe returns an instance in the form of the API.
func (s *Server) describe(machine machines.Machine) object {
	status := "running"
	if machine.Stopped {
		status = "stopped"
	}
	zone := s.Machines.Zone(machine.Name)
	nic := object{
		"id": identify("nic of " + machine.Name), "name": "eth0", "resource_type": "network_interface",
		"primary_ip": object{"address": machine.Addresses[0], "id": identify("ip of " + machine.Name), "name": "primary",
			"resource_type": "subnet_reserved_ip"},
		"subnet": subnetReference(zone),
	}
	return object{
		"id": identify(machine.Name), "name": machine.Name, "status": status, "lifecycle_state": "stable",
		"resource_type": "instance", "created_at": created, "startable": true, "bandwidth": 8000, "memory": 16,
		"profile": object{"name": profile, "resource_type": "instance_profile"},
		"vcpu":    object{"architecture": "amd64", "count": 4, "manufacturer": "intel"},
		"zone":    object{"name": zone}, "vpc": vpcReference, "resource_group": groupReference,
		"primary_network_interface": nic, "network_interfaces": []object{nic},
	}
}

// getRegion tells the endpoint of a region.
func getRegion(r *http.Request) (int, any, *apiError) {
	if r.PathValue("name") != regionName {
		return 0, nil, errNotFound
	}
	return http.StatusOK, object{"name": regionName, "endpoint": "https://" + publicVPC, "status": "available"}, nil
}

// listGroups lists the resource groups of an account, or the one with a name.
func listGroups(r *http.Request) (int, any, *apiError) {
	found := []object{}
	for _, name := range []string{"Default", groupName} {
		query := r.URL.Query()
		if wanted := query.Get("name"); query.Get("account_id") == accountID && (wanted == "" || wanted == name) {
			found = append(found, object{"id": identity("group " + name), "name": name, "account_id": accountID,
				"state": "ACTIVE", "default": name == "Default", "created_at": created})
		}
	}
	return http.StatusOK, object{"resources": found}, nil
}
