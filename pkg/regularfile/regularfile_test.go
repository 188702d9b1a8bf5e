package regularfile

import (
	"io/fs"
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRead(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("file", []byte("12345"), 0o600))
	require.NoError(t, os.Symlink("file", "link"))
	require.NoError(t, os.Symlink("nowhere", "dangling"))
	require.NoError(t, os.Symlink("/dev/zero", "zero"))
	require.NoError(t, os.Symlink("/proc/kmsg", "log"))
	require.NoError(t, os.Mkdir("directory", 0o700))
	require.NoError(t, syscall.Mkfifo("pipe", 0o600))
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", "socket")
	require.NoError(t, err)
	defer func() { require.NoError(t, listener.Close()) }()

	for name, tc := range map[string]struct {
		file    string
		limit   int64
		want    string
		wantErr string
	}{
		"a file of just the limit":  {file: "file", limit: 5, want: "12345"},
		"a file over the limit":     {file: "file", limit: 4, wantErr: "read file: it is larger than 4 bytes"},
		"a symbolic link to a file": {file: "link", limit: 5, want: "12345"},
		"a file of the kernel": {
			file:    "/proc/self/comm",
			limit:   100,
			wantErr: "read /proc/self/comm: it is a file of the kernel; give a regular file",
		},
		"a link to the kernel's log": {
			file: "log", limit: 100, wantErr: "read log: it is a file of the kernel; give a regular file",
		},
		"a missing file":          {file: "missing", limit: 5, wantErr: "open missing: no such file or directory"},
		"a dangling link":         {file: "dangling", limit: 5, wantErr: "open dangling: no such file or directory"},
		"a path through a file":   {file: "file/file", limit: 5, wantErr: "open file/file: not a directory"},
		"a directory":             {file: "directory", limit: 5, wantErr: "read directory: is a directory"},
		"a pipe without a writer": {file: "pipe", limit: 5, wantErr: "read pipe: it is a named pipe; give a regular file"},
		"a socket":                {file: "socket", limit: 5, wantErr: "read socket: it is a socket; give a regular file"},
		"a device without an end": {
			file: "/dev/zero", limit: 5, wantErr: "read /dev/zero: it is a device; give a regular file",
		},
		"a link to a device": {file: "zero", limit: 5, wantErr: "read zero: it is a device; give a regular file"},
	} {
		t.Run(name, func(t *testing.T) {
			data, err := Read(tc.file, tc.limit)
			if tc.wantErr != "" {
				require.EqualError(t, err, tc.wantErr)
				var pathError *fs.PathError
				require.ErrorAs(t, err, &pathError)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tc.want, string(data))
		})
	}
}

// Replacing what these paths name would break the machine.
func TestOnlyARegularFileIsReplaced(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("file", []byte("12345"), 0o600))
	require.NoError(t, os.Symlink("file", "link"))
	require.NoError(t, os.Symlink("/dev/null", "null"))
	require.NoError(t, os.Symlink("nowhere", "dangling"))
	require.NoError(t, syscall.Mkfifo("pipe", 0o600))
	for file, want := range map[string]string{
		"file": "", "missing": "", "missing/file": "",
		"link":      "write link: it is a symbolic link to file; give a regular file",
		"dangling":  "write dangling: it is a symbolic link to nowhere; give a regular file",
		"null":      "write null: it is a symbolic link to /dev/null; give a regular file",
		"pipe":      "write pipe: it is a named pipe; give a regular file",
		"/dev/null": "write /dev/null: it is a device; give a regular file",
		".":         "write .: is a directory",
		"file/file": "write file/file: not a directory",
	} {
		t.Run(file, func(t *testing.T) {
			err := CheckOutput(file)
			if want == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, want)
		})
	}
}
