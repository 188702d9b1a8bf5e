package openstack

import (
	configv1 "github.com/openshift/api/config/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/utils/ptr"

	ccmv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/build"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/machines"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/seed"
)

// cloudConfig is the installer's configuration for a cloud with a private CA.
const cloudConfig = `[Global]
secret-name = openstack-credentials
secret-namespace = kube-system
region = RegionOne
ca-file = /etc/kubernetes/static-pod-resources/configmaps/cloud-config/ca-bundle.pem

[LoadBalancer]
use-octavia = True
`

// externalCloudConfig is the configuration that docs/external.md gives an administrator of platform External.
const externalCloudConfig = `[Global]
use-clouds = true
clouds-file = /etc/kubernetes/static-pod-resources/secrets/cloud-credentials/clouds.yaml
cloud = openstack
ca-file = /etc/kubernetes/static-pod-resources/configmaps/cloud-config/ca-bundle.pem
`

// The objects that spec.custom names on platform External.
const (
	ExternalCloudConfig = "acme-cloud-config"
	ExternalCredentials = "acme-credentials"
)

// Installation returns what the installer leaves in a cluster on this cloud, whose API is at the server's address.
func (s *Server) Installation() *seed.Example {
	if s.external {
		return s.externalInstallation()
	}
	return &seed.Example{
		Spec: configv1.PlatformSpec{Type: configv1.OpenStackPlatformType, OpenStack: &configv1.OpenStackPlatformSpec{}},
		Status: configv1.PlatformStatus{Type: configv1.OpenStackPlatformType,
			OpenStack: &configv1.OpenStackPlatformStatus{
				CloudName:            cloudName,
				APIServerInternalIPs: []string{s.Host()},
				IngressIPs:           []string{s.Host()},
			}},
		CloudConfig: map[string]string{seed.CloudConfigKey: cloudConfig, seed.CABundleKey: string(s.CABundle())},
		Credentials: s.Credentials(),
	}
}

// externalInstallation returns what a cluster has whose administrator gives the cloud-controller-manager of this cloud
// as spec.custom, without its image.
func (s *Server) externalInstallation() *seed.Example {
	return &seed.Example{
		Spec: configv1.PlatformSpec{Type: configv1.ExternalPlatformType,
			External: &configv1.ExternalPlatformSpec{PlatformName: "Acme"}},
		Status: configv1.PlatformStatus{Type: configv1.ExternalPlatformType,
			External: &configv1.ExternalPlatformStatus{CloudControllerManager: configv1.CloudControllerManagerStatus{
				State: configv1.CloudControllerManagerExternal}}},
		CloudConfig: map[string]string{seed.CloudConfigKey: externalCloudConfig, seed.CABundleKey: string(s.CABundle())},
		Credentials: s.Credentials(),
		Custom: &ccmv1.CustomCloudControllerManager{
			Command:     []string{build.OpenStack().Path},
			Args:        []string{"--cloud-provider=openstack"},
			CloudConfig: ccmv1.CustomCloudControllerManagerCloudConfig{Name: ExternalCloudConfig, Key: ptr.To("cloud.conf")},
			Secrets:     []ccmv1.CustomCloudControllerManagerSecret{{Name: ExternalCredentials}},
		},
		// The provider notes in a Service what it built for it (PatchService in pkg/util/util.go).
		Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"services"}, Verbs: []string{"patch"}}},
	}
}

// SetInstances makes the cloud have a server for each machine. It returns no error.
func (s *Server) SetInstances(wanted []machines.Instance) error {
	instances := make([]Instance, 0, len(wanted))
	for _, machine := range wanted {
		instances = append(instances, Instance{Name: machine.Name, Addresses: machine.Addresses})
	}
	s.SetServers(instances)
	return nil
}

// ProviderID is the one that the cloud-controller-manager gives the Node of a server.
func (s *Server) ProviderID(name string) string { return "openstack:///" + InstanceID(name) }

// Region returns the region of all servers.
func (s *Server) Region() string { return region }

// Zone returns the availability zone of a server.
func (s *Server) Zone(name string) string {
	for _, instance := range s.servers(func(i Instance) bool { return i.Name == name }) {
		return instance.Zone
	}
	return ""
}

// SystemUUID returns the UUID that Nova gives the firmware of a server.
func (s *Server) SystemUUID(name string) string { return InstanceID(name) }
