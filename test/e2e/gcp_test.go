package e2e

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/gcp"
)

// testPermissions compares the calls of the story with the permissions that the CredentialsRequest for Google Cloud
// requests: every call needs some of them, and an unserved call is none of them.
func (s *cloudStory) testPermissions(t *testing.T) {
	document, err := os.ReadFile(filepath.Join(s.Repository(), "docs", "gcp-permissions.md"))
	require.NoError(t, err)
	permissions, called := gcp.Permissions(document), map[string]bool{}
	for _, call := range s.cloud.Calls() {
		if gcp.NeedsPermission(call.Endpoint) {
			require.Contains(t, permissions, call.Endpoint, "%+v", call)
			called[call.Endpoint] = true
		}
	}
	needed, all := map[string]bool{}, map[string]bool{}
	for method, of := range permissions {
		for _, permission := range of {
			all[permission] = true
			needed[permission] = needed[permission] || called[method]
		}
	}
	var unused []string
	for _, permission := range slices.Sorted(maps.Keys(all)) {
		if !needed[permission] {
			unused = append(unused, strings.TrimPrefix(permission, "compute."))
		}
	}
	s.figure("methods called: %d, permissions: %d, without a call: %s", len(called), len(all), strings.Join(unused, ", "))
}
