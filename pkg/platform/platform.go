// Package platform is the registry of the platforms that this operator knows and the only place that
// inspects an Infrastructure's platform type.
//
// A platform is data: an entry here, a folder of the same name under bindata/assets/platforms and, where
// its cloud configuration needs rewriting, one pure function in pkg/clouds/<name>.
package platform

import (
	"strings"

	configv1 "github.com/openshift/api/config/v1"

	operatorv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
)

// Platform describes how one cloud's controller manager is run.
type Platform struct {
	// Name is the platform's name in observedConfig and of its folder under bindata/assets/platforms.
	Name string

	// Image is the tag of the cloud-controller-manager in the release payload's image-references. It is empty
	// where no release ships one: spec.custom of our resource then names the image.
	Image string

	// Custom reports whether spec.custom describes the whole cloud-controller-manager: image, command, arguments, Secrets.
	Custom bool

	// NodeManagerImage is the tag of the cloud-node-manager, which runs on every Linux node; empty on a
	// platform that has none.
	NodeManagerImage string

	// Credentials tells where the cloud credentials come from.
	Credentials Credentials

	// Rewrite checks the user's cloud configuration and turns it into the one that the external provider
	// reads. It is nil on a platform that runs nothing.
	Rewrite clouds.Rewrite

	// ManagedConfig tells what this operator writes into the kube-cloud-config that elsewhere is cluster-config-operator's,
	// which then is no source here. It is empty where it writes none.
	ManagedConfig ManagedConfig

	// matches tells whether a cluster is on this platform. The fallback has none.
	matches func(*configv1.PlatformStatus, *operatorv1.CustomCloudControllerManager) bool
}

// ManagedConfig is the cloud configuration for the other components of the cluster.
type ManagedConfig struct {
	// FeatureGate is the gate behind which this operator writes it. While it is off, cluster-config-operator does.
	FeatureGate string

	// Rewrite makes it out of the user's configuration.
	Rewrite clouds.Rewrite
}

// Credentials names the Secrets that hold a platform's cloud credentials.
type Credentials struct {
	// Secret is the Secret in the operand's namespace that the platform's CredentialsRequest asks for. It is empty where
	// spec.custom names the Secrets.
	Secret string

	// Request is the CredentialsRequest of the payload that asks for Secret; empty where none does.
	Request string

	// RootSecret is the Secret in kube-system that the installer writes for the cloud-credential-operator.
	// It is all there is on the bootstrap node before that operator has run. It is empty where nothing is derived
	// from a root Secret.
	RootSecret string

	// ByHand tells that an administrator makes Secret: the cloud-credential-operator does not know the cloud, so no
	// CredentialsRequest asks for it.
	ByHand bool

	// Optional tells that without any Secret the instance's own identity serves.
	Optional bool
}

// Managed tells whether a cloud-controller-manager runs on this platform.
func (p Platform) Managed() bool { return p.Rewrite != nil }

// WritesManagedConfig tells that this operator can be the one that writes the cluster's kube-cloud-config.
func (p Platform) WritesManagedConfig() bool { return p.ManagedConfig.Rewrite != nil }

// Images are the tags in the release payload of everything that runs on this platform.
func (p Platform) Images() []string {
	var tags []string
	for _, tag := range []string{p.Image, p.NodeManagerImage} {
		if tag != "" {
			tags = append(tags, tag)
		}
	}
	return tags
}

// ImageEnv is the variable of the operator's Deployment that holds the pull specification of a payload tag, for example
// OPENSTACK_IMAGE for openstack-cloud-controller-manager and AZURE_NODE_MANAGER_IMAGE for azure-cloud-node-manager.
func ImageEnv(tag string) string {
	short := strings.Replace(strings.TrimSuffix(tag, "-cloud-controller-manager"), "-cloud-", "-", 1)
	return strings.ToUpper(strings.ReplaceAll(short, "-", "_")) + "_IMAGE"
}
