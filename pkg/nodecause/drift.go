package nodecause

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// uninitializedTaint is k8s.io/cloud-provider/api.TaintExternalCloudProvider.
const uninitializedTaint = "node.cloudprovider.kubernetes.io/uninitialized"

// startup are the names of taints by which components other than the CCM keep pods away until they have initialized a
// node: Cluster API (node.cluster.x-k8s.io/uninitialized), the CSI drivers of AWS (ebs.csi.aws.com/agent-not-ready),
// Cilium (node.cilium.io/agent-not-ready) and Karpenter (karpenter.sh/unregistered). Any other taint may be meant to
// stay.
var startup = []string{"uninitialized", "agent-not-ready", "unregistered"}

// Uninitialized reports whether a node waits for a CCM. By a taint that repels no pod the operator asks the CCM about
// initialized nodes.
func Uninitialized(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool {
		return t.Key == uninitializedTaint && t.Effect != corev1.TaintEffectPreferNoSchedule
	})
}

// Drift is what is wrong with a node that does not wait for a CCM. The zero value is nothing.
type Drift struct {
	// NotExternal reports that the node's kubelet was started without --cloud-provider=external: the CCM never initializes
	// it, and the cloud's load balancers and volumes do not reach it.
	NotExternal bool
	// Taint is the taint by which another component still keeps pods away.
	Taint string
}

// DriftOf returns what is wrong with a Ready node that does not wait for a CCM.
func DriftOf(node *corev1.Node) Drift {
	ready := slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
	switch {
	case !ready || Uninitialized(node):
		return Drift{}
	case node.Spec.ProviderID == "":
		return Drift{NotExternal: true}
	}
	for _, taint := range node.Spec.Taints {
		_, name, _ := strings.Cut(taint.Key, "/")
		if taint.Key != uninitializedTaint && slices.Contains(startup, name) &&
			taint.Effect != corev1.TaintEffectPreferNoSchedule {
			return Drift{Taint: taint.Key}
		}
	}
	return Drift{}
}

// Explain returns the cause and the action.
func (d Drift) Explain() string {
	if d.NotExternal {
		return "no providerID, and its kubelet registered it without the taint " + uninitializedTaint +
			"; start the kubelet with --cloud-provider=external, and delete the Node so that it registers again"
	}
	return fmt.Sprintf("initialized, but the taint %q of another component keeps pods away; "+
		"find the component that is to remove it", d.Taint)
}
