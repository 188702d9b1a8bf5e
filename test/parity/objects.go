package parity

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/rights"
)

// object is an object of a manifest.
type object struct {
	Kind     string `json:"kind"`
	Metadata struct {
		Name        string            `json:"name"`
		Namespace   string            `json:"namespace"`
		Annotations map[string]string `json:"annotations"`
	} `json:"metadata"`

	document []byte
}

// String names the object as the tables do.
func (o object) String() string {
	if o.Metadata.Namespace == "" {
		return o.Kind + "/" + o.Metadata.Name
	}
	return o.Kind + "/" + o.Metadata.Name + " in " + o.Metadata.Namespace
}

func decode(content []byte) ([]object, error) {
	var objects []object
	for documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(content))); ; {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading a document: %w", err)
		}
		o := object{document: document}
		if err := yaml.Unmarshal(document, &o); err != nil {
			return nil, fmt.Errorf("decoding an object: %w", err)
		}
		if o.Kind != "" {
			objects = append(objects, o)
		}
	}
}

func (o object) into(typed any) error {
	if err := yaml.Unmarshal(o.document, typed); err != nil {
		return fmt.Errorf("decoding %s: %w", o, err)
	}
	return nil
}

// permissions are the entries of a CredentialsRequest's providerSpec on any cloud.
func (o object) permissions() ([]string, error) {
	var request struct {
		Spec struct {
			ProviderSpec struct {
				Permissions      []string `json:"permissions"`
				StatementEntries []struct {
					Action []string `json:"action"`
				} `json:"statementEntries"`
				Policies []struct {
					Attributes []struct {
						Name  string `json:"name"`
						Value string `json:"value"`
					} `json:"attributes"`
					Roles []string `json:"roles"`
				} `json:"policies"`
			} `json:"providerSpec"`
		} `json:"spec"`
	}
	if err := o.into(&request); err != nil {
		return nil, err
	}
	names := request.Spec.ProviderSpec.Permissions
	for _, entry := range request.Spec.ProviderSpec.StatementEntries {
		names = append(names, entry.Action...)
	}
	for _, policy := range request.Spec.ProviderSpec.Policies {
		var on []string
		for _, attribute := range policy.Attributes {
			on = append(on, attribute.Name+"="+attribute.Value)
		}
		for _, role := range policy.Roles {
			names = append(names, strings.Join(on, " ")+" "+role[strings.LastIndex(role, "::")+2:])
		}
	}
	return names, nil
}

// addDeployed adds the pods of a Deployment or DaemonSet.
func (f Facts) addDeployed(platform string, o object) error {
	if o.Kind == "DaemonSet" {
		var set appsv1.DaemonSet
		if err := o.into(&set); err != nil {
			return err
		}
		return f.addPod(platform, nodeManager, "DaemonSet", set.Spec.Template.Spec, "cloud-node-manager")
	}
	var deployment appsv1.Deployment
	if err := o.into(&deployment); err != nil {
		return err
	}
	replicas := ptr.Deref(deployment.Spec.Replicas, 1)
	workload := fmt.Sprintf("Deployment, %d replicas, %s", replicas, deployment.Spec.Strategy.Type)
	return f.addPod(platform, "", workload, deployment.Spec.Template.Spec, "cloud-controller-manager")
}

const (
	operatorAccount = "system:serviceaccount:openshift-cloud-controller-manager-operator:cluster-cloud-controller-manager"
	accountPrefix   = "system:serviceaccount:openshift-cloud-controller-manager:"
)

// addRights adds the union of the rights of the identities that run a platform's controllers, that of the
// cloud-node-manager, and the operator's, on the given platforms.
func (f Facts) addRights(all []string, granted []rights.Right) {
	type place struct{ scope, section, item string }
	verbs, identities := map[place]map[string]bool{}, map[place]map[string]bool{}
	add := func(values map[place]map[string]bool, at place, value string) {
		if values[at] == nil {
			values[at] = map[string]bool{}
		}
		values[at][value] = true
	}
	for _, r := range granted {
		scopes, section := all, rightSection
		if len(r.Platforms) > 0 {
			scopes = slices.DeleteFunc(slices.Clone(all), func(p string) bool { return !slices.Contains(r.Platforms, p) })
		}
		switch r.Identity {
		case operatorAccount:
			scopes, section = []string{payload}, operatorSection
		case accountPrefix + "cloud-node-manager":
			section = nodeManager + rightSection
			scopes = slices.DeleteFunc(slices.Clone(scopes), func(p string) bool {
				return f[p][nodeManager+podSection] == nil
			})
		case accountPrefix + "installer-sa", accountPrefix + "file-syncer":
			continue // helpers of static pods, which docs/rights.md describes
		case "system:serviceaccount:openshift-monitoring:prometheus-k8s":
			continue // cluster monitoring, which scrapes both
		}
		for _, scope := range scopes {
			for _, verb := range r.Verbs {
				add(verbs, place{scope, section, rightItem(r)}, verb)
			}
			add(identities, place{scope, section, "identities"}, strings.TrimPrefix(r.Identity, "system:serviceaccount:"))
		}
	}
	for _, values := range []map[place]map[string]bool{verbs, identities} {
		for at, set := range values {
			f.add(at.scope, at.section, at.item, strings.Join(slices.Sorted(maps.Keys(set)), ", "))
		}
	}
}

func rightItem(r rights.Right) string {
	item := r.Resource
	if r.Group != "" {
		resource, subresource, nested := strings.Cut(r.Resource, "/")
		item = resource + "." + r.Group
		if nested {
			item += "/" + subresource
		}
	}
	if len(r.Names) > 0 {
		names := slices.Sorted(slices.Values(r.Names))
		if more := len(names) - 2; more > 0 {
			names = append(names[:1], fmt.Sprintf("%d others", more+1))
		}
		item += " named " + strings.Join(names, " and ")
	}
	if r.Namespace != "" {
		item += " in " + r.Namespace
	}
	return item
}

// grant returns what the bindings among the objects grant by the roles among them. A role of others is a right of its
// own.
func grant(objects []object, platforms []string, roles map[string][]rbacv1.PolicyRule) ([]rights.Right, error) {
	var granted []rights.Right
	for _, o := range objects {
		if o.Kind != "ClusterRoleBinding" && o.Kind != "RoleBinding" {
			continue
		}
		var binding rbacv1.RoleBinding // the fields of both kinds
		if err := o.into(&binding); err != nil {
			return nil, err
		}
		role := object{Kind: binding.RoleRef.Kind}
		role.Metadata.Name = binding.RoleRef.Name
		if role.Kind == "Role" {
			role.Metadata.Namespace = binding.Namespace
		}
		rules, known := roles[role.String()]
		if !known {
			name := role.Kind + "/" + role.Metadata.Name
			rules = []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{name}, Verbs: []string{"bound"}}}
		}
		for _, subject := range binding.Subjects {
			for _, rule := range rules {
				for _, group := range rule.APIGroups {
					for _, resource := range rule.Resources {
						granted = append(granted, rights.Right{
							Identity: "system:serviceaccount:" + subject.Namespace + ":" + subject.Name, Namespace: binding.Namespace,
							Platforms: platforms, Group: group, Resource: resource, Names: rule.ResourceNames, Verbs: rule.Verbs,
						})
					}
				}
			}
		}
	}
	return granted, nil
}

// addRoles adds the rules of the roles among the objects.
func addRoles(objects []object, roles map[string][]rbacv1.PolicyRule) error {
	for _, o := range objects {
		if o.Kind != "ClusterRole" && o.Kind != "Role" {
			continue
		}
		var role rbacv1.Role // the fields of both kinds
		if err := o.into(&role); err != nil {
			return err
		}
		roles[o.String()] = role.Rules
	}
	return nil
}
