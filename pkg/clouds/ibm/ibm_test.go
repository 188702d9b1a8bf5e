package ibm_test

import (
	"os"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds/ibm"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/cloudtest"
)

var apiKey = map[string]string{"ibmcloud_api_key": "s3cr3t-v4lue\n", "ibm-credentials.env": "ignored"}

func TestIBMCloudGolden(t *testing.T) { cloudtest.RequireGoldens(t, "ibmcloud", ibm.Rewrite, apiKey) }

func TestPowerVSGolden(t *testing.T) {
	cloudtest.RequireGoldens(t, "powervs", ibm.RewritePowerVS, apiKey)
}

// installers returns the configuration that the installer writes.
func installers(t *testing.T, platform string) []byte {
	t.Helper()
	config, err := os.ReadFile("testdata/" + platform + "/installer.conf")
	require.NoError(t, err)
	return config
}

func TestIBMCloudRejectsUnusableCredentials(t *testing.T) {
	for name, c := range map[string]struct {
		secret map[string]string
		error  string
	}{
		"no Secret": {nil,
			"credentials: there is no credentials Secret: check the cloud-credential-operator, " +
				"or create the Secret if credentials are managed manually"},
		"an empty Secret": {map[string]string{},
			"credentials ibmcloud_api_key: the credentials Secret is empty: it needs the key ibmcloud_api_key"},
		"other keys": {map[string]string{"apikey": "s3cr3t", "IBMCLOUD_API_KEY": "s3cr3t"},
			"credentials ibmcloud_api_key: the credentials Secret has no such key, only IBMCLOUD_API_KEY, apikey"},
		"an empty key": {map[string]string{"ibmcloud_api_key": "\n"},
			"credentials ibmcloud_api_key: it is empty: write the credentials that the cloud issued"},
		"a line with a name": {map[string]string{"ibmcloud_api_key": "apikey: s3cr3t"},
			"credentials ibmcloud_api_key: it contains whitespace, and the cloud-controller-manager would write it " +
				"to its log: write only the API key"},
	} {
		t.Run(name, func(t *testing.T) {
			rewrites := map[string]clouds.Rewrite{"ibmcloud": ibm.Rewrite, "powervs": ibm.RewritePowerVS}
			for platform, rewrite := range rewrites {
				result := rewrite(clouds.Source{Config: installers(t, platform),
					Credentials: cloudtest.SecretOf(c.secret), Paths: cloudtest.StaticPodPaths})
				require.Equal(t, []string{c.error}, cloudtest.Messages(result, diagnostic.Invalid))
				require.Nil(t, result.Config)
			}
		})
	}
}

func TestIBMCloudAcceptsUnknownCredentials(t *testing.T) {
	for platform, rewrite := range map[string]clouds.Rewrite{"ibmcloud": ibm.Rewrite, "powervs": ibm.RewritePowerVS} {
		result := rewrite(clouds.Source{Config: installers(t, platform), CredentialsUnknown: true,
			Paths: cloudtest.StaticPodPaths})
		require.Empty(t, result.Errors(diagnostic.Strict))
		require.Empty(t, result.Warnings(diagnostic.Strict))
		require.Nil(t, result.Credentials)
	}
}

func TestIBMCloudReportsAnotherClustersID(t *testing.T) {
	for name, want := range map[string][]string{
		"":                nil,
		"mycluster-x7z2p": nil,
		"mycluster": {`cloud config:7:13: clusterID is "mycluster-x7z2p", but status.infrastructureName of ` +
			`infrastructure.config.openshift.io/cluster is "mycluster": the load balancers of the cluster are named ` +
			`kube-<clusterID>-…, and those with another ID are not found; write the infrastructure name, unless they have this ID`},
	} {
		for platform, rewrite := range map[string]clouds.Rewrite{"ibmcloud": ibm.Rewrite, "powervs": ibm.RewritePowerVS} {
			result := rewrite(clouds.Source{Config: installers(t, platform), CredentialsUnknown: true,
				Paths: cloudtest.StaticPodPaths, Cluster: clouds.Cluster{Name: name}})
			require.Equal(t, want, cloudtest.Messages(result, diagnostic.Doubtful))
		}
	}
}

func TestIBMCloudReportsIDsInsteadOfNames(t *testing.T) {
	const warning = ", which looks like an ID: the cloud-controller-manager compares it with names only; write the name"
	for names, want := range map[[2]string][]string{
		{"mycluster-vpc", `"a; b, c"`}: nil,
		{"r018-vpc", "0797-subnet"}:    nil,
		{"r018-1a2b3c4d-0000-1111-2222-333344445555", "a"}: {
			`cloud config:9:13: g2VpcName has "r018-1a2b3c4d-0000-1111-2222-333344445555"` + warning},
		{"vpc", "a,0797-1a2b3c4d-0000-1111-2222-333344445555 02c7-1a2b3c4d-0000-1111-2222-333344445555"}: {
			`cloud config:10:20: g2VpcSubnetNames has "0797-1a2b3c4d-0000-1111-2222-333344445555"` + warning},
	} {
		config := "[global]\nversion = 1.1.0\n[provider]\naccountID = 0123456789abcdef0123456789abcdef\n" +
			"g2workerServiceAccountID = 0123456789abcdef0123456789abcdef\nclusterID = c\nregion = eu-gb\n" +
			"cluster-default-provider = g2\ng2VpcName = " + names[0] + "\ng2VpcSubnetNames = " + names[1] +
			"\ng2ResourceGroupName = g\npowerVSRegion = r\npowerVSZone = z\n" +
			"powerVSCloudInstanceID = 11111111-2222-3333-4444-555555555555\n"
		for _, rewrite := range []clouds.Rewrite{ibm.Rewrite, ibm.RewritePowerVS} {
			result := rewrite(clouds.Source{Config: []byte(config), CredentialsUnknown: true, Paths: cloudtest.StaticPodPaths})
			require.Empty(t, result.Errors(diagnostic.Strict))
			require.Equal(t, want, cloudtest.Messages(result, diagnostic.Doubtful))
		}
	}
}

// FuzzIBMCloud checks the guarantees of a Rewrite for any configuration and API key, on IBM Cloud and on Power VS.
func FuzzIBMCloud(f *testing.F) {
	for _, platform := range []string{"ibmcloud", "powervs"} {
		config, err := os.ReadFile("testdata/" + platform + "/installer.conf")
		require.NoError(f, err)
		f.Add(string(config), "key")
		f.Add(string(config)+"[kubernetes]\nconfig-file\ncniProvider = Calico\nconfig-file = x\n[provider]\n"+
			"g2EndpointOverride = https://a/v1/v2\n", "key\n")
	}
	cluster := clouds.Cluster{Status: configv1.PlatformStatus{
		IBMCloud: &configv1.IBMCloudPlatformStatus{ServiceEndpoints: []configv1.IBMCloudServiceEndpoint{
			{Name: "IAM", URL: "https://iam"}}},
		PowerVS: &configv1.PowerVSPlatformStatus{ServiceEndpoints: []configv1.PowerVSServiceEndpoint{
			{Name: "Power", URL: "https://power"}}},
	}}
	f.Fuzz(func(t *testing.T, config, key string) {
		secret := map[string]string{"ibmcloud_api_key": key}
		src := clouds.Source{Config: []byte(config), Credentials: cloudtest.SecretOf(secret), Cluster: cluster,
			Paths: cloudtest.StaticPodPaths}
		cloudtest.RequireFuzzed(t, ibm.Rewrite, src)
		cloudtest.RequireFuzzed(t, ibm.RewritePowerVS, src)
	})
}
