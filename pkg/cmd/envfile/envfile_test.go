package envfile_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/cmd/envfile"
)

// run runs the command in dir and returns its error and its output.
func run(t *testing.T, dir string, args ...string) (string, error) {
	t.Helper()
	t.Chdir(dir)
	var printed bytes.Buffer
	cmd := envfile.NewCommand()
	cmd.SetArgs(args)
	cmd.SetOut(&printed)
	cmd.SetErr(&printed)
	err := cmd.Execute()
	return printed.String(), err
}

// directory creates a directory with the given files.
func directory(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, data := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600))
	}
	return dir
}

func TestWhatIsWritten(t *testing.T) {
	for name, tc := range map[string]struct {
		files map[string]string
		args  []string
		want  string
	}{
		"one variable": {
			files: map[string]string{"token": "abc"},
			args:  []string{"--set=DO_ACCESS_TOKEN=token"},
			want:  "DO_ACCESS_TOKEN='abc'\n",
		},
		"the newline that an editor leaves at the end is no part of the value": {
			files: map[string]string{"token": "abc\r\n\n"},
			args:  []string{"--set", "DO_ACCESS_TOKEN=token"},
			want:  "DO_ACCESS_TOKEN='abc'\n",
		},
		"what a shell would take for something else stays as it is": {
			files: map[string]string{"token": "  a$b `c` \\n \"d\" # e=f "},
			args:  []string{"--set=TOKEN=token"},
			want:  "TOKEN='  a$b `c` \\n \"d\" # e=f '\n",
		},
		"several, in their order, the optional ones last": {
			files: map[string]string{"a": "1", "b": "2", "c": "3"},
			args:  []string{"--set-if-exists=C=c", "--set=B=b", "--set=A=a"},
			want:  "B='2'\nA='1'\nC='3'\n",
		},
		"an optional file that is missing is no variable": {
			files: map[string]string{"a": "1"},
			args:  []string{"--set=A=a", "--set-if-exists=B=b"},
			want:  "A='1'\n",
		},
		"nothing but optional files that are missing": {
			args: []string{"--set-if-exists=B=b"},
		},
		"a file whose name has an equals sign": {
			files: map[string]string{"a=b": "1"},
			args:  []string{"--set=A=a=b"},
			want:  "A='1'\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := directory(t, tc.files)
			require.NoError(t, os.WriteFile(filepath.Join(dir, "out"), []byte("former"), 0o644))
			printed, err := run(t, dir, append(tc.args, "--output=out")...)
			require.NoError(t, err)
			require.Empty(t, printed)

			written, err := os.ReadFile(filepath.Join(dir, "out"))
			require.NoError(t, err)
			require.Equal(t, tc.want, string(written))
			info, err := os.Stat(filepath.Join(dir, "out"))
			require.NoError(t, err)
			require.Equal(t, fs.FileMode(0o600), info.Mode())
		})
	}
}

func TestInvalidInputIsRejected(t *testing.T) {
	const secret = "hidden"
	for name, tc := range map[string]struct {
		files map[string]string
		pipe  string
		args  []string
		want  string
	}{
		"no output": {
			files: map[string]string{"token": secret},
			args:  []string{"--output=", "--set=TOKEN=token"},
			want:  "--output is required: specify the file to write",
		},
		"nothing to write": {
			want: "nothing to write: specify --set or --set-if-exists",
		},
		"an argument": {
			args: []string{"more"},
			want: `unknown command "more" for "env-file"`,
		},
		"no file": {
			args: []string{"--set=TOKEN"},
			want: `--set: "TOKEN" is not NAME=FILE with a NAME of letters, digits and underscores`,
		},
		"a name that no shell knows": {
			files: map[string]string{"token": secret},
			args:  []string{"--set-if-exists=1-TOKEN=token"},
			want:  `--set-if-exists: "1-TOKEN=token" is not NAME=FILE with a NAME of letters, digits and underscores`,
		},
		"a file that is missing": {
			args: []string{"--set=TOKEN=token"},
			want: "--set: TOKEN: reading the value: open token: no such file or directory",
		},
		"a device without an end": {
			args: []string{"--set=TOKEN=/dev/zero"},
			want: "--set: TOKEN: reading the value: read /dev/zero: it is a device; give a regular file",
		},
		"a pipe without a writer": {
			pipe: "token",
			args: []string{"--set-if-exists=TOKEN=token"},
			want: "--set-if-exists: TOKEN: reading the value: read token: it is a named pipe; give a regular file",
		},
		"more than a Secret can hold": {
			files: map[string]string{"token": strings.Repeat("x", 1<<20+1)},
			args:  []string{"--set=TOKEN=token"},
			want:  "--set: TOKEN: reading the value: read token: it is larger than 1048576 bytes",
		},
		"a directory": {
			args: []string{"--set-if-exists=TOKEN=."},
			want: "--set-if-exists: TOKEN: reading the value: read .: is a directory",
		},
		"an empty file": {
			files: map[string]string{"token": "\n"},
			args:  []string{"--set=TOKEN=token"},
			want:  "--set: TOKEN: token is empty; a secret was expected",
		},
		"a single quote": {
			files: map[string]string{"token": secret + "'"},
			args:  []string{"--set=TOKEN=token"},
			want: "--set: TOKEN: token contains a single quote, which the kubelet's format does not support; use a value " +
				"without one",
		},
		"two lines": {
			files: map[string]string{"token": secret + "\n" + secret + "\n"},
			args:  []string{"--set=TOKEN=token"},
			want:  "--set: TOKEN: token has more than one line; an environment variable can have only one",
		},
		"binary data": {
			files: map[string]string{"token": secret + "\xff"},
			args:  []string{"--set=TOKEN=token"},
			want:  "--set: TOKEN: token is not UTF-8 text, which an environment variable must be",
		},
		"a NUL byte": {
			files: map[string]string{"token": secret + "\x00"},
			args:  []string{"--set=TOKEN=token"},
			want:  "--set: TOKEN: token contains a NUL byte, which an environment variable cannot have",
		},
		"more than the kubelet reads": {
			files: map[string]string{"token": strings.Repeat("x", 65527)},
			args:  []string{"--set=TOKEN=token"},
			want:  "--set: TOKEN: token has 65527 bytes, more than the kubelet reads in a line",
		},
		"a name that is set twice": {
			files: map[string]string{"a": secret, "b": secret},
			args:  []string{"--set=TOKEN=a", "--set-if-exists=TOKEN=b"},
			want:  "--set-if-exists: TOKEN is set twice",
		},
		"everything at once": {
			files: map[string]string{"a": ""},
			args:  []string{"--set=A=a", "--set=B=b"},
			want:  "--set: A: a is empty; a secret was expected\n--set: B: reading the value: open b: no such file or directory",
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := directory(t, tc.files)
			require.NoError(t, os.WriteFile(filepath.Join(dir, "out"), []byte("former"), 0o600))
			if tc.pipe != "" {
				require.NoError(t, syscall.Mkfifo(filepath.Join(dir, tc.pipe), 0o600))
			}
			printed, err := run(t, dir, append([]string{"--output=out"}, tc.args...)...)
			require.EqualError(t, err, tc.want)
			require.NotContains(t, printed+err.Error(), secret)

			kept, err := os.ReadFile(filepath.Join(dir, "out"))
			require.NoError(t, err)
			require.Equal(t, "former", string(kept))
		})
	}
}

func TestAFailedWriteLeavesNothing(t *testing.T) {
	dir := directory(t, map[string]string{"token": "hidden"})
	require.NoError(t, os.Mkdir(filepath.Join(dir, "out"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "out", "file"), nil, 0o600))
	_, err := run(t, dir, "--output=out", "--set=TOKEN=token")
	require.EqualError(t, err, "write out: is a directory")
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 2)

	_, err = run(t, dir, "--output=missing/out", "--set=TOKEN=token")
	require.EqualError(t, err, "writing missing/out: stat missing: no such file or directory")
	require.NoDirExists(t, filepath.Join(dir, "missing"))
}

// A rename over a device, or over a link such as /dev/stdout, would break the host. The test names no path outside its
// directory, because a command without this check would replace it.
func TestAnOutputThatIsNoRegularFileIsRejected(t *testing.T) {
	dir := directory(t, map[string]string{"token": "hidden", "kept": "former"})
	require.NoError(t, os.Symlink("/dev/null", filepath.Join(dir, "null")))
	require.NoError(t, os.Symlink("kept", filepath.Join(dir, "link")))
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	for output, want := range map[string]string{
		"null": "write null: it is a symbolic link to /dev/null; give a regular file",
		"link": "write link: it is a symbolic link to kept; give a regular file",
		"pipe": "write pipe: it is a named pipe; give a regular file",
	} {
		t.Run(output, func(t *testing.T) {
			t.Chdir(dir)
			before, err := os.Lstat(output)
			require.NoError(t, err)
			_, err = run(t, dir, "--output="+output, "--set=TOKEN=token")
			require.EqualError(t, err, want)
			after, err := os.Lstat(output)
			require.NoError(t, err)
			require.True(t, os.SameFile(before, after))
		})
	}
}

func TestAFileNameWithControlCharactersIsEscaped(t *testing.T) {
	cmd := envfile.NewCommand()
	cmd.SetArgs([]string{"--output", filepath.Join(t.TempDir(), "out"), "--set", "A=/nowhere/\x1b[2J\u202ea"})
	err := cmd.Execute()
	require.ErrorContains(t, err, `/nowhere/\x1b[2J\u202ea`)
	require.NotContains(t, err.Error(), "\x1b")
}
