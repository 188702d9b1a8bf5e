package nodecause

import (
	"fmt"
	"slices"
	"strings"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

// Describe returns what a Node says of its machine, as far as the class depends on it, and what the CCM looks it up by.
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

// keys returns what the CCM looks a machine up by, and that there is no providerID.
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

// instanceID is the prefix by which AWS's CCM takes a Node's name for an instance ID (nodeNameToInstanceID).
const instanceID = "i-"

// otherDomain returns what to do about a name that has a domain where the cloud's names have none, or none where they
// have one, "" if the name can be right.
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
