// Package payload reads a directory of release manifests as the cluster-version-operator does and applies them: files
// in lexical order, image placeholders and the version replaced, only what its rules include in the cluster.
package payload

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
	imagev1 "github.com/openshift/api/image/v1"
	"github.com/openshift/library-go/pkg/manifest"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"
)

const (
	// imageReferences is the file that lists the images of a release.
	imageReferences = "image-references"
	// versionPlaceholder is replaced with the release's version by a release build.
	versionPlaceholder   = "0.0.1-snapshot"
	deleteAnnotation     = "release.openshift.io/delete"
	createOnlyAnnotation = "release.openshift.io/create-only"
)

// Release has the replacements of placeholders in a release build.
type Release struct {
	// Version replaces 0.0.1-snapshot.
	Version string
	// FeatureGates are the enabled feature gates of the cluster.
	FeatureGates sets.Set[string]
	// Image returns the image of a tag in image-references.
	Image func(tag string) string
}

// Manifest is one object of the payload.
type Manifest struct {
	// File is the name of the file that it comes from.
	File string
	// Object is the object with images and version filled in.
	Object *unstructured.Unstructured
}

// Deleted reports whether the cluster-version-operator deletes the object.
func (m Manifest) Deleted() bool { return m.Object.GetAnnotations()[deleteAnnotation] == "true" }

// String names the manifest as "file: kind namespace/name".
func (m Manifest) String() string {
	name := m.Object.GetName()
	if namespace := m.Object.GetNamespace(); namespace != "" {
		name = namespace + "/" + name
	}
	return fmt.Sprintf("%s: %s %s", m.File, m.Object.GetKind(), name)
}

// Read returns the manifests of the directory dir in the order of their application. Those that the cluster profile,
// the default feature set or a feature gate leaves out are left out.
func Read(dir string, release Release) ([]Manifest, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("payload: %w", err)
	}
	replacer, err := newReplacer(filepath.Join(dir, imageReferences), release)
	if err != nil {
		return nil, err
	}
	var manifests []Manifest
	for _, entry := range entries { // ReadDir sorts by name
		if entry.IsDir() || !slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(entry.Name())) {
			continue
		}
		content, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			return nil, fmt.Errorf("payload: %w", err)
		}
		read, err := decode(entry.Name(), replacer.Replace(string(content)), release.FeatureGates)
		if err != nil {
			return nil, err
		}
		manifests = append(manifests, read...)
	}
	return manifests, nil
}

// newReplacer reads image-references; a payload without images has none.
func newReplacer(path string, release Release) (*strings.Replacer, error) {
	pairs := []string{versionPlaceholder, release.Version}
	content, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return strings.NewReplacer(pairs...), nil
	}
	if err != nil {
		return nil, fmt.Errorf("payload: %w", err)
	}
	var stream imagev1.ImageStream
	if err := yaml.UnmarshalStrict(content, &stream); err != nil {
		return nil, fmt.Errorf("payload: %s: %w", imageReferences, err)
	}
	tags := stream.Spec.Tags
	// A placeholder may be the beginning of another one.
	slices.SortStableFunc(tags, func(a, b imagev1.TagReference) int { return tagLength(b) - tagLength(a) })
	for _, tag := range tags {
		if tag.From == nil || tag.From.Kind != "DockerImage" || tag.From.Name == "" {
			return nil, fmt.Errorf("payload: %s: tag %s: from must be a DockerImage with a name", imageReferences,
				tag.Name)
		}
		pairs = append(pairs, tag.From.Name, release.Image(tag.Name))
	}
	return strings.NewReplacer(pairs...), nil
}

func tagLength(tag imagev1.TagReference) int {
	if tag.From == nil {
		return 0
	}
	return len(tag.From.Name)
}

func decode(file, content string, gates sets.Set[string]) ([]Manifest, error) {
	var manifests []Manifest
	reader := utilyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(content)))
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return manifests, nil
		}
		if err != nil {
			return nil, fmt.Errorf("payload: %s: %w", file, err)
		}
		object := &unstructured.Unstructured{}
		if err := yaml.UnmarshalStrict(document, &object.Object); err != nil {
			return nil, fmt.Errorf("payload: %s: %w", file, err)
		}
		if len(object.Object) == 0 {
			continue // only comments
		}
		if object.GetAPIVersion() == "" || object.GetKind() == "" || object.GetName() == "" {
			return nil, fmt.Errorf("payload: %s: an object lacks apiVersion, kind or metadata.name", file)
		}
		isIncluded, err := included(object, gates)
		if err != nil {
			return nil, fmt.Errorf("payload: %s: %w", file, err)
		}
		if isIncluded {
			manifests = append(manifests, Manifest{File: file, Object: object})
		}
	}
}

// included reports whether the cluster-version-operator includes the object, by its own rules.
func included(object *unstructured.Unstructured, gates sets.Set[string]) (bool, error) {
	content, err := object.MarshalJSON()
	if err != nil {
		return false, err
	}
	var parsed manifest.Manifest
	if err := parsed.UnmarshalJSON(content); err != nil {
		return false, err
	}
	// Gates that are not given would include every manifest.
	if gates == nil {
		gates = sets.New[string]()
	}
	excluded := parsed.Include(nil, ptr.To(string(configv1.Default)), ptr.To(manifest.DefaultClusterProfile), nil, nil,
		gates, nil)
	return excluded == nil, nil
}
