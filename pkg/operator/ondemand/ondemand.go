// Package ondemand starts informers of objects that only some platforms have. A watch that nobody needs would be a request
// of every idle operator again and again.
package ondemand

import (
	"context"
	"maps"

	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/tools/cache"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/observedplatform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

// Informer hands out events like the informer in it, and is not waited for: it may never be started. Whoever does not find
// an object in its cache has to take that for unknown.
type Informer struct {
	cache.SharedIndexInformer
}

// HasSynced says that there is nothing to wait for.
func (Informer) HasSynced() bool { return true }

// SpecInformer is an Informer that does not hand out updates of the status alone: that of a DaemonSet changes with every pod.
type SpecInformer struct {
	cache.SharedIndexInformer
}

// HasSynced says that there is nothing to wait for.
func (SpecInformer) HasSynced() bool { return true }

// AddEventHandler implements factory.Informer.
func (i SpecInformer) AddEventHandler(handler cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	return i.SharedIndexInformer.AddEventHandler(specHandler{handler})
}

type specHandler struct {
	cache.ResourceEventHandler
}

// OnUpdate drops an update that left everything but the status.
func (h specHandler) OnUpdate(oldObj, newObj any) {
	before, errBefore := meta.Accessor(oldObj)
	after, errAfter := meta.Accessor(newObj)
	if errBefore == nil && errAfter == nil && before.GetResourceVersion() != after.GetResourceVersion() &&
		before.GetUID() == after.GetUID() && before.GetGeneration() == after.GetGeneration() &&
		maps.Equal(before.GetLabels(), after.GetLabels()) && maps.Equal(before.GetAnnotations(), after.GetAnnotations()) &&
		before.GetDeletionTimestamp().Equal(after.GetDeletionTimestamp()) {
		return
	}
	h.ResourceEventHandler.OnUpdate(oldObj, newObj)
}

// Informers are started together, such as those of a SharedInformerFactory. To start them again does nothing.
type Informers interface {
	Start(stop <-chan struct{})
}

// Demand tells where informers are needed.
type Demand struct {
	Informers Informers
	Needed    func(platform.Platform) bool
}

type controller struct {
	operator v1helpers.OperatorClient
	demands  []Demand
}

// New returns the controller that starts the informers which the observed platform needs. It stops none: a platform hardly
// ever changes.
func New(operator v1helpers.OperatorClient, recorder events.Recorder, demands ...Demand) factory.Controller {
	c := &controller{operator: operator, demands: demands}
	return factory.New().
		WithInformers(operator.Informer()).
		WithSync(c.sync).
		WithSyncDegradedOnError(operator).
		ToController("PlatformInformers", recorder)
}

func (c *controller) sync(ctx context.Context, _ factory.SyncContext) error {
	observed, known, err := observedplatform.Get(c.operator)
	if err != nil || !known {
		return err
	}
	for _, demand := range c.demands {
		if demand.Needed(observed) {
			demand.Informers.Start(ctx.Done())
		}
	}
	return nil
}
