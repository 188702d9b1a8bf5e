package devcluster

import (
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestClustersWithNodesDoNotShareAddresses(t *testing.T) {
	ranges := map[string][]netip.Prefix{}
	for slot := range slots {
		options := bridged(slot).networkOptions()
		require.LessOrEqual(t, len(options.Bridge), 12, "a longer name leaves no room for the links of the nodes")
		for name, text := range map[string]string{"nodes": options.HostIP, "pods": options.PodRange, "services": bridged(slot).serviceCIDR} {
			prefix, err := netip.ParsePrefix(text)
			require.NoError(t, err)
			for _, other := range ranges[name] {
				require.False(t, prefix.Overlaps(other), "%s: %s and %s", name, prefix, other)
			}
			ranges[name] = append(ranges[name], prefix)
		}
	}
	require.Len(t, ranges["nodes"], 4)
}

func TestOptionsAreChecked(t *testing.T) {
	cases := map[string]struct {
		options Options
		want    string
	}{
		"too many nodes":  {Options{Nodes: 10}, "10 nodes: between 0 and 9 are possible"},
		"fewer than none": {Options{Nodes: -1}, "-1 nodes: between 0 and 9 are possible"},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := test.options.withDefaults()
			require.EqualError(t, err, test.want)
		})
	}
}

func TestFindRepositoryLooksUpwards(t *testing.T) {
	root := t.TempDir()
	below := filepath.Join(root, "test", "e2e")
	require.NoError(t, os.MkdirAll(below, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(below, "go.mod"),
		[]byte("module github.com/openshift/cluster-cloud-controller-manager-operator/test/e2e\n"), 0o644))
	_, err := FindRepository(below)
	require.EqualError(t, err, below+" is not inside a checkout of cluster-cloud-controller-manager-operator")

	require.NoError(t, os.WriteFile(filepath.Join(root, "go.mod"),
		[]byte("module github.com/openshift/cluster-cloud-controller-manager-operator\n"), 0o644))
	found, err := FindRepository(below)
	require.NoError(t, err)
	require.Equal(t, root, found)
}
