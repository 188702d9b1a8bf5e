package devcluster

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/nodekeeper"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/seed"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/node"
)

// bootstrapIndex is that of the bootstrap node, beyond those of the cluster's nodes.
const bootstrapIndex = maxMachines

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
	var err error
	if c.images, err = c.writeImages(); err != nil {
		return err
	}
	c.nodes, c.nextIndex = make([]*node.Node, c.options.Nodes), c.options.Nodes
	c.atStop(c.stopNodes)
	err = c.onAllNodes(func(i int) error {
		var err error
		c.nodes[i], err = c.startNode(ctx, i)
		return err
	})
	if err != nil {
		return err
	}
	return c.keepNodes(ctx)
}

// AddNode starts a further control-plane node, with a name that no node had before.
func (c *Cluster) AddNode(ctx context.Context) (*node.Node, error) {
	index, err := c.takeIndex()
	if err != nil {
		return nil, err
	}
	return c.addNode(ctx, index, (*nodekeeper.Keeper).Keep)
}

// AddWorker starts a further node that is no control-plane node, with a name that no node had before.
func (c *Cluster) AddWorker(ctx context.Context) (*node.Node, error) {
	index, err := c.takeIndex()
	if err != nil {
		return nil, err
	}
	added, err := c.addNode(ctx, index, (*nodekeeper.Keeper).KeepWorker)
	if err != nil {
		return nil, err
	}
	c.nodesMutex.Lock()
	defer c.nodesMutex.Unlock()
	c.workers[added.Name()] = true
	return added, nil
}

// takeIndex returns an index that no node had before.
func (c *Cluster) takeIndex() (int, error) {
	c.nodesMutex.Lock()
	defer c.nodesMutex.Unlock()
	if c.nextIndex >= maxMachines {
		return 0, fmt.Errorf("node %d: %d are possible", c.nextIndex, maxMachines)
	}
	c.nextIndex++
	return c.nextIndex - 1, nil
}

// RemoveNode ends a node and its instance in the cloud, and removes its disk. The Node object stays.
func (c *Cluster) RemoveNode(ctx context.Context, name string) error {
	removed := c.Node(name)
	if removed == nil {
		return fmt.Errorf("node %s does not exist", name)
	}
	if err := removed.Stop(ctx); err != nil {
		return err
	}
	c.nodesMutex.Lock()
	c.nodes = slices.DeleteFunc(c.nodes, func(n *node.Node) bool { return n == removed })
	c.nodesMutex.Unlock()
	return c.setInstance(removed.Index(), false)
}

// ReplaceNode ends a node as RemoveNode does and starts another machine with its name, address and an empty disk.
// between is called while there is none.
func (c *Cluster) ReplaceNode(ctx context.Context, name string, between func() error) (*node.Node, error) {
	replaced := c.Node(name)
	if replaced == nil {
		return nil, fmt.Errorf("node %s does not exist", name)
	}
	if err := c.RemoveNode(ctx, name); err != nil {
		return nil, err
	}
	if err := between(); err != nil {
		return nil, err
	}
	return c.addNode(ctx, replaced.Index(), (*nodekeeper.Keeper).Keep)
}

// SetRole makes a node a control-plane node, or removes the labels of that role.
func (c *Cluster) SetRole(ctx context.Context, name string, has bool) error {
	return c.keeper.SetRole(ctx, name, has)
}

func (c *Cluster) addNode(
	ctx context.Context, index int, keep func(keeper *nodekeeper.Keeper, name string, enableNetwork func() error),
) (*node.Node, error) {
	added, err := c.startNode(ctx, index)
	if err != nil {
		if added != nil {
			err = errors.Join(err, added.Stop(context.WithoutCancel(ctx)))
		}
		return nil, errors.Join(err, c.setInstance(index, false))
	}
	c.nodesMutex.Lock()
	c.nodes = append(c.nodes, added)
	slices.SortFunc(c.nodes, func(a, b *node.Node) int { return a.Index() - b.Index() })
	c.nodesMutex.Unlock()
	keep(c.keeper, added.Name(), added.EnableCNI)
	return added, nil
}

// SetInstance makes the cloud have the machine of a node, or not, while the node runs.
func (c *Cluster) SetInstance(name string, exists bool) error {
	found := c.Node(name)
	if found == nil {
		return fmt.Errorf("node %s does not exist", name)
	}
	return c.setInstance(found.Index(), exists)
}

// SetAddress makes the cloud have another machine with the name of a node, and with another address than the node has.
// With an empty address, the machine has the node's.
func (c *Cluster) SetAddress(name, address string) error {
	found := c.Node(name)
	if found == nil {
		return fmt.Errorf("node %s does not exist", name)
	}
	if err := c.setInstance(found.Index(), false); err != nil {
		return err
	}
	c.nodesMutex.Lock()
	c.moved[found.Index()] = address
	c.nodesMutex.Unlock()
	return c.setInstance(found.Index(), true)
}

// StartBootstrapNode starts the machine that installs the cluster, with the images of the nodes: a kubelet without an
// API server. There is at most one.
func (c *Cluster) StartBootstrapNode(ctx context.Context) (*node.Node, error) {
	if err := c.setInstance(bootstrapIndex, true); err != nil {
		return nil, err
	}
	name := nodeName(bootstrapIndex)
	var err error
	c.bootstrap, err = node.Start(ctx, node.Options{
		Name:       name,
		Index:      bootstrapIndex,
		SystemUUID: c.systemUUID(name),
		Dir:        filepath.Join(c.options.Dir, "nodes", name),
		Network:    c.network,
		BinDir:     c.BinDir(),
		Hosts:      c.hosts(),
		Standalone: true,
		Progress:   c.progress,
	})
	if err != nil {
		return nil, err
	}
	c.atStop(c.StopBootstrapNode)
	return c.bootstrap, c.bootstrap.LoadImages(ctx, c.images...)
}

// StopBootstrapNode ends the bootstrap node and its instance in the cloud. It is idempotent.
func (c *Cluster) StopBootstrapNode(ctx context.Context) error {
	return errors.Join(c.bootstrap.Stop(ctx), c.setInstance(bootstrapIndex, false))
}

func nodeName(index int) string {
	if index == bootstrapIndex {
		return seed.InfrastructureName + "-bootstrap"
	}
	return fmt.Sprintf("%s-master-%d", seed.InfrastructureName, index)
}

func (c *Cluster) startNode(ctx context.Context, index int) (*node.Node, error) {
	name := nodeName(index)
	kubeconfig, err := c.controlPlane.NodeKubeconfig(name)
	if err != nil {
		return nil, err
	}
	// Its cloud knows a machine before it boots.
	if err := c.setInstance(index, true); err != nil {
		return nil, err
	}
	started, err := node.Start(ctx, node.Options{
		Name:                  name,
		Index:                 index,
		SystemUUID:            c.systemUUID(name),
		Dir:                   filepath.Join(c.options.Dir, "nodes", name),
		Network:               c.network,
		APIServerURL:          c.URL(),
		ClientCAFile:          c.ClientCAFile(),
		KubeletKubeconfig:     kubeconfig,
		BinDir:                c.BinDir(),
		Hosts:                 c.hosts(),
		ExternalCloudProvider: c.registered().Managed(),
		AnyAddress:            c.registered().Name == "aws",
		ProviderID:            c.providerID(name),
		QuickRestarts:         c.options.QuickRestarts,
		Progress:              c.progress,
	})
	if err != nil {
		return nil, err
	}
	return started, started.LoadImages(ctx, c.images...)
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

// keepNodes starts the keeper and waits until it has seen every node.
func (c *Cluster) keepNodes(ctx context.Context) error {
	networks := make(map[string]func() error, len(c.nodes))
	for _, n := range c.nodes {
		networks[n.Name()] = n.EnableCNI
	}
	keeper := nodekeeper.Start(c.client, networks, c.progress)
	c.keeper = keeper
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
