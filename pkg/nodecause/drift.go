package nodecause

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
)

// startup are the names of taints by which components other than the CCM keep pods away until they have initialized a
// node: Cluster API (node.cluster.x-k8s.io/uninitialized), the CSI drivers of AWS (ebs.csi.aws.com/agent-not-ready),
// Cilium (node.cilium.io/agent-not-ready) and Karpenter (karpenter.sh/unregistered). Any other taint may be meant to
// stay.
var startup = []string{"uninitialized", "agent-not-ready", "unregistered"}

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
	switch {
	case controlplane.KubeletOf(node) != controlplane.KubeletReady || controlplane.IsUninitialized(node):
		return Drift{}
	case node.Spec.ProviderID == "":
		return Drift{NotExternal: true}
	}
	for _, taint := range node.Spec.Taints {
		_, name, _ := strings.Cut(taint.Key, "/")
		if taint.Key != controlplane.UninitializedTaint && slices.Contains(startup, name) &&
			taint.Effect != corev1.TaintEffectPreferNoSchedule {
			return Drift{Taint: taint.Key}
		}
	}
	return Drift{}
}

// Explain returns the cause and the action.
func (d Drift) Explain() string {
	if d.NotExternal {
		return "no providerID, and its kubelet registered it without the taint " + controlplane.UninitializedTaint +
			"; start the kubelet with --cloud-provider=external, and delete the Node so that it registers again"
	}
	return fmt.Sprintf("initialized, but the taint %q of another component keeps pods away; "+
		"find the component that is to remove it", d.Taint)
}
