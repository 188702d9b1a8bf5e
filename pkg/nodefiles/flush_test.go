package nodefiles

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// recording records the operations on the disk in their order, with paths below root.
type recording struct {
	disk
	root string
	done []string
}

func (r *recording) record(operation string, paths ...string) {
	for i := range paths {
		paths[i], _ = filepath.Rel(r.root, paths[i])
	}
	r.done = append(r.done, operation+" "+strings.Join(paths, " "))
}

func (r *recording) write(file File) error {
	r.record("write", file.Path)
	return r.disk.write(file)
}

func (r *recording) flush(directory string) error {
	r.record("flush", directory)
	return r.disk.flush(directory)
}

func (r *recording) rename(from, to string) error {
	r.record("rename", from, to)
	return r.disk.rename(from, to)
}

func (r *recording) exchange(one, other string) error {
	r.record("exchange", one, other)
	return r.disk.exchange(one, other)
}

func (r *recording) removeAll(path string) error {
	r.record("remove", path)
	return r.disk.removeAll(path)
}

// After a power failure, a disk has what was flushed, and perhaps more, in any order. So the content is flushed before
// it gets its name, and the name before the former content is removed or a caller goes on.
func TestAPowerFailureLosesNothing(t *testing.T) {
	for name, tc := range map[string]struct {
		do   func(on operations, path string) error
		want []string
	}{
		"a new directory": {
			do: func(on operations, path string) error {
				_, err := replaceDirectory(on, filepath.Join(path, "new"), wanted)
				return err
			},
			want: []string{
				"remove pod-7/.new.new",
				"write pod-7/.new.new/configmaps/ca/ca.crt", "flush pod-7/.new.new/configmaps/ca/ca.crt",
				"write pod-7/.new.new/pod.yaml", "flush pod-7/.new.new/pod.yaml",
				"write pod-7/.new.new/secrets/token/token", "flush pod-7/.new.new/secrets/token/token",
				"flush pod-7/.new.new/secrets/token", "flush pod-7/.new.new/secrets",
				"flush pod-7/.new.new/configmaps/ca", "flush pod-7/.new.new/configmaps", "flush pod-7/.new.new",
				"exchange pod-7/.new.new pod-7/new", "rename pod-7/.new.new pod-7/new", "flush pod-7",
				"remove pod-7/.new.new",
			},
		},
		"a directory that exists": {
			do: func(on operations, path string) error {
				_, err := replaceDirectory(on, path, Files{"a": nil})
				return err
			},
			want: []string{
				"remove .pod-7.new", "write .pod-7.new/a", "flush .pod-7.new/a", "flush .pod-7.new", "exchange .pod-7.new pod-7", "flush .",
				"remove .pod-7.new",
			},
		},
		"a file": {
			do: func(on operations, path string) error {
				return replaceFiles(on, File{filepath.Join(path, "pod.yaml"), fileMode, nil})
			},
			want: []string{
				"remove pod-7/.pod.yaml.new", "write pod-7/.pod.yaml.new", "flush pod-7/.pod.yaml.new",
				"rename pod-7/.pod.yaml.new pod-7/pod.yaml", "flush pod-7",
			},
		},
		"a file that is away for a while": {
			do: func(on operations, path string) error {
				file := filepath.Join(path, "pod.yaml")
				if err := replace(path, Files{"pod.yaml": nil}); err != nil {
					return err
				}
				putBack, err := setAside(on, file)
				if err != nil {
					return err
				}
				return putBack()
			},
			want: []string{
				"rename pod-7/pod.yaml pod-7/.pod.yaml.new", "rename pod-7/.pod.yaml.new pod-7/pod.yaml", "flush pod-7",
			},
		},
		"a removal": {
			do:   remove,
			want: []string{"remove pod-7", "remove .pod-7.new", "flush ."},
		},
	} {
		t.Run(name, func(t *testing.T) {
			on := &recording{root: t.TempDir()}
			directory := filepath.Join(on.root, "pod-7")
			require.NoError(t, replace(directory, former))
			require.NoError(t, tc.do(on, directory))
			require.Equal(t, tc.want, on.done)
		})
	}
}

// procfs cannot flush anything, and says so.
func TestThePathIsFlushedByTheKernel(t *testing.T) {
	require.ErrorIs(t, disk{}.flush("/proc/self"), unix.EINVAL)
}
