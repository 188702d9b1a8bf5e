package build_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/build"
)

// repository makes a repository with one build module whose command prints a linked variable.
func repository(t *testing.T) (build.Builder, build.Target, *bytes.Buffer) {
	t.Helper()
	dir := t.TempDir()
	module := filepath.Join(dir, "module")
	require.NoError(t, os.MkdirAll(module, 0o755))
	files := map[string]string{
		"go.mod":  "module example.com/hello\n\ngo 1.26.0\n",
		"go.sum":  "",
		"main.go": "package main\n\nvar version = \"none\"\n\nfunc main() { println(version) }\n",
	}
	for name, content := range files {
		require.NoError(t, os.WriteFile(filepath.Join(module, name), []byte(content), 0o644))
	}
	progress := &bytes.Buffer{}
	builder := build.Builder{Repository: dir, BinDir: filepath.Join(dir, "bin"), Progress: progress}
	target := build.Target{Name: "hello", Module: "module", Package: ".", Variables: []string{"main.version=v7"},
		Usual: "1 second"}
	return builder, target, progress
}

func TestPinnedStampsTheVersionAndSkipsWhatIsUpToDate(t *testing.T) {
	builder, target, progress := repository(t)
	require.NoError(t, builder.Pinned(t.Context(), target))
	require.True(t, strings.HasPrefix(progress.String(), "building hello (1/1), usually 1 second with cold caches\n"),
		progress.String())
	out, err := exec.Command(filepath.Join(builder.BinDir, "hello")).CombinedOutput()
	require.NoError(t, err)
	require.Equal(t, "v7\n", string(out))

	progress.Reset()
	require.NoError(t, builder.Pinned(t.Context(), target))
	require.Empty(t, progress.String())
}

func TestPinnedBuildsAgain(t *testing.T) {
	changes := map[string]func(t *testing.T, builder build.Builder, target *build.Target){
		"when go.sum has changed": func(t *testing.T, builder build.Builder, _ *build.Target) {
			require.NoError(t, os.WriteFile(filepath.Join(builder.Repository, "module", "go.sum"), []byte("\n"), 0o644))
		},
		"when a linked variable has changed": func(_ *testing.T, _ build.Builder, target *build.Target) {
			target.Variables = []string{"main.version=v8"}
		},
		"when the binary is gone": func(t *testing.T, builder build.Builder, _ *build.Target) {
			require.NoError(t, os.Remove(filepath.Join(builder.BinDir, "hello")))
		},
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			builder, target, progress := repository(t)
			require.NoError(t, builder.Pinned(t.Context(), target))
			progress.Reset()
			change(t, builder, &target)
			require.NoError(t, builder.Pinned(t.Context(), target))
			require.Contains(t, progress.String(), "building hello (1/1)")
			require.FileExists(t, filepath.Join(builder.BinDir, "hello"))
		})
	}
}

func TestAFailedBuildShowsTheCompilerAndLeavesNoStamp(t *testing.T) {
	builder, target, _ := repository(t)
	require.NoError(t, os.WriteFile(filepath.Join(builder.Repository, "module", "main.go"),
		[]byte("package main\n\nfunc main() { nonsense }\n"), 0o644))
	err := builder.Pinned(t.Context(), target)
	require.ErrorContains(t, err, "build hello: go build in "+filepath.Join(builder.Repository,
		"module")+": exit status 1\n")
	require.ErrorContains(t, err, "main.go:3:15: undefined: nonsense")
	require.NoFileExists(t, filepath.Join(builder.BinDir, ".hello.stamp"))
}

// To link takes longest. What follows the program in its file is not the linker's, and has no effect.
func TestALocalProgramIsLinkedOnceUntilItChanges(t *testing.T) {
	builder, target, _ := repository(t)
	require.NoError(t, builder.Local(t.Context(), target))
	path := filepath.Join(builder.BinDir, "hello")
	built, err := os.ReadFile(path)
	require.NoError(t, err)
	marked := append(bytes.Clone(built), "mark"...)
	require.NoError(t, os.WriteFile(path, marked, 0o755))

	require.NoError(t, builder.Local(t.Context(), target))
	kept, err := os.ReadFile(path)
	require.NoError(t, err)
	require.True(t, bytes.Equal(marked, kept), "it is linked again")

	target.Variables = []string{"main.version=v8"}
	require.NoError(t, builder.Local(t.Context(), target))
	out, err := exec.Command(path).CombinedOutput()
	require.NoError(t, err)
	require.Equal(t, "v8\n", string(out))
	require.NoFileExists(t, filepath.Join(builder.BinDir, ".hello.new"))
}

func TestTheVersionsAreThoseOfTheBuildModules(t *testing.T) {
	lines := map[string][]string{
		"etcdutl/go.mod":    {"go.etcd.io/etcd/etcdutl/v3 " + build.EtcdVersion},
		"kubernetes/go.mod": {"go.etcd.io/etcd/server/v3 " + build.EtcdVersion, "k8s.io/kubernetes " + build.KubernetesVersion},
		"openstack/go.mod":  {"k8s.io/cloud-provider-openstack " + build.OpenStackVersion},
		"clouds/go.mod": {
			"k8s.io/cloud-provider-aws " + build.AWSVersion,
			"k8s.io/cloud-provider-vsphere " + build.VSphereVersion,
			"sigs.k8s.io/cloud-provider-azure " + build.AzureVersion,
		},
	}
	for file, wanted := range lines {
		content, err := os.ReadFile(filepath.Join("..", "..", "build", file))
		require.NoError(t, err)
		for _, line := range wanted {
			require.Contains(t, string(content), line+"\n")
		}
	}
}

// What the binaries have in common with the tests that import the same code is then compiled once.
func TestTheCloudsAreBuiltOfWhatTheConformanceTestsImport(t *testing.T) {
	tested := versions(t, filepath.Join("..", "..", "..", "conformance", "go.mod"))
	for module, version := range versions(t, filepath.Join("..", "..", "build", "clouds", "go.mod")) {
		if other, shared := tested[module]; shared {
			require.Equal(t, other, version, "%s in test/conformance and in test/devcluster/build/clouds: "+
				"write the same version with go mod edit -require, and run go mod tidy in both", module)
		}
	}
}

// versions are the modules that a go.mod requires.
func versions(t *testing.T, file string) map[string]string {
	t.Helper()
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	found := map[string]string{}
	for line := range strings.Lines(string(content)) {
		fields := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "require "))
		if len(fields) >= 2 && strings.HasPrefix(fields[1], "v") {
			found[fields[0]] = fields[1]
		}
	}
	require.NotEmpty(t, found)
	return found
}
