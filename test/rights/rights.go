// Package rights lists the rights of each ServiceAccount of the operator, the operand and their helpers, from the
// payload's manifests and the bindings among the operator's assets. docs/rights.md is its table.
package rights

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

// Right is a resource in a rule that is bound to an identity.
type Right struct {
	// Identity is the ServiceAccount's user name, as in the API server's audit log.
	Identity string
	// Namespace is the right's namespace, empty for all namespaces and cluster-scoped resources.
	Namespace string
	// Platforms are the platforms that bind the right, empty for every managed platform and for the operator's own
	// rights.
	Platforms []string
	// Group and Resource are the rule's. Resource includes a subresource: services/status.
	Group, Resource string
	// Names limits the right to objects of these names; empty means all.
	Names []string
	Verbs []string
	// Role is the bound role, as <kind>/<name>.
	Role string
	// Reason is the comment on the rule, or on its role if the rule has none.
	Reason string
}

// Request is a request of an identity to the API server. Resource includes a subresource. Name is empty if the
// request has neither a name nor a field selector for one.
type Request struct {
	Identity, Verb, Group, Resource, Namespace, Name string
}

// Covers reports whether the right allows the request.
func (r Right) Covers(q Request) bool {
	return r.Identity == q.Identity && slices.Contains(r.Verbs, q.Verb) && r.Group == q.Group &&
		r.Resource == q.Resource &&
		(r.Namespace == "" || r.Namespace == q.Namespace) && (len(r.Names) == 0 || slices.Contains(r.Names, q.Name))
}

// String names the right in one line.
func (r Right) String() string {
	return sentence(r.Identity+" may "+strings.Join(r.Verbs, ","), r.kind(), r.Names, r.Namespace) + " by " + r.Role
}

// rule is a rule of a role, with its reason.
type rule struct {
	APIGroups     []string `yaml:"apiGroups"`
	Resources     []string `yaml:"resources"`
	ResourceNames []string `yaml:"resourceNames"`
	Verbs         []string `yaml:"verbs"`
	reason        string
}

// object has the fields of a role or a binding that this package reads.
type object struct {
	Kind     string
	Metadata struct {
		Name, Namespace string
		Annotations     map[string]string
	}
	Rules    []yaml.Node
	RoleRef  struct{ Kind, Name string } `yaml:"roleRef"`
	Subjects []struct{ Kind, Name, Namespace string }

	comment   string
	platforms []string
}

// builtIn are bound roles of Kubernetes.
var builtIn = map[string][]rule{
	"Role/extension-apiserver-authentication-reader in kube-system": {{
		APIGroups: []string{""}, Resources: []string{"configmaps"},
		ResourceNames: []string{"extension-apiserver-authentication"},
		Verbs:         []string{"get", "list", "watch"},
		reason: "Kubernetes' own role. The client CAs that the API server publishes: for the operator's own server, and " +
			"for the operand's.",
	}},
}

// Granted returns every right in the order of the manifests; root is the directory of the repository.
func Granted(root string) ([]Right, error) {
	objects, err := readAll(root)
	if err != nil {
		return nil, err
	}
	roles := map[string][]rule{}
	for reference, rules := range builtIn {
		roles[reference] = rules
	}
	for _, o := range objects {
		if o.Kind != "ClusterRole" && o.Kind != "Role" {
			continue
		}
		rules, err := o.rules()
		if err != nil {
			return nil, err
		}
		roles[reference(o.Kind, o.Metadata.Name, o.Metadata.Namespace)] = rules
	}
	var rights []Right
	for _, o := range objects {
		if o.Kind != "ClusterRoleBinding" && o.Kind != "RoleBinding" {
			continue
		}
		role := reference(o.RoleRef.Kind, o.RoleRef.Name, o.Metadata.Namespace)
		rules, known := roles[role]
		if !known {
			return nil, fmt.Errorf("%s/%s binds %s, which is not in the manifests", o.Kind, o.Metadata.Name, role)
		}
		for _, subject := range o.Subjects {
			rights = append(rights, o.grant("system:serviceaccount:"+subject.Namespace+":"+subject.Name, rules)...)
		}
	}
	return rights, nil
}

// Offered returns the rights of the roles that the payload binds to nobody, and that its operator may not bind: an
// administrator may. Their identity is "".
func Offered(root string) ([]Right, error) {
	objects, err := readAll(root)
	if err != nil {
		return nil, err
	}
	var rights []Right
	for _, o := range objects {
		if o.Kind != "ClusterRole" || !strings.HasPrefix(o.Metadata.Name, offered) {
			continue
		}
		rules, err := o.rules()
		if err != nil {
			return nil, err
		}
		o.RoleRef.Kind, o.RoleRef.Name = o.Kind, o.Metadata.Name
		rights = append(rights, o.grant("", rules)...)
	}
	return rights, nil
}

// offered begins the names of these roles.
const offered = "system:openshift:cloud-controller-manager:support"

// reference identifies a role; a ClusterRole has no namespace.
func reference(kind, name, namespace string) string {
	if kind == "ClusterRole" {
		return kind + "/" + name
	}
	return kind + "/" + name + " in " + namespace
}

func (o object) grant(identity string, rules []rule) []Right {
	var rights []Right
	for _, r := range rules {
		for _, group := range r.APIGroups {
			for _, resource := range r.Resources {
				rights = append(rights, Right{
					Identity: identity, Namespace: o.Metadata.Namespace, Platforms: o.platforms,
					Group: group, Resource: resource, Names: r.ResourceNames, Verbs: r.Verbs,
					Role: o.RoleRef.Kind + "/" + o.RoleRef.Name, Reason: r.reason,
				})
			}
		}
	}
	return rights
}

// rules decodes the rules of a role with their comments.
func (o object) rules() ([]rule, error) {
	rules := make([]rule, len(o.Rules))
	for i := range o.Rules {
		if err := o.Rules[i].Decode(&rules[i]); err != nil {
			return nil, fmt.Errorf("%s/%s, rule %d: %w", o.Kind, o.Metadata.Name, i, err)
		}
		if rules[i].reason = prose(o.Rules[i].HeadComment); rules[i].reason == "" {
			rules[i].reason = o.comment
		}
	}
	return rules, nil
}

// readAll decodes the payload's manifests and the static resources of every platform.
func readAll(root string) ([]object, error) {
	objects, err := readFiles(filepath.Join(root, "manifests", "*.yaml"), nil)
	if err != nil {
		return nil, err
	}
	assets := filepath.Join(root, "bindata", "assets")
	common, err := readFiles(filepath.Join(assets, "resources", "*.yaml"), nil)
	if err != nil {
		return nil, err
	}
	objects = append(objects, common...)
	var withNodeManager, withPreflight []string
	for _, p := range platform.All() {
		if p.NodeManagerImage != "" {
			withNodeManager = append(withNodeManager, p.Name)
		}
		if p.Preflight {
			withPreflight = append(withPreflight, p.Name)
		}
		found, err := readFiles(filepath.Join(assets, "platforms", p.Name, "resources", "*.yaml"), []string{p.Name})
		if err != nil {
			return nil, err
		}
		objects = append(objects, found...)
	}
	nodeManager, err := readFiles(filepath.Join(assets, "node-manager", "resources", "*.yaml"), withNodeManager)
	if err != nil {
		return nil, err
	}
	preflight, err := readFiles(filepath.Join(assets, "preflight", "resources", "*.yaml"), withPreflight)
	return slices.Concat(objects, nodeManager, preflight), err
}

// deleted is the annotation on what the cluster-version-operator deletes: the predecessor's rights.
const deleted = "release.openshift.io/delete"

func readFiles(pattern string, platforms []string) ([]object, error) {
	files, err := filepath.Glob(pattern)
	if err != nil {
		return nil, fmt.Errorf("listing %s: %w", pattern, err)
	}
	var objects []object
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("reading a manifest: %w", err)
		}
		found, err := decode(content)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		found = slices.DeleteFunc(found, func(o object) bool { return o.Metadata.Annotations[deleted] != "" })
		for i := range found {
			found[i].platforms = platforms
		}
		objects = append(objects, found...)
	}
	return objects, nil
}

func decode(content []byte) ([]object, error) {
	var objects []object
	for decoder := yaml.NewDecoder(bytes.NewReader(content)); ; {
		var document yaml.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("decoding YAML: %w", err)
		}
		var head struct{ Kind string }
		if err := document.Decode(&head); err != nil {
			return nil, fmt.Errorf("decoding a kind: %w", err)
		}
		if !strings.HasSuffix(head.Kind, "Role") && !strings.HasSuffix(head.Kind, "RoleBinding") {
			continue
		}
		o := object{comment: comment(&document)}
		if err := document.Decode(&o); err != nil {
			return nil, fmt.Errorf("decoding a %s: %w", head.Kind, err)
		}
		objects = append(objects, o)
	}
}

// comment returns the comment at the head of a document, wherever the parser puts it. It omits a first paragraph
// about the whole file.
func comment(document *yaml.Node) string {
	for node := document; node != nil; node = node.Content[0] {
		if node.HeadComment != "" {
			paragraphs := strings.Split(node.HeadComment, "\n\n")
			return prose(paragraphs[len(paragraphs)-1])
		}
		if len(node.Content) == 0 {
			break
		}
	}
	return ""
}

// prose joins the lines of a comment.
func prose(comment string) string {
	var words []string
	for line := range strings.Lines(comment) {
		words = append(words, strings.Fields(strings.TrimLeft(line, "# "))...)
	}
	return strings.Join(words, " ")
}
