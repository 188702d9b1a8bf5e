// Package bindata embeds what the operator applies and renders from: the operand's pod and configuration, the
// folders of the platforms, and the static resources.
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

// MustRead is Read for an asset that is known to exist when the program is built; it panics otherwise.
func MustRead(path string) []byte {
	data, err := Read(path)
	if err != nil {
		panic(err)
	}
	return data
}

// FS is the tree of all assets, rooted above "assets".
func FS() fs.FS { return files }
