package azure_test

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds/azure"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/cloudtest"
)

// azureLogin is the data that the cloud-credential-operator writes into the Secret.
var azureLogin = map[string]string{
	"azure_client_id":       "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee",
	"azure_client_secret":   cloudtest.SecretValue,
	"azure_region":          "westeurope",
	"azure_resource_prefix": "demo-x7k2p",
	"azure_resourcegroup":   "demo-x7k2p-rg",
	"azure_subscription_id": "66666666-7777-8888-9999-000000000000",
	"azure_tenant_id":       "11111111-2222-3333-4444-555555555555",
}

const stackEndpoints = `{
  "name": "AzureStackCloud",
  "resourceManagerEndpoint": "https://management.local.azurestack.example.com/",
  "activeDirectoryEndpoint": "https://login.microsoftonline.com/",
  "tokenAudience": "https://management.azurestack.example.com/0123",
  "galleryEndpoint": "https://portal.local.azurestack.example.com:30015/",
  "storageEndpointSuffix": "local.azurestack.example.com",
  "resourceIdentifiers": {"graph": "N/A", "keyVault": "N/A"}
}
`

const smallAzureConfig = `{"subscriptionId": "66666666-7777-8888-9999-000000000000", "resourceGroup": "r", ` +
	`"tenantId": "11111111-2222-3333-4444-555555555555"}`

func azureStack(src clouds.Source) clouds.Result {
	if src.Keys == nil {
		src.Keys = map[string][]byte{"endpoints": []byte(stackEndpoints)}
	}
	return azure.RewriteStack(src)
}

func TestAzureGolden(t *testing.T) {
	cloudtest.RequireGoldens(t, "azure", azure.Rewrite, azureLogin)
}

func TestAzurePassesOnACloudThatItDoesNotKnow(t *testing.T) {
	const warning = "status.platformStatus.azure.cloudName of infrastructure.config.openshift.io/cluster is %q, which is " +
		"passed on: a cloud-controller-manager that does not know it asks Azure's public cloud"
	for fact, isKnown := range map[configv1.AzureCloudEnvironment]bool{
		"": true, "AzurePublicCloud": true, "AzureUSGovernmentCloud": true,
		"AzureGermanCloud": false, "AzureUSSecCloud": false, "AzureUSGovernmentClout": false,
	} {
		for _, named := range []string{"", string(fact)} {
			config := strings.Replace(smallAzureConfig, "{", `{"cloud": "`+named+`", `, 1)
			result := azure.Rewrite(clouds.Source{Config: []byte(config), Credentials: cloudtest.SecretOf(azureLogin),
				Cluster: clouds.Cluster{Status: configv1.PlatformStatus{Azure: &configv1.AzurePlatformStatus{CloudName: fact}}}})
			require.Empty(t, result.Errors(diagnostic.Strict), fact)
			var want []string
			if !isKnown {
				want = []string{"cloud config: " + fmt.Sprintf(warning, fact)}
			}
			require.Equal(t, want, cloudtest.Messages(result, diagnostic.Unknown))
			require.Contains(t, string(result.Config), `"cloud": "`+cmp.Or(string(fact), "AzurePublicCloud")+`"`)
		}
	}
}

func TestAzureReportsValuesThatAzureRejectsOrThatFindNoNodes(t *testing.T) {
	const path = "cloud config:1:%d: "
	const port = "clusterServiceSharedLoadBalancerHealthProbePort"
	for name, c := range map[string]struct {
		setting string
		kind    diagnostic.Kind
		want    []string
	}{
		"flexible scale sets": {`"vmType": "VmssFlex"`, diagnostic.Doubtful, []string{"vmType is vmssflex, with which the " +
			"cloud-controller-manager finds only machines of flexible scale sets, and asks for the deletion of all other nodes " +
			"that are not ready, such as those that OpenShift creates: write standard or remove the line"}},
		"another name of availability sets": {`"vmType": "availabilitySet"`, diagnostic.Doubtful, []string{
			`vmType is "availabilitySet", which the cloud-controller-manager does not know and takes for standard: ` +
				"write standard or remove the line"}},
		"another name of availability sets is no typo": {`"vmType": "VMAS"`, diagnostic.Typo, nil},
		"the type of the configuration in capitals":    {`"cloudConfigType": "File"`, diagnostic.Typo, nil},
		"the display name of the location": {`"location": "West Europe"`, diagnostic.Doubtful, []string{
			`location is "West Europe", for which the cloud-controller-manager finds no zones: write westeurope`}},
		"an extended location without its type": {`"extendedLocationName": "losangeles"`, diagnostic.Doubtful, []string{
			"extendedLocationName is ignored without extendedLocationType: write EdgeZone there, or remove the line"}},
		"uniform scale sets": {`"vmType": "vmss"`, diagnostic.Doubtful, nil},
		"a port that is too large": {`"` + port + `": 102560`, diagnostic.Typo, []string{
			port + " is 102560, but must be a number from 1 to 65535"}},
		"a negative port":  {`"` + port + `": -1`, diagnostic.Typo, []string{port + " is -1, but must be a number from 1 to 65535"}},
		"the default port": {`"` + port + `": 0`, diagnostic.Typo, nil},
		"the largest port": {`"` + port + `": 65535`, diagnostic.Typo, nil},
		"the network's subscription": {`"networkResourceSubscriptionID": "77777777-7777-8888-9999-000000000000"`,
			diagnostic.Typo, nil},
		"the name of the network's subscription": {`"networkResourceSubscriptionID": "network"`, diagnostic.Typo, []string{
			`networkResourceSubscriptionID is "network", but must be the ID of a subscription, such as ` +
				`01234567-89ab-cdef-0123-456789abcdef`}},
	} {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(c.setting, "location\"") {
				c.setting += `, "location": "westeurope"`
			}
			config := "{" + c.setting + `, "vnetName": "v", "subnetName": "s", "securityGroupName": "g", ` + smallAzureConfig[1:]
			result := azure.Rewrite(clouds.Source{Config: []byte(config), Credentials: cloudtest.SecretOf(azureLogin)})
			require.Empty(t, result.Errors(diagnostic.Lenient))
			var want []string
			for _, message := range c.want {
				want = append(want, fmt.Sprintf(path, strings.Index(config, ": ")+3)+message)
			}
			require.Equal(t, want, cloudtest.Messages(result, c.kind))
		})
	}
}

func TestAzureWantsALoadBalancerWithTheClustersName(t *testing.T) {
	for name, want := range map[string][]string{
		"": nil, "demo-x7k2p": nil, "Demo-x7k2p": nil,
		"other": {"cloud config:1:102: none of the load balancers has the name of the cluster, \"other\", so that no " +
			"Service gets a load balancer: rename one of them"},
	} {
		config := strings.Replace(smallAzureConfig, "{", `{"loadBalancerBackendPoolConfigurationType": "nodeIP", `+
			`"multipleStandardLoadBalancerConfigurations": [{"name": "demo-x7k2p", "primaryVMSet": "a"}], `, 1)
		result := azure.Rewrite(clouds.Source{Config: []byte(config), Credentials: cloudtest.SecretOf(azureLogin),
			Cluster: clouds.Cluster{Name: name}})
		require.Equal(t, want, cloudtest.Messages(result, diagnostic.Typo), name)
	}
}

func TestAzureComparesTheSecretWithTheConfiguration(t *testing.T) {
	login := maps.Clone(azureLogin)
	login["azure_subscription_id"] = "77777777-7777-8888-9999-000000000000"
	src := clouds.Source{Config: []byte(smallAzureConfig), Credentials: cloudtest.SecretOf(login)}
	require.Equal(t, []string{"cloud config:1:20: subscriptionId differs from azure_subscription_id of the credentials Secret: write the same in both"},
		cloudtest.Messages(azure.Rewrite(src), diagnostic.Ambiguous))
	delete(login, "azure_subscription_id")
	login["azure_region"] = "West Europe"
	src.Config = []byte(strings.Replace(smallAzureConfig, "{", `{"location": "westeurope", `, 1))
	src.Credentials = cloudtest.SecretOf(login)
	require.Empty(t, cloudtest.Messages(azure.Rewrite(src), diagnostic.Ambiguous))
}

func TestAzureStackGolden(t *testing.T) {
	login := maps.Clone(azureLogin)
	login["azure_region"] = "local"
	cloudtest.RequireGoldens(t, "azurestack", azureStack, login)
}

func TestAzureDeliversCredentialsOnlyInTheConfiguration(t *testing.T) {
	result := azure.Rewrite(clouds.Source{Config: []byte(smallAzureConfig),
		Credentials: cloudtest.SecretOf(azureLogin)})
	require.Empty(t, result.Errors(diagnostic.Strict))
	require.Empty(t, result.Credentials)
	require.Contains(t, string(result.Config), cloudtest.SecretValue)
}

func TestAzureMergesNothingIfTheCredentialsAreUnknown(t *testing.T) {
	for name, rewrite := range map[string]clouds.Rewrite{"azure": azure.Rewrite, "azurestack": azureStack} {
		t.Run(name, func(t *testing.T) {
			result := rewrite(clouds.Source{
				Config: []byte(`{"subscriptionId": "66666666-7777-8888-9999-000000000000", "resourceGroup": "r", ` +
					`"useManagedIdentityExtension": true}`),
				Credentials: cloudtest.SecretOf(azureLogin), CredentialsUnknown: true})
			require.Empty(t, result.Errors(diagnostic.Strict))
			require.Contains(t, string(result.Config), `"useManagedIdentityExtension": true`)
			require.NotContains(t, string(result.Config), "aadClient")
			require.Empty(t, result.Tokens)
		})
	}
}

func TestAzureReportsAMissingConfiguration(t *testing.T) {
	require.Equal(t, []string{
		"cloud config: it is missing: write the JSON object that the installer makes, " +
			"with at least subscriptionId and resourceGroup"},
		cloudtest.Messages(azure.Rewrite(clouds.Source{Credentials: cloudtest.SecretOf(azureLogin)}),
			diagnostic.Invalid))
}

func TestAzureSetsTheCloudOnlyIfInfrastructureHasAnAzureStatus(t *testing.T) {
	src := clouds.Source{Config: []byte(smallAzureConfig), Credentials: cloudtest.SecretOf(azureLogin)}
	require.NotContains(t, string(azure.Rewrite(src).Config), `"cloud"`)
	src.Cluster.Status.Azure = &configv1.AzurePlatformStatus{}
	require.Contains(t, string(azure.Rewrite(src).Config), `"cloud": "AzurePublicCloud"`)
}

// FuzzAzure checks for any input that nothing panics, that the result is deterministic and without the credentials in
// its diagnostics, and that a valid configuration is rewritten to a valid one that another run does not change.
func FuzzAzure(f *testing.F) {
	files, err := filepath.Glob("testdata/azure*/*.conf")
	require.NoError(f, err)
	for _, file := range files {
		config, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add(config, []byte(stackEndpoints), true)
	}
	f.Add([]byte(smallAzureConfig), []byte(`{"name": 1}`), false)
	f.Add([]byte("a: &a [*a]\n<<: {b: c}\n"), []byte("x"), false)
	f.Fuzz(func(t *testing.T, config, endpoints []byte, federated bool) {
		secret := map[string]string{"azure_client_id": "id", "azure_client_secret": cloudtest.SecretValue,
			"azure_tenant_id": "t"}
		if federated {
			secret = map[string]string{"azure_client_id": "id", "azure_federated_token_file": "/x",
				"azure_tenant_id": "t"}
		}
		src := clouds.Source{Config: config, Paths: cloudtest.StaticPodPaths, Credentials: cloudtest.SecretOf(secret),
			Keys: map[string][]byte{"endpoints": endpoints}}
		for _, rewrite := range []clouds.Rewrite{azure.Rewrite, azure.RewriteStack} {
			cloudtest.RequireFuzzed(t, rewrite, src)
			for _, diag := range rewrite(src).Diagnostics {
				require.NotContains(t, diag.Message, cloudtest.SecretValue)
			}
		}
	})
}
