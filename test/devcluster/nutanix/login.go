package nutanix

import (
	"encoding/json"
	"net/http"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/credentials"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/standin"
)

// cookieName is the cookie of a session.
const cookieName = "NTNX_IGW_SESSION"

// Credentials is the data of the credentials Secret.
func (s *Server) Credentials() map[string][]byte {
	user := s.Current()
	content, _ := json.Marshal([]object{{"type": "basic_auth", "data": object{ // strings are always encoded
		"prismCentral":  object{"username": user.Name, "password": user.Secret},
		"prismElements": nil,
	}}})
	return map[string][]byte{"credentials": content}
}

// authorize identifies the user of a request, by its session or by its password, and reports whether the user may ask.
// The answer to a password is a session.
func (s *Server) authorize(w http.ResponseWriter, r *http.Request) bool {
	if cookie, err := r.Cookie(cookieName); err == nil {
		return s.Authorize(r, cookie.Value)
	}
	user, password, _ := r.BasicAuth()
	known, isCurrent := s.Find(func(c credentials.Credential) bool { return c.Name == user && c.Secret == password })
	standin.Identify(r, known.Name)
	if !isCurrent {
		return false
	}
	session := standin.RandomHex()
	s.Issue(session, user, 0)
	http.SetCookie(w, &http.Cookie{Name: cookieName, Value: session, Path: "/", Secure: true, HttpOnly: true,
		SameSite: http.SameSiteStrictMode})
	return true
}
