package aws

import (
	"bytes"
	"cmp"
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

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/credentials"
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

	// These are of classic load balancers, which share the names of other actions with those of version 2.
	RegisterInstances            = "RegisterInstancesWithLoadBalancer"
	DeregisterInstances          = "DeregisterInstancesFromLoadBalancer"
	ConfigureHealthCheck         = "ConfigureHealthCheck"
	ModifyLoadBalancerAttributes = "ModifyLoadBalancerAttributes"

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
	// Rotation has the secret access keys.
	*credentials.Rotation

	// services are those behind the one endpoint, by the version of their API.
	services map[string]*service

	mutex sync.Mutex
	inventory
	groups       []*securityGroup
	balancers    []*balancer
	classics     []*classic
	targetGroups []*targetGroup
	// sessions are those of the metadata service, by token.
	sessions map[string]session
	// temporary are the keys that tokens of the ServiceAccount got, by identifier.
	temporary map[string]accessKey
}

// Start serves the stand-in until ctx is done or Close is called.
func Start(ctx context.Context, options Options) (*Server, error) {
	server, err := standin.New(ctx, "aws", options)
	if err != nil {
		return nil, err
	}
	s := &Server{Server: server, inventory: newInventory(), groups: newGroups(), sessions: map[string]session{},
		Rotation: credentials.New(newAccessKey), temporary: map[string]accessKey{}}
	s.services = s.newServices()
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

func newAccessKey(int) credentials.Credential {
	return credentials.Credential{Name: "AKIA" + strings.ToUpper(standin.RandomHex()[:16]), Secret: standin.NewSecret()}
}

// Credentials is the data of the credentials Secret.
func (s *Server) Credentials() map[string][]byte {
	key := s.Current()
	if key.Name == credentials.Subject {
		return map[string][]byte{"credentials": []byte(roleCredentials)}
	}
	return map[string][]byte{
		"aws_access_key_id":     []byte(key.Name),
		"aws_secret_access_key": []byte(key.Secret),
		"credentials": fmt.Appendf(nil, "[default]\naws_access_key_id = %s\naws_secret_access_key = %s\n", key.Name,
			key.Secret),
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
	called := cmp.Or(s.services[form.Get("Version")], &service{failure: newFailure})
	action := form.Get("Action")
	handle := called.actions[action]
	if handle == nil {
		// The log has the URL.
		r.URL.RawQuery = url.Values{"Action": {action}, "Version": {form.Get("Version")}}.Encode()
		s.NotServed(called.refuse)(w, r)
		return
	}
	s.Observe(action, called.refuse, func(w http.ResponseWriter, r *http.Request) {
		if failed := s.authenticate(r, called, parameters(form), body, time.Now()); failed != nil {
			called.write(w, failed)
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
