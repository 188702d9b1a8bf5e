package openstack

import (
	"fmt"
	"net/http"
	"slices"
)

// The one network of the cloud, with its subnet.
const (
	networkName = "openshift"
	networkID   = "1a2b3c4d-5e6f-4a7b-8c9d-0e1f2a3b4c5d"
	subnetID    = "2b3c4d5e-6f7a-4b8c-9d0e-1f2a3b4c5d6e"
)

var (
	extensions = []object{
		{"alias": "security-group", "name": "security-group", "description": "", "updated": "2012-10-05T10:00:00-00:00",
			"links": []object{}},
		{"alias": "router", "name": "Neutron L3 Router", "description": "", "updated": "2012-07-20T10:00:00-00:00",
			"links": []object{}},
	}
	networks = []object{
		{
			"id": networkID, "name": networkName, "status": "ACTIVE", "admin_state_up": true, "shared": false,
			"router:external": false, "tenant_id": projectID, "project_id": projectID, "subnets": []string{subnetID},
		},
		{
			"id": externalID, "name": externalName, "status": "ACTIVE", "admin_state_up": true, "shared": true,
			"router:external": true, "tenant_id": "", "project_id": "", "subnets": []string{externalSubnetID},
		},
	}
	subnets = []object{{
		"id": subnetID, "name": networkName, "network_id": networkID, "ip_version": 4, "cidr": "10.200.0.0/16",
		"gateway_ip": "10.200.0.1", "enable_dhcp": true, "tenant_id": projectID, "project_id": projectID,
		"dns_nameservers": []string{}, "allocation_pools": []object{}, "host_routes": []object{},
	}}
)

// listNetworks lists the networks. Clients filter by being external.
func listNetworks(w http.ResponseWriter, r *http.Request) {
	found := []object{}
	for _, network := range networks {
		wanted := r.URL.Query().Get("router:external")
		if wanted == "" || wanted == fmt.Sprint(network["router:external"]) {
			found = append(found, network)
		}
	}
	writeJSON(w, http.StatusOK, object{"networks": found})
}

func (s *Server) networkVersions(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, object{"versions": []object{s.version("/networking", "v2.0", "CURRENT")}})
}

func (s *Server) balancerVersions(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, object{"versions": []object{
		s.version("/load-balancer", "v2.0", "SUPPORTED"),
		s.version("/load-balancer", "v2.27", "CURRENT"),
	}})
}

func (s *Server) version(path, id, status string) object {
	return object{
		"id": id, "status": status, "updated": "2023-09-05T00:00:00Z",
		"links": []object{{"rel": "self", "href": s.URL() + path + "/v2.0"}},
	}
}

// listPorts lists the ports: one for each fixed address of a server. Clients filter by device.
func (s *Server) listPorts(w http.ResponseWriter, r *http.Request) {
	devices := r.URL.Query()["device_id"]
	ports := []object{}
	for _, instance := range s.servers(func(i Instance) bool {
		return len(devices) == 0 ||
			slices.Contains(devices, i.ID)
	}) {
		for n, ip := range instance.Addresses {
			id := InstanceID(fmt.Sprintf("port %d of %s", n, instance.ID))
			groups := s.groupsOf(id)
			if wanted := r.URL.Query().Get("security_groups"); wanted != "" && !slices.Contains(groups, wanted) {
				continue
			}
			ports = append(ports, object{
				"id": id, "name": "", "status": "ACTIVE", "port_security_enabled": true, "tags": []string{},
				"admin_state_up": true, "device_id": instance.ID, "device_owner": "compute:" + instance.Zone,
				"network_id": networkID, "tenant_id": projectID, "project_id": projectID, "mac_address": "",
				"security_groups": groups, "allowed_address_pairs": []object{},
				"fixed_ips": []object{{"subnet_id": subnetID, "ip_address": ip}},
			})
		}
	}
	writeJSON(w, http.StatusOK, object{"ports": ports})
}

// groupsOf returns the identities of a port's security groups.
func (s *Server) groupsOf(port string) []string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return append([]string{}, s.portGroups[port]...)
}

// list serves a constant collection under the key that clients expect.
func list(key string, items []object) http.HandlerFunc {
	if items == nil {
		items = []object{}
	}
	return func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, object{key: items})
	}
}

// get serves one item of a constant collection by id; a missing one is reported as Neutron does.
func get(key, kind string, items []object) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		id := r.PathValue("id")
		for _, item := range items {
			if item["id"] == id {
				writeJSON(w, http.StatusOK, object{key: item})
				return
			}
		}
		writeJSON(w, http.StatusNotFound, object{"NeutronError": object{
			"type": kind + "NotFound", "message": fmt.Sprintf("%s %s could not be found.", kind, id), "detail": "",
		}})
	}
}
