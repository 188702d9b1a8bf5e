// Package regularfile reads files that a user names. Such a name may belong to a pipe that nobody writes to or to a device
// without an end, and reading either would never return.
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
	// Opening a device may already have an effect.
	info, err := os.Stat(name)
	if err != nil {
		return nil, openError(name, err)
	}
	if err := check(info); err != nil {
		return nil, readError(name, err)
	}
	// The name may have been given to another file since; opening a pipe blocks without O_NONBLOCK.
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
	// The size is no help: it is 0 in /proc, and a file may grow.
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
		kind = "no regular file"
	}
	return fmt.Errorf("it is %s; give a regular file", kind)
}

// openError is what os.Open would return: os.Stat calls its operation stat.
func openError(name string, err error) error { return pathError("open", name, err) }

func readError(name string, err error) error { return pathError("read", name, err) }

func pathError(op, name string, err error) error {
	var inner *fs.PathError
	if errors.As(err, &inner) {
		err = inner.Err
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}
