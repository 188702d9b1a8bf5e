package azure

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/credentials"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/standin"
)

const (
	clientID = "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee"
	// tokenLifetime is about Azure's.
	tokenLifetime = time.Hour
)

// subject is the ServiceAccount whose tokens the application trusts after Federate, and audience whom they are for.
const (
	subject  = credentials.Subject
	audience = "openshift"
)

// newClientSecret returns a client secret of the application.
func newClientSecret(int) credentials.Credential {
	return credentials.Credential{Name: "secret-" + standin.RandomHex()[:8], Secret: standin.NewSecret()}
}

// Federate makes the application trust tokens of the cloud-controller-manager's ServiceAccount instead of a client
// secret. The former secret and its tokens are rejected from now on. It returns no error.
func (s *Server) Federate() error {
	s.Replace(credentials.Credential{Name: subject})
	return nil
}

// Credentials is the data of the credentials Secret.
func (s *Server) Credentials() map[string][]byte {
	data := map[string][]byte{
		"azure_client_id":       []byte(clientID),
		"azure_subscription_id": []byte(subscriptionID),
		"azure_tenant_id":       []byte(s.cloud.tenant),
	}
	if secret := s.Current().Secret; secret == "" {
		data["azure_federated_token_file"] = []byte("/var/run/secrets/openshift/serviceaccount/token")
	} else {
		data["azure_client_secret"] = []byte(secret)
	}
	if !s.stack { // the cloud-credential-operator copies these from the root Secret
		maps.Copy(data, map[string][]byte{
			"azure_region":          []byte(s.cloud.location),
			"azure_resource_prefix": []byte(resourcePrefix),
			"azure_resourcegroup":   []byte(resourceGroup),
		})
	}
	return data
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
	token := standin.RandomHex()
	s.Issue(token, secret, tokenLifetime)
	writeJSON(w, http.StatusOK, map[string]any{
		"token_type": "Bearer", "expires_in": int(tokenLifetime.Seconds()), "access_token": token,
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
	value := form.Get("client_secret")
	secret, isCurrent := s.Find(func(c credentials.Credential) bool { return value != "" && c.Secret == value })
	return secret.Name, isCurrent
}

// assertion returns the subject of a token of the ServiceAccount, and whether it is valid.
func (s *Server) assertion(text string) (id string, valid bool) {
	id, valid = credentials.TokenSubject(text, audience)
	if id != subject {
		return "", false
	}
	return subject, valid && s.Credential() == subject
}

func refuseToken(w http.ResponseWriter, status int, code, message string) {
	writeJSON(w, status, map[string]any{"error": code, "error_description": message})
}
