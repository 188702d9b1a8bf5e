// Package devcluster starts a real control plane, and if wanted real control-plane nodes, that look like an OpenShift
// cluster to the operator: CustomResourceDefinitions, the installer's objects, a cloud and the operator's payload. The
// command cmd/devcluster, the integration tests and the end-to-end tests use it.
package devcluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/ccm"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/build"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/nodekeeper"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/process"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/node"
)

// Version is the version of the development cluster, in place of a release's.
const Version = "4.99.0-dev"

const (
	moduleDir     = "test/devcluster"
	apiServerPort = "6443"
)

// Options configure a cluster.
type Options struct {
	// Name identifies a run; its directory is _output/run/<Name> in the repository. Default: "default".
	Name string
	// Dir overrides the run's directory. It must be absolute, and its content is removed.
	Dir string
	// Repository is the directory of the operator's module. Default: found upwards from the working directory.
	Repository string
	// Platform is the cluster's platform: a platform type or, where a type is several platforms, a name of the
	// operator's registry in any case, such as AzureStack. Default: OpenStack.
	Platform configv1.PlatformType
	// CCM is a cloud-controller-manager that runs instead of the built one, or on a platform that has none. Default: the
	// built one.
	CCM ccm.Given
	// Nodes is the number of control-plane nodes. Without nodes everything is on loopback and needs no privileges: pods
	// stay pending. With nodes it needs root and a few Debian packages, which are installed when missing.
	Nodes int
	// WithoutPayload leaves the operator's manifests, and the images that they need, out.
	WithoutPayload bool
	// QuickRestarts makes the kubelets restart containers within a second. Their back-off grows to five minutes
	// otherwise, which is too long for tests that end processes often.
	QuickRestarts bool
	// CloudHost is a name for OpenStack's API, which the nodes resolve by themselves. Default: its address is used.
	CloudHost string
	// WithoutWatchList makes informers list before they watch, as with an API server that does not stream lists.
	WithoutWatchList bool
	// Progress receives a line per step. Default: none.
	Progress io.Writer
}

// Cluster is a running development cluster. Its owner calls Stop.
type Cluster struct {
	options  Options
	progress io.Writer
	layout   layout
	config   *rest.Config
	client   kubernetes.Interface

	controlPlane *controlplane.ControlPlane
	cloud        standIn
	// given is the cloud-controller-manager of Options.CCM, nil without one, and command its path in its image.
	given   *ccm.Program
	command string
	// nodeManager is the cloud-node-manager of Options.CCM, nil without one.
	nodeManager *ccm.Program
	network     *node.Network
	// succeeds is set once there is a predecessor.
	succeeds bool
	keeper   *nodekeeper.Keeper
	// images are the paths of the images that every node gets.
	images []string

	nodesMutex sync.Mutex
	nodes      []*node.Node
	// instances are the indices of the nodes whose machines the cloud has.
	instances []int
	// moved are the addresses that the cloud has for machines instead of those of the nodes.
	moved map[int]string
	// workers are the names of the nodes that are no control-plane nodes.
	workers map[string]bool
	// nextIndex is that of the next further node.
	nextIndex int

	// bootstrap is the bootstrap node, nil if none was started.
	bootstrap *node.Node

	mutex   sync.Mutex
	cleanup []func(context.Context) error
}

// Start starts a cluster; it returns when the API serves the payload and the seeded objects and every node has
// registered. Nodes of a platform with a cloud are still tainted then. When Start fails, nothing keeps running. A run
// with the same directory that crashed is cleaned up first; one that still runs is an error that names it.
func Start(ctx context.Context, options Options) (*Cluster, error) {
	options, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	c := &Cluster{options: options, progress: newProgress(options.Progress), workers: map[string]bool{},
		moved: map[int]string{}}
	for _, step := range []func(context.Context) error{
		c.openCCM, c.claim, c.build, c.startNetwork, c.startCloud, c.startControlPlane, c.seed, c.applyPayload, c.startNodes,
	} {
		if err := step(ctx); err != nil {
			return nil, errors.Join(err, c.Stop(context.WithoutCancel(ctx)))
		}
	}
	return c, nil
}

func (o Options) withDefaults() (Options, error) {
	if o.Name == "" {
		o.Name = "default"
	}
	if o.Platform == "" {
		o.Platform = configv1.OpenStackPlatformType
	}
	name, err := platformName(string(o.Platform))
	if err != nil {
		return o, err
	}
	o.Platform = configv1.PlatformType(name)
	if o.Progress == nil {
		o.Progress = io.Discard
	}
	if o.Nodes < 0 || o.Nodes > maxNodes {
		return o, fmt.Errorf("%d nodes: between 0 and %d are possible", o.Nodes, maxNodes)
	}
	if o.Nodes > 0 && os.Geteuid() != 0 {
		return o, errors.New("nodes need root: run as root, or without nodes")
	}
	if o.Repository == "" {
		var err error
		if o.Repository, err = FindRepository("."); err != nil {
			return o, err
		}
	}
	if o.Dir == "" {
		o.Dir = filepath.Join(o.Repository, "_output", "run", o.Name)
	}
	return o, nil
}

// Stop ends everything that Start started, removes what it made except the logs, and goes on after an error. It is
// idempotent.
func (c *Cluster) Stop(ctx context.Context) error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	var errs []error
	for i := range c.cleanup {
		errs = append(errs, c.cleanup[len(c.cleanup)-1-i](ctx))
	}
	c.cleanup = nil
	return errors.Join(errs...)
}

// Build installs what nodes need from Debian and builds everything pinned that a cluster with nodes needs, on whatever
// platform.
func Build(ctx context.Context, options Options) error {
	options, err := options.withDefaults()
	if err != nil {
		return err
	}
	c := &Cluster{options: options, progress: newProgress(options.Progress)}
	if err := installPackages(ctx, c.progress); err != nil {
		return err
	}
	targets := append(build.ControlPlane(), build.Nodes()...)
	targets = append(targets, build.Etcdutl())
	operands := build.Operands()
	for _, tag := range slices.Sorted(maps.Keys(operands)) {
		targets = append(targets, operands[tag])
	}
	return c.builder().Pinned(ctx, targets...)
}

// Down removes what a crashed run with the name or directory in options left, logs included. A run that still runs is
// an error that names it.
func Down(ctx context.Context, options Options) error {
	options, err := options.withDefaults()
	if err != nil {
		return err
	}
	lock, err := takeRun(options.Dir)
	if err != nil {
		return err
	}
	defer lock.Release()
	return removeLeftovers(ctx, options.Dir, newProgress(options.Progress))
}

// atStop registers a function for Stop, which calls them in reverse order.
func (c *Cluster) atStop(f func(context.Context) error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.cleanup = append(c.cleanup, f)
}

// claim locks the run's directory, ends a crashed run's processes, and chooses the machine-wide names for a run with
// nodes.
func (c *Cluster) claim(ctx context.Context) error {
	dir := c.options.Dir
	lock, err := takeRun(dir)
	if err != nil {
		return err
	}
	c.atStop(func(context.Context) error {
		lock.Release()
		return nil
	})
	if err := removeLeftovers(ctx, dir, c.progress); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(dir, "logs"), 0o755); err != nil {
		return fmt.Errorf("run directory: %w", err)
	}
	c.atStop(func(context.Context) error { return clearRun(dir) })
	c.layout = loopback()
	if c.options.Nodes == 0 {
		return nil
	}
	slot, slotLock, err := takeSlot()
	if err != nil {
		return err
	}
	c.atStop(func(context.Context) error {
		slotLock.Release()
		return nil
	})
	c.layout = bridged(slot)
	return c.layout.remember(dir)
}

func (c *Cluster) builder() build.Builder {
	return build.Builder{Repository: c.options.Repository, BinDir: c.BinDir(), Progress: c.progress}
}

func (c *Cluster) build(ctx context.Context) error {
	if c.options.Nodes == 0 {
		return c.builder().Pinned(ctx, build.ControlPlane()...)
	}
	if err := installPackages(ctx, c.progress); err != nil {
		return err
	}
	targets := append(build.ControlPlane(), build.Nodes()...)
	targets = append(targets, c.operandTargets()...)
	if err := c.builder().Pinned(ctx, targets...); err != nil || c.options.WithoutPayload {
		return err
	}
	return c.builder().Local(ctx, operator(Version)...)
}

func (c *Cluster) startControlPlane(ctx context.Context) error {
	options := controlplane.Options{
		Dir:         c.options.Dir,
		BinDir:      c.BinDir(),
		Address:     c.layout.address,
		ServiceCIDR: c.layout.serviceCIDR,
		ServiceIP:   c.layout.serviceIP,
		Nodes:       c.options.Nodes > 0,
		Record:      &process.Record{Path: recordPath(c.options.Dir)},
		Progress:    c.progress,

		WithoutWatchList: c.options.WithoutWatchList,
	}
	if options.Nodes {
		options.Port = apiServerPort
	}
	controlPlane, err := controlplane.Start(ctx, options)
	if err != nil {
		return err
	}
	c.controlPlane = controlPlane
	c.atStop(controlPlane.Stop)
	if c.config, err = controlPlane.RESTConfig(); err != nil {
		return err
	}
	c.client, err = kubernetes.NewForConfig(c.config)
	return err
}

// now is the cluster's installation time.
func now() time.Time { return time.Now().UTC() }
