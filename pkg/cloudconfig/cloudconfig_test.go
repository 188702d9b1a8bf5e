package cloudconfig_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/cloudconfig"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

func TestPlaceholders(t *testing.T) {
	for name, c := range map[string]struct {
		data         string
		line, column int
		placeholder  string
	}{
		"a revision":                            {"a\nüb REVISION", 2, 4, "REVISION"},
		"a node name inside a word":             {"xNODE_NAMEx", 1, 2, "NODE_NAME"},
		"a node name for the environment":       {"NODE_ENVVAR_NAME", 1, 1, "NODE_ENVVAR_NAME"},
		"the first of several":                  {"REVISION NODE_NAME", 1, 1, "REVISION"},
		"the first of several in another order": {"NODE_NAME REVISION", 1, 1, "NODE_NAME"},
	} {
		t.Run(name, func(t *testing.T) {
			line, column, placeholder, found := cloudconfig.Placeholders([]byte(c.data))
			require.True(t, found)
			require.Equal(t, []any{c.line, c.column, c.placeholder}, []any{line, column, placeholder})
		})
	}
	for _, data := range []string{"", "revision node_name", "REVIS\nION", "NODE-NAME"} {
		_, _, _, found := cloudconfig.Placeholders([]byte(data))
		require.False(t, found, data)
	}
}

func TestFindingsAreSortedByInputAndPlace(t *testing.T) {
	src := source("[LoadBalancer]\nenabled = x\n[Nothing]\n")
	src.Credentials = clouds("clouds: 1\n")
	src.CABundle = []byte("hello")
	var got []string
	for _, f := range cloudconfig.OpenStack(src).Diagnostics {
		got = append(got, strings.SplitAfterN(shown(f), ": ", 2)[0])
	}
	require.Equal(t, []string{"cloud config:2:11: ", "cloud config:3:1: ", "credentials clouds.yaml:1:1: ", "CA bundle: "}, got)
}

func TestTheFindingsOfALargeInputStayFew(t *testing.T) {
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
		"unknown keys":            {distinct.String(), "cloud config:101:1: 96236 more from here on are not listed: correct the others first", diagnostic.Unknown},
		"broken lines":            {fill("[Global]\n", "=\n"), "cloud config:101:1: 524189 more from here on are not listed: correct the others first", diagnostic.Invalid},
		"one key again and again": {fill("[Global]\n", "region=1\n"), "cloud config:101:1: 116408 more from here on are not listed: correct the others first", diagnostic.Rewritten},
	} {
		t.Run(name, func(t *testing.T) {
			result := cloudconfig.OpenStack(source(c.config)) // half a second; anything quadratic would take minutes
			require.Len(t, result.Diagnostics, 100)
			require.Equal(t, c.last, shown(result.Diagnostics[99]))
			require.Equal(t, c.kind, result.Diagnostics[99].Kind)
		})
	}
}

func TestInvalidFindingsAreListedBeforeOthersAreLeftOut(t *testing.T) {
	var b strings.Builder
	b.WriteString("[Route]\n")
	for i := range 200 {
		fmt.Fprintf(&b, "unheard%d = 1\n", i)
	}
	b.WriteString("[LoadBalancer]\nenabled = x\n")
	result := cloudconfig.OpenStack(source(b.String()))
	require.Len(t, result.Diagnostics, 100)
	require.Equal(t, []string{`cloud config:203:11: enabled is "x", but wants true or false`}, messages(result, diagnostic.Invalid))
}

// FuzzOpenStack proves for any input that nothing panics, that the result is always the same and without the credentials'
// values, and that a configuration that passes is rewritten to one that passes and stays as it is.
func FuzzOpenStack(f *testing.F) {
	for _, config := range []string{
		"[Global]\nsecret-name = openstack-credentials\nregion = \"a;b\"\n", "[LoadBalancer]\nenabled\nmax-shared-lb = 0x2\n",
		"[LoadBalancerClass \"x\"]\nsubnet-id = y\n[loadbalancerclass]\n", "[Networking]\npublic-network-name # none\npublic-network-name = a\n",
		"[BlockStorage]\nx = 1\n[Globel]\n[Global \"y\"]\n", "[Global]\nca-file = /etc/pki/x\ncloud = other\nuse-clouds\n", "[Metadata\n", "a: b\n",
		"[Global]\nca-file=/a\nca-file=\n[global]\nuſe-clouds = no\n",
	} {
		f.Add([]byte(config), []byte(goodClouds), []byte(nil))
	}
	f.Add([]byte("[Global]\n"), []byte("clouds: {openstack: {<<: *a}}\n"), []byte("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"))
	f.Add([]byte("[Global]\n"), []byte("clouds:\n  openstack:\n\tauth: &a [*a]\n"), []byte("x"))
	f.Fuzz(func(t *testing.T, config, cloudsYAML, bundle []byte) {
		src := cloudconfig.Source{Config: config, Credentials: map[string][]byte{"clouds.yaml": cloudsYAML}, CABundle: bundle, Paths: paths}
		result := cloudconfig.OpenStack(src)
		require.Equal(t, result, cloudconfig.OpenStack(src))
		invalid := messages(result, diagnostic.Invalid)
		if bytes.Equal(cloudsYAML, []byte(goodClouds)) {
			for _, f := range result.Diagnostics {
				require.NotContains(t, f.Message, secretValue)
			}
		}
		if len(invalid) > 0 {
			require.Nil(t, result.Config)
			return
		}
		src.Config = result.Config
		again := cloudconfig.OpenStack(src)
		require.Empty(t, messages(again, diagnostic.Invalid))
		require.Equal(t, string(result.Config), string(again.Config))
	})
}
