package dockerfile

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

const program = "/usr/bin/cluster-cloud-controller-manager-operator"

func TestTheProductsImage(t *testing.T) {
	image, err := Read(filepath.Join("..", "..", Name))
	require.NoError(t, err)
	require.Contains(t, image.Files, program)
	require.Contains(t, image.Files, "/usr/bin/file-syncer")
	require.Contains(t, image.Files, "/usr/bin/image-puller")
	// The names of the predecessor's image, which openshift-tests knows.
	require.Contains(t, image.Files, "/usr/bin/cloud-controller-manager-operator-tests-ext.gz")
	require.Contains(t, image.Files, "/usr/bin/cloud-controller-manager-aws-tests-ext.gz")
	// bootkube.sh and our pods pass the program's path; with an ENTRYPOINT it would become an argument.
	require.Equal(t, []string{program, "render"}, image.Command(program, "render"))
}

func TestWhatPodmanExecutes(t *testing.T) {
	for name, tc := range map[string]struct {
		content         string
		arguments, want []string
	}{
		"nothing is set":                         {"FROM base", []string{"/bin/x", "y"}, []string{"/bin/x", "y"}},
		"an entrypoint precedes the arguments":   {"FROM base\nENTRYPOINT [\"/bin/x\"]", []string{"/bin/x", "y"}, []string{"/bin/x", "/bin/x", "y"}},
		"arguments replace CMD":                  {"FROM base\nCMD [\"/bin/x\"]", []string{"y"}, []string{"y"}},
		"CMD without arguments":                  {"FROM base\nENTRYPOINT [\"/bin/x\"]\nCMD [\"y\"]", nil, []string{"/bin/x", "y"}},
		"the shell form":                         {"FROM base\nENTRYPOINT exec /bin/x", []string{"y"}, []string{"/bin/sh", "-c", "exec /bin/x", "y"}},
		"only the last stage counts":             {"FROM a AS b\nENTRYPOINT [\"/bin/a\"]\nFROM base", []string{"/bin/x"}, []string{"/bin/x"}},
		"the last instruction of a kind counts":  {"FROM base\nCMD [\"a\"]\ncmd [\"b\"]", nil, []string{"b"}},
		"continued lines, comments inside":       {"FROM base\nENTRYPOINT [\"/bin/x\", \\\n# why\n  \"y\"]", []string{"z"}, []string{"/bin/x", "y", "z"}},
		"a comment that looks like one is none":  {"FROM base\n# ENTRYPOINT [\"/bin/x\"]", []string{"z"}, []string{"z"}},
		"an empty entrypoint takes that away":    {"FROM base\nENTRYPOINT [\"/bin/x\"]\nENTRYPOINT []", []string{"z"}, []string{"z"}},
		"an apostrophe and a space are no words": {"FROM base\nENTRYPOINT [\"/bin/it's one\"]", []string{"a b"}, []string{"/bin/it's one", "a b"}},
	} {
		t.Run(name, func(t *testing.T) {
			image, err := Parse(tc.content)
			require.NoError(t, err)
			require.Equal(t, tc.want, image.Command(tc.arguments...))
			requireShell(t, image, tc.arguments, tc.want)
		})
	}
}

// requireShell checks that the shell's function passes on the same words.
func requireShell(t *testing.T, image Image, arguments, want []string) {
	t.Helper()
	script := image.Shell(want[0]) + `run_program() { printf '%s\n' "$@"; }` + "\npodman_run_image " + quote(arguments)
	output, err := exec.CommandContext(t.Context(), "bash", "-euc", script).CombinedOutput()
	require.NoError(t, err, string(output))
	expected := ""
	for _, word := range want[1:] {
		expected += word + "\n"
	}
	if expected == "" {
		expected = "\n" // what printf makes of no word
	}
	require.Equal(t, expected, string(output))
}

func TestAnotherProgramIsNotFound(t *testing.T) {
	command := exec.CommandContext(t.Context(), "bash", "-euc", Image{}.Shell("/bin/x")+"podman_run_image render")
	output, err := command.CombinedOutput()
	require.EqualError(t, err, "exit status 127")
	require.Equal(t, "podman: executable file render not found in the image\n", string(output))
}

func TestWhatIsNoVector(t *testing.T) {
	_, err := Parse("FROM base\nENTRYPOINT [/bin/x]")
	require.EqualError(t, err, "ENTRYPOINT [/bin/x]: the exec form is a JSON array of strings: "+
		"invalid character '/' looking for beginning of value")
}
