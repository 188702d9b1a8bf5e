package platform_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds/aws"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds/azure"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds/gcp"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds/ibm"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds/openstack"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/cloudtest"
)

// redirection is a configuration with its diagnostic about an endpoint for the credentials.
type redirection struct {
	rewrite     clouds.Rewrite
	config      string
	keys        map[string][]byte
	credentials map[string]string
	status      configv1.PlatformStatus
	want        string // the diagnostic; empty if there is none
}

func awsStatus(endpoints ...configv1.AWSServiceEndpoint) configv1.PlatformStatus {
	return configv1.PlatformStatus{AWS: &configv1.AWSPlatformStatus{Region: "us-east-1", ServiceEndpoints: endpoints}}
}

func awsOverride(url string) string {
	return "[ServiceOverride \"1\"]\nService = EC2\nRegion = us-east-1\nURL = " + url + "\nSigningRegion = us-east-1\n"
}

func azureStatus(arm string) configv1.PlatformStatus {
	return configv1.PlatformStatus{Azure: &configv1.AzurePlatformStatus{ARMEndpoint: arm}}
}

func azureConfig(more string) string {
	return `{"subscriptionId": "66666666-7777-8888-9999-000000000000", "resourceGroup": "r", "tenantId": "11111111-2222-3333-4444-555555555555"` + more +
		`}`
}

func ibmConfig(more string) string {
	return "[global]\nversion = 1.1.0\n[provider]\naccountID = a\ng2workerServiceAccountID = a\n" +
		"clusterID = c\ncluster-default-provider = g2\nregion = r\n" +
		"g2ResourceGroupName = g\ng2VpcName = v\ng2VpcSubnetNames = n\n" + more
}

func stackEndpoints(arm, login string) map[string][]byte {
	return map[string][]byte{"endpoints": []byte(`{"resourceManagerEndpoint": "` + arm +
		`", "activeDirectoryEndpoint": "` + login + `", "tokenAudience": "a"}`)}
}

var (
	keystone = map[string]string{"clouds.yaml": "clouds:\n  openstack:\n    auth: {auth_url: " +
		"'https://Keystone.example.com:5000/v3', application_credential_id: a, application_credential_secret: b}\n"}
	onIBM = configv1.PlatformStatus{IBMCloud: &configv1.IBMCloudPlatformStatus{}}
)

var redirections = map[string]redirection{
	"OpenStack: the host of clouds.yaml": {rewrite: openstack.Rewrite, credentials: keystone,
		config: "[Global]\nauth-url = https://keystone.EXAMPLE.com:13000/v3\n"},
	"OpenStack: another host": {rewrite: openstack.Rewrite, credentials: keystone,
		config: "[Global]\nauth-url = https://user:word@elsewhere.example.net:5000/v3\n",
		want: `cloud config:2:12: auth-url is "https://user:xxxxx@elsewhere.example.net:5000/v3", but auth.auth_url of clouds.yaml in the credentials Secret names another host: ` +
			"the cloud-controller-manager would send its credentials there; remove the line"},
	"OpenStack: the host without TLS": {rewrite: openstack.Rewrite, credentials: keystone,
		config: "[Global]\nauth-url = http://keystone.example.com:5000/v3\n",
		want: `cloud config:2:12: auth-url is "http://keystone.example.com:5000/v3", but auth.auth_url of clouds.yaml in the credentials Secret uses TLS: ` +
			"the cloud-controller-manager would send its credentials there; remove the line"},
	"AWS: an endpoint of Amazon's": {rewrite: aws.Rewrite, status: awsStatus(),
		config: awsOverride("https://vpce-0123.ec2.us-east-1.vpce.amazonaws.com")},
	"AWS: an endpoint of Infrastructure": {rewrite: aws.Rewrite, config: awsOverride("https://ec2.example.com"),
		status: awsStatus(configv1.AWSServiceEndpoint{Name: "ec2", URL: "https://ec2.example.com"})},
	"AWS: an unknown endpoint": {rewrite: aws.Rewrite, status: awsStatus(),
		config: awsOverride("https://ec2.amazonaws.com.example.net"),
		want: `cloud config:4:7: URL is "https://ec2.amazonaws.com.example.net", which is neither Amazon's nor in status.platformStatus.aws.serviceEndpoints of ` +
			"infrastructure.config.openshift.io/cluster: the cloud-controller-manager would send its signed requests " +
			"to it; remove the section, or add it to Infrastructure"},
	"AWS: an endpoint, and nothing is known of the cluster": {rewrite: aws.Rewrite,
		config: awsOverride("https://ec2.example.com")},
	"Azure: Microsoft's resource manager": {rewrite: azure.Rewrite, credentials: azureSecret, status: azureStatus(""),
		config: azureConfig(`, "resourceManagerEndpoint": "https://management.azure.com"`)},
	"Azure: another resource manager": {rewrite: azure.Rewrite, credentials: azureSecret, status: azureStatus(""),
		config: azureConfig(`, "resourceManagerEndpoint": "https://management.example.net"`),
		want: `cloud config:1:161: resourceManagerEndpoint is "https://management.example.net", which is not Microsoft's, and infrastructure.config.openshift.io/cluster names none: ` +
			"the cloud-controller-manager would send its credentials to the login endpoint that it names; remove the line"},
	"Azure: Microsoft's resource manager without TLS": {rewrite: azure.Rewrite, credentials: azureSecret,
		status: azureStatus(""), config: azureConfig(`, "resourceManagerEndpoint": "http://management.azure.com/"`),
		want: `cloud config:1:161: resourceManagerEndpoint is "http://management.azure.com/", without TLS: ` +
			"anyone between the nodes and Azure can name another login endpoint; remove the line"},
	"Azure: another tenant": {rewrite: azure.Rewrite, credentials: azureSecret,
		config: `{"subscriptionId": "66666666-7777-8888-9999-000000000000", "resourceGroup": "r", "tenantId": "t"}`,
		want: "cloud config:1:94: tenantId differs from azure_tenant_id of the credentials Secret: the " +
			"cloud-controller-manager would log in to another tenant; " +
			"remove it, or write the same one"},
	"Azure Stack Hub: a login beside the resource manager": {rewrite: azure.RewriteStack, credentials: azureSecret,
		config: azureConfig(""),
		status: azureStatus("https://management.local.hub.example.com"),
		keys:   stackEndpoints("https://management.local.hub.example.com/", "https://adfs.local.hub.example.com/adfs")},
	"Azure Stack Hub: a login at Microsoft's": {rewrite: azure.RewriteStack, credentials: azureSecret,
		config: azureConfig(""),
		status: azureStatus("https://management.local.hub.example.com"),
		keys:   stackEndpoints("https://management.local.hub.example.com/", "https://login.microsoftonline.com/")},
	"Azure Stack Hub: a login elsewhere": {rewrite: azure.RewriteStack, credentials: azureSecret,
		config: azureConfig(""),
		status: azureStatus("https://management.local.hub.example.com"),
		keys:   stackEndpoints("https://management.local.hub.example.com/", "https://login.example.net/"),
		want: `cloud config endpoints:1:101: activeDirectoryEndpoint is "https://login.example.net/", which does not belong to status.platformStatus.azure.armEndpoint of ` +
			`infrastructure.config.openshift.io/cluster, "https://management.local.hub.example.com": the cloud-controller-manager would send its credentials there; correct it`},
	"Google Cloud: an endpoint of Google's": {rewrite: gcp.Rewrite,
		credentials: map[string]string{"service_account.json": googleFederation},
		config:      "[global]\napi-endpoint = https://compute-mine.p.googleapis.com/compute/v1/\n"},
	"Google Cloud: another endpoint": {rewrite: gcp.Rewrite,
		credentials: map[string]string{"service_account.json": googleFederation},
		config:      "[global]\napi-endpoint = https://compute.example.net/compute/v1/\n",
		want: `cloud config:2:16: api-endpoint is "https://compute.example.net/compute/v1/", which is not an API endpoint for the service_account.json of the credentials Secret: ` +
			"the cloud-controller-manager would send its tokens there; remove the line"},
	"IBM Cloud: a private endpoint of IBM's": {rewrite: ibm.Rewrite, credentials: ibmAPIKey, status: onIBM,
		config: ibmConfig("iamEndpointOverride = https://private.iam.cloud.ibm.com\n")},
	"IBM Cloud: another endpoint": {rewrite: ibm.Rewrite, credentials: ibmAPIKey, status: onIBM,
		config: ibmConfig("iamEndpointOverride = https://iam.example.net\n"),
		want: `cloud config:12:23: iamEndpointOverride is "https://iam.example.net", which is neither IBM Cloud's nor in status.platformStatus.ibmcloud.serviceEndpoints of ` +
			"infrastructure.config.openshift.io/cluster: the cloud-controller-manager would send its API key or a " +
			"token to it; remove the line, or add it to Infrastructure"},
	"IBM Cloud: a customer's application": {rewrite: ibm.Rewrite, credentials: ibmAPIKey, status: onIBM,
		config: ibmConfig("iamEndpointOverride = https://iam.1abc2def.us-south.codeengine.appdomain.cloud\n"),
		want: `cloud config:12:23: iamEndpointOverride is "https://iam.1abc2def.us-south.codeengine.appdomain.cloud", which is neither IBM Cloud's nor in ` +
			"status.platformStatus.ibmcloud.serviceEndpoints of infrastructure.config.openshift.io/cluster: " +
			"the cloud-controller-manager would send its API key or a token to it; remove the line, or add it to " +
			"Infrastructure"},
	"IBM Cloud: another service of IBM's": {rewrite: ibm.Rewrite, credentials: ibmAPIKey, status: onIBM,
		config: ibmConfig("iamEndpointOverride = https://us-south.functions.cloud.ibm.com\n"),
		want: `cloud config:12:23: iamEndpointOverride is "https://us-south.functions.cloud.ibm.com", which is neither IBM Cloud's nor in ` +
			"status.platformStatus.ibmcloud.serviceEndpoints of infrastructure.config.openshift.io/cluster: " +
			"the cloud-controller-manager would send its API key or a token to it; remove the line, or add it to " +
			"Infrastructure"},
	"IBM Cloud: IBM's endpoint without TLS": {rewrite: ibm.Rewrite, credentials: ibmAPIKey, status: onIBM,
		config: ibmConfig("rmEndpointOverride = http://resource-controller.cloud.ibm.com\n"),
		want: `cloud config:12:22: rmEndpointOverride is "http://resource-controller.cloud.ibm.com", which is neither IBM Cloud's nor in status.platformStatus.ibmcloud.serviceEndpoints of ` +
			"infrastructure.config.openshift.io/cluster: the cloud-controller-manager would send its API key or a " +
			"token to it; remove the line, or add it to Infrastructure"},
}

// A user with write access to the cloud configuration must not get credentials that the user may not read.
func TestNoEndpointGetsCredentialsThatTheirSourceDoesNotName(t *testing.T) {
	for name, c := range redirections {
		t.Run(name, func(t *testing.T) {
			result := c.rewrite(clouds.Source{Config: []byte(c.config), Keys: c.keys,
				Credentials: cloudtest.SecretOf(c.credentials),
				Cluster:     clouds.Cluster{Status: c.status}})
			require.Empty(t, cloudtest.Messages(result, diagnostic.Invalid), "something else is wrong")
			var want []string
			if c.want != "" {
				want = []string{c.want}
			}
			require.Equal(t, want, cloudtest.Messages(result, diagnostic.Redirected))
			require.Empty(t, result.Errors(diagnostic.Lenient), "a first install is accepted")
			require.Len(t, result.Errors(diagnostic.Strict), len(want), "a change is rejected")
		})
	}
}

func TestEveryEndpointOfAPlatformsCloudIsKnown(t *testing.T) {
	for platform, c := range map[string]struct {
		rewrite     clouds.Rewrite
		status      configv1.PlatformStatus
		credentials map[string]string
		config      func(host string) string
		hosts       []string
	}{
		"AWS": {aws.Rewrite, awsStatus(), nil, func(host string) string { return awsOverride("https://" + host) },
			[]string{
				"ec2.amazonaws.com", "ec2.us-east-1.amazonaws.com", "ec2-fips.us-gov-west-1.amazonaws.com",
				"ec2.us-east-1.api.aws",
				"elasticloadbalancing.us-gov-east-1.amazonaws.com", "kms-fips.ca-central-1.amazonaws.com",
				"ec2.cn-north-1.amazonaws.com.cn", "ec2.cn-north-1.api.amazonwebservices.com.cn",
				"ec2.eusc-de-east-1.amazonaws.eu", "ec2.eusc-de-east-1.api.amazonwebservices.eu",
				"ec2.us-iso-east-1.c2s.ic.gov", "ec2.us-iso-east-1.api.aws.ic.gov",
				"ec2.us-isob-east-1.sc2s.sgov.gov", "ec2.us-isob-east-1.api.aws.scloud",
				"ec2.eu-isoe-west-1.cloud.adc-e.uk", "ec2.eu-isoe-west-1.api.cloud-aws.adc-e.uk",
				"ec2.us-isof-south-1.csp.hci.ic.gov", "ec2.us-isof-south-1.api.aws.hci.ic.gov",
				"vpce-088d25a4bbf4a7abc-ks83awe7.elasticloadbalancing.us-east-1.vpce.amazonaws.com",
				"vpce-088d25a4bbf4a7abc-ks83awe7-us-east-1a.ec2.us-east-1.vpce.amazonaws.com",
			}},
		"Azure": {azure.Rewrite, azureStatus(""), azureSecret, func(host string) string {
			return azureConfig(`, "resourceManagerEndpoint": "https://` + host + `"`)
		}, []string{"management.azure.com", "management.usgovcloudapi.net", "management.chinacloudapi.cn",
			"management.microsoftazure.de"}},
		"IBM Cloud": {ibm.Rewrite, onIBM, ibmAPIKey, func(host string) string {
			return ibmConfig("g2EndpointOverride = https://" + host + "\n")
		}, []string{"iam.cloud.ibm.com", "private.iam.cloud.ibm.com", "private.us-east.iam.cloud.ibm.com",
			"us-south.iaas.cloud.ibm.com",
			"us-south.private.iaas.cloud.ibm.com", "resource-controller.cloud.ibm.com",
			"private.us-south.resource-controller.cloud.ibm.com",
			"us-south.power-iaas.cloud.ibm.com", "private.dal.power-iaas.cloud.ibm.com"}},
	} {
		for _, host := range c.hosts {
			t.Run(platform+" "+host, func(t *testing.T) {
				result := c.rewrite(clouds.Source{Config: []byte(c.config(host)),
					Credentials: cloudtest.SecretOf(c.credentials),
					Cluster:     clouds.Cluster{Status: c.status}})
				require.Empty(t, cloudtest.Messages(result, diagnostic.Invalid))
				require.Empty(t, cloudtest.Messages(result, diagnostic.Redirected))
			})
		}
	}
}

// Every AWS customer gets names in Amazon's domains, some of them with Amazon's certificates.
func TestAHostOfACustomerOfAmazonIsForeign(t *testing.T) {
	for _, host := range []string{
		"abc123.execute-api.us-east-1.amazonaws.com", "ec2.execute-api.us-east-1.amazonaws.com",
		"elasticloadbalancing.s3.amazonaws.com", "ec2.s3.us-east-1.amazonaws.com",
		"ec2-1234567890.us-east-1.elb.amazonaws.com", "ec2-198-51-100-1.compute-1.amazonaws.com",
		"vpce-088d25a4bbf4a7abc-ks83awe7.vpce-svc-0123456789abcdef0.us-east-1.vpce.amazonaws.com",
		"amazonaws.com", "ec2.us-east-1.amazonaws.com.example.net", "ec2.us-east-1-amazonaws.com",
	} {
		t.Run(host, func(t *testing.T) {
			result := aws.Rewrite(clouds.Source{Config: []byte(awsOverride("https://" + host)),
				Cluster: clouds.Cluster{Status: awsStatus()}})
			require.Len(t, cloudtest.Messages(result, diagnostic.Redirected), 1)
			require.Len(t, result.Errors(diagnostic.Strict), 1, "a change is rejected")
			require.Empty(t, result.Errors(diagnostic.Lenient), "a first install is accepted")
		})
	}
}

// A ConfigMap or Secret has at most a mebibyte.
func TestAMebibyteIsCheckedAndItsDiagnosticsAreLimited(t *testing.T) {
	const size = 1 << 20
	overrides := &strings.Builder{}
	for i := 0; overrides.Len() < size; i++ {
		fmt.Fprintf(overrides, "[ServiceOverride \"%d\"]\nService = elasticloadbalancing\nRegion = r%d\n", i, i)
	}
	for name, c := range map[string]struct {
		rewrite clouds.Rewrite
		config  string
		last    string
	}{
		"overrides": {aws.Rewrite, overrides.String(),
			fmt.Sprintf("%d more from here on are not listed: correct the others first",
				2*strings.Count(overrides.String(), "[")-99)},
		"keys": {gcp.Rewrite, "[global]\nmultizone\nnode-tags = a\n" + strings.Repeat("somewhat-unknown = 1\n", size/21),
			fmt.Sprintf("%d more from here on are not listed: correct the others first", size/21-99)},
	} {
		t.Run(name, func(t *testing.T) {
			result := c.rewrite(clouds.Source{Config: []byte(c.config), CredentialsUnknown: true})
			require.Len(t, result.Diagnostics, 100)
			var all []string
			for _, f := range result.Diagnostics {
				all = append(all, f.Message)
			}
			require.Contains(t, all, c.last)
		})
	}
	file := "[default]\naws_access_key_id = A\n" + strings.Repeat("  b\n", size/4)
	require.Equal(t, []string{"credentials credentials:2:1: profile [default] has aws_access_key_id with more in the " +
		"next line, because that one is indented: remove the blanks before it"},
		cloudtest.Messages(aws.Rewrite(clouds.Source{Credentials: cloudtest.SecretOf(map[string]string{"credentials": file})}), diagnostic.Invalid))
}

const googleFederation = `{"type": "external_account", "audience": "//iam.googleapis.com/projects/123/locations/global/workloadIdentityPools/pool/providers/provider", "subject_token_type": "urn:jwt", "token_url": "https://sts.googleapis.com/v1/token",
 "credential_source": {"file": "/var/run/token"}}`

var azureSecret = map[string]string{
	"azure_client_id":       "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee",
	"azure_client_secret":   "s3cr3t-v4lue",
	"azure_region":          "westeurope",
	"azure_resource_prefix": "demo-x7k2p",
	"azure_resourcegroup":   "demo-x7k2p-rg",
	"azure_subscription_id": "66666666-7777-8888-9999-000000000000",
	"azure_tenant_id":       "11111111-2222-3333-4444-555555555555",
}

var ibmAPIKey = map[string]string{"ibmcloud_api_key": "s3cr3t-v4lue\n", "ibm-credentials.env": "ignored"}

func TestDiagnosticsHaveNoSecrets(t *testing.T) {
	for _, platform := range []string{"azure", "azurestack", "nutanix", "alibabacloud", "digitalocean", "external"} {
		files, err := filepath.Glob(filepath.Join("..", "clouds", "*", "testdata", platform, "*.golden"))
		require.NoError(t, err)
		require.NotEmpty(t, files)
		for _, file := range files {
			golden, err := os.ReadFile(file)
			require.NoError(t, err)
			diagnostics, _, _ := strings.Cut(string(golden), "-- cloud.conf --")
			require.NotContains(t, diagnostics, "s3cr3t", file)
		}
	}
}
