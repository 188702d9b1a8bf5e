package availability

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
)

func TestTheStateOfTheOperand(t *testing.T) {
	const inNamespace = "lease/cloud-controller-manager in openshift-cloud-controller-manager"
	for name, tc := range map[string]struct {
		change func(c *cluster)
		// silentFor is how many seconds ago the lease was last renewed.
		silentFor       int
		reason, message string
	}{
		"all are Ready and one leads": {
			change: func(*cluster) {},
			reason: "AsExpected", message: "3 of 3 cloud-controller-managers are Ready; the one on node/m0 leads",
		},
		"one that is not Ready is counted": {
			change: func(c *cluster) { c.Ready("m1", false) },
			reason: "AsExpected", message: "2 of 3 cloud-controller-managers are Ready; the one on node/m0 leads",
		},
		"a pod that outlives its Node is not counted": {
			change: func(c *cluster) { c.Leave("m1") },
			reason: "AsExpected", message: "2 of 3 cloud-controller-managers are Ready; the one on node/m0 leads",
		},
		"a Node that is gone does not lead": {
			change: func(c *cluster) { c.Leave("m0"); c.Leave("m1"); delete(c.Pods, "m1") },
			reason: "LeaderCutOff",
			message: inNamespace + ` is held by "m0_first" on node/m0, which is no longer a control-plane Node; ` +
				"make sure that the machine is off, or that its kubelet registers the Node again",
		},
		"a full name prefers its own node to one with the same short name": {
			change: func(c *cluster) {
				c.Join("m.a")
				c.Install("m.a", -60)
				c.Join("m.b")
				c.Install("m.b", -60)
				c.Acquire("m.b", "x", -50)
				c.Renew(0)
			},
			reason: "AsExpected", message: "5 of 5 cloud-controller-managers are Ready; the one on node/m.b leads",
		},
		"a host that calls itself by its short name is found": {
			change: func(c *cluster) {
				c.Join("m3.example.com")
				c.Install("m3.example.com", -60)
				c.Acquire("m3", "x", -50)
				c.Renew(0)
			},
			reason: "AsExpected", message: "4 of 4 cloud-controller-managers are Ready; the one on node/m3.example.com leads",
		},
		"no pod at all": {
			change: func(c *cluster) { clear(c.Pods) },
			reason: "NoReadyPod", message: "0 of 3 cloud-controller-managers are Ready; check the pods in " +
				"openshift-cloud-controller-manager and " +
				"the logs of their container cloud-controller-manager",
		},
		"a Ready pod that is being deleted does not count": {
			change: func(c *cluster) {
				for _, pod := range c.Pods {
					pod.DeletionTimestamp = &metav1.Time{Time: begin}
				}
			},
			reason: "NoReadyPod", message: "0 of 3 cloud-controller-managers are Ready; check the pods in " +
				"openshift-cloud-controller-manager and " +
				"the logs of their container cloud-controller-manager",
		},
		"an image that cannot be pulled is named": {
			change: func(c *cluster) {
				for node, reason := range map[string]string{
					"m0": "ImagePullBackOff", "m1": "ImagePullBackOff", "m2": "ContainerCreating",
				} {
					c.Ready(node, false)
					c.Container(node).State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}
				}
			},
			reason: "NoReadyPod", message: "0 of 3 cloud-controller-managers are Ready: " +
				"container cloud-controller-manager of pod/cloud-controller-manager-m0 with image registry/ccm:1 is in " +
				"ImagePullBackOff, " +
				"container cloud-controller-manager of pod/cloud-controller-manager-m1 with image registry/ccm:1 is in " +
				"ImagePullBackOff; " +
				"check the pods in openshift-cloud-controller-manager and the logs of their container cloud-controller-manager",
		},
		"the lease never had a holder": {
			change: func(c *cluster) { c.Lease = nil },
			reason: "NoLeader", message: inNamespace + " has no holder; 3 of 3 cloud-controller-managers are Ready and one " +
				"of them takes over within a minute; if none does, " +
				"check the logs of the container cloud-controller-manager for why they cannot acquire it",
		},
		"the lease has run out": {
			change: func(c *cluster) { c.Renew(-137) },
			reason: "LeaseExpired", message: `"m0_first" has stopped renewing ` + inNamespace + " and no standby has taken " +
				"over although " +
				"3 of 3 cloud-controller-managers are Ready; check the logs of the container cloud-controller-manager for " +
				"leader-election errors",
		},
		"another client holds it": {
			change: func(c *cluster) { c.Acquire("laptop", "x", -100); c.Renew(0) },
			reason: "ForeignLeader",
			message: inNamespace + ` is held by "laptop_x", which is not a container of this operator's ` +
				`cloud-controller-manager ` +
				"pods; stop that cloud-controller-manager",
		},
		"its holder has ended": {
			change: func(c *cluster) { c.Renew(-20); c.Start("m0", -10) },
			reason: "LeaderEnded", message: inNamespace + ` is held by "m0_first", a container on node/m0 that has ended; ` +
				"3 of 3 cloud-controller-managers are Ready and may take over when the lease expires; if none does, check " +
				"their logs",
		},
		"its holder is silent": {
			change: func(*cluster) {}, silentFor: 54,
			reason: "LeaderSilent",
			message: inNamespace + ` is held by "m0_first" on node/m0, which has not renewed it for 54s; ` +
				"3 of 3 cloud-controller-managers are Ready and may take over when the lease expires; " +
				"check the node, and the log of its container cloud-controller-manager",
		},
		"its holder has yet to stay up": {
			change: func(c *cluster) { c.Acquire("m1", "x", -10) },
			reason: "LeaderStarting",
			message: inNamespace + ` is held by "m1_x" on node/m1, which has not yet held it for 30s; ` +
				"3 of 3 cloud-controller-managers are Ready",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := threeMasters()
			a := newAssessor()
			a.history.observe(view{View: c.ViewOf(controlplane.Record{}, at(-1))})
			tc.change(c)
			c.Observe(-tc.silentFor)
			s := c.view(0)
			expected := a.history.observe(s)
			got := operandStateOf(s, expected.podsOnNodes(s.StaticPods()), expected)
			require.Equal(t, tc.reason, got.reason)
			require.Equal(t, tc.message, got.message)
		})
	}
}

// The kubelet of a worker may create a mirror pod that looks like one of the operand.
func TestWhatAKubeletWritesAboutAContainerIsShort(t *testing.T) {
	huge := strings.Repeat("9", 1<<20)
	pod := &corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
		Name: huge, Image: huge, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: huge}},
	}}}}
	require.Less(t, len(waitingText([]*corev1.Pod{pod})), 500)
}
