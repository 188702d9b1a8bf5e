package payload_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/payload"
)

var release = payload.Release{
	Version: "4.99.0-dev",
	Image:   func(tag string) string { return "localhost/openshift/" + tag + ":4.99.0-dev" },
}

const profile = `    include.release.openshift.io/self-managed-high-availability: "true"
`

func configMap(name, annotations, data string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + "\n  namespace: ns\n  annotations:\n" +
		annotations + "data:\n  key: " + data + "\n"
}

func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644))
	}
	return dir
}

func names(manifests []payload.Manifest) []string {
	names := []string{}
	for _, manifest := range manifests {
		names = append(names, manifest.String())
	}
	return names
}

func TestReadKeepsTheOrderOfFilesAndOfTheirDocuments(t *testing.T) {
	manifests, err := payload.Read(folder(t, map[string]string{
		"0000_26_x_10_last.yaml": configMap("last", profile, "a"),
		"0000_26_x_02_first.yaml": "---\n# a comment alone\n---\n" + configMap("z", profile, "a") + "---\n" +
			configMap("a", profile, "a"),
		"0000_26_x_03_next.json": `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"n","annotations":{"include.release.openshift.io/self-managed-high-availability":"true"}}}`,
		"README.md":              "not a manifest",
	}), release)
	require.NoError(t, err)
	require.Equal(t, []string{
		"0000_26_x_02_first.yaml: ConfigMap ns/z",
		"0000_26_x_02_first.yaml: ConfigMap ns/a",
		"0000_26_x_03_next.json: Namespace n",
		"0000_26_x_10_last.yaml: ConfigMap ns/last",
	}, names(manifests))
}

func TestReadLeavesOutWhatTheClusterDoesNotInclude(t *testing.T) {
	cases := map[string]struct {
		annotations string
		included    bool
	}{
		"a manifest of the profile is included": {profile, true},
		"a manifest of no profile is left out":  {"    a: b\n", false},
		"a manifest of another profile is left out": {"    include.release.openshift.io/single-node-developer: " +
			"\"true\"\n", false},
		"a manifest for tech preview only is left out": {profile +
			"    release.openshift.io/feature-set: TechPreviewNoUpgrade\n", false},
		"a manifest for the default set is included": {profile +
			"    release.openshift.io/feature-set: TechPreviewNoUpgrade,Default\n", true},
		"a manifest that deletes is included": {profile + "    release.openshift.io/delete: \"true\"\n", true},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			manifests, err := payload.Read(folder(t, map[string]string{"a.yaml": configMap("a", test.annotations,
				"a")}), release)
			require.NoError(t, err)
			require.Equal(t, test.included, len(manifests) == 1)
		})
	}
}

const references = `kind: ImageStream
apiVersion: image.openshift.io/v1
spec:
  tags:
  - name: operator
    from:
      kind: DockerImage
      name: quay.io/openshift/origin-operator:latest
  - name: operator-longer
    from:
      kind: DockerImage
      name: quay.io/openshift/origin-operator:latest-longer
`

func TestReadReplacesImagesAndVersion(t *testing.T) {
	cases := map[string]struct{ value, want string }{
		"an image": {"quay.io/openshift/origin-operator:latest",
			"localhost/openshift/operator:4.99.0-dev"},
		"an image whose name goes on": {"quay.io/openshift/origin-operator:latest-longer",
			"localhost/openshift/operator-longer:4.99.0-dev"},
		"the version":                  {"0.0.1-snapshot", "4.99.0-dev"},
		"the version inside of a text": {"v0.0.1-snapshot+x", "v4.99.0-dev+x"},
		"an unlisted image is kept": {"quay.io/openshift/origin-other:latest",
			"quay.io/openshift/origin-other:latest"},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			manifests, err := payload.Read(folder(t, map[string]string{
				"a.yaml": configMap("a", profile, test.value), "image-references": references,
			}), release)
			require.NoError(t, err)
			require.Len(t, manifests, 1)
			value, _, err := unstructured.NestedString(manifests[0].Object.Object, "data", "key")
			require.NoError(t, err)
			require.Equal(t, test.want, value)
		})
	}
}

func TestReadRejectsWhatAReleaseBuildRejects(t *testing.T) {
	cases := map[string]struct {
		files map[string]string
		want  string
	}{
		"a manifest that is not YAML": {
			map[string]string{"a.yaml": "a: b: c\n"},
			"payload: a.yaml: error converting YAML to JSON: yaml: mapping values are not allowed in this context",
		},
		"a key given twice": {
			map[string]string{"a.yaml": "kind: A\nkind: B\n"},
			"payload: a.yaml: error converting YAML to JSON: yaml: unmarshal errors:\n  line 2: key \"kind\" already " +
				"set in map",
		},
		"an object without a name": {
			map[string]string{"a.yaml": "apiVersion: v1\nkind: ConfigMap\n"},
			"payload: a.yaml: an object lacks apiVersion, kind or metadata.name",
		},
		"a tag without an image": {
			map[string]string{"image-references": "kind: ImageStream\napiVersion: image.openshift.io/v1\nspec:\n  " +
				"tags:\n  - name: operator\n"},
			"payload: image-references: tag operator: from must be a DockerImage with a name",
		},
		"a misspelled field of image-references": {
			map[string]string{"image-references": "spec:\n  tag: []\n"},
			"payload: image-references: error unmarshaling JSON: while decoding JSON: json: unknown field \"tag\"",
		},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := payload.Read(folder(t, test.files), release)
			require.EqualError(t, err, test.want)
		})
	}
	_, err := payload.Read("/does-not-exist", release)
	require.EqualError(t, err, "payload: open /does-not-exist: no such file or directory")
}

func TestTheOperatorsOwnManifestsCanBeRead(t *testing.T) {
	manifests, err := payload.Read("../../../../manifests", release)
	require.NoError(t, err)
	require.NotEmpty(t, manifests)
	for _, manifest := range manifests {
		content, err := manifest.Object.MarshalJSON()
		require.NoError(t, err)
		require.False(t, bytes.Contains(content, []byte("quay.io/")), "%s: an image is not in image-references",
			manifest)
		require.False(t, bytes.Contains(content, []byte("0.0.1-snapshot")), manifest)
	}
}
