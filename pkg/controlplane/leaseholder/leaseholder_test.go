package leaseholder

import (
	"testing"

	"github.com/stretchr/testify/require"
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
