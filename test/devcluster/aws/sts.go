package aws

import (
	"encoding/xml"
	"net/http"
	"strings"
	"time"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/credentials"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/standin"
)

const (
	// audience is whom the tokens of a ServiceAccount are for.
	audience = "sts.amazonaws.com"
	roleARN  = "arn:aws:iam::123456789012:role/openshift-cloud-controller-manager"
	// keyLifetime is the shortest that AWS gives the keys of a role.
	keyLifetime = 15 * time.Minute
)

// Federate makes a role trust the tokens of the cloud-controller-manager's ServiceAccount. The former access key is
// rejected from now on. It returns no error.
func (s *Server) Federate() error {
	s.Replace(credentials.Credential{Name: credentials.Subject})
	return nil
}

// roleCredentials is the profile that the cloud-credential-operator writes for a role. Infrastructure has the endpoint.
const roleCredentials = `[default]
sts_regional_endpoints = regional
role_arn = ` + roleARN + `
web_identity_token_file = /var/run/secrets/openshift/serviceaccount/token
`

type (
	assumeRoleResult struct {
		XMLName     xml.Name       `xml:"AssumeRoleWithWebIdentityResult"`
		Credentials temporaryKey   `xml:"Credentials"`
		Subject     string         `xml:"SubjectFromWebIdentityToken"`
		User        assumedRoleARN `xml:"AssumedRoleUser"`
	}
	temporaryKey struct {
		ID         string    `xml:"AccessKeyId"`
		Secret     string    `xml:"SecretAccessKey"`
		Token      string    `xml:"SessionToken"`
		Expiration time.Time `xml:"Expiration"`
	}
	assumedRoleARN struct {
		ARN string `xml:"Arn"`
		ID  string `xml:"AssumedRoleId"`
	}
)

// assumeRole gives the bearer of a token of the ServiceAccount the keys of the role for a while. The caller holds the
// mutex.
func (s *Server) assumeRole(p parameters) (any, *apiError) {
	subject, valid := credentials.TokenSubject(p.get("WebIdentityToken"), audience)
	if subject != credentials.Subject || !valid {
		return nil, &apiError{http.StatusBadRequest, "InvalidIdentityToken", "The token is not valid."}
	}
	if s.Credential() != credentials.Subject || p.get("RoleArn") != roleARN {
		return nil, &apiError{http.StatusForbidden, "AccessDenied", "Not authorized to perform sts:AssumeRoleWithWebIdentity"}
	}
	issued := newAccessKey(0)
	key := accessKey{id: "ASIA" + strings.TrimPrefix(issued.Name, "AKIA"), secret: issued.Secret,
		session: standin.NewSecret(), expires: time.Now().Add(keyLifetime)}
	s.temporary[key.id] = key
	return assumeRoleResult{
		Credentials: temporaryKey{ID: key.id, Secret: key.secret, Token: key.session, Expiration: key.expires.UTC()},
		Subject:     subject,
		User:        assumedRoleARN{ARN: roleARN + "/" + p.get("RoleSessionName"), ID: "AROA:" + p.get("RoleSessionName")},
	}, nil
}
