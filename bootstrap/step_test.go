package bootstrap_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/cmd/render"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/dockerfile"
)

const (
	// asCommand makes the test's executable run as the operator's binary.
	asCommand = "BOOTSTRAP_TEST_AS_COMMAND"
	// operator is the path of the binary in the operator's image.
	operator = "/usr/bin/cluster-cloud-controller-manager-operator"
)

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) == "" {
		os.Exit(m.Run())
	}
	root := &cobra.Command{Use: filepath.Base(operator)}
	root.AddCommand(render.NewCommand())
	if err := root.Execute(); err != nil {
		os.Exit(3) // render exits itself, so this is the root command's error
	}
}

// surroundings is the part of bootkube.sh that the step requires. The container sees the node's directory as /assets.
// Here, options and messages have that directory's real path.
const surroundings = `
set -o errexit -o nounset -o pipefail -o errtrace
VERSION=4.22.0
CLOUD_CONTROLLER_MANAGER_OPERATOR_IMAGE=operator.example.com/operator:1
record_service_stage_start() { echo "start $1" >>stages; }
record_service_stage_success() { echo success >>stages; }
bootkube_podman_run() {
	echo "$*" >>containers
	while [ "$1" != "${CLOUD_CONTROLLER_MANAGER_OPERATOR_IMAGE}" ]; do shift; done
	shift
	podman_run_image "$@" || return $?
	after_render
}
run_program() {
	BOOTSTRAP_TEST_AS_COMMAND=1 "$BINARY" "${@//\/assets\//$PWD/}" --system-trust-bundle="$PWD/trust/tls-ca-bundle.pem"
}
after_render() { :; }
`

// node is a prepared /opt/openshift. It contains the directory that replaces /etc/kubernetes/bootstrap-configs.
type node struct {
	t   *testing.T
	dir string
}

func newNode(t *testing.T) node {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(filepath.Join("..", "pkg", "cmd", "render", "testdata", "openstack"))))
	// The files of other steps.
	for _, folder := range []string{"tls", "bootstrap-manifests", "bootstrap-configs"} {
		require.NoError(t, os.Mkdir(filepath.Join(dir, folder), 0o755))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "tls", "root-ca.key"), []byte("key"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "bootstrap-manifests", "kube-apiserver-pod.yaml"), []byte("pod"), 0o644))
	return node{t, dir}
}

// step runs the step; more is additional shell code before it.
func (n node) step(more string) (code int, stderr string) {
	n.t.Helper()
	return n.source("bootkube-step.sh", more)
}

// source runs a script as bootkube.sh would; more is additional shell code before it.
func (n node) source(script, more string) (code int, stderr string) {
	n.t.Helper()
	binary, err := os.Executable()
	require.NoError(n.t, err)
	step, err := filepath.Abs(script)
	require.NoError(n.t, err)
	image, err := dockerfile.Read(filepath.Join("..", dockerfile.Name))
	require.NoError(n.t, err)
	cmd := exec.CommandContext(n.t.Context(), "bash", "-c", image.Shell(operator)+surroundings+more+"\nsource "+step)
	cmd.Dir = n.dir
	cmd.Env = append(os.Environ(), "BINARY="+binary, "BOOTSTRAP_CONFIGS_DIR="+filepath.Join(n.dir, "bootstrap-configs"))
	var output bytes.Buffer
	cmd.Stderr = &output
	err = cmd.Run()
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		require.NoError(n.t, err)
	}
	return cmd.ProcessState.ExitCode(), output.String()
}

func (n node) mustStep() {
	n.t.Helper()
	code, stderr := n.step("")
	require.Equal(n.t, 0, code, stderr)
}

// files lists the folder.
func (n node) files(folder string) []string {
	n.t.Helper()
	entries, err := os.ReadDir(filepath.Join(n.dir, folder))
	require.NoError(n.t, err)
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

func (n node) read(name string) string {
	n.t.Helper()
	data, err := os.ReadFile(filepath.Join(n.dir, name))
	require.NoError(n.t, err)
	return string(data)
}

func (n node) edit(name, from, to string) {
	n.t.Helper()
	data := n.read(name)
	require.Contains(n.t, data, from)
	require.NoError(n.t, os.WriteFile(filepath.Join(n.dir, name), []byte(strings.ReplaceAll(data, from, to)), 0o644))
}

// requireDone checks that later steps and cluster-bootstrap find everything.
func (n node) requireDone() {
	n.t.Helper()
	golden := filepath.Join("..", "pkg", "cmd", "render", "testdata", "openstack-out")
	for from, to := range map[string]string{
		"config": "bootstrap-configs", "tls": "tls", "manifests": "manifests", "bootstrap-manifests": "bootstrap-manifests",
	} {
		entries, err := os.ReadDir(filepath.Join(golden, from))
		require.NoError(n.t, err)
		require.NotEmpty(n.t, entries)
		for _, entry := range entries {
			want, err := os.ReadFile(filepath.Join(golden, from, entry.Name()))
			require.NoError(n.t, err)
			require.Equal(n.t, string(want), n.read(filepath.Join(to, entry.Name())), entry.Name())
		}
	}
	// The pod and the configuration have proxy URLs, which may contain a password.
	private := []string{"bootstrap-manifests/cloud-controller-manager-pod.yaml", "bootstrap-configs/cloud-controller-manager-config.yaml"}
	for _, name := range n.files("tls") {
		private = append(private, filepath.Join("tls", name))
	}
	for _, name := range private {
		info, err := os.Stat(filepath.Join(n.dir, name))
		require.NoError(n.t, err)
		require.Equal(n.t, os.FileMode(0o600), info.Mode(), name)
	}
	require.Equal(n.t, "key", n.read("tls/root-ca.key"))
	require.Equal(n.t, "pod", n.read("bootstrap-manifests/kube-apiserver-pod.yaml"))
	require.FileExists(n.t, filepath.Join(n.dir, "cloud-controller-manager-bootstrap.done"))
}

func TestTheStepPutsEverythingInPlace(t *testing.T) {
	n := newNode(t)
	n.mustStep()
	n.requireDone()
	require.Equal(t, "start cloud-controller-manager-bootstrap\nsuccess\n", n.read("stages"))
	require.Contains(t, n.read("containers"), "--name cloud-controller-manager-render --user 0 --volume "+n.dir+":/assets:z operator.example.com/operator:1 ")
}

func TestTheStepIsSkippedWhenItIsDone(t *testing.T) {
	n := newNode(t)
	n.mustStep()
	n.mustStep()
	n.requireDone()
	require.Equal(t, "start cloud-controller-manager-bootstrap\nsuccess\n", n.read("stages"))
}

func TestTheStepIsRepeatedAfterACrash(t *testing.T) {
	for name, crash := range map[string]string{
		"before it renders":                      `record_service_stage_start() { kill -KILL $$; }`,
		"between rendering and copying":          `after_render() { kill -KILL $$; }`,
		"when one folder of four is copied":      `cp() { command cp "$@"; case "$1" in */config/*trusted-ca*) kill -KILL $$;; esac; }`,
		"in the middle of a file":                `cp() { head -c 20 "$1" >"$2/$(basename "$1")"; kill -KILL $$; }`,
		"when all is copied but not marked done": `touch() { kill -KILL $$; }`,
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t)
			code, _ := n.step(crash)
			require.Equal(t, -1, code, "the shell is killed")
			require.NoFileExists(t, filepath.Join(n.dir, "cloud-controller-manager-bootstrap.done"))
			n.mustStep()
			n.requireDone()
		})
	}
}

func TestTheStepSucceedsWithoutACloud(t *testing.T) {
	n := newNode(t)
	n.edit("manifests/cluster-infrastructure-02-config.yml", "type: OpenStack\n", "type: None\n")
	code, stderr := n.step("")
	require.Equal(t, 0, code)
	require.Equal(t, "render: platform None has no cloud-controller-manager: no pod is written\n", stderr)
	require.Equal(t, []string{"kube-apiserver-pod.yaml"}, n.files("bootstrap-manifests"))
	require.Equal(t, []string{"root-ca.key"}, n.files("tls"))
	require.Equal(t, []string{"cloud-controller-manager-config.yaml"}, n.files("bootstrap-configs"))
	require.FileExists(t, filepath.Join(n.dir, "cloud-controller-manager-bootstrap.done"))
}

// noCapability is the installer's ClusterVersion without the capability.
const noCapability = `apiVersion: config.openshift.io/v1
kind: ClusterVersion
metadata:
  namespace: openshift-cluster-version
  name: version
spec:
  clusterID: 2a1b3c4d-0000-4000-8000-000000000000
  capabilities:
    baselineCapabilitySet: None
    additionalEnabledCapabilities:
    - MachineAPI
`

func TestTheStepCopiesNothingWithoutTheCapability(t *testing.T) {
	n := newNode(t)
	require.NoError(t, os.WriteFile(filepath.Join(n.dir, "manifests", "cvo-overrides.yaml"), []byte(noCapability), 0o644))
	manifests := n.files("manifests")
	code, stderr := n.step("")
	require.Equal(t, 0, code, stderr)
	require.Equal(t, "render: manifests/cvo-overrides.yaml: clusterversion.config.openshift.io/version "+
		"disables the capability CloudControllerManager: no files are written\n", strings.ReplaceAll(stderr, n.dir+"/", ""))
	require.Equal(t, manifests, n.files("manifests"))
	require.Equal(t, []string{"kube-apiserver-pod.yaml"}, n.files("bootstrap-manifests"))
	require.Equal(t, []string{"root-ca.key"}, n.files("tls"))
	require.Empty(t, n.files("bootstrap-configs"))
	require.NoFileExists(t, filepath.Join(n.dir, "cloud-controller-manager-bootstrap"))
	require.FileExists(t, filepath.Join(n.dir, "cloud-controller-manager-bootstrap.done"))
}

// unclosed breaks the cloud configuration.
func (n node) unclosed() {
	n.t.Helper()
	n.edit("manifests/cloud-provider-config.yaml", "[Global]", "[Global")
	n.edit("config-bootstrap/cloud-provider-config-generated.yaml", "[Global]", "[Global")
}

const goesOn = "The installation goes on without a cloud-controller-manager on the bootstrap node."

// systemd restarts bootkube every five seconds, for ever, and nobody corrects an input meanwhile.
func TestTheStepEndsWhateverTheInputIs(t *testing.T) {
	for name, tc := range map[string]struct {
		prepare func(node)
		message string
	}{
		"a cloud configuration that the cloud-controller-manager cannot read": {
			prepare: node.unclosed,
			message: "render: manifests/cloud-provider-config.yaml: configmap/cloud-provider-config in openshift-config, line 1:1 of the " +
				"value of key config: the header of section [Global] is not closed: write \"]\" after the name [CCM0001]: no pod is " +
				"written, and nodes stay uninitialized until the cluster's own cloud-controller-manager runs",
		},
		"an Infrastructure that is missing": {
			prepare: func(n node) {
				require.NoError(n.t, os.Remove(filepath.Join(n.dir, "manifests/cluster-infrastructure-02-config.yml")))
			},
			message: "render: manifests/cluster-infrastructure-02-config.yml cannot be read: no such file or directory\n" + goesOn,
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t)
			tc.prepare(n)
			code, stderr := n.step("")
			require.Equal(t, 0, code, stderr)
			require.Equal(t, tc.message+"\n", strings.ReplaceAll(stderr, n.dir+"/", ""))
			require.Equal(t, []string{"kube-apiserver-pod.yaml"}, n.files("bootstrap-manifests"))
			require.Equal(t, []string{"root-ca.key"}, n.files("tls"))
			require.FileExists(t, filepath.Join(n.dir, "cloud-controller-manager-bootstrap.done"))
			require.Equal(t, "start cloud-controller-manager-bootstrap\nsuccess\n", n.read("stages"))
		})
	}
}

func TestTheStepIsRepeatedIfPodmanFails(t *testing.T) {
	n := newNode(t)
	code, stderr := n.step("podman_run_image() { echo 'Error: no space left on device' >&2; return 125; }")
	require.Equal(t, 125, code, stderr)
	require.Equal(t, "Error: no space left on device\n", stderr)
	require.NoFileExists(t, filepath.Join(n.dir, "cloud-controller-manager-bootstrap.done"))
	n.mustStep()
	n.requireDone()
}

func TestTheStepEndsIfRenderCrashes(t *testing.T) {
	for name, code := range map[string]int{"a panic": 2, "no memory": 137} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t)
			code, stderr := n.step(fmt.Sprintf(`podman_run_image() {
	mkdir --parents cloud-controller-manager-bootstrap/tls && echo half >cloud-controller-manager-bootstrap/tls/half
	return %d
}`, code))
			require.Equal(t, 0, code, stderr)
			require.Equal(t, goesOn+"\n", stderr)
			require.Equal(t, []string{"root-ca.key"}, n.files("tls"))
			require.FileExists(t, filepath.Join(n.dir, "cloud-controller-manager-bootstrap.done"))
		})
	}
}
