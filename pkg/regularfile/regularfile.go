// Package regularfile reads files that a user names. The name may be a pipe without a writer or an endless device;
// reading either would never return.
package regularfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
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
	// The size is not reliable: it is 0 in /proc, and a file may grow.
	data, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("it is larger than %d bytes", limit)
	}
	return data, nil
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
