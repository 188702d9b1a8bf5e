package payload_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/payload"
)

const prefix = "0000_26_cloud-controller-manager-operator_"

func leftBehind(t *testing.T, former string) (string, error) {
	t.Helper()
	command := exec.Command("../../../../hack/left-behind.sh", former, ours)
	out, err := command.CombinedOutput()
	return string(out), err
}

// copied returns a copy of the payload without some files.
func copied(t *testing.T, without ...string) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(ours)))
	for _, name := range without {
		require.NoError(t, os.Remove(filepath.Join(dir, name)))
	}
	return dir
}

func TestWhatAFormerPayloadLacksIsLeftBehind(t *testing.T) {
	former := copied(t, prefix+"09_events.admissionpolicy.yaml", prefix+"07_config.configmap.yaml")
	printed, err := leftBehind(t, former)
	require.NoError(t, err, printed)
	const policy = ".admissionregistration.k8s.io openshift-cloud-controller-manager-operand-events\n"
	require.Equal(t, "oc delete -n openshift-cloud-controller-manager-operator configmap cloud-controller-manager-operator-config\n"+
		"oc delete validatingadmissionpolicy"+policy+"oc delete validatingadmissionpolicybinding"+policy, printed)
}

func TestNothingIsLeftBehindByTheSamePayload(t *testing.T) {
	printed, err := leftBehind(t, copied(t))
	require.NoError(t, err)
	require.Empty(t, printed)
}

func TestEachObjectOfThePayloadIsLeftBehindByAnEmptyOne(t *testing.T) {
	empty := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(empty, prefix+"00.yaml"), nil, 0o600))
	printed, err := leftBehind(t, empty)
	require.NoError(t, err)
	manifests, err := payload.Read(ours, release)
	require.NoError(t, err)
	for _, manifest := range manifests {
		object, scope := manifest.Object, ""
		if namespace := object.GetNamespace(); namespace != "" {
			scope = "-n " + namespace + " "
		}
		line := "oc delete " + scope + strings.ToLower(object.GroupVersionKind().GroupKind().String()) + " " + object.GetName()
		require.Equal(t, !manifest.Deleted(), strings.Contains("\n"+printed, "\n"+line+"\n"), line)
	}
}

func TestADirectoryWithoutAPayloadHasNothingToCompare(t *testing.T) {
	empty := t.TempDir()
	printed, err := leftBehind(t, empty)
	require.Error(t, err)
	require.Equal(t, empty+" has no manifests of this operator\n", printed)
}
