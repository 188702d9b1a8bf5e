package staticresources

import (
	"context"
	"fmt"

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
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	rbacv1client "k8s.io/client-go/kubernetes/typed/rbac/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
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

// kind describes how the controller handles resources of one kind.
type kind struct {
	// name is the prefix of the asset files' names, and the resource's name in messages.
	name string
	// restrains marks kinds that limit rights, grants marks kinds that give them. Rights are applied only after every
	// restraint.
	restrains, grants bool
	// watched reports whether the cache has every object with our label in the namespace.
	watched func(namespace string) bool

	read   func(asset []byte) object
	apply  func(ctx context.Context, recorder events.Recorder, required object) error
	cached func(namespace, name string) (object, error)
	live   func(ctx context.Context, namespace, name string) (object, error)
	remove func(ctx context.Context, namespace, name string) error
}

// applyFunc is a function of resourceapply that is bound to its client.
type applyFunc[T object] func(ctx context.Context, recorder events.Recorder, required T) error

func with[C any, T object](client C, apply func(context.Context, C, events.Recorder, T) (T, bool, error)) applyFunc[T] {
	return func(ctx context.Context, recorder events.Recorder, required T) error {
		_, _, err := apply(ctx, client, recorder, required)
		return err
	}
}

func newKind[T object](
	name string, read func([]byte) T, apply applyFunc[T], cached func(namespace, name string) (T,
		error), storeOf func(namespace string) store[T],
) kind {
	return kind{
		name:    name,
		watched: func(string) bool { return true },
		read:    func(asset []byte) object { return read(asset) },
		apply: func(ctx context.Context, recorder events.Recorder, required object) error {
			typed, ok := required.(T)
			if !ok {
				return fmt.Errorf("a %T is not a %s", required, name)
			}
			return apply(ctx, recorder, typed)
		},
		cached: func(namespace, name string) (object, error) { return cached(namespace, name) },
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
func (c cachedClient) kinds() []kind {
	policies := newKind(policyBindingsKind, resourceread.ReadValidatingAdmissionPolicyBindingV1OrDie,
		func(ctx context.Context, recorder events.Recorder, required *admissionv1.ValidatingAdmissionPolicyBinding) error {
			_, _, err := resourceapply.ApplyValidatingAdmissionPolicyBindingV1(ctx, c, recorder, required,
				resourceapply.NewResourceCache())
			return err
		},
		func(_, name string) (*admissionv1.ValidatingAdmissionPolicyBinding, error) {
			return c.policyBindings.Get(name)
		},
		func(string) store[*admissionv1.ValidatingAdmissionPolicyBinding] {
			return c.ValidatingAdmissionPolicyBindings()
		})
	policies.watched = func(string) bool { return c.policiesWatched() }
	policies.restrains = true
	roleBindings := newKind(roleBindingsKind, resourceread.ReadRoleBindingV1OrDie,
		with[rbacv1client.RoleBindingsGetter](c, resourceapply.ApplyRoleBinding),
		func(namespace, name string) (*rbacv1.RoleBinding, error) {
			return c.roleBindingsOf(namespace).Get(name)
		},
		func(namespace string) store[*rbacv1.RoleBinding] { return c.RoleBindings(namespace) })
	roleBindings.watched = func(namespace string) bool {
		return namespace != operatorclient.KubeSystemNamespace || c.kubeSystemWatched()
	}
	return []kind{
		newKind("serviceaccount", resourceread.ReadServiceAccountV1OrDie,
			with[corev1client.ServiceAccountsGetter](c, resourceapply.ApplyServiceAccount),
			func(namespace, name string) (*corev1.ServiceAccount, error) {
				return c.serviceAccounts.ServiceAccounts(namespace).Get(name)
			},
			func(namespace string) store[*corev1.ServiceAccount] { return c.ServiceAccounts(namespace) }),
		newKind("secret", resourceread.ReadSecretV1OrDie, c.ensureSecret,
			func(namespace, name string) (*corev1.Secret, error) { return c.secrets.Secrets(namespace).Get(name) },
			func(namespace string) store[*corev1.Secret] { return c.Secrets(namespace) }),
		policies,
		granting(roleBindings),
		granting(newKind("clusterrolebinding", resourceread.ReadClusterRoleBindingV1OrDie,
			with[rbacv1client.ClusterRoleBindingsGetter](c, resourceapply.ApplyClusterRoleBinding),
			func(_, name string) (*rbacv1.ClusterRoleBinding, error) { return c.clusterRoleBindings.Get(name) },
			func(string) store[*rbacv1.ClusterRoleBinding] { return c.ClusterRoleBindings() })),
		newKind("service", resourceread.ReadServiceV1OrDie, with[corev1client.ServicesGetter](c, resourceapply.ApplyService),
			func(namespace, name string) (*corev1.Service, error) { return c.services.Services(namespace).Get(name) },
			func(namespace string) store[*corev1.Service] { return c.Services(namespace) }),
	}
}

// granting marks a kind that grants rights.
func granting(k kind) kind {
	k.grants = true
	return k
}

// daemonSets returns the kind of the cloud-node-manager. targetconfigcontroller applies it with the candidate; this
// controller only deletes it.
func (c cachedClient) daemonSets() kind {
	k := newKind("daemonset", resourceread.ReadDaemonSetV1OrDie, nil,
		func(_, name string) (*appsv1.DaemonSet, error) {
			return nil, apierrors.NewNotFound(appsv1.Resource("daemonsets"), name)
		},
		func(namespace string) store[*appsv1.DaemonSet] { return c.apps.DaemonSets(namespace) })
	k.watched = func(string) bool { return false }
	return k
}

// ensureSecret creates a Secret that another component fills. It never updates one.
func (c cachedClient) ensureSecret(ctx context.Context, recorder events.Recorder, secret *corev1.Secret) error {
	_, err := c.secrets.Secrets(secret.Namespace).Get(secret.Name)
	if !apierrors.IsNotFound(err) {
		return err
	}
	_, _, err = resourceapply.ApplySecret(ctx, c, recorder, secret)
	return err
}

// removeOurs deletes an object if it exists and has our label, which it reports.
func (k kind) removeOurs(ctx context.Context, recorder events.Recorder, stale object) (ours bool, err error) {
	namespace, name := stale.GetNamespace(), stale.GetName()
	var found object
	if k.watched(namespace) {
		found, err = k.cached(namespace, name)
	} else {
		found, err = k.live(ctx, namespace, name)
	}
	if apierrors.IsNotFound(err) || err == nil && found.GetLabels()[managedByLabel] != managedBy {
		return false, nil
	}
	if err != nil {
		return false, err
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
