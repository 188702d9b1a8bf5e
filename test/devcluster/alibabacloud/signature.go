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

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/standin"
)

const (
	method = "HMAC-SHA1"
	// clockSkew is how far the time of a signature may be off.
	clockSkew = 15 * time.Minute
)

// accessKey is an access key of a RAM user.
type accessKey struct{ id, secret string }

func newAccessKey() accessKey {
	return accessKey{id: "LTAI" + standin.RandomHex()[:20], secret: standin.NewSecret()}
}

// login has the access keys of now and of before, the current one last, and the nonces of the signatures so far.
type login struct {
	keys   []accessKey
	nonces map[string]bool
}

func newLogin() login { return login{keys: []accessKey{newAccessKey()}, nonces: map[string]bool{}} }

// current returns the access key of now. The caller holds the mutex.
func (l *login) current() accessKey { return l.keys[len(l.keys)-1] }

// Credential is the identifier of the current access key.
func (s *Server) Credential() string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.current().id
}

// Rotate replaces the access key. The former one is deleted. It returns no error.
func (s *Server) Rotate() error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.keys = append(s.keys, newAccessKey())
	return nil
}

// Credentials is the data of the credentials Secret.
func (s *Server) Credentials() map[string][]byte {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return map[string][]byte{
		"alibaba_access_key_id":     []byte(s.current().id),
		"alibaba_access_key_secret": []byte(s.current().secret),
	}
}

// authenticate checks the signature of a request, version 1.0, and identifies its access key. The caller holds the
// mutex.
func (l *login) authenticate(r *http.Request, now time.Time) *apiError {
	id := r.Form.Get("AccessKeyId")
	index := slices.IndexFunc(l.keys, func(k accessKey) bool { return k.id == id })
	if index >= 0 {
		standin.Identify(r, id)
	}
	signed, err := time.Parse(time.RFC3339, r.Form.Get("Timestamp"))
	nonce := r.Form.Get("SignatureNonce")
	switch {
	case id == "":
		return &apiError{http.StatusBadRequest, "MissingAccessKeyId", "AccessKeyId is mandatory for this action."}
	case index != len(l.keys)-1:
		return &apiError{http.StatusNotFound, "InvalidAccessKeyId.NotFound", "Specified access key is not found."}
	case r.Form.Get("SignatureMethod") != method || r.Form.Get("SignatureVersion") != "1.0":
		return invalid("SignatureMethod")
	case err != nil || signed.Sub(now).Abs() > clockSkew:
		return &apiError{http.StatusBadRequest, "InvalidTimeStamp.Expired", "Specified time stamp or date value is expired."}
	case nonce == "" || l.nonces[nonce]:
		return &apiError{http.StatusBadRequest, "SignatureNonceUsed", "Specified signature nonce was used already."}
	case !hmac.Equal([]byte(sign(l.keys[index], r.Method, r.Form)), []byte(r.Form.Get("Signature"))):
		return &apiError{http.StatusBadRequest, "SignatureDoesNotMatch",
			"Specified signature is not matched with our calculation."}
	}
	l.nonces[nonce] = true
	return nil
}

// sign returns the signature of a request with these parameters, other than Signature.
func sign(key accessKey, verb string, parameters url.Values) string {
	var pairs []string
	for name, values := range parameters {
		if name != "Signature" {
			pairs = append(pairs, escape(name)+"="+escape(values[0]))
		}
	}
	slices.Sort(pairs)
	hash := hmac.New(sha1.New, []byte(key.secret+"&"))
	hash.Write([]byte(verb + "&" + escape("/") + "&" + escape(strings.Join(pairs, "&"))))
	return base64.StdEncoding.EncodeToString(hash.Sum(nil))
}

// escape escapes all but the unreserved characters of RFC 3986.
func escape(text string) string { return strings.ReplaceAll(url.QueryEscape(text), "+", "%20") }
