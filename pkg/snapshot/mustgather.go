package snapshot

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operandlog"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/regularfile"
)

// The directories that oc adm inspect writes. must-gather puts them into one directory for each image.
const (
	clusterScoped = "cluster-scoped-resources"
	namespaced    = "namespaces"
)

const (
	noSecrets = "a must-gather has no Secrets"
	notInIt   = "it is not in the must-gather"
)

type mustGather struct {
	root   *os.Root
	images []string
	s      *Snapshot
}

// readMustGather returns nil if the directory is no must-gather. Its time is derived only from what status reads,
// because tenants can write the other objects.
func readMustGather(root *os.Root, choose func(*Snapshot) string, more []Query) (*Snapshot, error) {
	m := &mustGather{root: root, s: &Snapshot{}}
	for _, dir := range append([]string{"."}, m.entries(".")...) {
		names := m.entries(dir)
		if slices.Contains(names, clusterScoped) || slices.Contains(names, namespaced) {
			m.images = append(m.images, dir)
		}
	}
	if len(m.images) == 0 {
		return nil, nil
	}
	if err := m.read(statusQueries); err != nil {
		return nil, err
	}
	m.s.sort()
	m.s.Taken = m.taken()
	if err := m.read(more); err != nil {
		return nil, err
	}
	m.s.sort()
	if choose == nil {
		return m.s, nil
	}
	return m.s, m.log(choose(m.s))
}

func (m *mustGather) entries(dir string) []string { return regularfile.Names(m.root, dir) }

// read reads what the queries ask for, and records what the must-gather does not contain. Its Secrets have no content.
// A list of Events may be empty.
func (m *mustGather) read(queries []Query) error {
	for _, query := range queries {
		if query.What == Secrets {
			m.s.Unread = append(m.s.Unread, Unread{query.What, noSecrets})
			continue
		}
		files, exists := m.files(query)
		found := exists && query.kind.Kind == "Event"
		for _, file := range files {
			objects, err := m.objects(file)
			if err != nil {
				return err
			}
			for _, object := range objects {
				if query.selects(object) {
					found = true
					messages(object, func(text string) string { return text })
					m.s.add(object)
				}
			}
		}
		if !found {
			m.s.Unread = append(m.s.Unread, Unread{query.What, notInIt})
		}
	}
	return nil
}

func (q Query) selects(o *unstructured.Unstructured) bool {
	return q.kind.Kind == o.GetKind() && o.GetNamespace() == q.namespace && (q.name == "" || q.name == o.GetName())
}

// files returns the files that may contain the objects of a query: one for each object, and one with a List beside
// their directory. A Pod may also be in its own directory. exists is true if the namespace has a directory.
func (m *mustGather) files(q Query) (files []string, exists bool) {
	for _, image := range m.images {
		dir := path.Join(image, clusterScoped)
		if q.namespace != "" {
			dir = path.Join(image, namespaced, q.namespace)
		}
		exists = exists || len(m.entries(dir)) > 0
		resource := path.Join(dir, cmp.Or(q.kind.Group, "core"), q.resource().Resource)
		files = append(files, resource+".yaml")
		for _, name := range m.entries(resource) {
			files = append(files, path.Join(resource, name))
		}
		if q.kind.Kind == "Pod" {
			for _, pod := range m.entries(path.Join(dir, "pods")) {
				files = append(files, path.Join(dir, "pods", pod, pod+".yaml"))
			}
		}
	}
	return files, exists
}

// objects returns the object in a file, or the items of its List. A missing file has none.
func (m *mustGather) objects(name string) ([]*unstructured.Unstructured, error) {
	if path.Ext(name) != ".yaml" {
		return nil, nil
	}
	data, err := regularfile.ReadIn(m.root, name, maxFileBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the must-gather: %w", err)
	}
	content := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(data, &content.Object); err != nil || content.GetKind() == "" {
		return nil, fmt.Errorf("%s is not an object in YAML: the file may be cut, gather again", name)
	}
	if !content.IsList() {
		return []*unstructured.Unstructured{content}, nil
	}
	list, err := content.ToList()
	if err != nil {
		return nil, fmt.Errorf("%s is not a list of objects: the file may be cut, gather again", name)
	}
	var items []*unstructured.Unstructured
	for i := range list.Items {
		item := &list.Items[i]
		if item.GetKind() == "" {
			item.SetAPIVersion(content.GetAPIVersion())
			item.SetKind(strings.TrimSuffix(content.GetKind(), "List"))
		}
		items = append(items, item)
	}
	return items, nil
}

// timestampFormat is the format of must-gather's file timestamp, which contains its start and its end.
const timestampFormat = "2006-01-02 15:04:05.999999999 -0700 MST"

// taken returns the time of the must-gather: its end by the clock of the user's machine, or the last time in the
// cluster's objects, whichever is later.
func (m *mustGather) taken() time.Time {
	var last time.Time
	later := func(t time.Time) {
		if t.After(last) {
			last = t
		}
	}
	for _, dir := range append([]string{"."}, m.images...) {
		data, _ := regularfile.ReadIn(m.root, path.Join(dir, "timestamp"), maxFileBytes)
		for line := range strings.Lines(string(data)) {
			text, _, _ := strings.Cut(strings.TrimSpace(line), " m=")
			at, _ := time.Parse(timestampFormat, text)
			later(at)
		}
	}
	for _, object := range m.s.objects {
		later(object.GetCreationTimestamp().Time)
		for _, entry := range object.GetManagedFields() {
			later(ptr.Deref(entry.Time, metav1.Time{}).Time)
		}
		text, _, _ := unstructured.NestedString(object.Object, "spec", "renewTime")
		at, _ := time.Parse(time.RFC3339Nano, text)
		later(at)
	}
	return last.UTC()
}

// logBytes limits how much is read from the end of a log.
const logBytes = 4 << 20

// log reads the log of a pod of the operand, which oc adm inspect writes with the kubelet's timestamps.
func (m *mustGather) log(pod string) error {
	if pod == "" {
		return nil
	}
	for _, image := range m.images {
		name := path.Join(image, namespaced, operand.Namespace, "pods", pod, operand.Name, operand.Name, "logs",
			"current.log")
		text, isComplete, err := m.end(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("reading the must-gather: %w", err)
		}
		m.s.Log = Log{Pod: pod, Text: operandlog.Genuine(text, isComplete), Complete: isComplete}
		return nil
	}
	m.s.Unread = append(m.s.Unread, Unread{logOf(pod), notInIt})
	m.s.sort()
	return nil
}

func (m *mustGather) end(name string) (text string, isComplete bool, err error) {
	file, err := regularfile.OpenIn(m.root, name)
	if err != nil {
		return "", false, err //nolint:wrapcheck // the caller says what it is
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return "", false, err //nolint:wrapcheck // the caller says what it is
	}
	offset := max(info.Size()-logBytes, 0)
	data, err := io.ReadAll(io.NewSectionReader(file, offset, logBytes))
	if offset > 0 {
		_, data, _ = bytes.Cut(data, []byte("\n")) // the first line is cut
	}
	return string(data), offset == 0, err
}
