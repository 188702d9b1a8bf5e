package digitalocean

import (
	"fmt"
	"net/http"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/credentials"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/seed"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/standin"
)

// newToken returns a personal access token, which has a prefix.
func newToken(number int) credentials.Credential {
	return credentials.Credential{Name: fmt.Sprintf("token-%d", number), Secret: "dop_v1_" + standin.NewSecret()}
}

// Credentials is the data of the credentials Secret. Because of the region, the cloud-controller-manager asks the API
// for regions when it starts, instead of its droplet for metadata.
func (s *Server) Credentials() map[string][]byte {
	return map[string][]byte{
		"access-token":   []byte(s.Current().Secret),
		"region":         []byte(regions[0].Slug),
		"cluster-id":     []byte(seed.InfrastructureName),
		"cluster-vpc-id": []byte(vpcID),
	}
}

// authorize identifies the token of a request, and reports whether it is valid.
func (s *Server) authorize(r *http.Request) bool {
	token, valid := s.Find(func(c credentials.Credential) bool { return c.Secret == credentials.Bearer(r) })
	standin.Identify(r, token.Name)
	return valid
}
