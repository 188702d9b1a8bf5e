package staticresources

import (
	"context"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	admissionv1client "k8s.io/client-go/kubernetes/typed/admissionregistration/v1"
	appsv1client "k8s.io/client-go/kubernetes/typed/apps/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	rbacv1client "k8s.io/client-go/kubernetes/typed/rbac/v1"
	admissionv1listers "k8s.io/client-go/listers/admissionregistration/v1"
	corev1listers "k8s.io/client-go/listers/core/v1"
	rbacv1listers "k8s.io/client-go/listers/rbac/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
)

// cachedClient writes to the API and reads from informers. It reads objects that the caches lack from the API: the
// caches may be behind, and some of them contain only objects with our label.
type cachedClient struct {
	core      corev1client.CoreV1Interface
	rbac      rbacv1client.RbacV1Interface
	admission admissionv1client.AdmissionregistrationV1Interface
	apps      appsv1client.AppsV1Interface

	serviceAccounts     corev1listers.ServiceAccountLister
	secrets             corev1listers.SecretLister
	services            corev1listers.ServiceLister
	roleBindings        rbacv1listers.RoleBindingLister
	kubeSystemBindings  rbacv1listers.RoleBindingLister
	clusterRoleBindings rbacv1listers.ClusterRoleBindingLister
	policyBindings      admissionv1listers.ValidatingAdmissionPolicyBindingLister
	// policiesWatched and kubeSystemWatched report whether the caches of policyBindings and kubeSystemBindings are
	// complete.
	policiesWatched, kubeSystemWatched func() bool
}

func newCachedClient(d dependencies.Deps, bindings Bindings) cachedClient {
	return cachedClient{
		core:                d.Kube.CoreV1(),
		rbac:                d.Kube.RbacV1(),
		admission:           d.Kube.AdmissionregistrationV1(),
		apps:                d.Kube.AppsV1(),
		serviceAccounts:     d.Target.Core().V1().ServiceAccounts().Lister(),
		secrets:             d.Target.Core().V1().Secrets().Lister(),
		services:            d.Target.Core().V1().Services().Lister(),
		roleBindings:        d.Target.Rbac().V1().RoleBindings().Lister(),
		kubeSystemBindings:  bindings.KubeSystem.Lister(),
		clusterRoleBindings: bindings.Cluster.Lister(),
		policyBindings:      bindings.Policies.Lister(),
		policiesWatched:     bindings.Policies.Informer().HasSynced,
		kubeSystemWatched:   bindings.KubeSystem.Informer().HasSynced,
	}
}

// Secrets implements SecretsGetter. It reads from the API, for Secrets that the lister does not have.
func (c cachedClient) Secrets(namespace string) corev1client.SecretInterface {
	return c.core.Secrets(namespace)
}

type serviceAccounts struct {
	corev1client.ServiceAccountInterface
	get operatorclient.GetFunc[*corev1.ServiceAccount]
}

// ServiceAccounts implements ServiceAccountsGetter.
func (c cachedClient) ServiceAccounts(namespace string) corev1client.ServiceAccountInterface {
	live := c.core.ServiceAccounts(namespace)
	return serviceAccounts{live, operatorclient.Cached(c.serviceAccounts.ServiceAccounts(namespace).Get, live.Get)}
}

// Get reads from the cache first.
func (s serviceAccounts) Get(
	ctx context.Context, name string, options metav1.GetOptions,
) (*corev1.ServiceAccount, error) {
	return s.get(ctx, name, options)
}

type services struct {
	corev1client.ServiceInterface
	get operatorclient.GetFunc[*corev1.Service]
}

// Services implements ServicesGetter.
func (c cachedClient) Services(namespace string) corev1client.ServiceInterface {
	live := c.core.Services(namespace)
	return services{live, operatorclient.Cached(c.services.Services(namespace).Get, live.Get)}
}

// Get reads from the cache first.
func (s services) Get(ctx context.Context, name string, options metav1.GetOptions) (*corev1.Service, error) {
	return s.get(ctx, name, options)
}

type roleBindings struct {
	rbacv1client.RoleBindingInterface
	get operatorclient.GetFunc[*rbacv1.RoleBinding]
}

// RoleBindings implements RoleBindingsGetter.
func (c cachedClient) RoleBindings(namespace string) rbacv1client.RoleBindingInterface {
	live := c.rbac.RoleBindings(namespace)
	return roleBindings{live, operatorclient.Cached(c.roleBindingsOf(namespace).Get, live.Get)}
}

func (c cachedClient) roleBindingsOf(namespace string) rbacv1listers.RoleBindingNamespaceLister {
	if namespace == operatorclient.KubeSystemNamespace {
		return c.kubeSystemBindings.RoleBindings(namespace)
	}
	return c.roleBindings.RoleBindings(namespace)
}

// Get reads from the cache first.
func (r roleBindings) Get(ctx context.Context, name string, options metav1.GetOptions) (*rbacv1.RoleBinding, error) {
	return r.get(ctx, name, options)
}

type clusterRoleBindings struct {
	rbacv1client.ClusterRoleBindingInterface
	get operatorclient.GetFunc[*rbacv1.ClusterRoleBinding]
}

// ClusterRoleBindings implements ClusterRoleBindingsGetter.
func (c cachedClient) ClusterRoleBindings() rbacv1client.ClusterRoleBindingInterface {
	live := c.rbac.ClusterRoleBindings()
	return clusterRoleBindings{live, operatorclient.Cached(c.clusterRoleBindings.Get, live.Get)}
}

// Get reads from the cache first.
func (r clusterRoleBindings) Get(
	ctx context.Context, name string, options metav1.GetOptions,
) (*rbacv1.ClusterRoleBinding, error) {
	return r.get(ctx, name, options)
}

type policyBindings struct {
	admissionv1client.ValidatingAdmissionPolicyBindingInterface
	get operatorclient.GetFunc[*admissionv1.ValidatingAdmissionPolicyBinding]
}

// ValidatingAdmissionPolicyBindings implements ValidatingAdmissionPolicyBindingsGetter.
func (c cachedClient) ValidatingAdmissionPolicyBindings() admissionv1client.ValidatingAdmissionPolicyBindingInterface {
	live := c.admission.ValidatingAdmissionPolicyBindings()
	return policyBindings{live, operatorclient.Cached(c.policyBindings.Get, live.Get)}
}

// Get reads from the cache first.
func (p policyBindings) Get(
	ctx context.Context, name string, options metav1.GetOptions,
) (*admissionv1.ValidatingAdmissionPolicyBinding, error) {
	return p.get(ctx, name, options)
}
