package dump_test

import (
	"bytes"
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
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/cmd/dump"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/snapshot"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/snapshottest"
)

// asCommand makes the test's executable run the command, so that exit codes and streams are real.
const asCommand = "DUMP_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) == "" {
		os.Exit(m.Run())
	}
	if err := dump.NewCommand().Execute(); err != nil {
		os.Exit(3)
	}
}

func TestADumpIsADirectoryThatTheOtherCommandsRead(t *testing.T) {
	resource := &ccmv1.CloudControllerManager{ObjectMeta: metav1.ObjectMeta{Name: "cluster"}}
	cluster := &snapshottest.Cluster{
		Now:     time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC),
		Objects: []any{resource, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "worker-1"}}},
	}
	dir := t.TempDir()
	cluster.Kubeconfig(t, filepath.Join(dir, "kubeconfig"))
	run := func(args ...string) (code int, stdout, stderr string) {
		cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
		cmd.Dir, cmd.Env = dir, []string{asCommand + "=1", "KUBECONFIG=kubeconfig"}
		var out, messages bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &messages
		var exit *exec.ExitError
		if err := cmd.Run(); !errors.As(err, &exit) {
			require.NoError(t, err)
		}
		return cmd.ProcessState.ExitCode(), out.String(), messages.String()
	}
	code, stdout, stderr := run("out")
	require.Equal(t, 0, code, stderr)
	require.Equal(t, "3 files in out\n", stdout)
	read, err := snapshot.ReadDirectory(filepath.Join(dir, "out"), nil)
	require.NoError(t, err)
	require.Equal(t, cluster.Now, read.Taken)
	require.Equal(t, "worker-1", snapshot.List[corev1.Node](read, "")[0].Name)

	code, _, stderr = run("out")
	require.Equal(t, 2, code)
	require.Equal(t, "dump: out is not empty: name another directory\n", stderr)
	code, _, stderr = run()
	require.Equal(t, 2, code)
	require.Equal(t, "dump: wrong arguments: write dump DIR [flags]\n", stderr)
}
