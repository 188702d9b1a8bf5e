package staticpod

import (
	"context"
	"fmt"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/utils/clock"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/reconciler"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/patience"
)

const (
	// HeldBackCondition is True while an accepted configuration cannot become a revision.
	HeldBackCondition = "RevisionHeldBackDegraded"

	heldBackController = "HeldBackRevisionController"

	// heldBackGracePeriod is how long a revision may be held back before the operator degrades. The objects of a
	// candidate are written one after the other, and its tokens are requested afterwards.
	heldBackGracePeriod = time.Minute
)

type heldBackRevisions struct {
	operator   v1helpers.StaticPodOperatorClient
	configMaps corelisters.ConfigMapNamespaceLister
	reason     reason
	clock      clock.PassiveClock
	held       patience.Since[bool]
}

// newHeldBackController returns the controller that reports why the revision controller creates no revision.
func newHeldBackController(o Options) factory.Controller {
	core := o.Target.Core().V1()
	c := &heldBackRevisions{
		operator:   o.Operator,
		configMaps: core.ConfigMaps().Lister().ConfigMaps(operand.Namespace),
		reason:     heldBack(o),
		clock:      o.Clock,
	}
	return reconciler.New(heldBackController, o.Operator, o.Recorder, c.sync,
		core.ConfigMaps().Informer(), core.Secrets().Informer())
}

func (c *heldBackRevisions) sync(ctx context.Context, syncCtx factory.SyncContext) error {
	text, err := c.currentReason()
	if err != nil {
		return err
	}
	now := c.clock.Now()
	since := c.held.See(text != "", now)
	if text == "" {
		return c.apply(ctx, operatorclient.AsExpected(HeldBackCondition))
	}
	if wait := since.Add(heldBackGracePeriod).Sub(now); wait > 0 {
		syncCtx.Queue().AddAfter(syncCtx.QueueKey(), wait)
		return nil
	}
	return c.apply(ctx, operatorclient.NewCondition(HeldBackCondition, operatorv1.ConditionTrue, "CandidateIncomplete",
		"the accepted configuration is not rolled out: "+text+"; check the other Degraded conditions for the cause"))
}

// currentReason returns the reason once a candidate exists. Until then targetconfigcontroller reports what is
// missing.
func (c *heldBackRevisions) currentReason() (string, error) {
	_, err := c.configMaps.Get(operand.PodConfigMap)
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("reading configmap/%s in %s: %w", operand.PodConfigMap, operand.Namespace, err)
	}
	return c.reason()
}

func (c *heldBackRevisions) apply(ctx context.Context, condition *operatorclient.Condition) error {
	return operatorclient.ApplyConditions(ctx, c.operator, heldBackController, condition)
}
