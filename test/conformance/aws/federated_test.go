package aws

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	standin "github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/aws"
)

// The token is in the file that the rewritten profile names, as on a node.
func TestTheProviderLogsInWithATokenOfTheServiceAccount(t *testing.T) {
	cloud, err := standin.Start(t.Context(), standin.Options{Listen: "127.0.0.1:0"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, cloud.Close()) })
	require.NoError(t, cloud.SetInstances([]standin.Instance{{Name: "a", Addresses: []string{"10.0.0.10"}}}))
	require.NoError(t, cloud.Federate())

	tokens := t.TempDir()
	result := rewrite(t, cloud, tokens)
	require.Len(t, result.Tokens, 1)
	claims := fmt.Sprintf(`{"sub": %q, "aud": [%q], "exp": %d}`, cloud.Credential(), result.Tokens[0].Audience,
		time.Now().Add(time.Hour).Unix())
	token := "e30." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".c2ln"
	require.NoError(t, os.WriteFile(filepath.Join(tokens, result.Tokens[0].Key), []byte(token), 0o600))

	metadata, err := startInstances(t, cloud, tokens).InstanceMetadata(t.Context(), node(cloud, "a"))
	require.NoError(t, err)
	require.Equal(t, cloud.ProviderID("a"), metadata.ProviderID)
	for _, call := range cloud.Calls() {
		require.Equal(t, cloud.Credential(), call.Credential, "%+v", call)
	}
}
