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

	"github.com/openshift/cluster-cloud-controller-manager-operator/bootstrap"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/offline"
)

const (
	publicMode os.FileMode = 0o644
	secretMode os.FileMode = 0o600
	folderMode os.FileMode = 0o755
)

// Names of the files that stand beside an output while it is written. They start with a dot: no glob of a shell and no
// kubelet takes them for outputs.
const (
	newPrefix = "." + filePrefix + "render-new-"
	oldPrefix = "." + filePrefix + "render-old-"
)

// output is one file to write.
type output struct {
	path string
	mode os.FileMode
	data []byte
}

// disk is what changes a file system.
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

// writeNew creates the file, which must not exist, with exactly this mode.
func writeNew(path string, data []byte, mode os.FileMode) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	return errors.Join(err, file.Chmod(mode), file.Close())
}

// staleOutputs lists what an earlier run wrote and this one does not.
func staleOutputs(assetOutputDir string, outputs []output) ([]string, error) {
	var stale []string
	ours := []string{filepath.Join(podDir, podFile), filepath.Join(configDir, filePrefix+"*"), filepath.Join(secretDir, filePrefix+"*")}
	for _, m := range bootstrap.Manifests() {
		ours = append(ours, filepath.Join(manifestDir, m.Name))
	}
	for _, owned := range ours {
		found, err := filepath.Glob(filepath.Join(escapeGlob(assetOutputDir), owned))
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

// write makes every output what it should be and removes what is stale, all or nothing: all data is on the disk before
// the first name changes, and a failure takes back what was done. A file that is right already is not touched.
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
			return fmt.Errorf("%s cannot be written: %w", o.path, offline.Reason(err))
		}
	}
	for _, path := range stale {
		if err := t.hide(path); err != nil {
			return fmt.Errorf("%s is left from an earlier run and cannot be removed: %w", path, offline.Reason(err))
		}
	}
	for _, o := range pending {
		if err := t.replace(o.path); err != nil {
			return fmt.Errorf("%s cannot be written: %w", o.path, offline.Reason(err))
		}
	}
	return t.commit(stale)
}

// sweep removes what a killed run left beside the outputs.
func sweep(d disk, outputs []output) error {
	folders := map[string]bool{}
	for _, o := range outputs {
		folders[filepath.Dir(o.path)] = true
	}
	for folder := range folders {
		for _, prefix := range []string{newPrefix, oldPrefix} {
			left, err := filepath.Glob(filepath.Join(escapeGlob(folder), prefix+"*"))
			if err != nil {
				return fmt.Errorf("looking for what an interrupted run left in %s: %w", folder, err)
			}
			for _, path := range left {
				if err := d.remove(path); err != nil {
					return fmt.Errorf("%s is left from an interrupted run and cannot be removed: %w", path, offline.Reason(err))
				}
			}
		}
	}
	return nil
}

// differing returns the outputs that are not on the disk yet as they should be.
func differing(outputs []output) ([]output, error) {
	var pending []output
	seen := map[string]bool{}
	for _, o := range outputs {
		o.path = filepath.Clean(o.path)
		if seen[o.path] {
			return nil, fmt.Errorf("two outputs would be written to %s: give another --config-output-file", o.path)
		}
		seen[o.path] = true
		info, err := os.Lstat(o.path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return nil, offline.ReadError(o.path, err)
		case info.IsDir():
			return nil, fmt.Errorf("%s is a folder where a file has to be written: remove it or give another folder", o.path)
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

// transaction is a write in progress.
type transaction struct {
	disk
	// undo takes back what was done, in the order in which it was done.
	undo []func() error
	// old are the former files, kept until all is done.
	old []string
}

func newName(path string) string {
	return filepath.Join(filepath.Dir(path), newPrefix+filepath.Base(path))
}

func oldName(path string) string {
	return filepath.Join(filepath.Dir(path), oldPrefix+filepath.Base(path))
}

// stage writes the data beside the output.
func (t *transaction) stage(o output) error {
	if err := t.makeFolder(filepath.Dir(o.path)); err != nil {
		return err
	}
	staged := newName(o.path)
	t.undo = append(t.undo, func() error { return t.removeIfThere(staged) })
	return t.write(staged, o.data, o.mode)
}

// makeFolder makes the folder and those above it that are missing.
func (t *transaction) makeFolder(folder string) error {
	switch info, err := os.Stat(folder); {
	case err == nil && !info.IsDir():
		return fmt.Errorf("%s is not a folder", folder)
	case err == nil || !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err := t.makeFolder(filepath.Dir(folder)); err != nil {
		return err
	}
	if err := t.mkdir(folder, folderMode); err != nil {
		return err
	}
	t.undo = append(t.undo, func() error { return t.remove(folder) })
	return nil
}

// hide takes a file away, but keeps it until commit.
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

// replace gives the staged file its name. The former file stays under another name, so that taking it back needs no space.
func (t *transaction) replace(path string) error {
	former := oldName(path)
	switch err := t.link(path, former); {
	case errors.Is(err, fs.ErrNotExist):
		t.undo = append(t.undo, func() error { return t.removeIfThere(path) })
	case err != nil:
		return err
	default:
		t.undo = append(t.undo, func() error {
			// Renaming a name to another one of the same file does nothing at all.
			return errors.Join(t.rename(former, path), t.removeIfThere(former))
		})
		t.old = append(t.old, former)
	}
	return t.rename(newName(path), path)
}

// rollback undoes everything, the last first.
func (t *transaction) rollback() error {
	var errs []error
	for _, undo := range slices.Backward(t.undo) {
		if err := undo(); err != nil {
			errs = append(errs, fmt.Errorf("taking back what was written: %w", err))
		}
	}
	return errors.Join(errs...)
}

// commit removes the former files and the folders that are empty now: a glob over an empty folder fails.
func (t *transaction) commit(stale []string) error {
	t.undo = nil
	for _, path := range t.old {
		if err := t.remove(path); err != nil {
			return fmt.Errorf("everything is written, but %s cannot be removed: %w", path, offline.Reason(err))
		}
	}
	for _, path := range stale {
		// It fails where the folder is not empty, which is fine.
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
