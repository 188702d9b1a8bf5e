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
	// page is how many Pods or Nodes are in memory at once: a kubelet can make each of them megabytes large.
	page = 50

	// readOneByOne is how many Nodes are read one by one, which is cheaper than a list of thousands.
	readOneByOne = 10

	// Pods are listed at most every shortInterval, and every longInterval while a node is away or a failure lasts.
	shortInterval = time.Minute
	longInterval  = 5 * time.Minute
)

type podSummary struct {
	at     time.Time
	status appsv1.DaemonSetStatus

	// outdated counts the pods with another template than the DaemonSet, pending those that have not started.
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

// update lists the pods if necessary and due, and returns the time until the next list, 0 if only an event requeues.
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
	var suspects []*possibleFailure
	ofDaemonSet := metav1.ListOptions{LabelSelector: labels.SelectorFromSet(operand.NodeManagerLabels()).String()}
	err := inPages(func(options metav1.ListOptions) (runtime.Object, error) {
		return c.Kube.CoreV1().Pods(operand.Namespace).List(ctx, options)
	}).EachListItem(ctx, ofDaemonSet, func(obj runtime.Object) error {
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
		if s := c.inspectPod(pod, now, waits); s != nil {
			suspects = append(suspects, s)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("listing pods of %s: %w", object, err)
	}
	if err := c.confirm(ctx, suspects, &found); err != nil {
		return err
	}
	slices.SortFunc(found.failures, func(a, b failure) int { return strings.Compare(a.text, b.text) })
	c.last, c.waits = found, waits
	return nil
}

func inPages(list func(metav1.ListOptions) (runtime.Object, error)) *pager.ListPager {
	pages := pager.New(pager.SimplePageFunc(list))
	pages.PageSize, pages.PageBufferSize = page, 0
	return pages
}

// inspectPod returns what seems to keep a pod from running, nil for nothing, and records in waits since when.
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

// confirm adds failures to the summary. It reads the Nodes of overdue pods: a node's time away does not count.
func (c *controller) confirm(ctx context.Context, suspects []*possibleFailure, found *podSummary) error {
	overdue := slices.DeleteFunc(suspects, func(s *possibleFailure) bool {
		left := gracePeriod - found.at.Sub(s.since)
		if s.crashes || left <= 0 {
			return false
		}
		found.next = patience.Sooner(found.next, left)
		return true
	})
	healths, err := c.nodeHealths(ctx, overdue)
	if err != nil {
		return err
	}
	for _, s := range overdue {
		node := healths[s.node]
		switch {
		case !node.healthy, s.crashes && !s.since.After(node.since):
			// The Node's own failure is or was the cause; other operators report it.
			continue
		case s.crashes:
			found.next = patience.Sooner(found.next, controlplane.BackOffPeriod-found.at.Sub(s.since))
		case gracePeriod-found.at.Sub(node.since) > 0:
			found.next = patience.Sooner(found.next, gracePeriod-found.at.Sub(node.since))
			continue
		}
		found.failures = append(found.failures, s.failure)
	}
	return nil
}

// nodeHealth reports whether a node can run the pod, and since when. A deleted Node cannot.
type nodeHealth struct {
	healthy bool
	since   time.Time
}

// nodeHealths returns the health of the pods' nodes, read one by one or listed. A pod without one waits for scheduling.
func (c *controller) nodeHealths(ctx context.Context, pods []*possibleFailure) (map[string]nodeHealth, error) {
	healths := map[string]nodeHealth{"": {healthy: true}}
	nodes := c.Kube.CoreV1().Nodes()
	if len(pods) <= readOneByOne {
		for _, pod := range pods {
			if pod.node == "" {
				continue
			}
			node, err := operatorclient.ReadNode(ctx, nodes, pod.node, "0")
			if err != nil {
				return nil, err
			}
			if node != nil {
				healths[pod.node] = healthOf(node)
			}
		}
		return healths, nil
	}
	err := inPages(func(options metav1.ListOptions) (runtime.Object, error) {
		return nodes.List(ctx, options)
	}).EachListItem(ctx, metav1.ListOptions{}, func(obj runtime.Object) error {
		if node, ok := obj.(*corev1.Node); ok {
			healths[node.Name] = healthOf(node)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("listing nodes: %w", err)
	}
	return healths, nil
}

// healthOf returns the health of a Node. A Ready one can run the pod. So can an uninitialized one that its kubelet
// reports as NotReady, because it gets no network without the cloud-node-manager.
func healthOf(node *corev1.Node) nodeHealth {
	ready := controlplane.ReadyConditions(node)
	if len(ready) == 0 {
		return nodeHealth{}
	}
	healthy := ready[0].Status == corev1.ConditionTrue ||
		ready[0].Status == corev1.ConditionFalse && controlplane.IsUninitialized(node)
	return nodeHealth{healthy, ready[0].LastTransitionTime.Time}
}
