// Package controlplanetest simulates a control plane for tests: Nodes, the operand's static pods and its lease.
package controlplanetest

import (
	"fmt"
	"maps"
	"slices"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	configfake "github.com/openshift/client-go/config/clientset/versioned/fake"
	configexternal "github.com/openshift/client-go/config/informers/externalversions"
	configinformers "github.com/openshift/client-go/config/informers/externalversions/config/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
)

const namespace, name = "openshift-cloud-controller-manager", "cloud-controller-manager"

// Cluster is a control plane whose kubelets and cloud-controller-managers are simulated. Times are seconds since Begin.
type Cluster struct {
	Nodes        map[string]*corev1.Node
	Pods         map[string]*corev1.Pod
	Predecessors []*corev1.Pod
	// Others are other pods of the operand's namespace.
	Others   []*corev1.Pod
	Lease    *coordinationv1.Lease
	Topology configv1.TopologyMode
	Status   *operatorv1.StaticPodOperatorStatus
	// WithoutRole are Nodes without the label of a control-plane Node.
	WithoutRole []string
	// Seen is what the operator has seen of the lease.
	Seen controlplane.Lease
}

// Begin is the time of second 0.
var Begin = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

// At returns the time of a second.
func At(second int) time.Time { return Begin.Add(time.Duration(second) * time.Second) }

// Stamp returns a time in the API's precision.
func Stamp(t time.Time) metav1.Time { return metav1.NewTime(t.Truncate(time.Second)) }

// New returns a cluster with a pod on each node that has been running since before Begin. The first pod leads.
func New(nodes ...string) *Cluster {
	c := &Cluster{
		Nodes: map[string]*corev1.Node{}, Pods: map[string]*corev1.Pod{},
		Lease: &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}},
		Topology: map[int]configv1.TopologyMode{
			1: configv1.SingleReplicaTopologyMode, 3: configv1.HighlyAvailableTopologyMode,
		}[len(nodes)],
		Status: &operatorv1.StaticPodOperatorStatus{},
	}
	c.Status.LatestAvailableRevision = 3
	for _, node := range nodes {
		c.Join(node)
		c.Install(node, -3600)
	}
	c.Acquire(nodes[0], "first", -3000)
	c.Renew(0)
	return c
}

// Predecessor adds a Ready pod of the predecessor.
func (c *Cluster) Predecessor(node string) {
	c.Predecessors = append(c.Predecessors, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: "predecessor-" + node,
			Labels: map[string]string{"infrastructure.openshift.io/cloud-controller-manager": ""},
		},
		Spec:   corev1.PodSpec{NodeName: node},
		Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	})
}

// Join registers a Node.
func (c *Cluster) Join(node string) {
	c.Nodes[node] = &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}
	c.Status.NodeStatuses = append(c.Status.NodeStatuses, operatorv1.NodeStatus{NodeName: node, CurrentRevision: 3})
}

// Leave deletes a Node and library-go's entry for it.
func (c *Cluster) Leave(node string) {
	delete(c.Nodes, node)
	c.Status.NodeStatuses = slices.DeleteFunc(
		c.Status.NodeStatuses,
		func(s operatorv1.NodeStatus) bool { return s.NodeName == node },
	)
}

// LoseRole removes the label of a Node, which leaves it and its static pod. library-go's entry goes.
func (c *Cluster) LoseRole(node string) {
	c.Leave(node)
	c.WithoutRole = append(c.WithoutRole, node)
}

// SetRole sets the label of a Node again.
func (c *Cluster) SetRole(node string) {
	c.WithoutRole = slices.DeleteFunc(c.WithoutRole, func(name string) bool { return name == node })
	c.Join(node)
}

// Install creates a pod of another manifest, whose container starts and becomes Ready.
func (c *Cluster) Install(node string, second int) {
	c.Pods[node] = &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name + "-" + node, Labels: map[string]string{"app": name},
			Annotations: map[string]string{"kubernetes.io/config.hash": fmt.Sprintf("manifest of second %d", second)},
		},
		Spec: corev1.PodSpec{NodeName: node},
		Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{
			{
				Name:  "file-syncer",
				State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: Stamp(At(second))}},
			},
			{Name: name, Image: "registry/ccm:1"},
		}},
	}
	c.Start(node, second)
}

// Container returns the operand's container status of a copy of the pod.
func (c *Cluster) Container(node string) *corev1.ContainerStatus {
	c.Pods[node] = c.Pods[node].DeepCopy()
	return &c.Pods[node].Status.ContainerStatuses[1]
}

// Start starts the container, which is Ready immediately.
func (c *Cluster) Start(node string, second int) {
	container := c.Container(node)
	if container.LastTerminationState.Terminated != nil {
		container.RestartCount++
	}
	container.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: Stamp(At(second))}}
	container.ContainerID = fmt.Sprintf("containerd://%s-%d-%d", node, second, container.RestartCount)
	c.Ready(node, true)
}

// Exit ends the container; the kubelet restarts it after a back-off.
func (c *Cluster) Exit(node string, second int, message string) {
	container := c.Container(node)
	container.LastTerminationState = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		ContainerID: container.ContainerID,
		ExitCode:    255, Reason: "Error", Message: message, StartedAt: container.State.Running.StartedAt,
		FinishedAt: Stamp(At(second)),
	}}
	container.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{
		Reason: "CrashLoopBackOff", Message: "back-off 5m0s restarting failed container=cloud-controller-manager " +
			"pod=cloud-controller-manager-" + node,
	}}
	c.Ready(node, false)
}

// Ready sets the pod's condition.
func (c *Cluster) Ready(node string, ready bool) {
	pod := c.Pods[node].DeepCopy()
	pod.Status.Conditions = []corev1.PodCondition{
		{Type: corev1.PodReady, Status: map[bool]corev1.ConditionStatus{true: "True", false: "False"}[ready]},
	}
	c.Pods[node] = pod
}

// Acquire assigns the lease to a process on the host.
func (c *Cluster) Acquire(host, process string, second int) {
	c.Lease = c.Lease.DeepCopy()
	c.Lease.Spec = coordinationv1.LeaseSpec{
		HolderIdentity:       ptr.To(host + "_" + process),
		LeaseDurationSeconds: ptr.To(int32(137)),
		AcquireTime:          &metav1.MicroTime{Time: At(second)},
		RenewTime:            &metav1.MicroTime{Time: At(second)},
	}
}

// AcquireWithin is acquire, but not at the very begin of the second.
func (c *Cluster) AcquireWithin(host, process string, second int) {
	c.Acquire(host, process, second)
	acquired := metav1.MicroTime{Time: At(second).Add(60 * time.Millisecond)}
	c.Lease.Spec.AcquireTime, c.Lease.Spec.RenewTime = &acquired, &acquired
}

// Restart ends the container and starts it again within the second.
func (c *Cluster) Restart(node string, second int) {
	c.Exit(node, second, "")
	c.Start(node, second)
}

// Renew is the holder's renewal.
func (c *Cluster) Renew(second int) {
	c.Lease = c.Lease.DeepCopy()
	c.Lease.Spec.RenewTime = &metav1.MicroTime{Time: At(second)}
}

// Edit is that of a person: it changes neither the times nor the transitions of the lease.
func (c *Cluster) Edit(holder string, duration int32) {
	c.Lease = c.Lease.DeepCopy()
	c.Lease.Spec.HolderIdentity, c.Lease.Spec.LeaseDurationSeconds = &holder, &duration
}

// Observe makes the operator see the lease, and returns what it has seen.
func (c *Cluster) Observe(second int) controlplane.Record {
	if c.Lease != nil {
		c.Seen.See(c.Lease, At(second))
	} else if last := c.Seen.Record().Lease; last != nil {
		c.Seen.Deleted(last, At(second))
	}
	return c.Seen.Record()
}

// Infrastructures returns an informer whose cache has the topology.
func Infrastructures(topology configv1.TopologyMode) configinformers.InfrastructureInformer {
	informer := configexternal.NewSharedInformerFactory(configfake.NewClientset(), 0).Config().V1().Infrastructures()
	err := informer.Informer().GetStore().Add(&configv1.Infrastructure{
		ObjectMeta: metav1.ObjectMeta{Name: "cluster"},
		Status:     configv1.InfrastructureStatus{ControlPlaneTopology: topology},
	})
	if err != nil {
		panic(err) // it has a name
	}
	return informer
}

// View makes the operator see the lease, and returns the view of the cluster.
func (c *Cluster) View(second int) controlplane.View { return c.ViewOf(c.Observe(second), At(second)) }

// ViewOf returns the view of the cluster with a lease that was seen before.
func (c *Cluster) ViewOf(record controlplane.Record, now time.Time) controlplane.View {
	return controlplane.NewView(controlplane.State{
		Now: now, Record: record, Topology: c.Topology, Status: c.Status,
		Pods:  slices.Concat(slices.Collect(maps.Values(c.Pods)), c.Predecessors, c.Others),
		Nodes: slices.Collect(maps.Values(c.Nodes)),
	})
}
