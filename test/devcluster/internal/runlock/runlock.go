// Package runlock keeps two runs from using the same directory or machine-wide names concurrently. The kernel
// releases a lock when its holder dies, so a crash leaves no lock.
package runlock

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Lock is a held lock; its owner releases it.
type Lock struct {
	file *os.File
}

// HeldError reports that another process holds the lock.
type HeldError struct {
	// Path is the lock's file.
	Path string
	// Holder is the holder's description of itself.
	Holder string
}

// Error implements error.
func (e *HeldError) Error() string {
	return fmt.Sprintf("%s is held by %s: stop that one first", e.Path, e.Holder)
}

// Take takes the lock at path, or fails immediately with a HeldError.
func Take(path string) (*Lock, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		content, _ := io.ReadAll(file)
		_ = file.Close()
		return nil, &HeldError{Path: path, Holder: strings.TrimSpace(string(content))}
	}
	if err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	holder := fmt.Sprintf("process %d (%s) since %s\n", os.Getpid(), filepath.Base(os.Args[0]),
		time.Now().UTC().Format(time.RFC3339))
	if err := errors.Join(file.Truncate(0), write(file, holder)); err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return &Lock{file: file}, nil
}

func write(file *os.File, text string) error {
	_, err := file.WriteAt([]byte(text), 0)
	return err
}

// Wait takes the lock at path when it is free, unless ctx ends before. It reports the holder on progress.
func Wait(ctx context.Context, path string, progress io.Writer) (*Lock, error) {
	ticker := time.NewTicker(200 * time.Millisecond)
	defer ticker.Stop()
	for said := false; ; said = true {
		lock, err := Take(path)
		var held *HeldError
		if !errors.As(err, &held) {
			return lock, err
		}
		if !said {
			fmt.Fprintf(progress, "waiting: %s is held by %s\n", path, held.Holder)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w", ctx.Err(), err)
		case <-ticker.C:
		}
	}
}

// Release releases the lock. The file stays, because removing it would race with the next holder.
func (l *Lock) Release() {
	_ = l.file.Close()
}
