package nutanix_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds/cloudtest"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds/nutanix"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

func TestAnUncheckedCertificateIsNamed(t *testing.T) {
	for insecure, want := range map[string][]string{
		"true": {"cloud config:1:58: prismCentral.insecure is true: anyone between the nodes and Prism Central can read " +
			"the credentials; put the CA certificates in prismCentral.additionalTrustBundle instead"},
		"false": nil, "null": nil,
	} {
		result := nutanix.Rewrite(clouds.Source{CredentialsUnknown: true,
			Config: []byte(`{"prismCentral": {"address": "a", "port": 1, "insecure": ` + insecure + `}}`)})
		require.Empty(t, result.Errors(diagnostic.Strict))
		require.Equal(t, want, cloudtest.Messages(result, diagnostic.Insecure))
	}
}
