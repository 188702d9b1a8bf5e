// Package featuregate is the table of the feature gates that this operator reads.
//
// A gate that a cluster's FeatureGate does not list is not necessarily off: openshift/api removes a gate once it is on
// for all. Therefore each entry defines what absence means.
package featuregate

// The feature gates that Go code names. A platform's assets name those of its cloud-controller-manager.
const (
	// NLBSecurityGroups gives network load balancers security groups.
	NLBSecurityGroups = "AWSServiceLBNetworkSecurityGroup"
	// PKI enables the PKI configuration (enhancements/security/internal-pki-config.md), which is otherwise ignored.
	PKI = "ConfigurablePKI"
	// MixedNodes permits Nodes on vSphere and on bare metal in one cluster.
	MixedNodes = "VSphereMixedNodeEnv"
	// MultiVCenterDay2 permits changes of the vCenters in Infrastructure after the installation.
	MultiVCenterDay2 = "VSphereMultiVCenterDay2"
)

// Gate is a feature gate of the cluster.
type Gate struct {
	Name string
	// OnIfAbsent reports whether the gate is on in a cluster that does not list it.
	OnIfAbsent bool
	// Removed is when and where openshift/api removed the gate, empty if it has not.
	Removed string
	// Upstream means that Kubernetes has the gate and openshift/api does not. A cluster lists it only if a later release
	// adds it; otherwise the default of the cloud-controller-manager applies, and no flag is passed.
	Upstream bool
}

// Gates are the gates that affect the operand. OnIfAbsent follows from their states in
// github.com/openshift/api/features: a gate that is on by default can only be removed because it is on for all, and any
// other because it was abandoned. A test compares them, because importing that package would slow down every start.
var Gates = []Gate{
	// The alpha gates of k8s.io/controller-manager 0.36.
	{Name: "CloudControllerManagerWatchBasedRoutesReconciliation", Upstream: true},
	{Name: "CloudControllerManagerWebhook", Upstream: true},
	{Name: "ControllerManagerReleaseLeaderElectionLockOnExit", Upstream: true},

	{Name: NLBSecurityGroups, OnIfAbsent: true, Removed: "2026-08-18, https://github.com/openshift/api/pull/2974"},
	{Name: PKI},
	{Name: MixedNodes, OnIfAbsent: true},
	{Name: MultiVCenterDay2},
}

// Enabled reports whether a gate is on in a cluster that lists these gates. An unknown gate must be listed to be on.
func Enabled(name string, listed map[string]bool) bool {
	if on, isListed := listed[name]; isListed {
		return on
	}
	for _, gate := range Gates {
		if gate.Name == name {
			return gate.OnIfAbsent
		}
	}
	return false
}
