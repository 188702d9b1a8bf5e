package node

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRenderedConfiguration(t *testing.T) {
	cluster := Options{
		Name: "master-1", BinDir: "/bin", KubeletKubeconfig: "/run/kubelet.kubeconfig",
		ClientCAFile: "/run/client-ca.crt",
		Labels:       map[string]string{"zone": "b", "a": "1"}, ExternalCloudProvider: true,
	}
	standalone := Options{Name: "bootstrap", BinDir: "/bin", Standalone: true}
	anyAddress := Options{Name: "master-3", BinDir: "/bin", KubeletKubeconfig: "/run/kubelet.kubeconfig", AnyAddress: true,
		ProviderID: "cloud://master-3"}
	network := Network{
		bridge: "devcluster", host: netip.MustParsePrefix("10.200.0.1/24"),
		podRange: netip.MustParsePrefix("10.201.0.0/16"),
	}
	tests := map[string]string{
		"containerd.toml":         containerdConfig,
		"kubelet-cluster.yaml":    kubeletYAML(cluster),
		"kubelet-cluster.args":    strings.Join(kubeletCommand(cluster, "10.200.0.11", "/config/kubelet.yaml"), "\n"),
		"kubelet-address.args":    strings.Join(kubeletCommand(anyAddress, "10.200.0.13", "/config/kubelet.yaml"), "\n"),
		"kubelet-standalone.yaml": kubeletYAML(standalone),
		"kubelet-standalone.args": strings.Join(kubeletCommand(standalone, "10.200.0.12", "/config/kubelet.yaml"),
			"\n"),
		"cni.conflist":       cniConfig(network.pods(1).String()),
		"network-inside.ip":  strings.Join(network.inside(1), "\n"),
		"network-outside.ip": strings.Join(network.outside(1, 4711), "\n"),
	}
	for name, got := range tests {
		t.Run(name, func(t *testing.T) {
			golden := filepath.Join("testdata", "golden", name)
			if os.Getenv("UPDATE_GOLDEN") != "" {
				require.NoError(t, os.WriteFile(golden, []byte(got), 0o644))
				t.Fatalf("%s is rewritten", golden)
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			require.Equal(t, string(want), got)
		})
	}
}
