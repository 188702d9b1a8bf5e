package permissions

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/standin"
)

func TestCallsAreComparedWithThePermissionsOfADocument(t *testing.T) {
	document := []byte("# Permissions\n\n| permission | call | caller | for |\n|---|---|---|---|\n" +
		"| `compute.instances.get` | `instances.get` | Caller | all |\n" +
		"| `compute.instances.use` | `a.b`, `c.d` | Caller | all |\n" +
		"| `compute.routes.list` | – | ListRoutes | what the story lacks |\n" +
		"| `compute.zones.list` | `zones.list` | Caller | all |\n" +
		"| a row of another table | 1 |\n")
	var calls []standin.Call
	for _, endpoint := range []string{"login", "c.d", "instances.get", "instances.get", "routes.insert", standin.Unserved} {
		calls = append(calls, standin.Call{Endpoint: endpoint})
	}
	free := func(endpoint string) bool { return endpoint == "login" }
	require.Equal(t, Comparison{
		Calls:    []string{"c.d", "instances.get"},
		Needed:   []string{"compute.instances.get", "compute.instances.use"},
		Untold:   []string{"compute.routes.list"},
		Unlisted: []string{"/", "routes.insert"},
		Unneeded: []string{"compute.zones.list"},
	}, Compare(document, calls, free))
}
