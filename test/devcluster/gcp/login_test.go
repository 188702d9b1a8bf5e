package gcp

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"
)

const scope = scopePrefix + "compute"

// context returns a context with which Google's libraries use the client.
func (c running) context(t *testing.T) context.Context {
	t.Helper()
	return context.WithValue(t.Context(), oauth2.HTTPClient, c.client)
}

// keyFile returns the current credentials file.
func (c running) keyFile() []byte { return c.Credentials()["service_account.json"] }

// newToken returns a token that Google's library gets with the current key.
func (c running) newToken(t *testing.T) string {
	t.Helper()
	config, err := google.JWTConfigFromJSON(c.keyFile(), scope)
	require.NoError(t, err)
	issued, err := config.TokenSource(c.context(t)).Token()
	require.NoError(t, err)
	require.WithinDuration(t, time.Now().Add(time.Hour), issued.Expiry, time.Minute)
	return issued.AccessToken
}

// requireRejected requires that the API rejects a token.
func (c running) requireRejected(t *testing.T, token string) {
	t.Helper()
	status, answer := c.send(t, http.MethodGet, token, "zones", nil)
	requireFailure(t, status, answer, http.StatusUnauthorized, "Request had invalid authentication credentials. Expected "+
		"OAuth 2 access token, login cookie or other valid authentication credential.")
}

func TestAKeyOfTheServiceAccountGetsATokenUntilItIsRotated(t *testing.T) {
	c := start(t)
	former, file, token := c.Credential(), c.keyFile(), c.newToken(t)
	status, answer := c.send(t, http.MethodGet, token, "zones", nil)
	require.Equal(t, http.StatusOK, status, answer)
	require.NoError(t, c.Rotate())
	require.NotEqual(t, former, c.Credential())
	c.requireRejected(t, token)
	config, err := google.JWTConfigFromJSON(file, scope)
	require.NoError(t, err)
	_, err = config.TokenSource(c.context(t)).Token()
	require.EqualError(t, err, "oauth2: cannot fetch token: 400 Bad Request\nResponse: "+
		`{"error":"invalid_grant","error_description":"Invalid JWT Signature."}`)
	for _, call := range c.Calls() {
		require.Equal(t, former, call.Credential)
	}
	c.newToken(t)
	c.requireRejected(t, "")
}

func TestAnAssertionStandsForATokenUntilItsKeyIsRotated(t *testing.T) {
	c := start(t)
	for name, source := range map[string]func() (oauth2.TokenSource, error){
		"for a scope": func() (oauth2.TokenSource, error) { return google.JWTAccessTokenSourceWithScope(c.keyFile(), scope) },
		"for an audience": func() (oauth2.TokenSource, error) {
			return google.JWTAccessTokenSourceFromJSON(c.keyFile(), c.URLAt(computeHost, "/"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			tokens, err := source()
			require.NoError(t, err)
			token, err := tokens.Token()
			require.NoError(t, err)
			status, answer := c.send(t, http.MethodGet, token.AccessToken, "zones", nil)
			require.Equal(t, http.StatusOK, status, answer)
			former := c.Credential()
			require.NoError(t, c.Rotate())
			c.requireRejected(t, token.AccessToken)
			calls := c.Calls()
			require.Equal(t, former, calls[len(calls)-1].Credential)
		})
	}
}

// header is the header of an assertion.
type header struct {
	Algorithm string `json:"alg"`
	Key       string `json:"kid"`
}

// sign returns an assertion that is valid but for what change does to it.
func (c running) sign(t *testing.T, key *rsa.PrivateKey, change func(h *header, said *claims)) string {
	t.Helper()
	of := &header{Algorithm: "RS256", Key: c.Credential()}
	said := &claims{Issuer: accountEmail, Subject: accountEmail, Audience: c.tokenURL(), Scope: scope,
		Issued: time.Now().Unix(), Expires: time.Now().Add(time.Hour).Unix()}
	change(of, said)
	var parts []string
	for _, part := range []any{of, said} {
		content, err := json.Marshal(part)
		require.NoError(t, err)
		parts = append(parts, base64.RawURLEncoding.EncodeToString(content))
	}
	sum := sha256.Sum256([]byte(strings.Join(parts, ".")))
	signature, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
	require.NoError(t, err)
	return strings.Join(append(parts, base64.RawURLEncoding.EncodeToString(signature)), ".")
}

func TestOnlyAWholeAssertionIsAccepted(t *testing.T) {
	c := start(t)
	var file struct {
		PrivateKey string `json:"private_key"`
	}
	require.NoError(t, json.Unmarshal(c.keyFile(), &file))
	block, _ := pem.Decode([]byte(file.PrivateKey))
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	require.NoError(t, err)
	own := parsed.(*rsa.PrivateKey)
	other, err := rsa.GenerateKey(rand.Reader, keyBits)
	require.NoError(t, err)

	post := func(grant, assertion string) (int, object) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.tokenURL(),
			strings.NewReader(url.Values{"grant_type": {grant}, "assertion": {assertion}}.Encode()))
		require.NoError(t, err)
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		return c.do(t, request)
	}
	valid := c.sign(t, own, func(*header, *claims) {})
	status, answer := post(assertionGrant, valid)
	require.Equal(t, http.StatusOK, status, answer)
	status, answer = post("password", valid)
	require.Equal(t, http.StatusBadRequest, status)
	require.Equal(t, object{"error": "unsupported_grant_type", "error_description": "Invalid grant_type: password"}, answer)
	for name, assertion := range map[string]string{
		"another key's":         c.sign(t, other, func(*header, *claims) {}),
		"of an unknown key":     c.sign(t, own, func(h *header, _ *claims) { h.Key = "key-0" }),
		"of another algorithm":  c.sign(t, own, func(h *header, _ *claims) { h.Algorithm = "none" }),
		"of another account":    c.sign(t, own, func(_ *header, s *claims) { s.Issuer = "other@example.com" }),
		"for another audience":  c.sign(t, own, func(_ *header, s *claims) { s.Audience = "https://example.com/token" }),
		"for another scope":     c.sign(t, own, func(_ *header, s *claims) { s.Scope = scopePrefix + "drive" }),
		"that has expired":      c.sign(t, own, func(_ *header, s *claims) { s.Issued -= 3601; s.Expires -= 3601 }),
		"that is for too long":  c.sign(t, own, func(_ *header, s *claims) { s.Expires++ }),
		"of the future":         c.sign(t, own, func(_ *header, s *claims) { s.Issued += 60; s.Expires += 60 }),
		"that is cut":           strings.TrimSuffix(valid, valid[strings.LastIndex(valid, "."):]),
		"without the signature": valid[:strings.LastIndex(valid, ".")+1],
		"that is none":          "a.b.c",
	} {
		t.Run(name, func(t *testing.T) {
			status, answer := post(assertionGrant, assertion)
			require.Equal(t, http.StatusBadRequest, status)
			require.Equal(t, object{"error": "invalid_grant", "error_description": "Invalid JWT Signature."}, answer)
		})
	}
}

// federated returns Google's library with the current credentials file and a token of the subject.
func (c running) federated(t *testing.T, bearer string) oauth2.TokenSource {
	t.Helper()
	claims, err := json.Marshal(object{"sub": bearer, "aud": []string{audience}, "exp": time.Now().Add(time.Hour).Unix()})
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(path, []byte("e30."+base64.RawURLEncoding.EncodeToString(claims)+".x"), 0o600))
	var file object
	require.NoError(t, json.Unmarshal(c.keyFile(), &file))
	file["credential_source"].(object)["file"] = path
	content, err := json.Marshal(file)
	require.NoError(t, err)
	credentials, err := google.CredentialsFromJSONWithType(c.context(t), content, google.ExternalAccount, scope)
	require.NoError(t, err)
	return credentials.TokenSource
}

func TestATokenOfTheServiceAccountImpersonatesOnceItIsTrusted(t *testing.T) {
	c := start(t)
	former := c.newToken(t)
	require.NoError(t, c.Federate())
	require.Equal(t, subject, c.Credential())
	c.requireRejected(t, former)
	token, err := c.federated(t, subject).Token()
	require.NoError(t, err)
	status, answer := c.send(t, http.MethodGet, token.AccessToken, "zones", nil)
	require.Equal(t, http.StatusOK, status, answer)
	require.Equal(t, map[string]int{GetToken: 1, ListZones: 2, ExchangeToken: 1, Impersonate: 1}, c.Requests())
	for _, call := range c.Calls()[2:] {
		require.Equal(t, subject, call.Credential)
	}

	_, err = c.federated(t, "system:serviceaccount:default:default").Token()
	require.ErrorContains(t, err, `"error":"invalid_grant"`)
	impersonating := c.federated(t, subject)
	require.NoError(t, c.Rotate())
	_, err = impersonating.Token()
	require.ErrorContains(t, err, `"error":"invalid_grant"`)
	c.requireRejected(t, token.AccessToken)
}

func TestAnExchangedTokenOnlyImpersonates(t *testing.T) {
	c := start(t)
	require.NoError(t, c.Federate())
	exchanged := text(c.issue(token{key: subject, federated: true}), "access_token")
	status, answer := c.send(t, http.MethodGet, exchanged, "zones", nil)
	requireFailure(t, status, answer, http.StatusForbidden, "Required permission is missing for the federated identity.")
	for name, test := range map[string]struct {
		token, account, body, message string
		status                        int
	}{
		"another account": {exchanged, "other@example.com", `{"scope":["` + scope + `"]}`,
			"Permission 'iam.serviceAccounts.getAccessToken' denied on resource.", http.StatusForbidden},
		"no scope":      {exchanged, accountEmail, `{}`, "Request contains an invalid argument.", http.StatusBadRequest},
		"another token": {"other", accountEmail, `{}`, "Request had invalid authentication credentials.", http.StatusUnauthorized},
	} {
		t.Run(name, func(t *testing.T) {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.URLAt(credentialsHost,
				"/v1/projects/-/serviceAccounts/"+test.account+":generateAccessToken"), strings.NewReader(test.body))
			require.NoError(t, err)
			request.Header.Set("Authorization", "Bearer "+test.token)
			status, answer := c.do(t, request)
			requireFailure(t, status, answer, test.status, test.message)
		})
	}
}
