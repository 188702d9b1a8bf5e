package record

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAFaultIsReadAsItWasWritten(t *testing.T) {
	dir := t.TempDir()
	none, err := Faults(dir)
	require.NoError(t, err)
	require.Empty(t, none)
	fault := Fault{
		Name: "a manifest is deleted", Condition: "NodeFilesDegraded", Visible: Seconds(1500 * time.Millisecond),
		Converged: Seconds(time.Minute), Invariants: "held", Date: time.Unix(0, 0).UTC(), Commit: "0123456789ab",
	}
	require.NoError(t, WriteFault(dir, &fault))
	require.NoError(t, WriteFault(dir, &fault), "a record is replaced")
	require.NoError(t, WriteFault(dir, &Fault{Name: "A disk is full: no space left"}))
	faults, err := Faults(dir)
	require.NoError(t, err)
	require.Equal(t, []Fault{{Name: "A disk is full: no space left"}, fault}, faults)
	content, err := os.ReadFile(filepath.Join(dir, "faults", "a-manifest-is-deleted.json"))
	require.NoError(t, err)
	require.Contains(t, string(content), `"visible": 1.5`)
}

func TestAHalfWrittenRecordIsIgnored(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, WriteStep(dir, &Step{Platform: "openstack", Order: 2, Name: "it rolls out"}))
	require.NoError(t, WriteStep(dir, &Step{Platform: "openstack", Order: 1, Name: "it starts"}))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "steps", ".record-1"), []byte(`{"plat`), 0o600))
	steps, err := Steps(dir)
	require.NoError(t, err)
	require.Len(t, steps, 2)
	require.Equal(t, "it starts", steps[0].Name)
}

func TestARecordOfAnotherBuildOrCCMIsKept(t *testing.T) {
	dir := t.TempDir()
	for _, step := range []Step{{}, {Cold: true}, {CCM: "example.com/ccm sha256:01"}, {CCM: "example.com/ccm sha256:02"}} {
		step.Platform, step.Name = "aws", "it starts"
		require.NoError(t, WriteStep(dir, &step))
	}
	steps, err := Steps(dir)
	require.NoError(t, err)
	var given []string
	for _, step := range steps {
		given = append(given, step.CCM)
	}
	require.ElementsMatch(t, []string{"", "", "example.com/ccm sha256:02"}, given)
}

func TestTheDirectoryIsThatOfTheEnvironment(t *testing.T) {
	t.Setenv(DirVariable, "/somewhere")
	dir, err := Dir()
	require.NoError(t, err)
	require.Equal(t, "/somewhere", dir)
	t.Setenv(DirVariable, "")
	dir, err = Dir()
	require.NoError(t, err)
	require.Equal(t, filepath.Join("_output", "proof"), filepath.Join(filepath.Base(filepath.Dir(dir)), filepath.Base(dir)))
}
