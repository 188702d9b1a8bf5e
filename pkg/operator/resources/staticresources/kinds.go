package staticresources

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/resource/resourceapply"
	"github.com/openshift/library-go/pkg/operator/resource/resourcehelper"
	"github.com/openshift/library-go/pkg/operator/resource/resourceread"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	rbacv1client "k8s.io/client-go/kubernetes/typed/rbac/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/openshift/cluster-cloud-controller-manager-operator/bindata"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

type object interface {
	runtime.Object
	metav1.Object
}

// store reads and deletes objects of one kind. namespace is empty for cluster-scoped kinds.
type store[T object] interface {
	Get(ctx context.Context, name string, options metav1.GetOptions) (T, error)
	Delete(ctx context.Context, name string, options metav1.DeleteOptions) error
}

type kind struct {
	// name is the prefix of the asset files' names, and the resource's name in messages.
	name string
	// restrains marks kinds that limit rights, grants marks kinds that give them. Rights are applied only after every
	// restraint.
	restrains, grants bool
	// informer returns the informer of a namespace, nil if there is none. watched reports whether its cache has every
	// object with our label.
	informer func(namespace string) cache.SharedIndexInformer
	watched  func(namespace string) bool

	read   func(asset []byte) object
	apply  func(ctx context.Context, recorder events.Recorder, required object) (object, error)
	live   func(ctx context.Context, namespace, name string) (object, error)
	remove func(ctx context.Context, namespace, name string) error
}

type applyFunc[T object] func(ctx context.Context, recorder events.Recorder, required T) (T, bool, error)

func with[C any, T object](client C, apply func(context.Context, C, events.Recorder, T) (T, bool, error)) applyFunc[T] {
	return func(ctx context.Context, recorder events.Recorder, required T) (T, bool, error) {
		return apply(ctx, client, recorder, required)
	}
}

func newKind[T object](
	name string, informer cache.SharedIndexInformer, read func([]byte) T, apply applyFunc[T],
	storeOf func(namespace string) store[T],
) kind {
	return kind{
		name:     name,
		informer: func(string) cache.SharedIndexInformer { return informer },
		watched:  func(string) bool { return informer != nil },
		read:     func(asset []byte) object { return read(asset) },
		apply: func(ctx context.Context, recorder events.Recorder, required object) (object, error) {
			typed, ok := required.(T)
			if !ok {
				return nil, fmt.Errorf("a %T is not a %s", required, name)
			}
			actual, _, err := apply(ctx, recorder, typed)
			return actual, err
		},
		live: func(ctx context.Context, namespace, name string) (object, error) {
			return storeOf(namespace).Get(ctx, name, metav1.GetOptions{})
		},
		remove: func(ctx context.Context, namespace, name string) error {
			return storeOf(namespace).Delete(ctx, name, metav1.DeleteOptions{})
		},
	}
}

// kinds returns all kinds of static resources in the order of application: kinds that restrict rights before kinds
// that grant them.
func kinds(d dependencies.Deps, bindings Bindings) []kind {
	core, target, rbac := d.Kube.CoreV1(), d.Target.Core().V1(), d.Kube.RbacV1()
	admission := d.Kube.AdmissionregistrationV1()
	policies := newKind(policyBindingsKind, bindings.Policies.Informer(),
		resourceread.ReadValidatingAdmissionPolicyBindingV1OrDie,
		func(
			ctx context.Context, recorder events.Recorder, required *admissionv1.ValidatingAdmissionPolicyBinding,
		) (*admissionv1.ValidatingAdmissionPolicyBinding, bool, error) {
			return resourceapply.ApplyValidatingAdmissionPolicyBindingV1(ctx, admission, recorder, required,
				resourceapply.NewResourceCache())
		},
		func(string) store[*admissionv1.ValidatingAdmissionPolicyBinding] {
			return admission.ValidatingAdmissionPolicyBindings()
		})
	policies.watched = func(string) bool { return bindings.Policies.Informer().HasSynced() }
	policies.restrains = true
	roles := newKind(roleBindingsKind, d.Target.Rbac().V1().RoleBindings().Informer(), resourceread.ReadRoleBindingV1OrDie,
		with[rbacv1client.RoleBindingsGetter](rbac, resourceapply.ApplyRoleBinding),
		func(namespace string) store[*rbacv1.RoleBinding] { return rbac.RoleBindings(namespace) })
	ofOperand, kubeSystem := roles.informer, bindings.KubeSystem.Informer()
	roles.informer = func(namespace string) cache.SharedIndexInformer {
		if namespace == operatorclient.KubeSystemNamespace {
			return kubeSystem
		}
		return ofOperand(namespace)
	}
	roles.watched = func(namespace string) bool {
		return namespace != operatorclient.KubeSystemNamespace || kubeSystem.HasSynced()
	}
	clusterRoles := newKind("clusterrolebinding", bindings.Cluster.Informer(), resourceread.ReadClusterRoleBindingV1OrDie,
		with[rbacv1client.ClusterRoleBindingsGetter](rbac, resourceapply.ApplyClusterRoleBinding),
		func(string) store[*rbacv1.ClusterRoleBinding] { return rbac.ClusterRoleBindings() })
	roles.grants, clusterRoles.grants = true, true
	return []kind{
		newKind("serviceaccount", target.ServiceAccounts().Informer(), resourceread.ReadServiceAccountV1OrDie,
			with[corev1client.ServiceAccountsGetter](core, resourceapply.ApplyServiceAccount),
			func(namespace string) store[*corev1.ServiceAccount] { return core.ServiceAccounts(namespace) }),
		newKind(secretsKind, target.Secrets().Informer(), resourceread.ReadSecretV1OrDie,
			with[corev1client.SecretsGetter](core, resourceapply.ApplySecret),
			func(namespace string) store[*corev1.Secret] { return core.Secrets(namespace) }),
		policies, roles, clusterRoles,
		newKind("service", target.Services().Informer(), resourceread.ReadServiceV1OrDie,
			with[corev1client.ServicesGetter](core, resourceapply.ApplyService),
			func(namespace string) store[*corev1.Service] { return core.Services(namespace) }),
	}
}

// daemonSets returns the kind of the cloud-node-manager. targetconfigcontroller applies it with the candidate; this
// controller only deletes it.
func daemonSets(d dependencies.Deps) kind {
	return newKind("daemonset", nil, resourceread.ReadDaemonSetV1OrDie, nil,
		func(namespace string) store[*appsv1.DaemonSet] { return d.Kube.AppsV1().DaemonSets(namespace) })
}

func (k kind) cached(namespace, name string) object {
	found, _, _ := k.informer(namespace).GetIndexer().GetByKey(cache.NewObjectName(namespace, name).String())
	cached, _ := found.(object)
	return cached
}

// removeOurs deletes an object if it exists and has our label, which it reports.
func (k kind) removeOurs(ctx context.Context, recorder events.Recorder, stale object) (ours bool, err error) {
	namespace, name := stale.GetNamespace(), stale.GetName()
	var found object
	if k.watched(namespace) {
		found = k.cached(namespace, name)
	} else if found, err = k.live(ctx, namespace, name); apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if found == nil || found.GetLabels()[managedByLabel] != managedBy {
		return false, nil
	}
	if found.GetDeletionTimestamp() != nil {
		return true, nil
	}
	err = k.remove(ctx, namespace, name)
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	resourcehelper.ReportDeleteEvent(recorder, stale, err)
	return true, err
}

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
