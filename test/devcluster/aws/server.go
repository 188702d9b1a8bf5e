package aws

import (
	"bytes"
	"context"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/machines"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/standin"
)

// The actions, as Requests counts them and Fail takes them.
const (
	DescribeInstances             = "DescribeInstances"
	DescribeInstanceTopology      = "DescribeInstanceTopology"
	DescribeAvailabilityZones     = "DescribeAvailabilityZones"
	DescribeSubnets               = "DescribeSubnets"
	DescribeRouteTables           = "DescribeRouteTables"
	DescribeSecurityGroups        = "DescribeSecurityGroups"
	CreateSecurityGroup           = "CreateSecurityGroup"
	DeleteSecurityGroup           = "DeleteSecurityGroup"
	AuthorizeSecurityGroupIngress = "AuthorizeSecurityGroupIngress"
	RevokeSecurityGroupIngress    = "RevokeSecurityGroupIngress"

	DescribeLoadBalancers          = "DescribeLoadBalancers"
	DescribeLoadBalancerAttributes = "DescribeLoadBalancerAttributes"
	CreateLoadBalancer             = "CreateLoadBalancer"
	DeleteLoadBalancer             = "DeleteLoadBalancer"
	DescribeListeners              = "DescribeListeners"
	CreateListener                 = "CreateListener"
	DescribeTargetGroups           = "DescribeTargetGroups"
	DescribeTargetHealth           = "DescribeTargetHealth"
	CreateTargetGroup              = "CreateTargetGroup"
	ModifyTargetGroup              = "ModifyTargetGroup"
	DeleteTargetGroup              = "DeleteTargetGroup"
	RegisterTargets                = "RegisterTargets"
	DeregisterTargets              = "DeregisterTargets"

	AssumeRoleWithWebIdentity = "AssumeRoleWithWebIdentity"

	// These are parts of the instance metadata service.
	CreateToken = "PUT token"
	GetIdentity = "GET instance-identity"
)

// Options configure a Server.
type Options = standin.Options

// Instance is a machine that EC2 runs.
type Instance = machines.Instance

// Server is a running stand-in. Its methods may be called at any time and from any goroutine.
type Server struct {
	*standin.Server

	// services are those behind the one endpoint, by the version of their API.
	services map[string]*service

	mutex sync.Mutex
	inventory
	groups       []*securityGroup
	balancers    []*balancer
	targetGroups []*targetGroup
	// sessions are those of the metadata service, by token.
	sessions map[string]session
	// keys are the secret access keys of now and of before, the current one last. One without a secret stands for the
	// tokens of the ServiceAccount, and temporary are the keys that they got, by identifier.
	keys      []accessKey
	temporary map[string]accessKey
}

// Start serves the stand-in until ctx is done or Close is called.
func Start(ctx context.Context, options Options) (*Server, error) {
	server, err := standin.New(ctx, "aws", options)
	if err != nil {
		return nil, err
	}
	s := &Server{Server: server, inventory: newInventory(), groups: newGroups(), sessions: map[string]session{},
		keys: []accessKey{newAccessKey()}, temporary: map[string]accessKey{}}
	s.services = s.newServices()
	server.Declare(standin.Unserved)
	for _, served := range s.services {
		server.Declare(slices.Collect(maps.Keys(served.actions))...)
	}
	server.Serve(ctx, http.HandlerFunc(s.serve))
	return s, nil
}

// accessKey is an access key of an IAM user. One of a role has a session and expires.
type accessKey struct {
	id, secret, session string
	expires             time.Time
}

func newAccessKey() accessKey {
	return accessKey{id: "AKIA" + strings.ToUpper(standin.RandomHex()[:16]), secret: standin.NewSecret()}
}

// current returns the access key of now. The caller holds the mutex.
func (s *Server) current() accessKey { return s.keys[len(s.keys)-1] }

// Credential is the identifier of the current access key, or the trusted ServiceAccount.
func (s *Server) Credential() string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.current().id
}

// Rotate replaces the access key. The former one is rejected from now on. It returns no error.
func (s *Server) Rotate() error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.keys = append(s.keys, newAccessKey())
	return nil
}

// Credentials is the data of the credentials Secret.
func (s *Server) Credentials() map[string][]byte {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	key := s.current()
	if key.id == standin.Subject {
		return map[string][]byte{"credentials": []byte(roleCredentials)}
	}
	return map[string][]byte{
		"aws_access_key_id":     []byte(key.id),
		"aws_secret_access_key": []byte(key.secret),
		"credentials": fmt.Appendf(nil, "[default]\naws_access_key_id = %s\naws_secret_access_key = %s\n", key.id,
			key.secret),
	}
}

// serve handles one request of the Query API: a form with an action and its parameters.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, standin.MaxBody))
	if err != nil {
		http.Error(w, "The request cannot be read.", http.StatusBadRequest)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	form, err := url.ParseQuery(string(body))
	if err != nil {
		http.Error(w, "The query string contains a syntax error.", http.StatusBadRequest)
		return
	}
	called := s.services[form.Get("Version")]
	if called == nil {
		called = &service{failure: newFailure}
	}
	action := form.Get("Action")
	handle := called.actions[action]
	endpoint := action
	if handle == nil {
		endpoint = standin.Unserved
	}
	s.Observe(endpoint, called.refuse, func(w http.ResponseWriter, r *http.Request) {
		if failed := s.authenticate(r, called, parameters(form), body, time.Now()); failed != nil {
			called.write(w, failed)
			return
		}
		if handle == nil {
			called.write(w, &apiError{http.StatusBadRequest, "InvalidAction", "The action " + action + " is not valid."})
			return
		}
		answer, failed := handle(parameters(form))
		if failed != nil {
			called.write(w, failed)
			return
		}
		writeXML(w, http.StatusOK, called.wrap(action, answer))
	}, w, r)
}

func writeXML(w http.ResponseWriter, status int, body any) {
	content, err := xml.Marshal(body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/xml;charset=UTF-8")
	w.WriteHeader(status)
	_, _ = w.Write(append([]byte(xml.Header), content...)) // the client may be gone
}
