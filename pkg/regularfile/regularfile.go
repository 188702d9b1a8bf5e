// Package regularfile checks files that a user names. The name may be a pipe without a writer, an endless device or the
// kernel's log, from which a read never returns. Replacing a device would break the machine.
package regularfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"syscall"
)

// Read reads a regular file of at most limit bytes. It follows symbolic links. Its error is an *fs.PathError.
func Read(name string, limit int64) ([]byte, error) { return read(host{}, name, limit) }

// ReadIn is Read for a file below a directory. It follows no link out of it.
func ReadIn(root *os.Root, name string, limit int64) ([]byte, error) { return read(root, name, limit) }

// OpenIn opens a regular file below a directory. Its size is not reliable: the file may grow.
func OpenIn(root *os.Root, name string) (*os.File, error) { return open(root, name) }

// OpenRoot opens a directory. os.OpenRoot does not return for a pipe without a writer.
func OpenRoot(name string) (*os.Root, error) {
	info, err := os.Stat(name)
	if err == nil && !info.IsDir() {
		err = syscall.ENOTDIR
	}
	if err != nil {
		return nil, openError(name, err)
	}
	return os.OpenRoot(name)
}

// Names returns the sorted names in a directory below root, or none if it is not a directory.
func Names(root *os.Root, name string) []string {
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	// If the rest cannot be read, some names are better than none.
	names, _ := file.Readdirnames(-1)
	_ = file.Close()
	slices.Sort(names)
	return names
}

// directory is where a file is opened: an *os.Root, or host.
type directory interface {
	Stat(name string) (fs.FileInfo, error)
	OpenFile(name string, flag int, mode fs.FileMode) (*os.File, error)
}

type host struct{}

func (host) Stat(name string) (fs.FileInfo, error) { return os.Stat(name) }

func (host) OpenFile(name string, flag int, mode fs.FileMode) (*os.File, error) {
	return os.OpenFile(name, flag, mode)
}

func open(in directory, name string) (*os.File, error) {
	// Opening a device may already have a side effect.
	info, err := in.Stat(name)
	if err != nil {
		return nil, openError(name, err)
	}
	if err := check(info); err != nil {
		return nil, readError(name, err)
	}
	// Another file may have the name by now. Opening a pipe blocks without O_NONBLOCK.
	file, err := in.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, openError(name, err)
	}
	if info, err = file.Stat(); err == nil {
		err = errors.Join(check(info), checkFileSystem(file))
	}
	if err != nil {
		return nil, readError(name, errors.Join(err, file.Close()))
	}
	return file, nil
}

func read(in directory, name string, limit int64) ([]byte, error) {
	file, err := open(in, name)
	if err != nil {
		return nil, err
	}
	// The size is not reliable: the file may grow.
	data, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("it is larger than %d bytes", limit)
	}
	if err := errors.Join(err, file.Close()); err != nil {
		return nil, readError(name, err)
	}
	return data, nil
}

// CheckOutput returns an error if the path exists and is not a regular file. It rejects every symbolic link: a writer
// that renames a new file to this name would replace the link, for example /dev/stdout. Its error is an *fs.PathError.
func CheckOutput(name string) error {
	info, err := os.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err == nil && info.Mode()&fs.ModeSymlink != 0:
		var target string
		if target, err = os.Readlink(name); err == nil {
			err = fmt.Errorf("it is a symbolic link to %s; give a regular file", target)
		}
	case err == nil:
		err = check(info)
	}
	if err != nil {
		return pathError("write", name, err)
	}
	return nil
}

// kernelFileSystems are the types of file systems whose regular files are not on a disk. Reading some of them blocks,
// for example /proc/kmsg and trace_pipe.
var kernelFileSystems = []int64{
	0x9fa0,     // proc
	0x62656572, // sysfs
	0x64626720, // debugfs
	0x74726163, // tracefs
	0x73636673, // securityfs
}

func checkFileSystem(file *os.File) error {
	var stat syscall.Statfs_t
	if err := syscall.Fstatfs(int(file.Fd()), &stat); err != nil {
		return err
	}
	if slices.Contains(kernelFileSystems, int64(stat.Type)) { //nolint:unconvert // Its type depends on the architecture.
		return errors.New("it is a file of the kernel; give a regular file")
	}
	return nil
}

func check(info fs.FileInfo) error {
	var kind string
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return nil
	case mode.IsDir():
		return syscall.EISDIR
	case mode&fs.ModeNamedPipe != 0:
		kind = "a named pipe"
	case mode&fs.ModeSocket != 0:
		kind = "a socket"
	case mode&fs.ModeDevice != 0:
		kind = "a device"
	default:
		kind = "not a regular file"
	}
	return fmt.Errorf("it is %s; give a regular file", kind)
}

// openError returns the error that os.Open would return. os.Stat's names another operation.
func openError(name string, err error) error { return pathError("open", name, err) }

func readError(name string, err error) error { return pathError("read", name, err) }

func pathError(op, name string, err error) error {
	var inner *fs.PathError
	if errors.As(err, &inner) {
		err = inner.Err
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}

// Reason returns an error without its operation and path, which the caller's message contains.
func Reason(err error) error {
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		return pathError.Err
	}
	var linkError *os.LinkError
	if errors.As(err, &linkError) {
		return linkError.Err
	}
	return err
}
