package gcp

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/credentials"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/standin"
)

const (
	accountEmail = resourcePrefix + "-openshift-gcp-ccm@" + projectID + ".iam.gserviceaccount.com"
	// tokenLifetime is Google's, and the longest of an assertion.
	tokenLifetime = time.Hour
	keyBits       = 2048

	// subject is the Kubernetes ServiceAccount whose tokens the provider of the workload identity pool trusts after
	// Federate, and audience whom they are for.
	subject  = credentials.Subject
	audience = "openshift"
	provider = "//iam.googleapis.com/projects/" + projectNumber +
		"/locations/global/workloadIdentityPools/" + resourcePrefix + "/providers/" + resourcePrefix

	scopePrefix = "https://www.googleapis.com/auth/"
)

// The parameters of the logins (RFC 7523, RFC 8693).
const (
	assertionGrant  = "urn:ietf:params:oauth:grant-type:jwt-bearer"
	exchangeGrant   = "urn:ietf:params:oauth:grant-type:token-exchange"
	accessTokenType = "urn:ietf:params:oauth:token-type:access_token"
	jwtType         = "urn:ietf:params:oauth:token-type:jwt"
)

// token is an issued access token.
type token struct {
	key string
	// federated says that it only impersonates the service account.
	federated bool
	expires   time.Time
}

// newKey returns a key of the service account, in PEM.
func newKey(int) credentials.Credential {
	private, _ := rsa.GenerateKey(rand.Reader, keyBits) // it fails for a smaller key only
	der, _ := x509.MarshalPKCS8PrivateKey(private)      // every RSA key has this form
	return credentials.Credential{Name: "key-" + standin.RandomHex()[:8],
		Secret: string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))}
}

// publicKey returns the public part of a key that newKey returned.
func publicKey(key credentials.Credential) *rsa.PublicKey {
	block, _ := pem.Decode([]byte(key.Secret))
	private, _ := x509.ParsePKCS8PrivateKey(block.Bytes)
	return &private.(*rsa.PrivateKey).PublicKey
}

// Federate makes the service account trust tokens of the cloud-controller-manager's ServiceAccount instead of a key.
// The former key and its tokens are rejected from now on. It returns no error.
func (s *Server) Federate() error {
	s.Replace(credentials.Credential{Name: subject})
	return nil
}

// Credentials is the data of the credentials Secret.
func (s *Server) Credentials() map[string][]byte {
	key := s.Current()
	file := object{
		"type": "external_account", "audience": provider, "subject_token_type": jwtType,
		"token_url": s.URLAt(exchangeHost, "/v1/token"),
		"service_account_impersonation_url": s.URLAt(credentialsHost,
			"/v1/projects/-/serviceAccounts/"+accountEmail+":generateAccessToken"),
		"credential_source": object{
			"file": "/var/run/secrets/openshift/serviceaccount/token", "format": object{"type": "text"},
		},
	}
	if key.Secret != "" {
		file = object{
			"type": "service_account", "project_id": projectID, "private_key_id": key.Name, "client_email": accountEmail,
			"private_key": key.Secret, "client_id": projectNumber, "auth_uri": "https://accounts.google.com/o/oauth2/auth",
			"token_uri": s.tokenURL(), "universe_domain": "googleapis.com",
		}
	}
	content, _ := json.MarshalIndent(file, "", "  ") // it has only texts
	return map[string][]byte{"service_account.json": content}
}

func (s *Server) tokenURL() string { return s.URLAt(loginHost, "/token") }

// getToken issues a token for an assertion.
func (s *Server) getToken(w http.ResponseWriter, r *http.Request) {
	if r.ParseForm() != nil || r.PostForm.Get("grant_type") != assertionGrant {
		refuseToken(w, "unsupported_grant_type", "Invalid grant_type: "+r.PostForm.Get("grant_type"))
		return
	}
	key, named, valid := s.verify(r.PostForm.Get("assertion"))
	standin.Identify(r, key)
	if !valid || named.Audience != s.tokenURL() || !named.hasScope() {
		refuseToken(w, "invalid_grant", "Invalid JWT Signature.")
		return
	}
	writeJSON(w, http.StatusOK, s.issue(token{key: key}))
}

// exchangeToken issues a token that impersonates for a token of the ServiceAccount.
func (s *Server) exchangeToken(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.ParseForm() != nil || r.PostForm.Get("grant_type") != exchangeGrant:
		refuseToken(w, "unsupported_grant_type", "Invalid grant_type: "+r.PostForm.Get("grant_type"))
		return
	case r.PostForm.Get("audience") != provider || r.PostForm.Get("subject_token_type") != jwtType ||
		r.PostForm.Get("requested_token_type") != accessTokenType:
		refuseToken(w, "invalid_request", "Invalid value for \"audience\" or the types of the tokens.")
		return
	}
	bearer, valid := credentials.TokenSubject(r.PostForm.Get("subject_token"), audience)
	if bearer == subject {
		standin.Identify(r, subject)
	}
	if bearer != subject || !valid || s.Credential() != subject {
		refuseToken(w, "invalid_grant", "The given credential is rejected by the attribute condition.")
		return
	}
	answer := s.issue(token{key: subject, federated: true})
	answer["issued_token_type"] = accessTokenType
	writeJSON(w, http.StatusOK, answer)
}

// impersonate issues a token of the service account for one of the exchange.
func (s *Server) impersonate(w http.ResponseWriter, r *http.Request) {
	found, valid := s.bearer(r)
	standin.Identify(r, found.key)
	var wanted struct {
		Scope []string `json:"scope"`
	}
	switch err := json.NewDecoder(http.MaxBytesReader(w, r.Body, standin.MaxBody)).Decode(&wanted); {
	case !valid || !found.federated:
		writeError(w, http.StatusUnauthorized, "Request had invalid authentication credentials.")
		return
	case r.PathValue("call") != accountEmail+":generateAccessToken":
		writeError(w, http.StatusForbidden, "Permission 'iam.serviceAccounts.getAccessToken' denied on resource.")
		return
	case err != nil || !(claims{Scope: strings.Join(wanted.Scope, " ")}).hasScope():
		writeError(w, http.StatusBadRequest, "Request contains an invalid argument.")
		return
	}
	issued := s.issue(token{key: found.key})
	writeJSON(w, http.StatusOK, object{
		"accessToken": issued["access_token"],
		"expireTime":  time.Now().Add(tokenLifetime).UTC().Format(time.RFC3339),
	})
}

// issue returns the answer with another token.
func (s *Server) issue(issued token) object {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	text := standin.NewSecret()
	issued.expires = time.Now().Add(tokenLifetime)
	s.tokens[text] = issued
	return object{"access_token": text, "token_type": "Bearer", "expires_in": int(tokenLifetime.Seconds())}
}

// claims are what an assertion says.
type claims struct {
	Issuer   string `json:"iss"`
	Subject  string `json:"sub"`
	Audience string `json:"aud"`
	Scope    string `json:"scope"`
	Issued   int64  `json:"iat"`
	Expires  int64  `json:"exp"`
}

// hasScope reports whether the claims are for the Compute Engine API.
func (c claims) hasScope() bool {
	return slices.ContainsFunc(strings.Fields(c.Scope), func(scope string) bool {
		return scope == scopePrefix+"compute" || scope == scopePrefix+"cloud-platform"
	})
}

// inTime reports whether an assertion is valid now.
func (c claims) inTime(now time.Time) bool {
	const skew = 10 * time.Second
	issued, expires := time.Unix(c.Issued, 0), time.Unix(c.Expires, 0)
	return !issued.After(now.Add(skew)) && now.Before(expires) && expires.Sub(issued) <= tokenLifetime
}

// verify returns the key that an assertion names, empty for an unknown one, and whether it is the current key and has
// signed the assertion.
func (s *Server) verify(assertion string) (key string, said claims, valid bool) {
	parts := strings.Split(assertion, ".")
	if len(parts) != 3 {
		return "", claims{}, false
	}
	var header struct {
		Algorithm string `json:"alg"`
		Key       string `json:"kid"`
	}
	if !decode(parts[0], &header) || !decode(parts[1], &said) {
		return "", claims{}, false
	}
	found, isCurrent := s.Find(func(c credentials.Credential) bool { return c.Secret != "" && c.Name == header.Key })
	if found.Name == "" {
		return "", claims{}, false
	}
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	if err != nil || header.Algorithm != "RS256" ||
		rsa.VerifyPKCS1v15(publicKey(found), crypto.SHA256, sum[:], signature) != nil {
		return "", claims{}, false
	}
	return header.Key, said, isCurrent && said.Issuer == accountEmail && said.inTime(time.Now())
}

// decode decodes a part of an assertion.
func decode(part string, into any) bool {
	content, err := base64.RawURLEncoding.DecodeString(part)
	return err == nil && json.Unmarshal(content, into) == nil
}

// bearer returns the issued token of a request, and whether it is valid.
func (s *Server) bearer(r *http.Request) (found token, valid bool) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	found = s.tokens[credentials.Bearer(r)]
	return found, found.key == s.Credential() && time.Now().Before(found.expires)
}

// authorize identifies the key of a request's token or assertion, and returns nil if it is valid.
func (s *Server) authorize(r *http.Request) *apiError {
	found, valid := s.bearer(r)
	if found.key == "" {
		var said claims
		found.key, said, valid = s.verify(credentials.Bearer(r))
		valid = valid && said.Subject == accountEmail &&
			(said.hasScope() || said.Audience == s.URLAt(computeHost, "/"))
	}
	standin.Identify(r, found.key)
	switch {
	case !valid:
		return &apiError{http.StatusUnauthorized, "Request had invalid authentication credentials. Expected OAuth 2 " +
			"access token, login cookie or other valid authentication credential."}
	case found.federated:
		return &apiError{http.StatusForbidden, "Required permission is missing for the federated identity."}
	}
	return nil
}

func refuseToken(w http.ResponseWriter, code, message string) {
	writeJSON(w, http.StatusBadRequest, object{"error": code, "error_description": message})
}
