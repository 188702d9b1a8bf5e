package patience_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/patience"
)

func TestTheTimeCountsFromTheFirstSightOfAValue(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	each := patience.Each[string, bool]{}
	require.Equal(t, start, each.See("a", false, start))
	require.Equal(t, start.Add(time.Second), each.See("a", true, start.Add(time.Second)))
	require.Equal(t, start.Add(time.Second), each.See("a", true, start.Add(time.Minute)))
	require.Equal(t, start.Add(time.Minute), each.See("b", true, start.Add(time.Minute)))
	require.True(t, each["a"].Value())
	require.Equal(t, start.Add(time.Second), each["a"].At())
	delete(each, "a")
	require.Equal(t, start.Add(time.Hour), each.See("a", true, start.Add(time.Hour)))
}

func TestNeverIsNotSooner(t *testing.T) {
	for name, tc := range map[string]struct{ a, b, want time.Duration }{
		"neither":            {0, 0, 0},
		"only the first":     {2, 0, 2},
		"only the second":    {0, 2, 2},
		"the first":          {1, 2, 1},
		"the second":         {2, 1, 1},
		"what is over":       {-1, 2, 2},
		"the other is over":  {2, -1, 2},
		"both are over":      {-1, -2, 0},
		"over and never are": {-1, 0, 0},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, tc.want, patience.Sooner(tc.a, tc.b)) })
	}
}
