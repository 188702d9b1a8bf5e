package ibm

import (
	"fmt"

	configv1 "github.com/openshift/api/config/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/seed"
)

// cloudConfig is the installer's configuration.
const cloudConfig = `[global]
version = 1.1.0
[kubernetes]
config-file = ""
[provider]
accountID = %[1]s
clusterID = %[2]s
cluster-default-provider = g2
region = %[3]s
g2Credentials = /etc/vpc/ibmcloud_api_key
g2ResourceGroupName = %[4]s
g2VpcName = %[5]s
g2workerServiceAccountID = %[1]s
g2VpcSubnetNames = %[6]s

`

// Installation returns what the installer leaves in a cluster on this cloud. IBM Cloud has public CAs, so an
// administrator must have made Proxy trust another one, as for a proxy that replaces certificates.
func (s *Server) Installation() *seed.Example {
	if s.isPower {
		return s.powerInstallation()
	}
	return s.vpcInstallation()
}

func (s *Server) vpcInstallation() *seed.Example {
	return &seed.Example{
		Spec: configv1.PlatformSpec{Type: configv1.IBMCloudPlatformType, IBMCloud: &configv1.IBMCloudPlatformSpec{}},
		Status: configv1.PlatformStatus{Type: configv1.IBMCloudPlatformType, IBMCloud: &configv1.IBMCloudPlatformStatus{
			Location: regionName, ResourceGroupName: groupName, ProviderType: configv1.IBMCloudProviderTypeVPC,
		}},
		CloudConfig: map[string]string{seed.CloudConfigKey: fmt.Sprintf(cloudConfig, accountID, seed.InfrastructureName,
			regionName, groupName, vpcName, subnetNames())},
		TrustedCA:   string(s.CABundle()),
		Credentials: s.Credentials(),
	}
}
