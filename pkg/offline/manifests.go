package offline

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/regularfile"
)

// Manifest is one object of one file.
type Manifest struct {
	File            string
	GVK             schema.GroupVersionKind
	Namespace, Name string

	json     []byte
	document *document
	// item is the path of a list item in the document, empty for other objects.
	item []string
	// defect is why the object cannot be used, or nil.
	defect *defect
}

// defect is an error that matters only if a command needs the object.
type defect struct {
	err error
	// text is the unreadable document, nil if the object could be read.
	text []byte
	// reported means that Decode has returned the error.
	reported bool
}

// String returns the object's name in messages, for example "configmap/cloud-provider-config in openshift-config".
func (m Manifest) String() string {
	kind := strings.ToLower(m.GVK.Kind)
	if m.GVK.Group != "" {
		kind += "." + m.GVK.Group
	}
	return operatorclient.ObjectName(kind, m.Namespace, m.Name)
}

// Source returns the file and the object's name.
func (m Manifest) Source() string {
	if m.File == "" {
		return m.String() // an object of a cluster
	}
	return m.File + ": " + m.String()
}

// Decode decodes the object and ignores unknown fields, which a newer installer may write.
func (m Manifest) Decode(into any) error {
	if m.defect != nil {
		m.defect.reported = true
		return m.defect.err
	}
	err := utiljson.Unmarshal(m.json, into)
	var wrongType *json.UnmarshalTypeError
	var notBase64 base64.CorruptInputError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &wrongType):
		return m.wrongType(wrongType)
	case errors.As(err, &notBase64):
		return m.notBase64()
	}
	// A type's own error quotes the value.
	return fmt.Errorf("%s: a value does not have the form of its field: correct it", m.Source())
}

func (m Manifest) wrongType(wrong *json.UnmarshalTypeError) error {
	path := pathAt(m.json, wrong.Offset)
	is, wants := confdoc.JSONTypes(wrong)
	action := "correct it"
	if wrong.Type.Kind() == reflect.String {
		if is != "a mapping" && is != "a list" {
			action = "put it in quotes"
		} else if m.GVK.Group == "" {
			action = fmt.Sprintf("write %q and indent the text below it", path[len(path)-1]+": |")
		}
	}
	return m.failf(path, "%s in %s is %s, but must be %s: %s", strings.Join(path, "."), m, is, wants, action)
}

func (m Manifest) notBase64() error {
	tree, action := confdoc.Tree(m.json), "encode it"
	if m.GVK.Kind == secretKind {
		action += ", or write it under stringData"
	}
	for _, field := range []string{"data", "binaryData"} {
		for _, e := range tree.Get(field).Members() { // in order
			path := []string{field, e.Name}
			if _, err := base64.StdEncoding.DecodeString(e.Value.Text); err != nil && isBase64(m, path) {
				if isBroken(e.Value.Text) {
					action = "it is cut off, or has a space or a line break: encode it again, in one line (base64 -w0)"
				}
				return m.failf(path, "%s.%s in %s is not base64: %s", field, e.Name, m, action)
			}
		}
	}
	return fmt.Errorf("%s: a value is not base64: encode it", m.Source())
}

// isBroken reports whether a text is base64 except for whitespace or a missing end.
func isBroken(text string) bool {
	joined := strings.TrimRight(strings.Join(strings.Fields(text), ""), "=")
	_, err := base64.RawStdEncoding.DecodeString(joined[:len(joined)-len(joined)%4])
	return err == nil && len(joined) >= minBroken
}

// minBroken is the length of a text that is hardly base64 by chance.
const minBroken = 40

// manifests are objects without duplicates.
type manifests []Manifest

// find returns the object, or the first unreadable document that may contain it, or nil.
func (ms manifests) find(group, kind, namespace, name string) *Manifest {
	if found := ms.readable(group, kind, namespace, name); found != nil {
		return found
	}
	return ms.first(func(m Manifest) bool { return m.defect != nil && m.defect.maybe(group, kind, namespace, name) })
}

func (ms manifests) readable(group, kind, namespace, name string) *Manifest {
	return ms.first(func(m Manifest) bool {
		return m.GVK.Group == group && m.GVK.Kind == kind && m.Namespace == namespace && m.Name == name
	})
}

// didYouMean returns the end of a message about a missing object: the position of an object that differs only in its
// kind, only in its namespace, or only in its name and has the key. It is empty without such an object.
func didYouMean(ms []Manifest, missing, key string) string {
	kind, id, _ := strings.Cut(missing, "/")
	name, namespace, _ := strings.Cut(id, " in ")
	for _, m := range ms {
		its, _, _ := strings.Cut(m.String(), "/")
		path := []string{"metadata", "name"}
		switch {
		case m.File == "":
			continue
		case its != kind && m.Name+" in "+m.Namespace == id: // in a file: in the cluster, most names exist
			path = []string{"kind"}
		case its == kind && m.Name == name && kind != "secret": // another component may have a Secret of this name
			path[1] = "namespace"
		case its != kind || m.Namespace != namespace || !m.has("data", key):
			continue
		}
		at := m.place(path...)
		return fmt.Sprintf("; did you mean %s at %s:%d:%d?", m, m.File, at.Line, at.Column)
	}
	return ""
}

func (ms manifests) first(matches func(Manifest) bool) *Manifest {
	if i := slices.IndexFunc(ms, matches); i >= 0 {
		return &ms[i]
	}
	return nil
}

// add adds objects. Two different objects of the same name are a defect, because the cluster could get either.
func (ms manifests) add(more ...Manifest) manifests {
	for _, m := range more {
		known := ms.readable(m.GVK.Group, m.GVK.Kind, m.Namespace, m.Name)
		if known == nil || m.Name == "" {
			ms = append(ms, m)
			continue
		}
		if known.defect == nil && !sameObject(*known, m) {
			first, second := known.File, m.File
			if first == second {
				first += fmt.Sprintf(":%d", known.place("metadata", "name").Line)
				second += fmt.Sprintf(":%d", m.place("metadata", "name").Line)
			}
			known.defect = &defect{err: fmt.Errorf("%s and %s define %s differently: keep one of them", first, second, m)}
		}
	}
	return ms
}

func sameObject(a, b Manifest) bool {
	if bytes.Equal(a.json, b.json) {
		return true
	}
	var left, right any
	return utiljson.Unmarshal(a.json, &left) == nil && utiljson.Unmarshal(b.json, &right) == nil &&
		reflect.DeepEqual(left, right)
}

func (ms manifests) ignored() []error {
	var errs []error
	for _, m := range ms {
		if m.defect != nil && !m.defect.reported {
			errs = append(errs, m.defect.err)
		}
	}
	return errs
}

// readManifests reads every manifest of the files and directory trees. In a directory, what cannot be read becomes an
// object with a defect: most manifests are not inputs, and other operators and administrators add files.
func readManifests(paths []string) (manifests, error) {
	var all manifests
	var errs []error
	for _, path := range paths {
		files, err := manifestFiles(path)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			if file != path {
				all = all.add(readTolerantly(file)...)
				continue
			}
			objects, err := ReadObjects(file)
			errs = append(errs, err)
			all = all.add(objects...)
		}
	}
	return all, errors.Join(errs...)
}

// readTolerantly returns the objects of a file. An unreadable document becomes an object without a name.
func readTolerantly(file string) []Manifest {
	unreadable := func(err error) []Manifest { return []Manifest{{File: file, defect: &defect{err: err}}} }
	data, err := ReadFile(file)
	if err != nil {
		return unreadable(err)
	}
	if file == Stdin {
		file = StdinName
	}
	documents := splitDocuments(data)
	if len(documents) == 0 {
		return unreadable(fmt.Errorf("%s: the file has no object: add one or remove the file", file))
	}
	var objects []Manifest
	for _, document := range documents {
		found, err := readDocument(file, document)
		objects = append(objects, found...)
		if err != nil {
			broken := &defect{err: err, text: document.data}
			objects = append(objects, Manifest{File: file, document: document, defect: broken})
		}
	}
	return objects
}

// manifestFiles returns the file, or the files that cluster-bootstrap reads in the directory, sorted.
func manifestFiles(path string) ([]string, error) {
	if path == Stdin {
		return []string{path}, nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, ReadError(path, err)
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	var files []string
	// The trailing separator makes WalkDir follow a link.
	err = filepath.WalkDir(path+string(filepath.Separator), func(file string, entry fs.DirEntry, err error) error {
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

// ReadObjects returns every object of a file. Its error joins those of all documents.
func ReadObjects(file string) ([]Manifest, error) {
	var errs []error
	objects := slices.DeleteFunc(readTolerantly(file), func(m Manifest) bool {
		if m.defect != nil {
			errs = append(errs, m.defect.err)
		}
		return m.defect != nil
	})
	return objects, errors.Join(errs...)
}

// maxFileBytes exceeds the size of any manifest: the API server accepts objects of a few megabytes.
const maxFileBytes = 64 << 20

// Stdin is the file name that stands for standard input, and StdinName is its name in messages.
const (
	Stdin     = "-"
	StdinName = "stdin"
)

// ReadFile reads a regular file, or standard input.
func ReadFile(name string) (data []byte, err error) {
	if name == Stdin {
		name = StdinName
		data, err = io.ReadAll(io.LimitReader(os.Stdin, maxFileBytes))
	} else {
		data, err = regularfile.Read(name, maxFileBytes)
	}
	if err != nil {
		return nil, ReadError(name, err)
	}
	return data, nil
}

// ReadError returns the error for an unreadable file.
func ReadError(file string, err error) error {
	return fmt.Errorf("%s cannot be read: %w", file, regularfile.Reason(err))
}
