package azure

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

// checkHub reports what an Azure Stack Hub does not have
// (https://learn.microsoft.com/azure-stack/user/azure-stack-network-differences).
func (a *rewriter) checkHub(sku string) {
	if !a.stack {
		return
	}
	if !strings.EqualFold(sku, "basic") {
		a.Reportf(a.Value("loadBalancerSku"), diagnostic.Doubtful, "loadBalancerSku is %s, but an Azure Stack Hub has Basic "+
			"load balancers only: write basic", confdoc.Quoted(cmp.Or(sku, "standard")))
	}
	if a.IsTrue("useInstanceMetadata") {
		a.Reportf(a.Value("useInstanceMetadata"), diagnostic.Doubtful, "useInstanceMetadata is true, but the metadata "+
			"service of an Azure Stack Hub does not have what the cloud-controller-manager reads: write false")
	}
	const adfs = "adfs"
	if system := a.Value("identitySystem"); strings.EqualFold(system.String(), adfs) && a.Text("tenantId") != adfs {
		a.Reportf(system, diagnostic.Doubtful, "identitySystem is adfs, which the cloud-controller-manager does not read: "+
			"write adfs in tenantId, and in %s of the credentials Secret if it has that key", tenantIDKey)
	}
}

func (a *rewriter) checkEndpoints() {
	const empty = "write the JSON object that the installer makes, with resourceManagerEndpoint, " +
		"tokenAudience and activeDirectoryEndpoint"
	text, ok := a.Keys[endpointsKey]
	if !ok {
		a.Rejectf(nil, "the key endpoints is missing beside the configuration: "+
			"without it the cloud-controller-manager would talk to the public cloud; "+empty)
		return
	}
	a.Also = endpointsFields
	reader := confdoc.Reader{Format: confdoc.JSON, Fields: slices.Clone(endpointsFields), Input: diagnostic.CloudConfig,
		DataKey: endpointsKey, Empty: empty}
	required := []string{"resourceManagerEndpoint", "tokenAudience", "activeDirectoryEndpoint"}
	isAsked := a.Text("resourceManagerEndpoint") != ""
	for i, field := range reader.Fields {
		if !isAsked && slices.Contains(required, field.Name) {
			reader.Fields[i].Required = "the cloud-controller-manager would use the public cloud's; write the Azure Stack Hub's"
		}
	}
	endpoints := reader.Read(text, a.Findings)
	a.checkStack(endpoints)
	audience := endpoints.Value("tokenAudience")
	if clouds.IsUnder(clouds.HostOf(audience.String()), resourceManagers...) {
		endpoints.Reportf(audience, diagnostic.Typo, "tokenAudience is %s, whose tokens an Azure Stack Hub rejects: write "+
			"the Azure Stack Hub's", confdoc.Quoted(audience.Text))
	}
	// GetAzureCloudConfigAndEnvConfig in azclient's cloud.go uses these two only together.
	for _, key := range required[:2] {
		if isAsked && endpoints.Readable && endpoints.Text(key) == "" {
			endpoints.Reportf(endpoints.Value(key), diagnostic.Doubtful, "there is no %s: the cloud-controller-manager uses "+
				"the public cloud's unless the name in the Azure Stack Hub's metadata is %s; write the Azure Stack Hub's", key,
				stackCloud)
		}
	}
}

// checkResourceManager reports a resource manager that neither Microsoft nor Infrastructure names. The provider asks
// the resource manager where to log in, and sends the secret there. A difference from Infrastructure's resource manager
// is already reported.
func (a *rewriter) checkResourceManager() {
	named := a.Value("resourceManagerEndpoint")
	host := clouds.HostOf(named.String())
	if a.stack || a.Cluster.Status.Azure == nil || a.status.ARMEndpoint != "" || host == "" {
		return
	}
	if clouds.IsSecureUnder(named.Text, resourceManagers...) {
		name := cmp.Or(string(a.status.CloudName), publicCloud)
		if own := managersOf[cloud(name)]; own != nil && !clouds.IsUnder(host, own...) {
			a.Reportf(named, diagnostic.Typo, "resourceManagerEndpoint is %s, which is not that of %s: the "+
				"cloud-controller-manager would log in to another cloud; remove the line", confdoc.Quoted(named.Text), name)
		}
		return
	}
	if clouds.IsUnder(host, resourceManagers...) {
		a.Reportf(named, diagnostic.Redirected, "resourceManagerEndpoint is %s, without TLS: anyone between the nodes and "+
			"Azure can name another login endpoint; remove the line", confdoc.Quoted(named.Text))
		return
	}
	a.Reportf(named, diagnostic.Redirected, "resourceManagerEndpoint is %s, which is not Microsoft's, and %s names none: "+
		"the cloud-controller-manager would send its credentials to the login endpoint that it names; remove the line",
		confdoc.Quoted(named.Text), clouds.Infrastructure)
}

// checkStack compares the endpoints of an Azure Stack Hub with the resource manager that Infrastructure names. A login
// endpoint that is not Microsoft's must be in the same domain.
func (a *rewriter) checkStack(endpoints *confdoc.Document) {
	fact := clouds.HostOf(a.status.ARMEndpoint)
	if fact == "" {
		return
	}
	_, domain, _ := strings.Cut(fact, ".")
	for key, domains := range map[string][]string{
		"resourceManagerEndpoint": {fact},
		"activeDirectoryEndpoint": append([]string{domain}, logins...),
	} {
		named := endpoints.Text(key)
		if host := clouds.HostOf(named); host == "" || clouds.IsUnder(host, domains...) {
			continue
		}
		endpoints.Reportf(endpoints.Value(key), diagnostic.Redirected,
			"%s is %s, which does not belong to %sarmEndpoint of %s, %s: "+
				"the cloud-controller-manager would send its credentials there; correct it",
			key, confdoc.Quoted(named), statusField, clouds.Infrastructure, confdoc.Quoted(a.status.ARMEndpoint))
	}
}

// Microsoft's own endpoints in every cloud: resourceManagerEndpoint and activeDirectoryEndpoint in
// autorest/azure/environments.go of github.com/Azure/go-autorest (public, US government, China, Germany), and the
// public cloud's serviceManagementEndpoint. sdk/azcore/cloud of github.com/Azure/azure-sdk-for-go has the same
// endpoints, except for Germany. The second names of the logins are the aliases in Microsoft's own instance discovery
// (https://login.microsoftonline.com/common/discovery/instance).
var (
	managersOf = map[string][]string{ // by the result of cloud
		"azurepubliccloud":       {"management.azure.com", "management.core.windows.net"},
		"azureusgovernmentcloud": {"management.usgovcloudapi.net"},
		"azurechinacloud":        {"management.chinacloudapi.cn"},
		"azuregermancloud":       {"management.microsoftazure.de"},
	}
	resourceManagers = slices.Concat(slices.Collect(maps.Values(managersOf))...)
	logins           = []string{"login.microsoftonline.com", "login.windows.net", "login.microsoftonline.us",
		"login.chinacloudapi.cn", "login.partner.microsoftonline.cn", "login.microsoftonline.de"}
)
