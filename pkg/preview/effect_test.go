package preview

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/redaction"
)

func TestADiffShowsNoSecretButThatItChanged(t *testing.T) {
	const former = "[Global]\nregion = one\npassword = CANARY-first\ntoken = CANARY-same\n"
	const latter = "[Global]\nregion = two\npassword = CANARY-second\ntoken = CANARY-same\n"
	c := comparison{redact: redaction.New([]string{"region"}, nil, []byte(former), []byte(latter))}
	require.Equal(t, []string{
		"@@ -1,4 +1,4 @@", " [Global]", "-region = one", "-password = <password>", "+region = two",
		"+password = <password>  (another value, not shown)", " token = <token>",
	}, c.diff([]byte(former), []byte(latter)))
	require.Empty(t, c.diff([]byte(former), []byte(former)))
}

func TestCredentialsAreNamedAndNotShown(t *testing.T) {
	c := comparison{redact: redaction.New(nil, nil)}
	keys(&c, "secret/cloud-credentials", map[string][]byte{"a": []byte("CANARY"), "b": nil, "c": nil},
		map[string][]byte{"a": []byte("CANARY2"), "b": nil, "d": []byte("CANARY3")})
	require.Equal(t, []Change{
		{Object: "secret/cloud-credentials", Key: "a", What: "is changed; a secret is not shown"},
		{Object: "secret/cloud-credentials", Key: "c", What: "is removed; a secret is not shown"},
		{Object: "secret/cloud-credentials", Key: "d", What: "is added; a secret is not shown"},
	}, c.changes)
}

func TestAKubeconfigIsNotABundleOfCertificates(t *testing.T) {
	c := comparison{redact: redaction.New(nil, nil)}
	kubeconfig := func(server string) map[string]string {
		return map[string]string{"kubeconfig": "clusters:\n- cluster:\n    server: " + server + "\n"}
	}
	keys(&c, "configmap/kubeconfigs", kubeconfig("https://CANARY-a:6443"), kubeconfig("https://CANARY-b:6443"))
	keys(&c, "configmap/trusted-ca", map[string]string{"a": "b"}, map[string]string{})
	require.Equal(t, []Change{
		{Object: "configmap/kubeconfigs", Key: "kubeconfig", What: "is changed", Lines: []string{
			"@@ -1,3 +1,3 @@", " clusters:", "   - cluster:", "-      server: <server>",
			"+      server: <server>  (another value, not shown)",
		}},
		{Object: "configmap/trusted-ca", Key: "a", What: "is removed: 0 certificates, before 0 certificates"},
	}, c.changes)
}
