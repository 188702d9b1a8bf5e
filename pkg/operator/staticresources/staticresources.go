// Package staticresources applies the objects around the operand that depend on nothing but the platform:
// ServiceAccounts, their permissions and what restricts them, the cert-syncer's identity, and the Service for metrics. It
// removes those of platforms that the cluster is not on.
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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	admissioninformers "k8s.io/client-go/informers/admissionregistration/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/openshift/cluster-cloud-controller-manager-operator/bindata"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/observedplatform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/ondemand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/writeconflict"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

// The label on every static resource; the informers of those outside the operand's namespace select by it.
const (
	managedByLabel = "app.kubernetes.io/managed-by"
	managedBy      = "cloud-controller-manager-operator"
)

// Where the assets are. A file's name starts with its kind.
const (
	everywhere         = "assets/resources/*.yaml"
	withNodeManager    = "assets/node-manager/resources/*.yaml"
	nodeManager        = "assets/node-manager/daemonset.yaml"
	platformFolders    = "assets/platforms"
	platformResources  = platformFolders + "/%s/resources/*.yaml"
	policyBindingsKind = "validatingadmissionpolicybinding"
)

// Options are the dependencies of New; all are required.
type Options struct {
	Operator v1helpers.OperatorClient
	// Target makes informers for the operand's namespace.
	Target informers.SharedInformerFactory
	// Bindings makes informers for the objects in all namespaces that have our label; see NewInformers.
	Bindings informers.SharedInformerFactory
	// PolicyBindings comes from NewInformers too. It runs where NeedsPolicies says so.
	PolicyBindings admissioninformers.ValidatingAdmissionPolicyBindingInformer
	Kube           kubernetes.Interface
	Recorder       events.Recorder
}

type controller struct {
	operator v1helpers.OperatorClient
	kinds    []kind
	// removable is one more kind that is only removed.
	removable kind
	// swept is the platform for which the resources of all others have been removed.
	swept string
}

// NewInformers watches only objects that New's controller makes, by their label; tweak adds to the options of the watch.
// The caller starts the factory.
func NewInformers(kube kubernetes.Interface, tweak func(*metav1.ListOptions)) informers.SharedInformerFactory {
	return informers.NewSharedInformerFactoryWithOptions(kube, 0, informers.WithTweakListOptions(func(o *metav1.ListOptions) {
		o.LabelSelector = managedByLabel + "=" + managedBy
		tweak(o)
	}))
}

// New returns the controller that applies the static resources while the observed platform is a managed one. It
// compares with what informers saw, so that an idle operator sends no request. Errors become StaticResourcesDegraded.
//
// Once the platform is known, what belongs only to other platforms is removed, if it has our label. Pods of such a platform
// that still run lose their rights with it; they are about to be replaced. On a platform that runs nothing everything
// stays: nobody removes static pods that were installed there before, and without rights they would not end but fail.
func New(o Options) factory.Controller {
	core, rbac := o.Target.Core().V1(), o.Bindings.Rbac().V1()
	return factory.New().
		WithInformers(o.Operator.Informer(), rbac.ClusterRoleBindings().Informer(), rbac.RoleBindings().Informer(),
			ondemand.Informer{SharedIndexInformer: o.PolicyBindings.Informer()},
			core.ServiceAccounts().Informer(), core.Secrets().Informer(), core.Services().Informer()).
		WithSync(writeconflict.Retried(newController(o).sync)).
		WithSyncDegradedOnError(o.Operator).
		ToController("StaticResources", o.Recorder)
}

func newController(o Options) *controller {
	client := newCachedClient(o)
	return &controller{operator: o.Operator, kinds: client.kinds(), removable: client.daemonSets()}
}

// NeedsPolicies tells whether admission policies are bound on a platform.
func NeedsPolicies(p platform.Platform) bool {
	found, err := files(p)
	return err == nil && slices.ContainsFunc(found, func(file string) bool { return kindOf(file) == policyBindingsKind })
}

func (c *controller) sync(ctx context.Context, syncCtx factory.SyncContext) error {
	observed, known, err := observedplatform.Get(c.operator)
	if err != nil || !known || !observed.Managed() {
		return err
	}
	resources, err := c.resources(observed)
	if err != nil {
		return err
	}
	return errors.Join(apply(ctx, syncCtx.Recorder(), resources), c.sweep(ctx, syncCtx.Recorder(), observed, resources))
}

// errUnrestrained is what becomes of the rights while a restraint is missing.
var errUnrestrained = errors.New("roles are not bound until every admission policy is")

// apply applies resources in their order. It grants no right once a restraint has failed: only the policy's expression
// says which right it restrains, so all of them wait. What is bound already stays.
func apply(ctx context.Context, recorder events.Recorder, resources []resource) error {
	var errs []error
	unrestrained := false
	for _, r := range resources {
		if r.kind.grants && unrestrained {
			continue
		}
		if err := r.kind.apply(ctx, recorder, r.object); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", r, err))
			unrestrained = unrestrained || r.kind.restrains
		}
	}
	if unrestrained {
		errs = append(errs, errUnrestrained)
	}
	return errors.Join(errs...)
}

// sweep removes what belongs to other platforms than the observed one, once. A restraint stays while a right could not
// be removed.
func (c *controller) sweep(ctx context.Context, recorder events.Recorder, observed platform.Platform, current []resource) error {
	if c.swept == observed.Name {
		return nil
	}
	stale, err := c.stale(observed, current)
	if err != nil {
		return err
	}
	var errs []error
	granted := false
	for _, r := range stale {
		if r.kind.restrains && granted {
			continue
		}
		if err := r.kind.removeOurs(ctx, recorder, r.object); err != nil {
			errs = append(errs, fmt.Errorf("removing %s, which belongs to another platform than %s: %w", r, observed.Name, err))
			granted = granted || r.kind.grants
		}
	}
	if len(errs) == 0 {
		c.swept = observed.Name
	}
	return errors.Join(errs...)
}

// resource is a decoded asset.
type resource struct {
	kind   kind
	object object
}

// String names the object.
func (r resource) String() string {
	if namespace := r.object.GetNamespace(); namespace != "" {
		return fmt.Sprintf("%s/%s in %s", r.kind.name, r.object.GetName(), namespace)
	}
	return fmt.Sprintf("%s/%s", r.kind.name, r.object.GetName())
}

// resources are those of a platform in the order in which they are applied.
func (c *controller) resources(p platform.Platform) ([]resource, error) {
	found, err := files(p)
	if err != nil {
		return nil, err
	}
	return c.read(found)
}

// stale returns the resources of all other platforms that are not among the current ones, in the order in which they
// are removed: the reverse of apply's. The list is made of the assets alone, so nothing is removed that this version
// does not know.
func (c *controller) stale(p platform.Platform, current []resource) ([]resource, error) {
	folders, err := fs.ReadDir(bindata.FS(), platformFolders)
	if err != nil {
		return nil, fmt.Errorf("listing the platforms' folders: %w", err)
	}
	patterns := []string{withNodeManager}
	for _, folder := range folders {
		patterns = append(patterns, fmt.Sprintf(platformResources, folder.Name()))
	}
	others, err := matching(patterns...)
	if err != nil {
		return nil, err
	}
	stale, err := c.read(others)
	if err != nil {
		return nil, err
	}
	if p.NodeManagerImage == "" {
		asset, err := bindata.Read(nodeManager)
		if err != nil {
			return nil, err
		}
		stale = append(stale, resource{c.removable, c.removable.read(asset)})
	}
	slices.Reverse(stale)
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

// files are the assets for a platform.
func files(p platform.Platform) ([]string, error) {
	patterns := []string{everywhere, fmt.Sprintf(platformResources, p.Name)}
	if p.NodeManagerImage != "" {
		patterns = append(patterns, withNodeManager)
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

// read decodes assets, and sorts them by kind.
func (c *controller) read(files []string) ([]resource, error) {
	var all []resource
	for _, k := range c.kinds {
		for _, file := range files {
			if kindOf(file) != k.name {
				continue
			}
			asset, err := bindata.Read(file)
			if err != nil {
				return nil, err
			}
			all = append(all, resource{k, k.read(asset)})
		}
	}
	for _, file := range files {
		if !slices.ContainsFunc(c.kinds, func(k kind) bool { return k.name == kindOf(file) }) {
			return nil, fmt.Errorf("the static resource %s is of no kind that is applied", file)
		}
	}
	return all, nil
}
