package operatorclient

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheCommandThatAcceptsAValueIsSafeToPaste(t *testing.T) {
	for annotation, want := range map[string]string{
		"":                           "89abcdef0123",
		"0123456789ab":               "0123456789ab,89abcdef0123",
		"0123456789ab, 456789abcdef": "0123456789ab,456789abcdef,89abcdef0123",
		"0123456789ab-unproved,":     "0123456789ab-unproved,89abcdef0123",
		"$(reboot),0123456789ab":     "0123456789ab,89abcdef0123",
		"yes; reboot":                "89abcdef0123",
		"a\nb,\"c\",*":               "89abcdef0123",
	} {
		require.Equal(t, "oc annotate --overwrite cloudcontrollermanager cluster "+
			"cloudcontrollermanager.operator.openshift.io/accepted-preflight="+want, AcceptCommand(annotation, "89abcdef0123"))
	}
}
