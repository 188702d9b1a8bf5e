package nodeinitialization

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"
	clocktesting "k8s.io/utils/clock/testing"
)

// slowNodes answers a watch only after its end.
type slowNodes struct {
	corev1client.NodeInterface
	begun chan struct{}
	ended atomic.Bool
}

func (n *slowNodes) Watch(ctx context.Context, _ metav1.ListOptions) (watch.Interface, error) {
	close(n.begun)
	<-ctx.Done()
	<-time.After(50 * time.Millisecond) // as a connection that closes
	n.ended.Store(true)
	return nil, ctx.Err()
}

// List answers the reflector, which may ask for a list after a watch that failed.
func (*slowNodes) List(ctx context.Context, _ metav1.ListOptions) (*corev1.NodeList, error) {
	return nil, ctx.Err()
}

func TestItEndsWithItsWatch(t *testing.T) {
	nodes := &slowNodes{begun: make(chan struct{})}
	ctx, cancel := context.WithCancel(t.Context())
	c := start(t, `{"platform":"openstack"}`)
	c.controller.Kube = logsAndEvents{Interface: c.controller.Kube, events: c.events, nodes: nodes}
	lease, pods := c.controller.Lease, c.controller.Target.Core().V1().Pods()
	c.factory.Start(ctx.Done())
	require.True(t, cache.WaitForCacheSync(ctx.Done(), lease.HasSynced, pods.Informer().HasSynced))
	go c.controller.Infrastructures.Informer().Run(ctx.Done())
	go func() {
		<-nodes.begun
		cancel()
	}()
	c.controller.Run(ctx, 1)
	require.True(t, nodes.ended.Load())
}

// watchedNodes answers a list with nothing, and a watch with what the test sends.
type watchedNodes struct {
	corev1client.NodeInterface
	watch *watch.FakeWatcher
}

func (watchedNodes) List(context.Context, metav1.ListOptions) (*corev1.NodeList, error) {
	return &corev1.NodeList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}}, nil
}

// IsWatchListSemanticsUnSupported makes the reflector list: the name is client-go's.
func (watchedNodes) IsWatchListSemanticsUnSupported() bool { return true }

func (n watchedNodes) Watch(context.Context, metav1.ListOptions) (watch.Interface, error) {
	return n.watch, nil
}

func TestTheWatchTellsThatANodeWasInitialized(t *testing.T) {
	s, _ := newStore(clocktesting.NewFakeClock(now))
	nodes := watchedNodes{watch: watch.NewFake()}
	ended := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		newReflector(nodes, s).RunWithContext(ctx)
		close(ended)
	}()
	waits, deleted := node("b", time.Hour, uninit), node("c", time.Hour, uninit)
	initialized := node("b", time.Hour)
	initialized.Spec.ProviderID = "openstack:///b"
	nodes.watch.Add(waits)
	nodes.watch.Add(deleted)
	nodes.watch.Delete(deleted)
	nodes.watch.Modify(waits) // Its event is received after the former one has been handled.
	require.False(t, s.hasInitialized(now))
	nodes.watch.Modify(initialized)
	nodes.watch.Modify(initialized)
	require.True(t, s.hasInitialized(now))
	cancel()
	<-ended
}
