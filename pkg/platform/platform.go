// Package platform is the registry of the supported platforms. It is the only package that inspects an Infrastructure's
// platform type.
//
// A platform is data: an entry here, a directory of the same name under bindata/assets/platforms and, if its cloud
// configuration needs rewriting, one pure function in pkg/clouds/<name>.
package platform

import (
	"slices"
	"strings"

	configv1 "github.com/openshift/api/config/v1"

	operatorv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
)

// Platform describes how a cloud's controller manager runs.
type Platform struct {
	// Name is the platform's name in observedConfig, and the name of its directory under bindata/assets/platforms.
	Name string

	// Image is the tag of the cloud-controller-manager in the release payload's image-references. It is empty if no
	// release ships one; spec.custom then names the image.
	Image string

	// Custom means that spec.custom describes the whole cloud-controller-manager: image, command, arguments, Secrets.
	Custom bool

	// NodeManagerImage is the tag of the cloud-node-manager, which runs on every Linux node, empty if there is none.
	NodeManagerImage string

	Credentials Credentials

	// Rewrite checks and converts the cloud configuration. It is nil on an unmanaged platform.
	Rewrite clouds.Rewrite

	Lookup Lookup

	Deletions Deletions

	// WithoutLoadBalancers means that the cloud-controller-manager creates no load balancers, so that Services of type
	// LoadBalancer need another controller.
	WithoutLoadBalancers bool

	// WithoutMetrics means that the cloud-controller-manager serves no metrics.
	WithoutMetrics bool

	// HandsOver are annotations, as name=value. The cloud-controller-manager leaves a Service with one of them to another
	// controller: its EnsureLoadBalancer returns cloudprovider.ImplementedElsewhere.
	HandsOver []string

	// Keeps are annotations, as name=value, of Services that the cloud-controller-manager serves in spite of HandsOver.
	Keeps []string

	// Classes are the values of spec.loadBalancerClass that a controller of the cloud-controller-manager serves, with the
	// component in its Events. The one of k8s.io/cloud-provider serves no Service with a class.
	Classes map[string]string

	// Preflight means that an ordinary pod of the cloud-controller-manager tries a change. This was tested with the
	// cloud-controller-manager: that it only reads from its cloud, and what it proves. docs/preflight.md documents the
	// platforms without a preflight.
	Preflight bool

	// ManagedConfig defines what this operator writes to kube-cloud-config instead of cluster-config-operator.
	// kube-cloud-config is then not an input. It is empty if this operator does not write it.
	ManagedConfig ManagedConfig

	// matches reports whether a cluster is on this platform. It is nil for the fallback.
	matches func(*configv1.PlatformStatus, *operatorv1.CustomCloudControllerManager) bool
}

// Lookup is how the cloud-controller-manager finds the machine of a Node without a providerID, zero if unknown.
type Lookup struct {
	// Name is the property of a machine that must equal the Node's name, empty if the name does not matter.
	Name string

	Domain Domain

	// SystemUUID means that machines are also, or only, looked up by the UUID of their firmware.
	SystemUUID bool

	// BareMetal means that OpenShift documents bare-metal workers beside the machines of the cloud. The
	// cloud-controller-manager never finds them, and an administrator removes their taint.
	BareMetal bool
}

// Domain describes whether the names of a cloud's machines have a domain. The zero value means that both occur.
type Domain int

// The values of Domain.
const (
	NoDomain   Domain = iota + 1 // the cloud's names have no domain
	WithDomain                   // the cloud's names have a domain
)

// Deletions describe how a platform differs from k8s.io/cloud-provider when it deletes the Nodes of deleted machines.
type Deletions struct {
	// Unannounced means that the cloud-controller-manager may have its own Node controller, which may emit no Event before
	// it deletes a Node, and may not look up the machine of a Node with the uninitialized taint again.
	Unannounced bool

	// Never means that the cloud-controller-manager deletes no Node, because it reports that each machine exists.
	Never bool

	// Described means that the cloud still describes a deleted machine, as EC2 does for an hour. The
	// cloud-controller-manager then finds the machine of a Node that it wants to delete.
	Described bool
}

// ManagedConfig defines the cloud configuration for other components of the cluster.
type ManagedConfig struct {
	// FeatureGate is the gate that makes this operator write it. While the gate is off, cluster-config-operator does.
	FeatureGate string

	Rewrite clouds.Rewrite
}

// Credentials names the Secrets that hold a platform's cloud credentials.
type Credentials struct {
	// Secret is the Secret in the operand's namespace that the platform's CredentialsRequest requests. It is empty if
	// spec.custom names the Secrets.
	Secret string

	// Request is the payload's CredentialsRequest for Secret, empty if there is none.
	Request string

	// RootSecret is the Secret in kube-system that the installer writes for cloud-credential-operator. The bootstrap node
	// has only this Secret before that operator has run. It is empty if no Secret is derived from a root Secret.
	RootSecret string

	// ByHand means that an administrator creates Secret: cloud-credential-operator does not support the cloud, so no
	// CredentialsRequest exists.
	ByHand bool

	// Optional means that the instance's identity is used if no Secret exists.
	Optional bool
}

// Managed reports whether a cloud-controller-manager runs on this platform.
func (p Platform) Managed() bool { return p.Rewrite != nil }

// WritesManagedConfig reports whether this operator may write the cluster's kube-cloud-config.
func (p Platform) WritesManagedConfig() bool { return p.ManagedConfig.Rewrite != nil }

// Images returns the payload tags of all images that run on this platform.
func (p Platform) Images() []string {
	return slices.DeleteFunc([]string{p.Image, p.NodeManagerImage}, func(tag string) bool { return tag == "" })
}

// ImageEnv returns the environment variable of the operator's Deployment with the pull specification of a payload tag:
// OPENSTACK_IMAGE for openstack-cloud-controller-manager, AZURE_NODE_MANAGER_IMAGE for azure-cloud-node-manager.
func ImageEnv(tag string) string {
	short := strings.Replace(strings.TrimSuffix(tag, "-cloud-controller-manager"), "-cloud-", "-", 1)
	return strings.ToUpper(strings.ReplaceAll(short, "-", "_")) + "_IMAGE"
}
