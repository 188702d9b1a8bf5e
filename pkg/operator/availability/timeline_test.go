package availability

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// cluster is a control plane whose kubelets and cloud-controller-managers are simulated. Times are seconds since begin.
type cluster struct {
	nodes        map[string]*corev1.Node
	pods         map[string]*corev1.Pod
	predecessors []*corev1.Pod
	lease        *coordinationv1.Lease
	topology     configv1.TopologyMode
	status       *operatorv1.StaticPodOperatorStatus
	// withoutRole are Nodes without the label of a control-plane Node.
	withoutRole []string
}

var begin = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

func at(second int) time.Time { return begin.Add(time.Duration(second) * time.Second) }

// stamp returns a time in the API's precision.
func stamp(t time.Time) metav1.Time { return metav1.NewTime(t.Truncate(time.Second)) }

// newCluster returns a cluster with a pod on each node that has been running since before begin. The first pod leads,
// and Available is True.
func newCluster(nodes ...string) *cluster {
	c := &cluster{
		nodes: map[string]*corev1.Node{}, pods: map[string]*corev1.Pod{},
		lease:    &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "openshift-cloud-controller-manager", Name: "cloud-controller-manager"}},
		topology: map[int]configv1.TopologyMode{1: configv1.SingleReplicaTopologyMode, 3: configv1.HighlyAvailableTopologyMode}[len(nodes)],
		status:   &operatorv1.StaticPodOperatorStatus{},
	}
	c.status.LatestAvailableRevision = 3
	for _, node := range nodes {
		c.join(node)
		c.install(node, -3600)
	}
	c.acquire(nodes[0], "first", -3000)
	c.renew(0)
	c.status.Conditions = []operatorv1.OperatorCondition{{Type: AvailableCondition, Status: operatorv1.ConditionTrue, Reason: asExpected}}
	return c
}

// predecessor adds a Ready pod of the predecessor.
func (c *cluster) predecessor(node string) {
	c.predecessors = append(c.predecessors, &corev1.Pod{
		Spec:   corev1.PodSpec{NodeName: node},
		Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	})
}

// join registers a Node.
func (c *cluster) join(node string) {
	c.nodes[node] = &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}
	c.status.NodeStatuses = append(c.status.NodeStatuses, operatorv1.NodeStatus{NodeName: node, CurrentRevision: 3})
}

// leave deletes a Node and library-go's entry for it.
func (c *cluster) leave(node string) {
	delete(c.nodes, node)
	c.status.NodeStatuses = slices.DeleteFunc(c.status.NodeStatuses, func(s operatorv1.NodeStatus) bool { return s.NodeName == node })
}

// loseRole removes the label of a Node, which leaves it and its static pod. library-go's entry goes.
func (c *cluster) loseRole(node string) {
	c.leave(node)
	c.withoutRole = append(c.withoutRole, node)
}

// setRole sets the label of a Node again.
func (c *cluster) setRole(node string) {
	c.withoutRole = slices.DeleteFunc(c.withoutRole, func(name string) bool { return name == node })
	c.join(node)
}

// install creates a pod whose container starts and becomes Ready.
func (c *cluster) install(node string, second int) {
	c.pods[node] = &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "openshift-cloud-controller-manager", Name: "cloud-controller-manager-" + node,
			Labels: map[string]string{"app": "cloud-controller-manager"},
		},
		Spec: corev1.PodSpec{NodeName: node},
		Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{
			{Name: "file-syncer", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: stamp(at(second))}}},
			{Name: "cloud-controller-manager", Image: "registry/ccm:1"},
		}},
	}
	c.start(node, second)
}

func (c *cluster) container(node string) *corev1.ContainerStatus {
	c.pods[node] = c.pods[node].DeepCopy()
	return &c.pods[node].Status.ContainerStatuses[1]
}

// start starts the container, which is Ready immediately.
func (c *cluster) start(node string, second int) {
	container := c.container(node)
	if container.LastTerminationState.Terminated != nil {
		container.RestartCount++
	}
	container.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: stamp(at(second))}}
	c.ready(node, true)
}

// exit ends the container; the kubelet restarts it after a back-off.
func (c *cluster) exit(node string, second int, message string) {
	container := c.container(node)
	container.LastTerminationState = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		ExitCode: 255, Reason: "Error", Message: message, StartedAt: container.State.Running.StartedAt, FinishedAt: stamp(at(second)),
	}}
	container.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{
		Reason: "CrashLoopBackOff", Message: "back-off 5m0s restarting failed container=cloud-controller-manager pod=cloud-controller-manager-" + node,
	}}
	c.ready(node, false)
}

func (c *cluster) ready(node string, ready bool) {
	pod := c.pods[node].DeepCopy()
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: map[bool]corev1.ConditionStatus{true: "True", false: "False"}[ready]}}
	c.pods[node] = pod
}

// acquire assigns the lease to a process on the host.
func (c *cluster) acquire(host, process string, second int) {
	c.lease = c.lease.DeepCopy()
	c.lease.Spec = coordinationv1.LeaseSpec{
		HolderIdentity:       ptr.To(host + "_" + process),
		LeaseDurationSeconds: ptr.To(int32(137)),
		AcquireTime:          &metav1.MicroTime{Time: at(second)},
		RenewTime:            &metav1.MicroTime{Time: at(second)},
	}
}

// acquireWithin is acquire, but not at the very begin of the second.
func (c *cluster) acquireWithin(host, process string, second int) {
	c.acquire(host, process, second)
	acquired := metav1.MicroTime{Time: at(second).Add(60 * time.Millisecond)}
	c.lease.Spec.AcquireTime, c.lease.Spec.RenewTime = &acquired, &acquired
}

// restart ends the container and starts it again within the second.
func (c *cluster) restart(node string, second int) {
	c.exit(node, second, "")
	c.start(node, second)
}

func (c *cluster) renew(second int) {
	c.lease = c.lease.DeepCopy()
	c.lease.Spec.RenewTime = &metav1.MicroTime{Time: at(second)}
}

func (c *cluster) snapshot(second int) snapshot {
	return snapshot{
		now: at(second), pods: slices.Collect(maps.Values(c.pods)), nodes: slices.Collect(maps.Values(c.nodes)),
		predecessors: c.predecessors, withoutRole: c.withoutRole,
		lease: c.lease, topology: c.topology, status: c.status,
	}
}

// apply writes conditions as the API server would.
func (c *cluster) apply(second int, a *assessor) (changes []string, next time.Duration) {
	conditions, next := a.assess(c.snapshot(second))
	for _, condition := range conditions {
		applied := operatorv1.OperatorCondition{
			Type: *condition.Type, Status: *condition.Status, Reason: *condition.Reason, Message: ptr.Deref(condition.Message, ""),
			LastTransitionTime: metav1.NewTime(at(second)),
		}
		previous := v1helpers.FindOperatorCondition(c.status.Conditions, applied.Type)
		if previous == nil {
			c.status.Conditions = append(c.status.Conditions, applied)
		}
		if previous == nil || previous.Status != applied.Status || previous.Reason != applied.Reason {
			changes = append(changes, fmt.Sprintf("%ds %s=%s %s", second, applied.Type, applied.Status, applied.Reason))
		}
		if previous != nil {
			if previous.Status == applied.Status {
				applied.LastTransitionTime = previous.LastTransitionTime
			}
			*previous = applied
		}
	}
	return changes, next
}

// timeline has the events by second.
type timeline map[int][]func(c *cluster, second int)

func (l timeline) at(second int, do func(c *cluster, second int)) {
	l[second] = append(l[second], do)
}

// renews adds renewals of the lease at from and every 26 s until the end.
func (l timeline) renews(from, end int) {
	for second := from; second < end; second += 26 {
		l.at(second, (*cluster).renew)
	}
}

// run simulates the timeline and returns every change of a condition after the first assessment. It assesses twice:
// every second, and only after events and requested delays. Both runs must yield the same changes.
func (l timeline) run(t *testing.T, start func() *cluster, seconds int) []string {
	t.Helper()
	everySecond, cluster := l.simulate(start(), seconds, func(int, bool, int) bool { return true })
	byTimer, _ := l.simulate(start(), seconds, func(second int, happened bool, due int) bool { return happened || second == due })
	require.Equal(t, everySecond, byTimer, "a timer is missing")
	for _, condition := range cluster.status.Conditions {
		require.NotContains(t, condition.Message, "back-off")
		require.NotContains(t, condition.Message, "FLAG")
	}
	return everySecond
}

func (l timeline) simulate(c *cluster, seconds int, look func(second int, happened bool, due int) bool) ([]string, *cluster) {
	a, due := newAssessor(), 0
	var series []string
	for second := range seconds {
		for _, do := range l[second] {
			do(c, second)
		}
		if !look(second, len(l[second]) > 0, due) && second > 0 {
			continue
		}
		changes, next := c.apply(second, a)
		due = -1
		if next > 0 {
			due = second + int((next+time.Second-1)/time.Second)
		}
		if second > 0 {
			series = append(series, changes...)
		}
	}
	return series, c
}

// of returns the changes of one condition.
func of(series []string, conditionType string) []string {
	kept := []string{}
	for _, change := range series {
		var second int
		var rest string
		if _, err := fmt.Sscanf(change, "%ds "+conditionType+"=%s", &second, &rest); err == nil {
			kept = append(kept, change)
		}
	}
	return kept
}
