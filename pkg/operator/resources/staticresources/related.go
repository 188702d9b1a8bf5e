package staticresources

import (
	"cmp"
	"slices"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/openshift/library-go/pkg/operator/resource/resourceread"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/openshift/cluster-cloud-controller-manager-operator/bindata"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

// Rights lists the roles, bindings and admission policies that the operator applies or binds on a platform.
// must-gather does not collect them with a namespace, so the ClusterOperator names them.
func Rights(p platform.Platform) ([]configv1.ObjectReference, error) {
	found, err := files(p)
	if err != nil {
		return nil, err
	}
	var refs []configv1.ObjectReference
	add := func(kind schema.GroupResource, namespace, name string) {
		refs = append(refs, configv1.ObjectReference{Group: kind.Group, Resource: kind.Resource, Namespace: namespace,
			Name: name})
	}
	role := func(ref rbacv1.RoleRef, namespace string) {
		if ref.Kind == "ClusterRole" {
			add(rbacv1.Resource("clusterroles"), "", ref.Name)
		} else {
			add(rbacv1.Resource("roles"), namespace, ref.Name)
		}
	}
	for _, file := range found {
		asset, err := bindata.Read(file)
		if err != nil {
			return nil, err
		}
		switch kindOf(file) {
		case "clusterrolebinding":
			binding := resourceread.ReadClusterRoleBindingV1OrDie(asset)
			add(rbacv1.Resource("clusterrolebindings"), "", binding.Name)
			role(binding.RoleRef, "")
		case roleBindingsKind:
			binding := resourceread.ReadRoleBindingV1OrDie(asset)
			add(rbacv1.Resource("rolebindings"), binding.Namespace, binding.Name)
			role(binding.RoleRef, binding.Namespace)
		case policyBindingsKind:
			binding := resourceread.ReadValidatingAdmissionPolicyBindingV1OrDie(asset)
			add(admissionv1.Resource("validatingadmissionpolicybindings"), "", binding.Name)
			add(admissionv1.Resource("validatingadmissionpolicies"), "", binding.Spec.PolicyName)
		}
	}
	slices.SortFunc(refs, func(a, b configv1.ObjectReference) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Resource, b.Resource),
			cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return slices.Compact(refs), nil
}
