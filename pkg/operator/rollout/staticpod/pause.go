package staticpod

import (
	"context"
	"sync"

	"github.com/openshift/library-go/pkg/controller/factory"
	"k8s.io/klog/v2"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/observedplatform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/reconciler"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/predecessor"
)

// New returns a controller that runs the others while the platform is managed, once kube-controller-manager does not
// run the cloud controllers. On an unmanaged platform they would report only that there is nothing to install. During a
// removal they would install what was removed: the operator does not let library-go look at spec.managementState,
// because Unmanaged would stop them too. Some of them never look at it.
// operatorImage is this operator's, which installer and pruner pods run.
func New(d dependencies.Deps, operatorImage string) factory.Controller {
	dependencies.Require(d, operatorImage)
	o := options{d, d.ConfigMaps(), d.Secrets(), operatorImage}
	return (&starter{Deps: d, controllers: func() []factory.Controller { return controllers(o) }}).controller()
}

type starter struct {
	dependencies.Deps
	// controllers returns new controllers: a controller that has ended cannot run again. The informers keep the event
	// handlers of those that ended, which do nothing.
	controllers func() []factory.Controller
	// stop ends the controllers, nil if none runs.
	stop    context.CancelFunc
	running sync.WaitGroup

	// mutex keeps a sync from starting controllers once wait waits for their end: ended is set then.
	mutex sync.Mutex
	ended bool
}

func (s *starter) controller() factory.Controller {
	return reconciler.From(factory.New().WithPostStartHooks(s.wait), "StaticPodControllers", s.Operator, s.Recorder,
		s.sync)
}

func (s *starter) sync(ctx context.Context, _ factory.SyncContext) error {
	managed, known, err := observedplatform.Managed(s.Operator)
	if err != nil || !known || managed == (s.stop != nil) {
		return err
	}
	if !managed {
		klog.InfoS("Stopping the static-pod controllers")
		s.stop()
		s.running.Wait()
		s.stop = nil
		return nil
	}
	_, status, _, err := s.Operator.GetOperatorState()
	if err != nil {
		return err
	}
	if !predecessor.LetsInstall(status.Conditions) {
		return nil
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.ended {
		return nil
	}
	klog.InfoS("Starting the static-pod controllers")
	ctx, s.stop = context.WithCancel(ctx)
	for _, controller := range s.controllers() {
		s.running.Go(func() { controller.Run(ctx, 1) })
	}
	return nil
}

// wait blocks until the started controllers have ended. A sync may still run then: its context ends after ctx.
func (s *starter) wait(ctx context.Context, _ factory.SyncContext) error {
	<-ctx.Done()
	s.mutex.Lock()
	s.ended = true
	s.mutex.Unlock()
	s.running.Wait()
	return nil
}
