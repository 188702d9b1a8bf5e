package vsphere

import (
	"fmt"
	"net"

	configv1 "github.com/openshift/api/config/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/seed"
)

// cloudConfig is the installer's configuration, except that it requires the vCenter's certificate to be valid.
const cloudConfig = `global:
  insecureFlag: false
  secretName: vsphere-creds
  secretNamespace: kube-system
vcenter:
  %[1]s:
    server: %[1]s
    port: %[2]s
    datacenters:
    - ` + datacenter + `
labels:
  region: ` + regionCategory + `
  zone: ` + zoneCategory + `
`

// Installation returns what the installer leaves in a cluster on this vCenter, whose API is at the vCenter's address.
func (s *Server) Installation() *seed.Example {
	networks := []string{nodeNetwork(s.Host())}
	networking := configv1.VSpherePlatformNodeNetworkingSpec{NetworkSubnetCIDR: networks}
	spec := &configv1.VSpherePlatformSpec{
		// The port is in the cloud configuration alone: this field takes none above 32767, as those are that the kernel
		// chooses.
		VCenters:             []configv1.VSpherePlatformVCenterSpec{{Server: s.Host(), Datacenters: []string{datacenter}}},
		NodeNetworking:       configv1.VSpherePlatformNodeNetworking{Internal: networking, External: networking},
		APIServerInternalIPs: []configv1.IP{configv1.IP(s.Host())},
		IngressIPs:           []configv1.IP{configv1.IP(s.Host())},
		MachineNetworks:      []configv1.CIDR{configv1.CIDR(networks[0])},
	}
	for zone, name := range zones {
		spec.FailureDomains = append(spec.FailureDomains, configv1.VSpherePlatformFailureDomainSpec{
			Name: "domain-" + name, Region: Region, Zone: name, Server: s.Host(),
			Topology: configv1.VSpherePlatformTopology{
				Datacenter:     datacenter,
				ComputeCluster: fmt.Sprintf("/%s/host/%s", datacenter, clusterName(zone)),
				Datastore:      fmt.Sprintf("/%s/datastore/%s", datacenter, datastore),
				Networks:       []string{network},
			},
		})
	}
	return &seed.Example{
		Spec: configv1.PlatformSpec{Type: configv1.VSpherePlatformType, VSphere: spec},
		Status: configv1.PlatformStatus{Type: configv1.VSpherePlatformType, VSphere: &configv1.VSpherePlatformStatus{
			APIServerInternalIP:  s.Host(), //nolint:staticcheck // deprecated, but the installer still writes it
			IngressIP:            s.Host(), //nolint:staticcheck // see above
			APIServerInternalIPs: []string{s.Host()},
			IngressIPs:           []string{s.Host()},
			MachineNetworks:      spec.MachineNetworks,
		}},
		CloudConfig: map[string]string{
			seed.CloudConfigKey: fmt.Sprintf(cloudConfig, s.Host(), s.Port()), seed.CABundleKey: string(s.CABundle()),
		},
		Credentials: s.Credentials(),
	}
}

// nodeNetwork returns the network of the machines, which is the one of the vCenter.
func nodeNetwork(host string) string {
	mask := net.CIDRMask(24, 32)
	return (&net.IPNet{IP: net.ParseIP(host).To4().Mask(mask), Mask: mask}).String()
}
