// Package parity compares what the Deployment-based predecessor and this operator give a cloud-controller-manager, and
// writes docs/parity.md. Facts about this operator are read from its manifests, assets and golden files, those about
// the predecessor from predecessor.yaml, which cmd/parity writes from a checkout. reasons.yaml explains the
// differences.
package parity

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"slices"

	"sigs.k8s.io/yaml"
)

// Sections of facts about a platform. Those about the cloud-node-manager have the prefix nodeManager.
const (
	flagSection        = "flag"
	environmentSection = "environment"
	mountSection       = "mount"
	probeSection       = "probe"
	resourceSection    = "resources"
	podSection         = "pod"
	containerSection   = "other container"
	rightSection       = "right"
	operatorSection    = "right of the operator"
	permissionSection  = "permission"
	objectSection      = "object"
	imageSection       = "image"

	nodeManager = "cloud-node-manager: "
)

// sections are in the order of the document.
var sections = []string{
	flagSection, environmentSection, mountSection, probeSection, resourceSection, podSection, containerSection,
	rightSection,
	nodeManager + flagSection, nodeManager + environmentSection, nodeManager + mountSection, nodeManager + probeSection,
	nodeManager + resourceSection, nodeManager + podSection, nodeManager + containerSection, nodeManager + rightSection,
	permissionSection, objectSection, imageSection, operatorSection,
}

const (
	// every is the scope of what all platforms have in common.
	every = "every platform"
	// payload is the scope of what does not depend on the platform: the operator and the release payload.
	payload = "payload"
)

// present is the value of an item that has no other.
const present = "yes"

// Facts are the values of items by scope and section. A scope is a platform or payload.
type Facts map[string]map[string]map[string]string

func (f Facts) add(scope, section, item, value string) {
	if f[scope] == nil {
		f[scope] = map[string]map[string]string{}
	}
	if f[scope][section] == nil {
		f[scope][section] = map[string]string{}
	}
	f[scope][section][item] = value
}

// Predecessor is the content of predecessor.yaml.
type Predecessor struct {
	// Commit of openshift/cluster-cloud-controller-manager-operator.
	Commit string `json:"commit"`
	// Facts include the scope every in the file only.
	Facts Facts `json:"facts"`
}

const predecessorHeader = "# Facts about the predecessor. Do not edit them: test/parity/cmd/parity reads a checkout.\n"

// Write writes the file. It writes what all platforms have in common once.
func (p Predecessor) Write(file string) error {
	content, err := yaml.Marshal(Predecessor{Commit: p.Commit, Facts: p.Facts.factor()})
	if err != nil {
		return fmt.Errorf("encoding the facts: %w", err)
	}
	if err := os.WriteFile(file, append([]byte(predecessorHeader), content...), 0o644); err != nil {
		return fmt.Errorf("writing the facts: %w", err)
	}
	return nil
}

// ReadPredecessor reads the file that Write writes.
func ReadPredecessor(file string) (Predecessor, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return Predecessor{}, fmt.Errorf("reading the facts: %w", err)
	}
	var p Predecessor
	if err := yaml.UnmarshalStrict(content, &p); err != nil {
		return Predecessor{}, fmt.Errorf("%s: %w", file, err)
	}
	if !bytes.HasPrefix(content, []byte(predecessorHeader)) || p.Commit == "" {
		return Predecessor{}, fmt.Errorf("%s was not written by cmd/parity", file)
	}
	common := p.Facts[every]
	delete(p.Facts, every)
	for scope := range p.Facts {
		for section, items := range common {
			for item, value := range items {
				if scope != payload {
					p.Facts.add(scope, section, item, value)
				}
			}
		}
	}
	return p, nil
}

// factor returns the facts with those of all platforms under the scope every.
func (f Facts) factor() Facts {
	platforms := slices.DeleteFunc(slices.Sorted(maps.Keys(f)), func(scope string) bool { return scope == payload })
	factored := Facts{}
	for scope, inScope := range f {
		for section, items := range inScope {
			for item, value := range items {
				shared := scope != payload && !slices.ContainsFunc(platforms, func(p string) bool {
					of, has := f[p][section][item]
					return !has || of != value
				})
				if shared {
					factored.add(every, section, item, value)
				} else {
					factored.add(scope, section, item, value)
				}
			}
		}
	}
	for _, p := range platforms {
		if factored[p] == nil {
			factored[p] = map[string]map[string]string{}
		}
	}
	return factored
}
