package nodecause

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/printable"
)

// Describe returns what the class depends on: what a Node reports about its machine, and by what the CCM looks it up.
func (c Class) Describe(m Machine, by platform.Lookup) string {
	switch c {
	case UnknownMachine, Ambiguous:
		return strings.Join(keys(m, by), ", ")
	case NotAsked:
		return keys(m, by)[0]
	case AddressMismatch:
		return fmt.Sprintf("node IP %q", m.NodeIP)
	default:
		return ""
	}
}

// keys returns by what the CCM looks a machine up, including a missing providerID.
func keys(m Machine, by platform.Lookup) []string {
	found := []string{"no providerID"}
	if m.ProviderID != "" {
		found[0] = fmt.Sprintf("providerID %q", m.ProviderID)
	} else if by.Name != "" {
		found = append(found, fmt.Sprintf("looked up by the %s %q", by.Name, m.Node))
	}
	if by.SystemUUID || by.Name == "" {
		found = append(found, fmt.Sprintf("systemUUID %q", m.SystemUUID))
	}
	return found
}

// ActionFor returns what an administrator can do about the cause for these machines.
func (c Class) ActionFor(by platform.Lookup, machines ...Machine) string {
	if c != UnknownMachine {
		return c.Action()
	}
	action := unknownBy(by)
	node := "<node>"
	if len(machines) == 1 {
		node = machines[0].Node
	}
	withoutID := slices.DeleteFunc(slices.Clone(machines), func(m Machine) bool { return m.ProviderID != "" })
	if i := slices.IndexFunc(withoutID, func(m Machine) bool { return otherDomain(by, m.Node) != "" }); i >= 0 {
		action = otherDomain(by, withoutID[i].Node) + "; " + action
	}
	if by.BareMetal && len(withoutID) > 0 {
		action += fmt.Sprintf("; if the node is no virtual machine of this vCenter, remove the taint by hand: "+
			"oc adm taint nodes %s %s-", node, controlplane.UninitializedTaint)
	}
	return action
}

func unknownBy(by platform.Lookup) string {
	var kinds []string
	if by.Name != "" {
		kinds = append(kinds, by.Name)
	}
	if by.SystemUUID {
		kinds = append(kinds, "systemUUID")
	}
	if len(kinds) == 0 {
		return UnknownMachine.Action()
	}
	return "check that the project, region or datacenter of the cloud configuration has an instance with this " +
		strings.Join(kinds, ", ") + " or providerID"
}

// instanceID is the prefix of Node names that AWS's CCM takes for instance IDs (nodeNameToInstanceID).
const instanceID = "i-"

// otherDomain returns the action for a Node name with a domain if the cloud's names have none, or without one if they
// have one; "" if the name may be right.
func otherDomain(by platform.Lookup, node string) string {
	const register = "; then drain and delete the Node, so that it registers again"
	hasDomain, isID := strings.Contains(node, "."), strings.HasPrefix(node, instanceID)
	switch {
	case by.Domain == platform.NoDomain && hasDomain:
		return fmt.Sprintf("the node's name has a domain, and the instance's may have none: name the instance %q, or start "+
			"the kubelet with the instance's name (--hostname-override) or providerID (--provider-id)"+register, node)
	case by.Domain == platform.WithDomain && hasDomain && isID:
		return "the node's name is looked up as an instance ID, which has no domain: start the kubelet with the instance's " +
			"providerID (--provider-id)" + register
	case by.Domain == platform.WithDomain && !hasDomain && !isID:
		return fmt.Sprintf("the node's name has no domain, and the instance's %s has one: start the kubelet with that name "+
			"(--hostname-override), or with the instance's providerID (--provider-id)"+register, by.Name)
	}
	return ""
}

// startup are the names of taints by which components other than the CCM keep pods away until they have initialized a
// node: Cluster API (node.cluster.x-k8s.io/uninitialized), the CSI drivers of AWS (ebs.csi.aws.com/agent-not-ready),
// Cilium (node.cilium.io/agent-not-ready) and Karpenter (karpenter.sh/unregistered). Any other taint may be permanent.
var startup = []string{"uninitialized", "agent-not-ready", "unregistered"}

// Drift is what is wrong with a node that does not wait for a CCM. The zero value means nothing.
type Drift struct {
	// NotExternal means that the node's kubelet was started without --cloud-provider=external: the CCM never initializes
	// it, and the cloud's load balancers and volumes do not reach it.
	NotExternal bool
	// Taint is the taint by which another component still keeps pods away.
	Taint string
	// NoInternalIP means that an initialized node has no address of type InternalIP: the API server does not reach its
	// kubelet, and load balancers do not reach the node.
	NoInternalIP bool
	// OtherMachine is the provider ID of a node if it contradicts the UUID of the machine; empty also if the cloud's
	// provider IDs do not contain that UUID.
	OtherMachine string

	// AddressFlaps means that the address of type InternalIP was lost several times within an hour. DriftOf does not set
	// it, because a single version of a Node does not show it.
	AddressFlaps bool
}

// DriftOf returns what is wrong with a Ready node that does not wait for a CCM.
func DriftOf(node *corev1.Node) Drift {
	switch {
	case controlplane.KubeletOf(node) != controlplane.KubeletReady || controlplane.IsUninitialized(node):
		return Drift{}
	case node.Spec.ProviderID == "":
		return Drift{NotExternal: true}
	case isOtherMachine(node.Spec.ProviderID, node.Status.NodeInfo.SystemUUID):
		return Drift{OtherMachine: node.Spec.ProviderID}
	case !slices.ContainsFunc(node.Status.Addresses, isInternalIP):
		return Drift{NoInternalIP: true}
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

func isInternalIP(a corev1.NodeAddress) bool { return a.Type == corev1.NodeInternalIP }

// vSphere is the prefix of provider IDs with the UUID of the machine's firmware: vSphere's provider finds a virtual
// machine by that UUID and derives the ID from it (pkg/cloudprovider/vsphere/nodemanager.go). The ID of OpenStack's
// bare-metal instances differs from their UUID, and the IDs of other clouds contain none.
const vSphere = "vsphere://"

// isOtherMachine reports whether a provider ID contradicts the UUID that the kubelet read from the firmware.
func isOtherMachine(providerID, systemUUID string) bool {
	id, is := strings.CutPrefix(strings.ToLower(providerID), vSphere)
	system := strings.ToLower(systemUUID)
	return is && len(id) == uuidLength && len(system) == uuidLength && id != system && id != swapped(system)
}

const uuidLength = 36

// swapped returns a UUID with the first three groups in the other byte order, which some firmware uses (util.go,
// ConvertK8sUUIDtoNormal).
func swapped(u string) string {
	return u[6:8] + u[4:6] + u[2:4] + u[0:2] + "-" + u[11:13] + u[9:11] + "-" + u[16:18] + u[14:16] + u[18:]
}

// maxValue limits the length of values that a kubelet or another component wrote.
const maxValue = 200

// Explain returns the cause and the action. A Node that drifted is Ready and may run pods, so it is drained before it
// is deleted. It is deleted only if nothing else helps: a providerID cannot be changed.
func (d Drift) Explain() string {
	switch {
	case d.NotExternal:
		return "no providerID, and no taint " + controlplane.UninitializedTaint + ", so the cloud-controller-manager " +
			"does not initialize it; leave it if it is no machine of this cloud, such as a bare-metal worker; otherwise start " +
			"the kubelet with --cloud-provider=external, then run: oc adm taint nodes <node> " +
			controlplane.UninitializedTaint + "=true:NoSchedule"
	case d.OtherMachine != "":
		return fmt.Sprintf("the providerID %q is that of another machine than the systemUUID; drain the Node, then delete "+
			"it, so that its kubelet registers it again", printable.Cut(d.OtherMachine, maxValue))
	case d.AddressFlaps:
		return "lost its address of type InternalIP three times within an hour; check the addresses that the cloud has for " +
			"the instance, and what reports them to it, such as a guest agent"
	case d.NoInternalIP:
		return "initialized, but without an address of type InternalIP; check the addresses that the cloud has for the " +
			"instance, and the address that the kubelet was started with (--node-ip)"
	}
	return fmt.Sprintf("initialized, but the taint %q of another component keeps pods away; "+
		"find the component that is to remove it", printable.Cut(d.Taint, maxValue))
}
