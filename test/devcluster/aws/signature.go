package aws

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/credentials"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/standin"
)

const (
	algorithm = "AWS4-HMAC-SHA256"
	// clockSkew is how far the time of a signature may be off.
	clockSkew  = 15 * time.Minute
	timeFormat = "20060102T150405Z"
)

// authorization has the parts of the header of a signed request: the access key with the scope, the names of the signed
// headers, and the signature.
var authorization = regexp.MustCompile(`^` + algorithm + ` Credential=([^/]+)/([^,]+), ?SignedHeaders=([^,]+), ?` +
	`Signature=([0-9a-f]+)$`)

// authenticate checks the signature of a request to a service, version 4, and identifies its access key. A request that
// has no signature is identified by its token.
func (s *Server) authenticate(r *http.Request, called *service, p parameters, body []byte, now time.Time) *apiError {
	if called.unsigned {
		if subject, _ := credentials.TokenSubject(p.get("WebIdentityToken"), audience); subject == credentials.Subject {
			standin.Identify(r, subject)
		}
		return nil
	}
	parts := authorization.FindStringSubmatch(r.Header.Get("Authorization"))
	if parts == nil {
		return &apiError{http.StatusForbidden, "MissingAuthenticationToken",
			"Request is missing Authentication Token"}
	}
	key, owner, valid := s.key(parts[1])
	if owner != "" {
		standin.Identify(r, owner)
	}
	if !valid || r.Header.Get("X-Amz-Security-Token") != key.session {
		return &apiError{http.StatusUnauthorized, "AuthFailure",
			"AWS was not able to validate the provided access credentials"}
	}
	date := r.Header.Get("X-Amz-Date")
	signed, err := time.Parse(timeFormat, date)
	if err != nil || signed.Sub(now).Abs() > clockSkew {
		return &apiError{http.StatusForbidden, "RequestExpired", "Request has expired."}
	}
	scope := parts[2]
	if scope != date[:8]+"/"+region+"/"+called.name+"/aws4_request" {
		return &apiError{http.StatusForbidden, "SignatureDoesNotMatch",
			fmt.Sprintf("Credential should be scoped to a valid region, not %q.", scope)}
	}
	want := sign(key, scope, date, canonical(r, strings.Split(parts[3], ";"), body))
	if !hmac.Equal([]byte(want), []byte(parts[4])) {
		return &apiError{http.StatusForbidden, "SignatureDoesNotMatch",
			"The request signature we calculated does not match the signature you provided."}
	}
	return nil
}

// key returns the access key with an identifier, by which credential it was given, and whether that is the current one.
// An unknown key has none.
func (s *Server) key(id string) (found accessKey, owner string, valid bool) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if key, known := s.temporary[id]; known {
		return key, credentials.Subject, s.Credential() == credentials.Subject && time.Now().Before(key.expires)
	}
	key, isCurrent := s.Find(func(c credentials.Credential) bool { return c.Name == id })
	return accessKey{id: key.Name, secret: key.Secret}, key.Name, isCurrent && key.Secret != ""
}

// canonical returns the request in the form that is signed. The paths and queries of the Query API need no escaping:
// there are none.
func canonical(r *http.Request, headers []string, body []byte) string {
	var b strings.Builder
	path := r.URL.EscapedPath()
	if path == "" {
		path = "/"
	}
	fmt.Fprintf(&b, "%s\n%s\n%s\n", r.Method, path, r.URL.RawQuery)
	for _, name := range headers {
		fmt.Fprintf(&b, "%s:%s\n", name, headerValue(r, name))
	}
	fmt.Fprintf(&b, "\n%s\n%s", strings.Join(headers, ";"), digest(body))
	return b.String()
}

// headerValue returns a header that the HTTP server may have moved into fields of the request.
func headerValue(r *http.Request, name string) string {
	switch name {
	case "host":
		return r.Host
	case "content-length":
		return fmt.Sprint(r.ContentLength)
	}
	return strings.Join(strings.Fields(strings.Join(r.Header.Values(name), ",")), " ")
}

// sign returns the signature of a canonical request.
func sign(key accessKey, scope, date, request string) string {
	text := strings.Join([]string{algorithm, date, scope, digest([]byte(request))}, "\n")
	secret := []byte("AWS4" + key.secret)
	for part := range strings.SplitSeq(scope, "/") {
		secret = mac(secret, part)
	}
	return hex.EncodeToString(mac(secret, text))
}

func mac(key []byte, text string) []byte {
	hash := hmac.New(sha256.New, key)
	hash.Write([]byte(text))
	return hash.Sum(nil)
}

func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}
