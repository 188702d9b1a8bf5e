package render

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// manifest is one object of one file.
type manifest struct {
	file            string
	gvk             schema.GroupVersionKind
	namespace, name string
	json            []byte
}

// String names the object as messages do, for example "configmap/cloud-provider-config in openshift-config".
func (m manifest) String() string {
	name := strings.ToLower(m.gvk.Kind)
	if m.gvk.Group != "" {
		name += "." + m.gvk.Group
	}
	name += "/" + m.name
	if m.namespace != "" {
		name += " in " + m.namespace
	}
	return name
}

// source is the object with the file that the user edits.
func (m manifest) source() string { return m.file + ": " + m.String() }

// decode reads the object into its type. What a newer installer knows more is passed over.
func (m manifest) decode(into any) error {
	if err := utiljson.Unmarshal(m.json, into); err != nil {
		return fmt.Errorf("%s: %w", m.source(), err)
	}
	return nil
}

// manifests are all objects that were read, each once.
type manifests []manifest

// find returns the object, or nil.
func (ms manifests) find(group, kind, namespace, name string) *manifest {
	i := slices.IndexFunc(ms, func(m manifest) bool {
		return m.gvk.Group == group && m.gvk.Kind == kind && m.namespace == namespace && m.name == name
	})
	if i < 0 {
		return nil
	}
	return &ms[i]
}

// add appends objects. One that is there already has to be the same: which of two the cluster would get is a matter of
// chance.
func (ms manifests) add(more ...manifest) (manifests, error) {
	var errs []error
	for _, m := range more {
		known := ms.find(m.gvk.Group, m.gvk.Kind, m.namespace, m.name)
		if known == nil {
			ms = append(ms, m)
			continue
		}
		if same, err := sameObject(*known, m); err != nil || !same {
			errs = append(errs, errors.Join(err, fmt.Errorf("%s and %s define %s differently: keep one of them", known.file, m.file, m)))
		}
	}
	return ms, errors.Join(errs...)
}

func sameObject(a, b manifest) (bool, error) {
	if bytes.Equal(a.json, b.json) {
		return true, nil
	}
	var left, right any
	if err := errors.Join(a.decode(&left), b.decode(&right)); err != nil {
		return false, err
	}
	return reflect.DeepEqual(left, right), nil
}

// readManifests reads every manifest of the files and folders, which are read with all below them.
func readManifests(paths []string) (manifests, error) {
	var all manifests
	var errs []error
	for _, path := range paths {
		files, err := manifestFiles(path)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			objects, err := readObjects(file)
			errs = append(errs, err)
			all, err = all.add(objects...)
			errs = append(errs, err)
		}
	}
	return all, errors.Join(errs...)
}

// manifestFiles lists the files at path, sorted. In a folder only the names that cluster-bootstrap reads count.
func manifestFiles(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, readError(path, err)
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	var files []string
	err = filepath.WalkDir(path, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return readError(file, err)
		}
		if !entry.IsDir() && slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(file)) {
			files = append(files, file)
		}
		return nil
	})
	return files, err
}

// readObjects reads every object of a file. All that is wrong with it is reported at once.
func readObjects(file string) ([]manifest, error) {
	data, err := readFile(file)
	if err != nil {
		return nil, err
	}
	var objects []manifest
	var errs []error
	empty := true
	for _, document := range splitDocuments(data) {
		if isBlank(document.data) {
			continue
		}
		empty = false
		if bytes.Contains(document.data, []byte("\nkind: CustomResourceDefinition\n")) {
			// Most of what the installer renders is schemas, by size, and none of them is an input.
			continue
		}
		object, err := readObject(file, document)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		objects = append(objects, object)
	}
	if empty {
		errs = append(errs, fmt.Errorf("%s: there is no object in it: fill or remove it", file))
	}
	return objects, errors.Join(errs...)
}

func readObject(file string, d document) (manifest, error) {
	asJSON, err := d.json()
	if err != nil {
		return manifest{}, fmt.Errorf("%s:%w", file, err)
	}
	var header struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Metadata   struct {
			Name      string `json:"name"`
			Namespace string `json:"namespace"`
		} `json:"metadata"`
	}
	err = utiljson.Unmarshal(asJSON, &header)
	if err != nil || header.Kind == "" || header.APIVersion == "" || header.Metadata.Name == "" {
		return manifest{}, fmt.Errorf("%s:%d: this is not a Kubernetes object: it needs apiVersion, kind and metadata.name", file, d.line)
	}
	version, err := schema.ParseGroupVersion(header.APIVersion)
	if err != nil {
		return manifest{}, fmt.Errorf("%s:%d: %w", file, d.line, err)
	}
	return manifest{
		file: file, gvk: version.WithKind(header.Kind),
		namespace: header.Metadata.Namespace, name: header.Metadata.Name, json: asJSON,
	}, nil
}

// document is one YAML document of a file.
type document struct {
	// line is the document's first line in its file, 1-based.
	line int
	data []byte
}

// splitDocuments cuts a file at its document separators. What follows a separator on its line belongs to the document,
// so the line numbers stay right.
func splitDocuments(data []byte) []document {
	var documents []document
	current, start, offset, number := document{line: 1}, 0, 0, 0
	for line := range bytes.Lines(data) {
		number++
		if isSeparator(line) {
			current.data = data[start:offset]
			documents = append(documents, current)
			current, start = document{line: number}, offset+len("---")
		}
		offset += len(line)
	}
	current.data = data[start:]
	return append(documents, current)
}

func isSeparator(line []byte) bool {
	rest, found := bytes.CutPrefix(line, []byte("---"))
	return found && (len(rest) == 0 || strings.IndexByte(" \t\r\n", rest[0]) >= 0)
}

// isBlank tells whether there is nothing but comments.
func isBlank(data []byte) bool {
	for line := range bytes.Lines(data) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			return false
		}
	}
	return true
}

// yamlLine finds the place in an error of the YAML library.
var yamlLine = regexp.MustCompile(`(?s)^.*?line (\d+): (.*)$`)

// json converts the document. An error starts with the line in the file.
func (d document) json() ([]byte, error) {
	if trimmed := bytes.TrimSpace(d.data); trimmed[0] == '{' && json.Valid(trimmed) {
		return trimmed, nil
	}
	converted, err := yaml.YAMLToJSONStrict(d.data)
	if err == nil {
		return converted, nil
	}
	if found := yamlLine.FindStringSubmatch(err.Error()); found != nil {
		line, _ := strconv.Atoi(found[1]) // the pattern has digits only
		return nil, fmt.Errorf("%d: this is not valid YAML: %s", d.line-1+line, found[2])
	}
	return nil, fmt.Errorf("%d: this is not valid YAML: %s", d.line, strings.TrimPrefix(err.Error(), "yaml: "))
}

// readFile reads a file that has to exist and to be readable.
func readFile(file string) ([]byte, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, readError(file, err)
	}
	return data, nil
}

func readError(file string, err error) error {
	return fmt.Errorf("%s cannot be read: %w", file, bare(err))
}

// bare is the reason without the operation and the path, which the message names better.
func bare(err error) error {
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		return pathError.Err
	}
	var linkError *os.LinkError
	if errors.As(err, &linkError) {
		return linkError.Err
	}
	return err
}
