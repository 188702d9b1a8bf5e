package openstack

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"sync"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/machines"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/standin"
)

// The endpoints, as Requests counts them and Fail takes them.
const (
	IdentityVersions      = "GET /identity/{$}"
	IdentityV3            = "GET /identity/v3/{$}"
	IdentityTokens        = "POST /identity/v3/auth/tokens"
	ComputeServers        = "GET /compute/v2.1/servers/detail"
	ComputeServer         = "GET /compute/v2.1/servers/{id}"
	ComputeFlavor         = "GET /compute/v2.1/flavors/{id}"
	NetworkVersions       = "GET /networking/{$}"
	NetworkExtensions     = "GET /networking/v2.0/extensions"
	NetworkPorts          = "GET /networking/v2.0/ports"
	NetworkNetworks       = "GET /networking/v2.0/networks"
	NetworkNetwork        = "GET /networking/v2.0/networks/{id}"
	NetworkSubnets        = "GET /networking/v2.0/subnets"
	NetworkSubnet         = "GET /networking/v2.0/subnets/{id}"
	NetworkSecurityGroups = "GET /networking/v2.0/security-groups"
	NetworkNewGroup       = "POST /networking/v2.0/security-groups"
	NetworkNoGroup        = "DELETE /networking/v2.0/security-groups/{id}"
	NetworkRules          = "GET /networking/v2.0/security-group-rules"
	NetworkNewRule        = "POST /networking/v2.0/security-group-rules"
	NetworkNoRule         = "DELETE /networking/v2.0/security-group-rules/{id}"
	NetworkSetPort        = "PUT /networking/v2.0/ports/{id}"
	NetworkFloatingIPs    = "GET /networking/v2.0/floatingips"
	NetworkNewFloatingIP  = "POST /networking/v2.0/floatingips"
	NetworkNoFloatingIP   = "DELETE /networking/v2.0/floatingips/{id}"
	BalancerVersions      = "GET /load-balancer/{$}"
	BalancerLoadBalancers = "GET /load-balancer/v2.0/lbaas/loadbalancers"
	BalancerCreate        = "POST /load-balancer/v2.0/lbaas/loadbalancers"
	BalancerGet           = "GET /load-balancer/v2.0/lbaas/loadbalancers/{id}"
	BalancerDelete        = "DELETE /load-balancer/v2.0/lbaas/loadbalancers/{id}"
	BalancerListeners     = "GET /load-balancer/v2.0/lbaas/listeners"
	BalancerSetListener   = "PUT /load-balancer/v2.0/lbaas/listeners/{id}"
	BalancerPools         = "GET /load-balancer/v2.0/lbaas/pools"
	BalancerMembers       = "GET /load-balancer/v2.0/lbaas/pools/{id}/members"
	BalancerSetMembers    = "PUT /load-balancer/v2.0/lbaas/pools/{id}/members"

	// AllEndpoints, given to Fail, is an outage of the whole cloud.
	AllEndpoints = standin.AllEndpoints
)

// Options configure a Server.
type Options struct {
	// Listen is the address and port of the one listener, such as "127.0.0.1:0" or "10.200.0.1:0". The address becomes
	// part of the certificate and of the catalog, so it must be one that clients reach.
	Listen string
	// Host is the name under which clients reach Listen, if they can resolve it. Default: the address.
	Host string
	// Dir is the directory that receives ca.crt, clouds.yaml (0600) and requests.log for a human to look around with;
	// it is created when missing. Empty means that nothing is written.
	Dir string
	// External makes Installation that of platform External, whose administrator gives this cloud's
	// cloud-controller-manager as spec.custom.
	External bool
}

// Server is a running stand-in. Its methods may be called at any time and from any goroutine.
type Server struct {
	*standin.Server
	// Denial is as in another project.
	machines.Denial
	host     string
	external bool

	mutex    sync.Mutex
	password string
	// former are the passwords before it, in their order.
	former    []string
	tokens    map[string]tokenInfo
	instances []Instance
	stopped   map[string]bool
	balancers []*balancer
	floating  []floatingIP
	groups    []*securityGroup
	// portGroups are the identities of each port's security groups.
	portGroups map[string][]string
	// withdrawn are the types of the services that the catalog omits.
	withdrawn map[string]bool
	// created counts load balancers and floating IPs, for their identities and addresses.
	created int
}

// Start serves the stand-in until ctx is done or Close is called.
func Start(ctx context.Context, options Options) (*Server, error) {
	var names []string
	if options.Host != "" {
		names = []string{options.Host}
	}
	server, err := standin.New(ctx, "openstack", standin.Options{Listen: options.Listen, Dir: options.Dir}, names...)
	if err != nil {
		return nil, err
	}
	s := &Server{Server: server, host: options.Host, external: options.External, password: standin.NewSecret(),
		tokens: map[string]tokenInfo{}, stopped: map[string]bool{}, portGroups: map[string][]string{},
		withdrawn: map[string]bool{}}
	if err := s.writeCloudsYAML(); err != nil {
		return nil, errors.Join(err, server.Close())
	}
	server.Serve(ctx, s.handler())
	return s, nil
}

// URL is the cloud's, without a path.
func (s *Server) URL() string {
	if s.host == "" {
		return s.Server.URL()
	}
	return "https://" + net.JoinHostPort(s.host, s.Port())
}

// AuthURL is the URL of Keystone's API v3.
func (s *Server) AuthURL() string {
	return s.URL() + "/identity/v3"
}

// SetServers replaces the servers of the cloud. The given slices are copied.
func (s *Server) SetServers(instances []Instance) {
	copies := make([]Instance, 0, len(instances))
	for _, instance := range instances {
		copies = append(copies, instance.withDefaults())
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.instances = copies
}

// SetPassword changes the user's password, as a rotation does: the old one is rejected from now on, and so are the
// tokens that were issued for it. Application credentials go on working.
func (s *Server) SetPassword(password string) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.former = append(s.former, s.password)
	s.password = password
	maps.DeleteFunc(s.tokens, func(_ string, t tokenInfo) bool { return t.method == "password" })
	return s.writeCloudsYAML()
}

// Rotate is SetPassword with a random password. Credential returns the name of the new one.
func (s *Server) Rotate() error { return s.SetPassword(standin.NewSecret()) }

// Credential is the name of the current password in the record of calls.
func (s *Server) Credential() string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return passwordName(len(s.former))
}

// passwordName numbers the passwords from 1.
func passwordName(index int) string { return fmt.Sprintf("password-%d", index+1) }

// Credentials is the data of the credentials Secret.
func (s *Server) Credentials() map[string][]byte {
	return map[string][]byte{"clouds.yaml": s.CloudsYAML()}
}

// handler routes the endpoints. Those of the first table need no token, as with the real services.
func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	for pattern, handle := range map[string]http.HandlerFunc{
		IdentityVersions: s.identityVersions,
		IdentityV3:       s.identityV3,
		IdentityTokens:   s.createToken,
		NetworkVersions:  s.networkVersions,
		BalancerVersions: s.balancerVersions,
	} {
		mux.HandleFunc(pattern, s.Endpoint(pattern, refuse, handle))
	}
	for pattern, handle := range map[string]http.HandlerFunc{
		ComputeServers:        s.listServers,
		ComputeServer:         s.getServer,
		ComputeFlavor:         s.getFlavor,
		NetworkExtensions:     list("extensions", extensions),
		NetworkPorts:          s.listPorts,
		NetworkNetworks:       listNetworks,
		NetworkNetwork:        get("network", "Network", networks),
		NetworkSubnets:        list("subnets", subnets),
		NetworkSubnet:         get("subnet", "Subnet", subnets),
		NetworkSecurityGroups: s.listSecurityGroups,
		NetworkNewGroup:       s.createSecurityGroup,
		NetworkNoGroup:        s.deleteSecurityGroup,
		NetworkRules:          s.listSecurityGroupRules,
		NetworkNewRule:        s.createSecurityGroupRule,
		NetworkNoRule:         s.deleteSecurityGroupRule,
		NetworkSetPort:        s.updatePort,
		NetworkFloatingIPs:    s.listFloatingIPs,
		NetworkNewFloatingIP:  s.createFloatingIP,
		NetworkNoFloatingIP:   s.deleteFloatingIP,
		BalancerLoadBalancers: s.listBalancers,
		BalancerCreate:        s.createBalancer,
		BalancerGet:           s.withBalancer(getBalancer),
		BalancerDelete:        s.withBalancer(s.deleteBalancer),
		BalancerListeners:     s.listListeners,
		BalancerSetListener:   s.updateListener,
		BalancerPools:         s.listPools,
		BalancerMembers:       s.withPool(listMembers),
		BalancerSetMembers:    s.withPool(replaceMembers),
	} {
		mux.HandleFunc(pattern, s.Endpoint(pattern, refuse, s.authenticated(handle)))
	}
	mux.HandleFunc("/", s.NotServed(refuse))
	// With and without the trailing slash a version root is the same resource; ServeMux would redirect.
	mux.HandleFunc("GET /identity/v3", s.Endpoint(IdentityV3, refuse, s.identityV3))
	return mux
}

// object is a JSON object.
type object = map[string]any

func writeJSON(w http.ResponseWriter, status int, body any) {
	standin.WriteJSON(w, "application/json", status, body)
}

// refuse is the answer to a request that Fail makes fail.
func refuse(w http.ResponseWriter, status int) { writeError(w, status, http.StatusText(status)) }

// writeError answers as Keystone, and keystonemiddleware in front of the other services, does.
func writeError(w http.ResponseWriter, status int, message string) {
	writeJSON(w, status, object{"error": object{
		"code": status, "title": http.StatusText(status), "message": message,
	}})
}
