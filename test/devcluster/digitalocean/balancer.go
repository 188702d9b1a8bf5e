package digitalocean

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/machines"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/standin"
)

// LoadBalancer is a load balancer of the cloud. Its address is public.
type LoadBalancer = standin.LoadBalancer

// balancer is a load balancer.
type balancer struct {
	id, address string
	// active is false until a client asks for it after its creation.
	active bool
	// sent are the settings as the client sent them, and wanted the part of them that the stand-in acts on.
	sent   object
	wanted settings
}

// settings are the part of a request for a load balancer that the stand-in acts on.
type settings struct {
	Name     string            `json:"name"`
	Region   string            `json:"region"`
	VPC      string            `json:"vpc_uuid"`
	Rules    []json.RawMessage `json:"forwarding_rules"`
	Droplets []int             `json:"droplet_ids"`
	Tags     []string          `json:"tags"`
}

// LoadBalancers returns the load balancers.
func (s *Server) LoadBalancers() []LoadBalancer {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	var found []LoadBalancer
	for _, b := range s.balancers {
		described := LoadBalancer{Name: b.wanted.Name}
		if b.active {
			described.Address = b.address
		}
		for _, d := range s.All() {
			if slices.Contains(b.wanted.Droplets, dropletID(d.Name)) {
				described.Members = append(described.Members, d.Addresses[0])
			}
		}
		found = append(found, described)
	}
	return found
}

// describeBalancer returns a load balancer in the form of the API. A droplet that was deleted has left it.
func (s *Server) describeBalancer(b *balancer) object {
	described := maps.Clone(b.sent)
	droplets := []int{}
	for _, d := range s.All() {
		if id := dropletID(d.Name); slices.Contains(b.wanted.Droplets, id) {
			droplets = append(droplets, id)
		}
	}
	region := slices.IndexFunc(regions, func(r region) bool { return r.Slug == b.wanted.Region })
	maps.Copy(described, object{
		"id": b.id, "status": "new", "created_at": "2026-01-01T00:00:00Z", "region": regions[region],
		"droplet_ids": droplets,
	})
	if b.active {
		described["status"], described["ip"] = "active", b.address
	}
	return described
}

// readSettings reads and checks the settings in a request.
func (s *Server) readSettings(r *http.Request) (object, settings, *apiError) {
	var sent object
	if failed := decode(r, &sent); failed != nil {
		return nil, settings{}, failed
	}
	content, err := json.Marshal(sent)
	if err != nil {
		return nil, settings{}, unprocessable("%v", err)
	}
	var wanted settings
	if err := json.Unmarshal(content, &wanted); err != nil {
		return nil, settings{}, unprocessable("%v", err)
	}
	return sent, wanted, s.check(wanted)
}

// check rejects settings that name what does not exist.
func (s *Server) check(wanted settings) *apiError {
	exists := func(id int) bool {
		return slices.ContainsFunc(s.Known(), func(d machines.Machine) bool { return dropletID(d.Name) == id })
	}
	switch {
	case wanted.Name == "":
		return unprocessable("Name can't be blank")
	case !slices.ContainsFunc(regions, func(r region) bool { return r.Slug == wanted.Region }):
		return unprocessable("Region is not available")
	case wanted.VPC != vpcID:
		return unprocessable("VPC %q does not exist in the region", wanted.VPC)
	case len(wanted.Rules) == 0:
		return unprocessable("Forwarding rules can't be blank")
	}
	for _, id := range wanted.Droplets {
		if !exists(id) {
			return unprocessable("Droplet %d does not exist", id)
		}
	}
	return nil
}

func (s *Server) createBalancer(r *http.Request) (int, any, *apiError) {
	sent, wanted, failed := s.readSettings(r)
	if failed != nil {
		return 0, nil, failed
	}
	if slices.ContainsFunc(s.balancers, func(b *balancer) bool { return b.wanted.Name == wanted.Name }) {
		return 0, nil, unprocessable("Name is already in use")
	}
	s.created++
	made := &balancer{
		id: s.SystemUUID(fmt.Sprintf("load balancer %d", s.created)), address: fmt.Sprintf("203.0.113.%d", s.created),
		sent: sent, wanted: wanted,
	}
	s.balancers = append(s.balancers, made)
	for _, tag := range wanted.Tags {
		s.tags[tag] = true
	}
	return http.StatusAccepted, object{"load_balancer": s.describeBalancer(made)}, nil
}

func (s *Server) listBalancers(r *http.Request) (int, any, *apiError) {
	found := []object{}
	for _, b := range s.balancers {
		b.active = true
		found = append(found, s.describeBalancer(b))
	}
	return http.StatusOK, page(r, "load_balancers", found), nil
}

// withBalancer serves requests for a load balancer that exists.
func (s *Server) withBalancer(handle func(*http.Request, *balancer) (int, any, *apiError)) handler {
	return func(r *http.Request) (int, any, *apiError) {
		for _, b := range s.balancers {
			if b.id == r.PathValue("id") {
				b.active = true
				return handle(r, b)
			}
		}
		return 0, nil, errNotFound
	}
}

func (s *Server) getBalancer(_ *http.Request, b *balancer) (int, any, *apiError) {
	return http.StatusOK, object{"load_balancer": s.describeBalancer(b)}, nil
}

// updateBalancer replaces all settings.
func (s *Server) updateBalancer(r *http.Request, b *balancer) (int, any, *apiError) {
	sent, wanted, failed := s.readSettings(r)
	if failed != nil {
		return 0, nil, failed
	}
	b.sent, b.wanted = sent, wanted
	return s.getBalancer(r, b)
}

func (s *Server) deleteBalancer(_ *http.Request, b *balancer) (int, any, *apiError) {
	s.balancers = slices.DeleteFunc(s.balancers, func(other *balancer) bool { return other == b })
	return http.StatusNoContent, nil, nil
}

func (s *Server) createTag(r *http.Request) (int, any, *apiError) {
	var wanted struct {
		Name string `json:"name"`
	}
	if failed := decode(r, &wanted); failed != nil {
		return 0, nil, failed
	}
	if wanted.Name == "" {
		return 0, nil, unprocessable("Name can't be blank")
	}
	s.tags[wanted.Name] = true
	return http.StatusCreated, object{"tag": object{"name": wanted.Name}}, nil
}

// tagResources accepts a known tag for load balancers that exist. Nothing asks for the tags of a load balancer.
func (s *Server) tagResources(r *http.Request) (int, any, *apiError) {
	var wanted struct {
		Resources []struct {
			ID   string `json:"resource_id"`
			Type string `json:"resource_type"`
		} `json:"resources"`
	}
	if failed := decode(r, &wanted); failed != nil {
		return 0, nil, failed
	}
	if !s.tags[r.PathValue("name")] {
		return 0, nil, errNotFound
	}
	for _, resource := range wanted.Resources {
		exists := slices.ContainsFunc(s.balancers, func(b *balancer) bool { return b.id == resource.ID })
		if resource.Type != "load_balancer" || !exists {
			return 0, nil, unprocessable("There is no %s %s", resource.Type, resource.ID)
		}
	}
	return http.StatusNoContent, nil, nil
}
