package ibm

import (
	"net/http"
	"time"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/credentials"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/standin"
)

// tokenLifetime is how long IAM says that a token is valid.
const tokenLifetime = time.Hour

// Credentials is the data of the credentials Secret, as the cloud-credential-operator's tool writes it.
func (s *Server) Credentials() map[string][]byte {
	key := s.Current().Secret
	return map[string][]byte{
		"ibmcloud_api_key":    []byte(key),
		"ibm-credentials.env": []byte("IBMCLOUD_AUTHTYPE=iam\nIBMCLOUD_APIKEY=" + key + "\n"),
	}
}

// issueToken is IAM's answer to an API key.
func (s *Server) issueToken(w http.ResponseWriter, r *http.Request) {
	if grant := r.PostFormValue("grant_type"); grant != "urn:ibm:params:oauth:grant-type:apikey" {
		refuseToken(w, http.StatusBadRequest, "BXNIM0107E", "The grant type is not supported.")
		return
	}
	key, isCurrent := s.Find(func(c credentials.Credential) bool { return c.Secret == r.PostFormValue("apikey") })
	standin.Identify(r, key.Name)
	if !isCurrent {
		refuseToken(w, http.StatusBadRequest, "BXNIM0415E", "Provided API key could not be found.")
		return
	}
	token := standin.NewSecret()
	s.Issue(token, key.Name, 0)
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
