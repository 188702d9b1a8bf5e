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
			return err
		}
	}
	return nil
}

// TagImage gives an image of the node's containerd one more name.
func (n *Node) TagImage(ctx context.Context, ref, tag string) error {
	_, err := n.ctr(ctx, "images", "tag", "--force", ref, tag)
	return err
}

// ExportImage returns an image of the node's containerd as a tar archive in OCI's layout.
func (n *Node) ExportImage(ctx context.Context, ref string) ([]byte, error) {
	return n.ctr(ctx, "images", "export", "-", ref)
}

// RemoveImage removes an image and what no other one has of it.
func (n *Node) RemoveImage(ctx context.Context, ref string) error {
	_, err := n.ctr(ctx, "images", "remove", "--sync", ref)
	return err
}

func (n *Node) importImage(ctx context.Context, tar string) error {
	_, err := n.ctr(ctx, "images", "import", tar)
	return err
}

// ctr runs containerd's client, and returns what it prints.
func (n *Node) ctr(ctx context.Context, args ...string) ([]byte, error) {
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, "ctr", append([]string{"--address", n.socket(), "--namespace", "k8s.io"}, args...)...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("node %s: ctr %s: %w: %s", n.options.Name, strings.Join(args, " "), err,
			strings.TrimSpace(stderr.String()))
	}
	return stdout.Bytes(), nil
}

// socket reaches containerd through the node's own view of the file system, which also keeps the path within the 107
// characters that a socket's may have.
func (n *Node) socket() string {
	return fmt.Sprintf("/proc/%d/root%s", n.process.pid(), containerdSocket)
}
