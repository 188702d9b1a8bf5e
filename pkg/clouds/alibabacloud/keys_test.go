package alibabacloud

import (
	"path/filepath"
	"testing"

	configv1 "github.com/openshift/api/config/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/cloudtest"
)

func TestAlibabaCloudKeysGolden(t *testing.T) {
	cloudtest.RequireText(t, filepath.Join("testdata", "alibabacloud-keys.golden"),
		cloudtest.FieldsText("", alibabaFields))
}

func TestAlibabaCloudWritesOnlyKeysThatTheProviderReads(t *testing.T) {
	cloudtest.RequireWritesFields(t, Rewrite, confdoc.YAMLAsJSON, alibabaFields, "", clouds.Source{
		Credentials: map[string][]byte{"alibaba_access_key_id": []byte("i"), "alibaba_access_key_secret": []byte("s")},
		Cluster: clouds.Cluster{Status: configv1.PlatformStatus{AlibabaCloud: &configv1.AlibabaCloudPlatformStatus{
			Region: "cn-hangzhou"}}},
	})
}
