package offline

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/regularfile"
)

// Manifest is one object of one file.
type Manifest struct {
	File            string
	GVK             schema.GroupVersionKind
	Namespace, Name string

	json     []byte
	document yamlDocument
	// item is the path of an item of a list in the document; empty for an object of its own.
	item []string
}

// String names the object as messages do, for example "configmap/cloud-provider-config in openshift-config".
func (m Manifest) String() string {
	name := strings.ToLower(m.GVK.Kind)
	if m.GVK.Group != "" {
		name += "." + m.GVK.Group
	}
	name += "/" + m.Name
	if m.Namespace != "" {
		name += " in " + m.Namespace
	}
	return name
}

// Source is the object with the file that the user edits.
func (m Manifest) Source() string { return m.File + ": " + m.String() }

// manifests are all objects that were read, each once.
type manifests []Manifest

// find returns the object, or nil.
func (ms manifests) find(group, kind, namespace, name string) *Manifest {
	i := slices.IndexFunc(ms, func(m Manifest) bool {
		return m.GVK.Group == group && m.GVK.Kind == kind && m.Namespace == namespace && m.Name == name
	})
	if i < 0 {
		return nil
	}
	return &ms[i]
}

// add appends objects. One that is there already has to be the same: which of two the cluster would get is a matter of
// chance.
func (ms manifests) add(more ...Manifest) (manifests, error) {
	var errs []error
	for _, m := range more {
		known := ms.find(m.GVK.Group, m.GVK.Kind, m.Namespace, m.Name)
		if known == nil {
			ms = append(ms, m)
			continue
		}
		if same, err := sameObject(*known, m); err != nil || !same {
			errs = append(errs, errors.Join(err, fmt.Errorf("%s and %s define %s differently: keep one of them", known.File, m.File, m)))
		}
	}
	return ms, errors.Join(errs...)
}

func sameObject(a, b Manifest) (bool, error) {
	if bytes.Equal(a.json, b.json) {
		return true, nil
	}
	var left, right any
	if err := errors.Join(a.Decode(&left), b.Decode(&right)); err != nil {
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
			objects, err := ReadObjects(file)
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
		return nil, ReadError(path, err)
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	var files []string
	err = filepath.WalkDir(path, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return ReadError(file, err)
		}
		if !entry.IsDir() && slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(file)) {
			files = append(files, file)
		}
		return nil
	})
	return files, err
}

// ReadObjects reads every object of a file. All that is wrong with it is reported at once.
func ReadObjects(file string) ([]Manifest, error) {
	data, err := ReadFile(file)
	if err != nil {
		return nil, err
	}
	var objects []Manifest
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
		found, err := readDocument(file, document)
		errs = append(errs, err)
		objects = append(objects, found...)
	}
	if empty {
		errs = append(errs, fmt.Errorf("%s: there is no object in it: fill or remove it", file))
	}
	return objects, errors.Join(errs...)
}

// noObjectError reports a document or an item of a list that is YAML but not an object.
type noObjectError struct {
	file string
	line int
	item string
}

func (e *noObjectError) Error() string {
	this := "this"
	if e.item != "" {
		this = e.item
	}
	return fmt.Sprintf("%s:%d: %s is not a Kubernetes object: it needs apiVersion, kind and metadata.name", e.file, e.line, this)
}

// yamlDocument is one YAML document of a file.
type yamlDocument struct {
	// line is the document's first line in its file, 1-based.
	line int
	// column is how many characters stand before it in that line.
	column int
	data   []byte
}

// splitDocuments cuts a file at its document separators. What follows a separator on its line belongs to the document,
// so the line numbers stay right.
func splitDocuments(data []byte) []yamlDocument {
	var documents []yamlDocument
	current, start, offset, number := yamlDocument{line: 1}, 0, 0, 0
	for line := range bytes.Lines(data) {
		number++
		if isSeparator(line) {
			current.data = data[start:offset]
			documents = append(documents, current)
			current, start = yamlDocument{line: number, column: len("---")}, offset+len("---")
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

// maxFileBytes is more than any manifest has: the API server takes objects of a few megabytes.
const maxFileBytes = 64 << 20

// ReadFile reads a regular file, which has to exist.
func ReadFile(name string) ([]byte, error) {
	data, err := regularfile.Read(name, maxFileBytes)
	if err != nil {
		return nil, ReadError(name, err)
	}
	return data, nil
}

// ReadError says that a file cannot be read, and why.
func ReadError(file string, err error) error {
	return fmt.Errorf("%s cannot be read: %w", file, Reason(err))
}

// Reason is the reason without the operation and the path, which the message names better.
func Reason(err error) error {
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
