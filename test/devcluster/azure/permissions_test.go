package azure

import (
	"net/http"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/permissions"
)

func TestTheStandInServesTheRequestsInTheListOfPermissions(t *testing.T) {
	document, err := os.ReadFile("../../../docs/azure-permissions.md")
	require.NoError(t, err)
	listed := permissions.Read(document)
	require.Contains(t, listed, "Microsoft.Compute/virtualMachines/read")
	c := start(t, Options{})
	for permission, requests := range listed {
		for _, request := range requests {
			require.NoError(t, c.Fail(request, http.StatusServiceUnavailable), permission)
			require.False(t, NeedsNoPermission(request), permission)
		}
	}
}
