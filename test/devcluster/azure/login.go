package azure

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/standin"
)

const (
	clientID = "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee"
	// tokenLifetime is about Azure's.
	tokenLifetime = time.Hour
)

// subject is the ServiceAccount whose tokens the application trusts after Federate, and audience whom they are for.
const (
	subject  = standin.Subject
	audience = "openshift"
)

// clientSecret is a client secret of the application. One without a value stands for the tokens of the subject.
type clientSecret struct{ id, value string }

func newClientSecret() clientSecret {
	return clientSecret{id: "secret-" + standin.RandomHex()[:8], value: standin.NewSecret()}
}

// token is an issued access token.
type token struct {
	secret  string
	expires time.Time
}

// login has the application's secrets and tokens. The server's mutex guards it.
type login struct {
	// secrets are those of now and of before, the current one last.
	secrets []clientSecret
	tokens  map[string]token
}

func newLogin() login {
	return login{secrets: []clientSecret{newClientSecret()}, tokens: map[string]token{}}
}

func (l *login) current() clientSecret { return l.secrets[len(l.secrets)-1] }

// Credential is the identifier of the current client secret.
func (s *Server) Credential() string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.current().id
}

// Rotate replaces the client secret. The former one and its tokens are rejected from now on. It returns no error.
func (s *Server) Rotate() error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.secrets = append(s.secrets, newClientSecret())
	return nil
}

// Federate makes the application trust tokens of the cloud-controller-manager's ServiceAccount instead of a client
// secret. The former secret and its tokens are rejected from now on. It returns no error.
func (s *Server) Federate() error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.secrets = append(s.secrets, clientSecret{id: subject})
	return nil
}

// Credentials is the data of the credentials Secret.
func (s *Server) Credentials() map[string][]byte {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	credentials := map[string][]byte{
		"azure_client_id":       []byte(clientID),
		"azure_subscription_id": []byte(subscriptionID),
		"azure_tenant_id":       []byte(s.cloud.tenant),
	}
	if s.current().id == subject {
		credentials["azure_federated_token_file"] = []byte("/var/run/secrets/openshift/serviceaccount/token")
	} else {
		credentials["azure_client_secret"] = []byte(s.current().value)
	}
	if !s.stack { // the cloud-credential-operator copies these from the root Secret
		maps.Copy(credentials, map[string][]byte{
			"azure_region":          []byte(s.cloud.location),
			"azure_resource_prefix": []byte(resourcePrefix),
			"azure_resourcegroup":   []byte(resourceGroup),
		})
	}
	return credentials
}

// getLogin answers with the endpoints of the login.
func (s *Server) getLogin(w http.ResponseWriter, _ *http.Request) {
	base := s.url(s.cloud.login, "/"+s.cloud.tenant)
	writeJSON(w, http.StatusOK, map[string]any{
		"issuer":                 base,
		"authorization_endpoint": base + strings.Replace(s.cloud.token, "token", "authorize", 1),
		"token_endpoint":         base + s.cloud.token,
	})
}

// refuseTenant answers about the login of a tenant that does not exist.
func refuseTenant(w http.ResponseWriter, r *http.Request) {
	refuseToken(w, http.StatusBadRequest, "invalid_tenant", "AADSTS90002: Tenant '"+r.PathValue("tenant")+"' not found.")
}

// getInstances answers with the hosts that share a cache of tokens, as the SDK asks at every login.
func (s *Server) getInstances(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]any{
		"tenant_discovery_endpoint": s.url(s.cloud.login, "/"+s.cloud.tenant+s.cloud.discovery),
		"api-version":               "1.1",
		"metadata": []any{map[string]any{
			"preferred_network": s.cloud.login, "preferred_cache": s.cloud.login, "aliases": []string{s.cloud.login},
		}},
	})
}

// getToken issues a token for the client secret or for a token of the ServiceAccount.
func (s *Server) getToken(w http.ResponseWriter, r *http.Request) {
	const form = "application/x-www-form-urlencoded"
	if !strings.HasPrefix(r.Header.Get("Content-Type"), form) || r.ParseForm() != nil ||
		r.PostForm.Get("grant_type") != "client_credentials" {
		refuseToken(w, http.StatusBadRequest, "unsupported_grant_type", "AADSTS70003: The grant type is not supported.")
		return
	}
	scope, _, _ := strings.Cut(r.PostForm.Get("scope"), " ")
	target := strings.TrimSuffix(scope, "/.default")
	if !slices.Contains(s.cloud.audiences, target) {
		refuseToken(w, http.StatusBadRequest, "invalid_resource", "AADSTS500011: There is no resource "+target+".")
		return
	}
	secret, valid := s.credential(r.PostForm)
	if secret != "" {
		standin.Identify(r, secret)
	}
	if !valid {
		refuseToken(w, http.StatusUnauthorized, "invalid_client",
			"AADSTS7000215: Invalid client secret or assertion provided.")
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{
		"token_type": "Bearer", "expires_in": int(tokenLifetime.Seconds()), "access_token": s.issue(secret),
	})
}

// credential returns the identifier of the credential that logs in, empty for an unknown one, and whether it is valid.
func (s *Server) credential(form url.Values) (id string, valid bool) {
	if form.Get("client_id") != clientID {
		return "", false
	}
	if form.Get("client_assertion_type") == "urn:ietf:params:oauth:client-assertion-type:jwt-bearer" {
		return s.assertion(form.Get("client_assertion"))
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	value := form.Get("client_secret")
	i := slices.IndexFunc(s.secrets, func(known clientSecret) bool { return value != "" && known.value == value })
	if i < 0 {
		return "", false
	}
	return s.secrets[i].id, i == len(s.secrets)-1
}

// assertion returns the subject of a token of the ServiceAccount, and whether it is valid.
func (s *Server) assertion(text string) (id string, valid bool) {
	id, valid = standin.TokenSubject(text, audience)
	if id != subject {
		return "", false
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return subject, valid && s.current().id == subject
}

func (s *Server) issue(secret string) string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	issued := standin.RandomHex()
	s.tokens[issued] = token{secret: secret, expires: time.Now().Add(tokenLifetime)}
	return issued
}

// authorize identifies the client secret of a request's token, and reports whether the token is valid.
func (s *Server) authorize(r *http.Request) bool {
	text, isBearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	s.mutex.Lock()
	defer s.mutex.Unlock()
	found, known := s.tokens[text]
	if !isBearer || !known {
		return false
	}
	standin.Identify(r, found.secret)
	return found.secret == s.current().id && time.Now().Before(found.expires)
}

func refuseToken(w http.ResponseWriter, status int, code, message string) {
	writeJSON(w, status, map[string]any{"error": code, "error_description": message})
}
