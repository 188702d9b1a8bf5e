package digitalocean

import (
	configv1 "github.com/openshift/api/config/v1"

	ccmv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/seed"
)

// Installation returns what a cluster on this cloud has: platform External, and spec.custom without its image. There is
// no cloud configuration. DigitalOcean has public CAs, so an administrator must have made Proxy trust another one, as
// for a proxy that replaces certificates.
func (s *Server) Installation() *seed.Example {
	return &seed.Example{
		Spec: configv1.PlatformSpec{Type: configv1.ExternalPlatformType,
			External: &configv1.ExternalPlatformSpec{PlatformName: "DigitalOcean"}},
		Status: configv1.PlatformStatus{Type: configv1.ExternalPlatformType,
			External: &configv1.ExternalPlatformStatus{CloudControllerManager: configv1.CloudControllerManagerStatus{
				State: configv1.CloudControllerManagerExternal}}},
		TrustedCA:   string(s.CABundle()),
		Credentials: s.Credentials(),
		Custom:      &ccmv1.CustomCloudControllerManager{Platform: ccmv1.CustomCloudControllerManagerPlatformDigitalOcean},
	}
}
