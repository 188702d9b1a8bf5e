package alibabacloud

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/credentials"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/machines"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/standin"
)

// The endpoints, as Requests counts them and Fail takes them. The cloud-controller-manager looks for the instance of a
// new Node by its address, and later for those of all Nodes by their identities.
const (
	DescribeByAddress = "DescribeInstances PrivateIpAddresses"
	DescribeByID      = "DescribeInstances InstanceIds"
)

const (
	regionID = "cn-hangzhou"
	ecsHost  = "ecs-vpc." + regionID + ".aliyuncs.com"
	// ecsVersion is the version of ECS' API, which every request names.
	ecsVersion = "2014-05-26"
)

// Options configure a Server.
type Options = standin.Options

// Server is a running stand-in. Its methods may be called at any time and from any goroutine.
type Server struct {
	*standin.Server
	*credentials.Rotation
	// Machines are denied as those of a resource group that the RAM user's policy does not allow.
	*machines.Machines

	notServed http.HandlerFunc

	mutex sync.Mutex
	// nonces are those of the signatures so far.
	nonces map[string]bool
}

// Start serves the stand-in until ctx is done or Close is called.
func Start(ctx context.Context, options Options) (*Server, error) {
	server, err := standin.New(ctx, "alibabacloud", options, ecsHost)
	if err != nil {
		return nil, err
	}
	s := &Server{Server: server, Rotation: credentials.New(newAccessKey),
		Machines: machines.New("alibabacloud", "instance", zones...), nonces: map[string]bool{}}
	server.Declare(DescribeByAddress, DescribeByID)
	s.notServed = server.NotServed(refuse)
	server.Serve(ctx, http.HandlerFunc(s.serve))
	return s, nil
}

// serve handles one request of an RPC API: an action and its parameters, in the query and in a form.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, standin.MaxBody)
	if err := r.ParseForm(); err != nil {
		writeError(w, &apiError{http.StatusBadRequest, "InvalidParameter", "The request cannot be read."})
		return
	}
	endpoint := endpointOf(r.Form)
	if endpoint == standin.Unserved {
		s.notServed(w, r)
		return
	}
	s.Observe(endpoint, refuse, func(w http.ResponseWriter, r *http.Request) {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		if failed := s.authenticate(r, time.Now()); failed != nil {
			writeError(w, failed)
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
		return standin.Unserved
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
	standin.WriteJSON(w, "application/json;charset=utf-8", status, body)
}
