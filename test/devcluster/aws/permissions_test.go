package aws

import (
	"net/http"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/permissions"
)

func TestTheStandInServesTheActionsInTheListOfPermissions(t *testing.T) {
	document, err := os.ReadFile("../../../docs/aws-permissions.md")
	require.NoError(t, err)
	listed := permissions.Read(document)
	require.Contains(t, listed, "ec2:DescribeInstances")
	c := start(t)
	for permission, actions := range listed {
		for _, action := range actions {
			require.NoError(t, c.Fail(action, http.StatusServiceUnavailable), permission)
			require.False(t, NeedsNoPermission(action), permission)
		}
	}
}
