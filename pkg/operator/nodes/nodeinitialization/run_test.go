package nodeinitialization

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"
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
