package node

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os/exec"
	"strings"
)

func (n *Node) dialContainerd(ctx context.Context) error {
	connection, err := (&net.Dialer{}).DialContext(ctx, "unix", n.socket())
	if err != nil {
		return err
	}
	return connection.Close()
}

// LoadImages imports docker-archives into the node's containerd.
func (n *Node) LoadImages(ctx context.Context, tars ...string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.process == nil {
		return fmt.Errorf("node %s: loading images: it does not run", n.options.Name)
	}
	for _, tar := range tars {
		if err := n.importImage(ctx, tar); err != nil {
			return fmt.Errorf("node %s: %w", n.options.Name, err)
		}
	}
	return nil
}

// TagImage gives an image of the node's containerd one more name.
func (n *Node) TagImage(ctx context.Context, ref, tag string) error {
	cmd := exec.CommandContext(ctx, "ctr", "--address", n.socket(), "--namespace", "k8s.io", "images", "tag", "--force",
		ref, tag)
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("node %s: tagging %s as %s: %w: %s", n.options.Name, ref, tag, err,
			strings.TrimSpace(string(output)))
	}
	return nil
}

// ExportImage returns an image of the node's containerd as a tar archive in OCI's layout.
func (n *Node) ExportImage(ctx context.Context, ref string) ([]byte, error) {
	var tar, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, "ctr", "--address", n.socket(), "--namespace", "k8s.io", "images", "export", "-", ref)
	cmd.Stdout, cmd.Stderr = &tar, &stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("node %s: exporting %s: %w: %s", n.options.Name, ref, err, strings.TrimSpace(stderr.String()))
	}
	return tar.Bytes(), nil
}

func (n *Node) importImage(ctx context.Context, tar string) error {
	cmd := exec.CommandContext(ctx, "ctr", "--address", n.socket(), "--namespace", "k8s.io", "images", "import", tar)
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("importing %s: %w: %s", tar, err, strings.TrimSpace(string(output)))
	}
	return nil
}

// socket reaches containerd through the node's own view of the file system, which also keeps the path within the 107
// characters that a socket's may have.
func (n *Node) socket() string {
	return fmt.Sprintf("/proc/%d/root%s", n.process.pid(), containerdSocket)
}
