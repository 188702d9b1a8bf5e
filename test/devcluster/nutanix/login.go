package nutanix

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/standin"
)

// cookieName is the cookie of a session.
const cookieName = "NTNX_IGW_SESSION"

// login has the user and the sessions. The server's mutex guards it.
type login struct {
	// passwords are those of the users of now and of before, the current one last.
	passwords []string
	// sessions are the indices of the sessions' users.
	sessions map[string]int
}

func newLogin() login {
	return login{passwords: []string{standin.NewSecret()}, sessions: map[string]int{}}
}

// userName numbers the users from 1.
func userName(index int) string { return fmt.Sprintf("ccm-%d", index+1) }

// Credential is the name of the current user.
func (s *Server) Credential() string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return userName(len(s.passwords) - 1)
}

// Rotate replaces the user with another one that has another password. The former user is rejected from now on, in
// sessions that it has too. It returns no error.
func (s *Server) Rotate() error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.passwords = append(s.passwords, standin.NewSecret())
	return nil
}

// Credentials is the data of the credentials Secret.
func (s *Server) Credentials() map[string][]byte {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	last := len(s.passwords) - 1
	content, _ := json.Marshal([]object{{"type": "basic_auth", "data": object{ // strings are always encoded
		"prismCentral":  object{"username": userName(last), "password": s.passwords[last]},
		"prismElements": nil,
	}}})
	return map[string][]byte{"credentials": content}
}

// authorize identifies the user of a request, by its session or by its password, and reports whether the user may ask.
// The answer to a password is a session. The caller holds the mutex.
func (s *Server) authorize(w http.ResponseWriter, r *http.Request) bool {
	if cookie, err := r.Cookie(cookieName); err == nil {
		index, known := s.sessions[cookie.Value]
		if known {
			standin.Identify(r, userName(index))
		}
		return known && index == len(s.passwords)-1
	}
	user, password, _ := r.BasicAuth()
	for index, known := range s.passwords {
		if user != userName(index) || password != known {
			continue
		}
		standin.Identify(r, user)
		if index < len(s.passwords)-1 {
			return false
		}
		session := standin.RandomHex()
		s.sessions[session] = index
		http.SetCookie(w, &http.Cookie{Name: cookieName, Value: session, Path: "/", Secure: true, HttpOnly: true,
			SameSite: http.SameSiteStrictMode})
		return true
	}
	return false
}
