package azure

import (
	"fmt"
	"net/http"

	configv1 "github.com/openshift/api/config/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/seed"
)

// common is what the installer writes about every cluster's resources.
const common = `
  "subscriptionId": "` + subscriptionID + `",
  "resourceGroup": "` + resourceGroup + `",
  "vnetName": "` + resourcePrefix + `-vnet",
  "vnetResourceGroup": "` + resourceGroup + `",
  "subnetName": "` + resourcePrefix + `-worker-subnet",
  "securityGroupName": "` + resourcePrefix + `-nsg",
  "routeTableName": "` + resourcePrefix + `-node-routetable",`

// publicConfig is the installer's configuration on Azure.
const publicConfig = `{
  "cloud": "AzurePublicCloud",
  "tenantId": %q,
  "location": %q,` + common + `
  "useManagedIdentityExtension": true,
  "userAssignedIdentityID": "",
  "cloudProviderBackoff": true,
  "cloudProviderBackoffDuration": 6,
  "useInstanceMetadata": true,
  "loadBalancerSku": "standard",
  "excludeMasterFromStandardLB": false
}
`

// stackConfig is the installer's configuration on an Azure Stack Hub.
const stackConfig = `{
  "cloud": "AzureStackCloud",
  "tenantId": %q,
  "location": %q,` + common + `
  "useManagedIdentityExtension": false,
  "useInstanceMetadata": false,
  "loadBalancerSku": "basic",
  "resourceManagerEndpoint": %q
}
`

// stackEndpoints is the file with an Azure Stack Hub's endpoints that the installer adds.
const stackEndpoints = `{
  "name": "AzureStackCloud",
  "resourceManagerEndpoint": %q,
  "tokenAudience": %q,
  "activeDirectoryEndpoint": %q,
  "storageEndpointSuffix": "local.azurestack.example.com",
  "keyVaultDNSSuffix": "vault.local.azurestack.example.com"
}
`

// Installation returns what the installer leaves in a cluster on this cloud. The CA of an Azure Stack Hub belongs to
// the cloud's configuration. Azure has public CAs, so an administrator must have made Proxy trust another one, as for
// a proxy that replaces certificates.
func (s *Server) Installation() *seed.Example {
	status := &configv1.AzurePlatformStatus{
		ResourceGroupName: resourceGroup, NetworkResourceGroupName: resourceGroup, CloudName: configv1.AzurePublicCloud,
	}
	files := map[string]string{
		seed.CloudConfigKey: fmt.Sprintf(publicConfig, s.cloud.tenant, s.cloud.location),
	}
	trusted := string(s.CABundle())
	if s.stack {
		files[seed.CABundleKey], trusted = trusted, ""
		manager := s.url(s.cloud.manager, "")
		status.CloudName, status.ARMEndpoint = configv1.AzureStackCloud, manager
		files[seed.CloudConfigKey] = fmt.Sprintf(stackConfig, s.cloud.tenant, s.cloud.location, manager)
		files["endpoints"] = fmt.Sprintf(stackEndpoints, manager+"/", s.cloud.audiences[0], s.loginURL())
	}
	return &seed.Example{
		Spec:        configv1.PlatformSpec{Type: configv1.AzurePlatformType, Azure: &configv1.AzurePlatformSpec{}},
		Status:      configv1.PlatformStatus{Type: configv1.AzurePlatformType, Azure: status},
		CloudConfig: files,
		TrustedCA:   trusted,
		Credentials: s.Credentials(),
	}
}

// loginURL returns the login endpoint of an Azure Stack Hub, as its administrator is told.
func (s *Server) loginURL() string { return s.url(s.cloud.login, "/"+s.cloud.tenant) }

// getCloud answers with the login of an Azure Stack Hub, which clients ask for before they log in.
func (s *Server) getCloud(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, []any{map[string]any{
		"name":            "AzureStackCloud",
		"resourceManager": s.url(s.cloud.manager, "/"),
		"authentication":  map[string]any{"audiences": s.cloud.audiences, "loginEndpoint": s.loginURL()},
		"suffixes":        map[string]any{"storage": "local.azurestack.example.com"},
	}})
}
