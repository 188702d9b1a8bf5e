// Package staticresources applies the objects that depend only on the platform: ServiceAccounts, their permissions
// and restrictions, the file-syncer's identity, and the metrics Service. It deletes those of other platforms.
package staticresources

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	admissioninformers "k8s.io/client-go/informers/admissionregistration/v1"
	rbacinformers "k8s.io/client-go/informers/rbac/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/bindata"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/observedplatform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/ondemand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/reconciler"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

const (
	managedByLabel = "app.kubernetes.io/managed-by"
	managedBy      = "cloud-controller-manager-operator"
)

// Selector selects the static resources. The informers outside the operand's namespace are limited to it.
const Selector = managedByLabel + "=" + managedBy

// The name of an asset's file starts with its kind.
const (
	everywhere         = "assets/resources/*.yaml"
	withNodeManager    = "assets/node-manager/resources/*.yaml"
	withPreflight      = "assets/preflight/resources/*.yaml"
	withMetrics        = "assets/metrics/*.yaml"
	nodeManager        = "assets/node-manager/daemonset.yaml"
	platformsDir       = "assets/platforms"
	platformResources  = platformsDir + "/%s/resources/*.yaml"
	secretsKind        = "secret"
	roleBindingsKind   = "rolebinding"
	policyBindingsKind = "validatingadmissionpolicybinding"
)

// Bindings have the informers of bindings that are not in the operand's namespace.
type Bindings struct {
	// Cluster has at least the objects that match Selector, like KubeSystem.
	Cluster rbacinformers.ClusterRoleBindingInformer
	// KubeSystem has the RoleBindings of kube-system. It runs on platforms for which NeedsKubeSystem is true.
	KubeSystem rbacinformers.RoleBindingInformer
	// Policies runs on managed platforms.
	Policies admissioninformers.ValidatingAdmissionPolicyBindingInformer
}

type controller struct {
	operator v1helpers.OperatorClient
	secrets  corev1client.SecretsGetter
	kinds    []kind
	// removable is a kind that is only deleted.
	removable kind
	// swept is the platform for which the resources of all other platforms have been deleted.
	swept string
	// applied has the resource versions of the objects as they were last applied.
	applied map[string]string
}

// New returns the controller that applies the static resources while the observed platform is managed. It looks for
// changes in the caches, so an idle operator sends no request. Errors become StaticResourcesDegraded.
//
// Once the platform is known, the controller deletes the resources with our label that belong only to other platforms,
// whose pods are about to be replaced. On an unmanaged platform everything stays, as the static pods do.
func New(d dependencies.Deps, bindings Bindings) factory.Controller {
	dependencies.Require(d, bindings)
	core := d.Target.Core().V1()
	return reconciler.New("StaticResources", d.Operator, d.Recorder, newController(d, bindings).sync,
		bindings.Cluster.Informer(), d.Target.Rbac().V1().RoleBindings().Informer(),
		ondemand.Informer{SharedIndexInformer: bindings.KubeSystem.Informer()},
		ondemand.Informer{SharedIndexInformer: bindings.Policies.Informer()},
		core.ServiceAccounts().Informer(), core.Secrets().Informer(), core.Services().Informer())
}

func newController(d dependencies.Deps, bindings Bindings) *controller {
	return &controller{
		operator: d.Operator, secrets: d.Kube.CoreV1(), kinds: kinds(d, bindings), removable: daemonSets(d),
		applied: map[string]string{},
	}
}

// NeedsKubeSystem reports whether a platform has a RoleBinding in kube-system.
func NeedsKubeSystem(p platform.Platform) bool {
	found, err := files(p)
	return err == nil && slices.ContainsFunc(found, func(file string) bool {
		return kindOf(file) == roleBindingsKind && read(file).GetNamespace() == operatorclient.KubeSystemNamespace
	})
}

func (c *controller) sync(ctx context.Context, syncCtx factory.SyncContext) error {
	observed, known, err := observedplatform.OfNodePods(c.operator)
	if err != nil || !known || !observed.Managed() {
		return err
	}
	resources, err := c.resources(observed)
	if err != nil {
		return err
	}
	if c.swept != observed.Name {
		clear(c.applied) // another platform may have other objects of the same names
	}
	return errors.Join(c.apply(ctx, syncCtx.Recorder(), resources), c.sweep(ctx, syncCtx.Recorder(), observed, resources))
}

var errUnrestrained = errors.New("roles are not bound until every admission policy is bound")

// apply binds admission policies before roles. If that fails, no new role is bound, because only the policy's
// expression defines which right it restrains. Existing bindings stay.
func (c *controller) apply(ctx context.Context, recorder events.Recorder, resources []resource) error {
	var errs []error
	unrestrained := false
	for _, r := range resources {
		if r.kind.grants && unrestrained {
			continue
		}
		if err := c.applyOne(ctx, recorder, r); err != nil {
			errs = append(errs, fmt.Errorf("applying %s: %w", r, err))
			unrestrained = unrestrained || r.kind.restrains
		}
	}
	if unrestrained {
		errs = append(errs, errUnrestrained)
	}
	return errors.Join(errs...)
}

// applyOne skips a resource that the cache has as last applied, and a Secret that exists: another component fills it.
// It deletes a Secret whose token is not of its ServiceAccount; that event calls this controller again.
func (c *controller) applyOne(ctx context.Context, recorder events.Recorder, r resource) error {
	cached := r.kind.cached(r.object.GetNamespace(), r.object.GetName())
	if secret, is := cached.(*corev1.Secret); is && operand.HasForeignToken(secret) {
		recorder.Warningf("TokenReplaced", "%s has a token that is not of serviceaccount/%s, and is made again", r,
			secret.Annotations[corev1.ServiceAccountNameKey])
		return operatorclient.Delete(ctx, c.secrets.Secrets(secret.Namespace).Delete, secretsKind, secret.Namespace,
			secret.Name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(secret.UID))})
	}
	version, isApplied := c.applied[r.String()]
	if cached != nil && (r.kind.name == secretsKind || isApplied && version == cached.GetResourceVersion()) {
		return nil
	}
	actual, err := r.kind.apply(ctx, recorder, r.object)
	if err == nil {
		c.applied[r.String()] = actual.GetResourceVersion()
	}
	return err
}

// sweep deletes the resources of other platforms, once.
func (c *controller) sweep(
	ctx context.Context, recorder events.Recorder, observed platform.Platform, current []resource,
) error {
	if c.swept == observed.Name {
		return nil
	}
	stale, err := c.stale(observed, current)
	if err != nil {
		return err
	}
	if _, err := remove(ctx, recorder, stale); err != nil {
		return fmt.Errorf("removing what platform %s does not use: %w", observed.Name, err)
	}
	c.swept = observed.Name
	return nil
}

// remove deletes resources in order, and reports if any existed. A restraint stays while a right could not be deleted.
func remove(ctx context.Context, recorder events.Recorder, resources []resource) (found bool, err error) {
	var errs []error
	granted := false
	for _, r := range resources {
		if r.kind.restrains && granted {
			continue
		}
		ours, err := r.kind.removeOurs(ctx, recorder, r.object)
		found = found || ours
		if err != nil {
			errs = append(errs, fmt.Errorf("deleting %s: %w", r, err))
			granted = granted || r.kind.grants
		}
	}
	return found, errors.Join(errs...)
}

// NewRemover returns a function that deletes the static resources of every platform and the cloud-node-manager, and
// reports whether any existed.
func NewRemover(
	d dependencies.Deps, bindings Bindings,
) func(ctx context.Context, recorder events.Recorder) (found bool, err error) {
	dependencies.Require(d, bindings)
	return newController(d, bindings).removeAll
}

func (c *controller) removeAll(ctx context.Context, recorder events.Recorder) (found bool, err error) {
	all, err := c.known(everywhere)
	if err != nil {
		return false, err
	}
	return remove(ctx, recorder, append([]resource{c.nodeManager()}, all...))
}

type resource struct {
	kind   kind
	object object
}

func (r resource) String() string {
	return operatorclient.ObjectName(r.kind.name, r.object.GetNamespace(), r.object.GetName())
}

func (c *controller) resources(p platform.Platform) ([]resource, error) {
	found, err := files(p)
	if err != nil {
		return nil, err
	}
	return c.read(found)
}

// stale returns the resources of all other platforms that are not in current, in the order of deletion.
func (c *controller) stale(p platform.Platform, current []resource) ([]resource, error) {
	stale, err := c.known()
	if err != nil {
		return nil, err
	}
	if p.NodeManagerImage == "" {
		stale = append([]resource{c.nodeManager()}, stale...)
	}
	listed := map[string]bool{}
	for _, r := range current {
		listed[r.String()] = true
	}
	return slices.DeleteFunc(stale, func(r resource) bool {
		seen := listed[r.String()]
		listed[r.String()] = true
		return seen
	}), nil
}

// known returns the resources of the patterns and of all platforms, in the order of deletion: the reverse of the order
// of application. It lists the assets, so only objects that this version knows are deleted.
func (c *controller) known(patterns ...string) ([]resource, error) {
	directories, err := fs.ReadDir(bindata.FS(), platformsDir)
	if err != nil {
		return nil, fmt.Errorf("listing the platforms' directories: %w", err)
	}
	patterns = append(patterns, withNodeManager, withPreflight, withMetrics)
	for _, directory := range directories {
		patterns = append(patterns, fmt.Sprintf(platformResources, directory.Name()))
	}
	files, err := matching(patterns...)
	if err != nil {
		return nil, err
	}
	known, err := c.read(files)
	slices.Reverse(known)
	return known, err
}

func (c *controller) nodeManager() resource {
	return resource{c.removable, read(nodeManager)}
}

func files(p platform.Platform) ([]string, error) {
	patterns := []string{everywhere, fmt.Sprintf(platformResources, p.Name)}
	if p.NodeManagerImage != "" {
		patterns = append(patterns, withNodeManager)
	}
	if p.Preflight {
		patterns = append(patterns, withPreflight)
	}
	if !p.WithoutMetrics {
		patterns = append(patterns, withMetrics)
	}
	return matching(patterns...)
}

func matching(patterns ...string) ([]string, error) {
	var files []string
	for _, pattern := range patterns {
		found, err := fs.Glob(bindata.FS(), pattern)
		if err != nil {
			return nil, fmt.Errorf("listing the static resources: %w", err)
		}
		files = append(files, found...)
	}
	return files, nil
}

func kindOf(file string) string {
	name, _, _ := strings.Cut(strings.TrimSuffix(path.Base(file), ".yaml"), "-")
	return name
}

func (c *controller) read(files []string) ([]resource, error) {
	var all []resource
	for _, k := range c.kinds {
		for _, file := range files {
			if kindOf(file) == k.name {
				all = append(all, resource{k, read(file)})
			}
		}
	}
	for _, file := range files {
		if !slices.ContainsFunc(c.kinds, func(k kind) bool { return k.name == kindOf(file) }) {
			return nil, fmt.Errorf("the static resource %s has an unsupported kind", file)
		}
	}
	return all, nil
}
