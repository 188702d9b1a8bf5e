package vsphere

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/vmware/govmomi/simulator"
	_ "github.com/vmware/govmomi/vapi/simulator" // adds the endpoints of tags to the simulator
	"github.com/vmware/govmomi/vim25/types"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/credentials"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/machines"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/standin"
)

// Endpoints, as Requests counts them and Fail takes them. Others have the name of their SOAP method, or of the method
// and the path of a request of the REST API with {id} for identifiers.
const (
	Login       = "Login"
	FindByUUID  = "FindByUuid"
	RESTSession = "POST /rest/com/vmware/cis/session"
)

// Options configure a Server.
type Options = standin.Options

// Instance is a machine that the vCenter runs.
type Instance = machines.Instance

// Server is a running stand-in. Its methods may be called at any time and from any goroutine.
type Server struct {
	*standin.Server
	// Rotation has the users, each with a password of its own, and their sessions of SOAP and REST.
	*credentials.Rotation

	model *simulator.Model
	inventory
}

// Start serves the stand-in until ctx is done or Close is called.
func Start(ctx context.Context, options Options) (*Server, error) {
	server, err := standin.New(ctx, "vsphere", options)
	if err != nil {
		return nil, err
	}
	server.Declare(Login, FindByUUID, RESTSession)
	s := &Server{Server: server, Rotation: credentials.New(credentials.Numbered("ccm-%d@vsphere.local"))}
	if err := s.startSimulator(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("vsphere stand-in: %w", err), s.Close())
	}
	server.Serve(ctx, s.handler())
	return s, nil
}

// startSimulator makes the inventory.
func (s *Server) startSimulator(ctx context.Context) error {
	s.model = newModel()
	if err := s.model.Create(); err != nil {
		return fmt.Errorf("simulator: %w", err)
	}
	service := s.model.Service
	// Without a user of its own, the simulator accepts every login.
	service.Listen = &url.URL{Host: "127.0.0.1:0", User: url.UserPassword(s.Current().Name, s.Current().Secret)}
	service.RegisterEndpoints = true
	s.model.Map().SessionManager().ValidLogin = func(login *types.Login) bool {
		return s.isLogin(login.UserName, login.Password)
	}
	// It is served by the simulator's own server only until the tags exist, which have no other way in.
	own := service.NewServer()
	defer own.Close()
	return s.init(ctx, s.model, own.URL)
}

// Close stops the server and removes the simulator's files. After the first call, others do nothing.
func (s *Server) Close() error {
	err := s.Server.Close()
	if s.model != nil && s.model.Service != nil {
		s.model.Remove()
	}
	return err
}

// Credentials is the data of the credentials Secret.
func (s *Server) Credentials() map[string][]byte {
	user := s.Current()
	return map[string][]byte{
		s.Host() + ".username": []byte(user.Name),
		s.Host() + ".password": []byte(user.Secret),
	}
}

func (s *Server) isLogin(user, password string) bool {
	return s.Current() == credentials.Credential{Name: user, Secret: password}
}

// refuse is the answer to a request that Fail makes fail: the vCenter's own if it rejects a user, otherwise that of the
// proxy in front of its services.
func (r request) refuse(w http.ResponseWriter, status int) {
	switch {
	case r.isSOAP && status == http.StatusForbidden:
		writeFault(w, noPermission)
	case r.isSOAP && status == http.StatusUnauthorized && r.isLogin:
		writeFault(w, invalidLogin)
	case r.isSOAP && status == http.StatusUnauthorized:
		writeFault(w, notAuthenticated)
	default:
		http.Error(w, strings.ToLower(http.StatusText(status)), status)
	}
}
