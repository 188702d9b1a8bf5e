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

func TestTheOperatorsOwnSecretsAreKnownByName(t *testing.T) {
	for name, want := range map[string]bool{
		"accepted-inputs": true, "cloud-credentials": true, "cloud-credentials-12": true, "kube-token": true,
		"file-syncer-identity": true,
		"cloud-credentials-x":  false, "client-ca": false, "cloud-controller-manager-pod-12": false, "mine": false, "mine-12": false,
	} {
		require.Equal(t, want, IsOwnSecret(name), name)
	}
}
