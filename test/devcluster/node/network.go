package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

const (
	// maxNodes limits the index of a node. A starting node gets routes to all pod ranges, so that it needs no change
	// when another one joins.
	maxNodes = 32
	// firstHost is the host number of the node with index 0 in the nodes' network.
	firstHost = 10
	// cleanupTimeout limits the wait for killed processes in Close, which has no context.
	cleanupTimeout = 30 * time.Second
)

// nodeFolders are the directories that every node has to itself.
var nodeFolders = []string{
	"/etc/kubernetes", "/etc/cni/net.d", "/var/lib/kubelet", "/var/lib/containerd", "/var/lib/cni", "/var/log",
	"/run/containerd", "/run/lock",
}

// NetworkOptions describe the network of a cluster's nodes.
type NetworkOptions struct {
	// Bridge is the name of the link that joins the nodes, at most 12 characters. It also names the run: two
	// networks with one bridge cannot exist at once.
	Bridge string
	// HostIP is the machine's address in the nodes' network with the length of its prefix, which must leave room
	// for 42 hosts, such as "10.200.0.1/24". Node i gets host number 10+i.
	HostIP string
	// ServiceIP is the address of the service "kubernetes" with its prefix, such as "10.96.0.1/32". The bridge
	// holds it, so pods reach an API server that listens there without kube-proxy.
	ServiceIP string
	// PodRange is split into one /24 for each node. Default: "10.201.0.0/16".
	PodRange string
}

// Network joins the nodes of one cluster and the machine that they run on.
type Network struct {
	bridge   string
	host     netip.Prefix
	podRange netip.Prefix
	// hold is the lock, nil after Close.
	hold *os.File
	// machine is nil until the machine is changed.
	machine *machineState
}

// NewNetwork creates the bridge. It first removes the processes, links and control groups of a crashed run with the
// same bridge; Close restores kernel settings and directories. It fails while another process uses the network. The
// caller closes it after its nodes have stopped.
func NewNetwork(ctx context.Context, options NetworkOptions) (*Network, error) {
	n, service, err := parseNetwork(options)
	if err != nil {
		return nil, fmt.Errorf("network %q: %w", options.Bridge, err)
	}
	if os.Geteuid() != 0 {
		return nil, fmt.Errorf("network %q: nodes need namespaces and links: run as root", options.Bridge)
	}
	if n.hold, err = holdBridge(n.bridge); err != nil {
		return nil, fmt.Errorf("network %q: %w", options.Bridge, err)
	}
	if err := n.clean(ctx); err != nil {
		return nil, errors.Join(
			fmt.Errorf("network %q: removing what an earlier run left: %w", options.Bridge, err), n.hold.Close())
	}
	if err := n.create(ctx, service); err != nil {
		return nil, errors.Join(fmt.Errorf("network %q: %w", options.Bridge, err), n.Close())
	}
	return n, nil
}

func parseNetwork(options NetworkOptions) (n *Network, service netip.Prefix, err error) {
	if options.Bridge == "" || len(options.Bridge) > 12 || strings.ContainsAny(options.Bridge, "/ ") {
		return nil, service, errors.New("the bridge's name must have 1 to 12 characters, no space and no slash")
	}
	if options.PodRange == "" {
		options.PodRange = "10.201.0.0/16"
	}
	n = &Network{bridge: options.Bridge}
	if n.host, err = netip.ParsePrefix(options.HostIP); err != nil {
		return nil, service, fmt.Errorf("HostIP: %w", err)
	}
	if n.podRange, err = netip.ParsePrefix(options.PodRange); err != nil {
		return nil, service, fmt.Errorf("PodRange: %w", err)
	}
	if service, err = netip.ParsePrefix(options.ServiceIP); err != nil {
		return nil, service, fmt.Errorf("ServiceIP: %w", err)
	}
	if !n.host.Addr().Is4() || n.host.Bits() > 26 {
		return nil, service, fmt.Errorf("HostIP: %s is not an IPv4 address with a prefix of at most 26 bits", n.host)
	}
	if !n.podRange.Addr().Is4() || n.podRange.Bits() > 19 {
		return nil, service, fmt.Errorf("PodRange: %s is not an IPv4 range of at most 19 bits", n.podRange)
	}
	return n, service, nil
}

// create prepares the machine, then makes the bridge and the routes.
func (n *Network) create(ctx context.Context, service netip.Prefix) error {
	var err error
	if n.machine, err = thisMachine.acquire(); err != nil {
		return fmt.Errorf("preparing the machine: %w", err)
	}
	commands := []string{
		// Without an address of its own, a bridge has the lowest of its links. It would change when that node goes, and
		// the other nodes would not reach the host until their neighbor entries expire, after ten seconds.
		fmt.Sprintf("link add %s address %s type bridge forward_delay 0", n.bridge, hardwareAddress(n.host.Addr())),
		"link set " + n.bridge + " addrgenmode none",
		fmt.Sprintf("address add %s dev %s", n.host, n.bridge),
		fmt.Sprintf("address add %s dev %s", service, n.bridge),
		"link set " + n.bridge + " up",
	}
	for i := range maxNodes {
		commands = append(commands, fmt.Sprintf("route add %s via %s", n.pods(i), n.Address(i)))
	}
	return ip(ctx, commands...)
}

// Close removes the bridge and everything that nodes may have left. The machine's last network also restores the
// kernel settings that kubelets changed. The network cannot be used afterwards; a repeated Close does nothing.
func (n *Network) Close() error {
	if n.hold == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), cleanupTimeout)
	defer cancel()
	err := n.clean(ctx)
	if n.machine != nil {
		err = errors.Join(err, n.machine.release())
	}
	err = errors.Join(err, os.Remove(n.hold.Name()), n.hold.Close())
	n.hold = nil
	if err != nil {
		return fmt.Errorf("network %q: closing: %w", n.bridge, err)
	}
	return nil
}

// clean removes the processes, control groups and links with the network's name.
func (n *Network) clean(ctx context.Context) error {
	if err := cgroup(n.bridge).remove(ctx); err != nil {
		return err
	}
	links, err := net.Interfaces()
	if err != nil {
		return fmt.Errorf("listing links: %w", err)
	}
	if err := n.removeMetadataRoute(ctx); err != nil {
		return err
	}
	for _, link := range links {
		if link.Name == n.bridge || strings.HasPrefix(link.Name, n.bridge+"-") {
			if err := deleteLink(ctx, link.Name); err != nil {
				return err
			}
		}
	}
	return nil
}

// link is the name of the machine's end of a node's link.
func (n *Network) link(index int) string { return fmt.Sprintf("%s-%d", n.bridge, index) }

// Address is the address of the node with an index.
func (n *Network) Address(index int) netip.Addr {
	address := n.host.Masked().Addr()
	for range firstHost + index {
		address = address.Next()
	}
	return address
}

// pods is the node's range of pod addresses.
func (n *Network) pods(index int) netip.Prefix {
	octets := n.podRange.Masked().Addr().As4()
	for range index {
		octets[2]++
	}
	return netip.PrefixFrom(netip.AddrFrom4(octets), 24)
}

// connect gives the network namespace of a process a link to the bridge, called eth0 there.
func (n *Network) connect(ctx context.Context, index, pid int) error {
	return ip(ctx, n.outside(index, pid)...)
}

// outside returns the commands that make a node's link. Its hardware address is made of the node's address, so that it
// stays when the node restarts: neighbors remember it for half a minute.
func (n *Network) outside(index, pid int) []string {
	link, hardware := n.link(index), hardwareAddress(n.Address(index))
	return []string{
		fmt.Sprintf("link add %s type veth peer name eth0 address %s netns %d", link, hardware, pid),
		fmt.Sprintf("link set %s addrgenmode none", link),
		fmt.Sprintf("link set %s master %s up", link, n.bridge),
	}
}

// hardwareAddress is a locally administered one, made of an IPv4 address.
func hardwareAddress(address netip.Addr) net.HardwareAddr {
	octets := address.As4()
	return net.HardwareAddr{0x02, 0x00, octets[0], octets[1], octets[2], octets[3]}
}

// disconnect removes the link. The kernel also does so when the namespace ends, but with a delay.
func (n *Network) disconnect(ctx context.Context, index int) error {
	return deleteLink(ctx, n.link(index))
}

// inside returns the commands that configure the node's end of its link.
func (n *Network) inside(index int) []string {
	commands := []string{
		"link set lo up",
		"link set eth0 addrgenmode none",
		fmt.Sprintf("address add %s/%d dev eth0", n.Address(index), n.host.Bits()),
		"link set eth0 up",
		fmt.Sprintf("route add default via %s", n.host.Addr()),
	}
	for i := range maxNodes {
		if i != index {
			commands = append(commands, fmt.Sprintf("route add %s via %s", n.pods(i), n.Address(i)))
		}
	}
	return commands
}

// deleteLink removes a link. A missing link is not an error, even if the kernel removes it meanwhile.
func deleteLink(ctx context.Context, name string) error {
	if !linkExists(name) {
		return nil
	}
	if err := ip(ctx, "link delete "+name); err != nil && linkExists(name) {
		return err
	}
	return nil
}

func linkExists(name string) bool {
	_, err := net.InterfaceByName(name)
	return err == nil
}

// ip runs commands of iproute2 in one process, stopping at the first that fails.
func ip(ctx context.Context, commands ...string) error {
	cmd := exec.CommandContext(ctx, "ip", "-batch", "-")
	cmd.Stdin = strings.NewReader(strings.Join(commands, "\n") + "\n")
	output, err := cmd.CombinedOutput()
	if err == nil {
		return nil
	}
	// The output ends with "Command failed -:<line>".
	failed := commands[0]
	if _, line, ok := bytes.Cut(output, []byte("Command failed -:")); ok {
		if number, convErr := strconv.Atoi(string(bytes.TrimSpace(line))); convErr == nil && number <= len(commands) {
			failed = commands[number-1]
		}
	}
	return fmt.Errorf("ip %s: %w: %s", failed, err, bytes.TrimSpace(output))
}
