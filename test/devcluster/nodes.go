package devcluster

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/nodekeeper"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/seed"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/node"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/openstack"
)

// registerLimit is how long the nodes may take to register after their kubelets are healthy. It took one second.
const registerLimit = 2 * time.Minute

func (c *Cluster) startNetwork(ctx context.Context) error {
	if c.options.Nodes == 0 {
		return nil
	}
	network, err := node.NewNetwork(ctx, c.layout.networkOptions())
	if err != nil {
		return err
	}
	c.network = network
	c.atStop(func(context.Context) error { return network.Close() })
	return nil
}

// startNodes starts the nodes concurrently and loads their images. Only then does the keeper make them control-plane
// nodes, so that pods that select such nodes find their images.
func (c *Cluster) startNodes(ctx context.Context) error {
	if c.options.Nodes == 0 {
		return nil
	}
	fmt.Fprintf(c.progress, "starting %d nodes\n", c.options.Nodes)
	images, err := c.writeImages()
	if err != nil {
		return err
	}
	c.nodes = make([]*node.Node, c.options.Nodes)
	c.atStop(c.stopNodes)
	err = c.onAllNodes(func(i int) error {
		var err error
		c.nodes[i], err = c.startNode(ctx, i, images)
		return err
	})
	if err != nil {
		return err
	}
	if c.cloud != nil {
		c.cloud.SetServers(instances(c.nodes))
	}
	return c.keepNodes(ctx)
}

func (c *Cluster) startNode(ctx context.Context, index int, images []string) (*node.Node, error) {
	name := fmt.Sprintf("%s-master-%d", seed.InfrastructureName, index)
	kubeconfig, err := c.controlPlane.NodeKubeconfig(name)
	if err != nil {
		return nil, err
	}
	started, err := node.Start(ctx, node.Options{
		Name:                  name,
		Index:                 index,
		Dir:                   filepath.Join(c.options.Dir, "nodes", name),
		Network:               c.network,
		APIServerURL:          c.URL(),
		ClientCAFile:          c.ClientCAFile(),
		KubeletKubeconfig:     kubeconfig,
		BinDir:                c.BinDir(),
		ExternalCloudProvider: c.registered().Managed(),
		QuickRestarts:         c.options.QuickRestarts,
		Progress:              c.progress,
	})
	if err != nil {
		return nil, err
	}
	return started, started.LoadImages(ctx, images...)
}

func (c *Cluster) stopNodes(ctx context.Context) error {
	return c.onAllNodes(func(i int) error {
		if c.nodes[i] == nil {
			return nil // it did not start
		}
		return c.nodes[i].Stop(ctx)
	})
}

// onAllNodes calls f concurrently with the index of every node.
func (c *Cluster) onAllNodes(f func(index int) error) error {
	errs := make([]error, len(c.nodes))
	var all sync.WaitGroup
	for i := range c.nodes {
		all.Go(func() { errs[i] = f(i) })
	}
	all.Wait()
	return errors.Join(errs...)
}

func instances(nodes []*node.Node) []openstack.Instance {
	instances := make([]openstack.Instance, 0, len(nodes))
	for _, n := range nodes {
		instances = append(instances, openstack.Instance{Name: n.Name(), Addresses: []string{n.IP()}})
	}
	return instances
}

// keepNodes starts the keeper and waits until it has seen every node.
func (c *Cluster) keepNodes(ctx context.Context) error {
	networks := make(map[string]func() error, len(c.nodes))
	for _, n := range c.nodes {
		networks[n.Name()] = n.EnableCNI
	}
	keeper := nodekeeper.Start(c.client, networks, c.progress)
	c.atStop(func(context.Context) error {
		keeper.Stop()
		return nil
	})
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, registerLimit, true,
		func(context.Context) (bool, error) {
			return keeper.Prepared() == len(c.nodes), nil
		})
	if err != nil {
		return fmt.Errorf("%d of %d nodes have registered: %w; see the kubelets' logs in %s/nodes", keeper.Prepared(),
			len(c.nodes), err, c.options.Dir)
	}
	return nil
}
