package alibabacloud

import (
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // the only method of the RPC APIs' signatures
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/credentials"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/standin"
)

const (
	method = "HMAC-SHA1"
	// clockSkew is how far the time of a signature may be off.
	clockSkew = 15 * time.Minute
)

// newAccessKey returns an access key of a RAM user.
func newAccessKey(int) credentials.Credential {
	return credentials.Credential{Name: "LTAI" + standin.RandomHex()[:20], Secret: standin.NewSecret()}
}

// Credentials is the data of the credentials Secret.
func (s *Server) Credentials() map[string][]byte {
	key := s.Current()
	return map[string][]byte{
		"alibaba_access_key_id":     []byte(key.Name),
		"alibaba_access_key_secret": []byte(key.Secret),
	}
}

// authenticate checks the signature of a request, version 1.0, and identifies its access key. The caller holds the
// mutex.
func (s *Server) authenticate(r *http.Request, now time.Time) *apiError {
	id := r.Form.Get("AccessKeyId")
	key, isCurrent := s.Find(func(c credentials.Credential) bool { return c.Name == id })
	standin.Identify(r, key.Name)
	signed, err := time.Parse(time.RFC3339, r.Form.Get("Timestamp"))
	nonce := r.Form.Get("SignatureNonce")
	switch {
	case id == "":
		return &apiError{http.StatusBadRequest, "MissingAccessKeyId", "AccessKeyId is mandatory for this action."}
	case !isCurrent:
		return &apiError{http.StatusNotFound, "InvalidAccessKeyId.NotFound", "Specified access key is not found."}
	case r.Form.Get("SignatureMethod") != method || r.Form.Get("SignatureVersion") != "1.0":
		return invalid("SignatureMethod")
	case err != nil || signed.Sub(now).Abs() > clockSkew:
		return &apiError{http.StatusBadRequest, "InvalidTimeStamp.Expired", "Specified time stamp or date value is expired."}
	case nonce == "" || s.nonces[nonce]:
		return &apiError{http.StatusBadRequest, "SignatureNonceUsed", "Specified signature nonce was used already."}
	case !hmac.Equal([]byte(sign(key.Secret, r.Method, r.Form)), []byte(r.Form.Get("Signature"))):
		return &apiError{http.StatusBadRequest, "SignatureDoesNotMatch",
			"Specified signature is not matched with our calculation."}
	}
	s.nonces[nonce] = true
	return nil
}

// sign returns the signature of a request with these parameters, other than Signature.
func sign(secret, verb string, parameters url.Values) string {
	var pairs []string
	for name, values := range parameters {
		if name != "Signature" {
			pairs = append(pairs, escape(name)+"="+escape(values[0]))
		}
	}
	slices.Sort(pairs)
	hash := hmac.New(sha1.New, []byte(secret+"&"))
	hash.Write([]byte(verb + "&" + escape("/") + "&" + escape(strings.Join(pairs, "&"))))
	return base64.StdEncoding.EncodeToString(hash.Sum(nil))
}

// escape escapes all but the unreserved characters of RFC 3986.
func escape(text string) string { return strings.ReplaceAll(url.QueryEscape(text), "+", "%20") }
