package aws

import (
	"path/filepath"
	"testing"

	configv1 "github.com/openshift/api/config/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/featuregate"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/cloudtest"
)

func TestAWSKeysGolden(t *testing.T) {
	cloudtest.RequireText(t, filepath.Join("testdata", "aws-keys.golden"), cloudtest.SchemaText(schema))
}

func TestAWSWritesOnlyKeysThatTheProviderReads(t *testing.T) {
	status := configv1.PlatformStatus{AWS: &configv1.AWSPlatformStatus{Region: "r", ServiceEndpoints: []configv1.AWSServiceEndpoint{
		{Name: "ec2", URL: "https://e"}, {Name: "elasticloadbalancing", URL: "https://l"}, {Name: "kms", URL: "https://k"}}}}
	cloudtest.RequireWrites(t, Rewrite, schema, "", clouds.Cluster{Status: status, FeatureGates: []string{featuregate.NLBSecurityGroups}}, 3+4*4)
}
