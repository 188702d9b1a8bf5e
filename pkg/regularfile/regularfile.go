// Package regularfile checks files that a user names. The name may be a pipe without a writer, an endless device or the
// kernel's log; reading any of them would never return. Replacing a device would break the machine.
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

// Read returns the content of a regular file of at most limit bytes. It follows symbolic links. Its error is an
// *fs.PathError.
func Read(name string, limit int64) ([]byte, error) {
	// Opening a device may already have a side effect.
	info, err := os.Stat(name)
	if err != nil {
		return nil, openError(name, err)
	}
	if err := check(info); err != nil {
		return nil, readError(name, err)
	}
	// Another file may have got this name since. Opening a pipe blocks without O_NONBLOCK.
	file, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, openError(name, err)
	}
	data, err := read(file, limit)
	if err := errors.Join(err, file.Close()); err != nil {
		return nil, readError(name, err)
	}
	return data, nil
}

func read(file *os.File, limit int64) ([]byte, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if err := check(info); err != nil {
		return nil, err
	}
	if err := checkFileSystem(file); err != nil {
		return nil, err
	}
	// The size is not reliable: a file may grow.
	data, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("it is larger than %d bytes", limit)
	}
	return data, nil
}

// CheckOutput returns an error if something exists at the path that is not a regular file. It rejects every symbolic
// link: a writer that renames a new file to this name would replace the link, for example /dev/stdout. Its error is an
// *fs.PathError.
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

// kernelFileSystems are the types of file systems whose regular files are not files on a disk. Reading some of them
// blocks, for example /proc/kmsg and trace_pipe.
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

// openError returns the error that os.Open would return; os.Stat's has the operation stat.
func openError(name string, err error) error { return pathError("open", name, err) }

func readError(name string, err error) error { return pathError("read", name, err) }

func pathError(op, name string, err error) error {
	var inner *fs.PathError
	if errors.As(err, &inner) {
		err = inner.Err
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}

// Reason returns an error without its operation and path, which the caller's message has.
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
