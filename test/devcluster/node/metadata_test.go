package node_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/node"
)

func TestANodeReachesTheMetadataServiceAndItsHosts(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("nodes need root")
	}
	network := newNetwork(t)
	listener, err := network.ListenMetadata(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, listener.Close()) })
	go answerWithTheirAddress(listener)
	n, err := node.Start(t.Context(), node.Options{
		Name: "node-5", Index: 5, Dir: filepath.Join(t.TempDir(), "node-5"), Network: network, BinDir: binDir(t),
		Standalone: true, Hosts: map[string]string{"cloud.example.com": "10.210.0.1", "a.example.com": "10.210.0.2"},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Stop(t.Context())) })

	hosts, err := os.ReadFile(fmt.Sprintf("/proc/%d/root/etc/hosts", n.PID()))
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1\tlocalhost\n10.210.0.15\tnode-5\n10.210.0.2\ta.example.com\n"+
		"10.210.0.1\tcloud.example.com\n", string(hosts))
	answer, err := exec.CommandContext(t.Context(), "nsenter", "--net", fmt.Sprintf("--target=%d", n.PID()),
		"bash", "-c", "cat < /dev/tcp/169.254.169.254/80").CombinedOutput()
	require.NoError(t, err, string(answer))
	require.Equal(t, "10.210.0.15", string(answer), "the service sees the node's address")

	require.NoError(t, n.Stop(t.Context()))
	require.NoError(t, network.Close())
	rules, err := exec.CommandContext(t.Context(), "ip", "rule").Output()
	require.NoError(t, err)
	require.NotContains(t, string(rules), bridge)
	_, err = network.ListenMetadata(t.Context())
	require.EqualError(t, err, `network "nodetest": it is closed`)
}

// answerWithTheirAddress sends every client its own address until the listener is closed.
func answerWithTheirAddress(listener net.Listener) {
	for {
		connection, err := listener.Accept()
		if err != nil {
			return
		}
		host, _, _ := net.SplitHostPort(connection.RemoteAddr().String())
		_, _ = connection.Write([]byte(host)) // the client notices
		_ = connection.Close()
	}
}
