package v1

import (
	configv1 "github.com/openshift/api/config/v1"
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
// +kubebuilder:printcolumn:name="Available",type=string,JSONPath=`.status.summary.available`
// +kubebuilder:printcolumn:name="Progressing",type=string,JSONPath=`.status.summary.progressing`
// +kubebuilder:printcolumn:name="Degraded",type=string,JSONPath=`.status.summary.degraded`
// +kubebuilder:printcolumn:name="Revision",type=integer,JSONPath=`.status.latestAvailableRevision`
// +kubebuilder:printcolumn:name="Platform",type=string,JSONPath=`.spec.observedConfig.platform`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.summary.message`
// +kubebuilder:metadata:annotations="include.release.openshift.io/self-managed-high-availability=true"
// +kubebuilder:metadata:annotations="include.release.openshift.io/single-node-developer=true"
// +kubebuilder:metadata:annotations="capability.openshift.io/name=CloudControllerManager"
type CloudControllerManager struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard object's metadata.
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired behavior of the cloud-controller-manager and of its operator.
	// +required
	Spec CloudControllerManagerSpec `json:"spec"`

	// status is the most recently observed state of the cloud-controller-manager.
	// +optional
	Status CloudControllerManagerStatus `json:"status,omitempty"`
}

// CloudControllerManagerSpec is the specification that all static-pod operators share. In the state Removed the
// operator removes the static pods from the nodes, and then its other objects. The state Unmanaged is rejected: a
// static pod keeps running on its node while nothing updates its files.
//
// +kubebuilder:validation:XValidation:rule="!has(self.managementState) || self.managementState in ['Managed', 'Force', 'Removed']",message="managementState must be Managed, Force or Removed"
type CloudControllerManagerSpec struct {
	operatorv1.StaticPodOperatorSpec `json:",inline"`

	// removalPolicy determines when managementState Removed takes effect. Safe, the default, keeps the
	// cloud-controller-manager while a node waits to be initialized by it, or while a Service of type LoadBalancer has
	// a load balancer that only it can delete. Force removes it nevertheless: such a node stays unusable, and such a
	// Service cannot be deleted, until another cloud-controller-manager takes over.
	// +optional
	RemovalPolicy RemovalPolicy `json:"removalPolicy,omitempty"`

	// nodeInitialization limits what new Nodes cost the cloud. It is ignored on Azure, where every Node initializes
	// itself, and on Alibaba Cloud, whose cloud-controller-manager has no such limit.
	// +optional
	NodeInitialization *NodeInitialization `json:"nodeInitialization,omitempty"`

	// custom describes the cloud-controller-manager to run where no release ships one: on platform External, and on a
	// platform type without an image in the release. It is ignored on every other platform.
	// +optional
	Custom *CustomCloudControllerManager `json:"custom,omitempty"`
}

// NodeInitialization configures how the cloud-controller-manager initializes Nodes: it looks up the machine of each new
// Node in the cloud, writes its addresses, zone and provider ID into the Node, and removes the taint
// node.cloudprovider.kubernetes.io/uninitialized.
type NodeInitialization struct {
	// maxConcurrentNodes is the number of Nodes that the cloud-controller-manager initializes at the same time, from 1
	// to 100. More Nodes make a cluster that grows by many machines ready sooner. Fewer ask the cloud less at once, where
	// it throttles or has a quota of requests. If the cloud-controller-manager is built on a Kubernetes release before
	// 1.36, it also refreshes the addresses of as many initialized Nodes at a time, every five minutes. A change restarts
	// the cloud-controller-manager node by node.
	// When omitted, this means no opinion and the operator is left to choose a reasonable default by platform, which is
	// subject to change over time. The current default is 20 on AWS, 15 on OpenStack, 10 on Google Cloud, 3 on Power VS,
	// and 5 on DigitalOcean, IBM Cloud, Nutanix and vSphere. It is 1 with a cloud-controller-manager of unknown kind in
	// custom.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	// +optional
	MaxConcurrentNodes int32 `json:"maxConcurrentNodes,omitempty"`
}

// CloudControllerManagerStatus is the status that all static-pod operators share, and its summary.
type CloudControllerManagerStatus struct {
	operatorv1.StaticPodOperatorStatus `json:",inline"`

	// summary is what the ClusterOperator cloud-controller-manager says, for the columns of oc get.
	// +optional
	Summary *Summary `json:"summary,omitempty"`
}

// Summary is a copy of the ClusterOperator's conditions, which aggregate all conditions of the operator's resource.
type Summary struct {
	// available is the status of the condition Available: True, False or Unknown.
	// +required
	Available configv1.ConditionStatus `json:"available"`

	// progressing is the status of the condition Progressing: True, False or Unknown.
	// +required
	Progressing configv1.ConditionStatus `json:"progressing"`

	// degraded is the status of the condition Degraded: True, False or Unknown.
	// +required
	Degraded configv1.ConditionStatus `json:"degraded"`

	// message is that of the most alarming of the three, on one line.
	// +optional
	Message string `json:"message,omitempty"`
}

// RemovalPolicy determines when managementState Removed takes effect.
//
// +kubebuilder:validation:Enum=Safe;Force
type RemovalPolicy string

// The policies.
const (
	SafeRemoval   RemovalPolicy = "Safe"
	ForcedRemoval RemovalPolicy = "Force"
)
