// Package nodefiles replaces files and directories on a node atomically. A reader, a crash or a power failure finds
// either the former content or the new one, never a mixture or a part.
//
// library-go's atomicdir, which its installer uses, is internal, and the names of its files cannot be paths.
package nodefiles

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/regularfile"
)

const (
	// fileMode lets only root read the files: some contain secrets, and their readers run as root.
	fileMode fs.FileMode = 0o600

	directoryMode fs.FileMode = 0o755
)

// Files are the contents of a directory's files by their relative paths, which may have several parts.
type Files map[string][]byte

// ReplaceDirectory makes the directory contain these files and nothing else. It writes them under another name beside
// the directory, flushes them to the disk, and then exchanges the names. A mount of the former directory keeps the
// former files, so containers must mount the parent. If the directory already contains the files, it is not touched,
// and replaced is false.
func ReplaceDirectory(directory string, files Files) (replaced bool, err error) {
	return replaceDirectory(disk{}, directory, files)
}

// File is a file with its content.
type File struct {
	Path string
	Mode fs.FileMode
	Data []byte
}

// ReplaceFiles makes the files contain their data, and creates their directories. A file that already contains its data
// is not touched. All data is on the disk before the first file is replaced, so a full disk changes none. The files are
// replaced in the given order, and the next call completes what a crash interrupts.
func ReplaceFiles(files ...File) error { return replaceFiles(disk{}, files...) }

// ReplaceFile is ReplaceFiles for one file that only root can read.
func ReplaceFile(file string, data []byte) error {
	return ReplaceFiles(File{file, fileMode, data})
}

// StageFile completes every step of ReplaceFile that may fail for lack of space, and returns a function for the rest.
//
// It first writes the data to a file beside it whose name starts with a dot, which the kubelet ignores.
func StageFile(file string, data []byte) (replace func() error, err error) {
	return stageFile(disk{}, File{file, fileMode, data})
}

// SetAside renames the file, and returns a function that renames it back. Meanwhile it has the name that StageFile
// writes to, so that what a killed process leaves is removed by Remove, and replaced by the next StageFile.
func SetAside(file string) (putBack func() error, err error) {
	return setAside(disk{}, file)
}

func setAside(on operations, file string) (putBack func() error, err error) {
	aside := StagingName(file)
	if err := on.rename(file, aside); err != nil {
		return nil, fmt.Errorf("taking %s away: %w", file, err)
	}
	return func() error {
		if err := on.rename(aside, file); err != nil {
			return fmt.Errorf("putting %s back: %w", file, err)
		}
		return flushParent(on, file)
	}, nil
}

// Remove removes a file or a directory, and what an interrupted writer left beside it. A missing path is no error.
func Remove(path string) error {
	return remove(disk{}, path)
}

func remove(on operations, path string) error {
	for _, name := range []string{path, StagingName(path)} {
		if err := on.removeAll(name); err != nil {
			return fmt.Errorf("removing %s: %w", name, err)
		}
	}
	if err := flushParent(on, path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// StagedFor returns the path for which an interrupted writer left this one, or the path itself if it is another.
func StagedFor(path string) string {
	name, isHidden := strings.CutPrefix(filepath.Base(path), ".")
	name, isNew := strings.CutSuffix(name, stagingSuffix)
	if !isHidden || !isNew {
		return path
	}
	return filepath.Join(filepath.Dir(path), name)
}

// Holds reports whether the file contains the data, is this process's user's, and has the mode that this package sets.
func Holds(file string, data []byte) bool {
	return File{file, fileMode, data}.isWritten()
}

func (f File) isWritten() bool {
	info, err := os.Lstat(f.Path)
	if err != nil || info.Mode() != f.Mode || info.Size() != int64(len(f.Data)) || !isOwn(info) {
		return false
	}
	found, err := os.ReadFile(f.Path)
	return err == nil && bytes.Equal(found, f.Data)
}

// isOwn reports whether the file is this process's user's: containers without capabilities read no other's, also as
// root.
func isOwn(info fs.FileInfo) bool {
	stat, known := info.Sys().(*syscall.Stat_t)
	return !known || int(stat.Uid) == os.Geteuid()
}

// operations are those on the disk, each of which can be the last one before a crash.
type operations interface {
	makeDirectory(path string) error
	// write creates a file, which must not exist.
	write(file File) error
	// flush flushes a file's content or a directory's entries to the disk.
	flush(path string) error
	rename(from, to string) error
	exchange(one, other string) error
	removeAll(path string) error
}

func replaceDirectory(on operations, directory string, files Files) (replaced bool, err error) {
	staging := StagingName(directory)
	// An interrupted writer may have left something.
	if err := on.removeAll(staging); err != nil {
		return false, fmt.Errorf("removing %s: %w", staging, err)
	}
	if DirectoryHolds(directory, files) {
		return false, nil
	}
	if err := stage(on, staging, files); err != nil {
		// The first error counts. The next call removes what is left now.
		_ = on.removeAll(staging)
		return false, err
	}
	if err := moveInto(on, staging, directory); err != nil {
		return false, err
	}
	// After an exchange, the former directory has the other name.
	if err := on.removeAll(staging); err != nil {
		return true, fmt.Errorf("removing the former %s: %w", directory, err)
	}
	return true, nil
}

func stage(on operations, staging string, files Files) error {
	directories := map[string]bool{staging: true}
	for path := range files {
		for parent := filepath.Dir(filepath.Join(staging, path)); !directories[parent]; parent = filepath.Dir(parent) {
			directories[parent] = true
		}
	}
	// A parent sorts before its children.
	sorted := slices.Sorted(maps.Keys(directories))
	for _, directory := range sorted {
		if err := on.makeDirectory(directory); err != nil {
			return fmt.Errorf("creating %s: %w", directory, err)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		if err := write(on, File{filepath.Join(staging, path), fileMode, files[path]}); err != nil {
			return fmt.Errorf("writing %s: %w", path, err)
		}
	}
	for _, directory := range slices.Backward(sorted) {
		if err := on.flush(directory); err != nil {
			return fmt.Errorf("flushing %s: %w", directory, err)
		}
	}
	return nil
}

func moveInto(on operations, staging, directory string) error {
	err := on.exchange(staging, directory)
	if errors.Is(err, fs.ErrNotExist) {
		err = on.rename(staging, directory)
	}
	if err != nil {
		return fmt.Errorf("replacing %s: %w", directory, err)
	}
	return flushParent(on, directory)
}

func replaceFiles(on operations, files ...File) error {
	var replacements []func() error
	for _, file := range files {
		var err error
		if file.isWritten() {
			err = on.removeAll(StagingName(file.Path)) // left by an interrupted writer
		} else {
			var replace func() error
			replace, err = stageFile(on, file)
			replacements = append(replacements, replace)
		}
		if err != nil {
			for _, file := range files {
				_ = on.removeAll(StagingName(file.Path))
			}
			return err
		}
	}
	for _, replace := range replacements {
		if err := replace(); err != nil {
			return err
		}
	}
	return nil
}

func stageFile(on operations, file File) (replace func() error, err error) {
	parent, staging := filepath.Dir(file.Path), StagingName(file.Path)
	if err := on.makeDirectory(parent); err != nil {
		return nil, fmt.Errorf("creating %s: %w", parent, err)
	}
	// An interrupted writer may have left something.
	if err := on.removeAll(staging); err != nil {
		return nil, fmt.Errorf("removing %s: %w", staging, err)
	}
	if err := write(on, File{staging, file.Mode, file.Data}); err != nil {
		_ = on.removeAll(staging)
		return nil, fmt.Errorf("writing %s: %w", file.Path, regularfile.Reason(err))
	}
	return func() error {
		if err := on.rename(staging, file.Path); err != nil {
			return fmt.Errorf("replacing %s: %w", file.Path, err)
		}
		return flushParent(on, file.Path)
	}, nil
}

func write(on operations, file File) error {
	if err := on.write(file); err != nil {
		return err
	}
	return on.flush(file.Path)
}

func flushParent(on operations, path string) error {
	parent := filepath.Dir(path)
	if err := on.flush(parent); err != nil {
		return fmt.Errorf("flushing %s: %w", parent, err)
	}
	return nil
}

const stagingSuffix = ".new"

// StagingName returns the name under which new content is written. It does not start with the original name, because
// library-go's pruner fails on an unexpected directory that starts with the name of a revision's directory.
func StagingName(path string) string {
	return filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+stagingSuffix)
}

// DirectoryHolds reports whether the directory contains exactly these files, with the mode that this package sets.
func DirectoryHolds(directory string, files Files) bool {
	found := 0
	err := filepath.WalkDir(directory, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(directory, path)
		if err != nil {
			return err
		}
		if data, wanted := files[name]; !wanted || !Holds(path, data) {
			return fs.ErrInvalid
		}
		found++
		return nil
	})
	return err == nil && found == len(files)
}
