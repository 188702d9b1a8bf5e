package gcp

import (
	"context"
	"net/http"
	"sync"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/credentials"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/machines"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/standin"
)

// The endpoints, as Requests counts them and Fail takes them. Those of the API are its methods: the ones here and those
// of the kinds of resources, such as forwardingRules.insert.
const (
	// GetToken, ExchangeToken and Impersonate are the logins: with a key, with a token of the ServiceAccount, and as the
	// service account afterwards.
	GetToken      = "oauth2.token"
	ExchangeToken = "sts.token"
	Impersonate   = "iamcredentials.generateAccessToken"

	GetInstance   = "instances.get"
	ListInstances = "instances.list"
	ListZones     = "zones.list"
)

// The hosts of the services.
const (
	computeHost     = "compute.googleapis.com"
	loginHost       = "oauth2.googleapis.com"
	exchangeHost    = "sts.googleapis.com"
	credentialsHost = "iamcredentials.googleapis.com"
)

// Options configure a Server.
type Options = standin.Options

// Instance is a machine that the cloud runs.
type Instance = machines.Instance

// object is a JSON object.
type object = map[string]any

// Server is a running stand-in. Its methods may be called at any time and from any goroutine.
type Server struct {
	*standin.Server
	// Rotation has the keys of the service account.
	*credentials.Rotation

	mutex sync.Mutex
	inventory
	network
	// tokens are the access tokens so far.
	tokens map[string]token
}

// Start serves the stand-in until ctx is done or Close is called.
func Start(ctx context.Context, options Options) (*Server, error) {
	server, err := standin.New(ctx, "gcp", options, computeHost, loginHost, exchangeHost, credentialsHost)
	if err != nil {
		return nil, err
	}
	s := &Server{Server: server, Rotation: credentials.New(newKey), inventory: newInventory(), network: newNetwork(),
		tokens: map[string]token{}}
	s.Serve(ctx, s.handler())
	return s, nil
}

const (
	projectPath = "/compute/v1/projects/{project}/"
	// linkPrefix is what the identifiers of resources begin with in answers.
	linkPrefix = "https://www.googleapis.com/compute/v1/projects/" + projectID + "/"
)

func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	handle := func(name, pattern string, handle http.HandlerFunc) {
		mux.HandleFunc(pattern, s.Endpoint(name, refuse, handle))
	}
	handle(GetToken, "POST "+loginHost+"/token", s.getToken)
	handle(ExchangeToken, "POST "+exchangeHost+"/v1/token", s.exchangeToken)
	handle(Impersonate, "POST "+credentialsHost+"/v1/projects/-/serviceAccounts/{call}", s.impersonate)

	compute := computeHost + projectPath
	handle(ListZones, "GET "+compute+"zones", s.managed(s.listZones))
	handle(ListInstances, "GET "+compute+"zones/{place}/instances", s.managed(s.listInstances))
	handle(GetInstance, "GET "+compute+"zones/{place}/instances/{name}", s.managed(s.getInstance))
	for scope, name := range operationMethods {
		handle(name, "POST "+compute+scope+"operations/{name}/wait", s.managed(s.awaitOperation))
	}
	for _, k := range kinds {
		for method, serve := range s.methods(k) {
			handle(k.service+"."+method, serve.verb+" "+compute+k.scope+k.collection+serve.path, s.managed(serve.handle))
		}
	}
	mux.HandleFunc("/", s.NotServed(refuse))
	return mux
}

// handler returns the answer to a request.
type handler func(r *http.Request) (object, *apiError)

// managed checks what all requests to the API need, and answers with what handle returns.
func (s *Server) managed(handle handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if failed := s.authorize(r); failed != nil {
			failed.write(w)
			return
		}
		if project := r.PathValue("project"); project != projectID {
			notFound("projects/" + project).write(w)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, standin.MaxBody)
		answer, failed := handle(r)
		if failed != nil {
			failed.write(w)
			return
		}
		writeJSON(w, http.StatusOK, answer)
	}
}

// apiError is an answer of the API that is not the wanted one.
type apiError struct {
	status  int
	message string
}

func (e *apiError) write(w http.ResponseWriter) { writeError(w, e.status, e.message) }

func notFound(path string) *apiError {
	return &apiError{http.StatusNotFound, "The resource '" + path + "' was not found"}
}

// refuse is the answer to a request that Fail makes fail.
func refuse(w http.ResponseWriter, status int) { writeError(w, status, http.StatusText(status)) }

// reasons are those that the API gives with a status.
var reasons = map[int]string{
	http.StatusBadRequest:   "badRequest",
	http.StatusUnauthorized: "authError",
	http.StatusForbidden:    "forbidden",
	http.StatusNotFound:     "notFound",
	http.StatusConflict:     "alreadyExists",
}

func writeError(w http.ResponseWriter, status int, message string) {
	reason := reasons[status]
	if reason == "" {
		reason = "backendError"
	}
	writeJSON(w, status, object{"error": object{
		"code": status, "message": message,
		"errors": []any{object{"domain": "global", "reason": reason, "message": message}},
	}})
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	standin.WriteJSON(w, "application/json; charset=UTF-8", status, body)
}
