// Package bootstrap embeds the bootstrap phase's overlay of the operand's configuration and pod, and the manifests
// that must exist before the operator runs. All other assets are shared with the other phase.
//
// bootkube-step.sh is the step of bootkube.sh that calls render and installs its outputs.
package bootstrap

import (
	"embed"
	"fmt"
	"path"
)

//go:embed config.yaml pod-patch.yaml manifests node-manager
var files embed.FS

// Config returns the bootstrap phase's layer of the operand's configuration as YAML.
func Config() []byte { return mustRead("config.yaml") }

// PodPatch returns the bootstrap phase's strategic merge patch of the pod as YAML.
func PodPatch() []byte { return mustRead("pod-patch.yaml") }

// Manifest is an object that the bootstrap node creates in the cluster.
type Manifest struct {
	// Name is the file name, unique among the manifests of all operators.
	Name string
	// Data is YAML.
	Data []byte
}

// Manifests returns the manifests, sorted by name. The bootstrap node creates them through the API on every platform.
func Manifests() []Manifest { return manifestsIn("manifests") }

// NodeManagerManifests returns the ClusterRoles of the payload that a cloud-node-manager needs before the payload is
// applied, and the admission policy that restrains it, sorted by name. The bootstrap node creates them in this order on
// a platform that has a cloud-node-manager.
func NodeManagerManifests() []Manifest { return manifestsIn("node-manager") }

func manifestsIn(dir string) []Manifest {
	entries, err := files.ReadDir(dir)
	if err != nil {
		panic(fmt.Errorf("reading embedded manifests: %w", err))
	}
	manifests := make([]Manifest, 0, len(entries))
	for _, entry := range entries {
		manifests = append(manifests, Manifest{Name: entry.Name(), Data: mustRead(path.Join(dir, entry.Name()))})
	}
	return manifests
}

// mustRead returns an embedded file, which is part of every build.
func mustRead(name string) []byte {
	data, err := files.ReadFile(name)
	if err != nil {
		panic(fmt.Errorf("reading embedded file: %w", err))
	}
	return data
}
