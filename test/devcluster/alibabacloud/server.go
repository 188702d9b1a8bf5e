package alibabacloud

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/machines"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/standin"
)

// The endpoints, as Requests counts them and Fail takes them. The cloud-controller-manager looks for the instance of a
// new Node by its address, and later for those of all Nodes by their identities.
const (
	DescribeByAddress = "DescribeInstances PrivateIpAddresses"
	DescribeByID      = "DescribeInstances InstanceIds"

	// Unserved counts the requests for anything else.
	Unserved = standin.Unserved
	// AllEndpoints, given to Fail, is an outage of the whole cloud.
	AllEndpoints = standin.AllEndpoints
)

const (
	regionID = "cn-hangzhou"
	ecsHost  = "ecs-vpc." + regionID + ".aliyuncs.com"
	// ecsVersion is the version of ECS' API, which every request names.
	ecsVersion = "2014-05-26"
	// maxBody is more than any request that clients of a cluster send.
	maxBody = 1 << 20
)

// Options configure a Server.
type Options struct {
	// Listen is the address and port of the one listener, such as "10.200.0.1:443". Only with port 443 do clients reach
	// the endpoint that the SDK makes of the region.
	Listen string
	// Dir is the directory that receives ca.crt and requests.log for a human to look around with. Empty means that
	// nothing is written.
	Dir string
}

// Server is a running stand-in. Its methods may be called at any time and from any goroutine.
type Server struct {
	*standin.Server
	// Machines are denied as those of a resource group that the RAM user's policy does not allow.
	*machines.Machines

	mutex sync.Mutex
	login
}

// Start serves the stand-in until ctx is done or Close is called.
func Start(ctx context.Context, options Options) (*Server, error) {
	server, err := standin.New(ctx, standin.Options{
		Name: "alibabacloud", Listen: options.Listen, Dir: options.Dir, Names: []string{ecsHost},
	})
	if err != nil {
		return nil, err
	}
	s := &Server{Server: server, Machines: machines.New("alibabacloud", "instance", zones...), login: newLogin()}
	server.Declare(Unserved, DescribeByAddress, DescribeByID)
	server.Serve(ctx, http.HandlerFunc(s.serve))
	return s, nil
}

// Hosts returns the address of the name under which clients reach the stand-in.
func (s *Server) Hosts() map[string]string { return map[string]string{ecsHost: s.Host()} }

// serve handles one request of an RPC API: an action and its parameters, in the query and in a form.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	if err := r.ParseForm(); err != nil {
		writeError(w, &apiError{http.StatusBadRequest, "InvalidParameter", "The request cannot be read."})
		return
	}
	endpoint := endpointOf(r.Form)
	s.Observe(endpoint, refuse, func(w http.ResponseWriter, r *http.Request) {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		if failed := s.authenticate(r, time.Now()); failed != nil {
			writeError(w, failed)
			return
		}
		if endpoint == Unserved {
			writeError(w, &apiError{http.StatusNotFound, "InvalidAction.NotFound",
				"Specified api is not found: " + r.Form.Get("Action") + "."})
			return
		}
		answer, failed := s.describeInstances(r.Form)
		if failed != nil {
			writeError(w, failed)
			return
		}
		writeJSON(w, http.StatusOK, answer)
	}, w, r)
}

// endpointOf returns the endpoint of a request.
func endpointOf(parameters url.Values) string {
	switch {
	case parameters.Get("Version") != ecsVersion || parameters.Get("Action") != "DescribeInstances":
		return Unserved
	case parameters.Has("InstanceIds"):
		return DescribeByID
	}
	return DescribeByAddress
}

// object is a JSON object.
type object = map[string]any

// apiError is an answer that is not the wanted one.
type apiError struct {
	status        int
	code, message string
}

// invalid rejects the value of a parameter.
func invalid(parameter string) *apiError {
	return &apiError{http.StatusBadRequest, "InvalidParameter",
		"The specified parameter \"" + parameter + "\" is not valid."}
}

// stringsIn returns the strings of a parameter that is a JSON array; nil if it is not set.
func stringsIn(parameters url.Values, name string) ([]string, *apiError) {
	text := parameters.Get(name)
	if text == "" {
		return nil, nil
	}
	found := []string{}
	if err := json.Unmarshal([]byte(text), &found); err != nil {
		return nil, invalid(name)
	}
	return found, nil
}

// refuse is the answer to a request that Fail makes fail.
func refuse(w http.ResponseWriter, status int) {
	text := http.StatusText(status)
	writeError(w, &apiError{status, strings.ReplaceAll(text, " ", ""), text})
}

func writeError(w http.ResponseWriter, failed *apiError) {
	writeJSON(w, failed.status, object{"RequestId": standin.RandomHex(), "HostId": ecsHost, "Code": failed.code,
		"Message": failed.message})
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	content, err := json.Marshal(body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json;charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(content) // the client may be gone
}
