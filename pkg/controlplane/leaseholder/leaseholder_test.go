package leaseholder

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/utils/ptr"
)

func TestAShortHostNameMeansTheFirstOfTheNodesThatShareIt(t *testing.T) {
	for _, nodes := range [][]string{{"m.a", "m.b", "n.a"}, {"n.a", "m.b", "m.a"}} {
		require.Equal(t, "m.a", NodeOf("m_uuid", nodes))
	}
}

func TestTheFullNameOfAHostPrecedesItsShortName(t *testing.T) {
	require.Equal(t, "m.b", NodeOf("m.b_uuid", []string{"m.a", "m.b"}))
	require.Empty(t, NodeOf("other_uuid", []string{"m.a", "m.b"}))
	require.Empty(t, NodeOf("", []string{"m.a", "m.b"}))
}

func TestAnIdentityIsNeverLong(t *testing.T) {
	lease := &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{HolderIdentity: ptr.To(strings.Repeat("x", 1<<20))}}
	require.Len(t, Identity(lease), maxIdentity)
	longest := strings.Repeat("x", 253) + "_744518fc-b9ed-4b6f-9c7d-1348ecde3c47"
	lease.Spec.HolderIdentity = &longest
	require.Equal(t, longest, Identity(lease))
}
