// Package staticresources applies the objects around the static pods that depend on nothing but the platform:
// ServiceAccounts, their permissions, the cert-syncer's identity, and the Service for metrics.
package staticresources

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/resource/resourceapply"
	"github.com/openshift/library-go/pkg/operator/resource/resourceread"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	rbacinformers "k8s.io/client-go/informers/rbac/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/openshift/cluster-cloud-controller-manager-operator/bindata"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/observedplatform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

// The label on every static resource; the informers of cluster-scoped ones select by it.
const (
	managedByLabel = "app.kubernetes.io/managed-by"
	managedBy      = "cloud-controller-manager-operator"
)

// Options are the dependencies of New; all are required.
type Options struct {
	Operator v1helpers.OperatorClient
	// Target makes informers for the operand's namespace.
	Target informers.SharedInformerFactory
	// ClusterRoleBindings comes from NewClusterRoleBindingInformers.
	ClusterRoleBindings rbacinformers.ClusterRoleBindingInformer
	Kube                kubernetes.Interface
	Recorder            events.Recorder
}

type controller struct {
	operator v1helpers.OperatorClient
	kube     cachedClient
}

// NewClusterRoleBindingInformers watches only the bindings that New's controller makes, by their label; tweak adds to
// the options of the watch. The caller starts the factory.
func NewClusterRoleBindingInformers(kube kubernetes.Interface, tweak func(*metav1.ListOptions)) informers.SharedInformerFactory {
	return informers.NewSharedInformerFactoryWithOptions(kube, 0, informers.WithTweakListOptions(func(o *metav1.ListOptions) {
		o.LabelSelector = managedByLabel + "=" + managedBy
		tweak(o)
	}))
}

// New returns the controller that applies the static resources while the observed platform is a managed one. It
// compares with what informers saw, so that an idle operator sends no request. Errors become StaticResourcesDegraded.
func New(o Options) factory.Controller {
	c := &controller{operator: o.Operator, kube: newCachedClient(o)}
	core, rbac := o.Target.Core().V1(), o.Target.Rbac().V1()
	return factory.New().
		WithInformers(o.Operator.Informer(), o.ClusterRoleBindings.Informer(), rbac.RoleBindings().Informer(),
			core.ServiceAccounts().Informer(), core.Secrets().Informer(), core.Services().Informer()).
		WithSync(c.sync).
		WithSyncDegradedOnError(o.Operator).
		ToController("StaticResources", o.Recorder)
}

func (c *controller) sync(ctx context.Context, syncCtx factory.SyncContext) error {
	observed, known, err := observedplatform.Get(c.operator)
	if err != nil || !known || !observed.Managed() {
		return err
	}
	resources, err := read(observed)
	if err != nil {
		return err
	}
	return c.apply(ctx, syncCtx.Recorder(), resources)
}

// resources are the decoded assets in the order in which they are applied.
type resources struct {
	serviceAccounts     []*corev1.ServiceAccount
	secrets             []*corev1.Secret
	roleBindings        []*rbacv1.RoleBinding
	clusterRoleBindings []*rbacv1.ClusterRoleBinding
	services            []*corev1.Service
}

// read decodes the assets for a platform. A file's name starts with its kind.
func read(p platform.Platform) (*resources, error) {
	var files []string
	for _, pattern := range []string{"assets/resources/*.yaml", "assets/platforms/" + p.Name + "/resources/*.yaml"} {
		found, err := fs.Glob(bindata.FS(), pattern)
		if err != nil {
			return nil, fmt.Errorf("listing the static resources: %w", err)
		}
		files = append(files, found...)
	}
	all := &resources{}
	for _, file := range files {
		asset, err := bindata.Read(file)
		if err != nil {
			return nil, err
		}
		switch kind, _, _ := strings.Cut(strings.TrimSuffix(path.Base(file), ".yaml"), "-"); kind {
		case "serviceaccount":
			all.serviceAccounts = append(all.serviceAccounts, resourceread.ReadServiceAccountV1OrDie(asset))
		case "secret":
			all.secrets = append(all.secrets, resourceread.ReadSecretV1OrDie(asset))
		case "rolebinding":
			all.roleBindings = append(all.roleBindings, resourceread.ReadRoleBindingV1OrDie(asset))
		case "clusterrolebinding":
			all.clusterRoleBindings = append(all.clusterRoleBindings, resourceread.ReadClusterRoleBindingV1OrDie(asset))
		case "service":
			all.services = append(all.services, resourceread.ReadServiceV1OrDie(asset))
		default:
			return nil, fmt.Errorf("the static resource %s is of no kind that is applied", file)
		}
	}
	return all, nil
}

func (c *controller) apply(ctx context.Context, recorder events.Recorder, all *resources) error {
	var errs []error
	failed := func(kind, name string, err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("%s/%s: %w", kind, name, err))
		}
	}
	for _, account := range all.serviceAccounts {
		_, _, err := resourceapply.ApplyServiceAccount(ctx, c.kube, recorder, account)
		failed("serviceaccount", account.Name, err)
	}
	for _, secret := range all.secrets {
		failed("secret", secret.Name, c.ensureSecret(ctx, recorder, secret))
	}
	for _, binding := range all.roleBindings {
		_, _, err := resourceapply.ApplyRoleBinding(ctx, c.kube, recorder, binding)
		failed("rolebinding", binding.Name, err)
	}
	for _, binding := range all.clusterRoleBindings {
		_, _, err := resourceapply.ApplyClusterRoleBinding(ctx, c.kube, recorder, binding)
		failed("clusterrolebinding", binding.Name, err)
	}
	for _, service := range all.services {
		_, _, err := resourceapply.ApplyService(ctx, c.kube, recorder, service)
		failed("service", service.Name, err)
	}
	return errors.Join(errs...)
}

// ensureSecret creates a Secret that somebody else fills, and otherwise leaves it to them.
func (c *controller) ensureSecret(ctx context.Context, recorder events.Recorder, secret *corev1.Secret) error {
	_, err := c.kube.secrets.Secrets(operand.Namespace).Get(secret.Name)
	if !apierrors.IsNotFound(err) {
		return err
	}
	_, _, err = resourceapply.ApplySecret(ctx, c.kube, recorder, secret)
	return err
}
