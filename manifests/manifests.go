// Package manifests embeds what the operator needs of the release payload, which the cluster-version-operator applies:
// the admission policies, to compare them with those of the cluster, and the ClusterOperator.
package manifests

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
)

//go:embed *_09_*.yaml
var policies embed.FS

// ClusterOperator is the YAML document of the ClusterOperator.
//
//go:embed 0000_26_cloud-controller-manager-operator_12_clusteroperator.yaml
var ClusterOperator []byte

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
