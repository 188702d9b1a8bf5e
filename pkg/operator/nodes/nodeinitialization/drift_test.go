package nodeinitialization

import (
	"testing"
	"time"

	"github.com/openshift/library-go/pkg/operator/v1helpers"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	clocktesting "k8s.io/utils/clock/testing"
)

// running returns a Ready node with the provider ID and the taints.
func running(name, providerID string, taints ...string) *corev1.Node {
	n := node(name, time.Hour, taints...)
	n.Spec.ProviderID = providerID
	n.Status.Addresses = []corev1.NodeAddress{
		{Type: corev1.NodeHostName, Address: name}, {Type: corev1.NodeInternalIP, Address: "192.0.2.7"}, {Type: corev1.NodeExternalIP, Address: "192.0.2.8"},
	}
	n.Status.Conditions = []corev1.NodeCondition{
		{Type: corev1.NodeDiskPressure, Status: corev1.ConditionFalse}, {Type: corev1.NodeReady, Status: corev1.ConditionTrue},
	}
	return n
}

func TestANodeThatDoesNotWaitAndIsWrongIsANotice(t *testing.T) {
	const (
		agent    = "ebs.csi.aws.com/agent-not-ready"
		external = "no providerID, and no taint node.cloudprovider.kubernetes.io/uninitialized, so the cloud-controller-manager does " +
			"not initialize it; leave it if it is no machine of this cloud, such as a bare-metal worker; otherwise start the kubelet " +
			"with --cloud-provider=external, then run: oc adm taint nodes <node> " +
			"node.cloudprovider.kubernetes.io/uninitialized=true:NoSchedule"
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
	require.False(t, (&store{clock: clocktesting.NewFakePassiveClock(now)}).isRelevant(running("fine", "openstack:///1")))
	kept := stripped(running("b", ""))
	require.Equal(t, []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}, kept.Status.Conditions)
	require.Equal(t, []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "192.0.2.7"}}, kept.Status.Addresses)
	require.True(t, (&store{clock: clocktesting.NewFakePassiveClock(now)}).isRelevant(kept))
	require.Empty(t, kept.Labels)
}

func TestADriftOfAnInitializedNodeIsNamedWithItsAction(t *testing.T) {
	c := start(t, `{"platform":"vsphere"}`)
	lost, other := running("lost", "vsphere://1"), running("other", "vsphere://4237a1b2-0c0d-4e0f-8000-000000000001")
	lost.Status.Addresses = nil
	other.Status.NodeInfo.SystemUUID = "4237a1b2-0c0d-4e0f-8000-000000000002"
	for _, n := range []*corev1.Node{lost, other} {
		require.True(t, (&store{clock: clocktesting.NewFakePassiveClock(now)}).isRelevant(n))
		require.NoError(t, c.controller.store.Update(stripped(n)))
	}
	c.controller.store.synced = true
	c.pass(t, 30*time.Second)
	require.Equal(t, "node/lost: initialized, but without an address of type InternalIP; check the addresses that the cloud has for the instance, "+
		"and the address that the kubelet was started with (--node-ip); "+
		`node/other: the providerID "vsphere://4237a1b2-0c0d-4e0f-8000-000000000001" is that of another machine than the systemUUID; `+
		"drain the Node, then delete it, so that its kubelet registers it again", c.notice(t))
	lost.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "192.0.2.7"}}
	other.Status.NodeInfo.SystemUUID = "4237a1b2-0c0d-4e0f-8000-000000000001"
	for _, n := range []*corev1.Node{lost, other} {
		require.NoError(t, c.controller.store.Update(stripped(n)))
	}
	require.Empty(t, c.notice(t))
}

func TestAnAddressThatFlapsIsANotice(t *testing.T) {
	c := start(t, `{"platform":"openstack"}`)
	require.NoError(t, c.controller.store.Replace(nil, "1"))
	require.NoError(t, c.controller.store.Update(running("a", "openstack:///1")))
	lost := running("a", "openstack:///1")
	lost.Status.Addresses = lost.Status.Addresses[:1]
	flap := func() {
		require.NoError(t, c.controller.store.Update(lost))
		require.NoError(t, c.controller.store.Update(lost)) // a heartbeat
		c.pass(t, 10*time.Second)
		require.NoError(t, c.controller.store.Update(running("a", "openstack:///1")))
		c.pass(t, 19*time.Minute+50*time.Second)
	}
	flap()
	flap()
	require.Empty(t, c.notice(t))
	require.NoError(t, c.controller.store.Update(lost))
	require.NoError(t, c.controller.store.Update(running("a", "openstack:///1")))
	const notice = "node/a: lost its address of type InternalIP three times within an hour; check the addresses that the " +
		"cloud has for the instance, and what reports them to it, such as a guest agent"
	require.Equal(t, notice, c.notice(t))
	c.pass(t, 20*time.Minute-time.Second)
	require.Equal(t, notice, c.notice(t))
	c.pass(t, time.Second)
	require.Empty(t, c.notice(t), "the first loss is an hour ago")
	require.NoError(t, c.controller.store.Update(lost))
	require.NoError(t, c.controller.store.Update(running("a", "openstack:///1")))
	require.Equal(t, notice, c.notice(t), "two of three are within the hour, and this one")
	for _, ends := range []func() error{
		func() error { return c.controller.store.Delete(running("a", "openstack:///1")) },
		func() error { return c.controller.store.Replace(nil, "2") }, // The watch has missed the deletion.
	} {
		for range 3 {
			require.NoError(t, c.controller.store.Update(lost))
			require.NoError(t, c.controller.store.Update(running("a", "openstack:///1")))
		}
		require.Equal(t, notice, c.notice(t))
		require.NoError(t, ends())
		require.Empty(t, c.notice(t))
	}
}

// Nothing is wrong with a Node that is not Ready, as far as DriftOf is concerned.
func TestAKubeletThatFlapsLosesNoAddress(t *testing.T) {
	c := start(t, `{"platform":"openstack"}`)
	require.NoError(t, c.controller.store.Replace(nil, "1"))
	without, silent := running("a", "openstack:///1"), running("a", "openstack:///1")
	without.Status.Addresses, silent.Status.Addresses = nil, nil
	silent.Status.Conditions[1].Status = corev1.ConditionUnknown
	for range flaps {
		require.NoError(t, c.controller.store.Update(silent))
		require.NoError(t, c.controller.store.Update(without))
	}
	c.pass(t, time.Minute)
	require.Equal(t, "node/a: initialized, but without an address of type InternalIP; check the addresses that the cloud has "+
		"for the instance, and the address that the kubelet was started with (--node-ip)", c.notice(t))
}
