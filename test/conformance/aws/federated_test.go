package aws

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	awscloud "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds/aws"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	standin "github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/aws"
)

// The token is in the file that the rewritten profile names, as on a node.
func TestTheProviderLogsInWithATokenOfTheServiceAccount(t *testing.T) {
	cloud, err := standin.Start(t.Context(), standin.Options{Listen: "127.0.0.1:0"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, cloud.Close()) })
	require.NoError(t, cloud.SetInstances([]standin.Instance{{Name: "a", Addresses: []string{"10.0.0.10"}}}))
	require.NoError(t, cloud.Federate())

	installed, tokens := cloud.Installation(), t.TempDir()
	src := clouds.Source{
		Config: []byte(installed.CloudConfig["config"]), Credentials: installed.Credentials,
		Paths: clouds.Paths{Credentials: "/credentials", Tokens: tokens},
	}
	src.Cluster.Status = installed.Status
	result := awscloud.Rewrite(src)
	require.Empty(t, result.Errors(diagnostic.Strict))
	require.Len(t, result.Tokens, 1)
	claims := fmt.Sprintf(`{"sub": %q, "aud": [%q], "exp": %d}`, cloud.Credential(), result.Tokens[0].Audience,
		time.Now().Add(time.Hour).Unix())
	token := "e30." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".c2ln"
	require.NoError(t, os.WriteFile(filepath.Join(tokens, result.Tokens[0].Key), []byte(token), 0o600))
	setFiles(t, cloud, result.Credentials["credentials"])

	provider, err := cloudprovider.GetCloudProvider("aws", bytes.NewReader(result.Config))
	require.NoError(t, err)
	instances, has := provider.InstancesV2()
	require.True(t, has)
	metadata, err := instances.InstanceMetadata(t.Context(), node(cloud, "a"))
	require.NoError(t, err)
	require.Equal(t, cloud.ProviderID("a"), metadata.ProviderID)
	for _, call := range cloud.Calls() {
		require.Equal(t, cloud.Credential(), call.Credential, "%+v", call)
	}
}
