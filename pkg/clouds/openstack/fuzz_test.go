package openstack_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds/openstack"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/cloudtest"
)

func TestDiagnosticsAreSortedByInputAndPosition(t *testing.T) {
	src := source("[LoadBalancer]\nenabled = x\n[Nothing]\n")
	src.Credentials = cloudsYAML("clouds: 1\n")
	src.CABundle = []byte("hello")
	var got []string
	for _, f := range openstack.Rewrite(src).Diagnostics {
		got = append(got, strings.SplitAfterN(cloudtest.Shown(f), ": ", 2)[0])
	}
	require.Equal(t, []string{"cloud config:2:11: ", "cloud config:3:1: ", "credentials clouds.yaml:1:9: ",
		"CA bundle: "}, got)
}

func TestTheDiagnosticsOfALargeInputAreLimited(t *testing.T) {
	const mebibyte = 1 << 20
	var distinct strings.Builder
	distinct.WriteString("[Global]\n")
	for i := 0; distinct.Len() < mebibyte; i++ {
		fmt.Fprintf(&distinct, "key%d=1\n", i)
	}
	fill := func(head, line string) string { return head + strings.Repeat(line, mebibyte/len(line)) }
	for name, c := range map[string]struct {
		config string
		last   string
		kind   diagnostic.Kind
	}{
		"unknown keys": {distinct.String(),
			"cloud config:101:1: 96236 more from here on are not listed: correct the others first", diagnostic.Unknown},
		"broken lines": {fill("[Global]\n", "=\n"),
			"cloud config:101:1: 524189 more from here on are not listed: correct the others first",
			diagnostic.Invalid},
		"one key on every line": {fill("[Global]\n", "region=1\n"),
			"cloud config:102:1: 116409 more from here on are not listed: correct the others first",
			diagnostic.Ambiguous},
	} {
		t.Run(name, func(t *testing.T) {
			// This takes half a second; a quadratic algorithm would take minutes.
			result := openstack.Rewrite(source(c.config))
			require.Len(t, result.Diagnostics, 100)
			require.Equal(t, c.last, cloudtest.Shown(result.Diagnostics[99]))
			require.Equal(t, c.kind, result.Diagnostics[99].Kind)
		})
	}
}

func TestInvalidDiagnosticsAreNeverOmittedForOthers(t *testing.T) {
	var b strings.Builder
	b.WriteString("[Route]\n")
	for i := range 200 {
		fmt.Fprintf(&b, "unheard%d = 1\n", i)
	}
	b.WriteString("[LoadBalancer]\nenabled = x\n")
	result := openstack.Rewrite(source(b.String()))
	require.Len(t, result.Diagnostics, 100)
	require.Equal(t, []string{`cloud config:203:11: enabled is "x", but must be true or false`},
		cloudtest.Messages(result, diagnostic.Invalid))
}

// FuzzOpenStack checks for any input that nothing panics, that the result is deterministic and without the values of
// the credentials, and that a valid configuration is rewritten to a valid one that another run does not change.
func FuzzOpenStack(f *testing.F) {
	for _, config := range []string{
		"[Global]\nsecret-name = openstack-credentials\nregion = \"a;b\"\n",
		"[LoadBalancer]\nenabled\nmax-shared-lb = 0x2\n",
		"[LoadBalancerClass \"x\"]\nsubnet-id = y\n[loadbalancerclass]\n",
		"[Networking]\npublic-network-name # none\npublic-network-name = a\n",
		"[BlockStorage]\nx = 1\n[Globel]\n[Global \"y\"]\n",
		"[Global]\nca-file = /etc/pki/x\ncloud = other\nuse-clouds\n", "[Metadata\n", "a: b\n",
		"[Global]\nca-file=/a\nca-file=\n[global]\nuſe-clouds = no\n",
	} {
		f.Add([]byte(config), []byte(goodClouds), []byte(nil))
	}
	f.Add([]byte("[Global]\n"), []byte("clouds: {openstack: {<<: *a}}\n"),
		[]byte("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"))
	f.Add([]byte("[Global]\n"), []byte("clouds:\n  openstack:\n\tauth: &a [*a]\n"), []byte("x"))
	f.Fuzz(func(t *testing.T, config, cloudsYAML, bundle []byte) {
		src := clouds.Source{Config: config, Credentials: map[string][]byte{"clouds.yaml": cloudsYAML},
			CABundle: bundle, Paths: paths}
		result := openstack.Rewrite(src)
		require.Equal(t, result, openstack.Rewrite(src))
		invalid := cloudtest.Messages(result, diagnostic.Invalid)
		if bytes.Equal(cloudsYAML, []byte(goodClouds)) {
			for _, f := range result.Diagnostics {
				require.NotContains(t, f.Message, cloudtest.SecretValue)
			}
		}
		if len(invalid) > 0 {
			require.Nil(t, result.Config)
			return
		}
		src.Config = result.Config
		again := openstack.Rewrite(src)
		require.Empty(t, cloudtest.Messages(again, diagnostic.Invalid))
		require.Equal(t, string(result.Config), string(again.Config))
	})
}

func TestOpenStackWarnsOfUnverifiedTLS(t *testing.T) {
	for name, want := range map[string]string{
		"true": "cloud config:2:16: tls-insecure is true: anyone between the nodes and Keystone can read " +
			"the credentials; " +
			"put the CA certificates under the key ca-bundle.pem beside the cloud configuration instead",
		"false": "",
		"yes":   "", // the provider compares with true
	} {
		t.Run(name, func(t *testing.T) {
			result := openstack.Rewrite(source("[Global]\ntls-insecure = " + name + "\n"))
			var wanted []string
			if want != "" {
				wanted = []string{want}
			}
			require.Equal(t, wanted, cloudtest.Messages(result, diagnostic.Insecure))
			require.Empty(t, result.Errors(diagnostic.Strict))
		})
	}
}
