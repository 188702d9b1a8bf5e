package digitalocean

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/credentials"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/machines"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/standin"
)

// The endpoints, as Requests counts them and Fail takes them.
const (
	ListRegions   = "GET /v2/regions"
	ListDroplets  = "GET /v2/droplets"
	GetDroplet    = "GET /v2/droplets/{id}"
	ListBalancers = "GET /v2/load_balancers"
	NewBalancer   = "POST /v2/load_balancers"
	GetBalancer   = "GET /v2/load_balancers/{id}"
	SetBalancer   = "PUT /v2/load_balancers/{id}"
	NoBalancer    = "DELETE /v2/load_balancers/{id}"
	NewTag        = "POST /v2/tags"
	TagResources  = "POST /v2/tags/{name}/resources"
)

// host is the name of DigitalOcean's API, which is fixed in its SDK.
const host = "api.digitalocean.com"

// Options configure a Server.
type Options = standin.Options

// Server is a running stand-in. Its methods may be called at any time and from any goroutine.
type Server struct {
	*standin.Server
	*credentials.Rotation
	// Machines are the droplets, without zones: regions have none. They are denied as those of another team's account.
	*machines.Machines

	mutex     sync.Mutex
	balancers []*balancer
	// created counts load balancers, for their identities and addresses.
	created int
	tags    map[string]bool
}

// Start serves the stand-in until ctx is done or Close is called.
func Start(ctx context.Context, options Options) (*Server, error) {
	server, err := standin.New(ctx, "digitalocean", options, host)
	if err != nil {
		return nil, err
	}
	s := &Server{Server: server, Rotation: credentials.New(newToken),
		Machines: machines.New("digitalocean", "droplet"), tags: map[string]bool{}}
	server.Serve(ctx, s.handler())
	return s, nil
}

func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	for pattern, handle := range map[string]handler{
		ListRegions:   listRegions,
		ListDroplets:  s.listDroplets,
		GetDroplet:    s.getDroplet,
		ListBalancers: s.listBalancers,
		NewBalancer:   s.createBalancer,
		GetBalancer:   s.withBalancer(s.getBalancer),
		SetBalancer:   s.withBalancer(s.updateBalancer),
		NoBalancer:    s.withBalancer(s.deleteBalancer),
		NewTag:        s.createTag,
		TagResources:  s.tagResources,
	} {
		mux.HandleFunc(pattern, s.Endpoint(pattern, refuse, s.authenticated(handle)))
	}
	mux.HandleFunc("/", s.NotServed(refuse))
	return mux
}

// handler returns the status and the body of the answer to a request. There may be no body. The server's mutex is
// locked.
type handler func(r *http.Request) (status int, body any, failed *apiError)

// authenticated checks the token of a request, and answers with what handle returns.
func (s *Server) authenticated(handle handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		if !s.authorize(r) {
			writeError(w, &apiError{http.StatusUnauthorized, "Unauthorized", "Unable to authenticate you"})
			return
		}
		status, answer, failed := handle(r)
		if failed != nil {
			writeError(w, failed)
			return
		}
		writeJSON(w, status, answer)
	}
}

// object is a JSON object.
type object = map[string]any

// apiError is an answer that is not the wanted one.
type apiError struct {
	status      int
	id, message string
}

var errNotFound = &apiError{http.StatusNotFound, "not_found", "The resource you were accessing could not be found."}

// unprocessable rejects the content of a request.
func unprocessable(format string, args ...any) *apiError {
	return &apiError{http.StatusUnprocessableEntity, "unprocessable_entity", fmt.Sprintf(format, args...)}
}

// decode reads the body of a request.
func decode(r *http.Request, into any) *apiError {
	if err := json.NewDecoder(r.Body).Decode(into); err != nil {
		return &apiError{http.StatusBadRequest, "bad_request", err.Error()}
	}
	return nil
}

// refuse is the answer to a request that Fail makes fail.
func refuse(w http.ResponseWriter, status int) {
	text := http.StatusText(status)
	writeError(w, &apiError{status, strings.ToLower(strings.ReplaceAll(text, " ", "_")), text})
}

func writeError(w http.ResponseWriter, failed *apiError) {
	writeJSON(w, failed.status, object{
		"id": failed.id, "message": failed.message, "request_id": standin.RandomHex(),
	})
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	standin.WriteJSON(w, "application/json; charset=utf-8", status, body)
}
