package explain_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ccmv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/cmd/explain"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/codes"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/report"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/snapshottest"
)

// asCommand makes the test's executable run the command, so that exit codes and streams are real.
const asCommand = "EXPLAIN_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) == "" {
		os.Exit(m.Run())
	}
	if err := explain.NewCommand().Execute(); err != nil {
		os.Exit(3)
	}
}

type result struct {
	code           int
	stdout, stderr string
}

func cluster() *snapshottest.Cluster {
	resource := &ccmv1.CloudControllerManager{ObjectMeta: metav1.ObjectMeta{Name: "cluster"}}
	resource.Spec.ObservedConfig.Raw = []byte(`{"platform":"none"}`)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "worker-1"}, Spec: corev1.NodeSpec{ProviderID: "a://b"}}
	return &snapshottest.Cluster{
		Now: time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC), Objects: []any{resource, node},
		Forbidden: []string{"openshift-cloud-controller-manager-operator"},
	}
}

func run(t *testing.T, args ...string) result {
	t.Helper()
	dir := t.TempDir()
	cluster().Kubeconfig(t, filepath.Join(dir, "kubeconfig"))
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Dir, cmd.Env = dir, []string{asCommand + "=1", "KUBECONFIG=kubeconfig"}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	var exit *exec.ExitError
	if err := cmd.Run(); !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	return result{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

func TestTheExitCodeSaysWhetherSomethingWaits(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		code int
	}{
		"a node that is initialized": {[]string{"node", "worker-1"}, 0},
		"by its full name":           {[]string{"node", "node/worker-1"}, 0},
		"a node that is missing":     {[]string{"node", "worker-2"}, 1},
		"a Service that is missing":  {[]string{"service", "a/b"}, 1},
		"a deletion that is done":    {[]string{"deletion", "worker-2"}, 0},
		"a deletion that waits":      {[]string{"deletion", "worker-1"}, 1},
		"a rollout where none is":    {[]string{"rollout"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			got := run(t, tc.args...)
			require.Equal(t, tc.code, got.code, got.stdout)
			require.Empty(t, got.stderr)
			require.Contains(t, got.stdout, map[int]string{0: "nothing waits\n", 1: "action: "}[tc.code])
		})
	}
}

func TestProgramsReadJSON(t *testing.T) {
	got := run(t, "node", "worker-2", "-o", "json")
	require.Equal(t, 1, got.code)
	var e report.Explanation
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &e))
	require.Equal(t, []report.Step{{OK: false, Text: "node/worker-2 does not exist"}}, e.Steps)
	require.Equal(t, "no kubelet has registered the Node", e.Cause)
}

func TestACodeSaysWhatItMeansAndWhatToDo(t *testing.T) {
	const want = "CCM0128, reason NodeReports of NodeDeletionDegraded\n\n" +
		"means:  the CCM wants to delete a Node whose kubelet reports, so its machine exists\n" +
		"action: check that the cloud configuration names the cloud of this machine\n\n" +
		"https://github.com/openshift/cluster-cloud-controller-manager-operator/blob/main/docs/reasons.md#ccm0128\n"
	for _, name := range []string{"CCM0128", "ccm0128", "NodeReports", "NodeDeletion_NodeReports"} {
		require.Equal(t, result{stdout: want}, run(t, name))
	}
	require.Contains(t, run(t, "CCM0003").stdout, "CCM0003, finding Typo\n")
	got := run(t, "CCM0128", "-o", "json")
	var code codes.Code
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &code))
	found, _ := codes.Find("CCM0128")
	require.Equal(t, found, code)
}

func TestCodesAreCompleted(t *testing.T) {
	got := run(t, "__complete", "CCM012")
	require.Contains(t, got.stdout, "CCM0128\tNodeReports\n")
	require.NotContains(t, got.stdout, "CCM0003")
	require.Contains(t, run(t, "__complete", "").stdout, "\nCCM0003\tTypo\n")
	require.Contains(t, run(t, "__complete", "").stdout, "rollout\tExplain where")
	require.NotContains(t, run(t, "__complete", "CCM0128", "").stdout, "CCM")
}

func TestWithoutAnArgumentTheHelpIsPrinted(t *testing.T) {
	got := run(t)
	require.Zero(t, got.code)
	require.Contains(t, got.stdout, "explain CCM0042\n")
}

func TestWrongUsageIsOneLineAndExitCode2(t *testing.T) {
	for want, args := range map[string][]string{
		"node: wrong arguments: write explain node NAME [flags]\n":   {"node"},
		"service: \"b\" is no Service: specify NAMESPACE/NAME\n":     {"service", "b"},
		"service: \"a/b/c\" is no Service: specify NAMESPACE/NAME\n": {"service", "a/b/c"},
		"rollout: wrong arguments: write explain rollout [flags]\n":  {"rollout", "x"},
		"explain: \"CCM0001\" is nothing to explain: specify node NAME, service NAMESPACE/NAME, deletion NODE, " +
			"rollout, or one code of https://github.com/openshift/cluster-cloud-controller-manager-operator/blob/main/" +
			"docs/reasons.md\n": {"CCM0001", "CCM0002"},
		"explain: \"CCM9999\" is no code and no reason of a condition: specify node NAME, service NAMESPACE/NAME, " +
			"deletion NODE, rollout, or a code of https://github.com/openshift/" +
			"cluster-cloud-controller-manager-operator/blob/main/docs/reasons.md\n": {"CCM9999"},
		"deletion: unknown flag: --wat\n":                             {"deletion", "--wat"},
		"node: --output is \"yaml\": specify text or json\n":          {"node", "a", "--output=yaml"},
		"node: kubeconfig kubeconfig: context \"x\" does not exist\n": {"node", "a", "--context=x"},
	} {
		require.Equal(t, result{code: 2, stderr: want}, run(t, args...))
	}
}
