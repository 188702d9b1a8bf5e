package gcp

import (
	"path/filepath"
	"testing"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/cloudtest"
)

func TestGCPKeysGolden(t *testing.T) {
	cloudtest.RequireText(t, filepath.Join("testdata", "gcp-keys.golden"), cloudtest.SchemaText(schema))
}

func TestGCPWritesOnlyKeysThatTheProviderReads(t *testing.T) {
	cloudtest.RequireWrites(t, Rewrite, schema, "[x]\n", clouds.Cluster{}, 1)
}
