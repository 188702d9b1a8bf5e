// Package digest formats SHA-256 digests in the two forms that this operator uses.
package digest

import (
	"crypto/sha256"
	"encoding/hex"
)

// Of returns the digest in the form of annotations and image references: sha256:<hex>.
func Of[T string | []byte](content T) string { return "sha256:" + Hex(content) }

// Hex returns the digest without the name of the algorithm.
func Hex[T string | []byte](content T) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}
