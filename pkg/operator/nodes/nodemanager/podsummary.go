package nodemanager

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/pager"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/patience"
)

const (
	page = 250

	// Pods are listed at most every shortInterval, and every longInterval while a node is away or a failure lasts.
	shortInterval = time.Minute
	longInterval  = 5 * time.Minute
)

type podSummary struct {
	at     time.Time
	status appsv1.DaemonSetStatus

	// outdated is the number of pods with another template than the DaemonSet, pending the number of pods that have
	// not started.
	outdated, pending int

	// failures are the pods that have failed for longer than the grace period, by node.
	failures []failure

	// next is the time until another pod exceeds the grace period or a crash expires, 0 for never.
	next time.Duration
}

func (s podSummary) matches(daemonSet *appsv1.DaemonSet) bool {
	return !s.at.IsZero() && equality.Semantic.DeepEqual(s.status, daemonSet.Status)
}

// isSettled reports whether neither the DaemonSet nor the last summary requires a list of the pods. A new process
// always lists the pods once, because the DaemonSet's status shows a crash only while it lasts.
func (c *controller) isSettled(daemonSet *appsv1.DaemonSet) bool {
	return !c.last.at.IsZero() && daemonSet.Status.NumberUnavailable == 0 && outdatedNodes(daemonSet) <= 0 &&
		c.last.next == 0 && len(c.last.failures) == 0
}

// update lists the pods if necessary and due, and returns the time until the next list, 0 if an event has to come
// first.
func (c *controller) update(ctx context.Context, daemonSet *appsv1.DaemonSet) (time.Duration, error) {
	if daemonSet == nil {
		c.last, c.waits = podSummary{}, nil
		return 0, nil
	}
	if c.isSettled(daemonSet) {
		c.last, c.waits = podSummary{at: c.last.at, status: daemonSet.Status}, nil
		return 0, nil
	}
	if left := c.last.at.Add(c.interval(daemonSet)).Sub(c.Clock.Now()); left > 0 {
		return left, nil
	}
	if err := c.list(ctx, daemonSet); err != nil {
		return 0, err
	}
	if c.isSettled(daemonSet) {
		return 0, nil
	}
	return c.interval(daemonSet), nil
}

func (c *controller) interval(daemonSet *appsv1.DaemonSet) time.Duration {
	switch {
	case !c.last.matches(daemonSet):
		return shortInterval
	case c.last.next == 0:
		return longInterval
	}
	return min(max(c.last.next, shortInterval), longInterval)
}

func (c *controller) list(ctx context.Context, daemonSet *appsv1.DaemonSet) error {
	now := c.Clock.Now()
	found := podSummary{at: now, status: daemonSet.Status}
	waits := patience.Each[types.UID, bool]{}
	digest := daemonSet.Spec.Template.Annotations[operand.NodeManagerDigestAnnotation]
	lists := pager.New(pager.SimplePageFunc(func(options metav1.ListOptions) (runtime.Object, error) {
		return c.Kube.CoreV1().Pods(operand.Namespace).List(ctx, options)
	}))
	lists.PageSize, lists.PageBufferSize = page, 0
	ofDaemonSet := metav1.ListOptions{LabelSelector: labels.SelectorFromSet(operand.NodeManagerLabels()).String()}
	err := lists.EachListItem(ctx, ofDaemonSet, func(obj runtime.Object) error {
		pod, ok := obj.(*corev1.Pod)
		if !ok || pod.DeletionTimestamp != nil {
			return nil
		}
		if pod.Annotations[operand.NodeManagerDigestAnnotation] != digest {
			found.outdated++
		}
		if pod.Status.Phase == corev1.PodPending {
			found.pending++
		}
		failing := c.inspectPod(pod, now, waits)
		if failing == nil {
			return nil
		}
		return c.confirm(ctx, failing, now, &found)
	})
	if err != nil {
		return fmt.Errorf("listing pods of %s: %w", object, err)
	}
	slices.SortFunc(found.failures, func(a, b failure) int { return strings.Compare(a.text, b.text) })
	c.last, c.waits = found, waits
	return nil
}

// inspectPod returns what seems to keep a pod from running, nil for nothing. It records in waits when the container
// started to wait.
func (c *controller) inspectPod(pod *corev1.Pod, now time.Time, waits patience.Each[types.UID, bool]) *possibleFailure {
	s := inspect(pod, now)
	if s == nil || !s.since.IsZero() {
		return s
	}
	if former := c.waits[pod.UID]; former != nil {
		waits[pod.UID] = former
	}
	s.since = waitingSince(pod, waits.See(pod.UID, true, now))
	return s
}

// confirm adds a failure to the summary. It reads the Node only of a pod that exceeds the grace period, because the
// time while the node was away does not count.
func (c *controller) confirm(ctx context.Context, s *possibleFailure, now time.Time, found *podSummary) error {
	if left := gracePeriod - now.Sub(s.since); !s.crashes && left > 0 {
		found.next = patience.Sooner(found.next, left)
		return nil
	}
	healthy, since, err := c.nodeHealth(ctx, s.node)
	if err != nil {
		return err
	}
	switch {
	case !healthy, s.crashes && !s.since.After(since):
		// The Node's own failure is or was the cause; other operators report it.
		return nil
	case s.crashes:
		found.next = patience.Sooner(found.next, crashWindow-now.Sub(s.since))
	case gracePeriod-now.Sub(since) > 0:
		found.next = patience.Sooner(found.next, gracePeriod-now.Sub(since))
		return nil
	}
	found.failures = append(found.failures, s.failure)
	return nil
}

// nodeHealth reports whether a node should be able to run the pod, and since when. A Ready node is. So is an
// uninitialized node that its kubelet reports as NotReady, because it gets no network without the cloud-node-manager.
// A node that does not exist is not; a pod without a node waits for the scheduler.
func (c *controller) nodeHealth(ctx context.Context, name string) (healthy bool, since time.Time, err error) {
	if name == "" {
		return true, time.Time{}, nil
	}
	node, err := operatorclient.ReadNode(ctx, c.Kube.CoreV1().Nodes(), name, "0")
	if err != nil || node == nil {
		return false, time.Time{}, err
	}
	ready := controlplane.ReadyConditions(node)
	if len(ready) == 0 {
		return false, time.Time{}, nil
	}
	healthy = ready[0].Status == corev1.ConditionTrue ||
		ready[0].Status == corev1.ConditionFalse && controlplane.IsUninitialized(node)
	return healthy, ready[0].LastTransitionTime.Time, nil
}
