package operator

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTheAddressOfTheAPIServer(t *testing.T) {
	for name, tc := range map[string]struct {
		content            string
		wantHost, wantPort string
		wantErr            string
	}{
		"as it is on a node": {
			content:  "KUBERNETES_SERVICE_HOST='api-int.ci.example.com'\nKUBERNETES_SERVICE_PORT='6443'\n",
			wantHost: "api-int.ci.example.com", wantPort: "6443",
		},
		"with comments, other variables, other quotes or none": {
			content:  "# written elsewhere\n\nOTHER=x=y\nKUBERNETES_SERVICE_HOST=\"fd00::1\"\n KUBERNETES_SERVICE_PORT = 443 \n",
			wantHost: "fd00::1", wantPort: "443",
		},
		"without a port": {
			content: "KUBERNETES_SERVICE_HOST='api-int'\n",
			wantErr: "FILE does not set KUBERNETES_SERVICE_PORT; check the machine-config-operator, which writes the file",
		},
		"empty": {
			wantErr: "FILE does not set KUBERNETES_SERVICE_HOST; check the machine-config-operator, which writes the file",
		},
		"something else": {
			content: "KUBERNETES_SERVICE_HOST='api-int'\nexport\n",
			wantErr: "FILE does not set KUBERNETES_SERVICE_PORT; check the machine-config-operator, which writes the file",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("KUBERNETES_SERVICE_HOST", "10.96.0.1")
			t.Setenv("KUBERNETES_SERVICE_PORT", "443")
			file := filepath.Join(t.TempDir(), "apiserver-url.env")
			require.NoError(t, os.WriteFile(file, []byte(tc.content), 0o600))
			err := useAPIServerURL(file)
			if tc.wantErr != "" {
				require.EqualError(t, err, file+tc.wantErr[len("FILE"):])
				return
			}
			require.NoError(t, err)
			require.Equal(t, tc.wantHost, os.Getenv("KUBERNETES_SERVICE_HOST"))
			require.Equal(t, tc.wantPort, os.Getenv("KUBERNETES_SERVICE_PORT"))
		})
	}
}

func TestWithoutTheFileTheServiceNetworkServes(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "10.96.0.1")
	require.NoError(t, useAPIServerURL(filepath.Join(t.TempDir(), "apiserver-url.env")))
	require.Equal(t, "10.96.0.1", os.Getenv("KUBERNETES_SERVICE_HOST"))
}

func TestAKubeconfigThatIsAPipeIsRejected(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, syscall.Mkfifo(file, 0o600))
	require.EqualError(t, awaitAPIServer(t.Context(), file, time.Second),
		"reading --kubeconfig: read "+file+": it is a named pipe; give a regular file")
}
