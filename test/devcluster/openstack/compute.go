package openstack

import (
	"crypto/sha256"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"slices"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/machines"
)

// Instance is a server of the cloud.
type Instance struct {
	// Name is the server's name; the cloud-controller-manager looks for the server named like the node.
	Name string
	// ID is the server's UUID; empty means InstanceID(Name).
	ID string
	// Addresses are the fixed IPs, in the order of the server's ports.
	Addresses []string
	// FloatingAddresses are the floating IPs.
	FloatingAddresses []string
	// Flavor is the name of the flavor; empty means m1.large.
	Flavor string
	// Zone is the availability zone; empty means nova.
	Zone string
	// Status is Nova's status of the server; empty means ACTIVE.
	Status string
}

// InstanceID is the UUID of a server that was given none; it depends on the name alone.
func InstanceID(name string) string {
	id := sha256.Sum256([]byte(name))
	id[6] = id[6]&0x0f | 0x80 // version 8, free form
	id[8] = id[8]&0x3f | 0x80 // the variant of RFC 9562
	return machines.FormatUUID(id[:])
}

// flavorID is the identifier of a flavor, which clients resolve to its name.
func flavorID(name string) string {
	return InstanceID("flavor " + name)
}

func (i Instance) withDefaults() Instance {
	i.Addresses = slices.Clone(i.Addresses)
	i.FloatingAddresses = slices.Clone(i.FloatingAddresses)
	for value, fallback := range map[*string]string{
		&i.ID: InstanceID(i.Name), &i.Flavor: "m1.large", &i.Zone: "nova", &i.Status: "ACTIVE",
	} {
		if *value == "" {
			*value = fallback
		}
	}
	return i
}

// json is the server as Nova's microversion 2.1, the one that clients get who ask for none, describes it.
func (i Instance) json() object {
	return object{
		"id": i.ID, "name": i.Name, "status": i.Status, "tenant_id": projectID, "user_id": userID,
		"created": "2026-01-01T00:00:00Z", "updated": "2026-01-01T00:00:00Z",
		"accessIPv4": "", "accessIPv6": "", "hostId": "", "image": "", "key_name": nil, "config_drive": "",
		"metadata": object{}, "links": []object{}, "security_groups": []object{},
		"OS-EXT-AZ:availability_zone": i.Zone,
		"flavor":                      object{"id": flavorID(i.Flavor), "links": []object{}},
		"addresses": object{networkName: append(
			addresses("fixed", i.Addresses), addresses("floating", i.FloatingAddresses)...)},
	}
}

func addresses(kind string, ips []string) []object {
	result := []object{}
	for _, ip := range ips {
		version := 4
		if parsed := net.ParseIP(ip); parsed != nil && parsed.To4() == nil {
			version = 6
		}
		result = append(result, object{"addr": ip, "version": version, "OS-EXT-IPS:type": kind})
	}
	return result
}

// StopInstance stops a server, as a user of the cloud does, until StartInstance; it stays stopped when SetServers
// replaces the servers.
func (s *Server) StopInstance(name string) error { return s.setStopped(name, true) }

// StartInstance starts a server that StopInstance stopped.
func (s *Server) StartInstance(name string) error { return s.setStopped(name, false) }

// Duplicate makes the cloud have a second server with the name of one, or deletes that.
func (s *Server) Duplicate(name string, twice bool) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	id := InstanceID(name + " again")
	s.instances = slices.DeleteFunc(s.instances, func(i Instance) bool { return i.ID == id })
	i := slices.IndexFunc(s.instances, func(i Instance) bool { return i.Name == name })
	if i < 0 {
		return fmt.Errorf("openstack stand-in: no server %q", name)
	}
	if twice {
		second := s.instances[i]
		second.ID = id
		s.instances = append(s.instances, second)
	}
	return nil
}

func (s *Server) setStopped(name string, stopped bool) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if !slices.ContainsFunc(s.instances, func(i Instance) bool { return i.Name == name }) {
		return fmt.Errorf("openstack stand-in: no server %q", name)
	}
	s.stopped[name] = stopped
	return nil
}

// known are the instances for which keep is true, and that the cloud admits.
func (s *Server) known(keep func(Instance) bool) []Instance {
	if s.Denied() {
		return nil
	}
	return s.servers(keep)
}

// servers are the instances for which keep is true.
func (s *Server) servers(keep func(Instance) bool) []Instance {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	var kept []Instance
	for _, instance := range s.instances {
		if s.stopped[instance.Name] {
			instance.Status = "SHUTOFF"
		}
		if keep(instance) {
			kept = append(kept, instance)
		}
	}
	return kept
}

// listServers lists the servers in detail; as with Nova, the name to filter by is a regular expression.
func (s *Server) listServers(w http.ResponseWriter, r *http.Request) {
	name, err := regexp.Compile(r.URL.Query().Get("name"))
	if err != nil {
		writeJSON(w, http.StatusBadRequest, object{"badRequest": object{
			"code": http.StatusBadRequest, "message": "Invalid input for query parameters name.",
		}})
		return
	}
	found := []object{}
	for _, instance := range s.known(func(i Instance) bool { return name.MatchString(i.Name) }) {
		found = append(found, instance.json())
	}
	writeJSON(w, http.StatusOK, object{"servers": found})
}

func (s *Server) getServer(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	found := s.known(func(i Instance) bool { return i.ID == id })
	if len(found) == 0 {
		itemNotFound(w, fmt.Sprintf("Instance %s could not be found.", id))
		return
	}
	writeJSON(w, http.StatusOK, object{"server": found[0].json()})
}

// getFlavor knows the flavors of the servers that exist.
func (s *Server) getFlavor(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	found := s.servers(func(i Instance) bool { return flavorID(i.Flavor) == id })
	if len(found) == 0 {
		itemNotFound(w, fmt.Sprintf("Flavor %s could not be found.", id))
		return
	}
	writeJSON(w, http.StatusOK, object{"flavor": object{
		"id": id, "name": found[0].Flavor, "vcpus": 4, "ram": 16384, "disk": 100, "swap": "", "rxtx_factor": 1.0,
		"OS-FLV-EXT-DATA:ephemeral": 0, "os-flavor-access:is_public": true, "links": []object{},
	}})
}

// itemNotFound answers as Nova does.
func itemNotFound(w http.ResponseWriter, message string) {
	writeJSON(w, http.StatusNotFound, object{"itemNotFound": object{"code": http.StatusNotFound, "message": message}})
}
