package ibm

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/standin"
)

// LoadBalancer is a load balancer of the cloud. Its address is a name.
type LoadBalancer = standin.LoadBalancer

// balancer is a load balancer.
type balancer struct {
	id, name string
	public   bool
	subnets  []object
	// pending is the state of a change that clients have not seen done, empty if there is none.
	pending   string
	listeners []object
	pools     []*pool
}

// pool is a pool of a load balancer.
type pool struct {
	id, name, protocol string
	monitor            object
	members            []member
}

// member is an address in a pool.
type member struct {
	id, address string
	port        int
}

// settings are the part of a request for a load balancer that the stand-in acts on.
type settings struct {
	Name     string     `json:"name"`
	IsPublic bool       `json:"is_public"`
	Subnets  []resource `json:"subnets"`
	Group    resource   `json:"resource_group"`
	Pools    []struct {
		Name     string           `json:"name"`
		Protocol string           `json:"protocol"`
		Monitor  object           `json:"health_monitor"`
		Members  []memberSettings `json:"members"`
	} `json:"pools"`
	Listeners []struct {
		Port        int      `json:"port"`
		Protocol    string   `json:"protocol"`
		Connections int      `json:"connection_limit"`
		Pool        resource `json:"default_pool"`
	} `json:"listeners"`
}

// resource names another resource by its identity or its name.
type resource struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// memberSettings are a member in a request.
type memberSettings struct {
	Port   int `json:"port"`
	Target struct {
		Address string `json:"address"`
	} `json:"target"`
}

// hostname is the name of a load balancer in DNS.
func (b *balancer) hostname() string {
	const unique = 8
	return strings.TrimPrefix(b.id, prefix)[:unique] + "-" + regionName + ".lb.appdomain.cloud"
}

// LoadBalancers returns the load balancers.
func (s *Server) LoadBalancers() []LoadBalancer {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	var found []LoadBalancer
	for _, b := range s.balancers {
		described := LoadBalancer{Name: b.name, Address: b.hostname()}
		for _, p := range b.pools {
			for _, m := range p.members {
				described.Members = append(described.Members, m.address)
			}
		}
		found = append(found, described)
	}
	return found
}

// describe returns a load balancer in the form of the API. The next client sees that a change is done.
func (b *balancer) describe() object {
	operating, provisioning := "online", "active"
	if b.pending != "" {
		provisioning = b.pending
	}
	if b.pending == createPending {
		operating = "offline"
	}
	b.pending = ""
	pools, listeners := []object{}, []object{}
	for _, p := range b.pools {
		pools = append(pools, object{"id": p.id, "name": p.name})
	}
	for _, l := range b.listeners {
		listeners = append(listeners, object{"id": l["id"]})
	}
	return object{
		"id": b.id, "name": b.name, "hostname": b.hostname(), "is_public": b.public, "created_at": created,
		"operating_status": operating, "provisioning_status": provisioning, "resource_type": "load_balancer",
		"profile": object{"name": "dynamic", "family": "application"}, "resource_group": groupReference,
		"subnets": b.subnets, "pools": pools, "listeners": listeners, "private_ips": []object{}, "public_ips": []object{},
	}
}

func (p *pool) describe() object {
	return object{
		"id": p.id, "name": p.name, "protocol": p.protocol, "algorithm": "round_robin", "proxy_protocol": "disabled",
		"provisioning_status": "active", "created_at": created, "health_monitor": p.monitor, "members": p.describeMembers(),
	}
}

func (p *pool) describeMembers() []object {
	described := []object{}
	for _, m := range p.members {
		described = append(described, m.describe())
	}
	return described
}

func (m member) describe() object {
	return object{"id": m.id, "port": m.port, "weight": 50, "health": "ok", "provisioning_status": "active",
		"created_at": created, "target": object{"address": m.address}}
}

// The states of a change.
const (
	createPending = "create_pending"
	updatePending = "update_pending"
)

func (s *Server) createBalancer(r *http.Request) (int, any, *apiError) {
	var wanted settings
	if failed := decode(r, &wanted); failed != nil {
		return 0, nil, failed
	}
	if failed := s.check(wanted); failed != nil {
		return 0, nil, failed
	}
	made := &balancer{id: s.newID(), name: wanted.Name, public: wanted.IsPublic, pending: createPending}
	for _, zone := range zones {
		if reference := subnetReference(zone); slices.Contains(wanted.Subnets, resource{ID: reference["id"].(string)}) {
			made.subnets = append(made.subnets, reference)
		}
	}
	for _, p := range wanted.Pools {
		added := &pool{id: s.newID(), name: p.Name, protocol: p.Protocol, monitor: p.Monitor}
		added.members = s.newMembers(p.Members)
		made.pools = append(made.pools, added)
	}
	for _, l := range wanted.Listeners {
		i := slices.IndexFunc(made.pools, func(p *pool) bool { return p.name == l.Pool.Name })
		if i < 0 {
			return 0, nil, rejected("The pool %q of a listener is not in the request.", l.Pool.Name)
		}
		made.listeners = append(made.listeners, object{
			"id": s.newID(), "port": l.Port, "protocol": l.Protocol, "connection_limit": l.Connections,
			"provisioning_status": "active", "created_at": created,
			"default_pool": object{"id": made.pools[i].id, "name": l.Pool.Name},
		})
	}
	s.balancers = append(s.balancers, made)
	described := made.describe()
	made.pending = createPending
	return http.StatusCreated, described, nil
}

// check rejects settings that name what does not exist, or a name that is in use.
func (s *Server) check(wanted settings) *apiError {
	const longestName = 63
	for _, subnet := range wanted.Subnets {
		if !slices.ContainsFunc(zones, func(zone string) bool { return subnetReference(zone)["id"] == subnet.ID }) {
			return rejected("Subnet %q does not exist.", subnet.ID)
		}
	}
	switch {
	case wanted.Name == "" || len(wanted.Name) > longestName:
		return rejected("The name %q is not valid.", wanted.Name)
	case slices.ContainsFunc(s.balancers, func(b *balancer) bool { return b.name == wanted.Name }):
		return rejected("The name %q is in use.", wanted.Name)
	case len(wanted.Subnets) == 0:
		return rejected("A load balancer needs a subnet.")
	case wanted.Group.ID != groupReference["id"]:
		return rejected("Resource group %q does not exist.", wanted.Group.ID)
	}
	return nil
}

// newID returns the identity of another resource.
func (s *Server) newID() string {
	s.created++
	return prefix + identity(fmt.Sprintf("resource %d", s.created))
}

func (s *Server) newMembers(wanted []memberSettings) []member {
	var made []member
	for _, m := range wanted {
		made = append(made, member{id: s.newID(), address: m.Target.Address, port: m.Port})
	}
	return made
}

func (s *Server) listBalancers(r *http.Request) (int, any, *apiError) {
	found := []object{}
	for _, b := range s.balancers {
		found = append(found, b.describe())
	}
	return http.StatusOK, page(r, "load_balancers", found), nil
}

// withBalancer serves requests for a load balancer that exists.
func (s *Server) withBalancer(handle func(*http.Request, *balancer) (int, any, *apiError)) handler {
	return func(r *http.Request) (int, any, *apiError) {
		for _, b := range s.balancers {
			if b.id == r.PathValue("id") {
				return handle(r, b)
			}
		}
		return 0, nil, errNotFound
	}
}

// withPool serves requests for a pool that exists.
func (s *Server) withPool(handle func(*http.Request, *balancer, *pool) (int, any, *apiError)) handler {
	return s.withBalancer(func(r *http.Request, b *balancer) (int, any, *apiError) {
		for _, p := range b.pools {
			if p.id == r.PathValue("pool") {
				return handle(r, b, p)
			}
		}
		return 0, nil, errNotFound
	})
}

// changing serves requests that change the members of a pool. A load balancer that is busy rejects them.
func (s *Server) changing(handle func(*http.Request, *pool) (int, any, *apiError)) handler {
	return s.withPool(func(r *http.Request, b *balancer, p *pool) (int, any, *apiError) {
		if b.pending != "" {
			return 0, nil, &apiError{http.StatusConflict, "load_balancer_update_conflict",
				"The load balancer is in the state " + b.pending + "."}
		}
		status, answer, failed := handle(r, p)
		if failed == nil {
			b.pending = updatePending
		}
		return status, answer, failed
	})
}

func getBalancer(_ *http.Request, b *balancer) (int, any, *apiError) {
	return http.StatusOK, b.describe(), nil
}

func (s *Server) deleteBalancer(_ *http.Request, b *balancer) (int, any, *apiError) {
	s.balancers = slices.DeleteFunc(s.balancers, func(other *balancer) bool { return other == b })
	return http.StatusAccepted, nil, nil
}

func listListeners(_ *http.Request, b *balancer) (int, any, *apiError) {
	return http.StatusOK, object{"listeners": b.listeners}, nil
}

func listPools(_ *http.Request, b *balancer) (int, any, *apiError) {
	found := []object{}
	for _, p := range b.pools {
		found = append(found, p.describe())
	}
	return http.StatusOK, object{"pools": found}, nil
}

func listMembers(_ *http.Request, _ *balancer, p *pool) (int, any, *apiError) {
	return http.StatusOK, object{"members": p.describeMembers()}, nil
}

func (s *Server) createMember(r *http.Request, p *pool) (int, any, *apiError) {
	var wanted memberSettings
	if failed := decode(r, &wanted); failed != nil {
		return 0, nil, failed
	}
	made := s.newMembers([]memberSettings{wanted})
	p.members = append(p.members, made...)
	return http.StatusCreated, made[0].describe(), nil
}

func (s *Server) replaceMembers(r *http.Request, p *pool) (int, any, *apiError) {
	var wanted struct {
		Members []memberSettings `json:"members"`
	}
	if failed := decode(r, &wanted); failed != nil {
		return 0, nil, failed
	}
	p.members = s.newMembers(wanted.Members)
	return http.StatusAccepted, object{"members": p.describeMembers()}, nil
}

func (s *Server) deleteMember(r *http.Request, p *pool) (int, any, *apiError) {
	i := slices.IndexFunc(p.members, func(m member) bool { return m.id == r.PathValue("member") })
	if i < 0 {
		return 0, nil, errNotFound
	}
	p.members = slices.Delete(p.members, i, i+1)
	return http.StatusAccepted, nil, nil
}
