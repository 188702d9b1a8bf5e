// Package azure rewrites configurations for cloud-provider-azure, on Azure and on Azure Stack Hub.
package azure

import (
	"cmp"
	"slices"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

const (
	publicCloud = string(configv1.AzurePublicCloud)
	stackCloud  = string(configv1.AzureStackCloud)
	// endpointsKey is the ConfigMap's key, and the delivered file, with the endpoints of an Azure Stack Hub.
	endpointsKey = "endpoints"
	statusField  = "status.platformStatus.azure."

	multiple  = "multipleStandardLoadBalancerConfigurations"
	poolType  = "loadBalancerBackendPoolConfigurationType"
	probeMode = "clusterServiceLoadBalancerHealthProbeMode"
)

type rewriter struct {
	clouds.Run
	stack bool
	// noNetworkLogin means that the login in the network's tenant has already been rejected.
	noNetworkLogin bool
	// status is empty if Infrastructure has none.
	status configv1.AzurePlatformStatus
	// tokens, kept and untried are copied to the Result.
	tokens  []clouds.Token
	kept    map[string]string
	untried string
}

// Rewrite checks and rewrites a cloud.conf for Azure and merges the credentials into it.
//
// The text is what sigs.k8s.io/cloud-provider-azure v1.36.5 reads with sigs.k8s.io/yaml. Rewrite reports everything
// that the provider would reject. It makes the following changes:
//
//   - It sets cloud if the user left it empty.
//   - It defaults vmType to standard, because the provider's own default is scale sets.
//   - It defaults clusterServiceLoadBalancerHealthProbeMode to shared: all Services that every node can serve share
//     one health probe.
//   - It makes the provider log in with the credentials Secret.
//
// The login is the Secret's azure_client_id with azure_client_secret, or with azure_federated_token_file for workload
// identity. Both together are an error. Neither is an error too, unless the configuration itself contains a complete
// login: a client secret, or useManagedIdentityExtension with an identity in userAssignedIdentityID.
// useManagedIdentityExtension alone does not prove a login, because the installer always sets it to true. If the Secret
// has a login, useManagedIdentityExtension is set to false, because a managed identity would take precedence over a
// client secret. None of these rules apply if CredentialsUnknown is set.
func Rewrite(src clouds.Source) clouds.Result {
	a := readAzure(src, false)
	if a.Readable {
		a.useProbes()
	}
	return a.finish(clouds.Result{})
}

// useProbes defaults to one shared health probe. The predecessor set it regardless of the user's value. Therefore a
// value that existed before this operator took over has no effect until the user changes it: an upgrade does not change
// health probes.
func (a *rewriter) useProbes() {
	const shared = "shared"
	a.Default(confdoc.NewText(shared),
		"in OpenShift all Services with externalTrafficPolicy Cluster share one health probe", probeMode)
	named := a.Text(probeMode)
	if strings.EqualFold(named, shared) || !a.First && a.Kept[probeMode] != named {
		return
	}
	a.kept = map[string]string{probeMode: named}
	a.Put(confdoc.NewText(shared), diagnostic.Rewritten,
		"the value was ignored before this operator took over, and an upgrade does not change health probes; "+
			"to apply it, remove the line, wait until that is rolled out, and add it again", probeMode)
}

// RewriteStack checks and rewrites a cloud.conf for an Azure Stack Hub, merges the credentials into it and checks the
// endpoints in the same ConfigMap.
//
// It differs from Rewrite as follows. cloud is AzureStackCloud. The provider reads its endpoints from a file in the
// format of the Azure SDK, which the user provides under the key endpoints; without it the provider would use the
// public cloud. There is no workload identity. The health probes keep the provider's default, as with the predecessor.
func RewriteStack(src clouds.Source) clouds.Result {
	a := readAzure(src, true)
	a.checkEndpoints()
	endpoints := src.Keys[endpointsKey]
	return a.finish(clouds.Result{
		Files:       map[string][]byte{endpointsKey: endpoints},
		NodeManager: map[string][]byte{"cloud.conf": a.nodeManagerConfig(), endpointsKey: endpoints},
	})
}

func (a *rewriter) nodeManagerConfig() []byte {
	isUnread := func(e *confdoc.Entry) bool {
		return !slices.ContainsFunc(nodeManagerFields, func(name string) bool { return strings.EqualFold(name, e.Name) })
	}
	return confdoc.EncodeJSON(&confdoc.Node{
		Kind: confdoc.MapNode, Entries: slices.DeleteFunc(slices.Clone(a.Root.Entries), isUnread),
	})
}

func readAzure(src clouds.Source, stack bool) *rewriter {
	a := &rewriter{stack: stack, Run: clouds.NewRun(src, confdoc.Reader{
		Format: confdoc.YAMLAsJSON, Fields: fieldsOf(src),
		Empty: "write the JSON object that the installer makes, with at least subscriptionId and resourceGroup",
	}), status: ptr.Deref(src.Cluster.Status.Azure, configv1.AzurePlatformStatus{})}
	a.useCredentials()
	if !a.Readable {
		return a
	}
	a.checkTenantID()
	a.checkNetworkTenant()
	a.useCloud()
	a.checkInfrastructure()
	a.Default(confdoc.NewText("standard"), "OpenShift's nodes are virtual machines, "+
		"and the cloud-controller-manager's own default is scale sets", "vmType")
	a.checkResourceManager()
	a.checkLoadBalancers()
	a.checkNetwork()
	a.checkServiceGateway()
	return a
}

func (a *rewriter) finish(r clouds.Result) clouds.Result {
	r.Config, r.Tokens, r.Kept, r.Untried = a.Encode(), a.tokens, a.kept, a.untried
	return a.Finish(r)
}

func (a *rewriter) useCloud() {
	if a.Cluster.Status.Azure == nil && !a.stack {
		return
	}
	fact := cmp.Or(string(a.status.CloudName), publicCloud)
	if a.stack {
		fact = cmp.Or(string(a.status.CloudName), stackCloud)
	}
	if !slices.ContainsFunc(cloudNames, func(name string) bool { return strings.EqualFold(name, fact) }) {
		// A newer release of openshift/api and its cloud-controller-manager may know it.
		a.Reportf(nil, diagnostic.Unknown, "%scloudName of %s is %s, which is passed on: a cloud-controller-manager that "+
			"does not know it asks Azure's public cloud", statusField, clouds.Infrastructure, confdoc.Quoted(fact))
	}
	if named := a.Value("cloud"); strings.TrimSpace(named.String()) == "" {
		a.Put(confdoc.NewText(fact), diagnostic.Adapted, "Infrastructure names this cloud", "cloud")
	} else if cloud(named.Text) != cloud(fact) {
		a.Contradicts("cloud", named, statusField+"cloudName", fact)
	}
}

// cloud returns the normalized name of a cloud: the provider ignores case and knows aliases.
func cloud(name string) string {
	name = strings.ToLower(strings.TrimSpace(name))
	aliases := map[string]configv1.AzureCloudEnvironment{
		"azurecloud": configv1.AzurePublicCloud, "azureusgovernment": configv1.AzureUSGovernmentCloud,
	}
	return cmp.Or(strings.ToLower(string(aliases[name])), name)
}

// checkInfrastructure reports contradictions to Infrastructure. Azure's names are not case-sensitive.
func (a *rewriter) checkInfrastructure() {
	for _, fact := range []struct{ key, field, value string }{
		{"resourceGroup", "resourceGroupName", a.status.ResourceGroupName},
		{"vnetResourceGroup", "networkResourceGroupName",
			cmp.Or(a.status.NetworkResourceGroupName, a.status.ResourceGroupName)},
		{"resourceManagerEndpoint", "armEndpoint", a.status.ARMEndpoint},
	} {
		named := strings.TrimSuffix(a.Text(fact.key), "/")
		if fact.key == "resourceManagerEndpoint" && fact.value != "" && !clouds.IsEndpoint(fact.value) {
			a.ReportInfrastructure(statusField+fact.field, diagnostic.Ambiguous, "%s is not a URL of the form https://host: "+
				"correct it", confdoc.Quoted(fact.value))
			continue
		}
		if fact.key != "resourceManagerEndpoint" && !isName(fact.value) {
			a.ReportInfrastructure(statusField+fact.field, diagnostic.Typo, "%s must be %s", confdoc.Quoted(fact.value),
				onlyName)
			continue
		}
		if !strings.EqualFold(named, strings.TrimSuffix(fact.value, "/")) {
			a.Contradicts(fact.key, a.Value(fact.key), statusField+fact.field, fact.value)
		}
	}
}

// checkLoadBalancers reports combinations with which the provider exits, and load balancers that Azure no longer
// creates (https://learn.microsoft.com/azure/load-balancer/load-balancer-basic-upgrade-guidance).
func (a *rewriter) checkLoadBalancers() {
	sku, vmType, pool := a.Text("loadBalancerSku"), a.Text("vmType"), a.Text(poolType)
	isStandard := sku == "" || strings.EqualFold(sku, "standard")
	a.checkHub(sku)
	if strings.EqualFold(sku, "basic") && !a.stack {
		a.Reportf(a.Value("loadBalancerSku"), diagnostic.Doubtful, "loadBalancerSku is basic, but Azure has retired Basic "+
			"load balancers and public IP addresses, and those of OpenShift are Standard: write standard or remove the line")
	}
	if a.IsTrue("disableOutboundSNAT") && !isStandard {
		a.Rejectf(a.Value("disableOutboundSNAT"),
			"disableOutboundSNAT is true, but loadBalancerSku is %s: it requires loadBalancerSku standard", confdoc.Quoted(sku))
	}
	a.checkVMType(vmType)
	several := a.Items(multiple)
	if len(several) == 0 || !isStandard {
		return
	}
	if pool == "" || strings.EqualFold(pool, "nodeIPConfiguration") {
		a.Rejectf(a.Value(multiple), "%s cannot be combined with %s nodeIPConfiguration, which is the default: "+
			"write nodeIP there", multiple, poolType)
	}
	a.checkNames(several)
}

// checkVMType reports combinations with which the provider exits, and a type that OpenShift's machines do not have.
func (a *rewriter) checkVMType(vmType string) {
	if strings.EqualFold(vmType, "vmssflex") {
		a.Reportf(a.Value("vmType"), diagnostic.Doubtful, "vmType is vmssflex, with which the cloud-controller-manager "+
			"finds only machines of flexible scale sets, and asks for the deletion of all other nodes that are not ready, "+
			"such as those that OpenShift creates: write standard or remove the line")
	}
	if isAvailabilitySet(vmType) {
		a.Reportf(a.Value("vmType"), diagnostic.Doubtful, "vmType is %s, which the cloud-controller-manager does not know "+
			"and takes for standard: write standard or remove the line", confdoc.Quoted(vmType))
	}
	if a.IsTrue("disableAvailabilitySetNodes") && vmType != "vmss" {
		a.Rejectf(a.Value("disableAvailabilitySetNodes"),
			"disableAvailabilitySetNodes is true, but vmType is %s: it requires vmType vmss", confdoc.Quoted(vmType))
	}
}

// checkNetwork reports missing names without which the provider finds no security group (NewSecurityGroupRepo in
// pkg/provider/securitygroup) or no subnet (reconcileFrontendIPConfigs in pkg/provider/azure_loadbalancer.go), or Azure
// creates neither public IP address nor load balancer. The network is in the cluster's resource group unless
// vnetResourceGroup names another one.
func (a *rewriter) checkNetwork() {
	for key, action := range map[string]string{
		"location":          "Services of type LoadBalancer get no load balancer",
		"securityGroupName": "Services of type LoadBalancer get no load balancer",
		"vnetName":          "Services with an internal load balancer get none",
		"subnetName":        "Services with an internal load balancer get none",
	} {
		if a.Text(key) == "" {
			a.Reportf(a.Value(key), diagnostic.Doubtful, "there is no %s: without it %s; add it", key, action)
		}
	}
	location := a.Text("location")
	name := strings.ToLower(strings.ReplaceAll(location, " ", ""))
	if strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789") != "" && !a.stack {
		a.Reportf(a.Value("location"), diagnostic.Doubtful, "location is %s, but a location has letters and digits only: "+
			"write its name, such as westeurope", confdoc.Quoted(location))
	} else if name != location && !a.stack {
		a.Reportf(a.Value("location"), diagnostic.Doubtful, "location is %s, for which the cloud-controller-manager finds "+
			"no zones: write %s", confdoc.Quoted(location), name)
	}
	if a.Text("extendedLocationName") != "" && a.Text("extendedLocationType") == "" {
		a.Reportf(a.Value("extendedLocationName"), diagnostic.Doubtful, "extendedLocationName is ignored without "+
			"extendedLocationType: write EdgeZone there, or remove the line")
	}
	group := a.status.NetworkResourceGroupName
	if a.Text("vnetResourceGroup") == "" && group != "" && !strings.EqualFold(group, a.Text("resourceGroup")) {
		a.Reportf(a.Value("vnetName"), diagnostic.Doubtful, "there is no vnetResourceGroup, but "+statusField+
			"networkResourceGroupName of %s is %s: add it", clouds.Infrastructure, confdoc.Quoted(group))
	}
}

// checkNames reports load balancers that have no set of virtual machines, or the name or set of an earlier one, and
// that none has the cluster's name (reconcileMultipleStandardLoadBalancerConfigurations in
// pkg/provider/azure_loadbalancer.go). The provider ignores case.
func (a *rewriter) checkNames(several []*confdoc.Node) {
	isCluster := func(item *confdoc.Node) bool { return strings.EqualFold(item.String("name"), a.Cluster.Name) }
	if a.Cluster.Name != "" && !slices.ContainsFunc(several, isCluster) {
		a.Reportf(a.Value(multiple), diagnostic.Typo, "none of the load balancers has the name of the cluster, %s, so "+
			"that no Service gets a load balancer: rename one of them", confdoc.Quoted(a.Cluster.Name))
	}
	used := sets.New[string]()
	for _, item := range several {
		for _, key := range []string{"name", "primaryVMSet"} {
			value := item.String(key)
			id := key + strings.ToLower(value)
			if key == "primaryVMSet" && value == "" {
				a.Rejectf(item, "this load balancer has no primaryVMSet: "+
					"write the set of virtual machines that are always behind it")
			} else if used.Has(id) {
				a.Rejectf(item, "the %s %s is already used by a load balancer above: write another one", key, confdoc.Quoted(value))
			}
			used.Insert(id)
		}
	}
}

// checkServiceGateway reports settings of the service gateway with which the provider exits.
func (a *rewriter) checkServiceGateway() {
	const enabled, migrate = "serviceGatewayEnabled", "enableMigrateToIPBasedBackendPoolAPI"
	isEnabled, isPod := a.IsTrue(enabled), strings.EqualFold(a.Text(poolType), "podIP")
	isService := strings.EqualFold(a.Text("loadBalancerSku"), "service")
	switch {
	case !isEnabled && !isPod && !isService:
	case !isEnabled || !isPod || !isService:
		a.Rejectf(a.Value(enabled), "the service gateway needs all of serviceGatewayEnabled true, "+
			"%s podIP and loadBalancerSku service: write all of them or none", poolType)
	case a.IsTrue(migrate):
		a.Rejectf(a.Value(migrate), "%s cannot be combined with %s: remove it", migrate, enabled)
	case len(a.Items(multiple)) > 0:
		a.Rejectf(a.Value(multiple), "%s cannot be combined with %s: remove it", multiple, enabled)
	default:
		// Without its service controller the provider exits, and with it the provider writes to Azure
		// (cmd/cloud-controller-manager/app/controllermanager.go, app/core.go).
		a.untried = "with " + enabled + ", the cloud-controller-manager would write to Azure in it"
	}
}
