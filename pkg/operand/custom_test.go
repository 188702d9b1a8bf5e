package operand

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand/customccm"
)

// The tests of customccm show what becomes of an argument that names another file.
func TestWhichFilesACustomCloudControllerManagerFinds(t *testing.T) {
	const resources = "/etc/kubernetes/static-pod-resources/"
	const certs = "/etc/kubernetes/static-pod-certs/"
	in := Inputs{
		Phase:    OperatorPhase(),
		Identity: &Identity{CABundle: []byte("ca"), FileSyncerToken: []byte("token")},
		Custom:   customccm.Secrets{Reloaded: map[string][]byte{"session": nil}},
	}
	checked := &checkedInputs{}
	checked.cloud.Credentials = map[string][]byte{"key": nil}
	paths := checked.paths(in)
	require.Equal(t, []string{
		certs + "configmaps/client-ca/ca-bundle.crt",
		certs + "configmaps/requestheader-client-ca/ca-bundle.crt",
		certs + "secrets/cloud-tokens/session",
		certs + "secrets/kube-token/token",
		certs + "secrets/serving-cert/tls.crt",
		certs + "secrets/serving-cert/tls.key",
		resources + "configmaps/kubeconfigs/ca-bundle.crt",
		resources + "configmaps/kubeconfigs/cloud-controller-manager.kubeconfig",
		resources + "configmaps/kubeconfigs/file-syncer.kubeconfig",
		resources + "configmaps/trusted-ca/ca-bundle.crt",
		resources + "secrets/cloud-config/cloud.conf",
		resources + "secrets/cloud-credentials/key",
	}, paths.Files)
	require.NotContains(t, paths.Directories, resources+"secrets/file-syncer-token", "it is the file-syncer's")
	require.Contains(t, paths.Directories, resources+"secrets/cloud-credentials")
	require.Len(t, paths.Directories, len(Delivered())-1)

	bootstrap := in
	bootstrap.Phase, bootstrap.Identity = BootstrapPhase(), nil
	require.NotContains(t, checked.paths(bootstrap).Files, certs+"secrets/kube-token/token", "nothing is synced there")

	for name, change := range map[string]func(*Inputs, *checkedInputs){
		"the credentials are not known": func(in *Inputs, _ *checkedInputs) { in.Credentials.Unknown = true },
		"a Secret is missing":           func(in *Inputs, _ *checkedInputs) { in.Custom.Missing = []string{"gone"} },
		"an input is rejected": func(_ *Inputs, c *checkedInputs) {
			c.diagnostics = []diagnostic.Diagnostic{{Message: "broken"}}
		},
	} {
		t.Run("they are not known if "+name, func(t *testing.T) {
			in, checked := in, *checked
			change(&in, &checked)
			require.Empty(t, checked.paths(in).Files)
		})
	}
}

func TestTheSecretsOfSpecCustomAreTheCredentials(t *testing.T) {
	require.Equal(t, Credentials{}, CustomCredentials(customccm.Secrets{}))
	data, sources := map[string][]byte{"key": []byte("value")}, map[string]string{"key": "secret/a"}
	require.Equal(t, Credentials{Source: customccm.Object, Data: data, Sources: sources},
		CustomCredentials(customccm.Secrets{ReadOnce: data, Sources: sources}))
}
