package openstack

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/standin"
)

// The one user of the cloud, with its project and region. Every cloud is made for one run.
const (
	cloudName   = "openstack"
	region      = "RegionOne"
	domainID    = "default"
	domainName  = "Default"
	userName    = "cloud-controller-manager"
	userID      = "5f1d8e2c9b0a4d7e8c6b3a2f1e0d9c8b"
	projectName = "openshift"
	projectID   = "0c9d8e7f6a5b4c3d2e1f0a9b8c7d6e5f"

	applicationCredentialID     = "7d4c1f6b2a9e4e0d8b5a3c2f1d0e9f8a"
	applicationCredentialName   = "openshift"
	applicationCredentialSecret = "application-credential-of-the-stand-in"
)

// tokenLifetime is Keystone's default.
const tokenLifetime = time.Hour

const (
	unauthenticated = "The request you have made requires authentication."
	malformed       = "Expecting to find auth in request body."
)

// tokenInfo is the record of an issued token.
type tokenInfo struct {
	method  string // "password" or "application_credential"
	expires time.Time
	// credential is its name in the record of calls.
	credential string
}

// CloudsYAML is a clouds.yaml with one cloud, openstack, that logs in with the current password.
func (s *Server) CloudsYAML() []byte {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.cloudsYAML()
}

// ApplicationCredentialCloudsYAML is a clouds.yaml with one cloud, openstack, that logs in with an application
// credential.
func (s *Server) ApplicationCredentialCloudsYAML() []byte {
	return fmt.Appendf(nil, `clouds:
  %s:
    auth_type: v3applicationcredential
    auth:
      auth_url: %s
      application_credential_id: %s
      application_credential_secret: %s
    region_name: %s
    identity_api_version: 3
`, cloudName, s.AuthURL(), applicationCredentialID, applicationCredentialSecret, region)
}

func (s *Server) cloudsYAML() []byte {
	password, _ := json.Marshal(s.password) // a JSON string is a YAML string, and marshalling a string cannot fail
	return fmt.Appendf(nil, `clouds:
  %s:
    auth:
      auth_url: %s
      username: %s
      password: %s
      project_name: %s
      user_domain_name: %s
      project_domain_name: %s
    region_name: %s
    identity_api_version: 3
`, cloudName, s.AuthURL(), userName, password, projectName, domainName, domainName, region)
}

// writeCloudsYAML leaves the current clouds.yaml in the directory. The caller holds the mutex, unless nothing runs yet.
func (s *Server) writeCloudsYAML() error {
	return s.WriteFile("clouds.yaml", s.cloudsYAML(), 0o600)
}

func (s *Server) versionV3() object {
	return object{
		"id": "v3.14", "status": "stable", "updated": "2020-04-07T00:00:00Z",
		"links": []object{{"rel": "self", "href": s.AuthURL() + "/"}},
	}
}

// identityVersions is the list of versions at Keystone's root, with the status that Keystone gives it.
func (s *Server) identityVersions(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusMultipleChoices, object{"versions": object{"values": []object{s.versionV3()}}})
}

func (s *Server) identityV3(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, object{"version": s.versionV3()})
}

// reference names a Keystone object by id or by name, and within its domain.
type reference struct {
	ID     string     `json:"id"`
	Name   string     `json:"name"`
	Domain *reference `json:"domain"`
}

// is reports whether the reference names the object: its id alone is enough, its name needs the domain.
func (r *reference) is(id, name string) bool {
	if r == nil {
		return false
	}
	if r.ID != "" {
		return r.ID == id
	}
	return r.Name == name && r.Domain != nil && (r.Domain.ID == domainID || r.Domain.Name == domainName)
}

// tokenRequest is the body of POST /v3/auth/tokens as far as the stand-in knows it.
type tokenRequest struct {
	Auth *struct {
		Identity struct {
			Methods  []string `json:"methods"`
			Password struct {
				User struct {
					reference
					Password string `json:"password"`
				} `json:"user"`
			} `json:"password"`
			ApplicationCredential struct {
				reference
				User   *reference `json:"user"`
				Secret string     `json:"secret"`
			} `json:"application_credential"`
		} `json:"identity"`
		Scope *struct {
			Project *reference `json:"project"`
		} `json:"scope"`
	} `json:"auth"`
}

// method is the login method when the request proves the user's identity, else empty.
func (r tokenRequest) method(password string) string {
	methods := r.Auth.Identity.Methods
	switch {
	case len(methods) != 1:
		return ""
	case methods[0] == "password" && r.provesPassword(password):
	case methods[0] == "application_credential" && r.provesApplicationCredential():
	default:
		return ""
	}
	return methods[0]
}

func (r tokenRequest) provesPassword(password string) bool {
	user, scope := r.Auth.Identity.Password.User, r.Auth.Scope
	return user.is(userID, userName) && user.Password == password &&
		scope != nil && scope.Project.is(projectID, projectName)
}

// provesApplicationCredential: an application credential carries its scope; a request that names another is rejected.
func (r tokenRequest) provesApplicationCredential() bool {
	credential := r.Auth.Identity.ApplicationCredential
	known := credential.ID == applicationCredentialID ||
		credential.Name == applicationCredentialName && credential.User.is(userID, userName)
	return known && credential.Secret == applicationCredentialSecret && r.Auth.Scope == nil
}

// credential names what a login was tried with: a password of now or of before, or the application credential. The
// caller holds the mutex.
func (s *Server) credential(request *tokenRequest) string {
	for i, password := range append(slices.Clone(s.former), s.password) {
		if request.method(password) == "password" {
			return passwordName(i)
		}
	}
	return request.method(s.password)
}

// createToken handles a login.
func (s *Server) createToken(w http.ResponseWriter, r *http.Request) {
	var request tokenRequest
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&request); err != nil ||
		request.Auth == nil {
		writeError(w, http.StatusBadRequest, malformed)
		return
	}
	now := time.Now().UTC()
	s.mutex.Lock()
	method, credential := request.method(s.password), s.credential(&request)
	id := standin.RandomHex()
	if method != "" {
		s.tokens[id] = tokenInfo{method: method, expires: now.Add(tokenLifetime), credential: credential}
	}
	s.mutex.Unlock()
	standin.Identify(r, credential)
	if method == "" {
		s.unauthorized(w)
		return
	}
	domain := object{"id": domainID, "name": domainName}
	w.Header().Set("X-Subject-Token", id)
	writeJSON(w, http.StatusCreated, object{"token": object{
		"methods":    []string{method},
		"user":       object{"id": userID, "name": userName, "domain": domain, "password_expires_at": nil},
		"project":    object{"id": projectID, "name": projectName, "domain": domain},
		"roles":      []object{{"id": "9fe2ff9ee4384b1894a90878d3e92bab", "name": "member"}},
		"is_domain":  false,
		"audit_ids":  []string{id[:22]},
		"issued_at":  now.Format("2006-01-02T15:04:05.000000Z"),
		"expires_at": now.Add(tokenLifetime).Format("2006-01-02T15:04:05.000000Z"),
		"catalog":    s.catalog(),
	}})
}

// The types of services that a cloud may lack, for Withdraw.
const (
	NetworkService      = "network"
	LoadBalancerService = "load-balancer"
)

// Withdraw omits a type of service from the catalog of every later login, as in a cloud or a project without it, or
// lists it again.
func (s *Server) Withdraw(service string, withdrawn bool) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.withdrawn[service] = withdrawn
}

// catalog lists the services. Compute is given with its version in the URL, the others without, so that both ways by
// which a client finds the version are used.
func (s *Server) catalog() []object {
	var services []object
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, service := range []struct{ kind, name, path string }{
		{"identity", "keystone", "/identity"},
		{"compute", "nova", "/compute/v2.1"},
		{NetworkService, "neutron", "/networking"},
		{LoadBalancerService, "octavia", "/load-balancer"},
	} {
		if s.withdrawn[service.kind] {
			continue
		}
		var endpoints []object
		for _, kindOfURL := range []string{"public", "internal", "admin"} {
			endpoints = append(endpoints, object{
				"id": service.name + "-" + kindOfURL, "interface": kindOfURL, "region": region, "region_id": region,
				"url": s.URL() + service.path,
			})
		}
		services = append(services, object{
			"id": service.name, "type": service.kind, "name": service.name, "endpoints": endpoints,
		})
	}
	return services
}

// authenticated rejects requests without a valid token.
func (s *Server) authenticated(handle http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.mutex.Lock()
		token, known := s.tokens[r.Header.Get("X-Auth-Token")]
		s.mutex.Unlock()
		if !known || !time.Now().Before(token.expires) {
			s.unauthorized(w)
			return
		}
		standin.Identify(r, token.credential)
		handle(w, r)
	}
}

func (s *Server) unauthorized(w http.ResponseWriter) {
	w.Header().Set("WWW-Authenticate", fmt.Sprintf("Keystone uri=%q", s.URL()+"/identity"))
	writeError(w, http.StatusUnauthorized, unauthenticated)
}
