// Package azure rewrites configurations for cloud-provider-azure, on Azure and on Azure Stack Hub.
package azure

import (
	"fmt"
	"slices"
	"strings"

	configv1 "github.com/openshift/api/config/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

const (
	publicCloud = string(configv1.AzurePublicCloud)
	stackCloud  = string(configv1.AzureStackCloud)
	// endpointsKey is the key of the endpoints of an Azure Stack Hub in the ConfigMap with the configuration, and the
	// name of the file in which they are delivered.
	endpointsKey = "endpoints"
	statusField  = "status.platformStatus.azure."
	// nodeManagerConfigKey is the name of the cloud-node-manager's cloud.conf.
	nodeManagerConfigKey = "cloud.conf"
)

// rewriter is the state of one run of Rewrite or RewriteStack.
type rewriter struct {
	src         clouds.Source
	stack       bool
	config      *confdoc.Document
	tokens      []clouds.Token
	kept        map[string]string
	diagnostics diagnostic.List
}

// Rewrite checks and rewrites a cloud.conf for Azure and merges the credentials into it.
//
// The text is what sigs.k8s.io/cloud-provider-azure v1.36.5 reads with sigs.k8s.io/yaml. Rewrite reports everything
// that the provider would reject. It makes the following changes. It sets cloud if the user left it empty. It makes
// virtual machines the default (vmType = standard), because the provider's own default is scale sets. By default, all
// Services that every node can serve share one health probe (clusterServiceLoadBalancerHealthProbeMode = shared). The
// provider logs in with the credentials Secret.
//
// The login is the Secret's azure_client_id with azure_client_secret, or with azure_federated_token_file for workload
// identity. Both together are an error. Neither is an error too, unless the configuration itself contains a complete
// login: a client secret, or useManagedIdentityExtension with an identity in userAssignedIdentityID.
// useManagedIdentityExtension alone is no evidence of a login, because the installer always sets it to true. If the
// Secret has a login, useManagedIdentityExtension is set to false, because a managed identity would take precedence
// over a client secret. None of these rules apply if CredentialsUnknown is set.
func Rewrite(src clouds.Source) clouds.Result {
	a := readAzure(src, false)
	if a.config.Readable {
		a.useProbes()
	}
	return a.finish(nil)
}

// useProbes makes one health probe the default. The predecessor set it regardless of the user's value. Therefore a
// value that existed when this operator took over has no effect until the user changes it, so that an upgrade does not
// change the probes.
func (a *rewriter) useProbes() {
	const key, shared = "clusterServiceLoadBalancerHealthProbeMode", "shared"
	a.config.Default(shared, "in OpenShift all Services with externalTrafficPolicy Cluster share one health probe", key)
	named := a.config.Text(key)
	if strings.EqualFold(named, shared) || !a.src.First && a.src.Kept[key] != named {
		return
	}
	a.kept = map[string]string{key: named}
	a.config.Put(confdoc.NewText(shared), diagnostic.Rewritten,
		"the value was ignored before this operator took over, and an upgrade does not change health probes; "+
			"to apply it, remove the line, wait until that is rolled out, and add it again",
		key)
}

// RewriteStack checks and rewrites a cloud.conf for an Azure Stack Hub, merges the credentials into it and checks the
// endpoints in the same ConfigMap.
//
// It differs from Rewrite as follows. cloud is AzureStackCloud. The provider reads its endpoints from a file in the
// format of the Azure SDK, which the user provides under the key endpoints; without it the provider would use the
// public cloud. There is no workload identity. The health probes are the provider's default, as in production.
func RewriteStack(src clouds.Source) clouds.Result {
	a := readAzure(src, true)
	a.checkEndpoints()
	endpoints := src.Keys[endpointsKey]
	result := a.finish(map[string][]byte{endpointsKey: endpoints})
	result.NodeManager = map[string][]byte{
		nodeManagerConfigKey: a.nodeManagerConfig(), endpointsKey: endpoints,
	}
	return result
}

// nodeManagerConfig returns the configuration with only the keys that the cloud-node-manager reads.
func (a *rewriter) nodeManagerConfig() []byte {
	kept := confdoc.NewMap()
	for _, e := range a.config.Root.Entries {
		if slices.ContainsFunc(nodeManagerFields, func(name string) bool { return strings.EqualFold(name, e.Name) }) {
			kept.Entries = append(kept.Entries, e)
		}
	}
	return confdoc.EncodeJSON(kept)
}

func readAzure(src clouds.Source, stack bool) *rewriter {
	a := &rewriter{src: src, stack: stack}
	reader := confdoc.Reader{Format: confdoc.YAMLAsJSON, Fields: azureFields, Input: diagnostic.CloudConfig,
		Empty: "write the JSON object that the installer makes, with at least subscriptionId and resourceGroup"}
	a.config = reader.Read(src.Config, &a.diagnostics)
	a.useCredentials()
	if !a.config.Readable {
		return a
	}
	a.useCloud()
	a.checkInfrastructure()
	a.config.Default("standard",
		"OpenShift's nodes are virtual machines, and the cloud-controller-manager's own "+
			"default is scale sets",
		"vmType")
	a.checkResourceManager()
	a.checkLoadBalancers()
	a.checkServiceGateway()
	return a
}

func (a *rewriter) finish(files map[string][]byte) clouds.Result {
	return clouds.Finish(a.diagnostics, clouds.Result{Config: a.config.Encode(), Files: files, Tokens: a.tokens,
		Kept: a.kept})
}

// invalid reports that the value of a key is rejected. If the key is not set, the diagnostic is about the whole
// configuration.
func (a *rewriter) invalid(key, message string) {
	a.config.ReportAt(a.config.Value(key), diagnostic.Invalid, message)
}

// useCloud sets cloud, or checks that it matches Infrastructure.
func (a *rewriter) useCloud() {
	status := a.src.Cluster.Status.Azure
	if status == nil && !a.stack {
		return
	}
	fact := publicCloud
	if status != nil && status.CloudName != "" {
		fact = string(status.CloudName)
	} else if a.stack {
		fact = stackCloud
	}
	if named := a.config.Value("cloud"); named == nil || strings.TrimSpace(named.Text) == "" {
		a.config.Put(confdoc.NewText(fact), diagnostic.Adapted, "Infrastructure names this cloud", "cloud")
	} else if cloud(named.Text) != cloud(fact) {
		a.config.Contradicts("cloud", named, statusField+"cloudName", fact)
	}
}

// cloud returns the normalized name of a cloud: the provider ignores case and knows aliases.
func cloud(name string) string {
	switch name = strings.ToLower(strings.TrimSpace(name)); name {
	case "azurecloud":
		return strings.ToLower(publicCloud)
	case "azureusgovernment":
		return strings.ToLower(string(configv1.AzureUSGovernmentCloud))
	}
	return name
}

// checkInfrastructure reports contradictions to Infrastructure. Azure's names are case-insensitive.
func (a *rewriter) checkInfrastructure() {
	status := a.src.Cluster.Status.Azure
	if status == nil {
		return
	}
	network := status.NetworkResourceGroupName
	if network == "" {
		network = status.ResourceGroupName
	}
	for _, fact := range []struct{ key, field, value string }{
		{"resourceGroup", "resourceGroupName", status.ResourceGroupName},
		{"vnetResourceGroup", "networkResourceGroupName", network},
		{"resourceManagerEndpoint", "armEndpoint", status.ARMEndpoint},
	} {
		if !strings.EqualFold(strings.TrimSuffix(a.config.Text(fact.key), "/"), strings.TrimSuffix(fact.value, "/")) {
			a.config.Contradicts(fact.key, a.config.Value(fact.key), statusField+fact.field, fact.value)
		}
	}
}

// checkLoadBalancers reports combinations for which the provider exits.
func (a *rewriter) checkLoadBalancers() {
	d := a.config
	sku := d.Text("loadBalancerSku")
	standard := sku == "" || strings.EqualFold(sku, "standard")
	if d.IsTrue("disableOutboundSNAT") && !standard {
		a.invalid("disableOutboundSNAT",
			fmt.Sprintf("disableOutboundSNAT is true, but loadBalancerSku is %s: it requires loadBalancerSku standard",
				confdoc.Quoted(sku)))
	}
	if d.IsTrue("disableAvailabilitySetNodes") && d.Text("vmType") != "vmss" {
		a.invalid("disableAvailabilitySetNodes",
			fmt.Sprintf("disableAvailabilitySetNodes is true, but vmType is %s: it requires vmType vmss",
				confdoc.Quoted(d.Text("vmType"))))
	}
	several := d.Value("multipleStandardLoadBalancerConfigurations")
	if several == nil || len(several.Items) == 0 || !standard {
		return
	}
	if pool := d.Text("loadBalancerBackendPoolConfigurationType"); pool == "" ||
		strings.EqualFold(pool, "nodeIPConfiguration") {
		d.ReportAt(several, diagnostic.Invalid,
			"multipleStandardLoadBalancerConfigurations cannot be combined with "+
				"loadBalancerBackendPoolConfigurationType nodeIPConfiguration, which is the default: "+
				"write nodeIP there")
	}
	seen := map[string]bool{}
	for _, item := range several.Items {
		a.checkLoadBalancer(item, seen)
	}
}

func (a *rewriter) checkLoadBalancer(item *confdoc.Node, seen map[string]bool) {
	for _, key := range []string{"name", "primaryVMSet"} {
		value := ""
		if n := item.Get(key); n != nil {
			value = n.Text
		}
		if key == "primaryVMSet" && value == "" {
			a.config.ReportAt(item, diagnostic.Invalid,
				"this load balancer has no primaryVMSet: write the set of virtual machines that are always behind it")
		} else if seen[key+value] {
			a.config.ReportAt(item, diagnostic.Invalid,
				fmt.Sprintf("the %s %s is already used by a load balancer above: write another one", key,
					confdoc.Quoted(value)))
		}
		seen[key+value] = true
	}
}

// checkServiceGateway reports incomplete settings of the service gateway, for which the provider exits.
func (a *rewriter) checkServiceGateway() {
	d := a.config
	enabled := d.IsTrue("serviceGatewayEnabled")
	pod := strings.EqualFold(d.Text("loadBalancerBackendPoolConfigurationType"), "podIP")
	service := strings.EqualFold(d.Text("loadBalancerSku"), "service")
	switch {
	case !enabled && !pod && !service:
	case !enabled || !pod || !service:
		a.invalid("serviceGatewayEnabled",
			"the service gateway needs all of serviceGatewayEnabled true, loadBalancerBackendPoolConfigurationType "+
				"podIP and loadBalancerSku service: write all of them or none")
	case d.IsTrue("enableMigrateToIPBasedBackendPoolAPI"):
		a.invalid("enableMigrateToIPBasedBackendPoolAPI",
			"enableMigrateToIPBasedBackendPoolAPI cannot be combined with serviceGatewayEnabled: remove it")
	case d.Value("multipleStandardLoadBalancerConfigurations") != nil &&
		len(d.Value("multipleStandardLoadBalancerConfigurations").Items) > 0:
		a.invalid("multipleStandardLoadBalancerConfigurations",
			"multipleStandardLoadBalancerConfigurations cannot be combined with serviceGatewayEnabled: remove it")
	}
}

// checkEndpoints checks the file that contains the endpoints of an Azure Stack Hub.
func (a *rewriter) checkEndpoints() {
	const empty = "write the JSON object that the installer makes, with resourceManagerEndpoint, " +
		"tokenAudience and activeDirectoryEndpoint"
	text, ok := a.src.Keys[endpointsKey]
	if !ok {
		a.config.Report(0, 0, diagnostic.Invalid, "the key endpoints is missing beside the configuration: "+
			"without it the cloud-controller-manager would talk to the public cloud; "+empty)
		return
	}
	reader := confdoc.Reader{Format: confdoc.JSON, Fields: slices.Clone(endpointsFields), Input: diagnostic.CloudConfig,
		DataKey: endpointsKey, Empty: empty}
	required := []string{"resourceManagerEndpoint", "tokenAudience", "activeDirectoryEndpoint"}
	for i, field := range reader.Fields {
		if a.config.Text("resourceManagerEndpoint") == "" && slices.Contains(required, field.Name) {
			reader.Fields[i].Required = "the cloud-controller-manager would use the public cloud's; " +
				"write the Azure Stack Hub's"
		}
	}
	endpoints := reader.Read(text, &a.diagnostics)
	a.checkStack(endpoints)
}

// Microsoft's own endpoints in every cloud: resourceManagerEndpoint and activeDirectoryEndpoint in
// autorest/azure/environments.go of github.com/Azure/go-autorest (public, US government, China, Germany), the former
// with the public cloud's serviceManagementEndpoint. sdk/azcore/cloud of github.com/Azure/azure-sdk-for-go has the same
// endpoints, except for Germany. The second names of the logins are the aliases in Microsoft's own instance discovery
// (https://login.microsoftonline.com/common/discovery/instance).
var (
	resourceManagers = []string{"management.azure.com", "management.core.windows.net", "management.usgovcloudapi.net",
		"management.chinacloudapi.cn", "management.microsoftazure.de"}
	logins = []string{"login.microsoftonline.com", "login.windows.net", "login.microsoftonline.us",
		"login.chinacloudapi.cn", "login.partner.microsoftonline.cn", "login.microsoftonline.de"}
)

// checkResourceManager reports a resource manager that neither Microsoft nor Infrastructure names. The provider asks
// the resource manager where to log in, and sends the secret there. A resource manager that differs from
// Infrastructure's is already reported.
func (a *rewriter) checkResourceManager() {
	named, status := a.config.Text("resourceManagerEndpoint"), a.src.Cluster.Status.Azure
	if a.stack || status == nil || status.ARMEndpoint != "" || clouds.HostOf(named) == "" {
		return
	}
	if clouds.IsUnder(clouds.HostOf(named), resourceManagers...) && clouds.IsTLS(named) {
		return
	}
	a.config.ReportAt(a.config.Value("resourceManagerEndpoint"), diagnostic.Redirected, fmt.Sprintf(
		"resourceManagerEndpoint is %s, which is not Microsoft's, and %s names none: "+
			"the cloud-controller-manager would send its credentials to the login endpoint that it names; "+
			"remove the line", confdoc.Quoted(named), clouds.Infrastructure))
}

// checkStack compares the endpoints of an Azure Stack Hub with the resource manager that Infrastructure names. An
// endpoint that is not Microsoft's must be in the same domain.
func (a *rewriter) checkStack(endpoints *confdoc.Document) {
	status := a.src.Cluster.Status.Azure
	if status == nil || clouds.HostOf(status.ARMEndpoint) == "" {
		return
	}
	fact := clouds.HostOf(status.ARMEndpoint)
	for _, endpoint := range []struct {
		key     string
		domains []string
	}{
		{"resourceManagerEndpoint", []string{fact}},
		{"activeDirectoryEndpoint", append([]string{clouds.DomainOf(fact)}, logins...)},
	} {
		named := endpoints.Text(endpoint.key)
		if host := clouds.HostOf(named); host == "" || clouds.IsUnder(host, endpoint.domains...) {
			continue
		}
		endpoints.ReportAt(endpoints.Value(endpoint.key), diagnostic.Redirected, fmt.Sprintf(
			"%s is %s, which does not belong to status.platformStatus.azure.armEndpoint of %s, %s: "+
				"the cloud-controller-manager would send its credentials there; correct it",
			endpoint.key, confdoc.Quoted(named), clouds.Infrastructure, confdoc.Quoted(status.ARMEndpoint)))
	}
}
