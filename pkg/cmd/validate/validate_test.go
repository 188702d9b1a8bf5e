package validate_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/cmd/validate"
)

// asCommand makes the test's executable run the command, so that exit codes and streams are real.
const asCommand = "VALIDATE_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) == "" {
		os.Exit(m.Run())
	}
	if err := validate.NewCommand().Execute(); err != nil {
		os.Exit(3) // the command exits itself
	}
}

// result is the outcome of a run.
type result struct {
	code           int
	stdout, stderr string
}

// workspace is the directory of a run.
type workspace struct {
	t   *testing.T
	dir string
	// stdin is the standard input of the command.
	stdin string
}

// newWorkspace returns a directory with a cluster on OpenStack.
func newWorkspace(t *testing.T) workspace {
	t.Helper()
	f := workspace{t: t, dir: t.TempDir()}
	f.write("infra.yaml", infrastructure("OpenStack"))
	f.write("cloud.yaml", configMap+`  config: |
    [Global]
    region = one
    [LoadBalancer]
    enabled = true
`)
	return f
}

const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: cloud-provider-config\n  namespace: openshift-config\ndata:\n"

func infrastructure(platform string) string {
	return `apiVersion: config.openshift.io/v1
kind: Infrastructure
metadata:
  name: cluster
spec:
  cloudConfig:
    name: cloud-provider-config
    key: config
  platformSpec:
    type: ` + platform + `
status:
  apiServerInternalURI: https://api-int.ostest.example.com:6443
  infrastructureName: ostest-x7k2p
  platformStatus:
    type: ` + platform + "\n"
}

func (f workspace) write(name, data string) {
	f.t.Helper()
	path := filepath.Join(f.dir, name)
	require.NoError(f.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(f.t, os.WriteFile(path, []byte(data), 0o644))
}

func TestArgumentsAreFilesWithObjectsOfAnyKind(t *testing.T) {
	f := newWorkspace(t)
	f.write("cloud.yaml", configMap+"  config: |\n    [Global]\n    regoin = one\n")
	want := "error: unknown key \"regoin\" in [Global]; did you mean \"region\"? [CCM0003]\n"
	got := f.command("infra.yaml", "cloud.yaml")
	require.Equal(t, 1, got.code)
	require.Contains(t, got.stdout, "cloud.yaml:9:5: "+want)
	infra, err := os.ReadFile(filepath.Join(f.dir, "infra.yaml"))
	require.NoError(t, err)
	f.stdin = string(infra) + "---\n" + configMap + "  config: |\n    [Global]\n    regoin = one\n"
	got = f.command("-")
	require.Equal(t, 1, got.code)
	require.Contains(t, got.stdout, "stdin:25:5: "+want)
	require.Contains(t, got.stdout, " in stdin, checked for platform openstack\n")
	f.stdin = string(infra)
	got = f.command("--infra-config-file=-", "--cloud-config-file=cloud.yaml")
	require.Contains(t, got.stdout, "cloud.yaml:9:5: "+want)
}

func TestWarningsFailOnRequest(t *testing.T) {
	f := newWorkspace(t)
	f.write("cloud.yaml", configMap+"  config: |\n    [Global]\n    [BlockStorage]\n    bs-version = v3\n")
	for flag, code := range map[string]int{"--verbose=false": 0, "--fail-on=error": 0, "--fail-on=warning": 1} {
		got := f.run(flag)
		require.Contains(t, got.stdout, "0 errors, 1 warning in cloud.yaml", flag)
		require.Equal(t, code, got.code, flag)
	}
}

// run validates infra.yaml and cloud.yaml.
func (f workspace) run(more ...string) result {
	f.t.Helper()
	return f.command(append([]string{"--infra-config-file=infra.yaml", "--cloud-config-file=cloud.yaml"}, more...)...)
}

func (f workspace) command(args ...string) result {
	f.t.Helper()
	var stdout bytes.Buffer
	got := f.runTo(&stdout, args...)
	got.stdout = stdout.String()
	return got
}

// runTo writes the output to stdout.
func (f workspace) runTo(stdout io.Writer, args ...string) result {
	f.t.Helper()
	cmd := exec.CommandContext(f.t.Context(), os.Args[0], args...)
	cmd.Dir = f.dir
	cmd.Env = append(os.Environ(), asCommand+"=1")
	var stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(f.stdin), stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		require.NoError(f.t, err)
	}
	return result{code: cmd.ProcessState.ExitCode(), stderr: stderr.String()}
}

// lines joins lines of output.
func lines(lines ...string) string { return strings.Join(lines, "\n") + "\n" }
