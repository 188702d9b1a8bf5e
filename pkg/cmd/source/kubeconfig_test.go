package source_test

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/cmd/source"
)

const good = `apiVersion: v1
kind: Config
current-context: admin
contexts:
- name: admin
  context: {cluster: c, user: u}
- name: broken
  context: {cluster: x, user: u}
- name: nobody
  context: {cluster: c, user: x}
- name: serverless
  context: {cluster: s, user: u}
clusters:
- name: c
  cluster: {server: "https://api.example.com:6443"}
- name: s
  cluster: {}
users:
- name: u
  user: {token: a}
`

// configOf returns the error about a kubeconfig with the text, in a directory of its own.
func configOf(t *testing.T, text string, flags ...string) error {
	t.Helper()
	t.Chdir(t.TempDir())
	t.Setenv("HOME", t.TempDir())
	if text != "" {
		require.NoError(t, os.WriteFile("file", []byte(text), 0o600))
	}
	from, cmd := &source.Source{}, &cobra.Command{}
	from.AddFlags(cmd)
	require.NoError(t, cmd.ParseFlags(flags))
	_, err := from.Config()
	return err
}

// The words are those of client-go, which oc and kubectl print too.
func TestAWrongKubeconfigIsNamedWithItsFile(t *testing.T) {
	const file = "--kubeconfig=file"
	for name, tc := range map[string]struct{ text, flag, want string }{
		"a missing one": {"", "", "kubeconfig file: stat file: no such file or directory"},
		"no YAML": {
			"kind: Config\nclusters: [\n", "",
			"kubeconfig file: error loading config file \"file\": yaml: line 2: did not find expected node content",
		},
		"another object": {
			"kind: ConfigMap\napiVersion: v1\n", "",
			"kubeconfig file: error loading config file \"file\": no kind \"ConfigMap\" is registered for version \"v1\" in scheme \"pkg/runtime/scheme.go:111\"",
		},
		"a wrong type": {
			"apiVersion: v1\nkind: Config\nclusters: {}\n", "",
			"kubeconfig file: error loading config file \"file\": json: cannot unmarshal object into Go struct field Config.clusters of type []v1.NamedCluster",
		},
		"a context that is missing": {
			good, "--context=other",
			"kubeconfig file: context \"other\" does not exist",
		},
		"a cluster that is missing": {
			good, "--context=broken",
			"kubeconfig file: invalid configuration: [cluster \"x\" was not found for context \"broken\", no server found for cluster \"x\"]",
		},
		"a user who is missing": {
			good, "--context=nobody",
			"kubeconfig file: invalid configuration: user \"x\" was not found for context \"nobody\"",
		},
		"no server": {
			good, "--context=serverless",
			"kubeconfig file: invalid configuration: no server found for cluster \"s\"",
		},
	} {
		t.Run(name, func(t *testing.T) {
			flags := []string{file}
			if tc.flag != "" {
				flags = append(flags, tc.flag)
			}
			require.EqualError(t, configOf(t, tc.text, flags...), tc.want)
		})
	}
}

func TestAFileThatTheKubeconfigNamesIsNamed(t *testing.T) {
	const text = `apiVersion: v1
kind: Config
current-context: admin
contexts: [{name: admin, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "https://api.example.com:6443"}}]
users: [{name: u, user: {client-certificate: gone.crt, client-key: gone.key}}]
`
	err := configOf(t, text, "--kubeconfig=file")
	dir, _ := os.Getwd()
	gone := filepath.Join(dir, "gone.crt")
	require.ErrorContains(t, err, "kubeconfig file: invalid configuration: [unable to read client-cert "+gone+" for u due to "+
		"open "+gone+": no such file or directory")
}

func TestAFileThatNeverEndsIsRejected(t *testing.T) {
	dir := t.TempDir()
	pipe, sparse := filepath.Join(dir, "pipe"), filepath.Join(dir, "sparse")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	require.NoError(t, os.WriteFile(sparse, nil, 0o600))
	require.NoError(t, os.Truncate(sparse, 4<<30))
	for file, reason := range map[string]string{
		pipe:        "it is a named pipe; give a regular file",
		sparse:      "it is larger than 16777216 bytes",
		"/dev/zero": "it is a device; give a regular file",
	} {
		t.Run(filepath.Base(file), func(t *testing.T) {
			require.EqualError(t, configOf(t, "", "--kubeconfig="+file),
				file+" cannot be read: "+reason)
			t.Setenv("KUBECONFIG", file)
			require.EqualError(t, configOf(t, ""),
				file+" cannot be read: "+reason)
			text := strings.Replace(good, "cluster: {server", "cluster: {certificate-authority: "+file+", server", 1)
			require.EqualError(t, configOf(t, text, "--kubeconfig=file"),
				"kubeconfig file: "+file+" cannot be read: "+reason)
		})
	}
}

func TestKUBECONFIGIsNamedIfItIsWrong(t *testing.T) {
	t.Setenv("KUBECONFIG", "gone")
	require.EqualError(t, configOf(t, ""), "no cluster is configured: set --kubeconfig or KUBECONFIG")
	t.Setenv("KUBECONFIG", "gone:file")
	require.NoError(t, configOf(t, good), "one of the files is enough")
	t.Setenv("KUBECONFIG", "")
	require.EqualError(t, configOf(t, ""), "no cluster is configured: set --kubeconfig or KUBECONFIG")
}

func TestAClusterThatDoesNotAnswerIsNamed(t *testing.T) {
	for name, tc := range map[string]struct {
		err  error
		want string
	}{
		"nothing": {},
		"another error": {
			errors.New("reading nodes: broken"), "reading nodes: broken",
		},
		"credentials that have expired": {
			fmt.Errorf("reading nodes: %w", apierrors.NewUnauthorized("no")),
			"https://api:6443 does not accept the credentials of the kubeconfig: log in again, for example with oc login",
		},
		"a request that fails": {
			fmt.Errorf("reading nodes: %w", &url.Error{Op: "Get", URL: "https://a", Err: x509.UnknownAuthorityError{}}),
			"https://api:6443 cannot be reached: x509: certificate signed by unknown authority; check the server and the CA " +
				"of the kubeconfig, and the network",
		},
	} {
		t.Run(name, func(t *testing.T) {
			err := source.Reached(&rest.Config{Host: "https://api:6443"}, tc.err)
			if tc.want == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, tc.want)
		})
	}
}
