package nodefiles

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"
)

// lockPeriod is how often a process tries to acquire a lock that another process holds.
const lockPeriod = 200 * time.Millisecond

// LockDirectory locks a directory, which it creates. It waits until no other process holds the lock.
func LockDirectory(ctx context.Context, directory string) (unlock func(), err error) {
	return Lock(ctx, filepath.Join(directory, ".lock"))
}

// Lock locks a file, which it creates. It waits until no other process holds the lock. The kernel releases the lock of
// a process that has ended. The holder may remove the file; the next process then locks a new file.
func Lock(ctx context.Context, path string) (unlock func(), err error) {
	err = wait.PollUntilContextCancel(ctx, lockPeriod, true, func(context.Context) (bool, error) {
		unlock, err = tryLock(path)
		if errors.Is(err, unix.EWOULDBLOCK) {
			klog.V(2).InfoS("Another process on this node has the lock", "lock", path)
			return false, nil
		}
		return unlock != nil, err
	})
	if err != nil {
		return nil, fmt.Errorf("waiting for the lock %s: %w", path, err)
	}
	return unlock, nil
}

// tryLock returns nil without an error if the file was removed before this process had its lock.
func tryLock(path string) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(path), directoryMode); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, fileMode)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	locked, err := file.Stat()
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	if current, err := os.Stat(path); err != nil || !os.SameFile(locked, current) {
		return nil, file.Close()
	}
	return func() { _ = file.Close() }, nil
}
