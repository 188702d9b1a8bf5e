package snapshot

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/digest"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/regularfile"
)

const indexFile = "index.yaml"

// maxFileBytes limits a file of a directory. A must-gather contains all Events of a namespace in one file.
const maxFileBytes = 64 << 20

type index struct {
	// Taken is the time of the snapshot, and Version that of the command that wrote it.
	Taken   time.Time `json:"taken"`
	Version string    `json:"version"`
	Unread  []Unread  `json:"unread,omitempty"`
	// Log is the file with the end of the leader's log, empty if it was not read.
	Log         string `json:"log,omitempty"`
	LogPod      string `json:"logPod,omitempty"`
	LogComplete bool   `json:"logComplete,omitempty"`
	// Objects are the files, with one object each.
	Objects []string `json:"objects"`
}

// Write writes the snapshot to a directory, which must not exist or must be empty: one file for each object, at the
// path that must-gather uses, and an index. It returns the number of files. It first removes what may contain a secret.
func (s *Snapshot) Write(dir, version string) (files int, err error) {
	s.removeUnmasked()
	root, err := newRoot(dir)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	content := index{Taken: s.Taken.UTC(), Version: version, Unread: s.Unread}
	if s.Log.Pod != "" {
		content.Log = filepath.Join(namespaced, operand.Namespace, "pods", s.Log.Pod, operand.Name, "logs", "current.log")
		content.LogPod, content.LogComplete = s.Log.Pod, s.Log.Complete
		if err := write(root, content.Log, []byte(s.Log.Text)); err != nil {
			return files, err
		}
		files++
	}
	for _, object := range s.objects {
		data, err := yaml.Marshal(object.Object)
		if err != nil {
			return files, fmt.Errorf("%s/%s: %w", object.GetKind(), object.GetName(), err)
		}
		path := pathOf(object)
		if err := write(root, path, data); err != nil {
			return files, err
		}
		content.Objects = append(content.Objects, path)
		files++
	}
	data, err := yaml.Marshal(content)
	if err != nil {
		return files, fmt.Errorf("writing the index: %w", err)
	}
	return files + 1, write(root, indexFile, data)
}

func pathOf(object *unstructured.Unstructured) string {
	kind := object.GroupVersionKind()
	resource, _ := meta.UnsafeGuessKindToResource(kind)
	scope := clusterScoped
	if object.GetNamespace() != "" {
		scope = filepath.Join(namespaced, object.GetNamespace())
	}
	return filepath.Join(scope, cmp.Or(kind.Group, "core"), resource.Resource, fileOf(object.GetName()))
}

// maxFileName is NAME_MAX of common file systems, in bytes.
const maxFileName = 255

// fileOf returns the name of an object's file. A tenant may give an Event a name that no file can have; the object has
// it.
func fileOf(name string) string {
	if file := name + ".yaml"; len(file) <= maxFileName && !strings.ContainsRune(file, 0) {
		return file
	}
	return digest.Hex(name) + ".yaml"
}

// newRoot opens or creates an empty directory of this user. It checks what it opened, as the name may get another one.
func newRoot(dir string) (*os.Root, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("creating the directory: %w", err)
	}
	root, err := regularfile.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("opening the directory: %w", err)
	}
	info, err := root.Stat(".")
	if err == nil {
		err = checkPrivate(info, os.Geteuid())
	}
	switch {
	case err != nil:
		err = fmt.Errorf("%s is not safe: %w", dir, err)
	case len(regularfile.Names(root, ".")) > 0:
		err = fmt.Errorf("%s is not empty: name another directory", dir)
	default:
		return root, nil
	}
	return nil, errors.Join(err, root.Close())
}

func checkPrivate(info fs.FileInfo, user int) error {
	if stat, is := info.Sys().(*syscall.Stat_t); is && int(stat.Uid) != user {
		return errors.New("it belongs to another user, who could replace what is written; name a directory that does " +
			"not exist")
	}
	if mode := info.Mode().Perm(); mode&0o022 != 0 {
		return fmt.Errorf("its mode is %#o: others could replace what is written; run chmod go-w", mode)
	}
	return nil
}

// write creates a file. It neither replaces a file nor follows a link.
func write(root *os.Root, path string, data []byte) error {
	if !filepath.IsLocal(path) {
		return fmt.Errorf("%q is no file below the directory", path)
	}
	if err := root.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("creating a directory: %w", err)
	}
	file, err := root.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("creating a file: %w", err)
	}
	_, err = file.Write(data)
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("writing a file: %w", err)
	}
	return nil
}

// ReadDirectory reads what Write or oc adm must-gather has written. From a must-gather it also reads what more asks
// for, and the log of the pod that choose returns. choose may be nil.
func ReadDirectory(dir string, choose func(*Snapshot) string, more ...Query) (*Snapshot, error) {
	root, err := regularfile.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("opening the directory: %w", err)
	}
	defer func() { _ = root.Close() }()
	data, err := regularfile.ReadIn(root, indexFile, maxFileBytes)
	if errors.Is(err, fs.ErrNotExist) {
		s, gatherErr := readMustGather(root, choose, more)
		if s != nil || gatherErr != nil {
			return s, gatherErr
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s was neither written by dump nor by oc adm must-gather: %w", dir, err)
	}
	var content index
	err = yaml.UnmarshalStrict(data, &content)
	if isEmpty := len(content.Objects)+len(content.Unread) == 0; err != nil || isEmpty {
		return nil, fmt.Errorf("%s in %s is not what dump writes: it was edited or cut, dump again", indexFile, dir)
	}
	return readIndexed(root, dir, content)
}

func readIndexed(root *os.Root, dir string, content index) (*Snapshot, error) {
	s := &Snapshot{Taken: content.Taken, Unread: content.Unread}
	for _, path := range content.Objects {
		data, err := regularfile.ReadIn(root, path, maxFileBytes)
		if err != nil {
			return nil, fmt.Errorf("reading what the index has: %w", err)
		}
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(data, &object.Object); err != nil || object.GetKind() == "" {
			return nil, fmt.Errorf("%s in %s is not an object in YAML: it was edited or cut, dump again", path, dir)
		}
		s.add(object)
	}
	if content.Log != "" {
		data, err := regularfile.ReadIn(root, content.Log, maxFileBytes)
		if err != nil {
			return nil, fmt.Errorf("reading what the index has: %w", err)
		}
		s.Log = Log{Pod: content.LogPod, Text: string(data), Complete: content.LogComplete}
	}
	s.sort()
	return s, nil
}

// removeUnmasked removes the log and all messages if the Secrets were not read, as their values may be in them.
func (s *Snapshot) removeUnmasked() {
	if s.Missing(Secrets) == "" {
		return
	}
	if s.Log.Pod != "" {
		s.Unread = append(s.Unread, Unread{logOf(s.Log.Pod), "without the Secrets, their values cannot be removed from it"})
	}
	s.Log = Log{}
	for _, object := range s.objects {
		if kind := object.GetKind(); kind == "Pod" || kind == "Event" {
			mask(object.Object, func(string) string { return "" })
		}
	}
}

// Everything returns what the commands read beyond status.
func Everything() []Query {
	return slices.Concat(NodeEvents(), []Query{
		{"services", core("Service"), "", "", ""},
		{"events about services", core("Event"), "", "", warnings},
	})
}
