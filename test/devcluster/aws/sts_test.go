package aws

import (
	"encoding/base64"
	"encoding/xml"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/credentials"
)

func serviceAccountToken(subject, audience string, expires time.Time) string {
	claims := fmt.Sprintf(`{"sub": %q, "aud": [%q], "exp": %d}`, subject, audience, expires.Unix())
	return "e30." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".c2ln"
}

// assumeRole asks for the role without a signature.
func (c cloud) assumeRole(t *testing.T, role, token string) (int, temporaryKey) {
	t.Helper()
	form := url.Values{"Action": {AssumeRoleWithWebIdentity}, "Version": {"2011-06-15"}, "RoleArn": {role},
		"RoleSessionName": {"session"}, "WebIdentityToken": {token}}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.URL()+"/", strings.NewReader(form.Encode()))
	require.NoError(t, err)
	status, content := c.do(t, request)
	var answer struct {
		Result assumeRoleResult `xml:"AssumeRoleWithWebIdentityResult"`
	}
	require.NoError(t, xml.Unmarshal(content, &answer))
	return status, answer.Result.Credentials
}

func TestARoleTrustsTheServiceAccountOnceItFederates(t *testing.T) {
	c := start(t)
	later := time.Now().Add(time.Hour)
	good := serviceAccountToken(credentials.Subject, audience, later)
	former := c.accessKey()
	status, _ := c.assumeRole(t, roleARN, good)
	require.Equal(t, http.StatusForbidden, status, "the access key counts")

	require.NoError(t, c.Federate())
	require.Equal(t, credentials.Subject, c.Credential())
	require.Equal(t, map[string][]byte{"credentials": []byte(roleCredentials)}, c.Credentials())
	c.requireError(t, c.newRequest(t, former, time.Now(), DescribeInstances), http.StatusUnauthorized, "AuthFailure")

	for name, test := range map[string]struct{ role, token string }{
		"another subject":  {roleARN, serviceAccountToken("system:serviceaccount:default:default", audience, later)},
		"another audience": {roleARN, serviceAccountToken(credentials.Subject, "api", later)},
		"an expired token": {roleARN, serviceAccountToken(credentials.Subject, audience, time.Now())},
		"another role":     {roleARN + "s", good},
		"no token":         {roleARN, ""},
	} {
		t.Run(name, func(t *testing.T) {
			status, _ := c.assumeRole(t, test.role, test.token)
			require.GreaterOrEqual(t, status, http.StatusBadRequest)
		})
	}

	status, keys := c.assumeRole(t, roleARN, good)
	require.Equal(t, http.StatusOK, status)
	key := accessKey{id: keys.ID, secret: keys.Secret, session: keys.Token}
	c.requireError(t, c.newRequest(t, key, time.Now(), DescribeInstances), http.StatusUnauthorized, "AuthFailure")
	request := c.newRequest(t, key, time.Now(), DescribeInstances)
	request.Header.Set("X-Amz-Security-Token", key.session)
	status, content := c.do(t, request)
	require.Equal(t, http.StatusOK, status, string(content))
	calls := c.Calls()
	require.Equal(t, credentials.Subject, calls[len(calls)-1].Credential)
	require.NoError(t, c.Rotate())
	request = c.newRequest(t, key, time.Now(), DescribeInstances)
	request.Header.Set("X-Amz-Security-Token", key.session)
	c.requireError(t, request, http.StatusUnauthorized, "AuthFailure")
}
