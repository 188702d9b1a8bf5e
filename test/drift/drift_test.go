package drift_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/featuregate"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/drift"
)

const root = "../.."

// checkout writes files and returns their directory.
func checkout(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	}
	return dir
}

// registrations are those of openshift/api that the code assumes.
func registrations() string {
	var text strings.Builder
	for _, gate := range featuregate.Gates {
		if gate.Upstream || gate.Removed != "" {
			continue
		}
		text.WriteString(`newFeatureGate("` + gate.Name + "\").\n")
		if gate.OnIfAbsent {
			text.WriteString("enable(inDefault()).\n")
		}
	}
	return text.String()
}

func TestADifferenceIsARowWithItsPlace(t *testing.T) {
	flipped := strings.Replace(registrations(), "\"VSphereMixedNodeEnv\").\nenable(inDefault())", "\"VSphereMixedNodeEnv\")", 1)
	for name, test := range map[string]struct {
		file, content string
		want          []string
	}{
		"the gates that the code assumes": {file: "features/features.go", content: registrations()},
		"a gate is on by default no more": {
			file: "features/features.go", content: flipped,
			want: []string{"feature gate\tVSphereMixedNodeEnv, on by default\tthe other way\tDIR/features/features.go:2"},
		},
		"a gate is removed": {
			file:    "features/features.go",
			content: strings.Replace(registrations(), `"ConfigurablePKI"`, `"Other"`, 1),
			want:    []string{"feature gate\tConfigurablePKI, off by default\tremoved\tpkg/featuregate/featuregate.go"},
		},
		"a gate of Kubernetes is registered": {
			file:    "features/features.go",
			content: registrations() + `newFeatureGate("CloudControllerManagerWebhook").`,
			want: []string{"feature gate\tCloudControllerManagerWebhook, of Kubernetes only\tregistered\t" +
				"DIR/features/features.go:5"},
		},
		"NodeStatus has another field, and lacks one": {
			file: "operator/v1/types.go",
			content: "package v1\n\ntype NodeStatus struct {\n" + fields(
				"currentRevision", "lastFailedCount", "lastFailedReason", "lastFailedRevision", "lastFailedRevisionErrors",
				"lastFailedTime", "lastFallbackCount", "nodeName", "nodeUID", "bootID") + "}\n",
			want: []string{
				"field of NodeStatus\tnot known\tbootID\tDIR/operator/v1/types.go:13",
				"field of NodeStatus\ttargetRevision\tremoved\t" +
					"manifests/0000_26_cloud-controller-manager-operator_01_cloudcontrollermanagers.crd.yaml",
			},
		},
		"a payload has another annotation": {
			file:    "manifests/a.yaml",
			content: "metadata:\n  annotations:\n    release.openshift.io/delete: \"true\"\n    release.openshift.io/new: \"\"\n",
			want:    []string{"annotation of a payload\tnot used\trelease.openshift.io/new\tDIR/manifests/a.yaml:4"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := checkout(t, map[string]string{test.file: test.content})
			rows, err := drift.Compare(root, dir)
			require.NoError(t, err)
			var got []string
			for _, row := range rows {
				got = append(got, strings.ReplaceAll(row.String(), dir, "DIR"))
			}
			require.Equal(t, test.want, got)
		})
	}
}

func fields(names ...string) string {
	var text strings.Builder
	for _, name := range names {
		text.WriteString("\t" + strings.ToUpper(name[:1]) + name[1:] + " string `json:\"" + name + "\"`\n")
	}
	return text.String()
}

func TestAPlatformTypeThatTheCodeDoesNotKnowIsARow(t *testing.T) {
	dir := checkout(t, map[string]string{
		"config/v1/types_infrastructure.go": "package v1\n\nconst (\n\tNewPlatformType PlatformType = \"New\"\n)\n",
	})
	rows, err := drift.Compare(root, dir)
	require.NoError(t, err)
	require.Contains(t, rows, drift.Row{
		Kind: "platform type", Here: "not known", There: "NewPlatformType",
		Place: dir + "/config/v1/types_infrastructure.go:4",
	})
	require.Contains(t, rows, drift.Row{
		Kind: "platform type", Here: "AWSPlatformType", There: "removed", Place: "pkg/platform",
	})
}

func TestAMessageThatNoCloudControllerManagerLogsIsARow(t *testing.T) {
	dir := checkout(t, map[string]string{
		"main.go":      `import "k8s.io/cloud-provider/app"; "Initializing node %s with cloud provider"`,
		"main_test.go": `"node not found"`,
	})
	rows, err := drift.Compare(root, dir)
	require.NoError(t, err)
	var texts []string
	for _, row := range rows {
		require.Regexp(t, `^pkg/nodecause/attempts.go:\d+$`, row.Place)
		texts = append(texts, row.Here)
	}
	require.Contains(t, texts, `"node not found"`, "a test logs nothing")
	require.NotContains(t, texts, `"Initializing node "`)
}

func TestACheckoutWithoutAnythingToCompareIsAnError(t *testing.T) {
	dir := checkout(t, map[string]string{"README.md": ""})
	_, err := drift.Compare(root, dir)
	require.EqualError(t, err, "nothing to compare in "+dir)
}
