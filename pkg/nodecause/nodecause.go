// Package nodecause determines why a node waits for its initialization: one cause, one action. The evidence is whether
// a cloud-controller-manager (CCM) leads, and what the leader's log contains about the node. Without sufficient
// evidence, the class is Unknown.
package nodecause

import "time"

// Class is a cause.
type Class int

// The classes.
const (
	Unknown            Class = iota // there is no evidence
	NoLeader                        // no CCM leads
	NoNodeController                // the leader's node controller is not running
	NotAsked                        // the log has nothing about the node
	NoAnswer                        // the CCM has called the cloud, and has no answer yet
	UnknownMachine                  // the cloud does not know the machine
	Ambiguous                       // several machines match
	AddressMismatch                 // the node's IP is not among the machine's addresses
	NoAddress                       // the cloud has no usable address or host name of the machine
	NoZone                          // the machine lacks the tags of a zone or region
	Unauthenticated                 // the cloud rejects the credentials
	NoIdentityProvider              // the cloud does not know the issuer of the service account's token
	NotTrusted                      // the role or identity in the cloud does not trust the service account
	NoToken                         // the service account's token is missing or has expired
	NoCredentials                   // the CCM has found no credentials
	NoRegion                        // no region is configured, or one that does not exist
	WrongClock                      // the clocks of the node and of the cloud differ
	Unauthorized                    // the credentials lack a permission
	QuotaExceeded                   // a quota is exhausted
	Throttled                       // the cloud throttles requests
	Unreachable                     // the cloud's API cannot be reached
	ProxyRefused                    // a proxy rejects the request
	Unavailable                     // the cloud's API answers with a server error
	Certificate                     // the certificate of the cloud's API is not trusted
	NoEndpoint                      // the cloud has no such API in the region or project
	NoLoadBalancers                 // OpenStack has no load-balancer API, and the configuration asks for it
	NoProviderID                    // the CCM initializes no Node that has no provider ID
	Denied                          // the cluster's API server denies the CCM a request
	Other                           // the CCM logged another error
)

// String returns the name of the class in conditions, metrics and preflights.
func (c Class) String() string { return classes[c].name }

// Waiting are the nodes that wait for one cause.
type Waiting struct {
	Cause Class
	Nodes int
	// Since is when the first of them started to wait.
	Since time.Time
}

// Evidence is what is known about a node that waits.
type Evidence struct {
	Leaderless bool
	// NoNodeController means that the leader renews the lease, but never started the controller that initializes nodes.
	NoNodeController bool
	// Complete means that the whole log of the leader's process was read, and that the process has led for a while.
	Complete bool
	// Attempt is the leader's last attempt to initialize the node, zero if the log contains none.
	Attempt Attempt
}

// Of returns the class of the evidence.
func Of(e Evidence) Class {
	switch {
	case e.Leaderless:
		return NoLeader
	case e.NoNodeController:
		return NoNodeController
	case e.Attempt.Error != "":
		return ClassOf(e.Attempt.Error)
	case e.Attempt.Pending:
		return NoAnswer
	case e.Complete && !e.Attempt.Succeeded && !e.Attempt.Overtaken:
		return NotAsked
	default:
		return Unknown
	}
}

// Machine is what a Node reports about its machine.
type Machine struct {
	Node string
	// ProviderID is empty before the initialization, unless the kubelet set it.
	ProviderID string
	// SystemUUID is from the machine's firmware. Some CCMs look it up in their cloud.
	SystemUUID string
	// NodeIP is the address that the kubelet was started with, empty if there is none.
	NodeIP string
}

// Cause returns the cause as a clause, empty for Unknown.
func (c Class) Cause() string { return classes[c].cause }

// Action returns what an administrator can do about the cause, empty for Unknown.
func (c Class) Action() string { return classes[c].action }

// restart is the command that ends the leader's container, which its kubelet starts again. The lease names the node
// before an underscore, which the name of a node cannot contain.
const restart = "oc debug node/$(oc -n openshift-cloud-controller-manager get lease cloud-controller-manager " +
	"-o jsonpath='{.spec.holderIdentity}' | cut -d_ -f1) -- chroot /host sh -c " +
	"'crictl stop $(crictl ps -q --name ^cloud-controller-manager$)'"

var classes = [...]struct{ name, cause, action string }{
	Unknown: {name: "Unknown"},
	NoLeader: {"NoLeader", "no cloud-controller-manager of this operator leads",
		"see the condition CloudControllerManagerAvailable"},
	NoNodeController: {"Deaf", "the cloud-controller-manager that leads looks at no node",
		"the operator makes another process the leader, see the condition DeafLeaderNotices"},
	NotAsked: {"NotAsked", "the cloud-controller-manager has logged nothing about the node",
		"if no other node is initialized meanwhile, restart the static pod that holds the lease: " + restart},
	NoAnswer: {"NoAnswer", "the cloud has not answered the cloud-controller-manager yet",
		"check that the cloud's API responds"},
	UnknownMachine: {"UnknownMachine", "the cloud does not know the machine",
		"check that the project, region or datacenter of the cloud configuration has an instance with this name, " +
			"systemUUID or providerID"},
	Ambiguous: {"Ambiguous", "the cloud has several instances that match the node",
		"find out which of them is the node's, and rename the others; delete only one that nothing uses any more"},
	AddressMismatch: {"AddressMismatch", "the node's IP is not among the addresses that the cloud has for the machine",
		"correct the kubelet's --node-ip, or the instance's addresses"},
	NoAddress: {"NoAddress", "the cloud has no address or host name of the machine by which the node can be initialized",
		"check the addresses and the host name that the cloud has for the instance, and the guest agent that reports them " +
			"(on vSphere VMware Tools, whose host name must be the node's name); then the networks, subnets and IP families " +
			"that the cloud configuration selects"},
	NoZone: {"NoZone", "the machine lacks a tag of the zone or region categories of the cloud configuration",
		"attach a tag of the category that the error names to the host, cluster or datacenter of the machine, or correct " +
			"the category in the cloud configuration"},
	Unauthenticated: {"Unauthenticated", "the cloud rejects the credentials",
		"replace the credentials"},
	NoIdentityProvider: {"NoIdentityProvider",
		"the cloud does not accept the issuer of the cluster's service account tokens",
		"create the identity provider for the issuer in the cloud (ccoctl aws create-identity-provider, ccoctl azure " +
			"create-oidc-issuer, ccoctl gcp create-workload-identity-provider), or correct spec.serviceAccountIssuer of " +
			"authentication/cluster; the issuer's documents must be public"},
	NotTrusted: {"NotTrusted",
		"the role or identity in the cloud does not trust the cloud-controller-manager's service account",
		"correct its trust policy, federated credential or IAM policy binding: the cluster's issuer, the audience " +
			"openshift, and the subject system:serviceaccount:openshift-cloud-controller-manager:cloud-controller-manager"},
	NoToken: {"NoToken", "the service account's token for the cloud is missing or has expired",
		"see the conditions CloudTokensDegraded and NodeFilesDegraded"},
	NoCredentials: {"NoCredentials",
		"the cloud-controller-manager has found no credentials, not even those of its instance",
		"add the credentials to the Secret, under the names of keys that the cloud-controller-manager reads, or give the " +
			"instances of the control plane a role or an identity"},
	NoRegion: {"NoRegion", "no region is configured, or one that the cloud does not have",
		"set the region in the cloud configuration"},
	WrongClock: {"WrongClock", "the clocks of the control plane and of the cloud differ",
		"correct the time of the control-plane nodes, which chronyc tracking shows there"},
	Unauthorized: {"Unauthorized", "the credentials lack a permission",
		"permit them to read instances and their networks"},
	QuotaExceeded: {"QuotaExceeded", "a quota of the cloud is exhausted",
		"raise the quota that the error names"},
	Throttled: {"Throttled", "the cloud throttles requests",
		"find what else calls the cloud's API with this account, or raise the limit"},
	Unreachable: {"Unreachable", "the cloud's API cannot be reached from the control plane",
		"check name resolution, routes, firewalls and the cluster's proxy"},
	ProxyRefused: {"ProxyRefused", "the cluster's proxy refuses to connect to the cloud's API",
		"correct proxy/cluster, its credentials, its trustedCA or its noProxy, or permit the connection at the proxy"},
	Unavailable: {"Unavailable", "the cloud's API answers with a server error",
		"check the state of the cloud's API"},
	Certificate: {"Certificate", "the certificate of the cloud's API is not trusted",
		"renew it, for the name that the cloud configuration has for the API, or add its CA to the cloud configuration's " +
			"CA bundle or to the trusted CA of Proxy"},
	NoEndpoint: {"NoEndpoint", "the cloud has no such API in the region, or the project has not enabled it",
		"correct the region of the cloud configuration and of the credentials, add the API to the cloud's catalog, or " +
			"enable it in the project"},
	NoLoadBalancers: {"NoLoadBalancers", "the cloud's catalog has no load-balancer API in the region",
		"set enabled = false in [LoadBalancer] of the cloud configuration, or install Octavia"},
	NoProviderID: {"NoProviderID", "the cloud-controller-manager initializes no node without the providerID of a machine",
		"start its kubelet with --provider-id, or set spec.providerID of the Node"},
	Denied: {"Denied", "the cluster's API server denies the cloud-controller-manager a request",
		"restore the role or the admission policy that the error names: the cluster-version-operator does, unless it is in " +
			"spec.overrides of clusterversion/version"},
	Other: {"Other", "the cloud-controller-manager got an error",
		"check that the cloud has an instance with the node's name and with the node's addresses, and that the " +
			"credentials may read instances and their networks"},
}
