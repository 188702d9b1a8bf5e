package credentials

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/standin"
)

// Credential is what a client logs in with.
type Credential struct {
	// Name is no secret: the record of calls has it.
	Name string
	// Secret is empty for a credential that stands for the tokens of the ServiceAccount.
	Secret string
}

// Rotation has the credentials of a cloud's one user: the current one, which alone is valid, and those before it, which
// are known so that the record of calls has them.
type Rotation struct {
	next func(number int) Credential

	mutex sync.Mutex
	// all are in their order, the current one last.
	all    []Credential
	issued map[string]issue
}

// issue is a token or a session.
type issue struct {
	credential string
	// expires is zero for what is as long valid as its credential.
	expires time.Time
}

// New returns a Rotation with its first credential. Next returns the credential with a number, from 1.
func New(next func(number int) Credential) *Rotation {
	return &Rotation{next: next, all: []Credential{next(1)}, issued: map[string]issue{}}
}

// Numbered returns credentials with a random secret, whose names have their number in the format.
func Numbered(format string) func(number int) Credential {
	return func(number int) Credential {
		return Credential{Name: fmt.Sprintf(format, number), Secret: standin.NewSecret()}
	}
}

// Current returns the current credential.
func (r *Rotation) Current() Credential {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.current()
}

func (r *Rotation) current() Credential { return r.all[len(r.all)-1] }

// Credential returns the name of the current credential, as the record of calls has it.
func (r *Rotation) Credential() string { return r.Current().Name }

// Rotate replaces the credential with the next one. The former one, and what was issued for it, is rejected from now
// on. It returns no error.
func (r *Rotation) Rotate() error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.all = append(r.all, r.next(len(r.all)+1))
	return nil
}

// Replace replaces the credential with a given one, as Rotate does.
func (r *Rotation) Replace(with Credential) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.all = append(r.all, with)
}

// Find returns the first credential for which a condition holds, without a name if there is none, and whether it is the
// current one.
func (r *Rotation) Find(holds func(Credential) bool) (found Credential, current bool) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	i := slices.IndexFunc(r.all, holds)
	if i < 0 {
		return Credential{}, false
	}
	return r.all[i], i == len(r.all)-1
}

// Issue makes a token or a session valid for a lifetime, or with 0 as long as the credential that has the name.
func (r *Rotation) Issue(token, credential string, lifetime time.Duration) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	issued := issue{credential: credential}
	if lifetime > 0 {
		issued.expires = time.Now().Add(lifetime)
	}
	r.issued[token] = issued
}

// Owner returns the name of the credential that a token or a session was issued for, empty for an unknown one, and
// whether it is valid.
func (r *Rotation) Owner(token string) (credential string, valid bool) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	issued, known := r.issued[token]
	return issued.credential, known && issued.credential == r.current().Name &&
		(issued.expires.IsZero() || time.Now().Before(issued.expires))
}

// Authorize records the credential that the token or the session of a request was issued for, and reports whether the
// token is valid.
func (r *Rotation) Authorize(request *http.Request, token string) bool {
	credential, valid := r.Owner(token)
	standin.Identify(request, credential)
	return valid
}

// Bearer returns the bearer token of a request, empty without one.
func Bearer(r *http.Request) string {
	token, isBearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !isBearer {
		return ""
	}
	return token
}
