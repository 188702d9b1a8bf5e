// Package manifests embeds the admission policies of the release payload, so that the operator can compare them with
// those of the cluster. The cluster-version-operator applies them.
package manifests

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
)

//go:embed *_09_*.yaml
var policies embed.FS

// AdmissionPolicies returns the YAML documents of the admission policies and of their bindings.
func AdmissionPolicies() [][]byte {
	names, err := fs.Glob(policies, "*.yaml")
	if err != nil {
		panic(fmt.Errorf("listing embedded manifests: %w", err))
	}
	var documents [][]byte
	for _, name := range names {
		content, err := policies.ReadFile(name)
		if err != nil {
			panic(fmt.Errorf("reading embedded manifest: %w", err))
		}
		documents = append(documents, bytes.Split(content, []byte("\n---\n"))...)
	}
	return documents
}
