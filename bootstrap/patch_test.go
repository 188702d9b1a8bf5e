package bootstrap_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	installerPatch = "../docs/onboarding/installer.patch"
	installerBin   = "data/data/bootstrap/files/usr/local/bin"
	// imageFor is the installer's function for an image of the release.
	imageFor = `
unset CLOUD_CONTROLLER_MANAGER_OPERATOR_IMAGE
image_for() {
	[ "$*" = static-pod-cloud-controller-manager-operator ] || return 1
	echo operator.example.com/operator:1
}
`
)

// patchedInstaller applies the patch to a bootkube.sh.template of ours and returns its directory. The template has
// only the line by which the patch finds its place, after as many others.
func patchedInstaller(t *testing.T, linesBefore int) string {
	t.Helper()
	dir := t.TempDir()
	template := strings.Repeat("if [ ! -f other.done ]\nthen\n\ttouch other.done\nfi\n\n", linesBefore/5) +
		"if [ ! -f cco-bootstrap.done ]\nthen\n\techo cco >>order\nfi\n"
	require.NoError(t, os.MkdirAll(filepath.Join(dir, installerBin), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, installerBin, "bootkube.sh.template"), []byte(template), 0o644))
	patch, err := os.Open(installerPatch)
	require.NoError(t, err)
	defer patch.Close()
	apply := exec.CommandContext(t.Context(), "git", "apply")
	apply.Dir, apply.Stdin = dir, patch
	apply.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
	output, err := apply.CombinedOutput()
	require.NoError(t, err, string(output))
	return filepath.Join(dir, installerBin)
}

func TestTheInstallersPatchFindsItsPlaceInEveryVersion(t *testing.T) {
	for _, lines := range []int{5, 300, 480, 2000} {
		template, err := os.ReadFile(filepath.Join(patchedInstaller(t, lines), "bootkube.sh.template"))
		require.NoError(t, err)
		require.Contains(t, string(template), "fi\n\n# shellcheck source=bootstrap-cloud-controller-manager.sh\n"+
			". /usr/local/bin/bootstrap-cloud-controller-manager.sh\n\nif [ ! -f cco-bootstrap.done ]\n")
		require.NotContains(t, string(template), "{{", "bootkube.sh.template is a template")
	}
}

func TestTheInstallersPatchRunsTheStepIfTheFeatureGateIsEnabled(t *testing.T) {
	script := filepath.Join(patchedInstaller(t, 300), "bootstrap-cloud-controller-manager.sh")
	n := newNode(t)
	n.edit("manifests/99_feature-gate.yaml", "enabled:\n", "enabled:\n    - name: StaticPodCloudControllerManager\n")
	code, stderr := n.source(script, imageFor)
	require.Equal(t, 0, code, stderr)
	n.requireDone()
}

func TestTheInstallersPatchChangesNothingWithoutTheFeatureGate(t *testing.T) {
	script := filepath.Join(patchedInstaller(t, 300), "bootstrap-cloud-controller-manager.sh")
	n := newNode(t)
	manifests := n.files("manifests")
	code, stderr := n.source(script, imageFor)
	require.Equal(t, 0, code, stderr)
	require.Equal(t, "render: manifests/99_feature-gate.yaml: featuregate.config.openshift.io/cluster does not enable "+
		"StaticPodCloudControllerManager in 4.22.0: no files are written\n", strings.ReplaceAll(stderr, n.dir+"/", ""))
	require.Equal(t, manifests, n.files("manifests"))
	require.Equal(t, []string{"kube-apiserver-pod.yaml"}, n.files("bootstrap-manifests"))
	require.Equal(t, []string{"root-ca.key"}, n.files("tls"))
	require.Empty(t, n.files("bootstrap-configs"))
	require.FileExists(t, filepath.Join(n.dir, "cloud-controller-manager-bootstrap.done"))
}
