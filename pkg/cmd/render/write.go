package render

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/offline"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/regularfile"
)

const (
	publicMode os.FileMode = 0o644
	secretMode os.FileMode = 0o600
	dirMode    os.FileMode = 0o755
)

// Prefixes of temporary files beside an output. The leading dot hides them from shell globs and the kubelet.
const (
	newPrefix = "." + filePrefix + "render-new-"
	oldPrefix = "." + filePrefix + "render-old-"
)

type output struct {
	path string
	mode os.FileMode
	data []byte
}

// disk has the operations that change a file system, so that tests can inject errors.
type disk struct {
	mkdir  func(path string, mode os.FileMode) error
	write  func(path string, data []byte, mode os.FileMode) error
	link   func(from, to string) error
	rename func(from, to string) error
	remove func(path string) error
}

func osDisk() disk {
	return disk{mkdir: os.Mkdir, write: writeNew, link: os.Link, rename: os.Rename, remove: os.Remove}
}

// writeNew creates a file with exactly this mode. The file must not exist.
func writeNew(path string, data []byte, mode os.FileMode) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	return errors.Join(err, file.Chmod(mode), file.Close())
}

// staleOutputs returns the files that an earlier run wrote and this one does not.
func staleOutputs(assetOutputDir string, outputs []output) ([]string, error) {
	var stale []string
	owned := []string{filepath.Join(podDir, podFile), filepath.Join(configDir, filePrefix+"*"),
		filepath.Join(secretDir, filePrefix+"*"), filepath.Join(manifestDir, manifestPrefix+"*")}
	for _, pattern := range owned {
		found, err := filepath.Glob(filepath.Join(escapeGlob(assetOutputDir), pattern))
		if err != nil {
			return nil, fmt.Errorf("looking for earlier outputs in %s: %w", assetOutputDir, err)
		}
		stale = append(stale, found...)
	}
	return slices.DeleteFunc(stale, func(path string) bool {
		return slices.ContainsFunc(outputs, func(o output) bool { return filepath.Clean(o.path) == path })
	}), nil
}

var globEscaper = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`)

func escapeGlob(path string) string { return globEscaper.Replace(filepath.Clean(path)) }

// write writes the outputs and removes stale files, all or nothing: all data is on the disk before the first rename,
// and an error rolls back. It does not touch unchanged files.
func write(d disk, outputs []output, stale []string) (err error) {
	pending, err := differing(outputs)
	if err != nil {
		return err
	}
	if err := sweep(d, outputs); err != nil {
		return err
	}
	t := &transaction{disk: d}
	defer func() {
		if err != nil {
			err = errors.Join(err, t.rollback())
		}
	}()
	for _, o := range pending {
		if err := t.stage(o); err != nil {
			return fmt.Errorf("writing %s: %w", o.path, regularfile.Reason(err))
		}
	}
	for _, path := range stale {
		if err := t.hide(path); err != nil {
			return fmt.Errorf("removing %s of an earlier run: %w", path, regularfile.Reason(err))
		}
	}
	for _, o := range pending {
		if err := t.replace(o.path); err != nil {
			return fmt.Errorf("writing %s: %w", o.path, regularfile.Reason(err))
		}
	}
	return t.commit(stale)
}

// sweep removes the temporary files of a killed run.
func sweep(d disk, outputs []output) error {
	dirs := map[string]bool{}
	for _, o := range outputs {
		dirs[filepath.Dir(o.path)] = true
	}
	for dir := range dirs {
		for _, prefix := range []string{newPrefix, oldPrefix} {
			left, err := filepath.Glob(filepath.Join(escapeGlob(dir), prefix+"*"))
			if err != nil {
				return fmt.Errorf("looking for files of an interrupted run in %s: %w", dir, err)
			}
			for _, path := range left {
				if err := d.remove(path); err != nil {
					return fmt.Errorf("removing %s of an interrupted run: %w", path, regularfile.Reason(err))
				}
			}
		}
	}
	return nil
}

func differing(outputs []output) ([]output, error) {
	var pending []output
	seen := map[string]bool{}
	for _, o := range outputs {
		o.path = filepath.Clean(o.path)
		if seen[o.path] {
			return nil, fmt.Errorf("two outputs have the path %s: specify another --config-output-file", o.path)
		}
		seen[o.path] = true
		info, err := os.Lstat(o.path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return nil, offline.ReadError(o.path, err)
		case info.IsDir():
			return nil, fmt.Errorf("%s is a directory, but must be a file: remove it or specify another directory", o.path)
		case !info.Mode().IsRegular():
			return nil, fmt.Errorf("%s cannot be written: %w", o.path, regularfile.Reason(regularfile.CheckOutput(o.path)))
		case info.Mode() == o.mode:
			data, err := offline.ReadFile(o.path)
			if err != nil {
				return nil, err
			}
			if bytes.Equal(data, o.data) {
				continue
			}
		}
		pending = append(pending, o)
	}
	return pending, nil
}

type transaction struct {
	disk
	// undo has the operations that undo the write, in the order of the write.
	undo []func() error
	// old are the previous files, kept until commit.
	old []string
}

func newName(path string) string {
	return filepath.Join(filepath.Dir(path), newPrefix+filepath.Base(path))
}

func oldName(path string) string {
	return filepath.Join(filepath.Dir(path), oldPrefix+filepath.Base(path))
}

func (t *transaction) stage(o output) error {
	if err := t.makeDir(filepath.Dir(o.path)); err != nil {
		return err
	}
	staged := newName(o.path)
	t.undo = append(t.undo, func() error { return t.removeIfThere(staged) })
	return t.write(staged, o.data, o.mode)
}

func (t *transaction) makeDir(dir string) error {
	switch info, err := os.Stat(dir); {
	case err == nil && !info.IsDir():
		return fmt.Errorf("%s is not a directory", dir)
	case err == nil || !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err := t.makeDir(filepath.Dir(dir)); err != nil {
		return err
	}
	if err := t.mkdir(dir, dirMode); err != nil {
		return err
	}
	t.undo = append(t.undo, func() error { return t.remove(dir) })
	return nil
}

func (t *transaction) hide(path string) error {
	hidden := oldName(path)
	switch err := t.rename(path, hidden); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	t.undo = append(t.undo, func() error { return t.rename(hidden, path) })
	t.old = append(t.old, hidden)
	return nil
}

// replace renames the staged file to its final name. A link keeps the previous file, so that a rollback needs no disk
// space.
func (t *transaction) replace(path string) error {
	former := oldName(path)
	switch err := t.link(path, former); {
	case errors.Is(err, fs.ErrNotExist):
		t.undo = append(t.undo, func() error { return t.removeIfThere(path) })
	case err != nil:
		return err
	default:
		t.undo = append(t.undo, func() error {
			// A rename between two names of the same file does nothing.
			return errors.Join(t.rename(former, path), t.removeIfThere(former))
		})
		t.old = append(t.old, former)
	}
	return t.rename(newName(path), path)
}

func (t *transaction) rollback() error {
	var errs []error
	for _, undo := range slices.Backward(t.undo) {
		if err := undo(); err != nil {
			errs = append(errs, fmt.Errorf("rolling back: %w", err))
		}
	}
	return errors.Join(errs...)
}

// commit removes the previous files and empty directories, because a glob over an empty directory fails in
// bootkube.sh.
func (t *transaction) commit(stale []string) error {
	t.undo = nil
	for _, path := range t.old {
		if err := t.remove(path); err != nil {
			return fmt.Errorf("all outputs are written, but removing %s failed: %w", path, regularfile.Reason(err))
		}
	}
	for _, path := range stale {
		// The removal fails if the directory is not empty, as intended.
		_ = t.remove(filepath.Dir(path))
	}
	return nil
}

func (t *transaction) removeIfThere(path string) error {
	if err := t.remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
