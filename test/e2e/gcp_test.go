package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/gcp"
)

// testPermissions compares the calls of the story with the permissions that the CredentialsRequest for Google Cloud
// requests. Each call needs some of them.
func (s *cloudStory) testPermissions(t *testing.T) {
	document, err := os.ReadFile(filepath.Join(s.Repository(), "docs", "gcp-permissions.md"))
	require.NoError(t, err)
	compared := gcp.Compare(document, s.cloud.Calls())
	require.Empty(t, compared.Unlisted, "calls without a permission: add their rows and permissions")
	s.figure("methods called: %d, permissions: %d, without a call: %s", len(compared.Methods), len(compared.Permissions),
		strings.ReplaceAll(strings.Join(compared.Unneeded, ", "), "compute.", ""))
}
