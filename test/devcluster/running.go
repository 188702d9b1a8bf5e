package devcluster

import (
	"context"
	"errors"
	"path/filepath"
	"slices"

	configv1 "github.com/openshift/api/config/v1"
	"k8s.io/client-go/rest"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/build"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/node"
)

// Repository returns the directory of the operator's module.
func (c *Cluster) Repository() string { return c.options.Repository }

// Dir returns the run's directory; logs are under logs.
func (c *Cluster) Dir() string { return c.options.Dir }

// BinDir returns the directory of the built programs, kubectl among them.
func (c *Cluster) BinDir() string { return filepath.Join(c.options.Repository, "_output", "bin") }

// Platform returns the cluster's platform.
func (c *Cluster) Platform() configv1.PlatformType { return c.options.Platform }

// Cgroup returns the name of the cgroup that has one of each node, for a cluster with nodes.
func (c *Cluster) Cgroup() string { return c.layout.bridge }

// Kubeconfig returns the path of the administrator's kubeconfig.
func (c *Cluster) Kubeconfig() string { return c.controlPlane.Kubeconfig() }

// PrometheusKubeconfig returns the path of a kubeconfig with the client certificate of OpenShift's Prometheus.
func (c *Cluster) PrometheusKubeconfig() string { return c.controlPlane.PrometheusKubeconfig() }

// RESTConfig returns a copy of the administrator's client configuration, without client-side rate limits.
func (c *Cluster) RESTConfig() *rest.Config { return rest.CopyConfig(c.config) }

// URL returns the API server's URL, which is also Infrastructure's status.apiServerInternalURI.
func (c *Cluster) URL() string { return c.controlPlane.URL() }

// AuditLog returns the path of the audit log: every request at level Metadata, one JSON object per line.
func (c *Cluster) AuditLog() string { return c.controlPlane.AuditLog() }

// ServerCAFile and ClientCAFile return the paths of the bundles that the API server's certificate, and client
// certificates, are checked against.
func (c *Cluster) ServerCAFile() string { return c.controlPlane.ServerCAFile() }

// ClientCAFile is described at ServerCAFile.
func (c *Cluster) ClientCAFile() string { return c.controlPlane.ClientCAFile() }

// Processes returns the process ids of the control plane's servers by name.
func (c *Cluster) Processes() map[string]int { return c.controlPlane.Processes() }

// StopAPIServer ends kube-apiserver, as StopEtcd ends etcd; everything else keeps running.
func (c *Cluster) StopAPIServer(ctx context.Context) error { return c.controlPlane.StopAPIServer(ctx) }

// StartAPIServer starts kube-apiserver again and waits until it is ready.
func (c *Cluster) StartAPIServer(ctx context.Context) error {
	return c.controlPlane.StartAPIServer(ctx)
}

// StopEtcd is described at StopAPIServer.
func (c *Cluster) StopEtcd(ctx context.Context) error { return c.controlPlane.StopEtcd(ctx) }

// StartEtcd starts etcd again on its data and waits until it is healthy.
func (c *Cluster) StartEtcd(ctx context.Context) error { return c.controlPlane.StartEtcd(ctx) }

// SaveEtcd writes a snapshot of etcd to a file.
func (c *Cluster) SaveEtcd(ctx context.Context, path string) error {
	return c.controlPlane.SaveSnapshot(ctx, path)
}

// RestoreEtcd replaces the data of etcd with a snapshot. Everything but kube-apiserver and etcd keeps running.
func (c *Cluster) RestoreEtcd(ctx context.Context, path string) error {
	if err := c.builder().Pinned(ctx, build.Etcdutl()); err != nil {
		return err
	}
	if err := errors.Join(c.StopAPIServer(ctx), c.StopEtcd(ctx)); err != nil {
		return err
	}
	if err := c.controlPlane.RestoreSnapshot(ctx, path); err != nil {
		return err
	}
	if err := c.StartEtcd(ctx); err != nil {
		return err
	}
	return c.StartAPIServer(ctx)
}

// Network returns the nodes' network; nil without nodes.
func (c *Cluster) Network() *node.Network { return c.network }

// Nodes returns the nodes in the order of their indices.
func (c *Cluster) Nodes() []*node.Node {
	c.nodesMutex.Lock()
	defer c.nodesMutex.Unlock()
	return slices.Clone(c.nodes)
}

// ControlPlane returns the nodes without those that AddWorker added.
func (c *Cluster) ControlPlane() []*node.Node {
	c.nodesMutex.Lock()
	defer c.nodesMutex.Unlock()
	return slices.DeleteFunc(slices.Clone(c.nodes), func(n *node.Node) bool { return c.workers[n.Name()] })
}

// Node returns the node with the name, or nil.
func (c *Cluster) Node(name string) *node.Node {
	for _, n := range c.Nodes() {
		if n.Name() == name {
			return n
		}
	}
	return nil
}
