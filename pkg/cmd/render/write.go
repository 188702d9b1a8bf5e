package render

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/nodefiles"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/offline"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/regularfile"
)

const (
	publicMode os.FileMode = 0o644
	secretMode os.FileMode = 0o600
)

type output = nodefiles.File

// staleOutputs returns the files that an earlier or killed run left and that this run does not write.
func staleOutputs(assetOutputDir string, outputs []output) ([]string, error) {
	var stale []string
	owned := []string{filepath.Join(podDir, podFile), filepath.Join(configDir, filePrefix+"*"),
		filepath.Join(secretDir, filePrefix+"*"), filepath.Join(manifestDir, manifestPrefix+"*")}
	directory := globEscaper.Replace(filepath.Clean(assetOutputDir))
	for _, pattern := range owned {
		for _, pattern := range []string{pattern, nodefiles.StagingName(pattern)} {
			found, err := filepath.Glob(filepath.Join(directory, pattern))
			if err != nil {
				return nil, fmt.Errorf("looking for earlier outputs in %s: %w", assetOutputDir, err)
			}
			for _, path := range found {
				stale = append(stale, nodefiles.StagedFor(path))
			}
		}
	}
	slices.Sort(stale)
	return slices.DeleteFunc(slices.Compact(stale), func(path string) bool {
		return slices.ContainsFunc(outputs, func(o output) bool { return filepath.Clean(o.Path) == path })
	}), nil
}

var globEscaper = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`)

// write writes the outputs, then removes stale files. If an output cannot be written, as on a full disk, no file
// changes. Unchanged files are not touched.
func write(outputs []output, stale []string) error {
	if err := checkPaths(outputs); err != nil {
		return err
	}
	if err := nodefiles.ReplaceFiles(outputs...); err != nil {
		return err
	}
	for _, path := range stale {
		if err := nodefiles.Remove(path); err != nil {
			return fmt.Errorf("all outputs are written, but a file of an earlier run remains: %w", err)
		}
		// A glob over an empty directory fails in bootkube.sh. Remove fails, as intended, if the directory is not empty.
		_ = os.Remove(filepath.Dir(path))
	}
	return nil
}

func checkPaths(outputs []output) error {
	seen := map[string]bool{}
	for _, o := range outputs {
		path := filepath.Clean(o.Path)
		if seen[path] {
			return fmt.Errorf("two outputs have the path %s: specify another --config-output-file", path)
		}
		seen[path] = true
		info, err := os.Lstat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return offline.ReadError(path, err)
		case info.IsDir():
			return fmt.Errorf("%s is a directory, but must be a file: remove it or specify another directory", path)
		case !info.Mode().IsRegular():
			return fmt.Errorf("%s cannot be written: %w", path, regularfile.Reason(regularfile.CheckOutput(path)))
		}
	}
	return nil
}
