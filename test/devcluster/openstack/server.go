package openstack

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"
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
	NetworkFloatingIPs    = "GET /networking/v2.0/floatingips"
	BalancerVersions      = "GET /load-balancer/{$}"
	BalancerLoadBalancers = "GET /load-balancer/v2.0/lbaas/loadbalancers"

	// Unserved counts the requests for anything else; they are answered with 404.
	Unserved = "/"
	// AllEndpoints, given to Fail, is an outage of the whole cloud.
	AllEndpoints = "*"
)

// Options configure a Server.
type Options struct {
	// Listen is the address and port of the one listener, such as "127.0.0.1:0" or "10.200.0.1:0". The address becomes
	// part of the certificate and of the catalog, so it must be one that clients reach.
	Listen string
	// Dir is the directory that receives ca.crt, clouds.yaml (0600) and requests.log for a human to look around with;
	// it is created when missing. Empty means that nothing is written.
	Dir string
}

// Server is a running stand-in. Its methods may be called at any time and from any goroutine.
type Server struct {
	dir      string
	base     string // https://host:port
	caBundle []byte
	http     *http.Server
	served   chan error
	log      io.WriteCloser

	mutex     sync.Mutex
	endpoints map[string]bool
	password  string
	tokens    map[string]tokenInfo
	instances []Instance
	requests  map[string]int
	failures  map[string]int
}

// Start serves the stand-in until ctx is done or Close is called.
func Start(ctx context.Context, options Options) (*Server, error) {
	host, err := listenHost(options.Listen)
	if err != nil {
		return nil, err
	}
	caBundle, certificate, err := newCertificate(host, time.Now())
	if err != nil {
		return nil, err
	}
	s := &Server{
		dir:       options.Dir,
		caBundle:  caBundle,
		served:    make(chan error, 1),
		log:       discard{io.Discard},
		endpoints: map[string]bool{},
		password:  randomHex(),
		tokens:    map[string]tokenInfo{},
		requests:  map[string]int{},
		failures:  map[string]int{},
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", options.Listen)
	if err != nil {
		return nil, fmt.Errorf("openstack stand-in: listen on %s: %w", options.Listen, err)
	}
	s.base = "https://" + listener.Addr().String()
	if err := s.openFiles(); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	s.http = &http.Server{
		Handler:           s.handler(),
		TLSConfig:         &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12},
		ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:          log.New(s.log, "", log.LstdFlags),
	}
	go func() { s.served <- s.http.ServeTLS(listener, "", "") }()
	context.AfterFunc(ctx, func() { _ = s.http.Close() })
	return s, nil
}

// Close stops the server and ends its connections. A second call does nothing.
func (s *Server) Close() error {
	err := s.http.Close()
	if served, open := <-s.served; open {
		close(s.served)
		if !errors.Is(served, http.ErrServerClosed) {
			err = errors.Join(err, served)
		}
		err = errors.Join(err, s.log.Close())
	}
	if err != nil {
		return fmt.Errorf("openstack stand-in: close: %w", err)
	}
	return nil
}

// CABundle is the private CA, in PEM, that signed the server's certificate.
func (s *Server) CABundle() []byte {
	return append([]byte(nil), s.caBundle...)
}

// AuthURL is the URL of Keystone's API v3.
func (s *Server) AuthURL() string {
	return s.base + "/identity/v3"
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
	s.password = password
	maps.DeleteFunc(s.tokens, func(_ string, t tokenInfo) bool { return t.method == "password" })
	return s.writeCloudsYAML()
}

// Requests counts, by endpoint, the requests that were received so far.
func (s *Server) Requests() map[string]int {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return maps.Clone(s.requests)
}

// Fail makes an endpoint, or with AllEndpoints every one, answer each request with the given HTTP status, whatever the
// request. A status of 0 ends it. A name that is no endpoint is an error.
func (s *Server) Fail(endpoint string, status int) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	switch {
	case endpoint != AllEndpoints && !s.endpoints[endpoint]:
		return fmt.Errorf("openstack stand-in: no endpoint %q", endpoint)
	case status == 0:
		delete(s.failures, endpoint)
	default:
		s.failures[endpoint] = status
	}
	return nil
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
		Unserved:         http.NotFound,
	} {
		mux.HandleFunc(pattern, s.observe(pattern, handle))
	}
	for pattern, handle := range map[string]http.HandlerFunc{
		ComputeServers:        s.listServers,
		ComputeServer:         s.getServer,
		ComputeFlavor:         s.getFlavor,
		NetworkExtensions:     list("extensions", extensions),
		NetworkPorts:          s.listPorts,
		NetworkNetworks:       list("networks", networks),
		NetworkNetwork:        get("network", "Network", networks),
		NetworkSubnets:        list("subnets", subnets),
		NetworkSubnet:         get("subnet", "Subnet", subnets),
		NetworkSecurityGroups: list("security_groups", nil),
		NetworkFloatingIPs:    list("floatingips", nil),
		BalancerLoadBalancers: list("loadbalancers", nil),
	} {
		mux.HandleFunc(pattern, s.observe(pattern, s.authenticated(handle)))
	}
	// With and without the trailing slash a version root is the same resource; ServeMux would redirect.
	mux.HandleFunc("GET /identity/v3", s.observe(IdentityV3, s.identityV3))
	return mux
}

// observe counts and logs each request of an endpoint, and fails it if Fail requires it.
func (s *Server) observe(endpoint string, handle http.HandlerFunc) http.HandlerFunc {
	s.endpoints[endpoint] = true
	return func(w http.ResponseWriter, r *http.Request) {
		s.mutex.Lock()
		s.requests[endpoint]++
		status := s.failures[endpoint]
		if status == 0 {
			status = s.failures[AllEndpoints]
		}
		s.mutex.Unlock()
		recorder := &statusRecorder{ResponseWriter: w, status: http.StatusOK}
		if status != 0 {
			writeError(recorder, status, http.StatusText(status))
		} else {
			handle(recorder, r)
		}
		fmt.Fprintf(s.log, "%s %s %s %s %d\n", time.Now().UTC().Format(time.RFC3339Nano), r.RemoteAddr, r.Method,
			r.URL.RequestURI(), recorder.status)
	}
}

// openFiles writes files for debugging and opens the request log.
func (s *Server) openFiles() error {
	if s.dir == "" {
		return nil
	}
	if err := os.MkdirAll(s.dir, 0o750); err != nil {
		return fmt.Errorf("openstack stand-in: %w", err)
	}
	if err := os.WriteFile(filepath.Join(s.dir, "ca.crt"), s.caBundle, 0o644); err != nil {
		return fmt.Errorf("openstack stand-in: %w", err)
	}
	if err := s.writeCloudsYAML(); err != nil {
		return err
	}
	requests, err := os.Create(filepath.Join(s.dir, "requests.log"))
	if err != nil {
		return fmt.Errorf("openstack stand-in: %w", err)
	}
	s.log = requests
	return nil
}

// listenHost is the address part of a listen address; it must be a concrete IP.
func listenHost(listen string) (net.IP, error) {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return nil, fmt.Errorf("openstack stand-in: listen address %q: %w", listen, err)
	}
	ip := net.ParseIP(host)
	if ip == nil || ip.IsUnspecified() {
		return nil, fmt.Errorf("openstack stand-in: listen address %q: must be an IP that clients can reach", listen)
	}
	return ip, nil
}

// statusRecorder records the status for the log.
type statusRecorder struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements http.ResponseWriter.
func (r *statusRecorder) WriteHeader(status int) {
	r.status = status
	r.ResponseWriter.WriteHeader(status)
}

// discard is the log without a directory.
type discard struct{ io.Writer }

// Close implements io.Closer.
func (discard) Close() error { return nil }

// object is a JSON object.
type object = map[string]any

func writeJSON(w http.ResponseWriter, status int, body any) {
	data, err := json.Marshal(body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(data) // the client may be gone
}

// writeError answers as Keystone, and keystonemiddleware in front of the other services, does.
func writeError(w http.ResponseWriter, status int, message string) {
	writeJSON(w, status, object{"error": object{
		"code": status, "title": http.StatusText(status), "message": message,
	}})
}

// randomHex is a new random name of 32 digits, the form of Keystone's identifiers.
func randomHex() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand ends the program instead
	return hex.EncodeToString(b[:])
}
