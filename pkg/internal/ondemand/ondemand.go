// Package ondemand starts informers of objects that only some platforms or feature gates have. An unnecessary watch
// would cost every idle operator repeated requests.
package ondemand

import (
	"context"
	"maps"

	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/tools/cache"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/observedplatform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/reconciler"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

// Informer delivers the events of the embedded informer, but controllers do not wait for its cache, because it may
// never start. Callers must treat an object that is missing from its cache as unknown.
type Informer struct {
	cache.SharedIndexInformer
}

// HasSynced returns true, so that no controller waits for the cache.
func (Informer) HasSynced() bool { return true }

// ChangesSpec reports whether an update changes more than the status. A DaemonSet's status changes with every pod.
func ChangesSpec(oldObj, newObj any) bool {
	before, errBefore := meta.Accessor(oldObj)
	after, errAfter := meta.Accessor(newObj)
	return errBefore != nil || errAfter != nil || before.GetResourceVersion() == after.GetResourceVersion() ||
		before.GetUID() != after.GetUID() || before.GetGeneration() != after.GetGeneration() ||
		!maps.Equal(before.GetLabels(), after.GetLabels()) ||
		!maps.Equal(before.GetAnnotations(), after.GetAnnotations()) ||
		!before.GetDeletionTimestamp().Equal(after.GetDeletionTimestamp())
}

// Informers start together, as in a SharedInformerFactory. A repeated Start does nothing.
type Informers interface {
	Start(stop <-chan struct{})
}

// Demand defines which clusters need the informers.
type Demand struct {
	Informers Informers
	Needed    func(platform.Platform) bool

	// FeatureGate is the gate that has to be enabled.
	FeatureGate string `optional:"most informers have none"`
}

type controller struct {
	operator v1helpers.OperatorClient
	demands  []Demand
}

// New returns the controller that starts the informers that the observed platform and feature gates need. It never
// stops them: a platform or a gate hardly ever changes.
func New(operator v1helpers.OperatorClient, recorder events.Recorder, demands ...Demand) factory.Controller {
	for _, demand := range demands {
		dependencies.Require(demand)
	}
	c := &controller{operator: operator, demands: demands}
	return reconciler.New("PlatformInformers", operator, recorder, c.sync)
}

func (c *controller) sync(ctx context.Context, _ factory.SyncContext) error {
	observed, known, err := observedplatform.Get(c.operator)
	if err != nil || !known {
		return err
	}
	for _, demand := range c.demands {
		enabled, err := c.isEnabled(demand.FeatureGate)
		if err != nil {
			return err
		}
		if enabled && demand.Needed(observed) {
			demand.Informers.Start(ctx.Done())
		}
	}
	return nil
}

func (c *controller) isEnabled(gate string) (bool, error) {
	if gate == "" {
		return true, nil
	}
	return observedplatform.FeatureGateEnabled(c.operator, gate)
}
