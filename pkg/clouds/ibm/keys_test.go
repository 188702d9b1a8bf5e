package ibm

import (
	"path/filepath"
	"testing"

	configv1 "github.com/openshift/api/config/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/cloudtest"
)

func TestIBMCloudKeysGolden(t *testing.T) {
	cloudtest.RequireText(t, filepath.Join("testdata", "ibmcloud-keys.golden"), cloudtest.SchemaText(ibmSchema))
}

func TestPowerVSKeysGolden(t *testing.T) {
	cloudtest.RequireText(t, filepath.Join("testdata", "powervs-keys.golden"), cloudtest.SchemaText(powerVSSchema))
}

func TestIBMWritesOnlyKeysThatTheProviderReads(t *testing.T) {
	config := "[global]\nversion=1.1.0\n[provider]\naccountID=a\ng2workerServiceAccountID=a\n" +
		"clusterID=c\ncluster-default-provider=g2\nregion=r\n" +
		"g2ResourceGroupName=g\ng2VpcName=v\ng2VpcSubnetNames=s\nzone=z\n"
	endpoints := []configv1.IBMCloudServiceEndpoint{{Name: "IAM", URL: "https://i"}, {Name: "VPC", URL: "https://v"},
		{Name: "ResourceManager", URL: "https://r"}}
	cloudtest.RequireWrites(t, Rewrite, ibmSchema, config,
		clouds.Cluster{Status: configv1.PlatformStatus{IBMCloud: &configv1.IBMCloudPlatformStatus{
			ServiceEndpoints: endpoints}}}, 2+3-1)
	ofPowerVS := []configv1.PowerVSServiceEndpoint{{Name: "IAM", URL: "https://i"}, {Name: "VPC", URL: "https://v"},
		{Name: "ResourceManager", URL: "https://r"}, {Name: "ResourceController", URL: "https://c"},
		{Name: "Power", URL: "https://p"}}
	cloudtest.RequireWrites(t, RewritePowerVS, powerVSSchema,
		config+"powerVSRegion=r\npowerVSZone=z\npowerVSCloudInstanceID=11111111-2222-3333-4444-555555555555\n",
		clouds.Cluster{Status: configv1.PlatformStatus{PowerVS: &configv1.PowerVSPlatformStatus{
			ServiceEndpoints: ofPowerVS}}}, 2+5-1)
}
