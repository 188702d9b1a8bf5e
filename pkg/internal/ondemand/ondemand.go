// Package ondemand starts informers of objects that only some platforms or feature gates need. An unnecessary watch
// costs every idle operator repeated requests.
package ondemand

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/wait"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/observedplatform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/reconciler"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

// Informer delivers the events of the embedded informer, but controllers do not wait for its cache, which may never
// start. Callers must treat an object that is missing from the cache as unknown.
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

// Informers start together, as in a SharedInformerFactory. Start may be called repeatedly.
type Informers interface {
	Start(stop <-chan struct{})
}

// Demand defines which clusters need the informers.
type Demand struct {
	Informers Informers
	Needed    func(platform.Platform) bool

	FeatureGate string `optional:"most informers have none"`
}

type controller struct {
	operator v1helpers.OperatorClient
	demands  []Demand
}

// New returns the controller that starts the informers that the observed platform and feature gates need. It never
// stops them, because a platform or a gate hardly ever changes.
func New(operator v1helpers.OperatorClient, recorder events.Recorder, demands ...Demand) factory.Controller {
	for _, demand := range demands {
		dependencies.Require(demand)
	}
	c := &controller{operator: operator, demands: demands}
	return reconciler.New("PlatformInformers", operator, recorder, c.sync)
}

func (c *controller) sync(ctx context.Context, _ factory.SyncContext) error {
	// A process that starts during a removal checks and cleans, too.
	observed, known, err := observedplatform.OfNodePods(c.operator)
	if err != nil || !known {
		return err
	}
	for _, demand := range c.demands {
		enabled := demand.FeatureGate == ""
		if !enabled {
			if enabled, err = observedplatform.FeatureGateEnabled(c.operator, demand.FeatureGate); err != nil {
				return err
			}
		}
		if enabled && demand.Needed(observed) {
			demand.Informers.Start(ctx.Done())
		}
	}
	return nil
}

const (
	// maxConfigMaps is how many ConfigMaps are watched at a time. A configuration names two, and two others while it
	// changes. It limits the memory: each has up to 1 MiB.
	maxConfigMaps = 4

	// syncLimit is how long a reader waits for a new watch. The first answer takes milliseconds.
	syncLimit = 10 * time.Second
)

// errNotRunning reports a read before Start or after stop.
var errNotRunning = errors.New("its watch does not run")

// ConfigMaps watches those ConfigMaps of a namespace that are read, each by its name: others may create any number
// there, but the configuration determines which ones are read. It implements ConfigMapInformer of client-go. The first
// read of a name starts its watch and waits for it.
type ConfigMaps struct {
	newInformer func(name string) cache.SharedIndexInformer

	lock sync.Mutex
	// running is nil before Start.
	running  context.Context //nolint:containedctx // A watch lasts longer than the read that starts it.
	handlers []cache.ResourceEventHandler
	// watched is ordered by the last read, the oldest first.
	watched []configMapWatch
}

type configMapWatch struct {
	name     string
	informer cache.SharedIndexInformer
	end      context.CancelFunc
	ended    <-chan struct{}
}

// NewConfigMaps returns the informer. newInformer returns a new informer of the named ConfigMap.
func NewConfigMaps(newInformer func(name string) cache.SharedIndexInformer) *ConfigMaps {
	return &ConfigMaps{newInformer: newInformer}
}

// Start allows watches until stop is closed. It starts none.
func (c *ConfigMaps) Start(stop <-chan struct{}) {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.running = wait.ContextForChannel(stop)
}

// Informer is for event handlers, which must be added before the first read. It counts as synced, because reads wait.
func (c *ConfigMaps) Informer() cache.SharedIndexInformer { return configMapEvents{configMaps: c} }

// Lister reads the ConfigMaps by name.
func (c *ConfigMaps) Lister() corelisters.ConfigMapLister { return configMapLister{c} }

func (c *ConfigMaps) get(name string) (corelisters.ConfigMapLister, error) {
	watched, err := c.watch(name)
	if err != nil {
		return nil, err
	}
	limit := time.NewTimer(syncLimit)
	defer limit.Stop()
	select {
	case <-watched.informer.HasSyncedChecker().Done():
		return corelisters.NewConfigMapLister(watched.informer.GetIndexer()), nil
	case <-watched.ended:
		return nil, errNotRunning
	case <-limit.C:
		return nil, fmt.Errorf("the API server has not answered its watch for %s", syncLimit)
	}
}

// watch returns the watch of a name. It starts a missing watch, and may end the least recently read one for that.
func (c *ConfigMaps) watch(name string) (configMapWatch, error) {
	c.lock.Lock()
	defer c.lock.Unlock()
	if c.running == nil {
		return configMapWatch{}, errNotRunning
	}
	if i := slices.IndexFunc(c.watched, func(w configMapWatch) bool { return w.name == name }); i >= 0 {
		found := c.watched[i]
		c.watched = append(slices.Delete(c.watched, i, i+1), found)
		return found, nil
	}
	informer := c.newInformer(name)
	for _, handler := range c.handlers {
		if _, err := informer.AddEventHandler(handler); err != nil {
			return configMapWatch{}, fmt.Errorf("adding a handler: %w", err)
		}
	}
	if len(c.watched) == maxConfigMaps {
		c.watched[0].end()
		c.watched = slices.Delete(c.watched, 0, 1)
	}
	ctx, end := context.WithCancel(c.running)
	added := configMapWatch{name, informer, end, ctx.Done()}
	c.watched = append(c.watched, added)
	go informer.RunWithContext(ctx)
	return added, nil
}

// configMapEvents implements factory.Informer.
type configMapEvents struct {
	cache.SharedIndexInformer
	configMaps *ConfigMaps
}

// HasSynced returns true, so that no controller waits.
func (configMapEvents) HasSynced() bool { return true }

func (e configMapEvents) AddEventHandler(
	handler cache.ResourceEventHandler,
) (cache.ResourceEventHandlerRegistration, error) {
	e.configMaps.lock.Lock()
	defer e.configMaps.lock.Unlock()
	e.configMaps.handlers = append(e.configMaps.handlers, handler)
	return nil, nil //nolint:nilnil // The factory of controllers drops it.
}

type configMapLister struct{ configMaps *ConfigMaps }

func (l configMapLister) ConfigMaps(namespace string) corelisters.ConfigMapNamespaceLister {
	return configMapNamespaceLister{l, namespace}
}

// List implements both listers. It fails, because only the ConfigMaps that have been read are known.
func (l configMapLister) List(labels.Selector) ([]*corev1.ConfigMap, error) {
	return nil, errors.New("these ConfigMaps are read by name")
}

type configMapNamespaceLister struct {
	configMapLister
	namespace string
}

func (l configMapNamespaceLister) Get(name string) (*corev1.ConfigMap, error) {
	lister, err := l.configMaps.get(name)
	if err != nil {
		return nil, err
	}
	return lister.ConfigMaps(l.namespace).Get(name)
}
