package ibm

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"slices"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/seed"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/standin"
)

// Instance is a machine that the cloud runs: a virtual server instance.
type Instance = standin.Instance

const (
	regionName = "eu-de"
	profile    = "bx2-4x16"
	accountID  = "1e1f75646aef447814a6d907cc83fb3c"
	vpcName    = seed.InfrastructureName + "-vpc"
	groupName  = seed.InfrastructureName
)

var zones = []string{regionName + "-1", regionName + "-2", regionName + "-3"}

// SetInstances makes the cloud have an instance for each machine. It returns no error.
func (s *Server) SetInstances(machines []Instance) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.machines = nil
	for _, machine := range machines {
		machine.Addresses = slices.Clone(machine.Addresses)
		s.machines = append(s.machines, machine)
	}
	return nil
}

// identity is the UUID of what has a name.
func identity(name string) string {
	b := sha256.Sum256([]byte(name))
	b[6], b[8] = 0x40|b[6]&0x0f, 0x80|b[8]&0x3f
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:16])
}

// identify returns the identity of what has a name in a list of resources, in the form of the VPC.
func identify(name string) string { return "02c7_" + identity(name) }

// SystemUUID returns the UUID in the firmware of an instance.
func (s *Server) SystemUUID(name string) string { return identity(name) }

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
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.spread.Zone(name)
}

// StopInstance stops an instance until StartInstance.
func (s *Server) StopInstance(name string) error { return s.setStopped(name, true) }

// StartInstance starts an instance that StopInstance stopped.
func (s *Server) StartInstance(name string) error { return s.setStopped(name, false) }

// DenyInstances makes the cloud know no instance, as for an API key without the rights of a viewer, until it is called
// with false. It returns no error.
func (s *Server) DenyInstances(denied bool) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.denied = denied
	return nil
}

func (s *Server) setStopped(name string, stopped bool) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if !slices.ContainsFunc(s.machines, func(m Instance) bool { return m.Name == name }) {
		return fmt.Errorf("ibm stand-in: no instance %q", name)
	}
	s.stopped[name] = stopped
	return nil
}

// listInstances lists the instances, or those with a name or in a VPC.
func (s *Server) listInstances(r *http.Request) (int, any, *apiError) {
	name, vpc := r.URL.Query().Get("name"), r.URL.Query().Get("vpc.name")
	found := []object{}
	for _, machine := range s.machines {
		if !s.denied && (name == "" || name == machine.Name) && (vpc == "" || vpc == vpcName) {
			found = append(found, s.describe(machine))
		}
	}
	return http.StatusOK, page(r, "instances", found), nil
}

// describe returns an instance in the form of the API.
func (s *Server) describe(machine Instance) object {
	status := "running"
	if s.stopped[machine.Name] {
		status = "stopped"
	}
	zone := s.spread.Zone(machine.Name)
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
