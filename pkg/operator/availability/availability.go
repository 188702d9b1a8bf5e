// Package availability says whether the cluster has a working cloud-controller-manager. The operand's /healthz proves
// neither a cloud nor an API server, and an installed revision may have crashed since: what counts is a pod that is
// Ready now and a lease that a live pod renews.
package availability

import (
	"context"
	"fmt"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	applyoperatorv1 "github.com/openshift/client-go/operator/applyconfigurations/operator/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	coordinationinformers "k8s.io/client-go/informers/coordination/v1"
	corev1informers "k8s.io/client-go/informers/core/v1"
	coordinationlisters "k8s.io/client-go/listers/coordination/v1"
	corev1listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/utils/clock"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/observedplatform"
)

// The conditions that this package writes.
const (
	AvailableCondition   = "CloudControllerManagerAvailable"
	ProgressingCondition = "CloudControllerManagerProgressing"
	DegradedCondition    = "CloudControllerManagerDegraded"
)

const (
	name = "Availability"

	// minPatience is for how long a problem must last before Available turns False, where there is no lease whose
	// duration says so.
	minPatience = 2 * time.Minute

	// degradedAfter is for how long Available must be False before that is also Degraded.
	degradedAfter = 2 * time.Minute
)

// operandPods selects the mirror pods of the operand.
var operandPods = labels.SelectorFromSet(labels.Set{"app": operand.Name})

// Options are the dependencies of New; all are required.
type Options struct {
	Operator v1helpers.StaticPodOperatorClient
	// Pods and Leases watch the operand's namespace.
	Pods     corev1informers.PodInformer
	Leases   coordinationinformers.LeaseInformer
	Clock    clock.PassiveClock
	Recorder events.Recorder
}

type controller struct {
	operator v1helpers.StaticPodOperatorClient
	pods     corev1listers.PodLister
	leases   coordinationlisters.LeaseLister
	clock    clock.PassiveClock

	// troubledSince is when this process first saw the present trouble, zero without one. What an earlier process
	// reported is in the condition.
	troubledSince time.Time
}

// New returns the controller that writes the summary conditions CloudControllerManagerAvailable, -Progressing and
// -Degraded on managed platforms. It reacts to pods and to the lease, and sets a timer for the moment at which the
// lease runs out; it does not poll. Sync must not run concurrently with itself, which its single queue key ensures.
func New(o Options) factory.Controller {
	c := &controller{operator: o.Operator, pods: o.Pods.Lister(), leases: o.Leases.Lister(), clock: o.Clock}
	return factory.New().
		WithInformers(o.Operator.Informer()).
		WithFilteredEventsInformers(isOperandPod, o.Pods.Informer()).
		WithFilteredEventsInformers(factory.NamesFilter(operand.Lease), o.Leases.Informer()).
		WithSync(c.sync).
		WithSyncDegradedOnError(o.Operator).
		ToController(name, o.Recorder)
}

func isOperandPod(obj any) bool {
	pod, ok := obj.(*corev1.Pod)
	return ok && operandPods.Matches(labels.Set(pod.Labels))
}

func (c *controller) sync(ctx context.Context, syncCtx factory.SyncContext) error {
	managed, known, err := observedplatform.Managed(c.operator)
	if err != nil || !known || !managed {
		return err
	}
	_, status, _, err := c.operator.GetStaticPodOperatorState()
	if err != nil {
		return fmt.Errorf("cloudcontrollermanager/cluster: %w", err)
	}
	seen, err := c.observe(len(status.NodeStatuses))
	if err != nil {
		return err
	}
	decided, next := c.decide(seen, status)
	if next > 0 {
		syncCtx.Queue().AddAfter(factory.DefaultQueueKey, next)
	}
	apply := applyoperatorv1.OperatorStatus().WithConditions(decided.available, decided.progressing, decided.degraded)
	if err := c.operator.ApplyOperatorStatus(ctx, factory.ControllerFieldManager(name, "conditions"), apply); err != nil {
		return fmt.Errorf("status of cloudcontrollermanager/cluster: %w", err)
	}
	return nil
}

// observe looks at pods and lease; nodes is on how many nodes a pod is to run.
func (c *controller) observe(nodes int) (verdict, error) {
	pods, err := c.pods.Pods(operand.Namespace).List(operandPods)
	if err != nil {
		return verdict{}, fmt.Errorf("pods in %s: %w", operand.Namespace, err)
	}
	lease, err := c.leases.Leases(operand.Namespace).Get(operand.Lease)
	if apierrors.IsNotFound(err) {
		lease, err = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: operand.Namespace, Name: operand.Lease}}, nil
	}
	if err != nil {
		return verdict{}, fmt.Errorf("lease/%s in %s: %w", operand.Lease, operand.Namespace, err)
	}
	return judge(pods, lease, nodes, c.clock.Now()), nil
}

// conditions are what is written.
type conditions struct {
	available, progressing, degraded *applyoperatorv1.OperatorConditionApplyConfiguration
}

// decide turns what is seen into conditions, and tells after what time to look again, 0 for not before something
// happens.
func (c *controller) decide(seen verdict, status *operatorv1.StaticPodOperatorStatus) (conditions, time.Duration) {
	previous := v1helpers.FindOperatorCondition(status.Conditions, AvailableCondition)
	if previous == nil {
		previous = &operatorv1.OperatorCondition{}
	}
	installed := installedOnce(status)
	available, inPatience := c.available(seen, previous)
	degraded, inDegraded := c.degraded(seen, *available.Status, previous, installed)
	return conditions{available, progressing(installed), degraded}, sooner(seen.holdsFor, sooner(inPatience, inDegraded))
}

// available keeps what was said last until a trouble has proved to be one, and tells how long that takes.
func (c *controller) available(seen verdict, previous *operatorv1.OperatorCondition) (*applyoperatorv1.OperatorConditionApplyConfiguration, time.Duration) {
	if !seen.troubled() {
		c.troubledSince = time.Time{}
		return newCondition(AvailableCondition, operatorv1.ConditionTrue, seen.reason, seen.message), 0
	}
	now := c.clock.Now()
	if c.troubledSince.IsZero() {
		c.troubledSince = now
	}
	left := seen.patience - now.Sub(c.troubledSince)
	if left > 0 && previous.Status == operatorv1.ConditionTrue {
		return newCondition(AvailableCondition, operatorv1.ConditionTrue, previous.Reason, previous.Message), left
	}
	return newCondition(AvailableCondition, operatorv1.ConditionFalse, seen.reason, seen.message), 0
}

// degraded follows an Available that has been False for long enough, and tells how long that takes. Before the first
// revision runs, being unavailable is no defect.
func (c *controller) degraded(seen verdict, available operatorv1.ConditionStatus, previous *operatorv1.OperatorCondition, installed bool) (*applyoperatorv1.OperatorConditionApplyConfiguration, time.Duration) {
	healthy := newCondition(DegradedCondition, operatorv1.ConditionFalse, asExpected, "")
	if !installed || available != operatorv1.ConditionFalse {
		return healthy, 0
	}
	left := degradedAfter
	if previous.Status == operatorv1.ConditionFalse {
		left -= c.clock.Since(previous.LastTransitionTime.Time)
	}
	if left > 0 {
		return healthy, left
	}
	return newCondition(DegradedCondition, operatorv1.ConditionTrue, seen.reason, seen.message), 0
}

// progressing covers the time before any node runs a revision; library-go's NodeInstallerProgressing covers rollouts.
func progressing(installed bool) *applyoperatorv1.OperatorConditionApplyConfiguration {
	if installed {
		return newCondition(ProgressingCondition, operatorv1.ConditionFalse, asExpected, "")
	}
	return newCondition(ProgressingCondition, operatorv1.ConditionTrue, "FirstRollout",
		"No control-plane node runs a revision yet; conditions that are Degraded tell what holds it up")
}

func installedOnce(status *operatorv1.StaticPodOperatorStatus) bool {
	for _, node := range status.NodeStatuses {
		if node.CurrentRevision > 0 {
			return true
		}
	}
	return false
}

// sooner is the smaller of two durations of which 0 means never.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// newCondition leaves an empty message out: the API drops it, and what was applied would never equal what is there.
func newCondition(conditionType string, status operatorv1.ConditionStatus, reason, message string) *applyoperatorv1.OperatorConditionApplyConfiguration {
	condition := applyoperatorv1.OperatorCondition().WithType(conditionType).WithStatus(status).WithReason(reason)
	if message != "" {
		condition = condition.WithMessage(message)
	}
	return condition
}
