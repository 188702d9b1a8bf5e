package nutanix

import (
	"path/filepath"
	"testing"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/cloudtest"
)

func TestNutanixKeysGolden(t *testing.T) {
	cloudtest.RequireText(t, filepath.Join("testdata", "nutanix-keys.golden"), cloudtest.FieldsText("", nutanixFields))
}

func TestNutanixCredentialsKeysGolden(t *testing.T) {
	cloudtest.RequireText(t, filepath.Join("testdata", "nutanix-credentials-keys.golden"),
		cloudtest.FieldsText("", nutanixLogin.Fields))
}

func TestNutanixWritesOnlyKeysThatTheProviderReads(t *testing.T) {
	cloudtest.RequireWritesFields(t, Rewrite, confdoc.JSON, nutanixFields,
		`{"prismCentral": {"address": "a", "port": 1}}`, clouds.Source{Credentials: map[string][]byte{
			"credentials": []byte(`[{"type": "basic_auth", "data": {"prismCentral": {"username": ` +
				`"u", "password": "p"}}}]`),
		}})
}
