package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAWrongCallSaysWhatIsMissing(t *testing.T) {
	directory := t.TempDir()
	empty := filepath.Join(directory, "kubeconfig")
	require.NoError(t, os.WriteFile(empty, []byte("apiVersion: v1\nkind: Config\n"), 0o600))
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"no flags":            {nil, "these are required: --directory, --kubeconfig, --manifest, --revision-directory"},
		"no directory":        {[]string{"--kubeconfig=" + empty}, "these are required: --directory"},
		"no such kubeconfig":  {[]string{"--kubeconfig=/missing", "--directory=" + directory}, "reading the kubeconfig: stat /missing: no such file or directory"},
		"an empty kubeconfig": {[]string{"--kubeconfig=" + empty, "--directory=" + directory}, "reading the kubeconfig: invalid configuration: no configuration has been provided, try setting KUBERNETES_MASTER environment variable"},
		"an unknown flag":     {[]string{"--namespaces=x"}, "unknown flag: --namespaces"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("POD_NAME", "cloud-controller-manager-master-0")
			t.Setenv("POD_NAMESPACE", "openshift-cloud-controller-manager")
			t.Setenv("NODE_NAME", "master-0")
			args := append(tc.args, "--manifest=/m", "--revision-directory=/r")
			if tc.args == nil {
				args = nil
			}
			require.EqualError(t, run(args), tc.want)
		})
	}
	require.EqualError(t, run([]string{"--kubeconfig=" + empty, "--directory=" + directory}),
		"these are required: the environment variables NODE_NAME, POD_NAME and POD_NAMESPACE")
}
