package render_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/cmd/render"
)

// asCommand makes the test's executable run the command, so that exit codes and streams are real.
const asCommand = "RENDER_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) == "" {
		os.Exit(m.Run())
	}
	if err := render.NewCommand().Execute(); err != nil {
		os.Exit(3) // the command exits itself
	}
}

// result is the outcome of a run.
type result struct {
	code           int
	stdout, stderr string
}

// node is a prepared /opt/openshift.
type node struct {
	t   *testing.T
	dir string
}

// newNode copies the installer's files.
func newNode(t *testing.T) node {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS("testdata/openstack")))
	return node{t, dir}
}

func (n node) path(name string) string { return filepath.Join(n.dir, name) }

func (n node) read(name string) string {
	n.t.Helper()
	data, err := os.ReadFile(n.path(name))
	require.NoError(n.t, err)
	return string(data)
}

func (n node) write(name, data string) {
	n.t.Helper()
	require.NoError(n.t, os.MkdirAll(filepath.Dir(n.path(name)), 0o755))
	require.NoError(n.t, os.WriteFile(n.path(name), []byte(data), 0o644))
}

func (n node) remove(name string) {
	n.t.Helper()
	require.NoError(n.t, os.Remove(n.path(name)))
}

// edit replaces a string that must exist.
func (n node) edit(name, from, to string) {
	n.t.Helper()
	data := n.read(name)
	require.Contains(n.t, data, from)
	n.write(name, strings.ReplaceAll(data, from, to))
}

// stepFlags are the flags of the bootkube step.
var stepFlags = []string{
	"--asset-input-dir=tls",
	"--asset-output-dir=out",
	"--config-output-file=out/config/cloud-controller-manager-config.yaml",
	"--rendered-manifest-files=manifests",
	"--payload-version=4.22.0",
	"--infra-config-file=manifests/cluster-infrastructure-02-config.yml",
	"--cloud-config-file=config-bootstrap/cloud-provider-config-generated.yaml",
	"--image-references=image-references",
	"--manifest-operator-image=operator.example.com/operator:1",
	"--system-trust-bundle=trust/tls-ca-bundle.pem",
}

// run renders with the step's flags; more flags override them.
func (n node) run(more ...string) result {
	n.t.Helper()
	return n.command(append(slices.Clone(stepFlags), more...)...)
}

func (n node) command(args ...string) result {
	n.t.Helper()
	cmd := exec.CommandContext(n.t.Context(), os.Args[0], args...)
	cmd.Dir = n.dir
	cmd.Env = append(os.Environ(), asCommand+"=1")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		require.NoError(n.t, err)
	}
	return result{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// snapshot returns every file and directory with its mode and content.
func (n node) snapshot(dir string) map[string]string {
	n.t.Helper()
	found := map[string]string{}
	require.NoError(n.t, filepath.WalkDir(n.path(dir), func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		require.NoError(n.t, err)
		info, err := entry.Info()
		require.NoError(n.t, err)
		name, err := filepath.Rel(n.dir, path)
		require.NoError(n.t, err)
		found[name] = info.Mode().String()
		if entry.Type().IsRegular() {
			found[name] += "\n" + n.read(name)
		}
		return nil
	}))
	return found
}

// requireGolden compares the files below out with a directory in testdata.
func (n node) requireGolden(golden string) {
	n.t.Helper()
	dir := filepath.Join("testdata", golden)
	if os.Getenv("UPDATE_GOLDEN") != "" {
		require.NoError(n.t, os.RemoveAll(dir))
		require.NoError(n.t, os.CopyFS(dir, os.DirFS(n.path("out"))))
		require.Fail(n.t, "the golden files are rewritten, look at the difference and run again without UPDATE_GOLDEN")
	}
	want, got := contents(n.t, dir), contents(n.t, n.path("out"))
	for name, data := range want {
		require.Equal(n.t, data, got[name], name)
	}
	require.Len(n.t, got, len(want))
}

func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		require.NoError(t, err)
		if entry.IsDir() {
			return nil
		}
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		name, err := filepath.Rel(dir, path)
		require.NoError(t, err)
		files[name] = string(data)
		return nil
	}))
	return files
}
