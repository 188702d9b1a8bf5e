package nodeinitialization

import (
	"testing"
	"time"

	"github.com/openshift/library-go/pkg/operator/v1helpers"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// running returns a Ready node with the provider ID and the taints.
func running(name, providerID string, taints ...string) *corev1.Node {
	n := node(name, time.Hour, taints...)
	n.Spec.ProviderID = providerID
	n.Status.Conditions = []corev1.NodeCondition{
		{Type: corev1.NodeDiskPressure, Status: corev1.ConditionFalse}, {Type: corev1.NodeReady, Status: corev1.ConditionTrue},
	}
	return n
}

func TestANodeThatDoesNotWaitAndIsWrongIsANotice(t *testing.T) {
	const (
		agent    = "ebs.csi.aws.com/agent-not-ready"
		external = "no providerID, and its kubelet registered it without the taint " +
			"node.cloudprovider.kubernetes.io/uninitialized; start the kubelet with --cloud-provider=external, and delete the " +
			"Node so that it registers again"
		foreign = `node/tainted: initialized, but the taint "ebs.csi.aws.com/agent-not-ready" of another component keeps pods ` +
			"away; find the component that is to remove it"
	)
	c := start(t, `{"platform":"openstack"}`)
	c.status = 500
	require.NoError(t, c.controller.store.Replace([]any{
		running("fine", "openstack:///1"), running("b", ""), running("tainted", "openstack:///2", agent),
	}, "1"))
	require.Empty(t, c.notice(t))
	c.pass(t, 29*time.Second)
	require.Empty(t, c.notice(t))
	c.pass(t, time.Second)
	require.Equal(t, "node/b: "+external, c.notice(t))
	_, status, _, err := c.operator.GetOperatorState()
	require.NoError(t, err)
	require.Equal(t, "NodesDrifted", v1helpers.FindOperatorCondition(status.Conditions, NoticesCondition).Reason)

	require.NoError(t, c.controller.store.Add(running("a", "")))
	require.NoError(t, c.controller.store.Update(running("b", ""))) // a heartbeat
	c.pass(t, 4*time.Minute+30*time.Second)
	require.Equal(t, "node/a, node/b: "+external+"; "+foreign, c.notice(t))

	c.controller.store.waiting["waits"] = wait{since: c.clock.Now().Add(-time.Minute)}
	require.Equal(t, begin+"node/waits (since 2026-11-21T09:04:00Z)"+advice+"; node/a, node/b: "+external+"; "+foreign, c.notice(t))
	delete(c.controller.store.waiting, "waits")

	require.NoError(t, c.controller.store.Update(running("tainted", "openstack:///2")))
	require.NoError(t, c.controller.store.Delete(running("a", "")))
	require.NoError(t, c.controller.store.Replace([]any{running("fine", "openstack:///1")}, "2"))
	require.Empty(t, c.notice(t))
}

func TestOfANodeThatIsWrongLittleIsKept(t *testing.T) {
	require.False(t, isRelevant(running("fine", "openstack:///1")))
	kept := stripped(running("b", ""))
	require.Equal(t, []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}, kept.Status.Conditions)
	require.True(t, isRelevant(kept))
	require.Empty(t, kept.Labels)
}
