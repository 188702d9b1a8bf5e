package nodeinitialization

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/nodecause"
)

// A kubelet registers a Node with what it wants, and a provider logs what it gets.
func TestOneNodeCannotFillTheStatus(t *testing.T) {
	huge := strings.Repeat("9", 1<<20)
	waiting := func(change func(*corev1.Node)) *corev1.Node {
		n := node("a", time.Minute, uninit)
		change(n)
		return n
	}
	drifted := func(change func(*corev1.Node)) *corev1.Node {
		n := node("a", time.Hour)
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
		n.Spec.ProviderID = "openstack:///1"
		n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "192.0.2.7"}}
		change(n)
		return n
	}
	for name, tc := range map[string]struct {
		node *corev1.Node
		log  string
	}{
		"systemUUID": {waiting(func(n *corev1.Node) { n.Status.NodeInfo.SystemUUID = huge }), attempt("a", "instance not found")},
		"providerID": {waiting(func(n *corev1.Node) { n.Spec.ProviderID = huge }), attempt("a", "instance not found")},
		"the annotation with the node IP": {waiting(func(n *corev1.Node) {
			n.Annotations = map[string]string{NodeIPAnnotation: huge}
		}), attempt("a", `provided node ip for node "a" is not valid`)},
		"the cloud's answer": {waiting(func(*corev1.Node) {}), attempt("a", huge[:200<<10])},
		"the taint of another": {drifted(func(n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{{Key: huge + "/uninitialized", Effect: "NoSchedule"}}
		}), ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := start(t, `{"platform":"vsphere"}`)
			c.log = tc.log
			require.NoError(t, c.controller.store.Replace([]any{tc.node}, "1"))
			c.settle(t)
			if tc.log == "" {
				c.pass(t, 6*time.Minute)
			}
			text := c.notice(t)
			require.NotEmpty(t, text)
			require.Less(t, len(text), 4<<10)
			for _, message := range c.emitted(t) {
				require.Less(t, len(message), 4<<10)
			}
			for _, w := range c.controller.store.waiting {
				require.Less(t, len(w.machine.ProviderID)+len(w.machine.SystemUUID)+len(w.machine.NodeIP), 2<<10)
			}
		})
	}
	for _, drift := range []nodecause.Drift{{OtherMachine: huge}, {Taint: huge}} {
		require.Less(t, len(drift.Explain()), 1<<10)
	}
}
