package parity

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	imagev1 "github.com/openshift/api/image/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/rights"
)

// deleted is the annotation on what the cluster-version-operator deletes.
const deleted = "release.openshift.io/delete"

// Ours reads the facts about this operator; root is the directory of the repository. Its platforms are those that a
// release runs.
func Ours(root string) (Facts, error) {
	facts := Facts{}
	var names []string
	requests := map[string][]string{}
	manifests, err := readFiles(filepath.Join(root, "manifests", "*"))
	if err != nil {
		return nil, err
	}
	for _, o := range manifests {
		if err := facts.addManifest(o); err != nil {
			return nil, err
		}
		if o.Kind == "CredentialsRequest" {
			if requests[o.Metadata.Name], err = o.permissions(); err != nil {
				return nil, err
			}
		}
	}
	for _, p := range platform.All() {
		if p.Image == "" {
			continue
		}
		names = append(names, p.Name)
		golden := filepath.Join(root, "pkg", "operand", "testdata", p.Name, "operator.golden.yaml")
		if err := facts.addGolden(p.Name, golden); err != nil {
			return nil, err
		}
		for _, permission := range requests[p.Credentials.Request] {
			facts.add(p.Name, permissionSection, permission, present)
		}
		if err := facts.addAssets(p, filepath.Join(root, "bindata", "assets")); err != nil {
			return nil, err
		}
	}
	granted, err := rights.Granted(root)
	if err != nil {
		return nil, fmt.Errorf("reading the rights: %w", err)
	}
	facts.addRights(names, granted)
	return facts, nil
}

// addAssets adds the objects that the operator applies on a platform.
func (f Facts) addAssets(p platform.Platform, assets string) error {
	patterns := []string{"resources/*.yaml", "platforms/" + p.Name + "/resources/*.yaml"}
	if !p.WithoutMetrics {
		patterns = append(patterns, "metrics/*.yaml")
	}
	if p.NodeManagerImage != "" {
		patterns = append(patterns, "node-manager/*.yaml", "node-manager/resources/*.yaml")
	}
	for _, pattern := range patterns {
		objects, err := readFiles(filepath.Join(assets, pattern))
		if err != nil {
			return err
		}
		for _, o := range objects {
			f.add(p.Name, objectSection, o.String(), present)
		}
	}
	return nil
}

// addManifest adds an object of the payload.
func (f Facts) addManifest(o object) error {
	if o.Kind != "ImageStream" {
		f.add(payload, objectSection, o.String(), present)
		return nil
	}
	var stream imagev1.ImageStream
	if err := o.into(&stream); err != nil {
		return err
	}
	for _, tag := range stream.Spec.Tags {
		f.add(payload, imageSection, tag.Name, present)
	}
	return nil
}

const staticPod = "static pod on every control-plane node"

// addGolden adds the pods in a golden file of pkg/operand. Each of its documents begins with a comment that names it.
func (f Facts) addGolden(name, file string) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("reading a golden file: %w", err)
	}
	for document := range strings.SplitSeq(string(content), "\n---\n") {
		head, _, _ := strings.Cut(document, "\n")
		o := object{document: []byte(document)}
		switch {
		case head == "# pod.yaml":
			var pod corev1.Pod
			if err := o.into(&pod); err != nil {
				return err
			}
			if err := f.addPod(name, "", staticPod, pod.Spec, "cloud-controller-manager"); err != nil {
				return err
			}
		case strings.HasPrefix(head, "# daemonset/"):
			var set appsv1.DaemonSet
			if err := o.into(&set); err != nil {
				return err
			}
			if err := f.addPod(name, nodeManager, "DaemonSet", set.Spec.Template.Spec, "cloud-node-manager"); err != nil {
				return err
			}
		}
	}
	return nil
}

// readFiles decodes the objects in the files of a pattern, except for those that are to be deleted.
func readFiles(pattern string) ([]object, error) {
	files, err := filepath.Glob(pattern)
	if err != nil {
		return nil, fmt.Errorf("listing %s: %w", pattern, err)
	}
	var found []object
	for _, file := range files {
		if filepath.Ext(file) == ".go" {
			continue // the package that embeds some of them
		}
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("reading a manifest: %w", err)
		}
		objects, err := decode(content)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		for _, o := range objects {
			if o.Metadata.Annotations[deleted] == "" {
				found = append(found, o)
			}
		}
	}
	return found, nil
}
