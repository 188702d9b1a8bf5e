package v1

import (
	operatorv1 "github.com/openshift/api/operator/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// CloudControllerManager configures the operator that runs the cluster's cloud-controller-manager as static pods,
// and reports how far it got. There is exactly one, named cluster. Who may write it decides what runs as root on
// the control plane.
//
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=cloudcontrollermanagers,scope=Cluster,categories=coreoperators
// +kubebuilder:validation:XValidation:rule="self.metadata.name == 'cluster'",message="cloudcontrollermanager is a singleton: metadata.name must be 'cluster'"
// +kubebuilder:printcolumn:name="Available",type=string,JSONPath=`.status.conditions[?(@.type=="CloudControllerManagerAvailable")].status`
// +kubebuilder:printcolumn:name="Revision",type=integer,JSONPath=`.status.latestAvailableRevision`
// +kubebuilder:printcolumn:name="Platform",type=string,JSONPath=`.spec.observedConfig.platform`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="CloudControllerManagerAvailable")].message`
// +kubebuilder:metadata:annotations="include.release.openshift.io/self-managed-high-availability=true"
// +kubebuilder:metadata:annotations="include.release.openshift.io/single-node-developer=true"
// +kubebuilder:metadata:annotations="capability.openshift.io/name=CloudControllerManager"
type CloudControllerManager struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired behavior of the cloud-controller-manager and of its operator.
	// +required
	Spec CloudControllerManagerSpec `json:"spec,omitzero"`

	// status is the most recently observed state of the cloud-controller-manager.
	// +optional
	Status CloudControllerManagerStatus `json:"status,omitzero"`
}

// CloudControllerManagerSpec is the specification that all static-pod operators share. In the state Removed the
// operator removes the static pods from the nodes, and then its other objects. The state Unmanaged is rejected: a
// static pod keeps running on its node while nothing updates its files.
//
// +kubebuilder:validation:MinProperties=0
// +kubebuilder:validation:XValidation:rule="!has(self.managementState) || self.managementState in ['Managed', 'Force', 'Removed']",message="managementState must be Managed, Force or Removed"
type CloudControllerManagerSpec struct {
	operatorv1.StaticPodOperatorSpec `json:",inline"`

	// removalPolicy determines when managementState Removed takes effect. The other states ignore it, so it can be set
	// before the state, and it stays for the next removal unless it is removed.
	// Allowed values are Safe and Force.
	// When set to Safe, the operator keeps the cloud-controller-manager while a node waits to be initialized by it, or
	// while a Service of type LoadBalancer has a load balancer that only it can delete.
	// When set to Force, the operator removes it nevertheless: such a node stays unusable, and such a Service cannot be
	// deleted, until another cloud-controller-manager takes over.
	// When omitted, the policy is Safe.
	// +optional
	RemovalPolicy CloudControllerManagerRemovalPolicy `json:"removalPolicy,omitempty"`

	// nodeInitialization limits what new Nodes cost the cloud. It is ignored on Azure, where every Node initializes
	// itself, and on Alibaba Cloud, whose cloud-controller-manager has no such limit.
	// When omitted, the limits are the platform's defaults.
	// +optional
	NodeInitialization *CloudControllerManagerNodeInitialization `json:"nodeInitialization,omitempty"`

	// custom describes the cloud-controller-manager to run where no release ships one: on platform External, and on a
	// platform type without an image in the release. It is ignored on every other platform.
	// When omitted, the operator runs no cloud-controller-manager there.
	// +optional
	Custom *CustomCloudControllerManager `json:"custom,omitempty"`
}

// CloudControllerManagerNodeInitialization configures how the cloud-controller-manager initializes Nodes: it looks up
// the machine of each new Node in the cloud, writes its addresses, zone and provider ID into the Node, and removes the
// taint node.cloudprovider.kubernetes.io/uninitialized.
//
// +kubebuilder:validation:MinProperties=0
type CloudControllerManagerNodeInitialization struct {
	// maxConcurrentNodes is the number of Nodes that the cloud-controller-manager initializes at the same time, from 1
	// to 100. More Nodes make a cluster that grows by many machines ready sooner. Fewer ask the cloud less at once, where
	// it throttles or has a quota of requests. If the cloud-controller-manager is built on a Kubernetes release before
	// 1.36, it also refreshes the addresses of as many initialized Nodes at a time, every five minutes. A change restarts
	// the cloud-controller-manager node by node.
	// When omitted, this means no opinion and the operator is left to choose a reasonable default by platform, which is
	// subject to change over time. The current default is 20 on AWS, 15 on OpenStack, 10 on Google Cloud, 3 on Power VS,
	// and 5 on DigitalOcean, IBM Cloud and Nutanix. It is 1 on vSphere, and with a cloud-controller-manager of unknown
	// kind in custom.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	// +optional
	MaxConcurrentNodes int32 `json:"maxConcurrentNodes,omitempty"`
}

// CloudControllerManagerStatus is the status that all static-pod operators share.
//
// +kubebuilder:validation:MinProperties=0
type CloudControllerManagerStatus struct {
	operatorv1.StaticPodOperatorStatus `json:",inline"`
}

// CloudControllerManagerRemovalPolicy determines when managementState Removed takes effect.
//
// +kubebuilder:validation:Enum=Safe;Force
type CloudControllerManagerRemovalPolicy string

// The policies.
const (
	CloudControllerManagerRemovalPolicySafe  CloudControllerManagerRemovalPolicy = "Safe"
	CloudControllerManagerRemovalPolicyForce CloudControllerManagerRemovalPolicy = "Force"
)
