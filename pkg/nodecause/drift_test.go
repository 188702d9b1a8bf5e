package nodecause_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/nodecause"
)

func TestANodeThatDoesNotWaitMayStillBeWrong(t *testing.T) {
	const uninitialized = "node.cloudprovider.kubernetes.io/uninitialized"
	taint := func(key string, effect corev1.TaintEffect) func(*corev1.Node) {
		return func(n *corev1.Node) { n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key, Effect: effect}) }
	}
	for name, tc := range map[string]struct {
		change func(*corev1.Node)
		want   nodecause.Drift
	}{
		"it is initialized": {change: func(*corev1.Node) {}},
		"it waits": {change: func(n *corev1.Node) {
			n.Spec.ProviderID = ""
			taint(uninitialized, corev1.TaintEffectNoSchedule)(n)
		}},
		"its kubelet knows of no cloud": {
			change: func(n *corev1.Node) { n.Spec.ProviderID = "" }, want: nodecause.Drift{NotExternal: true},
		},
		"it lost its address": {
			change: func(n *corev1.Node) { n.Status.Addresses = n.Status.Addresses[:1] }, want: nodecause.Drift{NoInternalIP: true},
		},
		"its machine on vSphere is another one": {
			change: func(n *corev1.Node) {
				n.Spec.ProviderID, n.Status.NodeInfo.SystemUUID = "vsphere://4237a1b2-0000-4000-8000-000000000001", "4237a1b2-0000-4000-8000-000000000002"
			},
			want: nodecause.Drift{OtherMachine: "vsphere://4237a1b2-0000-4000-8000-000000000001"},
		},
		"its machine on vSphere is that one": {change: func(n *corev1.Node) {
			n.Spec.ProviderID, n.Status.NodeInfo.SystemUUID = "vsphere://4237a1b2-0c0d-4e0f-8000-000000000001", "4237A1B2-0C0D-4E0F-8000-000000000001"
		}},
		"its firmware on vSphere has the other byte order": {change: func(n *corev1.Node) {
			n.Spec.ProviderID, n.Status.NodeInfo.SystemUUID = "vsphere://4237a1b2-0c0d-4e0f-8000-000000000001", "b2a13742-0d0c-0f4e-8000-000000000001"
		}},
		"its systemUUID on vSphere is no UUID": {change: func(n *corev1.Node) {
			n.Spec.ProviderID, n.Status.NodeInfo.SystemUUID = "vsphere://4237a1b2-0c0d-4e0f-8000-000000000001", ""
		}},
		"its instance on OpenStack may be on bare metal": {change: func(n *corev1.Node) {
			n.Spec.ProviderID, n.Status.NodeInfo.SystemUUID = "openstack:///4237a1b2-0c0d-4e0f-8000-000000000001", "4237a1b2-0000-4000-8000-000000000002"
		}},
		"it is not Ready": {change: func(n *corev1.Node) {
			n.Spec.ProviderID, n.Status.Conditions[0].Status = "", corev1.ConditionUnknown
		}},
		"the operator asks about it": {change: taint(uninitialized, corev1.TaintEffectPreferNoSchedule)},
		"Cluster API has not initialized it": {
			change: taint("node.cluster.x-k8s.io/uninitialized", corev1.TaintEffectNoSchedule),
			want:   nodecause.Drift{Taint: "node.cluster.x-k8s.io/uninitialized"},
		},
		"a CSI driver has not started": {
			change: taint("ebs.csi.aws.com/agent-not-ready", corev1.TaintEffectNoExecute),
			want:   nodecause.Drift{Taint: "ebs.csi.aws.com/agent-not-ready"},
		},
		"a taint that repels nothing": {change: taint("ebs.csi.aws.com/agent-not-ready", corev1.TaintEffectPreferNoSchedule)},
		"a taint that is meant to stay": {
			change: taint("example.com/dedicated", corev1.TaintEffectNoSchedule),
		},
		"a taint of Kubernetes": {change: taint("node.kubernetes.io/not-ready", corev1.TaintEffectNoExecute)},
	} {
		t.Run(name, func(t *testing.T) {
			node := &corev1.Node{
				Spec: corev1.NodeSpec{ProviderID: "openstack:///1"},
				Status: corev1.NodeStatus{
					Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
					Addresses: []corev1.NodeAddress{
						{Type: corev1.NodeHostName, Address: "a"}, {Type: corev1.NodeInternalIP, Address: "192.0.2.7"},
					},
				},
			}
			tc.change(node)
			require.Equal(t, tc.want, nodecause.DriftOf(node))
		})
	}
}
