package gcp

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/machines"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/seed"
)

const (
	projectID      = "dev-project"
	projectNumber  = "100000000000"
	resourcePrefix = seed.InfrastructureName
	region         = "europe-west3"
	machineType    = "n2-standard-4"
	networkName    = resourcePrefix + "-network"
	subnetworkName = resourcePrefix + "-worker-subnet"
)

var (
	zones = []string{region + "-a", region + "-b", region + "-c"}
	// elsewhere is a zone of another region: zones.list has those of the whole world.
	elsewhere = "us-central1-a"
	nodeTags  = []string{resourcePrefix + "-master", resourcePrefix + "-control-plane", resourcePrefix + "-worker"}
)

// machine is an instance.
type machine struct {
	machines.Instance

	zone    string
	stopped bool
}

// path returns the path of a machine in its project.
func (m *machine) path() string { return instancePath(m.zone, m.Name) }

func instancePath(zone, name string) string { return "zones/" + zone + "/instances/" + name }

// inventory has all instances. The server's mutex guards it.
type inventory struct {
	*machines.Zones
	// Denial is as in another project.
	machines.Denial
	machines []*machine
	// addresses are the first addresses of all instances so far, by their paths.
	addresses map[string]string
}

func newInventory() inventory {
	return inventory{Zones: machines.NewZones(zones...), addresses: map[string]string{}}
}

// find returns the first machine for which a condition holds, or nil.
func (i *inventory) find(holds func(m *machine) bool) *machine {
	if at := slices.IndexFunc(i.machines, holds); at >= 0 {
		return i.machines[at]
	}
	return nil
}

// named returns the condition of a name.
func named(name string) func(m *machine) bool { return func(m *machine) bool { return m.Name == name } }

// SetInstances makes the cloud have exactly these machines. Those that exist stay as they are. It returns no error.
func (s *Server) SetInstances(instances []Instance) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	var all []*machine
	for _, wanted := range instances {
		m := s.find(named(wanted.Name))
		if m == nil {
			wanted.Addresses = slices.Clone(wanted.Addresses)
			m = &machine{Instance: wanted, zone: s.Zone(wanted.Name)}
			s.addresses[m.path()] = m.Addresses[0]
		}
		all = append(all, m)
	}
	s.machines = all
	s.leaveGroups()
	return nil
}

// StopInstance stops an instance.
func (s *Server) StopInstance(name string) error { return s.setStopped(name, true) }

// StartInstance starts a stopped instance.
func (s *Server) StartInstance(name string) error { return s.setStopped(name, false) }

func (s *Server) setStopped(name string, stopped bool) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	m := s.find(named(name))
	if m == nil {
		return fmt.Errorf("gcp stand-in: no instance %q", name)
	}
	m.stopped = stopped
	return nil
}

// ProviderID is the one of the Node of an instance.
func (s *Server) ProviderID(name string) string {
	return "gce://" + projectID + "/" + s.Zone(name) + "/" + name
}

// Region returns the region of all instances.
func (s *Server) Region() string { return region }

// SystemUUID returns the UUID in the firmware of an instance.
func (s *Server) SystemUUID(name string) string { return machines.UUID(name) }

// resourceID returns the number of a resource, which is a text in JSON.
func resourceID(path string) string {
	b := sha256.Sum256([]byte(path))
	return strconv.FormatUint(binary.BigEndian.Uint64(b[:])>>1, 10)
}

func (s *Server) listZones(r *http.Request) (object, *apiError) {
	var all []object
	for _, zone := range append([]string{elsewhere}, zones...) {
		all = append(all, object{
			"kind": "compute#zone", "id": resourceID(zone), "name": zone, "status": "UP",
			"region": linkPrefix + "regions/" + zone[:len(zone)-len("-a")], "selfLink": linkPrefix + "zones/" + zone,
		})
	}
	found, failed := filter(r, all)
	if failed != nil {
		return nil, failed
	}
	return list("zone", found), nil
}

// list returns the answer with items of a kind.
func list(kind string, items []any) object {
	return object{"kind": "compute#" + kind + "List", "items": items}
}

func (s *Server) getInstance(r *http.Request) (object, *apiError) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	m := s.find(func(m *machine) bool { return m.Name == r.PathValue("name") && m.zone == r.PathValue("place") })
	if m == nil || s.Denied() {
		return nil, notFound("projects/" + projectID + "/" + instancePath(r.PathValue("place"), r.PathValue("name")))
	}
	return describeInstance(m), nil
}

func (s *Server) listInstances(r *http.Request) (object, *apiError) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	var all []object
	for _, m := range s.machines {
		if m.zone == r.PathValue("place") && !s.Denied() {
			all = append(all, describeInstance(m))
		}
	}
	found, failed := filter(r, all)
	if failed != nil {
		return nil, failed
	}
	return list("instance", found), nil
}

func describeInstance(m *machine) object {
	cards := []any{}
	for i, address := range m.Addresses {
		cards = append(cards, object{
			"kind": "compute#networkInterface", "name": fmt.Sprintf("nic%d", i), "networkIP": address,
			"network":    linkPrefix + "global/networks/" + networkName,
			"subnetwork": linkPrefix + "regions/" + region + "/subnetworks/" + subnetworkName,
		})
	}
	status := "RUNNING"
	if m.stopped {
		status = "TERMINATED"
	}
	zone := linkPrefix + "zones/" + m.zone
	return object{
		"kind": "compute#instance", "id": resourceID(m.path()), "name": m.Name, "zone": zone, "status": status,
		"machineType": zone + "/machineTypes/" + machineType, "networkInterfaces": cards,
		"tags": object{"items": nodeTags}, "selfLink": linkPrefix + m.path(),
	}
}

// filterPattern is the form of the filters that clients send: one field that is equal to a regular expression.
var filterPattern = regexp.MustCompile(`^(\w+) eq (.+)$`)

// filter returns the objects that a request is for.
func filter(r *http.Request, all []object) ([]any, *apiError) {
	found := []any{}
	field, wanted := "name", regexp.MustCompile("")
	if text := r.URL.Query().Get("filter"); text != "" {
		parts := filterPattern.FindStringSubmatch(text)
		if parts == nil {
			return nil, &apiError{http.StatusBadRequest, "Invalid value for field 'filter': '" + text + "'."}
		}
		var err error
		if wanted, err = regexp.Compile("^(?:" + parts[2] + ")$"); err != nil {
			return nil, &apiError{http.StatusBadRequest, "Invalid value for field 'filter': '" + text + "'."}
		}
		field = parts[1]
	}
	for _, one := range all {
		if wanted.MatchString(text(one, field)) {
			found = append(found, one)
		}
	}
	return found, nil
}
