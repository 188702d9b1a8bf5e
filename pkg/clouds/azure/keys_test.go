package azure

import (
	"path/filepath"
	"testing"

	configv1 "github.com/openshift/api/config/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/cloudtest"
)

func TestAzureKeysGolden(t *testing.T) {
	cloudtest.RequireText(t, filepath.Join("testdata", "azure-keys.golden"), cloudtest.FieldsText("", azureFields))
}

func TestAzureEndpointsKeysGolden(t *testing.T) {
	cloudtest.RequireText(t, filepath.Join("testdata", "azure-endpoints-keys.golden"),
		cloudtest.FieldsText("", endpointsFields))
}

func TestAzureWritesOnlyKeysThatTheProviderReads(t *testing.T) {
	cloudtest.RequireWritesFields(t, Rewrite, confdoc.YAMLAsJSON, azureFields,
		`{"subscriptionId": "66666666-7777-8888-9999-000000000000", "resourceGroup": "r"}`, clouds.Source{
			Credentials: map[string][]byte{
				"azure_client_id": []byte("id"), "azure_federated_token_file": []byte("x"),
				"azure_tenant_id": []byte("t"),
			},
			Cluster: clouds.Cluster{Status: configv1.PlatformStatus{
				Azure: &configv1.AzurePlatformStatus{ARMEndpoint: "https://management.example.com/"}}},
		})
}
