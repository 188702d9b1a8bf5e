package vsphere

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/vmware/govmomi/simulator"
	_ "github.com/vmware/govmomi/vapi/simulator" // adds the endpoints of tags to the simulator
	"github.com/vmware/govmomi/vim25/types"

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

	model *simulator.Model
	inventory

	mutex sync.Mutex
	// rotations is how often the user changed.
	rotations int
	password  string
	// sessions are the users of the sessions by their keys, of SOAP and REST.
	sessions map[string]string
}

// Start serves the stand-in until ctx is done or Close is called.
func Start(ctx context.Context, options Options) (*Server, error) {
	server, err := standin.New(ctx, "vsphere", options)
	if err != nil {
		return nil, err
	}
	server.Declare(Login, FindByUUID, RESTSession)
	s := &Server{Server: server, password: standin.NewSecret(), sessions: map[string]string{}}
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
	service.Listen = &url.URL{Host: "127.0.0.1:0", User: url.UserPassword(s.Credential(), s.password)}
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

// Credential is the name of the current user.
func (s *Server) Credential() string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.user()
}

// user returns the name of the current user. The caller holds the mutex.
func (s *Server) user() string { return fmt.Sprintf("ccm-%d@vsphere.local", s.rotations+1) }

// Rotate replaces the user with another one that has another password. The former user is rejected from now on, in
// sessions that it has too.
func (s *Server) Rotate() error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.rotations++
	s.password = standin.NewSecret()
	return nil
}

// Credentials is the data of the credentials Secret.
func (s *Server) Credentials() map[string][]byte {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return map[string][]byte{
		s.Host() + ".username": []byte(s.user()),
		s.Host() + ".password": []byte(s.password),
	}
}

func (s *Server) isLogin(user, password string) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return user == s.user() && password == s.password
}

// userOf returns the user of a session and whether that user may still use it.
func (s *Server) userOf(session string) (user string, valid bool) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	user, known := s.sessions[session]
	return user, known && user == s.user()
}

func (s *Server) addSession(session, user string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.sessions[session] = user
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
