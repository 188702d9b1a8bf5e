package alibabacloud

import (
	"fmt"

	configv1 "github.com/openshift/api/config/v1"

	ccmv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/seed"
)

// Installation returns what a cluster on this cloud has: platform AlibabaCloud, whose CCM is in no release, so
// spec.custom names it, without its image here. Alibaba Cloud has public CAs, so an administrator must have made Proxy
// trust another one, as for a proxy that replaces certificates.
func (s *Server) Installation() *seed.Example {
	return &seed.Example{
		Spec: configv1.PlatformSpec{Type: configv1.AlibabaCloudPlatformType,
			AlibabaCloud: &configv1.AlibabaCloudPlatformSpec{}},
		Status: configv1.PlatformStatus{Type: configv1.AlibabaCloudPlatformType,
			AlibabaCloud: &configv1.AlibabaCloudPlatformStatus{Region: regionID}},
		CloudConfig: map[string]string{seed.CloudConfigKey: fmt.Sprintf("Global:\n  clusterID: %s\n  region: %s\n"+
			"  vpcid: %s\n  vswitchid: %s:%s\n", seed.InfrastructureName, regionID, vpcID, zones[0], vSwitchID)},
		TrustedCA:   string(s.CABundle()),
		Credentials: s.Credentials(),
		Custom:      &ccmv1.CustomCloudControllerManager{Platform: ccmv1.CustomCloudControllerManagerPlatformAlibabaCloud},
	}
}
