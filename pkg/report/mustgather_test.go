package report_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/report"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/snapshot"
)

// inspected is where oc adm inspect writes the kinds: one file for each object, or one List for a namespace's.
var inspected = map[string]struct{ group, version, resource string }{
	"CloudControllerManager": {"operator.openshift.io", "operator.openshift.io/v1", "cloudcontrollermanagers"},
	"ClusterOperator":        {"config.openshift.io", "config.openshift.io/v1", "clusteroperators"},
	"Infrastructure":         {"config.openshift.io", "config.openshift.io/v1", "infrastructures"},
	"Node":                   {"core", "v1", "nodes"},
	"Pod":                    {"core", "v1", "pods"},
	"ConfigMap":              {"core", "v1", "configmaps"},
	"Secret":                 {"core", "v1", "secrets"},
	"Service":                {"core", "v1", "services"},
	"Event":                  {"core", "v1", "events"},
	"Lease":                  {"coordination.k8s.io", "coordination.k8s.io/v1", "leases"},
}

// mustGathered writes the cluster as oc adm must-gather does, without the given kinds.
func mustGathered(t *testing.T, w *world, without ...string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	image := filepath.Join(dir, "quay-io-openshift-release-dev-ocp-v4-0-art-dev-sha256-0123")
	write := func(content any, path ...string) {
		file := filepath.Join(append([]string{image}, path...)...)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		data, err := yaml.Marshal(content)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(file, append([]byte("---\n"), data...), 0o644))
	}
	lists := map[[3]string][]any{}
	for _, object := range w.cluster().Objects {
		kind := reflect.TypeOf(object).Elem().Name()
		at, known := inspected[kind]
		require.True(t, known, kind)
		if strings.Contains(strings.Join(without, " "), kind) {
			continue
		}
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
		require.NoError(t, err)
		fields["apiVersion"], fields["kind"] = at.version, kind
		metadata, is := fields["metadata"].(map[string]any)
		require.True(t, is)
		name, namespace := fmt.Sprint(metadata["name"]), metadata["namespace"]
		switch {
		case namespace == nil:
			write(fields, "cluster-scoped-resources", at.group, at.resource, name+".yaml")
		case kind == "Pod":
			write(fields, "namespaces", fmt.Sprint(namespace), "pods", name, name+".yaml")
			fallthrough
		default:
			key := [3]string{fmt.Sprint(namespace), at.group, at.resource}
			lists[key] = append(lists[key], fields)
		}
	}
	for key, items := range lists {
		write(map[string]any{"apiVersion": "v1", "kind": "List", "items": items}, "namespaces", key[0], key[1], key[2]+".yaml")
	}
	for pod, log := range w.Logs {
		file := filepath.Join(image, "namespaces", targetNamespace, "pods", pod, "cloud-controller-manager", "cloud-controller-manager", "logs", "current.log")
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		stamped := strings.ReplaceAll("\n"+strings.TrimSuffix(log, "\n"), "\n", "\n2026-11-21T09:00:11.123456789Z ")[1:] + "\n"
		require.NoError(t, os.WriteFile(file, []byte(stamped), 0o644))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "timestamp"),
		[]byte("2026-11-21 08:58:00.5 +0000 UTC m=+0.1\n"+now.Format("2006-01-02 15:04:05.999999999 -0700 MST")+" m=+200.5\n"), 0o644))
	return dir
}

func statusAndNode(t *testing.T, s *snapshot.Snapshot) (status, explanation string) {
	t.Helper()
	var out, explained bytes.Buffer
	current, err := report.StatusOf(s)
	require.NoError(t, err)
	require.NoError(t, current.WriteText(&out, false))
	e, err := report.ExplainNode(s, "worker-1")
	require.NoError(t, err)
	require.NoError(t, e.WriteText(&explained, false))
	return out.String(), explained.String()
}

const noSecretsRead = "  secrets in openshift-cloud-controller-manager: a must-gather has no Secrets\n"

func TestAMustGatherAnswersLikeTheClusterWithoutSecrets(t *testing.T) {
	w := newWorld(t)
	plant(w)
	const leader = "cloud-controller-manager-master-0"
	w.Logs[leader] = strings.ReplaceAll(w.Logs[leader], "login with "+canary+" failed", "instance not found")
	dir := mustGathered(t, w)
	stored, err := snapshot.ReadDirectory(dir, report.LeadingPod)
	require.NoError(t, err)
	require.Equal(t, w.Logs[leader], stored.Log.Text, "the lines have no time in front")
	w.Forbidden = []string{"secrets"}
	status, node := statusAndNode(t, stored)
	liveStatus, liveNode := statusAndNode(t, read(t, w.cluster()))
	const forbidden = "  secrets in openshift-cloud-controller-manager: no right to read this\n"
	require.Equal(t, strings.Replace(liveStatus, forbidden, noSecretsRead, 1), status)
	require.Equal(t, strings.Replace(liveNode, forbidden, noSecretsRead, 1), node)
	require.Contains(t, node, "cause:  the cloud does not know the machine")

	inner, err := filepath.Glob(filepath.Join(dir, "quay*"))
	require.NoError(t, err)
	stored, err = snapshot.ReadDirectory(inner[0], report.LeadingPod)
	require.NoError(t, err, "oc adm inspect writes one directory")
	_, again := statusAndNode(t, stored)
	require.Contains(t, again, "cause:  the cloud does not know the machine")
}

func TestWhatAMustGatherDoesNotHaveIsNotAFault(t *testing.T) {
	w := newWorld(t)
	waits("instance not found")(w)
	w.condition("NodeInitializationDegraded", "True", "NodesUninitialized", "node/worker-1: the cloud does not know the machine")
	stored, err := snapshot.ReadDirectory(mustGathered(t, w, "Lease", "Secret"), report.LeadingPod, snapshot.Service("shop", "frontend")...)
	require.NoError(t, err)
	status, node := statusAndNode(t, stored)
	require.NotContains(t, status, "operator down")
	require.Contains(t, status, "\nLeader     not known: it is not in the must-gather\n")
	require.Contains(t, status, noSecretsRead)
	require.Contains(t, node, "✓ who leads is not known: it is not in the must-gather\n")
	require.Contains(t, node, "cause:  node/worker-1: the cloud does not know the machine\n")
	service, err := report.ExplainService(stored, "shop", "frontend")
	require.NoError(t, err)
	require.Equal(t, "the Service could not be read", service.Cause)
}

func TestAMustGatherThatIsCutIsAnError(t *testing.T) {
	dir := mustGathered(t, newWorld(t))
	files, err := filepath.Glob(filepath.Join(dir, "quay*", "namespaces", targetNamespace, "core", "pods.yaml"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(files[0], []byte("items:\n- {a"), 0o644))
	_, err = snapshot.ReadDirectory(dir, nil)
	relative, relativeErr := filepath.Rel(dir, files[0])
	require.NoError(t, relativeErr)
	require.EqualError(t, err, relative+" is not an object in YAML: the file may be cut, gather again")
}
