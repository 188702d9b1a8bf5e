// Package nodekeeper changes Node objects like an OpenShift installation: it makes them control-plane nodes, and
// enables a node's pod network once the cloud-controller-manager has initialized it.
package nodekeeper

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/util/retry"
)

const (
	// UninitializedTaint is the key of the taint that a kubelet with --cloud-provider=external registers with.
	UninitializedTaint = "node.cloudprovider.kubernetes.io/uninitialized"
	masterRole         = "node-role.kubernetes.io/master"
	controlPlaneRole   = "node-role.kubernetes.io/control-plane"

	interval = 200 * time.Millisecond
)

// Keeper watches the nodes until Stop.
type Keeper struct {
	client   kubernetes.Interface
	lister   corelisters.NodeLister
	progress io.Writer
	cancel   context.CancelFunc
	stopped  sync.WaitGroup

	mutex    sync.Mutex
	networks map[string]func() error
	prepared map[string]struct{}
	// withoutRole are nodes that the keeper does not make control-plane nodes.
	withoutRole map[string]bool
}

// Start starts a keeper of the nodes that are keys of enableNetwork. Its values enable a node's pod network; they are
// called once, and again after an error. The keeper retries every failure, also while the API server does not answer.
func Start(client kubernetes.Interface, enableNetwork map[string]func() error, progress io.Writer) *Keeper {
	ctx, cancel := context.WithCancel(context.Background())
	factory := informers.NewSharedInformerFactory(client, 0)
	k := &Keeper{
		client:   client,
		lister:   factory.Core().V1().Nodes().Lister(),
		progress: progress,
		cancel:   cancel,

		networks:    maps.Clone(enableNetwork),
		prepared:    map[string]struct{}{},
		withoutRole: map[string]bool{},
	}
	factory.Start(ctx.Done())
	k.stopped.Go(func() {
		defer factory.Shutdown()
		k.run(ctx)
	})
	return k
}

// Stop ends the keeper and waits for its end.
func (k *Keeper) Stop() {
	k.cancel()
	k.stopped.Wait()
}

// Keep makes the keeper keep another machine, which may have the name of a former one.
func (k *Keeper) Keep(name string, enableNetwork func() error) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.networks[name] = enableNetwork
}

// KeepWorker is Keep for a machine that does not become a control-plane node.
func (k *Keeper) KeepWorker(name string, enableNetwork func() error) {
	k.mutex.Lock()
	k.withoutRole[name] = true
	k.mutex.Unlock()
	k.Keep(name, enableNetwork)
}

// SetRole makes a node a control-plane node or removes the role's labels.
func (k *Keeper) SetRole(ctx context.Context, name string, has bool) error {
	k.mutex.Lock()
	k.withoutRole[name] = !has
	k.mutex.Unlock()
	if has {
		return k.makeControlPlane(ctx, name)
	}
	patch := fmt.Sprintf(`{"metadata": {"labels": {%q: null, %q: null}}}`, masterRole, controlPlaneRole)
	if _, err := k.client.CoreV1().Nodes().Patch(ctx, name, types.MergePatchType, []byte(patch),
		metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("control-plane role of node %s: %w", name, err)
	}
	return nil
}

// Prepared returns how many nodes have been made control-plane nodes.
func (k *Keeper) Prepared() int {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	return len(k.prepared)
}

func (k *Keeper) run(ctx context.Context) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		nodes, err := k.lister.List(labels.Everything())
		if err != nil {
			continue // the lister reads memory and cannot fail
		}
		for _, node := range nodes {
			if err := k.keep(ctx, node); err != nil && ctx.Err() == nil {
				fmt.Fprintf(k.progress, "node %s: %v\n", node.Name, err)
			}
		}
	}
}

func (k *Keeper) keep(ctx context.Context, node *corev1.Node) error {
	k.mutex.Lock()
	enable, ours := k.networks[node.Name]
	withoutRole := k.withoutRole[node.Name]
	k.mutex.Unlock()
	if !ours {
		return nil
	}
	if needsRole(node) && !withoutRole {
		if err := k.makeControlPlane(ctx, node.Name); err != nil {
			return err
		}
	}
	k.markPrepared(node.Name)
	if enable == nil || isUninitialized(node) {
		return nil
	}
	if err := enable(); err != nil {
		return fmt.Errorf("pod network: %w", err)
	}
	k.Keep(node.Name, nil)
	fmt.Fprintf(k.progress, "node %s is initialized and gets its pod network\n", node.Name)
	return nil
}

func (k *Keeper) markPrepared(name string) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.prepared[name] = struct{}{}
}

func isUninitialized(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Spec.Taints,
		func(taint corev1.Taint) bool { return taint.Key == UninitializedTaint })
}

func isMaster(taint corev1.Taint) bool { return taint.Key == masterRole }

func needsRole(node *corev1.Node) bool {
	_, labeled := node.Labels[masterRole]
	return !labeled || !slices.ContainsFunc(node.Spec.Taints, isMaster)
}

// makeControlPlane sets the role's labels and the taint, which a kubelet may not set on its own Node.
func (k *Keeper) makeControlPlane(ctx context.Context, name string) error {
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		node, err := k.client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if node.Labels == nil {
			node.Labels = map[string]string{}
		}
		node.Labels[masterRole], node.Labels[controlPlaneRole] = "", ""
		if !slices.ContainsFunc(node.Spec.Taints, isMaster) {
			node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: masterRole,
				Effect: corev1.TaintEffectNoSchedule})
		}
		_, err = k.client.CoreV1().Nodes().Update(ctx, node, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		return fmt.Errorf("control-plane role: %w", err)
	}
	return nil
}
