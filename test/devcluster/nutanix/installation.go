package nutanix

import (
	"fmt"
	"strconv"

	configv1 "github.com/openshift/api/config/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/seed"
)

// cloudConfig is the installer's configuration.
const cloudConfig = `{
  "prismCentral": {
    "address": %q,
    "port": %s,
    "credentialRef": {
      "kind": "Secret",
      "name": "nutanix-credentials",
      "namespace": "openshift-cloud-controller-manager"
    }
  },
  "topologyDiscovery": {
    "type": "Prism",
    "topologyCategories": null
  },
  "enableCustomLabeling": true
}
`

// Installation returns what the installer leaves in a cluster on this Prism Central, with its CA beside the cloud
// configuration.
func (s *Server) Installation() *seed.Example {
	port, _ := strconv.ParseInt(s.Port(), 10, 32) // a listener has a number
	endpoint := configv1.NutanixPrismEndpoint{Address: s.Host(), Port: int32(port)}
	spec := &configv1.NutanixPlatformSpec{PrismCentral: endpoint}
	for _, zone := range zones {
		spec.PrismElements = append(spec.PrismElements,
			configv1.NutanixPrismElementEndpoint{Name: zone, Endpoint: endpoint})
	}
	return &seed.Example{
		Spec: configv1.PlatformSpec{Type: configv1.NutanixPlatformType, Nutanix: spec},
		Status: configv1.PlatformStatus{Type: configv1.NutanixPlatformType, Nutanix: &configv1.NutanixPlatformStatus{
			APIServerInternalIPs: []string{s.Host()}, IngressIPs: []string{s.Host()},
		}},
		CloudConfig: map[string]string{
			seed.CloudConfigKey: fmt.Sprintf(cloudConfig, s.Host(), s.Port()), seed.CABundleKey: string(s.CABundle()),
		},
		Credentials: s.Credentials(),
	}
}
