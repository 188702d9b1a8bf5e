package offline

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	ccmv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
)

// errNoObject reports a document or a list item that is valid YAML but not a Kubernetes object.
var errNoObject = errors.New("is not a Kubernetes object: it needs apiVersion, kind and metadata.name")

type header struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name         string `json:"name"`
		GenerateName string `json:"generateName"`
		Namespace    string `json:"namespace"`
	} `json:"metadata"`
}

func readDocument(file string, d *document) ([]Manifest, error) {
	if bytes.Contains(d.data, []byte("\nkind: CustomResourceDefinition\n")) {
		// CRDs are the largest part of the rendered manifests, and no CRD is an input.
		return nil, nil
	}
	asJSON, err := d.json()
	if err != nil {
		return nil, fmt.Errorf("%s:%w", file, err)
	}
	objects, err := objectsOf(Manifest{File: file, json: asJSON, document: d})
	if err != nil {
		return nil, err
	}
	if err := d.checkEnd(); err != nil {
		return nil, fmt.Errorf("%s:%w", file, err)
	}
	return objects, nil
}

// objectsOf returns the object in m or, if it is a list such as the output of "oc get a b -o yaml", its items, which
// share the list's document.
func objectsOf(m Manifest) ([]Manifest, error) {
	var h header
	h.APIVersion, h.Kind = m.GVK.ToAPIVersionAndKind() // the list's, unless the object has its own
	err := utiljson.Unmarshal(m.json, &h)
	isNameless := err == nil && h.Metadata.Name == ""
	if isNameless && strings.HasSuffix(h.Kind, "List") {
		return itemsOf(m, h)
	}
	if isNameless && h.Metadata.GenerateName != "" {
		return nil, nil // no object refers to one whose name the API server generates
	}
	if err != nil || h.Kind == "" || h.APIVersion == "" || h.Metadata.Name == "" {
		return nil, m.failf(nil, "%s %w", cmp.Or(m.itemName(), "this"), errNoObject)
	}
	version, err := schema.ParseGroupVersion(h.APIVersion)
	if err != nil {
		return nil, m.failf([]string{"apiVersion"}, "apiVersion %q has more than one slash: write a group and a version, "+
			"such as config.openshift.io/v1", h.APIVersion)
	}
	m.GVK, m.Name = version.WithKind(h.Kind), h.Metadata.Name
	m.Namespace = m.namespaceOf(h.Metadata.Namespace)
	if err := cmp.Or(m.checkKind(), m.checkName(), m.checkFields()); err != nil {
		return nil, err
	}
	return []Manifest{m}, nil
}

// inputKinds are the kinds of inputs, by group. The API has each in version v1 only.
var inputKinds = map[string][]string{
	corev1.GroupName:         {configMapKind, secretKind},
	configv1.GroupName:       {"APIServer", "ClusterVersion", "FeatureGate", "Infrastructure", "Network", "Proxy"},
	ccmv1.GroupVersion.Group: {ccmv1.Kind.Kind},
}

// namespaceOf returns the namespace that an object has if this one is written in it. The API server drops that of an
// input that is cluster-scoped.
func (m Manifest) namespaceOf(written string) string {
	if m.GVK.Group != corev1.GroupName && slices.Contains(inputKinds[m.GVK.Group], m.GVK.Kind) {
		return ""
	}
	return written
}

// checkKind returns an error for an object that the API would reject and that may be meant as an input.
func (m Manifest) checkKind() error {
	for group, kinds := range inputKinds {
		i := slices.IndexFunc(kinds, func(kind string) bool { return strings.EqualFold(kind, m.GVK.Kind) })
		isElsewhere := group == ccmv1.GroupVersion.Group && strings.HasSuffix(m.GVK.Group, ".openshift.io")
		if i < 0 || m.GVK.Group != "" && m.GVK.Group != group && !isElsewhere {
			continue
		}
		wanted := schema.GroupVersion{Group: group, Version: "v1"}
		switch {
		case m.GVK.GroupVersion() != wanted:
			return m.failf([]string{"apiVersion"}, "there is no %s of the version %s: write apiVersion: %s", kinds[i],
				m.GVK.GroupVersion(), wanted)
		case m.GVK.Kind != kinds[i]:
			return m.failf([]string{"kind"}, "unknown kind %q; did you mean %q?", m.GVK.Kind, kinds[i])
		}
	}
	return nil
}

// checkName returns an error for an operator's resource that the API server would reject, as it is a singleton.
func (m Manifest) checkName() error {
	if m.GVK != ccmv1.Kind || m.Name == operatorclient.Instance {
		return nil
	}
	return m.failf([]string{"metadata", "name"}, "there is one %s only: write name: %s", m.GVK.Kind,
		operatorclient.Instance)
}

// checkFields returns an error for a field whose name differs from one with content in case only: the API server drops
// it, and the object would be empty.
func (m Manifest) checkFields() error {
	if m.GVK.Group != corev1.GroupName || m.GVK.Kind != configMapKind && m.GVK.Kind != secretKind {
		return nil
	}
	for _, member := range confdoc.Tree(m.json).Members() {
		for _, field := range []string{"data", "binaryData", "stringData"} {
			if member.Name != field && strings.EqualFold(member.Name, field) {
				return m.failf([]string{member.Name}, "unknown field %q; did you mean %q?", member.Name, field)
			}
		}
	}
	return nil
}

// headerField matches a field of an object's header in text that cannot be parsed: any YAML or JSON, or a part of it.
var headerField = regexp.MustCompile(
	`(?:^|[\s{,"'\x{feff}])(apiVersion|kind|namespace|name)["']?\s*:\s*["']?([^\s"',{}]+)`)

// maybe reports whether an unreadable document, which may be a list, mentions all that identifies an object.
func (d *defect) maybe(group, kind, namespace, name string) bool {
	wanted := map[string]string{"kind": kind, "namespace": namespace, "name": name}
	for _, match := range headerField.FindAllSubmatch(d.text, -1) {
		field, value := string(match[1]), string(match[2])
		if strings.EqualFold(wanted[field], value) {
			delete(wanted, field)
		}
		if version, err := schema.ParseGroupVersion(value); field == "apiVersion" && err == nil && version.Group == group {
			group = ""
		}
	}
	return group == "" && wanted["kind"] == "" && wanted["namespace"] == "" && wanted["name"] == ""
}

func itemsOf(m Manifest, h header) ([]Manifest, error) {
	var list struct {
		Items []json.RawMessage `json:"items"`
	}
	if err := utiljson.Unmarshal(m.json, &list); err != nil {
		return nil, m.failf([]string{"items"}, "items of this %s must be a list: write each item after a dash", h.Kind)
	}
	var objects []Manifest
	var errs []error
	for i, item := range list.Items {
		member := m
		if kind := strings.TrimSuffix(h.Kind, "List"); kind != "" {
			member.GVK = schema.FromAPIVersionAndKind(h.APIVersion, kind)
		}
		member.item = append(m.item[:len(m.item):len(m.item)], "items", strconv.Itoa(i))
		member.json = item
		found, err := objectsOf(member)
		errs = append(errs, err)
		objects = append(objects, found...)
	}
	return objects, errors.Join(errs...)
}

// itemName returns the path of a list item, or an empty string for other objects.
func (m Manifest) itemName() string {
	var name strings.Builder
	for i := 0; i+1 < len(m.item); i += 2 {
		fmt.Fprintf(&name, "%s[%s].", m.item[i], m.item[i+1])
	}
	return strings.TrimSuffix(name.String(), ".")
}
