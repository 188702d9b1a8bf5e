package gcp

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/standin"
)

// metadataRoot is the path of the metadata, and flavorHeader what requests and answers must have.
const (
	metadataRoot = "/computeMetadata/v1/"
	flavorHeader = "Metadata-Flavor"
	flavor       = "Google"
)

// metadataOf are the entries of the metadata server that the cloud-controller-manager asks for. Nothing asks for a
// token of the instance's own service account: the cloud-controller-manager has credentials of its own.
var metadataOf = map[string]func(m machine) string{
	"project/project-id":                    func(machine) string { return projectID },
	"instance/zone":                         func(m machine) string { return projectLink + "zones/" + m.zone },
	"instance/network-interfaces/0/network": func(machine) string { return projectLink + "networks/" + networkName },
	"instance/hostname": func(m machine) string {
		return m.Name + "." + m.zone + ".c." + projectID + ".internal"
	},
}

// projectLink is how the metadata server names the project.
const projectLink = "projects/" + projectNumber + "/"

// ServeMetadata serves the instance metadata server, which has neither TLS nor a login: it knows instances by their
// addresses. Close closes the listener. It is called at most once, before Close.
func (s *Server) ServeMetadata(ctx context.Context, listener net.Listener) {
	mux := http.NewServeMux()
	for entry, describe := range metadataOf {
		mux.HandleFunc("GET "+metadataRoot+entry, s.Endpoint("GET "+entry, refuseMetadata, s.answer(describe)))
	}
	mux.HandleFunc("/", s.Endpoint(standin.Unserved, refuseMetadata, func(w http.ResponseWriter, _ *http.Request) {
		refuseMetadata(w, http.StatusNotFound)
	}))
	s.ServePlain(ctx, listener, mux)
}

// answer answers an instance. The header, which a browser cannot be made to send, is required.
func (s *Server) answer(describe func(m machine) string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		m, known := s.at(r.RemoteAddr)
		switch {
		case r.Header.Get(flavorHeader) != flavor:
			refuseMetadata(w, http.StatusForbidden)
		case !known:
			refuseMetadata(w, http.StatusNotFound)
		default:
			w.Header().Set(flavorHeader, flavor)
			w.Header().Set("Content-Type", "application/text")
			fmt.Fprint(w, describe(m))
		}
	}
}

func refuseMetadata(w http.ResponseWriter, status int) {
	w.Header().Set(flavorHeader, flavor)
	http.Error(w, http.StatusText(status), status)
}

// at returns the instance with an address.
func (s *Server) at(remote string) (found machine, known bool) {
	host, _, _ := net.SplitHostPort(remote) // net/http gives every connection's
	s.mutex.Lock()
	defer s.mutex.Unlock()
	m := s.find(func(m *machine) bool { return slices.Contains(m.Addresses, host) })
	if m == nil {
		return machine{}, false
	}
	return *m, true
}
