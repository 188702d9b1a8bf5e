package simulation

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/apitest"
)

// rights are the roles of the manifests and what the operator binds: a request beyond them is refused, and breaks a
// rule. A role that the manifests do not have is one of Kubernetes' or OpenShift's own, and is read from builtIn.
type rights struct {
	world *world

	mutex    sync.Mutex
	roles    map[string][]rbacv1.PolicyRule
	bindings map[string]binding
}

// binding binds a role in a namespace, "" for all.
type binding struct {
	namespace, role string
	subjects        []rbacv1.Subject
}

// builtIn are the roles of Kubernetes that the manifests bind.
var builtIn = map[string][]rbacv1.PolicyRule{
	"kube-system/extension-apiserver-authentication-reader": {{
		APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "list", "watch"},
		ResourceNames: []string{"extension-apiserver-authentication"},
	}},
}

func newRights(w *world) *rights {
	r := &rights{world: w, roles: map[string][]rbacv1.PolicyRule{}, bindings: map[string]binding{}}
	for name, rules := range builtIn {
		r.roles[name] = rules
	}
	w.api.Observe(r.see)
	return r
}

// see is an observer of the API.
func (r *rights) see(c apitest.Change) {
	if c.Resource.Group != rbacv1.GroupName {
		return
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if c.After == nil {
		delete(r.bindings, c.Resource.Resource+c.Key)
		return
	}
	switch c.Resource.Resource {
	case "clusterroles":
		r.roles[c.Key] = apitest.Load[rbacv1.ClusterRole](c.After).Rules
	case "roles":
		r.roles[c.Key] = apitest.Load[rbacv1.Role](c.After).Rules
	case "clusterrolebindings":
		b := apitest.Load[rbacv1.ClusterRoleBinding](c.After)
		r.bindings[c.Resource.Resource+c.Key] = binding{role: "/" + b.RoleRef.Name, subjects: b.Subjects}
	case "rolebindings":
		b := apitest.Load[rbacv1.RoleBinding](c.After)
		role := "/" + b.RoleRef.Name
		if b.RoleRef.Kind == "Role" {
			role = b.Namespace + role
		}
		r.bindings[c.Resource.Resource+c.Key] = binding{b.Namespace, role, b.Subjects}
	}
}

const serviceAccount = "system:serviceaccount:"

// authorize is that of the API. The models without a ServiceAccount may do everything.
func (r *rights) authorize(user string, q apitest.Request) error {
	name, isAccount := strings.CutPrefix(user, serviceAccount)
	if !isAccount {
		return nil
	}
	name, _, _ = strings.Cut(name, "#")
	namespace, account, _ := strings.Cut(name, ":")
	if r.grant(namespace, account, q) {
		return nil
	}
	text := fmt.Sprintf("%s cannot %s resource %q in API group %q in the namespace %q, name %q", account, q.Verb,
		q.Resource.Resource+"/"+q.Subresource, q.Resource.Group, q.Namespace, q.Name)
	// The operator binds the roles of its operand, which may start before. A preflight has few rights, and is told so.
	isEarly := !isOperator(user) && !r.world.isBound.Load()
	if !isEarly && account != operand.PreflightName {
		r.world.violate("a request is denied", "%s", text)
	}
	return fmt.Errorf("%s is forbidden: %s", q.Resource.Resource, text)
}

// grant reports whether a role that is bound to a ServiceAccount permits a request.
func (r *rights) grant(namespace, account string, q apitest.Request) bool {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for _, b := range r.bindings {
		if b.namespace != "" && b.namespace != q.Namespace {
			continue
		}
		bound := slices.ContainsFunc(b.subjects, func(s rbacv1.Subject) bool {
			return s.Kind == rbacv1.ServiceAccountKind && s.Name == account && s.Namespace == namespace
		})
		if bound && slices.ContainsFunc(r.roles[b.role], func(rule rbacv1.PolicyRule) bool { return permits(rule, q) }) {
			return true
		}
	}
	return false
}

func permits(rule rbacv1.PolicyRule, q apitest.Request) bool {
	is := func(list []string, value string) bool {
		return slices.Contains(list, value) || slices.Contains(list, "*")
	}
	name := q.Resource.Resource
	if q.Subresource != "" {
		name += "/" + q.Subresource
	}
	if !is(rule.Verbs, q.Verb) || !is(rule.APIGroups, q.Resource.Group) || !is(rule.Resources, name) {
		return false
	}
	return len(rule.ResourceNames) == 0 || slices.Contains(rule.ResourceNames, nameOf(q))
}

// nameOf returns the name of a request: also a list or watch of one name has one.
func nameOf(q apitest.Request) string {
	if name, found := strings.CutPrefix(q.Fields, "metadata.name="); found && q.Name == "" {
		return name
	}
	return q.Name
}
