package cloudconfig_test

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

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/cloudconfig"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

var staticPodPaths = cloudconfig.Paths{
	Config:      "/etc/kubernetes/static-pod-resources/secrets/cloud-config",
	Credentials: "/etc/kubernetes/static-pod-resources/secrets/cloud-credentials",
	Tokens:      "/etc/kubernetes/static-pod-certs/secrets/cloud-tokens",
	CABundle:    "/etc/kubernetes/static-pod-resources/configmaps/cloud-config/ca-bundle.pem",
	Kubeconfig:  "/etc/kubernetes/static-pod-resources/configmaps/kubeconfigs/cloud-controller-manager.kubeconfig",
}

// requireGoldens reads every testdata/<platform>/*.conf. Files beside it with the same name say more about the source:
// .cluster.yaml is the Cluster, .secret.yaml the texts of the credentials Secret, or null, and .keys.yaml those beside the
// configuration. Without a Secret there are the texts of usual.
func requireGoldens(t *testing.T, platform string, rewrite cloudconfig.Rewrite, usual map[string]string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", platform, "*.conf"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		name := strings.TrimSuffix(file, ".conf")
		t.Run(filepath.Base(name), func(t *testing.T) {
			config, err := os.ReadFile(file)
			require.NoError(t, err)
			src := cloudconfig.Source{Config: config, Paths: staticPodPaths}
			readIfThere(t, name+".cluster.yaml", &src.Cluster)
			src.Credentials = secretOf(usual)
			var secret map[string]string
			if readIfThere(t, name+".secret.yaml", &secret) {
				src.Credentials = secretOf(secret)
			}
			var keys map[string]string
			if readIfThere(t, name+".keys.yaml", &keys) {
				src.Keys = secretOf(keys)
			}
			result := rewrite(src)
			requireGolden(t, name+".golden", describeAll(result))
			if len(result.Errors(diagnostic.Strict)) == 0 {
				requireStable(t, rewrite, src, result)
			}
		})
	}
}

// secretOf is the data of a Secret with the texts; nil when there are none.
func secretOf(texts map[string]string) map[string][]byte {
	if texts == nil {
		return nil
	}
	data := map[string][]byte{}
	for key, text := range texts {
		data[key] = []byte(text)
	}
	return data
}

func readIfThere(t *testing.T, file string, into any) bool {
	t.Helper()
	text, err := os.ReadFile(file)
	if os.IsNotExist(err) {
		return false
	}
	require.NoError(t, err)
	require.NoError(t, yaml.UnmarshalStrict(text, into))
	return true
}

// describeAll is describe with the delivered files, credentials and tokens.
func describeAll(r cloudconfig.Result) []byte {
	var b bytes.Buffer
	b.Write(describe(r))
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

// requireStable checks that a rewritten configuration is one, and stays as it is.
func requireStable(t *testing.T, rewrite cloudconfig.Rewrite, src cloudconfig.Source, result cloudconfig.Result) {
	t.Helper()
	require.Equal(t, result, rewrite(src), "the same input gives the same result")
	src.Config = result.Config
	again := rewrite(src)
	require.Empty(t, again.Errors(diagnostic.Strict))
	require.Equal(t, string(result.Config), string(again.Config))
	require.Equal(t, result.Credentials, again.Credentials)
}

// requireFuzzed checks the promises of a Rewrite for one input.
func requireFuzzed(t *testing.T, rewrite cloudconfig.Rewrite, src cloudconfig.Source) {
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
