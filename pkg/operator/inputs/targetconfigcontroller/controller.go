package targetconfigcontroller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/resource/resourceapply"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	appsinformers "k8s.io/client-go/informers/apps/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/inputs"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/configmaps"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/filteredwatch"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/observedplatform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/ondemand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/reconciler"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operandconfig"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/patience"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

const (
	// componentGracePeriod is how long an input that another component writes may be absent before the operator
	// degrades: cloud-credential-operator may have to call the cloud first. A lasting absence shows within a minute.
	componentGracePeriod = 45 * time.Second

	// userGracePeriod is the same for an input that an administrator writes, once a candidate was accepted: a replaced
	// object is deleted and recreated, and the object that references it may arrive in the cache first.
	userGracePeriod = 5 * time.Second
)

// Options are the dependencies of New that not all controllers have.
type Options struct {
	// Namespaces watches the operand's namespace.
	Namespaces coreinformers.NamespaceInformer

	// UserConfig and ManagedConfig are the ConfigMaps of openshift-config and of openshift-config-managed. Of the
	// latter, the controller reads only operatorclient.ManagedCloudConfig.
	UserConfig, ManagedConfig coreinformers.ConfigMapInformer

	// NodeManagers watches the cloud-node-manager on platforms that have one.
	NodeManagers appsinformers.DaemonSetInformer

	// Version is that of the release payload; it is recorded with the candidate.
	Version string

	// OperandImages are the pull specifications by tag in the release payload. OperatorImage is this operator's.
	OperandImages map[string]string
	OperatorImage string

	// SystemTrust is the trust bundle of the operator's image; it may be empty.
	SystemTrust operand.TrustSource
}

type controller struct {
	dependencies.Deps
	Options
	confirm func(*operatorv1.OperatorSpec) (bool, error)
	// configMaps and secrets write to the operand's namespace and read from the cache.
	configMaps corev1client.ConfigMapsGetter
	secrets    corev1client.SecretsGetter
	// workingRevision returns the revision that a change could break, 0 if there is none.
	workingRevision func() (int32, error)
	// inputs and annotations read the cluster; a DryRun has others.
	inputs      func(*operandconfig.Config, platform.Platform) (*inputs.Gathered, error)
	annotations func() (map[string]string, error)

	// held is the hold timer: how long a change has waited while a former cloud-controller-manager works, or none does.
	held patience.Since[bool]
	// worked records whether a former cloud-controller-manager works, and since when. It is zero until this process of
	// the operator sees one that works.
	worked patience.Since[bool]

	// absent is since when each absent input has been absent.
	absent patience.Each[string, bool]

	lastRendered  memo[*operand.Resources]
	lastPreflight memo[*corev1.Secret]
}

// New returns the controller. confirm reports whether spec.observedConfig matches the current state of the cluster. If
// not, the observers are about to update it or report why they do not. The controller does nothing while the platform
// is unknown or unmanaged. API errors become TargetConfigControllerDegraded.
func New(d dependencies.Deps, confirm func(*operatorv1.OperatorSpec) (bool, error), o Options) factory.Controller {
	dependencies.Require(d, confirm, o)
	core := d.Target.Core().V1()
	f := factory.New().
		WithInformers(o.Namespaces.Informer(), o.UserConfig.Informer(), o.ManagedConfig.Informer(),
			core.ConfigMaps().Informer(), core.Secrets().Informer(),
			ondemand.Informer{SharedIndexInformer: &filteredwatch.Updates{
				SharedIndexInformer: o.NodeManagers.Informer(), Matters: ondemand.ChangesSpec,
			}}).
		WithBareInformers(d.Lease, core.Pods().Informer(), d.Infrastructures.Informer())
	return reconciler.From(f, name, d.Operator, d.Recorder.WithComponentSuffix("target-config-controller"),
		newController(d, confirm, o).sync)
}

func newController(d dependencies.Deps, confirm func(*operatorv1.OperatorSpec) (bool, error), o Options) *controller {
	reader := inputs.Listers{
		UserConfig:    o.UserConfig.Lister(),
		ManagedConfig: o.ManagedConfig.Lister(),
		Secrets:       d.Target.Core().V1().Secrets().Lister(),
	}
	return &controller{
		Deps: d, Options: o, confirm: confirm, configMaps: d.ConfigMaps(), secrets: d.Secrets(),
		workingRevision: func() (int32, error) {
			view, err := d.View()
			if err != nil {
				return 0, err
			}
			return view.WorkingRevision(), nil
		},
		inputs: func(observed *operandconfig.Config, p platform.Platform) (*inputs.Gathered, error) {
			return inputs.Gather(reader, observed, p)
		},
		annotations: func() (map[string]string, error) {
			meta, err := d.Operator.GetObjectMeta()
			if err != nil {
				return nil, err
			}
			return meta.Annotations, nil
		},
		absent: patience.Each[string, bool]{},
	}
}

func (c *controller) sync(ctx context.Context, syncCtx factory.SyncContext) error {
	spec, status, _, err := c.Operator.GetStaticPodOperatorState()
	if err != nil {
		return err
	}
	observed, known, err := observedplatform.Effective(&spec.OperatorSpec, &status.OperatorStatus)
	if err != nil || !known || !observed.Managed() {
		return err
	}
	if missing, err := c.checkNamespace(); err != nil || missing != nil {
		return errors.Join(err, c.reportOnly(ctx, syncCtx.Recorder(), status, missing))
	}
	if confirmed, err := c.confirm(&spec.OperatorSpec); err != nil || !confirmed {
		// An update by the observers requeues. If they have nothing to write, the timer does.
		reconciler.After(syncCtx, userGracePeriod)
		return err
	}
	return c.syncCandidate(ctx, syncCtx, spec, status, observed)
}

func (c *controller) syncCandidate(ctx context.Context, syncCtx factory.SyncContext,
	spec *operatorv1.StaticPodOperatorSpec, status *operatorv1.StaticPodOperatorStatus, observed platform.Platform,
) error {
	objects, err := c.Objects()
	if err != nil {
		return err
	}
	in, err := c.gather(spec, observed, objects, status.LatestAvailableRevision)
	if err != nil {
		return err
	}
	if wait := c.remainingGracePeriod(in.absent, in.live); wait > 0 {
		// An event or the timer requeues.
		reconciler.After(syncCtx, wait)
		return nil
	}
	chosen, err := c.choose(in)
	if err != nil {
		return err
	}
	if chosen, err = c.gate(ctx, syncCtx, status, in, chosen); err != nil || chosen == nil {
		return err
	}
	if chosen.resources != nil {
		if err := c.applyChosen(ctx, syncCtx.Recorder(), status, chosen); err != nil {
			return err
		}
	}
	return c.report(ctx, syncCtx.Recorder(), status, chosen)
}

// applyChosen stores the accepted inputs first: otherwise the next process could use older ones than the candidate has.
// The pod's ConfigMap, with the digest of all objects, comes last; the revision controller waits for it.
func (c *controller) applyChosen(
	ctx context.Context, recorder events.Recorder, status *operatorv1.StaticPodOperatorStatus, chosen *candidate,
) error {
	accepted, err := chosen.acceptedInputs()
	if err != nil {
		return err
	}
	for _, secret := range append([]*corev1.Secret{accepted}, chosen.resources.Secrets...) {
		if err := c.applySecret(ctx, recorder, secret); err != nil {
			return err
		}
	}
	for _, configMap := range chosen.resources.ConfigMaps {
		if err := configmaps.Apply(ctx, c.configMaps, recorder, configMap); err != nil {
			return err
		}
	}
	return c.applyNodeManager(ctx, recorder, status, chosen.resources)
}

// remainingGracePeriod returns how long to wait for absent inputs, 0 once all grace periods have ended.
func (c *controller) remainingGracePeriod(absent map[string]time.Duration, live *corev1.ConfigMap) time.Duration {
	maps.DeleteFunc(c.absent, func(input string, _ *patience.Since[bool]) bool {
		_, still := absent[input]
		return !still
	})
	now := c.Clock.Now()
	var longest time.Duration
	for input, gracePeriod := range absent {
		if live == nil {
			gracePeriod = componentGracePeriod
		}
		longest = max(longest, c.absent.See(input, true, now).Add(gracePeriod).Sub(now))
	}
	return longest
}

// render returns the resources, or an *operand.InputError that includes the given errors, which Render cannot detect.
func render(
	by func(operand.Inputs) (*operand.Resources, error), in operand.Inputs, diagnostics []diagnostic.Diagnostic,
) (*operand.Resources, *operand.InputError, error) {
	resources, err := by(in)
	var rejected *operand.InputError
	switch {
	case errors.As(err, &rejected):
		rejected.Diagnostics = append(rejected.Diagnostics, diagnostics...)
		return nil, rejected, nil
	case err != nil:
		return nil, nil, fmt.Errorf("rendering the operand: %w", err)
	case len(diagnostics) > 0:
		return nil, &operand.InputError{Diagnostics: diagnostics, Warnings: resources.Warnings}, nil
	}
	return resources, nil, nil
}

func (c *controller) applySecret(ctx context.Context, recorder events.Recorder, secret *corev1.Secret) error {
	if _, _, err := resourceapply.ApplySecret(ctx, c.secrets, recorder, secret); err != nil {
		return fmt.Errorf("applying secret/%s in %s: %w", secret.Name, secret.Namespace, err)
	}
	return nil
}

// checkNamespace reports a missing or terminating operand namespace instead of the credentials that go with it.
func (c *controller) checkNamespace() (*diagnostic.Diagnostic, error) {
	const writer = "the cluster-version-operator"
	d := &diagnostic.Diagnostic{Cause: diagnostic.Configuration, Object: "namespace/" + operand.Namespace}
	namespace, err := c.Namespaces.Lister().Get(operand.Namespace)
	switch {
	case apierrors.IsNotFound(err):
		d.Message = "it does not exist, so no configuration can be rolled out; check that " + writer +
			", which creates it, is running"
	case err != nil:
		return nil, fmt.Errorf("reading %s: %w", d.Object, err)
	case namespace.DeletionTimestamp != nil:
		d.Message = "it is being deleted, so no configuration can be rolled out; read its status for what delays the " +
			"deletion; " + writer + " creates it again afterwards"
	default:
		return nil, nil
	}
	return d, nil
}
