package aws

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/standin"
)

const (
	// tokenHeader has the token of a session with the metadata service, and tokenLifetime its lifetime in seconds.
	tokenHeader   = "X-Aws-Ec2-Metadata-Token"
	tokenLifetime = "X-Aws-Ec2-Metadata-Token-Ttl-Seconds"
	// maxLifetime is the longest lifetime of a token, in seconds.
	maxLifetime = 21600
)

// identityDocument describes an instance to itself.
type identityDocument struct {
	AccountID        string `json:"accountId"`
	Architecture     string `json:"architecture"`
	AvailabilityZone string `json:"availabilityZone"`
	InstanceID       string `json:"instanceId"`
	InstanceType     string `json:"instanceType"`
	PrivateIP        string `json:"privateIp"`
	Region           string `json:"region"`
	Version          string `json:"version"`
}

// session is a token of the metadata service.
type session struct {
	instance string
	expires  time.Time
}

// ServeMetadata serves the instance metadata service, version 2, which has no TLS: it knows instances by their
// addresses, and answers to a token that the instance has requested. Close closes the listener. It is called at most
// once, before Close.
func (s *Server) ServeMetadata(ctx context.Context, listener net.Listener) {
	mux := http.NewServeMux()
	for _, served := range []struct {
		name, pattern string
		handle        http.HandlerFunc
	}{
		{CreateToken, "PUT /latest/api/token", s.createToken},
		{GetIdentity, "GET /latest/dynamic/instance-identity/document", s.metadataOf(identity)},
		{standin.Unserved, "/", http.NotFound},
	} {
		mux.HandleFunc(served.pattern, s.Endpoint(served.name, refuseMetadata, served.handle))
	}
	s.ServePlain(ctx, listener, mux)
}

func refuseMetadata(w http.ResponseWriter, status int) {
	http.Error(w, http.StatusText(status), status)
}

// at returns the running instance with an address.
func (s *Server) at(remote string) (found machine, known bool) {
	host, _, _ := net.SplitHostPort(remote) // net/http gives every connection's
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, m := range s.machines {
		if m.state == running && slices.Contains(m.Addresses, host) {
			return *m, true
		}
	}
	return machine{}, false
}

// createToken begins a session.
func (s *Server) createToken(w http.ResponseWriter, r *http.Request) {
	seconds, err := strconv.Atoi(r.Header.Get(tokenLifetime))
	if err != nil || seconds < 1 || seconds > maxLifetime {
		refuseMetadata(w, http.StatusBadRequest)
		return
	}
	m, known := s.at(r.RemoteAddr)
	if !known {
		refuseMetadata(w, http.StatusNotFound)
		return
	}
	token := standin.RandomHex()
	s.mutex.Lock()
	s.sessions[token] = session{m.id, time.Now().Add(time.Duration(seconds) * time.Second)}
	s.mutex.Unlock()
	w.Header().Set(tokenLifetime, strconv.Itoa(seconds))
	fmt.Fprint(w, token)
}

// metadataOf answers an instance that has a token of its own.
func (s *Server) metadataOf(describe func(m machine) any) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		m, known := s.at(r.RemoteAddr)
		s.mutex.Lock()
		found := s.sessions[r.Header.Get(tokenHeader)]
		s.mutex.Unlock()
		if !known || found.instance != m.id || time.Now().After(found.expires) {
			refuseMetadata(w, http.StatusUnauthorized)
			return
		}
		content, err := json.Marshal(describe(m))
		if err != nil {
			refuseMetadata(w, http.StatusInternalServerError)
			return
		}
		_, _ = w.Write(content) // the client may be gone
	}
}

func identity(m machine) any {
	return identityDocument{
		AccountID: account, Architecture: "x86_64", AvailabilityZone: m.zone, InstanceID: m.id,
		InstanceType: instanceType, PrivateIP: m.Addresses[0], Region: region, Version: "2017-09-30",
	}
}
