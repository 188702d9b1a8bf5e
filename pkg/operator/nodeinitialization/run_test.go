package nodeinitialization

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/utils/clock"
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
	controller := New(Options{
		Operator: v1helpers.NewFakeOperatorClient(&operatorv1.OperatorSpec{}, &operatorv1.OperatorStatus{}, nil),
		Nodes:    nodes, Clock: clock.RealClock{}, Recorder: events.NewInMemoryRecorder("test", clock.RealClock{}),
	})
	go func() {
		<-nodes.begun
		cancel()
	}()
	controller.Run(ctx, 1)
	require.True(t, nodes.ended.Load())
}
