package standin

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/util/flowcontrol"
)

const (
	// Unserved counts the requests for anything that is not served.
	Unserved = "/"
	// AllEndpoints is the whole cloud, for Fail and Delay.
	AllEndpoints = "*"
)

// headerTimeout is how long a client may take to send the header of a request.
const headerTimeout = 10 * time.Second

// Options configure a Server.
type Options struct {
	// Listen is the address and port of the one listener, such as "127.0.0.1:0" or "10.200.0.1:443". The address becomes
	// part of the certificate, so it must be one that clients reach. Only with port 443 do they reach endpoints that are
	// fixed in a cloud's SDK.
	Listen string
	// Dir is the directory that receives ca.crt, requests.log and what the stand-in writes with WriteFile, for a human
	// to look around with; it is created when missing. Empty means that nothing is written.
	Dir string
}

// LoadBalancer is a load balancer of the cloud.
type LoadBalancer struct {
	// Name is the one that the cloud-controller-manager gave it.
	Name string
	// Address is the IP or the host name that clients reach it by, or "".
	Address string
	// Members are the first addresses of the machines that it distributes to.
	Members []string
}

// Call is one recorded request.
type Call struct {
	// Time is when it was answered.
	Time time.Time
	// Endpoint is the endpoint's name, as Requests counts it.
	Endpoint string
	// Credential is the one that made the call, by a name that is no secret; empty if it has none or an unknown one.
	Credential string
	// Status is the HTTP status of the answer.
	Status int
	// Source is the address that it came from.
	Source string
}

// Server serves a stand-in. Its methods may be called at any time and from any goroutine.
type Server struct {
	name, dir    string
	names        []string
	address      net.Addr
	listener     net.Listener
	certificates certificates
	http, plain  *http.Server
	served       chan error
	log          io.WriteCloser

	mutex     sync.Mutex
	endpoints map[string]bool
	requests  map[string]int
	calls     []Call
	failures  map[string]int
	delays    map[string]time.Duration
	// patience is the value of Retry-After with each refusal, 0 for none.
	patience time.Duration
	// writer is the only address that may call an endpoint that isRead does not name, nil permits all. refused are the
	// calls of others.
	writer  string
	isRead  func(endpoint string) bool
	refused []Call
	// limit is nil without a limit.
	limit flowcontrol.PassiveRateLimiter
	open  map[net.Conn]struct{}
}

// New makes a server that listens. Its URL is known then, and it has its endpoints once Serve is called. The name is
// the cloud's, for errors and the certificates. Hosts are further names that clients reach the address by.
func New(ctx context.Context, name string, options Options, hosts ...string) (*Server, error) {
	s := &Server{
		name:      name,
		names:     hosts,
		dir:       options.Dir,
		served:    make(chan error, 1),
		log:       discard{io.Discard},
		endpoints: map[string]bool{},
		requests:  map[string]int{},
		failures:  map[string]int{},
		delays:    map[string]time.Duration{},
		open:      map[net.Conn]struct{}{},
	}
	host, err := listenHost(options.Listen)
	if err != nil {
		return nil, s.errorf("%w", err)
	}
	if err := s.certificates.init(s.name, append([]string{host.String()}, hosts...)); err != nil {
		return nil, s.errorf("%w", err)
	}
	if s.listener, err = new(net.ListenConfig).Listen(ctx, "tcp", options.Listen); err != nil {
		return nil, s.errorf("listen on %s: %w", options.Listen, err)
	}
	s.address = s.listener.Addr()
	if err := s.openFiles(); err != nil {
		return nil, errors.Join(err, s.listener.Close())
	}
	return s, nil
}

// Serve serves the handler until ctx is done or Close is called. It returns immediately.
func (s *Server) Serve(ctx context.Context, handler http.Handler) {
	s.http = &http.Server{
		Handler:           handler,
		TLSConfig:         &tls.Config{GetCertificate: s.certificates.get, MinVersion: tls.VersionTLS12},
		ReadHeaderTimeout: headerTimeout,
		ErrorLog:          log.New(s.log, "", log.LstdFlags),
		ConnState:         s.follow,
	}
	go func() { s.served <- s.http.ServeTLS(s.listener, "", "") }()
	context.AfterFunc(ctx, func() { _ = s.http.Close() })
}

// ServePlain serves another handler without TLS, as instance metadata services are, until ctx is done or Close is
// called, which close the listener. It is called at most once, before Close.
func (s *Server) ServePlain(ctx context.Context, listener net.Listener, handler http.Handler) {
	s.plain = &http.Server{Handler: handler, ReadHeaderTimeout: headerTimeout}
	go func() { _ = s.plain.Serve(listener) }() // Close ends it
	context.AfterFunc(ctx, func() { _ = s.plain.Close() })
}

// follow keeps the open connections.
func (s *Server) follow(connection net.Conn, state http.ConnState) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	switch state {
	case http.StateNew:
		s.open[connection] = struct{}{}
	case http.StateClosed, http.StateHijacked:
		delete(s.open, connection)
	case http.StateActive, http.StateIdle:
	}
}

// Disconnect ends the connections of all clients, which have to connect again.
func (s *Server) Disconnect() {
	s.mutex.Lock()
	connections := slices.Collect(maps.Keys(s.open))
	s.mutex.Unlock()
	for _, connection := range connections {
		_ = connection.Close() // the client may have closed it
	}
}

// Close stops the server and ends its connections. After Serve, a second call does nothing.
func (s *Server) Close() error {
	if s.plain != nil {
		_ = s.plain.Close() // it has closed its listener before, or does so now
	}
	if s.http == nil {
		return errors.Join(s.listener.Close(), s.log.Close())
	}
	err := s.http.Close()
	if served, open := <-s.served; open {
		close(s.served)
		if !errors.Is(served, http.ErrServerClosed) {
			err = errors.Join(err, served)
		}
		err = errors.Join(err, s.log.Close())
	}
	if err != nil {
		return s.errorf("close: %w", err)
	}
	return nil
}

// URL is the server's, without a path.
func (s *Server) URL() string { return "https://" + s.address.String() }

// Host and Port are those of the URL.
func (s *Server) Host() string {
	host, _, _ := net.SplitHostPort(s.address.String()) // a listener's address has both
	return host
}

// Port is described at Host.
func (s *Server) Port() string {
	_, port, _ := net.SplitHostPort(s.address.String())
	return port
}

// Hosts returns the address of the names under which clients reach the server; nil without any.
func (s *Server) Hosts() map[string]string {
	var hosts map[string]string
	for _, name := range s.names {
		if hosts == nil {
			hosts = map[string]string{}
		}
		hosts[name] = s.Host()
	}
	return hosts
}

// URLAt returns the URL of a path at one of the server's names.
func (s *Server) URLAt(host, path string) string {
	if s.Port() != "443" {
		host = net.JoinHostPort(host, s.Port())
	}
	return "https://" + host + path
}

// CABundle is the private CA, in PEM, that signed the server's certificate.
func (s *Server) CABundle() []byte { return s.certificates.bundle() }

// RenewCA makes another private CA and a serving certificate signed by it, and returns that CA in PEM. The server
// changes its certificate when use is called, so clients can learn the CA before.
func (s *Server) RenewCA() (bundle []byte, use func() error, err error) {
	renewed, err := s.certificates.renew()
	if err != nil {
		return nil, nil, s.errorf("%w", err)
	}
	return slices.Clone(renewed.ca), func() error {
		s.certificates.use(renewed)
		s.Disconnect() // or clients would go on with those that they have
		return s.WriteFile("ca.crt", renewed.ca, 0o644)
	}, nil
}

// ExpireCertificate makes the server have a certificate that has ended, until it is called with false.
func (s *Server) ExpireCertificate(expired bool) {
	s.certificates.expire(expired)
	s.Disconnect()
}

// WriteFile writes a file for a human into the directory, if there is one.
func (s *Server) WriteFile(name string, content []byte, mode os.FileMode) error {
	if s.dir == "" {
		return nil
	}
	if err := os.WriteFile(filepath.Join(s.dir, name), content, mode); err != nil {
		return s.errorf("%w", err)
	}
	return nil
}

// openFiles writes files for debugging and opens the request log.
func (s *Server) openFiles() error {
	if s.dir == "" {
		return nil
	}
	if err := os.MkdirAll(s.dir, 0o750); err != nil {
		return s.errorf("%w", err)
	}
	if err := s.WriteFile("ca.crt", s.CABundle(), 0o644); err != nil {
		return err
	}
	requests, err := os.Create(filepath.Join(s.dir, "requests.log"))
	if err != nil {
		return s.errorf("%w", err)
	}
	s.log = requests
	return nil
}

func (s *Server) errorf(format string, args ...any) error {
	return fmt.Errorf(s.name+" stand-in: "+format, args...)
}

// listenHost is the address part of a listen address; it must be a concrete IP.
func listenHost(listen string) (net.IP, error) {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return nil, fmt.Errorf("listen address %q: %w", listen, err)
	}
	ip := net.ParseIP(host)
	if ip == nil || ip.IsUnspecified() {
		return nil, fmt.Errorf("listen address %q: must be an IP that clients can reach", listen)
	}
	return ip, nil
}

// discard is the log without a directory.
type discard struct{ io.Writer }

// Close implements io.Closer.
func (discard) Close() error { return nil }

// RandomHex is a new random text of 32 hexadecimal digits.
func RandomHex() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand ends the program instead
	return hex.EncodeToString(b[:])
}

// NewSecret is a new random password or key. It begins like the secrets of the examples, so that tests recognize it.
func NewSecret() string { return "correct-horse-" + RandomHex() }
