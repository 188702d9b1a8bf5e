package azure

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/standin"
)

// The kinds of resources that clients can change.
const (
	loadBalancers  = "loadBalancers"
	publicIPs      = "publicIPAddresses"
	securityGroups = "networkSecurityGroups"
	networkPath    = "Microsoft.Network/"
)

// parts are the lists of a resource whose items have identifiers of their own.
var parts = map[string][]string{
	loadBalancers:  {frontends, pools, rules, probes},
	securityGroups: {"securityRules"},
}

// The parts of a load balancer.
const (
	frontends = "frontendIPConfigurations"
	pools     = "backendAddressPools"
	rules     = "loadBalancingRules"
	probes    = "probes"
)

// object is a JSON object.
type object = map[string]any

// stored is a resource as a client has sent it. What the resource manager adds to it is computed at every answer.
type stored struct {
	kind, name string
	body       object
	// address is that of a public IP.
	address string
}

// network has the resources that clients can change, in the order of their creation. The server's mutex guards it.
type network struct {
	resources []*stored
	// addresses counts the public IPs so far.
	addresses int
}

// newNetwork returns the installer's security group, which lets the API's port through.
func newNetwork(location string) network {
	return network{resources: []*stored{{kind: securityGroups, name: resourcePrefix + "-nsg", body: object{
		"location": location,
		"properties": object{"securityRules": []any{object{"name": "apiserver_in", "properties": object{
			"protocol": "Tcp", "sourcePortRange": "*", "destinationPortRange": "6443", "sourceAddressPrefix": "*",
			"destinationAddressPrefix": "*", "access": "Allow", "priority": 101, "direction": "Inbound",
		}}}},
	}}}}
}

// LoadBalancer is a load balancer of the cloud.
type LoadBalancer = standin.LoadBalancer

// LoadBalancers returns the load balancers in the order of their creation, each with its first frontend and the members
// of its first backend pool. A machine's interface goes with it, so it is a member no more.
func (s *Server) LoadBalancers() []LoadBalancer {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	var found []LoadBalancer
	for _, r := range s.resources {
		if r.kind != loadBalancers {
			continue
		}
		seen := LoadBalancer{Name: r.name}
		if ip := s.publicIP(items(r.body, frontends)[0]); ip != nil {
			seen.Address = ip.address
		}
		if has := items(r.body, pools); len(has) > 0 {
			for _, m := range s.members(partID(r, pools, has[0])) {
				seen.Members = append(seen.Members, m.Addresses[0])
			}
		}
		found = append(found, seen)
	}
	return found
}

// publicIP returns the public IP of a frontend, or nil.
func (n *network) publicIP(frontend object) *stored {
	return n.resource(publicIPs, lastSegment(reference(frontend, "publicIPAddress")))
}

// id returns the identifier of a resource.
func (r *stored) id() string { return resourceID(networkPath+r.kind+"/", r.name) }

// partID returns the identifier of an item in a part of a resource.
func partID(r *stored, part string, item object) string {
	return fmt.Sprintf("%s/%s/%v", r.id(), part, item["name"])
}

// resource returns the resource with a name, or nil.
func (n *network) resource(kind, name string) *stored {
	i := slices.IndexFunc(n.resources, func(r *stored) bool { return r.kind == kind && strings.EqualFold(r.name, name) })
	if i < 0 {
		return nil
	}
	return n.resources[i]
}

// members returns the machines whose interface is in a backend pool.
func (i *inventory) members(pool string) []*machine {
	var found []*machine
	for _, m := range i.machines {
		if slices.ContainsFunc(m.pools, func(id string) bool { return strings.EqualFold(id, pool) }) {
			found = append(found, m)
		}
	}
	return found
}

// hasPool reports whether a load balancer has the backend pool with an identifier.
func (n *network) hasPool(id string) bool {
	for _, r := range n.resources {
		for _, pool := range items(r.body, pools) {
			if strings.EqualFold(partID(r, pools, pool), id) {
				return true
			}
		}
	}
	return false
}

// properties returns the properties of an object, which it has afterwards.
func properties(of object) object {
	found, has := of["properties"].(object)
	if !has {
		found = object{}
		of["properties"] = found
	}
	return found
}

// items returns the items in a part of a resource.
func items(body object, part string) []object {
	list, _ := properties(body)[part].([]any)
	found := make([]object, 0, len(list))
	for _, item := range list {
		if one, is := item.(object); is {
			found = append(found, one)
		}
	}
	return found
}

// reference returns the identifier of the resource that a property refers to, or "".
func reference(of object, property string) string {
	to, _ := properties(of)[property].(object)
	id, _ := to["id"].(string)
	return id
}

// lastSegment returns the name in an identifier.
func lastSegment(id string) string { return id[strings.LastIndex(id, "/")+1:] }

// describeResource returns a resource with what the resource manager adds to it.
func (s *Server) describeResource(r *stored) object {
	body := clone(r.body)
	for _, part := range parts[r.kind] {
		for _, item := range items(body, part) {
			item["id"] = partID(r, part, item)
			properties(item)["provisioningState"] = succeeded
		}
	}
	switch r.kind {
	case loadBalancers:
		s.completeBalancer(r, body)
	case publicIPs:
		properties(body)["ipAddress"] = r.address
		delete(properties(body), "ipConfiguration")
		if user := s.frontendOf(r); user != "" {
			properties(body)["ipConfiguration"] = object{"id": user}
		}
	}
	body["id"], body["name"], body["type"] = r.id(), r.name, networkPath+r.kind
	properties(body)["provisioningState"] = succeeded
	body["etag"] = etag(body)
	return body
}

// completeBalancer adds which rules refer to the parts of a load balancer, and the interfaces in its backend pools.
func (s *Server) completeBalancer(r *stored, body object) {
	for part, property := range map[string]string{
		frontends: "frontendIPConfiguration", pools: "backendAddressPool", probes: "probe",
	} {
		for _, item := range items(body, part) {
			users := []any{}
			for _, rule := range items(body, rules) {
				if strings.EqualFold(reference(rule, property), partID(r, part, item)) {
					users = append(users, object{"id": partID(r, rules, rule)})
				}
			}
			properties(item)[rules] = users
		}
	}
	for _, pool := range items(body, pools) {
		members := []any{}
		for _, m := range s.members(partID(r, pools, pool)) {
			members = append(members, object{"id": m.ipConfigurationID()})
		}
		properties(pool)["backendIPConfigurations"] = members
	}
}

// ipConfigurationID returns the identifier of the first address of a machine's interface.
func (m *machine) ipConfigurationID() string {
	return m.interfaceID() + "/ipConfigurations/pipConfig0"
}

// frontendOf returns the identifier of the frontend that has a public IP, or "".
func (s *Server) frontendOf(ip *stored) string {
	for _, r := range s.resources {
		for _, frontend := range items(r.body, frontends) {
			if strings.EqualFold(reference(frontend, "publicIPAddress"), ip.id()) {
				return partID(r, frontends, frontend)
			}
		}
	}
	return ""
}

// clone returns a deep copy of what was decoded from JSON.
func clone(body object) object {
	content, _ := json.Marshal(body) // it came from JSON
	var copied object
	_ = json.Unmarshal(content, &copied)
	return copied
}

// etag returns the version of an object that has none yet.
func etag(of any) string {
	content, _ := json.Marshal(of) // it came from JSON, or is a form of an answer
	sum := sha256.Sum256(content)
	return fmt.Sprintf("W/\"%x\"", sum[:8])
}

// checkMatch checks that a request, if it is for one version, is for the current one.
func checkMatch(r *http.Request, current any) *apiError {
	if wanted := r.Header.Get("If-Match"); wanted != "" && wanted != current {
		return &apiError{http.StatusPreconditionFailed, "PreconditionFailed",
			fmt.Sprintf("Precondition failed. The etag is %v, not %s.", current, wanted)}
	}
	return nil
}

// getResource answers with a resource of a kind.
func (s *Server) getResource(kind string) handler {
	return func(r *http.Request) (int, any, *apiError) {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		found := s.resource(kind, r.PathValue("name"))
		if found == nil {
			return 0, nil, notFound(networkPath+kind+"/", r.PathValue("name"))
		}
		return http.StatusOK, s.describeResource(found), nil
	}
}

// listResources answers with the resources of a kind.
func (s *Server) listResources(kind string) handler {
	return func(*http.Request) (int, any, *apiError) {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		found := []any{}
		for _, r := range s.resources {
			if r.kind == kind {
				found = append(found, s.describeResource(r))
			}
		}
		return http.StatusOK, object{"value": found}, nil
	}
}

// putResource creates or replaces a resource of a kind.
func (s *Server) putResource(kind string) handler {
	return func(r *http.Request) (int, any, *apiError) {
		body := object{}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil || body == nil {
			return 0, nil, &apiError{http.StatusBadRequest, "InvalidRequestContent", "The request content was invalid."}
		}
		s.mutex.Lock()
		defer s.mutex.Unlock()
		if kind == loadBalancers {
			if failed := s.checkBalancer(body); failed != nil {
				return 0, nil, failed
			}
		}
		status, found := http.StatusOK, s.resource(kind, r.PathValue("name"))
		if found == nil {
			status, found = http.StatusCreated, &stored{kind: kind, name: r.PathValue("name")}
			if kind == publicIPs {
				s.addresses++
				found.address = fmt.Sprintf("203.0.113.%d", s.addresses)
			}
			s.resources = append(s.resources, found)
		} else if failed := checkMatch(r, s.describeResource(found)["etag"]); failed != nil {
			return 0, nil, failed
		}
		found.body = body
		return status, s.describeResource(found), nil
	}
}

// checkBalancer checks the frontends of a load balancer.
func (s *Server) checkBalancer(body object) *apiError {
	if len(items(body, frontends)) == 0 {
		return &apiError{http.StatusBadRequest, "LoadBalancerFrontendIPConfigurationsRequired",
			"A load balancer needs a frontend."}
	}
	for _, frontend := range items(body, frontends) {
		ip := s.publicIP(frontend)
		if ip == nil {
			return &apiError{http.StatusBadRequest, "InvalidResourceReference", fmt.Sprintf(
				"The public IP address of the frontend %v was not found.", frontend["name"])}
		}
		if sku(ip.body) != sku(body) {
			return &apiError{http.StatusBadRequest, "DifferentSkuLoadBalancersAndPublicIPAddressNotAllowed", fmt.Sprintf(
				"The load balancer is %s and its public IP address %s.", sku(body), sku(ip.body))}
		}
	}
	return nil
}

// sku returns the SKU of a resource in lower case.
func sku(body object) string {
	found, _ := body["sku"].(object)
	if name, has := found["name"].(string); has {
		return strings.ToLower(name)
	}
	return "basic"
}

// deleteResource deletes a resource of a kind. It is no error if there is none.
func (s *Server) deleteResource(kind string) handler {
	return func(r *http.Request) (int, any, *apiError) {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		removed := s.resource(kind, r.PathValue("name"))
		if removed == nil {
			return http.StatusNoContent, nil, nil
		}
		if user := s.frontendOf(removed); user != "" {
			return 0, nil, &apiError{http.StatusBadRequest, "PublicIPAddressCannotBeDeleted", fmt.Sprintf(
				"Public IP address %s can not be deleted since it is still allocated to resource %s.", removed.id(), user)}
		}
		s.resources = slices.DeleteFunc(s.resources, func(other *stored) bool { return other == removed })
		for _, m := range s.machines { // the interfaces leave the backend pools of a load balancer
			m.pools = slices.DeleteFunc(slices.Clone(m.pools), func(pool string) bool { return !s.hasPool(pool) })
		}
		return http.StatusOK, nil, nil
	}
}
