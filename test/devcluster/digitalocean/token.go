package digitalocean

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/seed"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/standin"
)

// newToken returns a personal access token, which has a prefix.
func newToken() string { return "dop_v1_" + standin.NewSecret() }

// tokenName numbers the tokens from 1.
func tokenName(index int) string { return fmt.Sprintf("token-%d", index+1) }

// Credential is the name of the current token in the record of calls.
func (s *Server) Credential() string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return tokenName(len(s.tokens) - 1)
}

// Rotate replaces the token. The former one is rejected from now on. It returns no error.
func (s *Server) Rotate() error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.tokens = append(s.tokens, newToken())
	return nil
}

// Credentials is the data of the credentials Secret. Because of the region, the cloud-controller-manager asks the API
// for regions when it starts, instead of its droplet for metadata.
func (s *Server) Credentials() map[string][]byte {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return map[string][]byte{
		"access-token":   []byte(s.tokens[len(s.tokens)-1]),
		"region":         []byte(regions[0].Slug),
		"cluster-id":     []byte(seed.InfrastructureName),
		"cluster-vpc-id": []byte(vpcID),
	}
}

// authorize identifies the token of a request, and reports whether it is valid. The caller holds the mutex.
func (s *Server) authorize(r *http.Request) bool {
	token, isBearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	index := slices.Index(s.tokens, token)
	if !isBearer || index < 0 {
		return false
	}
	standin.Identify(r, tokenName(index))
	return index == len(s.tokens)-1
}
