package openstack

import (
	"path/filepath"
	"testing"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/cloudtest"
)

func TestOpenStackKeysGolden(t *testing.T) {
	cloudtest.RequireText(t, filepath.Join("testdata", "openstack-keys.golden"), cloudtest.SchemaText(schema))
}
