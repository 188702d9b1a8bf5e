package azure

import (
	"bytes"
	"slices"
	"strings"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc"
)

// cloudNames are the names that the provider knows. It treats any other name as Azure's public cloud.
var cloudNames = []string{publicCloud, "AzureUSGovernmentCloud", "AzureChinaCloud", stackCloud, "AzureCloud",
	"AzureUSGovernment"}

// fieldsOf returns azureFields for a cluster. The cloud that Infrastructure names is valid even if it is unknown here,
// and so is any client secret that the credentials Secret replaces.
func fieldsOf(src clouds.Source) []confdoc.Field {
	fields := slices.Clone(azureFields)
	field := func(name string) *confdoc.Field {
		return &fields[slices.IndexFunc(fields, func(f confdoc.Field) bool { return f.Name == name })]
	}
	status := src.Cluster.Status.Azure
	if status != nil && status.CloudName != "" && !slices.Contains(cloudNames, string(status.CloudName)) {
		field("cloud").Values = append(slices.Clone(cloudNames), string(status.CloudName))
	}
	if !src.CredentialsUnknown && len(bytes.TrimSpace(src.Credentials[clientSecretKey])) > 0 {
		field("aadClientSecret").Is = confdoc.Any
	}
	return fields
}

const (
	onlyName     = "only a name, not the ID of the resource"
	subscription = "the ID of a subscription, such as 01234567-89ab-cdef-0123-456789abcdef"
)

// isName reports whether the text can be the name of a resource or resource group, which has no slash
// (https://learn.microsoft.com/azure/azure-resource-manager/management/resource-name-rules). The provider inserts the
// name into the ID of the resource.
func isName(text string) bool { return !strings.Contains(text, "/") }

// isGUID reports whether the text has the form of a subscription ID: the resource manager rejects any other form. Zeros
// alone are a placeholder.
func isGUID(text string) bool {
	return confdoc.IsUUID(text) && strings.Contains(text, "-") && strings.Trim(text, "0-") != ""
}

// isVMType reports whether the text is a type that the provider knows, or another name of standard.
func isVMType(text string) bool {
	return slices.Contains([]string{"standard", "vmss", "vmssflex"}, strings.ToLower(text)) || isAvailabilitySet(text)
}

func isAvailabilitySet(vmType string) bool {
	return slices.Contains([]string{"availabilityset", "vmas"}, strings.ToLower(vmType))
}

func areTags(text string) bool {
	isNone := func(tag string) bool {
		name, _, _ := strings.Cut(tag, "=")
		return tag != "" && (strings.Count(tag, "=") != 1 || strings.TrimSpace(name) == "")
	}
	return !slices.ContainsFunc(strings.Split(text, ","), isNone)
}

// isIdentity reports whether the text can name a managed identity. The provider takes a text with /subscriptions/ for a
// resource ID, and any other for a client ID (GetManagedIdentityCredential in pkg/azclient/auth.go).
func isIdentity(text string) bool {
	return isGUID(text) || strings.Contains(strings.ToUpper(text), "/SUBSCRIPTIONS/")
}

// limits are the fields of Config in azclient's policy/ratelimit.
var limits = slices.Concat(
	confdoc.FieldsOf(confdoc.Bool, "cloudProviderRateLimit"),
	confdoc.FieldsOf(confdoc.Float, "cloudProviderRateLimitQPS", "cloudProviderRateLimitQPSWrite"),
	confdoc.FieldsOf(confdoc.Int, "cloudProviderRateLimitBucket", "cloudProviderRateLimitBucketWrite"),
)

// labelSelector are the fields of LabelSelector in meta/v1.
var labelSelector = []confdoc.Field{
	{Name: "matchLabels", Is: confdoc.Map, Of: &confdoc.Field{}},
	{Name: "matchExpressions", Is: confdoc.List, Of: &confdoc.Field{Is: confdoc.Object, Fields: []confdoc.Field{
		{Name: "key"}, {Name: "operator", Passed: true, Values: []string{"In", "NotIn", "Exists", "DoesNotExist"}},
		{Name: "values", Is: confdoc.List, Of: &confdoc.Field{}},
	}}},
}

const legacyLimit = "the cloud-controller-manager has no rate limits per resource type; " +
	"cloudProviderRateLimit and the keys that start with it still apply"

// azureFields are the keys that sigs.k8s.io/cloud-provider-azure v1.36.5 reads (Config in pkg/provider/config, and
// ARMClientConfig, AzureAuthConfig and the rate limits in pkg/azclient v0.21.0), and the keys that only older external
// providers read, or the in-tree provider, which ended with Kubernetes v1.29. Values are the values that the provider
// accepts. Fallback is the value as which the provider interprets an unknown one.
var azureFields = slices.Concat(
	[]confdoc.Field{
		{Name: "cloud", FoldValues: true, TrimValues: true, Fallback: publicCloud, Values: cloudNames},
		{Name: "vmType", Valid: isVMType, Passed: true,
			Hint: "standard, vmss or vmssflex: the cloud-controller-manager uses standard instead"},
		{Name: "loadBalancerSku", FoldValues: true, Fallback: "basic", Values: []string{"standard", "basic", "service"}},
		{Name: "preConfiguredBackendPoolLoadBalancerTypes", FoldValues: true, Fallback: "none of them",
			Values: []string{"internal", "external", "all"}},
		{Name: "resourceManagerEndpoint", Schemes: []string{"https", "http"}},
		{Name: "excludeMasterFromStandardLB", Is: confdoc.Bool, Pointer: true},
		{Name: "disableOutboundSNAT", Is: confdoc.Bool, Pointer: true},
		{Name: "tenantId", Secret: true}, // like aadClientId, it may come from a Secret
		{Name: "aadClientId", Secret: true},
		{Name: "subscriptionId", Required: "write the ID of the cluster's subscription", Valid: isGUID, Passed: true,
			Hint: subscription},
		{Name: "networkResourceSubscriptionID", Valid: isGUID, Passed: true, Hint: subscription},
		{Name: "resourceGroup", Required: "write the name of the cluster's resource group", Valid: isName, Passed: true,
			Hint: onlyName},
		{Name: "userAssignedIdentityID", Valid: isIdentity, Passed: true,
			Hint: "the client ID or the full resource ID of a managed identity"},
		{Name: "aadClientSecret", Secret: true},
		{Name: "aadClientCertPassword", Secret: true},
		{Name: "cloudConfigType", FoldValues: true, Values: []string{"file", "secret", "merge"}},
		{Name: poolType, FoldValues: true, Values: []string{"nodeIPConfiguration", "nodeIP", "podIP"}},
		{Name: probeMode, FoldValues: true, Values: []string{"shared", "servicenodeport"}},
		{Name: "clusterServiceSharedLoadBalancerHealthProbePort", Is: confdoc.Int, Passed: true, Bits: 32,
			Max: confdoc.MaxPort, ZeroUnset: true},
		{Name: "tagsMap", Is: confdoc.Map, Of: &confdoc.Field{}},
		{Name: "auxiliaryTokenProvider", Is: confdoc.Object, Pointer: true,
			Fields: confdoc.FieldsOf(confdoc.Text, "subscriptionID", "resourceGroup", "vaultName", "secretName")},
		{Name: "Entries", Is: confdoc.Map, Of: &confdoc.Field{Is: confdoc.Object, Fields: limits}},
		{Name: multiple, Is: confdoc.List,
			Of: &confdoc.Field{Is: confdoc.Object, Fields: slices.Concat(
				confdoc.FieldsOf(confdoc.Text, "name", "primaryVMSet"),
				confdoc.Field{Is: confdoc.Bool, Pointer: true}.For("allowServicePlacement"),
				confdoc.Field{Is: confdoc.Object, Pointer: true, Fields: labelSelector}.
					For("serviceLabelSelector", "serviceNamespaceSelector", "nodeSelector"),
				confdoc.FieldsOf(confdoc.Any, "activeServices", "activeNodes"),
			)}},
	},
	confdoc.Field{Valid: isName, Passed: true, Hint: onlyName}.For("vnetName", "vnetResourceGroup", "subnetName",
		"securityGroupName", "securityGroupResourceGroup", "routeTableName", "routeTableResourceGroup",
		"loadBalancerResourceGroup", "privateLinkServiceResourceGroup"),
	confdoc.FieldsOf(confdoc.Text, "userAgent", "networkResourceTenantID", "aadClientCertPath",
		"aadFederatedTokenFile", "aadMSIDataPlaneIdentityPath", "identitySystem",
		"location", "extendedLocationName", "extendedLocationType"),
	confdoc.Field{Valid: isName, Passed: true, Hint: onlyName}.For("primaryAvailabilitySetName", "primaryScaleSetName"),
	// parseTags in pkg/provider/azure_utils.go ignores other elements.
	confdoc.Field{Valid: areTags, Passed: true, Hint: "tags of the form name=value, separated by commas"}.For("tags"),
	confdoc.FieldsOf(confdoc.Text, "systemTags"),
	confdoc.Field{Valid: isName, Passed: true, Hint: onlyName}.For("loadBalancerName"),
	confdoc.FieldsOf(confdoc.Text, "clusterServiceSharedLoadBalancerHealthProbePath"),
	confdoc.FieldsOf(confdoc.Bool, "cloudProviderBackoff", "disableAzureStackCloud", "enableMinimumRetryAfter",
		"useManagedIdentityExtension", "useFederatedWorkloadIdentityExtension", "disableAPICallCache",
		"listVmssVirtualMachinesWithoutInstanceView", "disableAvailabilitySetNodes", "enableVmssFlexNodes",
		"useInstanceMetadata", "enableMigrateToIPBasedBackendPoolAPI", "enableIPTagMutationForExistingPublicIP",
		"serviceGatewayEnabled"),
	confdoc.FieldsOf(confdoc.Int, "cloudProviderBackoffRetries", "cloudProviderBackoffDuration",
		"nonVmssUniformNodesCacheTTLInSeconds", "vmssCacheTTLInSeconds", "vmssVirtualMachinesCacheTTLInSeconds",
		"vmssFlexCacheTTLInSeconds", "vmssFlexVMCacheTTLInSeconds", "vmCacheTTLInSeconds",
		"loadBalancerCacheTTLInSeconds", "nsgCacheTTLInSeconds", "routeTableCacheTTLInSeconds", "plsCacheTTLInSeconds",
		"availabilitySetsCacheTTLInSeconds", "publicIPCacheTTLInSeconds", "routeUpdateWaitingInSeconds",
		"maximumLoadBalancerRuleCount", "putVMSSVMBatchSize", "routeUpdateIntervalInSeconds",
		"loadBalancerBackendPoolUpdateIntervalInSeconds", "nodeInstanceNotFoundGracePeriodInSeconds"),
	confdoc.FieldsOf(confdoc.Float, "cloudProviderBackoffExponent", "cloudProviderBackoffJitter"),
	limits,
	confdoc.Dropped(legacyLimit, "routeRateLimit", "subnetsRateLimit", "interfaceRateLimit", "routeTableRateLimit",
		"loadBalancerRateLimit", "publicIPAddressRateLimit", "securityGroupRateLimit", "virtualMachineRateLimit",
		"storageAccountRateLimit", "diskRateLimit", "snapshotRateLimit", "virtualMachineScaleSetRateLimit",
		"virtualMachineSizesRateLimit", "availabilitySetRateLimit", "attachDetachDiskRateLimit",
		"containerServiceRateLimit", "deploymentRateLimit", "privateDNSRateLimit", "privateDNSZoneGroupRateLimit",
		"privateEndpointRateLimit", "privateLinkServiceRateLimit", "virtualNetworkRateLimit"),
)

// nodeManagerFields are the keys that the cloud-node-manager reads with --use-instance-metadata=false, on Azure Stack
// Hub: how to log in to the resource manager, and how to find its own virtual machine there (pkg/nodemanager, pkg/node,
// and the parts of pkg/provider that they call). It reads nothing about load balancers, networks and routes. It needs a
// credential because the resource manager rejects unauthenticated requests, and the instance metadata service of Azure
// Stack Hub does not provide enough information.
var nodeManagerFields = []string{
	"cloud", "disableAzureStackCloud", "identitySystem", "resourceManagerEndpoint", "tenantId", "subscriptionId",
	"userAgent", "aadClientId", "aadClientSecret", "useManagedIdentityExtension", "userAssignedIdentityID",
	"networkResourceTenantID", "networkResourceSubscriptionID",
	"cloudProviderBackoff", "cloudProviderBackoffRetries", "cloudProviderBackoffDuration",
	"cloudProviderBackoffExponent", "cloudProviderBackoffJitter", "cloudProviderRateLimit", "cloudProviderRateLimitQPS",
	"cloudProviderRateLimitBucket",
	"enableMinimumRetryAfter",
	"location", "resourceGroup", "vmType", "useInstanceMetadata", "disableAPICallCache",
	"disableAvailabilitySetNodes", "enableVmssFlexNodes", "listVmssVirtualMachinesWithoutInstanceView",
	"availabilitySetsCacheTTLInSeconds", "nonVmssUniformNodesCacheTTLInSeconds", "publicIPCacheTTLInSeconds",
	"vmCacheTTLInSeconds", "vmssCacheTTLInSeconds", "vmssVirtualMachinesCacheTTLInSeconds", "vmssFlexCacheTTLInSeconds",
	"vmssFlexVMCacheTTLInSeconds",
}

// endpointsFields are the fields of Environment in pkg/azclient v0.21.0, which encoding/json reads from the file that
// AZURE_ENVIRONMENT_FILEPATH names.
var endpointsFields = slices.Concat(
	confdoc.FieldsOf(confdoc.Text, "name", "managementPortalURL", "publishSettingsURL", "serviceManagementEndpoint",
		"galleryEndpoint", "keyVaultEndpoint", "managedHSMEndpoint", "graphEndpoint", "serviceBusEndpoint",
		"batchManagementEndpoint", "microsoftGraphEndpoint", "storageEndpointSuffix", "cosmosDBDNSSuffix",
		"mariaDBDNSSuffix", "mySqlDatabaseDNSSuffix", "postgresqlDatabaseDNSSuffix", "sqlDatabaseDNSSuffix",
		"trafficManagerDNSSuffix", "keyVaultDNSSuffix", "managedHSMDNSSuffix", "serviceBusEndpointSuffix",
		"serviceManagementVMDNSSuffix", "resourceManagerVMDNSSuffix", "containerRegistryDNSSuffix", "tokenAudience",
		"apiManagementHostNameSuffix", "synapseEndpointSuffix", "datalakeSuffix"),
	// The SDK does not send tokens without TLS.
	confdoc.Field{Schemes: []string{"https"}}.For("resourceManagerEndpoint", "activeDirectoryEndpoint"),
	[]confdoc.Field{
		{Name: "resourceIdentifiers", Is: confdoc.Object,
			Fields: confdoc.FieldsOf(confdoc.Text, "graph", "keyVault", "datalake", "batch", "operationalInsights",
				"ossRDBMS", "storage", "synapse", "serviceBus", "sqlDatabase", "cosmosDB", "managedHSM", "microsoftGraph")},
	},
)
