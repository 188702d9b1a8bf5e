package operand

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheOperatorsOwnConfigMapsAreKnownByName(t *testing.T) {
	for name, want := range map[string]bool{
		"cloud-controller-manager-pod": true, "cloud-controller-manager-pod-12": true, "client-ca": true, "revision-status-3": true,
		"kube-root-ca.crt": false, "revision-status": false, "revision-status-x": false, "cloud-conf": false, "cloud-credentials": false,
	} {
		require.Equal(t, want, IsOwnConfigMap(name), name)
	}
}
