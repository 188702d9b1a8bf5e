package node

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// RestartKubelet stops the kubelet, as systemd would, starts it again and returns when it is healthy. Pods keep
// running.
func (n *Node) RestartKubelet(ctx context.Context) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.process == nil {
		return fmt.Errorf("node %s: restarting the kubelet: the node does not run", n.options.Name)
	}
	ctx, cancel := context.WithTimeout(ctx, bootTimeout)
	defer cancel()
	if err := n.restartKubelet(ctx); err != nil {
		return fmt.Errorf("node %s: %w%s", n.options.Name, err, n.quoteLogs())
	}
	return nil
}

func (n *Node) restartKubelet(ctx context.Context) error {
	if err := n.process.ask(ctx, agentRequest{Restart: kubeletService}); err != nil {
		return fmt.Errorf("restarting the kubelet: %w", err)
	}
	if err := poll(ctx, func() error { return n.askKubeletHealth(ctx) }); err != nil {
		return fmt.Errorf("waiting for the kubelet: %w", err)
	}
	return nil
}

// healthClient opens a connection for every request, because the kubelet may have restarted.
var healthClient = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 2 * time.Second}

func (n *Node) askKubeletHealth(ctx context.Context) (err error) {
	address := fmt.Sprintf("http://%s:%d/healthz", n.IP(), kubeletHealthPort)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return err
	}
	response, err := healthClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", address, response.Status)
	}
	return nil
}
