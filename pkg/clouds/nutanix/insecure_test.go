package nutanix_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds/nutanix"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/cloudtest"
)

func TestAnUncheckedCertificateIsNamed(t *testing.T) {
	for insecure, want := range map[string][]string{
		"true": {"cloud config:1:58: prismCentral.insecure is true: anyone between the nodes and Prism Central can read " +
			"the credentials; put the CA certificates in ca-bundle.pem beside the cloud configuration, or in the trustedCA of " +
			"proxy/cluster, and remove it"},
		"false": nil, "null": nil,
	} {
		result := nutanix.Rewrite(clouds.Source{CredentialsUnknown: true,
			Config: []byte(`{"prismCentral": {"address": "a", "port": 1, "insecure": ` + insecure + `}}`)})
		require.Empty(t, result.Errors(diagnostic.Strict))
		require.Equal(t, want, cloudtest.Messages(result, diagnostic.Insecure))
	}
}

// The provider would rather check nothing than fail with a bundle that its client cannot use.
func TestATrustBundleThatTurnsTheCheckOffIsNamed(t *testing.T) {
	for bundle, want := range map[string][]string{
		`{"kind": "ConfigMap", "name": "ca"}`: {"cloud config:1:71: prismCentral.additionalTrustBundle is set, and with it " +
			"the cloud-controller-manager does not check the certificate of Prism Central: anyone between the nodes and Prism " +
			"Central can read the credentials; put the CA certificates in ca-bundle.pem beside the cloud configuration, or in " +
			"the trustedCA of proxy/cluster, and remove it"},
		"null": nil,
	} {
		result := nutanix.Rewrite(clouds.Source{CredentialsUnknown: true,
			Config: []byte(`{"prismCentral": {"address": "a", "port": 1, "additionalTrustBundle": ` + bundle + `}}`)})
		require.Empty(t, result.Errors(diagnostic.Strict))
		require.Equal(t, want, cloudtest.Messages(result, diagnostic.Insecure))
	}
}
