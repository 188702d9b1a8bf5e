// Package targetconfigcontroller makes the candidate for the next revision: it gathers the inputs, lets operand.Render
// check and render them, and applies the outcome as a whole. It is the only writer of names that are revisioned.
//
// In the place of an input that Render rejects, the version that was accepted last is rendered, so that everything else
// goes on. Conditions report what is wrong, one for each diagnostic.Cause.
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
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	appsinformers "k8s.io/client-go/informers/apps/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"
	appsv1client "k8s.io/client-go/kubernetes/typed/apps/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/utils/clock"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/inputs"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/configmaps"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/observedplatform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/ondemand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/writeconflict"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

const (
	// defaultPatience is how long an input that another component writes may be absent before that is a problem: the
	// cloud-credential-operator, for example, creates a deleted Secret again, but may have to ask the cloud first.
	defaultPatience = time.Minute

	// userPatience is the same for an input that an administrator writes, once a candidate was accepted: an object
	// that is replaced is deleted and created, and the object that names it may be seen before it.
	userPatience = 5 * time.Second
)

// Options are what the controller works with. All fields but Patience are required.
type Options struct {
	Operator v1helpers.StaticPodOperatorClient

	// Confirm reports whether spec.observedConfig is what the observers make of the cluster now. While it is not, the
	// observers are about to correct it, or report why they do not.
	Confirm func(*operatorv1.OperatorSpec) (bool, error)

	// Namespaces has the operand's namespace.
	Namespaces coreinformers.NamespaceInformer

	// UserConfig and ManagedConfig are the ConfigMaps of openshift-config and of openshift-config-managed; of the
	// latter only operatorclient.ManagedCloudConfig is needed.
	UserConfig, ManagedConfig coreinformers.ConfigMapInformer

	// TargetConfigMaps and TargetSecrets are those of the operand's namespace.
	TargetConfigMaps coreinformers.ConfigMapInformer
	TargetSecrets    coreinformers.SecretInformer

	// ConfigMaps and Secrets write to the operand's namespace and read from the caches of TargetConfigMaps and
	// TargetSecrets.
	ConfigMaps corev1client.ConfigMapsGetter
	Secrets    corev1client.SecretsGetter

	// TargetDaemonSets is the informer of the cloud-node-manager, which runs where the platform has one. DaemonSets writes it.
	TargetDaemonSets appsinformers.DaemonSetInformer
	DaemonSets       appsv1client.DaemonSetsGetter

	// Version is that of the release payload; it is recorded with the candidate.
	Version string

	// OperandImages are the pull specifications by tag in the release payload, OperatorImage is that of this operator.
	OperandImages map[string]string
	OperatorImage string

	// SystemTrust is the trust bundle of the operator's image; it may have no data.
	SystemTrust operand.TrustSource

	// Patience is how long an input that another component writes may be absent before that is a problem; a minute if
	// it is zero.
	Patience time.Duration

	Clock    clock.Clock
	Recorder events.Recorder
}

type controller struct {
	Options
	namespaces corelisters.NamespaceLister
	reader     inputs.Reader
	configMaps corelisters.ConfigMapNamespaceLister
	secrets    corelisters.SecretNamespaceLister

	// absentSince has for each absent input when that was first seen.
	absentSince map[string]time.Time
}

// New returns the controller. While the platform is not known, or is one that runs nothing, it does nothing. An error
// of the API is reported as TargetConfigControllerDegraded.
func New(o Options) factory.Controller {
	return newController(o).factory().ToController("TargetConfigController", o.Recorder.WithComponentSuffix("target-config-controller"))
}

func newController(o Options) *controller {
	if o.Patience == 0 {
		o.Patience = defaultPatience
	}
	return &controller{
		Options:    o,
		namespaces: o.Namespaces.Lister(),
		reader: inputs.Listers{
			UserConfig:    o.UserConfig.Lister(),
			ManagedConfig: o.ManagedConfig.Lister(),
			Secrets:       o.TargetSecrets.Lister(),
		},
		configMaps:  o.TargetConfigMaps.Lister().ConfigMaps(operatorclient.TargetNamespace),
		secrets:     o.TargetSecrets.Lister().Secrets(operatorclient.TargetNamespace),
		absentSince: map[string]time.Time{},
	}
}

func (c *controller) factory() *factory.Factory {
	return factory.New().
		WithInformers(c.Operator.Informer(), c.Namespaces.Informer(), c.UserConfig.Informer(), c.ManagedConfig.Informer(),
			c.TargetConfigMaps.Informer(), c.TargetSecrets.Informer(),
			ondemand.SpecInformer{SharedIndexInformer: c.TargetDaemonSets.Informer()}).
		WithSync(writeconflict.Retried(c.sync)).
		WithSyncDegradedOnError(c.Operator)
}

func (c *controller) sync(ctx context.Context, syncCtx factory.SyncContext) error {
	spec, status, _, err := c.Operator.GetStaticPodOperatorState()
	if err != nil {
		return fmt.Errorf("cloudcontrollermanager/cluster: %w", err)
	}
	observed, known, err := observedplatform.Of(&spec.OperatorSpec)
	if err != nil || !known || !observed.Managed() {
		return err
	}
	if problem, err := c.namespaceProblem(); err != nil || problem != nil {
		return errors.Join(err, c.reportOnly(ctx, syncCtx.Recorder(), status, problem))
	}
	if confirmed, err := c.Confirm(&spec.OperatorSpec); err != nil || !confirmed {
		// The observers' write brings us back; where they have nothing to write after all, the timer does.
		syncCtx.Queue().AddAfter(syncCtx.QueueKey(), userPatience)
		return err
	}
	return c.syncCandidate(ctx, syncCtx, spec, status, observed)
}

// syncCandidate gathers the inputs of a managed platform, renders them and applies what is accepted.
func (c *controller) syncCandidate(ctx context.Context, syncCtx factory.SyncContext,
	spec *operatorv1.StaticPodOperatorSpec, status *operatorv1.StaticPodOperatorStatus, observed platform.Platform,
) error {
	live, err := c.liveCandidate()
	if err != nil {
		return err
	}
	accepted, err := c.accepted(observed)
	if err != nil {
		return err
	}
	in, err := c.gather(spec, observed, live, accepted)
	if err != nil {
		return err
	}
	if c.waits(syncCtx, in, live) {
		return nil
	}
	chosen, err := c.choose(in, status.LatestAvailableRevision)
	if err != nil {
		return err
	}
	if chosen.resources != nil {
		if err := c.applyChosen(ctx, syncCtx.Recorder(), status, chosen); err != nil {
			return err
		}
	}
	return c.report(ctx, syncCtx.Recorder(), status, chosen)
}

// applyChosen first keeps the inputs that were accepted: should the operator end before it has applied the candidate, and
// an input be broken meanwhile, the next process would fall back to older inputs than those of the candidate.
func (c *controller) applyChosen(ctx context.Context, recorder events.Recorder, status *operatorv1.StaticPodOperatorStatus, chosen *candidate) error {
	if err := c.keep(ctx, recorder, chosen); err != nil {
		return err
	}
	if err := c.apply(ctx, recorder, chosen.resources); err != nil {
		return err
	}
	if err := c.applyNodeManager(ctx, recorder, status, chosen.resources); err != nil {
		return err
	}
	return c.deleteCopies(ctx, recorder)
}

// waits reports whether another component is about to change the inputs: an event or a timer requeues.
func (c *controller) waits(syncCtx factory.SyncContext, in *gathered, live *corev1.ConfigMap) bool {
	wait := c.patience(in.absent, live)
	if wait > 0 {
		syncCtx.Queue().AddAfter(syncCtx.QueueKey(), wait)
	}
	return wait > 0
}

// patience returns how long absent inputs still may be absent, 0 if one of them is a problem. A new cluster is given
// the same time for all of them.
func (c *controller) patience(absent map[string]time.Duration, live *corev1.ConfigMap) time.Duration {
	maps.DeleteFunc(c.absentSince, func(input string, _ time.Time) bool {
		_, still := absent[input]
		return !still
	})
	now := c.Clock.Now()
	var longest time.Duration
	for input, patience := range absent {
		if live == nil {
			patience = c.Patience
		}
		if _, known := c.absentSince[input]; !known {
			c.absentSince[input] = now
		}
		longest = max(longest, c.absentSince[input].Add(patience).Sub(now))
	}
	return longest
}

// render returns either a candidate or an *operand.InputError with all that is wrong: what the check finds, and the given
// problems, which it cannot know of.
func render(in operand.Inputs, problems []diagnostic.Diagnostic) (*operand.Resources, *operand.InputError, error) {
	resources, err := operand.Render(in)
	var refused *operand.InputError
	switch {
	case errors.As(err, &refused):
		refused.Problems = append(refused.Problems, problems...)
		return nil, refused, nil
	case err != nil:
		return nil, nil, fmt.Errorf("rendering the operand: %w", err)
	case len(problems) > 0:
		return nil, &operand.InputError{Problems: problems, Warnings: resources.Warnings}, nil
	}
	return resources, nil, nil
}

// liveCandidate returns the pod's ConfigMap, which exists once a candidate has been accepted, or nil.
func (c *controller) liveCandidate() (*corev1.ConfigMap, error) {
	live, err := c.configMaps.Get(operand.PodConfigMap)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("configmap/%s in %s: %w", operand.PodConfigMap, operatorclient.TargetNamespace, err)
	}
	return live, nil
}

func (c *controller) images(p platform.Platform) operand.Images {
	return operand.Images{
		Operand:     c.OperandImages[p.Image],
		NodeManager: c.OperandImages[p.NodeManagerImage],
		Operator:    c.OperatorImage,
		Source:      "deployment/cluster-cloud-controller-manager-operator in " + operatorclient.OperatorNamespace,
	}
}

// apply writes every object that differs. The pod's ConfigMap, with the digest over all of them, comes last: until it is
// written the objects contradict the digest, and the revision controller waits.
func (c *controller) apply(ctx context.Context, recorder events.Recorder, resources *operand.Resources) error {
	for _, secret := range resources.Secrets {
		if _, _, err := resourceapply.ApplySecret(ctx, c.Secrets, recorder, secret); err != nil {
			return fmt.Errorf("secret/%s in %s: %w", secret.Name, secret.Namespace, err)
		}
	}
	for _, configMap := range resources.ConfigMaps {
		if err := configmaps.Apply(ctx, c.ConfigMaps, recorder, configMap); err != nil {
			return fmt.Errorf("configmap/%s in %s: %w", configMap.Name, configMap.Namespace, err)
		}
	}
	return nil
}
