package ibm

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/credentials"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/machines"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/standin"
)

// The endpoints, as Requests counts them and Fail takes them.
const (
	IssueToken     = "POST /identity/token"
	ListGroups     = "GET /v2/resource_groups"
	GetRegion      = "GET /v1/regions/{name}"
	ListInstances  = "GET /v1/instances"
	ListSubnets    = "GET /v1/subnets"
	ListBalancers  = "GET /v1/load_balancers"
	NewBalancer    = "POST /v1/load_balancers"
	GetBalancer    = "GET /v1/load_balancers/{id}"
	NoBalancer     = "DELETE /v1/load_balancers/{id}"
	ListListeners  = "GET /v1/load_balancers/{id}/listeners"
	ListPools      = "GET /v1/load_balancers/{id}/pools"
	ListMembers    = "GET /v1/load_balancers/{id}/pools/{pool}/members"
	NewMember      = "POST /v1/load_balancers/{id}/pools/{pool}/members"
	ReplaceMembers = "PUT /v1/load_balancers/{id}/pools/{pool}/members"
	NoMember       = "DELETE /v1/load_balancers/{id}/pools/{pool}/members/{member}"
)

// Options configure a Server.
type Options struct {
	// Listen is the address and port of the one listener, such as "10.200.0.1:443". Only with port 443 do clients reach
	// IBM Cloud's own endpoints.
	Listen string
	// Power says that the machines are in a workspace of Power Virtual Servers, and only load balancers in the VPC.
	Power bool
	// Dir is the directory that receives ca.crt and requests.log for a human to look around with. Empty means that
	// nothing is written.
	Dir string
}

// Server is a running stand-in. Its methods may be called at any time and from any goroutine.
type Server struct {
	*standin.Server
	// Rotation has the API keys, and the tokens that IAM issued for them.
	*credentials.Rotation
	// Machines are denied as for an API key without the rights of a viewer.
	*machines.Machines
	isPower bool

	mutex sync.Mutex
	// asked counts the requests by the name of their endpoint.
	asked     map[string]int
	balancers []*balancer
	// created counts resources, for their identities.
	created int
}

// Start serves the stand-in until ctx is done or Close is called.
func Start(ctx context.Context, options Options) (*Server, error) {
	server, err := standin.New(ctx, "ibm", standin.Options{Listen: options.Listen, Dir: options.Dir},
		slices.Concat(ownHosts, customHosts)...)
	if err != nil {
		return nil, err
	}
	s := &Server{Server: server, Rotation: credentials.New(credentials.Numbered("key-%d")),
		Machines: machines.New("ibm", "instance", zones...), isPower: options.Power, asked: map[string]int{}}
	server.Serve(ctx, s.countHosts(s.handler()))
	return s, nil
}

func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc(IssueToken, s.Endpoint(IssueToken, failToken, s.issueToken))
	endpoints := map[string]handler{
		ListGroups:     listGroups,
		GetRegion:      getRegion,
		ListInstances:  s.listInstances,
		ListSubnets:    s.listSubnets,
		ListBalancers:  s.listBalancers,
		NewBalancer:    s.createBalancer,
		GetBalancer:    s.withBalancer(getBalancer),
		NoBalancer:     s.withBalancer(s.deleteBalancer),
		ListListeners:  s.withBalancer(listListeners),
		ListPools:      s.withBalancer(listPools),
		ListMembers:    s.withPool(listMembers),
		NewMember:      s.changing(s.createMember),
		ReplaceMembers: s.changing(s.replaceMembers),
		NoMember:       s.changing(s.deleteMember),
	}
	maps.Copy(endpoints, s.power())
	for pattern, handle := range endpoints {
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
		if !s.Authorize(r, credentials.Bearer(r)) {
			writeError(w, &apiError{http.StatusUnauthorized, "not_authorized", "The request is not authorized."})
			return
		}
		if failed := checkVersion(r); failed != nil {
			writeError(w, failed)
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

// checkVersion rejects a request to the VPC that does not say which version and generation it means.
func checkVersion(r *http.Request) *apiError {
	query := r.URL.Query()
	if strings.HasPrefix(r.URL.Path, "/v1/") && (query.Get("version") == "" || query.Get("generation") != "2") {
		return &apiError{http.StatusBadRequest, "invalid_value", "The query needs a version and generation=2."}
	}
	return nil
}

// object is a JSON object.
type object = map[string]any

// apiError is an answer that is not the wanted one.
type apiError struct {
	status        int
	code, message string
}

var errNotFound = &apiError{http.StatusNotFound, "not_found", "The resource could not be found."}

// rejected rejects the content of a request.
func rejected(format string, args ...any) *apiError {
	return &apiError{http.StatusBadRequest, "validation_failed", fmt.Sprintf(format, args...)}
}

// decode reads the body of a request.
func decode(r *http.Request, into any) *apiError {
	if err := json.NewDecoder(r.Body).Decode(into); err != nil {
		return &apiError{http.StatusBadRequest, "bad_request", err.Error()}
	}
	return nil
}

// queryNumber returns a positive number of the query, another one if it has none.
func queryNumber(r *http.Request, name string, otherwise int) int {
	number, err := strconv.Atoi(r.URL.Query().Get(name))
	if err != nil || number < 1 {
		return otherwise
	}
	return number
}

// pageURL is where the page of a list begins.
func pageURL(r *http.Request, start string) string {
	query := r.URL.Query()
	query.Del("start")
	if start != "" {
		query.Set("start", start)
	}
	return (&url.URL{Scheme: "https", Host: r.Host, Path: r.URL.Path, RawQuery: query.Encode()}).String()
}

// refuse is the answer to a request that Fail makes fail.
func refuse(w http.ResponseWriter, status int) {
	text := http.StatusText(status)
	writeError(w, &apiError{status, strings.ToLower(strings.ReplaceAll(text, " ", "_")), text})
}

func writeError(w http.ResponseWriter, failed *apiError) {
	writeJSON(w, failed.status, object{
		"errors": []object{{"code": failed.code, "message": failed.message}}, "trace": standin.RandomHex(),
	})
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	standin.WriteJSON(w, "application/json; charset=utf-8", status, body)
}
