package aws

import (
	"fmt"

	configv1 "github.com/openshift/api/config/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/seed"
)

// cloudConfig is what the installer writes for a given VPC. With it the cloud-controller-manager does not ask the
// metadata service on which instance it runs.
var cloudConfig = fmt.Sprintf(`[Global]
VPC = `+vpcID+`
SubnetID = %s
KubernetesClusterID = `+seed.InfrastructureName+`
`, subnets[0].ID)

// Installation returns what the installer leaves in a cluster on this cloud. The endpoints are in Infrastructure, as
// for a region whose endpoints the SDK does not know.
func (s *Server) Installation() *seed.Example {
	var endpoints []configv1.AWSServiceEndpoint
	for _, service := range []string{"ec2", "elasticloadbalancing", "sts"} {
		endpoints = append(endpoints, configv1.AWSServiceEndpoint{Name: service, URL: s.URL()})
	}
	return &seed.Example{
		Spec: configv1.PlatformSpec{Type: configv1.AWSPlatformType,
			AWS: &configv1.AWSPlatformSpec{ServiceEndpoints: endpoints}},
		Status: configv1.PlatformStatus{Type: configv1.AWSPlatformType,
			AWS: &configv1.AWSPlatformStatus{Region: region, ServiceEndpoints: endpoints}},
		CloudConfig: map[string]string{
			seed.CloudConfigKey: cloudConfig, seed.CABundleKey: string(s.CABundle()),
		},
		Credentials: s.Credentials(),
	}
}
