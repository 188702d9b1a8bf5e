package bootstrap_test

import (
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"text/template"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

const (
	installerPatch = "../docs/onboarding/installer.patch"
	installerBin   = "data/data/bootstrap/files/usr/local/bin"
	installerGo    = "pkg/asset/ignition/bootstrap/common.go"
	// imageFor is the installer's function for an image of the release.
	imageFor = `
unset CLOUD_CONTROLLER_MANAGER_OPERATOR_IMAGE
image_for() {
	[ "$*" = static-pod-cloud-controller-manager-operator ] || return 1
	echo operator.example.com/operator:1
}
`
	// installerCommon has the lines of common.go by which the patch finds its places.
	installerCommon = `package bootstrap

type data struct {
	AdditionalTrustBundle string
	OSImageStream         types.OSImageStream
}

func get() *data {
	return &data{
		AdditionalTrustBundle: "",
		OSImageStream:         installConfig.Config.OSImageStream,
	}
}

// AddStorageFiles adds files to a Ignition config.
func AddStorageFiles() {}
`
)

// patchedInstaller applies the patch to a bootkube.sh.template and a common.go of ours and returns their directory. They
// have only the lines by which the patch finds its places, after as many others.
func patchedInstaller(t *testing.T, linesBefore int) string {
	t.Helper()
	dir := t.TempDir()
	others := strings.Repeat("if [ ! -f other.done ]\nthen\n\ttouch other.done\nfi\n\n", linesBefore/5)
	for name, content := range map[string]string{
		installerBin + "/bootkube.sh.template": "# shellcheck source=bootstrap-verify-api-server-urls.sh\n" + others +
			"if [ ! -f cco-bootstrap.done ]\nthen\n\techo cco >>order\nfi\n",
		installerGo: installerCommon,
	} {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	}
	patch, err := os.Open(installerPatch)
	require.NoError(t, err)
	defer patch.Close()
	apply := exec.CommandContext(t.Context(), "git", "apply")
	apply.Dir, apply.Stdin = dir, patch
	apply.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
	output, err := apply.CombinedOutput()
	require.NoError(t, err, string(output))
	return dir
}

// installerStep executes the patch's template as the installer does, and returns a script that calls its function.
func installerStep(t *testing.T, enabled bool) string {
	t.Helper()
	dir := patchedInstaller(t, 300)
	script, err := template.ParseFiles(filepath.Join(dir, installerBin, "cloud-controller-manager.sh.template"))
	require.NoError(t, err)
	path := filepath.Join(dir, "cloud-controller-manager.sh")
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)
	require.NoError(t, err)
	require.NoError(t, script.Execute(file, map[string]bool{"StaticPodCCMEnabled": enabled}))
	_, err = file.WriteString("cloud_controller_manager_setup\n")
	require.NoError(t, err)
	require.NoError(t, file.Close())
	return path
}

func TestTheInstallersPatchFindsItsPlacesInEveryVersion(t *testing.T) {
	for _, lines := range []int{5, 300, 480, 2000} {
		dir := patchedInstaller(t, lines)
		script, err := os.ReadFile(filepath.Join(dir, installerBin, "bootkube.sh.template"))
		require.NoError(t, err)
		require.Regexp(t, `^# shellcheck source=cloud-controller-manager.sh.template\n`+
			`\. /usr/local/bin/cloud-controller-manager.sh\n`+
			`# shellcheck source=bootstrap-verify-api-server-urls.sh\n`, string(script))
		require.Contains(t, string(script), "fi\n\ncloud_controller_manager_setup\n\nif [ ! -f cco-bootstrap.done ]\n")
		code, err := os.ReadFile(filepath.Join(dir, installerGo))
		require.NoError(t, err)
		formatted, err := format.Source(code)
		require.NoError(t, err)
		require.Equal(t, string(formatted), string(code))
	}
}

func TestTheInstallersPatchHasNoStepOnPlatformsWithoutACloudControllerManager(t *testing.T) {
	patch, err := os.ReadFile(installerPatch)
	require.NoError(t, err)
	excluded := regexp.MustCompile(`config\.Platform\.(\w+) != nil`).FindAllStringSubmatch(string(patch), -1)
	require.NotEmpty(t, excluded)
	for _, match := range excluded {
		infrastructure := &configv1.Infrastructure{}
		status := `{"status": {"platformStatus": {"type": "` + match[1] + `"}}}`
		require.NoError(t, yaml.UnmarshalStrict([]byte(status), infrastructure))
		if _, meant, known := platform.UnknownType(infrastructure); !known { // Ovirt is oVirt.
			require.NotEmpty(t, meant, match[1])
		}
		p, err := platform.Of(infrastructure, nil)
		require.NoError(t, err)
		require.False(t, p.Managed(), match[1])
	}
}

func TestTheInstallersPatchRunsTheStepIfTheFeatureGateIsEnabled(t *testing.T) {
	script := installerStep(t, true)
	n := newNode(t)
	n.edit("manifests/99_feature-gate.yaml", "enabled:\n", "enabled:\n    - name: StaticPodCloudControllerManager\n")
	code, stderr := n.source(script, imageFor)
	require.Equal(t, 0, code, stderr)
	n.requireDone()
}

func TestTheInstallersPatchDoesNothingOnOtherClusters(t *testing.T) {
	n := newNode(t)
	code, stderr := n.source(installerStep(t, false), "image_for() { return 1; }")
	require.Equal(t, 0, code, stderr)
	require.Empty(t, stderr)
	require.NoFileExists(t, filepath.Join(n.dir, "stages"))
	require.NoFileExists(t, filepath.Join(n.dir, "cloud-controller-manager-bootstrap.done"))
}

func TestTheInstallersPatchChangesNothingIfThePayloadDoesNotEnableTheFeatureGate(t *testing.T) {
	n := newNode(t)
	manifests := n.files("manifests")
	code, stderr := n.source(installerStep(t, true), imageFor)
	require.Equal(t, 0, code, stderr)
	require.Equal(t, "render: manifests/99_feature-gate.yaml: featuregate.config.openshift.io/cluster does not enable "+
		"StaticPodCloudControllerManager in 4.22.0: no files are written\n", strings.ReplaceAll(stderr, n.dir+"/", ""))
	require.Equal(t, manifests, n.files("manifests"))
	require.Equal(t, []string{"kube-apiserver-pod.yaml"}, n.files("bootstrap-manifests"))
	require.Equal(t, []string{"root-ca.key"}, n.files("tls"))
	require.Empty(t, n.files("bootstrap-configs"))
	require.FileExists(t, filepath.Join(n.dir, "cloud-controller-manager-bootstrap.done"))
}
