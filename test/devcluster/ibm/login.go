package ibm

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/standin"
)

// tokenLifetime is how long IAM says that a token is valid.
const tokenLifetime = time.Hour

// login has the API keys and the tokens. The server's mutex guards it.
type login struct {
	// keys are the API keys of now and of before, the current one last.
	keys []string
	// tokens are the indices of the tokens' keys.
	tokens map[string]int
}

func newLogin() login { return login{keys: []string{standin.NewSecret()}, tokens: map[string]int{}} }

// keyName numbers the API keys from 1.
func keyName(index int) string { return fmt.Sprintf("key-%d", index+1) }

// Credential is the name of the current API key in the record of calls.
func (s *Server) Credential() string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return keyName(len(s.keys) - 1)
}

// Rotate replaces the API key. The former one is rejected from now on, and so are its tokens. It returns no error.
func (s *Server) Rotate() error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.keys = append(s.keys, standin.NewSecret())
	return nil
}

// Credentials is the data of the credentials Secret, as the cloud-credential-operator's tool writes it.
func (s *Server) Credentials() map[string][]byte {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	key := s.keys[len(s.keys)-1]
	return map[string][]byte{
		"ibmcloud_api_key":    []byte(key),
		"ibm-credentials.env": []byte("IBMCLOUD_AUTHTYPE=iam\nIBMCLOUD_APIKEY=" + key + "\n"),
	}
}

// issueToken is IAM's answer to an API key.
func (s *Server) issueToken(w http.ResponseWriter, r *http.Request) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if grant := r.PostFormValue("grant_type"); grant != "urn:ibm:params:oauth:grant-type:apikey" {
		refuseToken(w, http.StatusBadRequest, "BXNIM0107E", "The grant type is not supported.")
		return
	}
	index := slices.Index(s.keys, r.PostFormValue("apikey"))
	if index >= 0 {
		standin.Identify(r, keyName(index))
	}
	if index != len(s.keys)-1 {
		refuseToken(w, http.StatusBadRequest, "BXNIM0415E", "Provided API key could not be found.")
		return
	}
	token := standin.NewSecret()
	s.tokens[token] = index
	writeJSON(w, http.StatusOK, object{
		"access_token": token, "refresh_token": "not_supported", "token_type": "Bearer", "scope": "ibm openid",
		"expires_in": int(tokenLifetime.Seconds()), "expiration": time.Now().Add(tokenLifetime).Unix(),
	})
}

// failToken is IAM's answer to a request that Fail makes fail.
func failToken(w http.ResponseWriter, status int) {
	refuseToken(w, status, "BXNIM0500E", http.StatusText(status))
}

// refuseToken writes an error in the form of IAM.
func refuseToken(w http.ResponseWriter, status int, code, message string) {
	writeJSON(w, status, object{"errorCode": code, "errorMessage": message, "context": object{
		"requestId": standin.RandomHex(), "requestType": "incoming.Identity_Token",
	}})
}

// authorize identifies the API key of a request's token, and reports whether the token is valid. The caller holds the
// mutex.
func (s *Server) authorize(r *http.Request) bool {
	token, isBearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	index, known := s.tokens[token]
	if !isBearer || !known {
		return false
	}
	standin.Identify(r, keyName(index))
	return index == len(s.keys)-1
}
