package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	devcluster "github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/liveview"
)

const (
	targetNamespace = "openshift-cloud-controller-manager"

	realNodes = 3
	// settle is the idle time before memory is read, in which caches are filled and garbage is collected.
	settle = 2 * time.Minute
	// timeout is the timeout of each measurement.
	timeout = 20 * time.Minute
)

var operatorResource = schema.GroupVersionResource{Group: "operator.openshift.io", Version: "v1",
	Resource: "cloudcontrollermanagers"}

// cluster is a development cluster with three nodes and the operator in it.
type cluster struct {
	*devcluster.Cluster
	options options
	kube    kubernetes.Interface
	dynamic dynamic.Interface
	reader  *liveview.Reader
}

// startCluster starts a cluster of three nodes with OpenStack's operand. The caller stops it.
func startCluster(ctx context.Context, o options, withoutPayload bool) (*cluster, error) {
	return startClusterOf(ctx, o, devcluster.Options{Name: "bench", Nodes: realNodes, WithoutPayload: withoutPayload})
}

// startClusterOf starts a cluster with OpenStack's operand. The caller stops it.
func startClusterOf(ctx context.Context, o options, wanted devcluster.Options) (*cluster, error) {
	wanted.Platform, wanted.Progress = configv1.OpenStackPlatformType, o.progress
	started, err := devcluster.Start(ctx, wanted)
	if err != nil {
		return nil, err
	}
	c := &cluster{Cluster: started, options: o}
	config := started.RESTConfig()
	// The parts scale and many have many objects.
	config.QPS, config.Burst = 1000, 1000
	var errs [3]error
	c.kube, errs[0] = kubernetes.NewForConfig(config)
	c.dynamic, errs[1] = dynamic.NewForConfig(config)
	c.reader, errs[2] = liveview.NewReader(config)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, errors.Join(err, started.Stop(context.WithoutCancel(ctx)))
	}
	return c, nil
}

func measureCluster(ctx context.Context, o options) (err error) {
	c, err := startCluster(ctx, o, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Stop(context.WithoutCancel(ctx))) }()
	fmt.Fprintln(o.progress, "waiting for the operator's main job")
	if err := c.awaitRevision(ctx, 1); err != nil {
		return err
	}
	for _, part := range []struct {
		name    string
		measure func(context.Context) error
	}{
		{partMemory, c.memory}, {partIdle, c.idle}, {partRollout, c.rollout},
	} {
		if !o.measures(part.name) {
			continue
		}
		fmt.Fprintln(o.progress, "measuring", part.name)
		if err := part.measure(ctx); err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
	}
	return nil
}

// awaitRevision waits until every node is at the latest revision, that is at least the given one.
func (c *cluster) awaitRevision(ctx context.Context, revision int32) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, 500*time.Millisecond, timeout, true, func(ctx context.Context) (bool, error) {
		last = c.missing(ctx, revision)
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("waiting for revision %d on every node: %w: %w", revision, err, last)
	}
	return nil
}

// missing returns what keeps the cluster from being idle at the revision or a later one.
func (c *cluster) missing(ctx context.Context, revision int32) error {
	state, err := c.reader.Read(ctx)
	if err != nil {
		return err
	}
	if missing := append(state.Missing(liveview.Initialized), state.Waiting...); len(missing) > 0 {
		return errors.New(strings.Join(missing, "; "))
	}
	if state.Latest < revision {
		return fmt.Errorf("the latest revision is %d", state.Latest)
	}
	return nil
}

func (c *cluster) memory(ctx context.Context) error {
	u, err := c.settled(ctx)
	if err != nil {
		return err
	}
	c.options.row("operator's memory at 3 nodes", "%s; peak %.0f MiB", u, u.peak)
	return nil
}

// settled waits and returns the operator's usage.
func (c *cluster) settled(ctx context.Context) (usage, error) {
	if err := pause(ctx, settle); err != nil {
		return usage{}, err
	}
	pid, err := findOperator()
	if err != nil {
		return usage{}, err
	}
	return usageOf(pid)
}

func (c *cluster) idle(ctx context.Context) error {
	pid, err := findOperator()
	if err != nil {
		return err
	}
	before, err := usageOf(pid)
	if err != nil {
		return err
	}
	from := time.Now()
	if err := pause(ctx, c.options.idle); err != nil {
		return err
	}
	to := time.Now()
	after, err := usageOf(pid)
	if err != nil {
		return err
	}
	requests, err := readAudit(c.AuditLog(), from, to)
	if err != nil {
		return err
	}
	c.options.row(fmt.Sprintf("API requests in %s of nothing", c.options.idle), "%d: %s", len(requests),
		strings.Join(countKinds(requests), ", "))
	c.options.row(fmt.Sprintf("CPU seconds in %s of nothing", c.options.idle), "%.1f", after.cpu-before.cpu)
	c.options.row("operator's memory after that", "%s", after)
	return nil
}

func (c *cluster) rollout(ctx context.Context) error {
	state, err := c.reader.Read(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	patch := fmt.Appendf(nil, `{"spec":{"forceRedeploymentReason":"bench %d"}}`, began.UnixNano())
	if _, err := c.dynamic.Resource(operatorResource).Patch(ctx, "cluster", types.MergePatchType, patch,
		metav1.PatchOptions{}); err != nil {
		return err
	}
	if err := c.awaitRevision(ctx, state.Latest+1); err != nil {
		return err
	}
	c.options.row("forced redeployment until 3 nodes are at the new revision", "%.0f s", time.Since(began).Seconds())
	return nil
}

// repeat calls f for 0 to n-1 with limited concurrency. It ignores objects that already exist.
func repeat(ctx context.Context, n int, f func(ctx context.Context, i int) error) error {
	const atOnce = 8
	var group sync.WaitGroup
	errs := make([]error, atOnce)
	for worker := range atOnce {
		group.Go(func() {
			for i := worker; i < n; i += atOnce {
				if err := f(ctx, i); err != nil && !apierrors.IsAlreadyExists(err) {
					errs[worker] = err
					return
				}
			}
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
