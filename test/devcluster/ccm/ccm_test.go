package ccm_test

import (
	"archive/tar"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/ccm"
)

const command = "/bin/gcp-cloud-controller-manager"

// manager is the program of a cloud-controller-manager that parses its flags as cobra does: it prints its help, or what
// it does not know.
const manager = `package main

import (
	"fmt"
	"os"
	"strings"
)

const help = ` + "`" + `Usage:
  cloud-controller-manager [flags]

      --cloud-config string           The path to the cloud provider configuration file.
      --feature-gates mapStringBool   A set of key=value pairs. Options are:
                                      CloudControllerManagerWebhook=true|false (ALPHA - default=false)
  -v, --v Level                       number for the log level verbosity
` + "`" + `

func main() {
	for _, arg := range os.Args[1:] {
		name, _, _ := strings.Cut(arg, "=")
		switch name {
		case "--cloud-config", "--deprecated", "--feature-gates", "--v", "--help":
		default:
			fmt.Fprintln(os.Stderr, "Error: unknown flag: "+name)
			os.Exit(1)
		}
	}
	fmt.Print(help)
}
`

// programs is the directory of the built programs.
var programs string

func TestMain(m *testing.M) {
	var err error
	if programs, err = os.MkdirTemp("", "ccm-test-"); err != nil {
		panic(err)
	}
	code := m.Run()
	if err := os.RemoveAll(programs); err != nil {
		panic(err)
	}
	os.Exit(code)
}

// built are the programs that build has built.
var built = map[string]string{}

// build builds a program as the main package of a module, once.
func build(t *testing.T, module, source string) string {
	t.Helper()
	if program, done := built[module]; done {
		return program
	}
	dir, err := os.MkdirTemp(programs, "") //nolint:usetesting // The program outlives the test.
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module "+module+"\n\ngo 1.26.0\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte(source), 0o600))
	program := filepath.Join(dir, "ccm")
	builder := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-trimpath", "-o", program, ".")
	builder.Dir = dir
	builder.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=")
	output, err := builder.CombinedOutput()
	require.NoError(t, err, string(output))
	built[module] = program
	return program
}

func open(t *testing.T, given ccm.Given) (*ccm.Program, error) {
	t.Helper()
	return ccm.Open(t.Context(), given, command, filepath.Join(t.TempDir(), "unpacked"))
}

func TestAFileThatIsNoProgramIsRefusedInOneLine(t *testing.T) {
	dir := t.TempDir()
	program := build(t, "k8s.io/cloud-provider-gcp", manager)
	content, err := os.ReadFile(program)
	require.NoError(t, err)
	write := func(name string, content []byte, mode os.FileMode) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), content, mode))
	}
	write("plain", content, 0o644)
	write("script", []byte("#!/bin/sh\n"), 0o755)
	foreign := bytes.Clone(content)
	foreign[18], foreign[19] = 8, 0 // MIPS
	write("foreign", foreign, 0o755)
	for name, want := range map[string]string{
		"missing": "does not exist: write the path of the cloud-controller-manager's binary",
		".":       "is a directory: write the path of the binary in it",
		"plain":   "is not executable: run chmod +x " + filepath.Join(dir, "plain"),
		"script": "is not a Linux binary: extract the cloud-controller-manager's own program, no script or " +
			"archive",
		"foreign": "is built for another architecture, EM_MIPS: take the image for linux/" + runtime.GOARCH,
	} {
		t.Run(name, func(t *testing.T) {
			path := dir + "/" + name
			_, err := open(t, ccm.Given{Binary: path})
			require.EqualError(t, err, "CCM="+path+" "+want)
			require.NotContains(t, err.Error(), "\n")
		})
	}
	_, err = open(t, ccm.Given{Binary: "a", Image: "b"})
	require.EqualError(t, err, "CCM=a and CCM_IMAGE=b: set one of them")
	_, err = open(t, ccm.Given{NodeManager: "c"})
	require.EqualError(t, err, "CCM_NODE_MANAGER=c: set CCM to the cloud-controller-manager of the same release")
}

func TestANodeManagerIsCheckedAsTheProgramThatItHasToBe(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	_, err := ccm.OpenNodeManager(t.Context(), ccm.Given{NodeManager: missing})
	require.EqualError(t, err, "CCM_NODE_MANAGER="+missing+" does not exist: write the path of the cloud-node-manager's binary")
	path := build(t, "sigs.k8s.io/cloud-provider-azure", manager)
	program, err := ccm.OpenNodeManager(t.Context(), ccm.Given{NodeManager: path})
	require.NoError(t, err)
	require.NoError(t, program.Check(t.Context(), "azure", []string{"--cloud-config=x", "--v=2"}))
	require.EqualError(t, program.Check(t.Context(), "azure", []string{"--cloud-config=x", "--wait-routes=false"}),
		"CCM_NODE_MANAGER="+path+" does not know --wait-routes, which the operator passes on platform azure: "+
			"take the cloud-node-manager of the operator's own release")
}

func TestAProgramIsComparedWithTheArgumentsOfTheOperator(t *testing.T) {
	ours := build(t, "k8s.io/cloud-provider-gcp", manager)
	const use = "take the cloud-controller-manager of the operator's own release"
	for name, tc := range map[string]struct {
		program string
		args    []string
		want    string
	}{
		"a program that knows every flag": {program: ours, args: []string{"--cloud-config=x", "--v=2", "operand"}},
		"a flag that it accepts and does not list": {program: ours,
			args: []string{"--cloud-config=x", "--deprecated=true"}},
		"flags that it does not know": {program: ours, args: []string{"--a=1", "--v=2", "--b", "--a=2", "--cloud-config=x"},
			want: "does not know --a, --b, which the operator passes on platform gcp: " + use},
		"a feature gate that it knows": {program: ours,
			args: []string{"--feature-gates=CloudControllerManagerWebhook=true"}},
		"a feature gate that it does not know": {program: ours,
			args: []string{"--feature-gates=CloudControllerManagerWebhook=true,Moonbase=true"},
			want: "does not know the feature gate Moonbase, which the operator passes on platform gcp: " + use},
		"a program of another cloud": {program: build(t, "k8s.io/cloud-provider-aws/v2", manager),
			want: "is the cloud-controller-manager of another cloud (cloud-provider-aws), not of platform gcp"},
		"a program of an unknown module": {program: build(t, "example.com/ccm", manager), args: []string{"--v=2"}},
		"no cloud-controller-manager": {
			program: build(t, "example.com/other", "package main\n\nfunc main() { println(\"--kubeconfig\") }\n"),
			args:    []string{"--kubeconfig=x", "--cloud-config=x", "--v=2"},
			want:    "is not a cloud-controller-manager: its --help has 1 of the 3 flags that the operator passes"},
		"a program that prints without end": {
			program: build(t, "example.com/endless", "package main\n\nimport \"os\"\n\nfunc main() {\n\tfor {\n"+
				"\t\tif _, err := os.Stdout.Write(make([]byte, 65536)); err != nil {\n\t\t\treturn\n\t\t}\n\t}\n}\n"),
			want: "is not a cloud-controller-manager: it prints more than 1024 KiB with --help"},
	} {
		t.Run(name, func(t *testing.T) {
			program, err := open(t, ccm.Given{Binary: tc.program})
			require.NoError(t, err)
			err = program.Check(t.Context(), "gcp", tc.args)
			if tc.want == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, "CCM="+tc.program+" "+tc.want)
		})
	}
}

// image returns an image with the program at command.
func image(t *testing.T, program string) v1.Image {
	t.Helper()
	return imageOf(t, map[string]string{"usr/bin/gcp-cloud-controller-manager": program})
}

// imageOf returns an image with files of this machine. Its /bin is a link.
func imageOf(t *testing.T, files map[string]string) v1.Image {
	t.Helper()
	var layer bytes.Buffer
	archive := tar.NewWriter(&layer)
	for _, header := range []*tar.Header{
		{Typeflag: tar.TypeSymlink, Name: "bin", Linkname: "usr/bin", Mode: 0o777},
		{Typeflag: tar.TypeReg, Name: "etc/passwd", Mode: 0o644},
	} {
		require.NoError(t, archive.WriteHeader(header))
	}
	for name, file := range files {
		content, err := os.ReadFile(file)
		require.NoError(t, err)
		require.NoError(t, archive.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o755,
			Size: int64(len(content))}))
		_, err = archive.Write(content)
		require.NoError(t, err)
	}
	require.NoError(t, archive.Close())
	path := filepath.Join(t.TempDir(), "layer.tar")
	require.NoError(t, os.WriteFile(path, layer.Bytes(), 0o600))
	added, err := tarball.LayerFromFile(path)
	require.NoError(t, err)
	img, err := mutate.AppendLayers(empty.Image, added)
	require.NoError(t, err)
	return img
}

// ociLayout writes an OCI layout with an image for a platform and returns its directory.
func ociLayout(t *testing.T, img v1.Image, platform *v1.Platform) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "layout")
	written, err := layout.Write(dir, empty.Index)
	require.NoError(t, err)
	require.NoError(t, written.AppendImage(img, layout.WithPlatform(*platform)))
	return dir
}

// pack writes a directory into an archive.
func pack(t *testing.T, dir string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "image.tar")
	file, err := os.Create(path)
	require.NoError(t, err)
	defer file.Close()
	archive := tar.NewWriter(file)
	require.NoError(t, archive.AddFS(os.DirFS(dir)))
	require.NoError(t, archive.Close())
	return path
}

func TestTheProgramOfAnImageIsUnpackedOnce(t *testing.T) {
	dir := ociLayout(t, image(t, build(t, "k8s.io/cloud-provider-gcp", manager)),
		&v1.Platform{OS: "linux", Architecture: runtime.GOARCH})
	unpacked := t.TempDir()
	var paths []string
	for _, given := range []string{dir, pack(t, dir)} {
		program, err := ccm.Open(t.Context(), ccm.Given{Image: given}, command, unpacked)
		require.NoError(t, err)
		require.NoError(t, program.Check(t.Context(), "gcp", []string{"--cloud-config=x"}))
		require.Equal(t, map[string]string{command: program.Path}, program.Files(command))
		require.Equal(t, "k8s.io/cloud-provider-gcp", program.Module)
		require.Regexp(t, "^k8s.io/cloud-provider-gcp .*sha256:[0-9a-f]{64}$", program.String())
		paths = append(paths, program.Path)
		require.NoFileExists(t, filepath.Join(filepath.Dir(program.Path), "..", "..", "etc", "passwd"))
	}
	require.Equal(t, paths[0], paths[1])
	entries, err := os.ReadDir(unpacked)
	require.NoError(t, err)
	require.Len(t, entries, 1)
}

func TestAnImageThatIsRefusedForOnePlatformIsUnpackedForAnother(t *testing.T) {
	dir := ociLayout(t, image(t, build(t, "k8s.io/cloud-provider-gcp", manager)),
		&v1.Platform{OS: "linux", Architecture: runtime.GOARCH})
	unpacked := t.TempDir()
	_, err := ccm.Open(t.Context(), ccm.Given{Image: dir}, "/bin/other", unpacked)
	require.ErrorContains(t, err, "has no /bin/other")
	_, err = ccm.Open(t.Context(), ccm.Given{Image: dir}, command, unpacked)
	require.NoError(t, err)
}

func TestAnImageWithoutTheProgramIsRefusedInOneLine(t *testing.T) {
	program := build(t, "k8s.io/cloud-provider-gcp", manager)
	here := &v1.Platform{OS: "linux", Architecture: runtime.GOARCH}
	for name, tc := range map[string]struct{ image, command, want string }{
		"a missing file": {image: "/nonexistent", command: command,
			want: "does not exist: write the path of an OCI archive or layout"},
		"a directory without an image": {image: t.TempDir(), command: command,
			want: "is neither an OCI archive nor a layout: "},
		"a file that is no archive": {image: program, command: command, want: "is neither an OCI archive nor a layout: "},
		"the image of another cloud": {image: ociLayout(t, image(t, program), here), command: "/bin/other",
			want: "has no /bin/other: it is not the image of the platform's cloud-controller-manager"},
		"an image for another architecture": {
			image:   ociLayout(t, image(t, program), &v1.Platform{OS: "linux", Architecture: "mips"}),
			command: command, want: "has no image for linux/" + runtime.GOARCH},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ccm.Open(t.Context(), ccm.Given{Image: tc.image}, tc.command, t.TempDir())
			require.ErrorContains(t, err, "CCM_IMAGE="+tc.image+" "+tc.want)
			require.NotContains(t, err.Error(), "\n")
		})
	}
}

func TestNothingIsUnpackedBesideTheDirectory(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "image.tar")
	var content bytes.Buffer
	archive := tar.NewWriter(&content)
	require.NoError(t, archive.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: "out", Linkname: dir}))
	require.NoError(t, archive.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "out/file", Mode: 0o644}))
	require.NoError(t, archive.Close())
	require.NoError(t, os.WriteFile(path, content.Bytes(), 0o600))
	_, err := open(t, ccm.Given{Image: path})
	require.ErrorContains(t, err, "path escapes from parent")
	require.NoFileExists(t, filepath.Join(dir, "file"))
}

// The test's own shell is linked with libraries on every machine that runs these tests.
func TestTheLibrariesOfAProgramOfThisMachineAreFound(t *testing.T) {
	shell, err := exec.LookPath("bash")
	require.NoError(t, err)
	program, err := open(t, ccm.Given{Binary: shell})
	require.NoError(t, err)
	files := program.Files(command)
	require.Equal(t, shell, files[command])
	var libc, loader bool
	for name, file := range files {
		require.FileExists(t, file)
		libc = libc || strings.HasPrefix(filepath.Base(name), "libc.so")
		loader = loader || strings.HasPrefix(filepath.Base(name), "ld-linux")
	}
	require.True(t, libc && loader, files)
	require.ErrorContains(t, program.Check(t.Context(), "gcp", []string{"--kubeconfig=x"}),
		"is not a cloud-controller-manager: its --help has 0 of the 1 flags")
}

// A release's programs may be linked with the libraries of their image, which this machine need not have.
func TestTheLibrariesOfAnImageAreThoseOfTheImage(t *testing.T) {
	shell, err := exec.LookPath("bash")
	require.NoError(t, err)
	here, err := open(t, ccm.Given{Binary: shell})
	require.NoError(t, err)
	files := map[string]string{"usr/bin/gcp-cloud-controller-manager": shell}
	for name, file := range here.Libraries {
		files[strings.TrimPrefix(name, "/")] = file
	}
	unpacked := t.TempDir()
	dir := ociLayout(t, imageOf(t, files), &v1.Platform{OS: "linux", Architecture: runtime.GOARCH})
	program, err := ccm.Open(t.Context(), ccm.Given{Image: dir}, command, unpacked)
	require.NoError(t, err)
	require.Len(t, program.Libraries, len(here.Libraries))
	for name, file := range program.Libraries {
		require.Contains(t, here.Libraries, name)
		require.True(t, strings.HasPrefix(file, unpacked+"/"), file)
	}
	require.ErrorContains(t, program.Check(t.Context(), "gcp", []string{"--kubeconfig=x"}), "its --help has 0 of the 1 flags")

	for name := range files {
		if strings.Contains(name, "libc.so") {
			delete(files, name)
		}
	}
	dir = ociLayout(t, imageOf(t, files), &v1.Platform{OS: "linux", Architecture: runtime.GOARCH})
	_, err = ccm.Open(t.Context(), ccm.Given{Image: dir}, command, unpacked)
	require.ErrorContains(t, err, "libc.so.6")
}
