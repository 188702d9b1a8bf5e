// Package bootstrap embeds what the bootstrap node needs besides the assets that every phase shares: the phase's
// overlay of the operand's configuration and pod, and the manifests that have to exist before the operator runs.
//
// bootkube-step.sh beside it is the step of bootkube.sh that calls render and puts its outputs in place.
package bootstrap

import (
	"embed"
	"fmt"
	"path"
)

//go:embed config.yaml pod-patch.yaml manifests
var files embed.FS

// Config is the phase's layer of the operand's configuration, YAML.
func Config() []byte { return mustRead("config.yaml") }

// PodPatch is the phase's strategic merge patch of the pod, YAML.
func PodPatch() []byte { return mustRead("pod-patch.yaml") }

// Manifest is one object that the bootstrap node creates in the cluster.
type Manifest struct {
	// Name is the name of its file, unique among the manifests of all operators.
	Name string
	// Data is YAML.
	Data []byte
}

// Manifests are created through the API on the bootstrap node, on every platform. They are sorted by name.
func Manifests() []Manifest {
	const folder = "manifests"
	entries, err := files.ReadDir(folder)
	if err != nil {
		panic(fmt.Errorf("reading embedded manifests: %w", err))
	}
	manifests := make([]Manifest, 0, len(entries))
	for _, entry := range entries {
		manifests = append(manifests, Manifest{Name: entry.Name(), Data: mustRead(path.Join(folder, entry.Name()))})
	}
	return manifests
}

// mustRead panics only when the program was built without one of its files, which the embedding excludes.
func mustRead(name string) []byte {
	data, err := files.ReadFile(name)
	if err != nil {
		panic(fmt.Errorf("reading embedded file: %w", err))
	}
	return data
}
