package credentials_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/credentials"
)

// named returns the condition of a name.
func named(name string) func(credentials.Credential) bool {
	return func(c credentials.Credential) bool { return c.Name == name }
}

func TestARotatedCredentialIsKnownButNotCurrent(t *testing.T) {
	r := credentials.New(credentials.Numbered("key-%d"))
	first := r.Current()
	require.Equal(t, []any{"key-1", "key-1"}, []any{first.Name, r.Credential()})
	require.True(t, strings.HasPrefix(first.Secret, "correct-horse-"), first.Secret)
	require.NoError(t, r.Rotate())
	require.Equal(t, "key-2", r.Credential())
	require.NotEqual(t, first.Secret, r.Current().Secret)

	found, isCurrent := r.Find(named("key-1"))
	require.Equal(t, []any{first, false}, []any{found, isCurrent})
	found, isCurrent = r.Find(named("key-2"))
	require.Equal(t, []any{r.Current(), true}, []any{found, isCurrent})
	found, isCurrent = r.Find(named("key-3"))
	require.Equal(t, []any{credentials.Credential{}, false}, []any{found, isCurrent})

	r.Replace(credentials.Credential{Name: credentials.Subject})
	require.Equal(t, credentials.Credential{Name: credentials.Subject}, r.Current())
	require.NoError(t, r.Rotate())
	require.Equal(t, "key-4", r.Credential())
}

func TestWhatIsIssuedIsValidAsLongAsItsCredential(t *testing.T) {
	r := credentials.New(credentials.Numbered("key-%d"))
	r.Issue("session", "key-1", 0)
	r.Issue("token", "key-1", time.Hour)
	r.Issue("expired", "key-1", time.Nanosecond)
	requireOwner := func(token, credential string, valid bool) {
		t.Helper()
		got, isValid := r.Owner(token)
		require.Equal(t, []any{credential, valid}, []any{got, isValid})
	}
	requireOwner("session", "key-1", true)
	requireOwner("token", "key-1", true)
	requireOwner("expired", "key-1", false)
	requireOwner("another", "", false)
	require.NoError(t, r.Rotate())
	requireOwner("session", "key-1", false)
	requireOwner("token", "key-1", false)
}

func TestABearerTokenHasItsScheme(t *testing.T) {
	r := credentials.New(credentials.Numbered("key-%d"))
	r.Issue("token", "key-1", 0)
	for header, valid := range map[string]bool{"Bearer token": true, "token": false, "Basic token": false, "": false} {
		request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
		request.Header.Set("Authorization", header)
		require.Equal(t, valid, r.Authorize(request, credentials.Bearer(request)), header)
	}
}
