package cloudconfig

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	configv1 "github.com/openshift/api/config/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

const (
	azurePublicCloud = string(configv1.AzurePublicCloud)
	azureStackCloud  = string(configv1.AzureStackCloud)
	// azureEndpointsKey is the key beside the configuration that holds the endpoints of an Azure Stack Hub, and the name of
	// the file that they are delivered in.
	azureEndpointsKey = "endpoints"
	// nodeManagerConfigKey is the cloud-node-manager's own cloud.conf.
	nodeManagerConfigKey = "cloud.conf"
)

// azure is one run of the functions of both Azure clouds.
type azure struct {
	src      Source
	stack    bool
	config   *treeDocument
	tokens   []Token
	kept     map[string]string
	findings findings
}

// Azure checks and rewrites a cloud.conf for Azure and merges the credentials into it.
//
// The text is what sigs.k8s.io/cloud-provider-azure v1.36.5 reads, with sigs.k8s.io/yaml: nothing passes that it would
// refuse. The rewriting sets cloud where the user left it empty, makes virtual machines the default (vmType = standard, as
// the provider's own default is scale sets) and one health probe for all Services that every node can serve
// (clusterServiceLoadBalancerHealthProbeMode = shared), and makes the provider log in with the credentials Secret.
//
// The login is the Secret's azure_client_id with azure_client_secret, or with azure_federated_token_file for workload
// identity; both are an error. Neither is one too, unless the configuration itself has a whole login: a client secret, or
// useManagedIdentityExtension with an identity named in userAssignedIdentityID. That the managed identity is switched on
// says nothing alone: the installer always writes so, whether there is an identity or not. With a login from the Secret it
// is switched off, as it would win over a client secret. All of this waits where nobody knows whether there are
// credentials.
func Azure(src Source) Result {
	a := readAzure(src, false)
	if a.config.readable {
		a.useProbes()
	}
	return a.finish(nil)
}

// useProbes makes one health probe the default. The predecessor set it whatever the user wrote, so a value that was there
// when this operator took over does not count until the user changes it: an upgrade changes no probes.
func (a *azure) useProbes() {
	const key, shared = "clusterServiceLoadBalancerHealthProbeMode", "shared"
	a.setDefault(key, shared, "in OpenShift the Services that every node can serve (externalTrafficPolicy Cluster) share one health probe")
	named := a.config.text(key)
	if strings.EqualFold(named, shared) || !a.src.First && a.src.Kept[key] != named {
		return
	}
	a.kept = map[string]string{key: named}
	a.config.put(newText(shared), diagnostic.Rewritten, "the value was ignored before this operator took over, and an upgrade changes no health probes; "+
		"to have it, remove the line, wait until that is rolled out, and add it again", key)
}

// AzureStack checks and rewrites a cloud.conf for an Azure Stack Hub, merges the credentials into it and checks the
// endpoints beside it.
//
// It differs from Azure in this: cloud is AzureStackCloud. The provider reads its endpoints from a file in the form of the
// Azure SDK, which the user has under the key endpoints; without it the provider would talk to the public cloud. There is
// no workload identity, and the health probes are the provider's own, as in production.
func AzureStack(src Source) Result {
	a := readAzure(src, true)
	a.checkEndpoints()
	endpoints := src.Keys[azureEndpointsKey]
	result := a.finish(map[string][]byte{azureEndpointsKey: endpoints})
	result.NodeManager = map[string][]byte{
		nodeManagerConfigKey: a.config.only(azureNodeManagerFields).formatJSON(), azureEndpointsKey: endpoints,
	}
	return result
}

func readAzure(src Source, stack bool) *azure {
	a := &azure{src: src, stack: stack}
	reader := treeReader{format: yamlAsJSONTree, fields: azureFields, input: diagnostic.CloudConfig,
		empty: "write the JSON object that the installer makes, with at least subscriptionId and resourceGroup"}
	a.config = reader.read(src.Config, &a.findings)
	a.config.checkPlaceholders()
	a.useCredentials()
	if !a.config.readable {
		return a
	}
	a.useCloud()
	a.checkInfrastructure()
	a.setDefault("vmType", "standard", "OpenShift's nodes are virtual machines, and the cloud-controller-manager's own default is scale sets")
	a.checkTolerated()
	checkEndpointURL(a.config, "resourceManagerEndpoint", "http", "https")
	a.checkResourceManager()
	a.checkLoadBalancers()
	a.checkServiceGateway()
	return a
}

func (a *azure) finish(files map[string][]byte) Result {
	return finish(a.findings, Result{Config: a.config.formatJSON(), Files: files, Tokens: a.tokens, Kept: a.kept})
}

// invalid reports that a key's value is refused; the whole configuration where the key is not set.
func (a *azure) invalid(key, message string) {
	a.config.reportAt(a.config.value(key), diagnostic.Invalid, message)
}

func (a *azure) setDefault(key, value, reason string) {
	if a.config.text(key) == "" {
		a.config.put(newText(value), diagnostic.Adapted, reason, key)
	}
}

// useCloud sets cloud, or checks that Infrastructure says the same.
func (a *azure) useCloud() {
	status := a.src.Cluster.Status.Azure
	if status == nil && !a.stack {
		return
	}
	fact := azurePublicCloud
	if status != nil && status.CloudName != "" {
		fact = string(status.CloudName)
	} else if a.stack {
		fact = azureStackCloud
	}
	switch named := a.config.text("cloud"); {
	case strings.TrimSpace(named) == "":
		a.config.put(newText(fact), diagnostic.Adapted, "Infrastructure names this cloud", "cloud")
	case azureCloud(named) != azureCloud(fact):
		a.contradicts("cloud", "cloudName", fact)
	}
}

// azureCloud is the name of a cloud without the differences that the provider does not see.
func azureCloud(name string) string {
	switch name = strings.ToLower(strings.TrimSpace(name)); name {
	case "azurecloud":
		return strings.ToLower(azurePublicCloud)
	case "azureusgovernment":
		return strings.ToLower(string(configv1.AzureUSGovernmentCloud))
	}
	return name
}

// contradicts reports that the configuration and Infrastructure do not agree.
func (a *azure) contradicts(key, field, fact string) {
	a.invalid(key, fmt.Sprintf("%s is %s, but status.platformStatus.azure.%s of infrastructure.config.openshift.io/cluster is %s: write that, or correct it there",
		key, quoted(a.config.text(key)), field, quoted(fact)))
}

// checkInfrastructure finds what Infrastructure says otherwise. Azure does not look at the case of names.
func (a *azure) checkInfrastructure() {
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
		named := a.config.text(fact.key)
		if named != "" && fact.value != "" && !strings.EqualFold(strings.TrimSuffix(named, "/"), strings.TrimSuffix(fact.value, "/")) {
			a.contradicts(fact.key, fact.field, fact.value)
		}
	}
}

// checkTolerated finds values that the provider takes for others.
func (a *azure) checkTolerated() {
	for _, t := range azureTolerated {
		named := a.config.text(t.key)
		if named == "" || slices.ContainsFunc(t.values, func(v string) bool { return strings.EqualFold(v, strings.TrimSpace(named)) }) {
			continue
		}
		message := fmt.Sprintf("%s is %s, which the cloud-controller-manager takes for %s; it knows %s", t.key, quoted(named), t.is, oneOf(t.values))
		a.config.reportAt(a.config.value(t.key), diagnostic.Typo, message)
	}
}

// checkEndpointURL finds an endpoint that cannot be asked.
func checkEndpointURL(d *treeDocument, key string, schemes ...string) {
	value := d.text(key)
	if u, err := url.Parse(value); value != "" && (err != nil || !slices.Contains(schemes, u.Scheme) || u.Host == "") {
		d.reportAt(d.value(key), diagnostic.Invalid, fmt.Sprintf("%s is %s, but wants a URL of the form https://management.example.com/", key, quoted(value)))
	}
}

// checkLoadBalancers finds combinations with which the provider exits.
func (a *azure) checkLoadBalancers() {
	d := a.config
	sku := d.text("loadBalancerSku")
	standard := sku == "" || strings.EqualFold(sku, "standard")
	if d.isTrue("disableOutboundSNAT") && !standard {
		a.invalid("disableOutboundSNAT", fmt.Sprintf("disableOutboundSNAT is true, but loadBalancerSku is %s: it goes with standard only", quoted(sku)))
	}
	if d.isTrue("disableAvailabilitySetNodes") && d.text("vmType") != "vmss" {
		a.invalid("disableAvailabilitySetNodes", fmt.Sprintf("disableAvailabilitySetNodes is true, but vmType is %s: it goes with vmss only", quoted(d.text("vmType"))))
	}
	several := d.value("multipleStandardLoadBalancerConfigurations")
	if several == nil || len(several.items) == 0 || !standard {
		return
	}
	if pool := d.text("loadBalancerBackendPoolConfigurationType"); pool == "" || strings.EqualFold(pool, "nodeIPConfiguration") {
		d.reportAt(several, diagnostic.Invalid, "multipleStandardLoadBalancerConfigurations does not go with loadBalancerBackendPoolConfigurationType nodeIPConfiguration, which is the default: write nodeIP there")
	}
	seen := map[string]bool{}
	for _, item := range several.items {
		a.checkLoadBalancer(item, seen)
	}
}

func (a *azure) checkLoadBalancer(item *treeNode, seen map[string]bool) {
	for _, key := range []string{"name", "primaryVMSet"} {
		value := ""
		if n := item.get(key); n != nil {
			value = n.text
		}
		if key == "primaryVMSet" && value == "" {
			a.config.reportAt(item, diagnostic.Invalid, "this load balancer has no primaryVMSet: write the set of virtual machines that are always behind it")
		} else if seen[key+value] {
			a.config.reportAt(item, diagnostic.Invalid, fmt.Sprintf("a load balancer before this one has the %s %s already: write another one", key, quoted(value)))
		}
		seen[key+value] = true
	}
}

// checkServiceGateway finds a half of the service gateway's settings, with which the provider exits.
func (a *azure) checkServiceGateway() {
	d := a.config
	enabled := d.isTrue("serviceGatewayEnabled")
	pod := strings.EqualFold(d.text("loadBalancerBackendPoolConfigurationType"), "podIP")
	service := strings.EqualFold(d.text("loadBalancerSku"), "service")
	switch {
	case !enabled && !pod && !service:
	case !enabled || !pod || !service:
		a.invalid("serviceGatewayEnabled", "the service gateway needs all of serviceGatewayEnabled true, loadBalancerBackendPoolConfigurationType podIP and loadBalancerSku service: write all of them or none")
	case d.isTrue("enableMigrateToIPBasedBackendPoolAPI"):
		a.invalid("enableMigrateToIPBasedBackendPoolAPI", "enableMigrateToIPBasedBackendPoolAPI does not go with serviceGatewayEnabled: remove it")
	case d.value("multipleStandardLoadBalancerConfigurations") != nil && len(d.value("multipleStandardLoadBalancerConfigurations").items) > 0:
		a.invalid("multipleStandardLoadBalancerConfigurations", "multipleStandardLoadBalancerConfigurations does not go with serviceGatewayEnabled: remove it")
	}
}

// checkEndpoints checks the file with the endpoints of an Azure Stack Hub.
func (a *azure) checkEndpoints() {
	text, ok := a.src.Keys[azureEndpointsKey]
	if !ok {
		a.config.report(0, 0, diagnostic.Invalid, "the key endpoints is missing beside the configuration: without it the cloud-controller-manager would talk to the public cloud; "+
			"write the JSON object that the installer makes, with resourceManagerEndpoint, tokenAudience and activeDirectoryEndpoint")
		return
	}
	reader := treeReader{format: jsonTree, fields: slices.Clone(azureEndpointsFields), input: diagnostic.CloudConfig, dataKey: azureEndpointsKey,
		empty: "write the JSON object that the installer makes, with resourceManagerEndpoint, tokenAudience and activeDirectoryEndpoint"}
	for i, field := range reader.fields {
		if a.config.text("resourceManagerEndpoint") == "" && slices.Contains([]string{"resourceManagerEndpoint", "tokenAudience", "activeDirectoryEndpoint"}, field.name) {
			reader.fields[i].required = "the cloud-controller-manager would take the public cloud's; write that of the Azure Stack Hub"
		}
	}
	endpoints := reader.read(text, &a.findings)
	endpoints.checkPlaceholders()
	checkEndpointURL(endpoints, "resourceManagerEndpoint", "https") // the SDK sends no token without TLS
	checkEndpointURL(endpoints, "activeDirectoryEndpoint", "https")
	a.checkStack(endpoints)
}

// Microsoft's own endpoints in every cloud.
var (
	azureResourceManagers = []string{"management.azure.com", "management.core.windows.net", "management.usgovcloudapi.net",
		"management.chinacloudapi.cn", "management.microsoftazure.de"}
	azureLogins = []string{"login.microsoftonline.com", "login.windows.net", "login.microsoftonline.us",
		"login.chinacloudapi.cn", "login.partner.microsoftonline.cn", "login.microsoftonline.de"}
)

// checkResourceManager finds a resource manager that is nobody's: the provider asks it where to log in, and sends the secret
// there. One that differs from Infrastructure's has been reported.
func (a *azure) checkResourceManager() {
	named, status := a.config.text("resourceManagerEndpoint"), a.src.Cluster.Status.Azure
	if a.stack || status == nil || status.ARMEndpoint != "" || hostOf(named) == "" {
		return
	}
	if isUnder(hostOf(named), azureResourceManagers...) && isTLS(named) {
		return
	}
	a.config.reportAt(a.config.value("resourceManagerEndpoint"), diagnostic.Redirected, fmt.Sprintf(
		"resourceManagerEndpoint is %s, which is not Microsoft's, and %s names none: "+
			"the cloud-controller-manager would send its credentials where it says; remove the line",
		shownEndpoint(named), infrastructure))
}

// checkStack compares the endpoints of an Azure Stack Hub with the resource manager that Infrastructure names: what is not
// Microsoft's is beside it.
func (a *azure) checkStack(endpoints *treeDocument) {
	status := a.src.Cluster.Status.Azure
	if status == nil || hostOf(status.ARMEndpoint) == "" {
		return
	}
	fact := hostOf(status.ARMEndpoint)
	for _, endpoint := range []struct {
		key     string
		domains []string
	}{
		{"resourceManagerEndpoint", []string{fact}},
		{"activeDirectoryEndpoint", append([]string{domainOf(fact)}, azureLogins...)},
	} {
		named := endpoints.text(endpoint.key)
		if host := hostOf(named); host == "" || isUnder(host, endpoint.domains...) {
			continue
		}
		endpoints.reportAt(endpoints.value(endpoint.key), diagnostic.Redirected, fmt.Sprintf(
			"%s is %s, which does not belong to status.platformStatus.azure.armEndpoint of %s, %s: "+
				"the cloud-controller-manager would send its credentials there; correct it",
			endpoint.key, shownEndpoint(named), infrastructure, shownEndpoint(status.ARMEndpoint)))
	}
}
