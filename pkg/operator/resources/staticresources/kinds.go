package staticresources

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/resource/resourceapply"
	"github.com/openshift/library-go/pkg/operator/resource/resourcehelper"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	admissionv1client "k8s.io/client-go/kubernetes/typed/admissionregistration/v1"
	appsv1client "k8s.io/client-go/kubernetes/typed/apps/v1"
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

type store[T object] interface {
	Get(ctx context.Context, name string, options metav1.GetOptions) (T, error)
	Delete(ctx context.Context, name string, options metav1.DeleteOptions) error
}

type kind struct {
	// name is the prefix of the asset files' names, and the resource's name in messages.
	name string
	// restrains marks kinds that limit rights, grants those that give them, which are applied after every restraint.
	restrains, grants bool
	// informer returns that of a namespace, or nil.
	informer func(namespace string) cache.SharedIndexInformer

	apply  func(ctx context.Context, recorder events.Recorder, required object) (object, error)
	live   func(ctx context.Context, namespace, name string) (object, error)
	remove func(ctx context.Context, namespace, name string) error
}

// newKind returns a kind whose objects have the type T. The namespace is empty for a cluster-scoped kind.
func newKind[C any, T object, S store[T]](
	name string, informer cache.SharedIndexInformer, client C,
	apply func(context.Context, C, events.Recorder, T) (T, bool, error), storeOf func(client C, namespace string) S,
) kind {
	return kind{
		name:     name,
		informer: func(string) cache.SharedIndexInformer { return informer },
		apply: func(ctx context.Context, recorder events.Recorder, required object) (object, error) {
			typed, ok := required.(T)
			if !ok {
				return nil, fmt.Errorf("a %T is not a %s", required, name)
			}
			actual, _, err := apply(ctx, client, recorder, typed)
			return actual, err
		},
		live: func(ctx context.Context, namespace, name string) (object, error) {
			return storeOf(client, namespace).Get(ctx, name, metav1.GetOptions{})
		},
		remove: func(ctx context.Context, namespace, name string) error {
			return storeOf(client, namespace).Delete(ctx, name, metav1.DeleteOptions{})
		},
	}
}

// kinds returns the kinds in the order of application: those that restrict rights before those that grant them.
func kinds(d dependencies.Deps, bindings Bindings) []kind {
	core, target, rbac := d.Kube.CoreV1(), d.Target.Core().V1(), d.Kube.RbacV1()
	policies := newKind(policyBindingsKind, bindings.Policies.Informer(), d.Kube.AdmissionregistrationV1(),
		func(
			ctx context.Context, client admissionv1client.AdmissionregistrationV1Interface, recorder events.Recorder,
			required *admissionv1.ValidatingAdmissionPolicyBinding,
		) (*admissionv1.ValidatingAdmissionPolicyBinding, bool, error) {
			return resourceapply.ApplyValidatingAdmissionPolicyBindingV1(ctx, client, recorder, required,
				resourceapply.NewResourceCache())
		},
		func(
			client admissionv1client.AdmissionregistrationV1Interface, _ string,
		) admissionv1client.ValidatingAdmissionPolicyBindingInterface {
			return client.ValidatingAdmissionPolicyBindings()
		})
	policies.restrains = true
	roles := newKind[rbacv1client.RoleBindingsGetter](roleBindingsKind, d.Target.Rbac().V1().RoleBindings().Informer(),
		rbac, resourceapply.ApplyRoleBinding, rbacv1client.RoleBindingsGetter.RoleBindings)
	ofOperand, kubeSystem := roles.informer, bindings.KubeSystem.Informer()
	roles.informer = func(namespace string) cache.SharedIndexInformer {
		if namespace == operatorclient.KubeSystemNamespace {
			return kubeSystem
		}
		return ofOperand(namespace)
	}
	clusterRoles := newKind[rbacv1client.ClusterRoleBindingsGetter]("clusterrolebinding", bindings.Cluster.Informer(),
		rbac, resourceapply.ApplyClusterRoleBinding,
		func(client rbacv1client.ClusterRoleBindingsGetter, _ string) rbacv1client.ClusterRoleBindingInterface {
			return client.ClusterRoleBindings()
		})
	roles.grants, clusterRoles.grants = true, true
	return []kind{
		newKind[corev1client.ServiceAccountsGetter]("serviceaccount", target.ServiceAccounts().Informer(), core,
			resourceapply.ApplyServiceAccount, corev1client.ServiceAccountsGetter.ServiceAccounts),
		newKind[corev1client.SecretsGetter](secretsKind, target.Secrets().Informer(), core,
			resourceapply.ApplySecret, corev1client.SecretsGetter.Secrets),
		policies, roles, clusterRoles,
		newKind[corev1client.ServicesGetter]("service", target.Services().Informer(), core,
			resourceapply.ApplyService, corev1client.ServicesGetter.Services),
	}
}

// daemonSets returns the kind of the cloud-node-manager, which targetconfigcontroller applies. It is only deleted here.
func daemonSets(d dependencies.Deps) kind {
	return newKind[appsv1client.DaemonSetsGetter, *appsv1.DaemonSet]("daemonset", nil, d.Kube.AppsV1(), nil,
		appsv1client.DaemonSetsGetter.DaemonSets)
}

// assets are the decoded assets by their files.
var assets sync.Map

// read decodes an embedded asset once, so no input can make it panic. The caller may change the result.
func read(file string) object {
	kept, found := assets.Load(file)
	if !found {
		decoded, err := runtime.Decode(scheme.Codecs.UniversalDeserializer(), bindata.MustRead(file))
		utilruntime.Must(err)
		kept, _ = assets.LoadOrStore(file, decoded)
	}
	return kept.(object).DeepCopyObject().(object)
}

func (k kind) cached(namespace, name string) object {
	found, _, _ := k.informer(namespace).GetIndexer().GetByKey(cache.NewObjectName(namespace, name).String())
	cached, _ := found.(object)
	return cached
}

// removeOurs deletes an object if it exists and has our label, which it reports. A removal may start before the cache
// has every object of the namespace with our label.
func (k kind) removeOurs(ctx context.Context, recorder events.Recorder, stale object) (ours bool, err error) {
	namespace, name := stale.GetNamespace(), stale.GetName()
	var found object
	if informer := k.informer(namespace); informer != nil && informer.HasSynced() {
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
	if held := operatorclient.Held(found); held != nil {
		return true, held
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
		switch binding := read(file).(type) {
		case *rbacv1.ClusterRoleBinding:
			add(rbacv1.Resource("clusterrolebindings"), "", binding.Name)
			role(binding.RoleRef, "")
		case *rbacv1.RoleBinding:
			add(rbacv1.Resource("rolebindings"), binding.Namespace, binding.Name)
			role(binding.RoleRef, binding.Namespace)
		case *admissionv1.ValidatingAdmissionPolicyBinding:
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
