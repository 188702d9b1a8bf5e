// Package cloudtest contains helpers that the tests of the clouds share.
package cloudtest

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

// SecretValue is the secret of the test inputs. No message may contain it.
const SecretValue = "s3cr3t-v4lue"

// CABundle returns a valid CA bundle.
func CABundle(t *testing.T) []byte {
	t.Helper()
	bundle, err := os.ReadFile(filepath.Join("..", "openstack", "testdata", "openstack", "private-ca.ca-bundle.pem"))
	require.NoError(t, err)
	return bundle
}

// Shown returns a diagnostic with the name of its input, which the caller of a Rewrite would add.
func Shown(d diagnostic.Diagnostic) string {
	input, key := "cloud config", d.Key
	switch {
	case d.Object != "":
		input = d.Object + ","
	case d.Cause == diagnostic.Credentials:
		input = "credentials"
	case key == diagnostic.CABundleKey:
		input, key = "CA bundle", ""
	}
	if key != "" {
		input += " " + key
	}
	if d.Line > 0 {
		input += fmt.Sprintf(":%d:%d", d.Line, d.Column)
	}
	return input + ": " + d.Text()
}

// Messages returns the diagnostics of one kind, formatted by Shown.
func Messages(r clouds.Result, kind diagnostic.Kind) []string {
	var out []string
	for _, f := range r.Diagnostics {
		if f.Kind == kind {
			out = append(out, Shown(f))
		}
	}
	return out
}

// Describe returns a result in the format of the golden files.
func Describe(r clouds.Result) []byte {
	var b bytes.Buffer
	for _, f := range r.Diagnostics {
		fmt.Fprintf(&b, "%s: %s\n", f.Kind, Shown(f))
	}
	if r.Config == nil {
		b.WriteString("-- refused --\n")
		return b.Bytes()
	}
	b.WriteString("-- cloud.conf --\n")
	b.Write(r.Config)
	return b.Bytes()
}

// RequireGolden compares the bytes with a file. If UPDATE_GOLDEN is set it writes the file and still fails the test.
func RequireGolden(t *testing.T, file string, got []byte) {
	t.Helper()
	if os.Getenv("UPDATE_GOLDEN") != "" {
		require.NoError(t, os.WriteFile(file, got, 0o600))
		t.Errorf("%s was written: read it, then run the test without UPDATE_GOLDEN", file)
		return
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err, "UPDATE_GOLDEN=1 writes it")
	require.Equal(t, string(want), string(got), "read the difference; UPDATE_GOLDEN=1 rewrites %s", file)
}

// Texts returns the diagnostics, formatted by Shown.
func Texts(diagnostics []diagnostic.Diagnostic) []string {
	var all []string
	for _, f := range diagnostics {
		all = append(all, Shown(f))
	}
	return all
}

// StaticPodPaths are the paths of the files in the static pod.
var StaticPodPaths = clouds.Paths{
	Config:      "/etc/kubernetes/static-pod-resources/secrets/cloud-config",
	Credentials: "/etc/kubernetes/static-pod-resources/secrets/cloud-credentials",
	Tokens:      "/etc/kubernetes/static-pod-certs/secrets/cloud-tokens",
	CABundle:    "/etc/kubernetes/static-pod-resources/configmaps/cloud-config/ca-bundle.pem",
	Kubeconfig:  "/etc/kubernetes/static-pod-resources/configmaps/kubeconfigs/cloud-controller-manager.kubeconfig",
}

// RequireGoldens tests every testdata/<platform>/*.conf. Further files with the same name change the source:
// .cluster.yaml is the Cluster; .secret.yaml contains the strings of the credentials Secret, or null; .keys.yaml
// contains the other keys of the configuration's ConfigMap. Without .secret.yaml the Secret contains the strings of
// usual.
func RequireGoldens(t *testing.T, platform string, rewrite clouds.Rewrite, usual map[string]string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", platform, "*.conf"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		name := strings.TrimSuffix(file, ".conf")
		t.Run(filepath.Base(name), func(t *testing.T) {
			config, err := os.ReadFile(file)
			require.NoError(t, err)
			src := clouds.Source{Config: config, Paths: StaticPodPaths}
			ReadIfThere(t, name+".cluster.yaml", &src.Cluster)
			src.Credentials = SecretOf(usual)
			var secret map[string]string
			if ReadIfThere(t, name+".secret.yaml", &secret) {
				src.Credentials = SecretOf(secret)
			}
			var keys map[string]string
			if ReadIfThere(t, name+".keys.yaml", &keys) {
				src.Keys = SecretOf(keys)
			}
			result := rewrite(src)
			RequireGolden(t, name+".golden", describeAll(result))
			if len(result.Errors(diagnostic.Strict)) == 0 {
				requireStable(t, rewrite, src, result)
			}
		})
	}
}

// SecretOf returns the data of a Secret with the strings, or nil if there are none.
func SecretOf(texts map[string]string) map[string][]byte {
	if texts == nil {
		return nil
	}
	data := map[string][]byte{}
	for key, text := range texts {
		data[key] = []byte(text)
	}
	return data
}

// ReadIfThere decodes a YAML file if it exists, and reports whether it exists.
func ReadIfThere(t *testing.T, file string, into any) bool {
	t.Helper()
	text, err := os.ReadFile(file)
	if os.IsNotExist(err) {
		return false
	}
	require.NoError(t, err)
	require.NoError(t, yaml.UnmarshalStrict(text, into))
	return true
}

// describeAll returns the output of Describe followed by the delivered files, credentials and tokens.
func describeAll(r clouds.Result) []byte {
	var b bytes.Buffer
	b.Write(Describe(r))
	for _, name := range slices.Sorted(maps.Keys(r.Files)) {
		fmt.Fprintf(&b, "-- file: %s --\n%s", name, r.Files[name])
	}
	for _, name := range slices.Sorted(maps.Keys(r.Credentials)) {
		fmt.Fprintf(&b, "-- credentials: %s --\n%s", name, r.Credentials[name])
		if !bytes.HasSuffix(r.Credentials[name], []byte("\n")) {
			b.WriteString("\n")
		}
	}
	for _, token := range r.Tokens {
		fmt.Fprintf(&b, "-- token: %s for %s --\n", token.Key, token.Audience)
	}
	return b.Bytes()
}

// requireStable checks that a rewritten configuration is valid and that another run does not change it.
func requireStable(t *testing.T, rewrite clouds.Rewrite, src clouds.Source, result clouds.Result) {
	t.Helper()
	require.Equal(t, result, rewrite(src), "the same input gives the same result")
	src.Config = result.Config
	again := rewrite(src)
	require.Empty(t, again.Errors(diagnostic.Strict))
	require.Equal(t, string(result.Config), string(again.Config))
	require.Equal(t, result.Credentials, again.Credentials)
}

// RequireFuzzed checks the guarantees of a Rewrite for one input.
func RequireFuzzed(t *testing.T, rewrite clouds.Rewrite, src clouds.Source) {
	t.Helper()
	result := rewrite(src)
	for _, f := range result.Diagnostics {
		require.NotEmpty(t, f.Message)
	}
	if len(result.Errors(diagnostic.Lenient)) > 0 {
		require.Nil(t, result.Config)
		require.Nil(t, result.Credentials)
	}
	if len(result.Errors(diagnostic.Strict)) == 0 {
		requireStable(t, rewrite, src, result)
	}
}
