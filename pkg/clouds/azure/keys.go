package azure

import (
	"slices"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc"
)

// limits is Config in azclient's policy/ratelimit.
var limits = slices.Concat(
	confdoc.FieldsOf(confdoc.BoolTree, "cloudProviderRateLimit"),
	confdoc.FieldsOf(confdoc.FloatTree, "cloudProviderRateLimitQPS", "cloudProviderRateLimitQPSWrite"),
	confdoc.FieldsOf(confdoc.IntTree, "cloudProviderRateLimitBucket", "cloudProviderRateLimitBucketWrite"),
)

// labelSelector is LabelSelector of meta/v1.
var labelSelector = []confdoc.Field{
	{Name: "matchLabels", Is: confdoc.MapTree, Of: &confdoc.Field{}},
	{Name: "matchExpressions", Is: confdoc.ListTree, Of: &confdoc.Field{Is: confdoc.ObjectTree, Fields: []confdoc.Field{
		{Name: "key"}, {Name: "operator"}, {Name: "values", Is: confdoc.ListTree, Of: &confdoc.Field{}},
	}}},
}

const legacyLimit = "the external provider has no limits of its own per kind of resource; cloudProviderRateLimit and its like still count"

// azureFields is what sigs.k8s.io/cloud-provider-azure v1.36.5 reads (Config in pkg/provider/config, and ARMClientConfig,
// AzureAuthConfig and the rate limits in pkg/azclient v0.21.0), and what the in-tree provider, which ended with Kubernetes
// v1.29, or older external ones read beyond that. Values that the provider refuses are listed; where it takes an unknown
// value for another one, see azureTolerated.
var azureFields = slices.Concat(
	[]confdoc.Field{
		{Name: "cloud"},
		{Name: "tenantId", Secret: true}, // it may come from a Secret, as aadClientId may
		{Name: "aadClientId", Secret: true},
		{Name: "subscriptionId", Required: "write the ID of the cluster's subscription"},
		{Name: "resourceGroup", Required: "write the name of the cluster's resource group"},
		{Name: "aadClientSecret", Secret: true},
		{Name: "aadClientCertPassword", Secret: true},
		{Name: "cloudConfigType", Values: []string{"file", "secret", "merge"}},
		{Name: "loadBalancerBackendPoolConfigurationType", Values: []string{"nodeIPConfiguration", "nodeIP", "podIP"}, FoldValues: true},
		{Name: "clusterServiceLoadBalancerHealthProbeMode", Values: []string{"shared", "servicenodeport"}, FoldValues: true},
		{Name: "clusterServiceSharedLoadBalancerHealthProbePort", Is: confdoc.IntTree, Bits: 32},
		{Name: "tagsMap", Is: confdoc.MapTree, Of: &confdoc.Field{}},
		{Name: "auxiliaryTokenProvider", Is: confdoc.ObjectTree, Fields: confdoc.FieldsOf(confdoc.TextTree, "subscriptionID", "resourceGroup", "vaultName", "secretName")},
		{Name: "Entries", Is: confdoc.MapTree, Of: &confdoc.Field{Is: confdoc.ObjectTree, Fields: limits}},
		{Name: "multipleStandardLoadBalancerConfigurations", Is: confdoc.ListTree, Of: &confdoc.Field{Is: confdoc.ObjectTree, Fields: slices.Concat(
			confdoc.FieldsOf(confdoc.TextTree, "name", "primaryVMSet"),
			confdoc.FieldsOf(confdoc.BoolTree, "allowServicePlacement"),
			[]confdoc.Field{
				{Name: "serviceLabelSelector", Is: confdoc.ObjectTree, Fields: labelSelector},
				{Name: "serviceNamespaceSelector", Is: confdoc.ObjectTree, Fields: labelSelector},
				{Name: "nodeSelector", Is: confdoc.ObjectTree, Fields: labelSelector},
			},
			confdoc.FieldsOf(confdoc.AnyTree, "activeServices", "activeNodes"),
		)}},
	},
	confdoc.FieldsOf(confdoc.TextTree, "userAgent", "resourceManagerEndpoint", "networkResourceTenantID", "aadClientCertPath",
		"userAssignedIdentityID", "aadFederatedTokenFile", "aadMSIDataPlaneIdentityPath", "identitySystem",
		"networkResourceSubscriptionID", "location", "extendedLocationName", "extendedLocationType", "vnetName",
		"vnetResourceGroup", "subnetName", "securityGroupName", "securityGroupResourceGroup", "routeTableName",
		"routeTableResourceGroup", "primaryAvailabilitySetName", "vmType", "primaryScaleSetName", "tags", "systemTags",
		"loadBalancerSku", "loadBalancerName", "loadBalancerResourceGroup", "preConfiguredBackendPoolLoadBalancerTypes",
		"privateLinkServiceResourceGroup", "clusterServiceSharedLoadBalancerHealthProbePath"),
	confdoc.FieldsOf(confdoc.BoolTree, "cloudProviderBackoff", "disableAzureStackCloud", "enableMinimumRetryAfter",
		"useManagedIdentityExtension", "useFederatedWorkloadIdentityExtension", "disableAPICallCache",
		"listVmssVirtualMachinesWithoutInstanceView", "disableAvailabilitySetNodes", "enableVmssFlexNodes", "useInstanceMetadata",
		"excludeMasterFromStandardLB", "disableOutboundSNAT", "enableMigrateToIPBasedBackendPoolAPI",
		"enableIPTagMutationForExistingPublicIP", "serviceGatewayEnabled"),
	confdoc.FieldsOf(confdoc.IntTree, "cloudProviderBackoffRetries", "cloudProviderBackoffDuration", "nonVmssUniformNodesCacheTTLInSeconds",
		"vmssCacheTTLInSeconds", "vmssVirtualMachinesCacheTTLInSeconds", "vmssFlexCacheTTLInSeconds", "vmssFlexVMCacheTTLInSeconds",
		"vmCacheTTLInSeconds", "loadBalancerCacheTTLInSeconds", "nsgCacheTTLInSeconds", "routeTableCacheTTLInSeconds",
		"plsCacheTTLInSeconds", "availabilitySetsCacheTTLInSeconds", "publicIPCacheTTLInSeconds", "routeUpdateWaitingInSeconds",
		"maximumLoadBalancerRuleCount", "putVMSSVMBatchSize", "routeUpdateIntervalInSeconds",
		"loadBalancerBackendPoolUpdateIntervalInSeconds", "nodeInstanceNotFoundGracePeriodInSeconds"),
	confdoc.FieldsOf(confdoc.FloatTree, "cloudProviderBackoffExponent", "cloudProviderBackoffJitter"),
	limits,
	azureLegacy(legacyLimit, "routeRateLimit", "subnetsRateLimit", "interfaceRateLimit", "routeTableRateLimit", "loadBalancerRateLimit",
		"publicIPAddressRateLimit", "securityGroupRateLimit", "virtualMachineRateLimit", "storageAccountRateLimit", "diskRateLimit",
		"snapshotRateLimit", "virtualMachineScaleSetRateLimit", "virtualMachineSizesRateLimit", "availabilitySetRateLimit",
		"attachDetachDiskRateLimit", "containerServiceRateLimit", "deploymentRateLimit", "privateDNSRateLimit",
		"privateDNSZoneGroupRateLimit", "privateEndpointRateLimit", "privateLinkServiceRateLimit", "virtualNetworkRateLimit"),
)

// nodeManagerFields are what the cloud-node-manager reads with --use-instance-metadata=false, on Azure Stack Hub: how to log in
// to the resource manager, and how to find its own virtual machine there (pkg/nodemanager, pkg/node, and of pkg/provider what they
// call). It reads nothing about load balancers, networks and routes. It cannot do without a credential: the resource manager
// answers nobody who has not logged in, and the instance metadata service of Azure Stack Hub does not tell enough.
var nodeManagerFields = []string{
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

func azureLegacy(why string, names ...string) []confdoc.Field {
	fields := confdoc.FieldsOf(confdoc.AnyTree, names...)
	for i := range fields {
		fields[i].Legacy = why
	}
	return fields
}

// tolerated are values that the provider does not check: it takes an unknown one for another.
var tolerated = []struct {
	key    string
	values []string
	is     string
}{
	{"cloud", []string{"AzurePublicCloud", "AzureUSGovernmentCloud", "AzureChinaCloud", stackCloud, "AzureCloud", "AzureUSGovernment"}, "AzurePublicCloud"},
	{"vmType", []string{"standard", "vmss", "vmssflex"}, "standard"},
	{"loadBalancerSku", []string{"standard", "basic", "service"}, "basic"},
	{"preConfiguredBackendPoolLoadBalancerTypes", []string{"internal", "external", "all"}, "none of them"},
}

// endpointsFields is Environment in pkg/azclient v0.21.0, which encoding/json reads from the file of
// AZURE_ENVIRONMENT_FILEPATH.
var endpointsFields = slices.Concat(
	confdoc.FieldsOf(confdoc.TextTree, "name", "managementPortalURL", "publishSettingsURL", "serviceManagementEndpoint", "resourceManagerEndpoint",
		"activeDirectoryEndpoint", "galleryEndpoint", "keyVaultEndpoint", "managedHSMEndpoint", "graphEndpoint", "serviceBusEndpoint",
		"batchManagementEndpoint", "microsoftGraphEndpoint", "storageEndpointSuffix", "cosmosDBDNSSuffix", "mariaDBDNSSuffix",
		"mySqlDatabaseDNSSuffix", "postgresqlDatabaseDNSSuffix", "sqlDatabaseDNSSuffix", "trafficManagerDNSSuffix",
		"keyVaultDNSSuffix", "managedHSMDNSSuffix", "serviceBusEndpointSuffix", "serviceManagementVMDNSSuffix",
		"resourceManagerVMDNSSuffix", "containerRegistryDNSSuffix", "tokenAudience", "apiManagementHostNameSuffix",
		"synapseEndpointSuffix", "datalakeSuffix"),
	[]confdoc.Field{{Name: "resourceIdentifiers", Is: confdoc.ObjectTree, Fields: confdoc.FieldsOf(confdoc.TextTree, "graph", "keyVault", "datalake", "batch",
		"operationalInsights", "ossRDBMS", "storage", "synapse", "serviceBus", "sqlDatabase", "cosmosDB", "managedHSM", "microsoftGraph")}},
)
