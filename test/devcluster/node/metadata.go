package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"net"
	"os/exec"
	"syscall"
)

const (
	// metadataAddress is where several clouds serve the metadata of the instance that asks.
	metadataAddress = "169.254.169.254"
	metadataPort    = "80"
	// firstTable is above the numbers of routing tables that a machine has names for.
	firstTable = 1000
)

// ListenMetadata listens at the address of a cloud's instance metadata service. Only requests from the network's nodes
// get there: the machine itself and other networks are not affected. Close of the network ends the routing, and the
// caller closes the listener.
func (n *Network) ListenMetadata(ctx context.Context) (net.Listener, error) {
	if n.hold == nil {
		return nil, fmt.Errorf("network %q: it is closed", n.bridge)
	}
	table := n.metadataTable()
	err := ip(ctx,
		fmt.Sprintf("route add local %s dev %s table %d", metadataAddress, n.bridge, table),
		fmt.Sprintf("rule add iif %s to %s lookup %d", n.bridge, metadataAddress, table),
	)
	if err != nil {
		return nil, fmt.Errorf("network %q: %w", n.bridge, err)
	}
	listener, err := (&net.ListenConfig{Control: n.bindMetadata}).Listen(ctx, "tcp4",
		net.JoinHostPort(metadataAddress, metadataPort))
	if err != nil {
		return nil, fmt.Errorf("network %q: %w", n.bridge, err)
	}
	return listener, nil
}

// metadataTable returns the number of the routing table that only has the address of the metadata service.
func (n *Network) metadataTable() uint32 {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(n.bridge)) // never fails
	return firstTable + hash.Sum32()%(1<<20)
}

// bindMetadata lets a socket have an address that is not the machine's, on the bridge alone.
func (n *Network) bindMetadata(_, _ string, connection syscall.RawConn) error {
	var set error
	err := connection.Control(func(fd uintptr) {
		set = errors.Join(
			syscall.BindToDevice(int(fd), n.bridge),
			syscall.SetsockoptInt(int(fd), syscall.SOL_IP, syscall.IP_TRANSPARENT, 1),
		)
	})
	return errors.Join(err, set)
}

// removeMetadataRoute removes the rule of ListenMetadata, which outlives the bridge. The route goes with the bridge.
func (n *Network) removeMetadataRoute(ctx context.Context) error {
	table := fmt.Sprint(n.metadataTable())
	found, err := exec.CommandContext(ctx, "ip", "rule", "show", "table", table).Output()
	if err != nil {
		return fmt.Errorf("listing rules: %w", err)
	}
	for range bytes.Count(found, []byte("\n")) {
		if err := ip(ctx, "rule delete lookup "+table); err != nil {
			return err
		}
	}
	return nil
}
