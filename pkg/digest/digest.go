// Package digest has the two forms in which this operator writes SHA-256 digests.
package digest

import (
	"crypto/sha256"
	"encoding/hex"
)

// Of returns the digest of a content as annotations and images name it: sha256:<hex>.
func Of[T string | []byte](content T) string { return "sha256:" + Hex(content) }

// Hex returns the digest of a content without its algorithm.
func Hex[T string | []byte](content T) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}
