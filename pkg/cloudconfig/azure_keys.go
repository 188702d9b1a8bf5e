package cloudconfig

import "slices"

// treeFieldsOf are fields of one type.
func treeFieldsOf(is treeType, names ...string) []treeField {
	fields := make([]treeField, len(names))
	for i, name := range names {
		fields[i] = treeField{name: name, is: is}
	}
	return fields
}

// azureLimits is Config in azclient's policy/ratelimit.
var azureLimits = slices.Concat(
	treeFieldsOf(boolTree, "cloudProviderRateLimit"),
	treeFieldsOf(floatTree, "cloudProviderRateLimitQPS", "cloudProviderRateLimitQPSWrite"),
	treeFieldsOf(intTree, "cloudProviderRateLimitBucket", "cloudProviderRateLimitBucketWrite"),
)

// labelSelector is LabelSelector of meta/v1.
var labelSelector = []treeField{
	{name: "matchLabels", is: mapTree, of: &treeField{}},
	{name: "matchExpressions", is: listTree, of: &treeField{is: objectTree, fields: []treeField{
		{name: "key"}, {name: "operator"}, {name: "values", is: listTree, of: &treeField{}},
	}}},
}

const legacyLimit = "the external provider has no limits of its own per kind of resource; cloudProviderRateLimit and its like still count"

// azureFields is what sigs.k8s.io/cloud-provider-azure v1.36.5 reads (Config in pkg/provider/config, and ARMClientConfig,
// AzureAuthConfig and the rate limits in pkg/azclient v0.21.0), and what the in-tree provider, which ended with Kubernetes
// v1.29, or older external ones read beyond that. Values that the provider refuses are listed; where it takes an unknown
// value for another one, see azureTolerated.
var azureFields = slices.Concat(
	[]treeField{
		{name: "cloud"},
		{name: "tenantId", secret: true}, // it may come from a Secret, as aadClientId may
		{name: "aadClientId", secret: true},
		{name: "subscriptionId", required: "write the ID of the cluster's subscription"},
		{name: "resourceGroup", required: "write the name of the cluster's resource group"},
		{name: "aadClientSecret", secret: true},
		{name: "aadClientCertPassword", secret: true},
		{name: "cloudConfigType", values: []string{"file", "secret", "merge"}},
		{name: "loadBalancerBackendPoolConfigurationType", values: []string{"nodeIPConfiguration", "nodeIP", "podIP"}, foldValues: true},
		{name: "clusterServiceLoadBalancerHealthProbeMode", values: []string{"shared", "servicenodeport"}, foldValues: true},
		{name: "clusterServiceSharedLoadBalancerHealthProbePort", is: intTree, bits: 32},
		{name: "tagsMap", is: mapTree, of: &treeField{}},
		{name: "auxiliaryTokenProvider", is: objectTree, fields: treeFieldsOf(textTree, "subscriptionID", "resourceGroup", "vaultName", "secretName")},
		{name: "Entries", is: mapTree, of: &treeField{is: objectTree, fields: azureLimits}},
		{name: "multipleStandardLoadBalancerConfigurations", is: listTree, of: &treeField{is: objectTree, fields: slices.Concat(
			treeFieldsOf(textTree, "name", "primaryVMSet"),
			treeFieldsOf(boolTree, "allowServicePlacement"),
			[]treeField{
				{name: "serviceLabelSelector", is: objectTree, fields: labelSelector},
				{name: "serviceNamespaceSelector", is: objectTree, fields: labelSelector},
				{name: "nodeSelector", is: objectTree, fields: labelSelector},
			},
			treeFieldsOf(anyTree, "activeServices", "activeNodes"),
		)}},
	},
	treeFieldsOf(textTree, "userAgent", "resourceManagerEndpoint", "networkResourceTenantID", "aadClientCertPath",
		"userAssignedIdentityID", "aadFederatedTokenFile", "aadMSIDataPlaneIdentityPath", "identitySystem",
		"networkResourceSubscriptionID", "location", "extendedLocationName", "extendedLocationType", "vnetName",
		"vnetResourceGroup", "subnetName", "securityGroupName", "securityGroupResourceGroup", "routeTableName",
		"routeTableResourceGroup", "primaryAvailabilitySetName", "vmType", "primaryScaleSetName", "tags", "systemTags",
		"loadBalancerSku", "loadBalancerName", "loadBalancerResourceGroup", "preConfiguredBackendPoolLoadBalancerTypes",
		"privateLinkServiceResourceGroup", "clusterServiceSharedLoadBalancerHealthProbePath"),
	treeFieldsOf(boolTree, "cloudProviderBackoff", "disableAzureStackCloud", "enableMinimumRetryAfter",
		"useManagedIdentityExtension", "useFederatedWorkloadIdentityExtension", "disableAPICallCache",
		"listVmssVirtualMachinesWithoutInstanceView", "disableAvailabilitySetNodes", "enableVmssFlexNodes", "useInstanceMetadata",
		"excludeMasterFromStandardLB", "disableOutboundSNAT", "enableMigrateToIPBasedBackendPoolAPI",
		"enableIPTagMutationForExistingPublicIP", "serviceGatewayEnabled"),
	treeFieldsOf(intTree, "cloudProviderBackoffRetries", "cloudProviderBackoffDuration", "nonVmssUniformNodesCacheTTLInSeconds",
		"vmssCacheTTLInSeconds", "vmssVirtualMachinesCacheTTLInSeconds", "vmssFlexCacheTTLInSeconds", "vmssFlexVMCacheTTLInSeconds",
		"vmCacheTTLInSeconds", "loadBalancerCacheTTLInSeconds", "nsgCacheTTLInSeconds", "routeTableCacheTTLInSeconds",
		"plsCacheTTLInSeconds", "availabilitySetsCacheTTLInSeconds", "publicIPCacheTTLInSeconds", "routeUpdateWaitingInSeconds",
		"maximumLoadBalancerRuleCount", "putVMSSVMBatchSize", "routeUpdateIntervalInSeconds",
		"loadBalancerBackendPoolUpdateIntervalInSeconds", "nodeInstanceNotFoundGracePeriodInSeconds"),
	treeFieldsOf(floatTree, "cloudProviderBackoffExponent", "cloudProviderBackoffJitter"),
	azureLimits,
	azureLegacy(legacyLimit, "routeRateLimit", "subnetsRateLimit", "interfaceRateLimit", "routeTableRateLimit", "loadBalancerRateLimit",
		"publicIPAddressRateLimit", "securityGroupRateLimit", "virtualMachineRateLimit", "storageAccountRateLimit", "diskRateLimit",
		"snapshotRateLimit", "virtualMachineScaleSetRateLimit", "virtualMachineSizesRateLimit", "availabilitySetRateLimit",
		"attachDetachDiskRateLimit", "containerServiceRateLimit", "deploymentRateLimit", "privateDNSRateLimit",
		"privateDNSZoneGroupRateLimit", "privateEndpointRateLimit", "privateLinkServiceRateLimit", "virtualNetworkRateLimit"),
)

// azureNodeManagerFields are what the cloud-node-manager reads with --use-instance-metadata=false, on Azure Stack Hub: how to log in
// to the resource manager, and how to find its own virtual machine there (pkg/nodemanager, pkg/node, and of pkg/provider what they
// call). It reads nothing about load balancers, networks and routes. It cannot do without a credential: the resource manager
// answers nobody who has not logged in, and the instance metadata service of Azure Stack Hub does not tell enough.
var azureNodeManagerFields = []string{
	"cloud", "disableAzureStackCloud", "identitySystem", "resourceManagerEndpoint", "tenantId", "subscriptionId", "userAgent",
	"aadClientId", "aadClientSecret", "useManagedIdentityExtension", "userAssignedIdentityID",
	"networkResourceTenantID", "networkResourceSubscriptionID",
	"cloudProviderBackoff", "cloudProviderBackoffRetries", "cloudProviderBackoffDuration", "cloudProviderBackoffExponent",
	"cloudProviderBackoffJitter", "cloudProviderRateLimit", "cloudProviderRateLimitQPS", "cloudProviderRateLimitBucket",
	"enableMinimumRetryAfter",
	"location", "resourceGroup", "vmType", "useInstanceMetadata", "disableAPICallCache",
	"disableAvailabilitySetNodes", "enableVmssFlexNodes", "listVmssVirtualMachinesWithoutInstanceView",
	"availabilitySetsCacheTTLInSeconds", "nonVmssUniformNodesCacheTTLInSeconds", "publicIPCacheTTLInSeconds",
	"vmCacheTTLInSeconds", "vmssCacheTTLInSeconds", "vmssVirtualMachinesCacheTTLInSeconds", "vmssFlexCacheTTLInSeconds",
	"vmssFlexVMCacheTTLInSeconds",
}

func azureLegacy(why string, names ...string) []treeField {
	fields := treeFieldsOf(anyTree, names...)
	for i := range fields {
		fields[i].legacy = why
	}
	return fields
}

// azureTolerated are values that the provider does not check: it takes an unknown one for another.
var azureTolerated = []struct {
	key    string
	values []string
	is     string
}{
	{"cloud", []string{"AzurePublicCloud", "AzureUSGovernmentCloud", "AzureChinaCloud", azureStackCloud, "AzureCloud", "AzureUSGovernment"}, "AzurePublicCloud"},
	{"vmType", []string{"standard", "vmss", "vmssflex"}, "standard"},
	{"loadBalancerSku", []string{"standard", "basic", "service"}, "basic"},
	{"preConfiguredBackendPoolLoadBalancerTypes", []string{"internal", "external", "all"}, "none of them"},
}

// azureEndpointsFields is Environment in pkg/azclient v0.21.0, which encoding/json reads from the file of
// AZURE_ENVIRONMENT_FILEPATH.
var azureEndpointsFields = slices.Concat(
	treeFieldsOf(textTree, "name", "managementPortalURL", "publishSettingsURL", "serviceManagementEndpoint", "resourceManagerEndpoint",
		"activeDirectoryEndpoint", "galleryEndpoint", "keyVaultEndpoint", "managedHSMEndpoint", "graphEndpoint", "serviceBusEndpoint",
		"batchManagementEndpoint", "microsoftGraphEndpoint", "storageEndpointSuffix", "cosmosDBDNSSuffix", "mariaDBDNSSuffix",
		"mySqlDatabaseDNSSuffix", "postgresqlDatabaseDNSSuffix", "sqlDatabaseDNSSuffix", "trafficManagerDNSSuffix",
		"keyVaultDNSSuffix", "managedHSMDNSSuffix", "serviceBusEndpointSuffix", "serviceManagementVMDNSSuffix",
		"resourceManagerVMDNSSuffix", "containerRegistryDNSSuffix", "tokenAudience", "apiManagementHostNameSuffix",
		"synapseEndpointSuffix", "datalakeSuffix"),
	[]treeField{{name: "resourceIdentifiers", is: objectTree, fields: treeFieldsOf(textTree, "graph", "keyVault", "datalake", "batch",
		"operationalInsights", "ossRDBMS", "storage", "synapse", "serviceBus", "sqlDatabase", "cosmosDB", "managedHSM", "microsoftGraph")}},
)
