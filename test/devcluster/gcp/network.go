package gcp

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/standin"
)

// The scopes of resources in URLs.
const (
	globally   = "global/"
	inRegion   = "regions/{place}/"
	inZone     = "zones/{place}/"
	targetPool = "targetPools"
	group      = "instanceGroups"
	address    = "addresses"
	rule       = "forwardingRules"
	firewall   = "firewalls"
)

// defaults are what a resource has unless the client says otherwise.
var defaults = map[string]object{
	address:  {"addressType": "EXTERNAL", "networkTier": "PREMIUM"},
	rule:     {"loadBalancingScheme": "EXTERNAL", "networkTier": "PREMIUM", "IPProtocol": "TCP"},
	firewall: {"direction": "INGRESS", "priority": 1000},
}

// operationMethods are the methods that wait for an operation, by scope.
var operationMethods = map[string]string{
	globally: "globalOperations.wait", inRegion: "regionOperations.wait", inZone: "zoneOperations.wait",
}

// kind is a kind of resources that clients can change.
type kind struct {
	// service has the methods in the API, and collection is what URLs have instead.
	service, collection string
	scope               string
	// changes is the method that changes a resource, update or patch; empty if there is none.
	changes string
	// lists says that clients list the resources.
	lists bool
}

// kinds are what the cloud-controller-manager makes for a load balancer.
var kinds = []kind{
	{service: address, collection: address, scope: inRegion, lists: true},
	{service: rule, collection: rule, scope: inRegion},
	{service: targetPool, collection: targetPool, scope: inRegion},
	{service: "regionBackendServices", collection: "backendServices", scope: inRegion, changes: "update"},
	{service: group, collection: group, scope: inZone, lists: true},
	{service: firewall, collection: firewall, scope: globally, changes: "patch"},
	{service: "httpHealthChecks", collection: "httpHealthChecks", scope: globally, changes: "update"},
	{service: "healthChecks", collection: "healthChecks", scope: globally, changes: "update"},
}

// stored is a resource as a client has sent it. What the API adds to it is computed at every answer.
type stored struct {
	kind
	// place is the region or the zone; empty for a global resource.
	place, name string
	body        object
	created     time.Time
	// members are the paths of the instances in a target pool or an instance group.
	members []string
}

// path returns the path of a resource in its project.
func (r *stored) path() string {
	return strings.Replace(r.scope, "{place}", r.place, 1) + r.collection + "/" + r.name
}

// network has the resources that clients can change, in the order of their creation, and the operations by path. The
// server's mutex guards it.
type network struct {
	resources  []*stored
	operations map[string]object
	// external and internal count the addresses so far.
	external, internal int
}

func newNetwork() network { return network{operations: map[string]object{}} }

// method is how a method of a kind is served.
type method struct {
	verb, path string
	handle     handler
}

// methods returns the methods of a kind by name.
func (s *Server) methods(k kind) map[string]method {
	const one = "/{name}"
	found := map[string]method{
		"insert": {http.MethodPost, "", s.change(k, s.insert)},
		"get":    {http.MethodGet, one, s.read(k, s.describe)},
		"delete": {http.MethodDelete, one, s.change(k, s.remove)},
	}
	if k.lists {
		found["list"] = method{http.MethodGet, "", s.listResources(k)}
	}
	switch k.changes {
	case "update":
		found["update"] = method{http.MethodPut, one, s.change(k, s.update)}
	case "patch":
		found["patch"] = method{http.MethodPatch, one, s.change(k, s.patch)}
	}
	switch k.service {
	case targetPool:
		found["addInstance"] = method{http.MethodPost, one + "/addInstance", s.change(k, s.add)}
		found["removeInstance"] = method{http.MethodPost, one + "/removeInstance", s.change(k, s.take)}
	case group:
		found["addInstances"] = method{http.MethodPost, one + "/addInstances", s.change(k, s.add)}
		found["removeInstances"] = method{http.MethodPost, one + "/removeInstances", s.change(k, s.take)}
		found["listInstances"] = method{http.MethodPost, one + "/listInstances", s.read(k, s.listMembers)}
	}
	return found
}

// LoadBalancer is a load balancer of the cloud.
type LoadBalancer = standin.LoadBalancer

// LoadBalancers returns the load balancers, which are forwarding rules, in the order of their creation, each with the
// instances of its target pool or of the groups of its backend service.
func (s *Server) LoadBalancers() []LoadBalancer {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	var found []LoadBalancer
	for _, r := range s.resources {
		if r.service != rule {
			continue
		}
		seen := LoadBalancer{Name: r.name, Address: text(r.body, "IPAddress")}
		for _, to := range s.referred(r) {
			for _, path := range append(to.members, s.backends(to)...) {
				seen.Members = append(seen.Members, s.addresses[path])
			}
		}
		found = append(found, seen)
	}
	return found
}

// backends returns the paths of the instances in the groups of a backend service.
func (s *Server) backends(service *stored) []string {
	var found []string
	for _, to := range s.referred(service) {
		found = append(found, to.members...)
	}
	return found
}

// find returns the resource with a path, or nil.
func (n *network) resource(path string) *stored {
	i := slices.IndexFunc(n.resources, func(r *stored) bool { return r.path() == path })
	if i < 0 {
		return nil
	}
	return n.resources[i]
}

// text returns a text in an object, or "".
func text(of object, field string) string {
	found, _ := of[field].(string)
	return found
}

// pathOf returns the path in the project of a whole or partial URL.
func pathOf(link string) string {
	if _, after, whole := strings.Cut(link, "projects/"); whole {
		_, link, _ = strings.Cut(after, "/")
	}
	return strings.TrimPrefix(link, "/")
}

// references returns the paths of the resources that a resource refers to.
func references(body object) []string {
	var found []string
	for _, field := range []string{"network", "subnetwork", "target", "backendService"} {
		if link := text(body, field); link != "" {
			found = append(found, pathOf(link))
		}
	}
	checks, _ := body["healthChecks"].([]any)
	for _, check := range checks {
		found = append(found, pathOf(fmt.Sprint(check)))
	}
	backends, _ := body["backends"].([]any)
	for _, backend := range backends {
		if one, is := backend.(object); is {
			found = append(found, pathOf(text(one, "group")))
		}
	}
	return found
}

// referred returns the resources that a resource refers to.
func (n *network) referred(r *stored) []*stored {
	var found []*stored
	for _, path := range references(r.body) {
		if to := n.resource(path); to != nil {
			found = append(found, to)
		}
	}
	return found
}

// installed are what the installer has made.
var installed = []string{"global/networks/" + networkName, "regions/" + region + "/subnetworks/" + subnetworkName}

// checkReferences checks that what a resource refers to exists.
func (n *network) checkReferences(body object) *apiError {
	for _, path := range references(body) {
		if n.resource(path) == nil && !slices.Contains(installed, path) {
			return notFound("projects/" + projectID + "/" + path)
		}
	}
	return nil
}

// read answers with what describe returns of a resource.
func (s *Server) read(k kind, describe func(r *stored) object) handler {
	return func(r *http.Request) (object, *apiError) {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		wanted := stored{kind: k, place: r.PathValue("place"), name: r.PathValue("name")}
		found := s.resource(wanted.path())
		if found == nil {
			return nil, notFound("projects/" + projectID + "/" + wanted.path())
		}
		return describe(found), nil
	}
}

func (s *Server) listResources(k kind) handler {
	return func(r *http.Request) (object, *apiError) {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		var all []object
		for _, one := range s.resources {
			if one.service == k.service && one.place == r.PathValue("place") {
				all = append(all, s.describe(one))
			}
		}
		found, failed := filter(r, all)
		if failed != nil {
			return nil, failed
		}
		return list(strings.TrimSuffix(k.collection, "s"), found), nil
	}
}

// change makes the change that a request describes, and answers with its operation.
func (s *Server) change(k kind, apply func(r *stored, body object) *apiError) handler {
	return func(r *http.Request) (object, *apiError) {
		body := object{}
		if r.Method != http.MethodDelete {
			if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
				return nil, &apiError{http.StatusBadRequest, "Parse Error"}
			}
		}
		s.mutex.Lock()
		defer s.mutex.Unlock()
		wanted := &stored{kind: k, place: r.PathValue("place"), name: r.PathValue("name"), created: time.Now()}
		if wanted.name == "" {
			wanted.name = text(body, "name")
		} else if wanted = s.resource(wanted.path()); wanted == nil {
			return nil, notFound("projects/" + projectID + "/" + pathOf(r.URL.Path))
		}
		if failed := apply(wanted, body); failed != nil {
			return nil, failed
		}
		return s.newOperation(r.Method, wanted), nil
	}
}

// newOperation records an operation that is done.
func (s *Server) newOperation(verb string, on *stored) object {
	path := strings.Replace(on.scope, "{place}", on.place, 1) + "operations/operation-" + standin.RandomHex()
	s.operations[path] = object{
		"kind": "compute#operation", "id": resourceID(path), "name": path[strings.LastIndex(path, "/")+1:],
		"operationType": verb, "targetLink": linkPrefix + on.path(), "status": "DONE", "progress": 100,
		"selfLink": linkPrefix + path,
	}
	return s.operations[path]
}

func (s *Server) awaitOperation(r *http.Request) (object, *apiError) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	path := strings.TrimSuffix(pathOf(r.URL.Path), "/wait")
	if found, known := s.operations[path]; known {
		return found, nil
	}
	return nil, notFound("projects/" + projectID + "/" + path)
}

// namePattern is that of the names of resources.
var namePattern = regexp.MustCompile(`^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$`)

func (s *Server) insert(r *stored, body object) *apiError {
	switch {
	case !namePattern.MatchString(r.name):
		return &apiError{http.StatusBadRequest, "Invalid value for field 'resource.name': '" + r.name + "'."}
	case s.resource(r.path()) != nil:
		return &apiError{http.StatusConflict, "The resource 'projects/" + projectID + "/" + r.path() + "' already exists"}
	}
	if failed := s.checkReferences(body); failed != nil {
		return failed
	}
	if failed := s.allocate(r, body); failed != nil {
		return failed
	}
	instances, _ := body["instances"].([]any) // they need not exist
	for _, link := range instances {
		r.members = append(r.members, pathOf(fmt.Sprint(link)))
	}
	r.body = object{}
	maps.Copy(r.body, defaults[r.service])
	maps.Copy(r.body, body)
	s.resources = append(s.resources, r)
	return nil
}

// allocate gives an address or a forwarding rule its IP. A given one must belong to the project.
func (s *Server) allocate(r *stored, body object) *apiError {
	field := map[string]string{address: "address", rule: "IPAddress"}[r.service]
	if field == "" {
		return nil
	}
	internal := text(body, "addressType") == "INTERNAL" || text(body, "loadBalancingScheme") == "INTERNAL"
	prefix, count := "203.0.113.", &s.external
	if internal {
		prefix, count = "10.0.128.", &s.internal
	}
	if given := text(body, field); given != "" {
		for i := range *count {
			if given == fmt.Sprint(prefix, i+1) {
				return nil
			}
		}
		return &apiError{http.StatusBadRequest, "Invalid value for field 'resource." + field + "': '" + given +
			"'. Specified IP address is not allocated to the project or does not belong to the specified region."}
	}
	*count++
	body[field] = fmt.Sprint(prefix, *count)
	return nil
}

func (s *Server) update(r *stored, body object) *apiError {
	if failed := s.checkReferences(body); failed != nil {
		return failed
	}
	r.body = body
	return nil
}

func (s *Server) patch(r *stored, body object) *apiError {
	merged := maps.Clone(r.body)
	maps.Copy(merged, body)
	return s.update(r, merged)
}

func (s *Server) remove(r *stored, _ object) *apiError {
	for _, other := range s.resources {
		if slices.Contains(references(other.body), r.path()) {
			return &apiError{http.StatusBadRequest, fmt.Sprintf("The resource 'projects/%s/%s' is already being used by "+
				"'projects/%s/%s'", projectID, r.path(), projectID, other.path())}
		}
	}
	s.resources = slices.DeleteFunc(s.resources, func(other *stored) bool { return other == r })
	return nil
}

// instancesIn returns the paths of the instances in a request.
func instancesIn(body object) []string {
	var found []string
	links, _ := body["instances"].([]any)
	for _, link := range links {
		if one, is := link.(object); is {
			found = append(found, pathOf(text(one, "instance")))
		}
	}
	return found
}

// add adds instances to a target pool or a group. Those of a group must exist in its zone.
func (s *Server) add(r *stored, body object) *apiError {
	for _, path := range instancesIn(body) {
		if r.service == group && s.find(func(m *machine) bool { return m.path() == path && m.zone == r.place }) == nil {
			return notFound("projects/" + projectID + "/" + path)
		}
		if !slices.Contains(r.members, path) {
			r.members = append(r.members, path)
		}
	}
	return nil
}

// take removes instances from a target pool or a group.
func (s *Server) take(r *stored, body object) *apiError {
	gone := instancesIn(body)
	r.members = slices.DeleteFunc(r.members, func(path string) bool { return slices.Contains(gone, path) })
	return nil
}

// leaveGroups removes the instances that do not exist from the groups. The caller holds the mutex.
func (s *Server) leaveGroups() {
	for _, r := range s.resources {
		if r.service == group {
			r.members = slices.DeleteFunc(r.members, func(path string) bool {
				return s.find(func(m *machine) bool { return m.path() == path }) == nil
			})
		}
	}
}

func (s *Server) listMembers(r *stored) object {
	found := []any{}
	for _, path := range r.members {
		found = append(found, object{"instance": linkPrefix + path, "status": "RUNNING"})
	}
	return list("instanceGroupsListInstances", found)
}

// describe returns a resource with what the API adds to it.
func (s *Server) describe(r *stored) object {
	body := maps.Clone(r.body)
	body["kind"] = "compute#" + strings.TrimSuffix(r.collection, "s")
	body["id"], body["name"], body["selfLink"] = resourceID(r.path()), r.name, linkPrefix+r.path()
	body["creationTimestamp"] = r.created.UTC().Format(time.RFC3339)
	switch r.scope {
	case inRegion:
		body["region"] = linkPrefix + "regions/" + r.place
	case inZone:
		body["zone"] = linkPrefix + "zones/" + r.place
	}
	switch r.service {
	case targetPool:
		links := []any{}
		for _, path := range r.members {
			links = append(links, linkPrefix+path)
		}
		body["instances"] = links
	case group:
		body["size"] = len(r.members)
	case address:
		body["status"] = "RESERVED"
		if s.isUsed(text(body, "address")) {
			body["status"] = "IN_USE"
		}
	}
	return body
}

// isUsed reports whether a forwarding rule has an address.
func (n *network) isUsed(ip string) bool {
	return slices.ContainsFunc(n.resources, func(r *stored) bool {
		return r.service == rule && text(r.body, "IPAddress") == ip
	})
}
