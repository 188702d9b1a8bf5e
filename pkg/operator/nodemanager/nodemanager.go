// Package nodemanager reports on the cloud-node-manager, which runs on every Linux node where the platform has one. It
// takes part in no Available: nodes that are initialised go on without it. The node initialisation tells of those that
// are not.
package nodemanager

import (
	"context"
	"fmt"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	applyoperatorv1 "github.com/openshift/client-go/operator/applyconfigurations/operator/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	appsinformers "k8s.io/client-go/informers/apps/v1"
	corev1informers "k8s.io/client-go/informers/core/v1"
	appsv1listers "k8s.io/client-go/listers/apps/v1"
	corev1listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/utils/clock"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/observedplatform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/ondemand"
)

// The conditions that this package writes.
const (
	ProgressingCondition = "NodeManagerProgressing"
	DegradedCondition    = "NodeManagerDegraded"
)

const (
	name = "NodeManager"

	// untilSynced is when to look again for an informer that has only just been started.
	untilSynced = 5 * time.Second
)

// podLabels select the pods of the DaemonSet.
var podLabels = labels.SelectorFromSet(operand.NodeManagerLabels())

// Options are the dependencies of New; all are required.
type Options struct {
	Operator v1helpers.OperatorClient
	// DaemonSets watches the cloud-node-manager where the platform has one, Pods the operand's namespace.
	DaemonSets appsinformers.DaemonSetInformer
	Pods       corev1informers.PodInformer
	Clock      clock.PassiveClock
	Recorder   events.Recorder
}

type controller struct {
	operator   v1helpers.OperatorClient
	daemonSets appsv1listers.DaemonSetLister
	synced     func() bool
	pods       corev1listers.PodLister
	clock      clock.PassiveClock

	// shortSince is when this process first saw nodes without a pod, zero while every node has one.
	shortSince time.Time
}

// New returns the controller that writes NodeManagerProgressing and -Degraded where the platform has a cloud-node-manager,
// and nothing elsewhere. Sync must not run concurrently with itself, which its single queue key ensures.
func New(o Options) factory.Controller {
	c := &controller{
		operator:   o.Operator,
		daemonSets: o.DaemonSets.Lister(),
		synced:     o.DaemonSets.Informer().HasSynced,
		pods:       o.Pods.Lister(),
		clock:      o.Clock,
	}
	return factory.New().
		WithInformers(o.Operator.Informer(), ondemand.Informer{SharedIndexInformer: o.DaemonSets.Informer()}).
		WithFilteredEventsInformers(isNodeManager, o.Pods.Informer()).
		WithSync(c.sync).
		WithSyncDegradedOnError(o.Operator).
		ToController(name+"Controller", o.Recorder)
}

func isNodeManager(obj any) bool {
	pod, ok := obj.(*corev1.Pod)
	return ok && podLabels.Matches(labels.Set(pod.Labels))
}

func (c *controller) sync(ctx context.Context, syncCtx factory.SyncContext) error {
	observed, known, err := observedplatform.Get(c.operator)
	if err != nil || !known || observed.NodeManagerImage == "" {
		return err
	}
	if !c.synced() {
		syncCtx.Queue().AddAfter(factory.DefaultQueueKey, untilSynced)
		return nil
	}
	_, status, _, err := c.operator.GetOperatorState()
	if err != nil {
		return fmt.Errorf("cloudcontrollermanager/cluster: %w", err)
	}
	daemonSet, pods, err := c.observe()
	if err != nil {
		return err
	}
	progressing := rollout(daemonSet, pods, v1helpers.IsOperatorConditionTrue(status.Conditions, ProgressingCondition))
	degraded, next := c.health(daemonSet, pods)
	if next > 0 {
		syncCtx.Queue().AddAfter(factory.DefaultQueueKey, next)
	}
	apply := applyoperatorv1.OperatorStatus().WithConditions(progressing, degraded)
	if err := c.operator.ApplyOperatorStatus(ctx, factory.ControllerFieldManager(name, "conditions"), apply); err != nil {
		return fmt.Errorf("status of cloudcontrollermanager/cluster: %w", err)
	}
	return nil
}

// observe returns the DaemonSet, nil if there is none, and its pods that are not on their way out.
func (c *controller) observe() (*appsv1.DaemonSet, []*corev1.Pod, error) {
	daemonSet, err := c.daemonSets.DaemonSets(operand.Namespace).Get(operand.NodeManager)
	if apierrors.IsNotFound(err) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("daemonset/%s in %s: %w", operand.NodeManager, operand.Namespace, err)
	}
	all, err := c.pods.Pods(operand.Namespace).List(podLabels)
	if err != nil {
		return nil, nil, fmt.Errorf("pods in %s: %w", operand.Namespace, err)
	}
	var pods []*corev1.Pod
	for _, pod := range all {
		if pod.DeletionTimestamp == nil {
			pods = append(pods, pod)
		}
	}
	return daemonSet, pods, nil
}

// rollout is about a new DaemonSet and about a changed one, not about nodes that come and go: progressing is an operator that
// brings out something new. What is new has arrived when every pod is of it and has started.
func rollout(daemonSet *appsv1.DaemonSet, pods []*corev1.Pod, already bool) *applyoperatorv1.OperatorConditionApplyConfiguration {
	if daemonSet == nil {
		return condition(ProgressingCondition, operatorv1.ConditionTrue, "Missing", fmt.Sprintf(
			"daemonset/%s in %s does not exist yet; conditions that are Degraded tell what holds it up", operand.NodeManager, operand.Namespace))
	}
	status := daemonSet.Status
	rolling := status.ObservedGeneration < daemonSet.Generation || already && status.CurrentNumberScheduled < status.DesiredNumberScheduled
	for _, pod := range pods {
		outdated := pod.Annotations[operand.NodeManagerDigestAnnotation] != daemonSet.Spec.Template.Annotations[operand.NodeManagerDigestAnnotation]
		rolling = rolling || outdated || already && pod.Status.Phase == corev1.PodPending
	}
	if !rolling {
		return condition(ProgressingCondition, operatorv1.ConditionFalse, "AsExpected", "")
	}
	return condition(ProgressingCondition, operatorv1.ConditionTrue, "RollingOut", fmt.Sprintf(
		"daemonset/%s in %s is being rolled out to the Linux nodes", operand.NodeManager, operand.Namespace))
}

// condition leaves an empty message out: the API drops it, and what was applied would never equal what is there.
func condition(conditionType string, status operatorv1.ConditionStatus, reason, message string) *applyoperatorv1.OperatorConditionApplyConfiguration {
	c := applyoperatorv1.OperatorCondition().WithType(conditionType).WithStatus(status).WithReason(reason)
	if message != "" {
		c = c.WithMessage(message)
	}
	return c
}
