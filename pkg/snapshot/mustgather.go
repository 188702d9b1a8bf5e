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
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operandlog"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/regularfile"
)

// The directories that oc adm inspect writes, and those of must-gather around them: one for each image.
const (
	clusterScoped = "cluster-scoped-resources"
	namespaced    = "namespaces"
)

const (
	noSecrets = "a must-gather has no Secrets"
	notInIt   = "it is not in the must-gather"
)

// gathered are the directories of inspect with objects that status and explain read, each of which has one file for
// each object, and the files beside them with a List. A namespace's pods have a directory each besides.
func gathered() []string {
	dirs := sets.New[string]()
	for _, query := range slices.Concat(statusQueries, Everything()) {
		dirs.Insert(path.Join(cmp.Or(query.kind.Group, "core"), query.resource().Resource))
	}
	return sets.List(dirs)
}

// mustGather reads what oc adm must-gather, or oc adm inspect, has written.
type mustGather struct {
	root   *os.Root
	images []string
	seen   map[string]bool
	s      *Snapshot
}

// readMustGather returns nil if the directory is none.
func readMustGather(root *os.Root, choose func(*Snapshot) string, more []Query) (*Snapshot, error) {
	m := &mustGather{root: root, seen: map[string]bool{}, s: &Snapshot{}}
	if m.images = m.imagesIn("."); len(m.images) == 0 {
		for _, dir := range m.entries(".") {
			m.images = append(m.images, m.imagesIn(dir)...)
		}
	}
	if len(m.images) == 0 {
		return nil, nil
	}
	for _, image := range m.images {
		if err := m.image(image); err != nil {
			return nil, err
		}
	}
	m.s.sort()
	m.findMissing(slices.Concat(statusQueries, more))
	m.s.Taken = m.taken()
	if choose == nil {
		return m.s, nil
	}
	return m.s, m.log(choose(m.s))
}

func (m *mustGather) imagesIn(dir string) []string {
	for _, name := range m.entries(dir) {
		if name == clusterScoped || name == namespaced {
			return []string{dir}
		}
	}
	return nil
}

// entries returns the names in a directory, none if it is none.
func (m *mustGather) entries(dir string) []string { return regularfile.Names(m.root, dir) }

func (m *mustGather) image(image string) error {
	var errs []error
	for _, resource := range gathered() {
		errs = append(errs, m.resource(path.Join(image, clusterScoped, resource)))
	}
	for _, namespace := range m.entries(path.Join(image, namespaced)) {
		dir := path.Join(image, namespaced, namespace)
		for _, resource := range gathered() {
			errs = append(errs, m.resource(path.Join(dir, resource)))
		}
		for _, pod := range m.entries(path.Join(dir, "pods")) {
			errs = append(errs, m.file(path.Join(dir, "pods", pod, pod+".yaml")))
		}
	}
	return errors.Join(errs...)
}

// resource reads the List of a resource, and the files of its directory.
func (m *mustGather) resource(name string) error {
	errs := []error{m.file(name + ".yaml")}
	for _, file := range m.entries(name) {
		errs = append(errs, m.file(path.Join(name, file)))
	}
	return errors.Join(errs...)
}

// file reads an object, or the items of a List. A file that does not exist has none.
func (m *mustGather) file(name string) error {
	if path.Ext(name) != ".yaml" {
		return nil
	}
	data, err := regularfile.ReadIn(m.root, name, maxFileBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the must-gather: %w", err)
	}
	content := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(data, &content.Object); err != nil {
		return fmt.Errorf("%s is not an object in YAML: the file may be cut, gather again", name)
	}
	if !content.IsList() {
		m.add(content)
		return nil
	}
	list, err := content.ToList()
	if err != nil {
		return fmt.Errorf("%s is not a list of objects: the file may be cut, gather again", name)
	}
	for i := range list.Items {
		item := &list.Items[i]
		if item.GetKind() == "" {
			item.SetAPIVersion(content.GetAPIVersion())
			item.SetKind(strings.TrimSuffix(content.GetKind(), "List"))
		}
		m.add(item)
	}
	return nil
}

// add keeps the first copy of an object: several images gather the same ones.
func (m *mustGather) add(object *unstructured.Unstructured) {
	id := object.GetKind() + "/" + object.GetNamespace() + "/" + object.GetName()
	if !m.seen[id] && object.GetKind() != "Secret" {
		m.seen[id] = true
		messages(object, func(text string) string { return text })
		m.s.add(object)
	}
}

// findMissing records what the must-gather does not have. Its Secrets have no content. A list of Events may be empty.
func (m *mustGather) findMissing(queries []Query) {
	for _, query := range queries {
		if query.What == Secrets {
			m.s.Unread = append(m.s.Unread, Unread{query.What, noSecrets})
			continue
		}
		isOf := func(o *unstructured.Unstructured) bool {
			return query.kind.Kind == o.GetKind() && o.GetNamespace() == query.namespace &&
				(query.name == "" || query.name == o.GetName())
		}
		isEmpty := query.kind.Kind == "Event" && m.hasNamespace(query.namespace)
		if !isEmpty && !slices.ContainsFunc(m.s.objects, isOf) {
			m.s.Unread = append(m.s.Unread, Unread{query.What, notInIt})
		}
	}
	m.s.sort()
}

func (m *mustGather) hasNamespace(name string) bool {
	return slices.ContainsFunc(m.images, func(image string) bool {
		return slices.Contains(m.entries(path.Join(image, namespaced)), name)
	})
}

// timestampFormat is that of the file timestamp, which has when must-gather began and ended.
const timestampFormat = "2006-01-02 15:04:05.999999999 -0700 MST"

// taken returns the time of the must-gather: when it ended by the clock of who ran it, or the last time of the cluster,
// whichever is later.
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
		for _, field := range [][]string{{"spec", "renewTime"}, {"lastTimestamp"}} {
			text, _, _ := unstructured.NestedString(object.Object, field...)
			at, _ := time.Parse(time.RFC3339Nano, text)
			later(at)
		}
	}
	return last.UTC()
}

// logBytes limits how much of a log is read, from its end.
const logBytes = 4 << 20

// log reads the log of a pod of the operand. Inspect reads it with the kubelet's timestamps.
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

// end returns the end of a file, and whether that is all of it.
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
