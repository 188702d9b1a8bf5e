package nodefiles

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/digest"
)

// Digest returns the digest of the files as this package writes them.
func Digest(files Files) string {
	var content strings.Builder
	for _, path := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(&content, "%q %s %d\n%s\n", path, fileMode, len(files[path]), files[path])
	}
	return digest.Of(content.String())
}

// DigestOf returns the digest of the file or of the directory's files, "" if the path does not exist. It differs from
// Digest if a file has another mode or is not regular.
func DigestOf(path string) (string, error) {
	digest, err := digestOf(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return digest, err
}

func digestOf(path string) (string, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return "", err
	}
	directory, start := path, "."
	if !info.IsDir() {
		directory, start = filepath.Split(path)
	}
	root, err := os.OpenRoot(directory)
	if err != nil {
		return "", err
	}
	defer root.Close()
	var content strings.Builder
	err = fs.WalkDir(root.FS(), start, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		var data []byte
		if info.Mode().IsRegular() {
			if data, err = root.ReadFile(name); err != nil {
				return err
			}
		}
		_, err = fmt.Fprintf(&content, "%q %s %d\n%s\n", name, info.Mode(), len(data), data)
		return err
	})
	return digest.Of(content.String()), err
}
