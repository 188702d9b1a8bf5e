package nodefiles

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

type disk struct{}

func (disk) makeDirectory(path string) error { return os.MkdirAll(path, directoryMode) }

func (disk) write(f File) error {
	file, err := os.OpenFile(f.Path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, f.Mode)
	if err != nil {
		return err
	}
	_, err = file.Write(f.Data)
	return errors.Join(err, file.Chmod(f.Mode), file.Close())
}

func (disk) flush(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}

func (disk) rename(from, to string) error { return os.Rename(from, to) }

func (disk) exchange(one, other string) error {
	if err := unix.Renameat2(unix.AT_FDCWD, one, unix.AT_FDCWD, other, unix.RENAME_EXCHANGE); err != nil {
		return &fs.PathError{Op: "exchange", Path: other, Err: err}
	}
	return nil
}

func (disk) removeAll(path string) error { return os.RemoveAll(path) }
