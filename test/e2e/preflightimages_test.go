package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/node"
)

// otherImages are upgrades to an image whose program does not work.
var otherImages = []preflightChange{
	{name: "an image that crashes", class: "Crash", restarts: true, do: setFaultyImage("crash"), undo: restoreImage},
	{name: "an image with another cloud's program", class: "Crash", restarts: true, do: func(t *testing.T, s *cloudStory) {
		other := otherProgram(s.name)
		s.setImageOf(t, "another", node.ImageSpec{Files: map[string]string{"/bin/" + other: filepath.Join(s.BinDir(), other)}})
	}, undo: restoreImage},
	{name: "another cloud's program in its place", class: "Crash", restarts: true, do: func(t *testing.T, s *cloudStory) {
		s.setImageOf(t, "misplaced", node.ImageSpec{Files: map[string]string{s.commandOf(t): filepath.Join(s.BinDir(), otherProgram(s.name))}})
	}, undo: restoreImage},
	{name: "an image that hangs", class: "Hang", restarts: true, do: setFaultyImage("hang"), undo: restoreImage},
	{name: deafImage, class: "NoAnswer", restarts: true, do: setFaultyImage("deaf"), undo: restoreImage},
}

const deafImage = "an image that leads and looks up no node"

func restoreImage(s *cloudStory, t *testing.T) {
	t.Helper()
	s.restoreImage(t)
}

// otherProgram returns the cloud-controller-manager of another platform, which is built for the tests.
func otherProgram(name string) string {
	if name == "openstack" {
		name = "aws"
	} else {
		name = "openstack"
	}
	p, _ := platform.ByName(name)
	return p.Image
}

// setFaultyImage returns an upgrade to an image whose program has a fault.
func setFaultyImage(fault string) func(t *testing.T, s *cloudStory) {
	return func(t *testing.T, s *cloudStory) { s.setFaultyImage(t, fault, "FAULT="+fault) }
}

// setFaultyImage upgrades to an image with test/e2e/faultyccm and its environment.
func (s *suite) setFaultyImage(t *testing.T, name string, env ...string) {
	t.Helper()
	program := filepath.Join(t.TempDir(), "faultyccm")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./faultyccm")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	output, err := build.CombinedOutput()
	require.NoError(t, err, string(output))
	s.setImageOf(t, name, node.ImageSpec{Files: map[string]string{s.commandOf(t): program}, Env: env})
}

// setImageOf loads an image on every node, and upgrades to it.
func (s *suite) setImageOf(t *testing.T, name string, spec node.ImageSpec) {
	t.Helper()
	spec.Ref = "localhost/devcluster/" + s.OperandTag() + ":" + name
	archive := filepath.Join(t.TempDir(), "image.tar")
	require.NoError(t, node.WriteImage(archive, spec))
	for _, n := range s.Nodes() {
		require.NoError(t, n.LoadImages(t.Context(), archive))
	}
	s.setOperandImage(t, spec.Ref)
}

// commandOf returns the path of the cloud-controller-manager in its image.
func (s *suite) commandOf(t *testing.T) string {
	t.Helper()
	return s.staticPods(t)[0].Spec.Containers[0].Command[0]
}

// restoreImage goes back to the image of the release.
func (s *suite) restoreImage(t *testing.T) {
	t.Helper()
	s.setOperandImage(t, s.Release().Image(s.OperandTag()))
}
