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
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/pager"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
)

const (
	// page is how many pods are decoded at a time.
	page = 250

	// Pods are listed every shortInterval at most, and every longInterval while a node is away or a trouble lasts.
	shortInterval = time.Minute
	longInterval  = 5 * time.Minute

	// uninitializedTaint is k8s.io/cloud-provider/api.TaintExternalCloudProvider.
	uninitializedTaint = "node.cloudprovider.kubernetes.io/uninitialized"
)

// podLabels select the pods of the DaemonSet.
var podLabels = labels.SelectorFromSet(operand.NodeManagerLabels())

// census is what one list of the pods showed.
type census struct {
	at     time.Time
	status appsv1.DaemonSetStatus

	// outdated pods have another template than the DaemonSet, pending ones have not started.
	outdated, pending int

	// troubles are the pods that do not run for too long, by node.
	troubles []trouble

	// next is when another pod will have waited for too long, or when a crash is forgotten; zero for never.
	next time.Duration
}

// of reports whether the DaemonSet has not changed since the census.
func (s census) of(daemonSet *appsv1.DaemonSet) bool {
	return !s.at.IsZero() && equality.Semantic.DeepEqual(s.status, daemonSet.Status)
}

// quiet reports whether neither the DaemonSet nor the last list gives a reason to list the pods. The first list of a process finds
// crashes, which the DaemonSet's status shows only while they last.
func (c *controller) quiet(daemonSet *appsv1.DaemonSet) bool {
	return !c.last.at.IsZero() && daemonSet.Status.NumberUnavailable == 0 && outdatedNodes(daemonSet) <= 0 &&
		c.last.next == 0 && len(c.last.troubles) == 0
}

// look lists the pods if there is a reason to and it is time, and returns when to look again; 0 if something has to happen
// first.
func (c *controller) look(ctx context.Context, daemonSet *appsv1.DaemonSet) (time.Duration, error) {
	if daemonSet == nil {
		c.last, c.waits = census{}, nil
		return 0, nil
	}
	if c.quiet(daemonSet) {
		c.last, c.waits = census{at: c.last.at, status: daemonSet.Status}, nil
		return 0, nil
	}
	if left := c.last.at.Add(c.interval(daemonSet)).Sub(c.clock.Now()); left > 0 {
		return left, nil
	}
	if err := c.list(ctx, daemonSet); err != nil {
		return 0, err
	}
	if c.quiet(daemonSet) {
		return 0, nil
	}
	return c.interval(daemonSet), nil
}

// interval is how long to wait after the last list.
func (c *controller) interval(daemonSet *appsv1.DaemonSet) time.Duration {
	switch {
	case !c.last.of(daemonSet):
		return shortInterval
	case c.last.next == 0:
		return longInterval
	}
	return min(max(c.last.next, shortInterval), longInterval)
}

// list makes a new census.
func (c *controller) list(ctx context.Context, daemonSet *appsv1.DaemonSet) error {
	now := c.clock.Now()
	found := census{at: now, status: daemonSet.Status}
	waits := map[types.UID]time.Time{}
	lists := pager.New(pager.SimplePageFunc(func(options metav1.ListOptions) (runtime.Object, error) {
		return c.pods.List(ctx, options)
	}))
	lists.PageSize, lists.PageBufferSize = page, 0
	err := lists.EachListItem(ctx, metav1.ListOptions{LabelSelector: podLabels.String()}, func(obj runtime.Object) error {
		pod, ok := obj.(*corev1.Pod)
		if !ok || pod.DeletionTimestamp != nil {
			return nil
		}
		if pod.Annotations[operand.NodeManagerDigestAnnotation] != daemonSet.Spec.Template.Annotations[operand.NodeManagerDigestAnnotation] {
			found.outdated++
		}
		if pod.Status.Phase == corev1.PodPending {
			found.pending++
		}
		suspect := c.suspicion(pod, now, waits)
		if suspect == nil {
			return nil
		}
		return c.confirm(ctx, suspect, now, &found)
	})
	if err != nil {
		return fmt.Errorf("pods of daemonset/%s in %s: %w", operand.NodeManager, operand.Namespace, err)
	}
	slices.SortFunc(found.troubles, func(a, b trouble) int { return strings.Compare(a.text, b.text) })
	c.last, c.waits = found, waits
	return nil
}

// suspicion returns what seems to keep a pod from running, nil for nothing, and remembers in waits a container that waits.
func (c *controller) suspicion(pod *corev1.Pod, now time.Time, waits map[types.UID]time.Time) *suspect {
	s := suspicionOf(pod, now)
	if s == nil || !s.since.IsZero() {
		return s
	}
	first, known := c.waits[pod.UID]
	if !known {
		first = now
	}
	waits[pod.UID] = first
	s.since = beganToWait(pod, first)
	return s
}

// confirm adds a suspect to the census. It asks for the Node only of a pod that has waited for too long by itself: the time
// during which the node was away does not count.
func (c *controller) confirm(ctx context.Context, s *suspect, now time.Time, found *census) error {
	if left := patience - now.Sub(s.since); !s.crashes && left > 0 {
		found.next = sooner(found.next, left)
		return nil
	}
	well, since, err := c.nodeHealth(ctx, s.node)
	if err != nil {
		return err
	}
	switch {
	case !well, s.crashes && !s.since.After(since):
		// The node is or was the trouble, which is reported by others.
		return nil
	case s.crashes:
		found.next = sooner(found.next, crashWindow-now.Sub(s.since))
	case patience-now.Sub(since) > 0:
		found.next = sooner(found.next, patience-now.Sub(since))
		return nil
	}
	found.troubles = append(found.troubles, s.trouble)
	return nil
}

// nodeHealth reports whether a node can be expected to run the pod, and since when: it is Ready, or its kubelet reports that it is
// not while it waits for the cloud-node-manager, without which it gets no network. A node that does not exist cannot; a pod that has
// no node yet waits for the scheduler. The list is by name because the operator has the right to list Nodes anyway.
func (c *controller) nodeHealth(ctx context.Context, name string) (well bool, since time.Time, err error) {
	if name == "" {
		return true, time.Time{}, nil
	}
	list, err := c.nodes.List(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, name).String(), ResourceVersion: "0",
	})
	if err != nil {
		return false, time.Time{}, fmt.Errorf("node/%s: %w", name, err)
	}
	for i := range list.Items {
		node := &list.Items[i]
		for _, condition := range node.Status.Conditions {
			if node.Name == name && condition.Type == corev1.NodeReady {
				well = condition.Status == corev1.ConditionTrue || condition.Status == corev1.ConditionFalse && uninitialized(node)
				return well, condition.LastTransitionTime.Time, nil
			}
		}
	}
	return false, time.Time{}, nil
}

func uninitialized(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool { return taint.Key == uninitializedTaint })
}
