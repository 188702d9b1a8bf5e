package nutanix

import (
	"context"
	"net/http"
	"regexp"
	"strings"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/credentials"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/machines"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/standin"
)

// The endpoints, as Requests counts them and Fail takes them. Their paths begin with /api, a namespace and a version.
const (
	GetVM        = "GET /ahv/config/vms/{id}"
	ListClusters = "GET /config/clusters"
	GetCluster   = "GET /config/clusters/{id}"
	GetHost      = "GET /config/clusters/{id}/hosts/{host}"
	// GetNewest is how clients of API v4.2 find the newest version of a namespace. Its path has no version.
	GetNewest = "OPTIONS /unversioned/info"
)

// Options configure a Server.
type Options = standin.Options

// Server is a running stand-in. Its methods may be called at any time and from any goroutine.
type Server struct {
	*standin.Server
	// Rotation has the users, each with a password of its own, and their sessions.
	*credentials.Rotation
	// Machines are virtual machines, whose clusters are their zones. They are denied as for a user of another project.
	*machines.Machines
}

// Start serves the stand-in until ctx is done or Close is called.
func Start(ctx context.Context, options Options) (*Server, error) {
	server, err := standin.New(ctx, "nutanix", options)
	if err != nil {
		return nil, err
	}
	s := &Server{Server: server, Rotation: credentials.New(credentials.Numbered("ccm-%d")),
		Machines: machines.New("nutanix", "virtual machine", zones...)}
	server.Serve(ctx, s.handler())
	return s, nil
}

// version is the part of a path that says which version of the API a client uses.
var version = regexp.MustCompile(`^v4\.[012]$`)

func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	notServed := s.NotServed(refuse)
	for endpoint, served := range map[string]struct {
		namespace string
		handle    handler
		missing   string
	}{
		GetVM:        {"vmm", s.getVM, "VM_NOT_FOUND"},
		ListClusters: {"clustermgmt", listClusters, notFound},
		GetCluster:   {"clustermgmt", getCluster, notFound},
		GetHost:      {"clustermgmt", getHost, notFound},
	} {
		method, path, _ := strings.Cut(endpoint, " ")
		handle := s.Endpoint(endpoint, refuse, s.authenticated(served.handle, served.missing))
		mux.HandleFunc(method+" /api/"+served.namespace+"/{version}"+path, func(w http.ResponseWriter, r *http.Request) {
			if !version.MatchString(r.PathValue("version")) {
				notServed(w, r)
				return
			}
			handle(w, r)
		})
	}
	newest := s.Endpoint(GetNewest, refuse, s.authenticated(getNewest, notFound))
	for _, namespace := range []string{"clustermgmt", "vmm"} {
		mux.HandleFunc("OPTIONS /api/"+namespace+"/unversioned/info", newest)
	}
	mux.HandleFunc("/", notServed)
	return mux
}

// object is a JSON object. Those of the API have their type in $objectType.
type object = map[string]any

// handler returns the answer to a request, nil if what it asks for does not exist.
type handler func(r *http.Request) object

func getNewest(*http.Request) object { return object{"data": "v4.2"} }

// notFound is the group of errors about what does not exist. That of virtual machines is another one, by which clients
// know that a machine is gone.
const notFound = "RESOURCE_NOT_FOUND"

// authenticated checks the login of a request, and answers with what handle returns, or that it is missing.
func (s *Server) authenticated(handle handler, missing string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !s.authorize(w, r) {
			refuse(w, http.StatusUnauthorized)
			return
		}
		if answer := handle(r); answer != nil {
			writeJSON(w, http.StatusOK, answer)
			return
		}
		writeError(w, http.StatusNotFound, missing)
	}
}

// refuse is the answer to a request that Fail makes fail, or without a login.
func refuse(w http.ResponseWriter, status int) {
	writeError(w, status, strings.ToUpper(strings.ReplaceAll(http.StatusText(status), " ", "_")))
}

func writeError(w http.ResponseWriter, status int, group string) {
	writeJSON(w, status, object{"data": object{
		"$objectType": "prism.v4.error.ErrorResponse", "$errorItemDiscriminator": "List<prism.v4.error.AppMessage>",
		"error": []object{{
			"$objectType": "prism.v4.error.AppMessage", "severity": "ERROR", "errorGroup": group, "code": "STAND-IN",
			"message": http.StatusText(status),
		}},
	}})
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	standin.WriteJSON(w, "application/json", status, body)
}
