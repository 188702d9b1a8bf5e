package drift_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
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
		"a provider has another key, in another spelling": {
			file:    "pkg/openstack/openstack.go",
			content: "package openstack\n\ntype Opts struct {\n\tA string `gcfg:\"max_shared_lb\"`\n\tB string `gcfg:\"new-key\"`\n}\n",
			want:    []string{"key of openstack\tnot known\tnew-key\tDIR/pkg/openstack/openstack.go:5"},
		},
		"a provider asks for other rights": {
			file: "manifests/rbac.yaml",
			content: "kind: ClusterRole\nrules:\n- apiGroups: [\"\"]\n  resources: [nodes, persistentvolumes]\n  verbs: [get, watch]\n" +
				"---\nkind: ServiceAccount\n",
			want: []string{"right not granted\tget, watch\tpersistentvolumes\tDIR/manifests/rbac.yaml"},
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

func TestAnotherValueOfAnEnumThatTheCodeNamesIsARow(t *testing.T) {
	dir := checkout(t, map[string]string{
		"config/v1/types_infrastructure.go": "package v1\n\nconst (\n\tAzureStackCloud AzureCloudEnvironment = \"AzureStackCloud\"\n" +
			"\tAzureOtherCloud AzureCloudEnvironment = \"AzureOtherCloud\"\n\tUnused Other = \"Unused\"\n)\n",
	})
	rows, err := drift.Compare(root, dir)
	require.NoError(t, err)
	rows = slices.DeleteFunc(rows, func(row drift.Row) bool { return row.Kind == "platform type" })
	require.Equal(t, []drift.Row{{
		Kind: "AzureCloudEnvironment", Here: "not named", There: "AzureOtherCloud",
		Place: dir + "/config/v1/types_infrastructure.go:5",
	}}, rows)
}

// program writes a program that prints its flags, and returns its path.
func program(t *testing.T, name, help string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\ncat <<'EOF'\n"+help+"EOF\n"), 0o700))
	return path
}

func TestAFlagThatACloudControllerManagerDoesNotHaveIsARow(t *testing.T) {
	ccm := program(t, "digitalocean-cloud-controller-manager", "  -v, --v Level   the level\n      --kubeconfig string  a file\n")
	rows, err := drift.Compare(root, ccm)
	require.NoError(t, err)
	names := map[string]bool{}
	for _, row := range rows {
		require.Equal(t, "not known to "+ccm, row.There)
		require.Regexp(t, `pkg/operand/testdata/digitalocean/\w+\.golden\.yaml:\d+$`, row.Place)
		names[row.Here] = true
	}
	require.True(t, names["secure-port"])
	require.False(t, names["v"])
	require.False(t, names["kubeconfig"])
}

func TestADefaultThatTheCodeAssumesAndAProgramDoesNotHaveIsARow(t *testing.T) {
	ccm := program(t, "vsphere-cloud-controller-manager", "      --concurrent-node-syncs int32  Number of workers. (default 3)\n"+
		"      --node-status-update-frequency duration   How often. (default 5m0s)\nEOF\nexit 2\ncat <<'EOF'\n")
	rows, err := drift.Compare(root, ccm)
	require.NoError(t, err)
	rows = slices.DeleteFunc(rows, func(row drift.Row) bool { return row.Kind == "flag or gate" })
	require.Len(t, rows, 1)
	require.Equal(t, "default of a flag\tconcurrent-node-syncs=1\t3", strings.Join([]string{rows[0].Kind, rows[0].Here, rows[0].There}, "\t"))
	require.Regexp(t, `bindata/assets/platforms/vsphere/config\.yaml:\d+$`, rows[0].Place)
}

func TestAProgramThatNoPodRunsIsAnError(t *testing.T) {
	_, err := drift.Compare(root, program(t, "other", ""))
	require.EqualError(t, err, "no pod of ours runs other")
}

func TestAMessageThatNoCloudControllerManagerLogsIsARow(t *testing.T) {
	dir := checkout(t, map[string]string{
		"main.go": `import "k8s.io/cloud-provider/app"; "Initializing node %s with cloud provider"; "Skipping %q"; ` +
			`"Attempting to acquire leader lease..."`,
		"main_test.go": `"node not found"`,
	})
	rows, err := drift.Compare(root, dir)
	require.NoError(t, err)
	var texts []string
	for _, row := range rows {
		require.Regexp(t, `^pkg/(nodecause|operator/rollout/preflight)/\w+\.go:\d+$`, row.Place)
		texts = append(texts, row.Here)
	}
	require.Contains(t, texts, `"node not found"`, "a test logs nothing")
	require.Contains(t, texts, `"leaderelection lost"`)
	for _, logged := range []string{"Initializing node ", `Skipping "cloud-node-controller"`, "attempting to acquire leader lease"} {
		require.NotContains(t, texts, strconv.Quote(logged))
	}
}

func TestACheckoutWithoutAnythingToCompareIsAnError(t *testing.T) {
	dir := checkout(t, map[string]string{"README.md": ""})
	_, err := drift.Compare(root, dir)
	require.EqualError(t, err, "nothing to compare in "+dir)
}
