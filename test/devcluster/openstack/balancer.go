package openstack

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/standin"
)

// The network of the floating IPs.
const (
	externalName     = "external"
	externalID       = "3c4d5e6f-7a8b-4c9d-8e1f-2a3b4c5d6e7f"
	externalSubnetID = "4d5e6f7a-8b9c-4d0e-8f2a-3b4c5d6e7f80"
)

// LoadBalancer is a load balancer of the cloud. Its address is the floating IP.
type LoadBalancer = standin.LoadBalancer

// balancer is a load balancer in Octavia's form: it owns listeners, a listener owns a pool, a pool its members.
type balancer struct {
	ID, Name, Address string
	Tags              []string
	Listeners         []listener
}

type listener struct {
	ID           string   `json:"id"`
	Name         string   `json:"name"`
	Protocol     string   `json:"protocol"`
	ProtocolPort int      `json:"protocol_port"`
	AllowedCIDRs []string `json:"allowed_cidrs"`
	// The timeouts are in milliseconds.
	TimeoutClientData    int `json:"timeout_client_data"`
	TimeoutMemberConnect int `json:"timeout_member_connect"`
	TimeoutMemberData    int `json:"timeout_member_data"`
	TimeoutTCPInspect    int `json:"timeout_tcp_inspect"`
	ConnectionLimit      int `json:"connection_limit"`
	// DefaultPool is present in a request only.
	DefaultPool *pool `json:"default_pool,omitempty"`
}

type pool struct {
	ID          string   `json:"id"`
	Name        string   `json:"name"`
	Protocol    string   `json:"protocol"`
	LBAlgorithm string   `json:"lb_algorithm"`
	Members     []member `json:"members"`
}

type member struct {
	ID           string `json:"id"`
	Name         string `json:"name"`
	Address      string `json:"address"`
	ProtocolPort int    `json:"protocol_port"`
	SubnetID     string `json:"subnet_id"`
}

// floatingIP is an address that leads to a port: that of a load balancer.
type floatingIP struct{ id, address, port, description string }

// LoadBalancers returns the load balancers in the order of their creation.
func (s *Server) LoadBalancers() []LoadBalancer {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	var found []LoadBalancer
	for _, b := range s.balancers {
		seen := LoadBalancer{Name: b.Name}
		for _, f := range s.floating {
			if f.port == portOf(b.ID) {
				seen.Address = f.address
			}
		}
		if len(b.Listeners) > 0 && b.Listeners[0].DefaultPool != nil {
			for _, m := range b.Listeners[0].DefaultPool.Members {
				seen.Members = append(seen.Members, m.Address)
			}
		}
		found = append(found, seen)
	}
	return found
}

// portOf is the identity of a load balancer's port.
func portOf(balancer string) string { return InstanceID("port of " + balancer) }

func (b *balancer) json() object {
	listeners, pools := []object{}, []object{}
	for _, l := range b.Listeners {
		listeners = append(listeners, object{"id": l.ID})
		pools = append(pools, object{"id": l.DefaultPool.ID})
	}
	return object{
		"id": b.ID, "name": b.Name, "provider": "amphora", "admin_state_up": true, "tags": b.Tags,
		"provisioning_status": "ACTIVE", "operating_status": "ONLINE", "project_id": projectID,
		"vip_address": b.Address, "vip_port_id": portOf(b.ID), "vip_subnet_id": subnetID, "vip_network_id": networkID,
		"listeners": listeners, "pools": pools,
	}
}

func (l *listener) json(balancer string) object {
	return object{
		"id": l.ID, "name": l.Name, "protocol": l.Protocol, "protocol_port": l.ProtocolPort, "admin_state_up": true,
		"allowed_cidrs": l.AllowedCIDRs, "default_pool_id": l.DefaultPool.ID, "provisioning_status": "ACTIVE",
		"loadbalancers": []object{{"id": balancer}}, "connection_limit": l.ConnectionLimit,
		"timeout_client_data": l.TimeoutClientData, "timeout_member_connect": l.TimeoutMemberConnect,
		"timeout_member_data": l.TimeoutMemberData, "timeout_tcp_inspect": l.TimeoutTCPInspect,
	}
}

func (p *pool) json(balancer, listener string) object {
	members := []object{}
	for _, m := range p.Members {
		members = append(members, object{"id": m.ID})
	}
	return object{
		"id": p.ID, "name": p.Name, "protocol": p.Protocol, "lb_algorithm": p.LBAlgorithm, "members": members,
		"listeners": []object{{"id": listener}}, "loadbalancers": []object{{"id": balancer}},
		"provisioning_status": "ACTIVE", "admin_state_up": true,
	}
}

// createBalancer creates a load balancer with everything that belongs to it, which Octavia calls fully populated.
func (s *Server) createBalancer(w http.ResponseWriter, r *http.Request) {
	request, ok := decode[struct {
		LoadBalancer struct {
			Name      string     `json:"name"`
			Tags      []string   `json:"tags"`
			Listeners []listener `json:"listeners"`
		} `json:"loadbalancer"`
	}](w, r)
	if !ok {
		return
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.created++
	wanted := request.LoadBalancer
	b := &balancer{
		ID: InstanceID(fmt.Sprintf("load balancer %d", s.created)), Name: wanted.Name, Tags: wanted.Tags,
		Address: fmt.Sprintf("10.200.254.%d", s.created), Listeners: wanted.Listeners,
	}
	for i := range b.Listeners {
		b.Listeners[i].identify(fmt.Sprintf("%s listener %d", b.ID, i))
	}
	s.balancers = append(s.balancers, b)
	writeJSON(w, http.StatusCreated, object{"loadbalancer": b.json()})
}

// identify gives a listener, its pool and its members identities.
func (l *listener) identify(id string) {
	l.ID = InstanceID(id)
	if l.DefaultPool == nil {
		l.DefaultPool = &pool{Protocol: l.Protocol, LBAlgorithm: "ROUND_ROBIN"}
	}
	l.DefaultPool.ID = InstanceID(id + " pool")
	l.DefaultPool.identifyMembers()
}

func (p *pool) identifyMembers() {
	for i, m := range p.Members {
		p.Members[i].ID = InstanceID(fmt.Sprintf("%s member %s:%d", p.ID, m.Address, m.ProtocolPort))
	}
}

func (s *Server) listBalancers(w http.ResponseWriter, r *http.Request) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	name := r.URL.Query().Get("name")
	found := []object{}
	for _, b := range s.balancers {
		if name == "" || name == b.Name {
			found = append(found, b.json())
		}
	}
	writeJSON(w, http.StatusOK, object{"loadbalancers": found})
}

// withBalancer serves requests for a load balancer that exists.
func (s *Server) withBalancer(handle func(http.ResponseWriter, *http.Request, *balancer)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		id := r.PathValue("id")
		i := slices.IndexFunc(s.balancers, func(b *balancer) bool { return b.ID == id })
		if i < 0 {
			writeJSON(w, http.StatusNotFound, object{"faultcode": "Client",
				"faultstring": fmt.Sprintf("Load Balancer %s not found.", id)})
			return
		}
		handle(w, r, s.balancers[i])
	}
}

func getBalancer(w http.ResponseWriter, _ *http.Request, b *balancer) {
	writeJSON(w, http.StatusOK, object{"loadbalancer": b.json()})
}

// deleteBalancer deletes a load balancer with everything that belongs to it.
func (s *Server) deleteBalancer(w http.ResponseWriter, _ *http.Request, b *balancer) {
	s.balancers = slices.DeleteFunc(s.balancers, func(other *balancer) bool { return other == b })
	w.WriteHeader(http.StatusNoContent)
}

// eachListener calls f for each listener of the load balancer that the query names, or of all.
func (s *Server) eachListener(r *http.Request, f func(*balancer, listener)) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	wanted := r.URL.Query().Get("loadbalancer_id")
	for _, b := range s.balancers {
		for _, l := range b.Listeners {
			if wanted == "" || wanted == b.ID {
				f(b, l)
			}
		}
	}
}

func (s *Server) listListeners(w http.ResponseWriter, r *http.Request) {
	found := []object{}
	s.eachListener(r, func(b *balancer, l listener) { found = append(found, l.json(b.ID)) })
	writeJSON(w, http.StatusOK, object{"listeners": found})
}

// updateListener changes the fields that the request has.
func (s *Server) updateListener(w http.ResponseWriter, r *http.Request) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, b := range s.balancers {
		for i := range b.Listeners {
			if b.Listeners[i].ID != r.PathValue("id") {
				continue
			}
			request := struct {
				Listener *listener `json:"listener"`
			}{&b.Listeners[i]}
			if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
				writeError(w, http.StatusBadRequest, err.Error())
				return
			}
			writeJSON(w, http.StatusOK, object{"listener": b.Listeners[i].json(b.ID)})
			return
		}
	}
	writeJSON(w, http.StatusNotFound, object{"faultcode": "Client", "faultstring": "Listener not found."})
}

func (s *Server) listPools(w http.ResponseWriter, r *http.Request) {
	found := []object{}
	s.eachListener(r, func(b *balancer, l listener) { found = append(found, l.DefaultPool.json(b.ID, l.ID)) })
	writeJSON(w, http.StatusOK, object{"pools": found})
}

// withPool serves requests for a pool that exists.
func (s *Server) withPool(handle func(http.ResponseWriter, *http.Request, *pool)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		for _, b := range s.balancers {
			for _, l := range b.Listeners {
				if l.DefaultPool.ID == r.PathValue("id") {
					handle(w, r, l.DefaultPool)
					return
				}
			}
		}
		writeJSON(w, http.StatusNotFound, object{"faultcode": "Client", "faultstring": "Pool not found."})
	}
}

func listMembers(w http.ResponseWriter, _ *http.Request, p *pool) {
	found := []object{}
	for _, m := range p.Members {
		found = append(found, object{
			"id": m.ID, "name": m.Name, "address": m.Address, "protocol_port": m.ProtocolPort, "subnet_id": m.SubnetID,
			"provisioning_status": "ACTIVE", "operating_status": "ONLINE", "admin_state_up": true, "weight": 1,
		})
	}
	writeJSON(w, http.StatusOK, object{"members": found})
}

// replaceMembers replaces all members of a pool.
func replaceMembers(w http.ResponseWriter, r *http.Request, p *pool) {
	request, ok := decode[struct {
		Members []member `json:"members"`
	}](w, r)
	if !ok {
		return
	}
	p.Members = request.Members
	p.identifyMembers()
	w.WriteHeader(http.StatusAccepted)
}

func (f floatingIP) json() object {
	return object{
		"id": f.id, "floating_ip_address": f.address, "port_id": f.port, "description": f.description, "status": "ACTIVE",
		"floating_network_id": externalID, "project_id": projectID, "tenant_id": projectID, "tags": []string{},
	}
}

func (s *Server) listFloatingIPs(w http.ResponseWriter, r *http.Request) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	port := r.URL.Query().Get("port_id")
	found := []object{}
	for _, f := range s.floating {
		if port == "" || port == f.port {
			found = append(found, f.json())
		}
	}
	writeJSON(w, http.StatusOK, object{"floatingips": found})
}

func (s *Server) createFloatingIP(w http.ResponseWriter, r *http.Request) {
	request, ok := decode[struct {
		FloatingIP struct {
			PortID      string `json:"port_id"`
			Description string `json:"description"`
		} `json:"floatingip"`
	}](w, r)
	if !ok {
		return
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.created++
	made := floatingIP{
		id: InstanceID(fmt.Sprintf("floating IP %d", s.created)), address: fmt.Sprintf("203.0.113.%d", s.created),
		port: request.FloatingIP.PortID, description: request.FloatingIP.Description,
	}
	s.floating = append(s.floating, made)
	writeJSON(w, http.StatusCreated, object{"floatingip": made.json()})
}

func (s *Server) deleteFloatingIP(w http.ResponseWriter, r *http.Request) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.floating = slices.DeleteFunc(s.floating, func(f floatingIP) bool { return f.id == r.PathValue("id") })
	w.WriteHeader(http.StatusNoContent)
}
