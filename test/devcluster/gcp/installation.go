package gcp

import (
	"strings"

	configv1 "github.com/openshift/api/config/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/seed"
)

// cloudConfig is the installer's configuration. It names neither a zone nor the network: the metadata server does.
const cloudConfig = `[global]
project-id      = ` + projectID + `
regional        = true
multizone       = true
{tags}
node-instance-prefix = ` + resourcePrefix + `
external-instance-groups-prefix = ` + resourcePrefix + `
subnetwork-name = ` + subnetworkName + `
network-project-id = ` + projectID + `
firewall-rules-management = Enabled
`

// Installation returns what the installer leaves in a cluster on this cloud. Google Cloud has public CAs, so an
// administrator must have made Proxy trust another one, as for a proxy that replaces certificates.
func (s *Server) Installation() *seed.Example {
	tags := "node-tags       = " + strings.Join(nodeTags, "\nnode-tags       = ")
	return &seed.Example{
		Spec: configv1.PlatformSpec{Type: configv1.GCPPlatformType, GCP: &configv1.GCPPlatformSpec{}},
		Status: configv1.PlatformStatus{Type: configv1.GCPPlatformType,
			GCP: &configv1.GCPPlatformStatus{ProjectID: projectID, Region: region}},
		CloudConfig: map[string]string{seed.CloudConfigKey: strings.Replace(cloudConfig, "{tags}", tags, 1)},
		TrustedCA:   string(s.CABundle()),
		Credentials: s.Credentials(),
	}
}
