// Package platform is the registry of the platforms that this operator knows and the only place that
// inspects an Infrastructure's platform type.
//
// A platform is data: an entry here, a folder of the same name under bindata/assets/platforms and, where
// its cloud configuration needs rewriting, one pure function in pkg/cloudconfig.
package platform

import (
	"strings"

	configv1 "github.com/openshift/api/config/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/cloudconfig"
)

// Platform describes how one cloud's controller manager is run.
type Platform struct {
	// Name is the platform's name in observedConfig and of its folder under bindata/assets/platforms.
	Name string

	// Image is the tag of the cloud-controller-manager in the release payload's image-references. It is
	// empty on a platform whose nodes nobody initialises from outside: there the operator runs nothing.
	Image string

	// Credentials tells where the cloud credentials come from.
	Credentials Credentials

	// Rewrite checks the user's cloud configuration and turns it into the one that the external provider
	// reads. It is nil on a platform that runs nothing.
	Rewrite cloudconfig.Rewrite

	// matches tells whether a platform status describes this platform. The fallback has none.
	matches func(*configv1.PlatformStatus) bool
}

// Credentials names the Secrets that hold a platform's cloud credentials.
type Credentials struct {
	// Secret is the Secret in the operand's namespace that the platform's CredentialsRequest asks for. It is
	// empty where the instance's own identity serves.
	Secret string

	// RootSecret is the Secret in kube-system that the installer writes for the cloud-credential-operator.
	// It is all there is on the bootstrap node before that operator has run.
	RootSecret string
}

// Managed tells whether a cloud-controller-manager runs on this platform.
func (p Platform) Managed() bool { return p.Image != "" }

// ImageEnv is the variable of the operator's Deployment that holds this platform's operand image, for example
// OPENSTACK_IMAGE. It is empty on a platform that runs nothing.
func (p Platform) ImageEnv() string {
	if !p.Managed() {
		return ""
	}
	return strings.ToUpper(p.Name) + "_IMAGE"
}

// ClusterRole is the ClusterRole in the payload with the rules that this platform's cloud-controller-manager
// needs beyond those that all of them share. It is empty on a platform that runs nothing.
func (p Platform) ClusterRole() string {
	if !p.Managed() {
		return ""
	}
	return "system:openshift:cloud-controller-manager:" + p.Name
}
