// Package bindata embeds the assets that the operator applies and renders: the operand's pod and configuration, the
// platforms' directories, and the static resources.
package bindata

import (
	"embed"
	"fmt"
	"io/fs"
)

//go:embed assets
var files embed.FS

// Read returns the asset at the slash-separated path, which starts with "assets/".
func Read(path string) ([]byte, error) {
	data, err := files.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading embedded asset: %w", err)
	}
	return data, nil
}

// MustRead is Read for an asset that is part of every build; it panics on an error.
func MustRead(path string) []byte {
	data, err := Read(path)
	if err != nil {
		panic(err)
	}
	return data
}

// FS returns the tree of all assets. Its root has the directory "assets".
func FS() fs.FS { return files }
