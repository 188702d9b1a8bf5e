// Package featuregate is the table of the feature gates that this operator asks about.
//
// A gate that a cluster's FeatureGate does not list is not off for that reason: openshift/api removes a gate once it is
// on for all. So each entry says what absence means.
package featuregate

// The feature gates that code asks about. A platform's assets name those of its cloud-controller-manager.
const (
	// NLBSecurityGroups gives network load balancers security groups.
	NLBSecurityGroups = "AWSServiceLBNetworkSecurityGroup"
	// PKI enables the PKI configuration (enhancements/security/internal-pki-config.md). While it is off, the object is
	// ignored.
	PKI = "ConfigurablePKI"
	// MixedNodes lets a cluster have Nodes on vSphere and on bare metal.
	MixedNodes = "VSphereMixedNodeEnv"
	// MultiVCenterDay2 lets Infrastructure gain and lose vCenters after the installation.
	MultiVCenterDay2 = "VSphereMultiVCenterDay2"
)

// Gate is a feature gate of the cluster.
type Gate struct {
	Name string
	// OnIfAbsent reports whether the gate is on in a cluster that does not list it.
	OnIfAbsent bool
	// Removed is when and where openshift/api removed the gate, empty while it has it.
	Removed string
	// Upstream means that Kubernetes has the gate, and openshift/api does not. A cluster lists it only if a release adds
	// it; otherwise the default of the cloud-controller-manager applies, for which no flag is passed.
	Upstream bool
}

// Gates are those that have a say in the operand. github.com/openshift/api/features has the states that OnIfAbsent
// follows from: a gate that is on by default can only go because it is on for all, and one that is not can only go
// because it was given up. A test compares them, because the import would slow down every start.
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

// Enabled reports whether a gate is on in a cluster that lists these gates. A gate that is not in the table is on only
// if the cluster says so.
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
