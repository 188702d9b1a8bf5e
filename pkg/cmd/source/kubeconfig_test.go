package source_test

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net"
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

func TestAWrongKubeconfigIsNamedWithItsFileAndWhatToDo(t *testing.T) {
	const file = "--kubeconfig=file"
	for name, tc := range map[string]struct{ text, flag, want string }{
		"a missing one": {"", "", "kubeconfig file does not exist: correct --kubeconfig"},
		"no YAML": {
			"kind: Config\nclusters: [\n", "",
			"file:2:1: this is no kubeconfig: a value is expected here: check the brackets, or put the value in quotes",
		},
		"a tab": {
			"kind: Config\n\tclusters: []\n", "",
			"file:2:2: this is no kubeconfig: a tab in the indentation: indent with spaces",
		},
		"a text": {"hello\n", "", "file:1:1: this is no kubeconfig: it is no mapping: a kubeconfig begins with kind: Config"},
		"another object": {
			"kind: ConfigMap\napiVersion: v1\n", "",
			"file: this is no kubeconfig: its kind is ConfigMap, and must be Config",
		},
		"a wrong type": {
			"apiVersion: v1\nkind: Config\nclusters: {}\n", "",
			"file: this is no kubeconfig: a field has a wrong type; compare it with the output of oc config view",
		},
		"a context that is missing": {
			good, "--context=other",
			"kubeconfig file: it has no context \"other\": specify admin or broken or nobody or serverless with --context",
		},
		"a cluster that is missing": {
			good, "--context=broken",
			"kubeconfig file: context \"broken\" names cluster \"x\", which it does not have: correct the context",
		},
		"a user who is missing": {
			good, "--context=nobody",
			"kubeconfig file: context \"nobody\" names user \"x\", which it does not have: correct the context",
		},
		"no server": {
			good, "--context=serverless",
			"kubeconfig file: cluster \"s\" has no server: set it to the URL of the API server",
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
	require.EqualError(t, err, "kubeconfig file: client-certificate of user u is "+filepath.Join(dir, "gone.crt")+
		", which cannot be read: no such file or directory; correct the path")
}

func TestAFileThatNeverEndsIsRejected(t *testing.T) {
	const end = "; correct --kubeconfig, or its permissions"
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
				"kubeconfig "+file+" cannot be read: "+reason+end)
			t.Setenv("KUBECONFIG", file)
			require.EqualError(t, configOf(t, ""),
				"kubeconfig "+file+" cannot be read: "+reason+"; correct KUBECONFIG, or its permissions")
			text := strings.Replace(good, "cluster: {server", "cluster: {certificate-authority: "+file+", server", 1)
			require.EqualError(t, configOf(t, text, "--kubeconfig=file"),
				"kubeconfig file: certificate-authority of cluster c is "+file+", which cannot be read: "+reason+
					"; correct the path")
		})
	}
}

func TestKUBECONFIGIsNamedIfItIsWrong(t *testing.T) {
	t.Setenv("KUBECONFIG", "gone")
	require.EqualError(t, configOf(t, ""), "kubeconfig gone does not exist: correct KUBECONFIG")
	t.Setenv("KUBECONFIG", "gone:file")
	require.NoError(t, configOf(t, good), "one of the files is enough")
	t.Setenv("KUBECONFIG", "")
	require.EqualError(t, configOf(t, ""), "no cluster is configured: set --kubeconfig or KUBECONFIG")
}

func TestAClusterThatDoesNotAnswerIsNamed(t *testing.T) {
	request := func(err error) error {
		return fmt.Errorf("reading nodes: %w", &url.Error{Op: "Get", URL: "https://a", Err: err})
	}
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
		"an unknown CA": {
			request(x509.UnknownAuthorityError{}),
			"the certificate of https://api:6443 is of an unknown CA: correct certificate-authority-data of the kubeconfig",
		},
		"another host": {
			request(x509.HostnameError{Certificate: &x509.Certificate{}, Host: "api"}),
			"the certificate of https://api:6443 is for another host: correct the server of the kubeconfig",
		},
		"an expired certificate": {
			request(x509.CertificateInvalidError{Reason: x509.Expired}),
			"the certificate of https://api:6443 is not valid: check its dates and the clock of this machine",
		},
		"an unknown name": {
			request(&net.OpError{Op: "dial", Err: &net.DNSError{Name: "api"}}),
			"the name api of the kubeconfig's server is unknown: correct it, or check the network",
		},
		"nobody listens": {
			request(&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}),
			"https://api:6443 does not answer: connection refused; check the server of the kubeconfig, and the network",
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
