package confdoc

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestANameIsFoundHoweverItsWordsAreJoined(t *testing.T) {
	known := []string{"a", "excludeMasterFromStandardLB", "provider-requires-serial-api-calls",
		"DisableSecurityGroupIngress", "internalNetworkSubnetCidr", "externalNetworkSubnetCidr"}
	for name, want := range map[string]string{
		"exclude_master_from_standard_lb":    "excludeMasterFromStandardLB",
		"exclude-master-from-standard-lb":    "excludeMasterFromStandardLB",
		"providerRequiresSerialApiCalls":     "provider-requires-serial-api-calls",
		"provider_requires_serial_api_calls": "provider-requires-serial-api-calls",
		"disable-security-group-ingress":     "DisableSecurityGroupIngress",
		"internal-network-subnet-cidr":       "internalNetworkSubnetCidr",
		"external_network_subnet_cird":       "externalNetworkSubnetCidr",
		"internal-network-subnet":            "",
		"-":                                  "",
	} {
		require.Equal(t, want, Nearest(name, known), name)
	}
}
