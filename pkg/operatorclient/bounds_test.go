package operatorclient

import (
	"context"
	"strings"
	"testing"

	operatorv1 "github.com/openshift/api/operator/v1"
	applyoperatorv1 "github.com/openshift/client-go/operator/applyconfigurations/operator/v1"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	"github.com/stretchr/testify/require"
)

// etcdLimit is what a request to etcd may have.
const etcdLimit = 1536 << 10

func TestNobodyCanWriteSoMuchThatAStatusCannotBeStored(t *testing.T) {
	huge := strings.Repeat("é", 1<<20) + "; do this"
	condition := NewCondition("Degraded", operatorv1.ConditionTrue, "Huge", huge)
	require.Less(t, len(*condition.Message), 16<<10)
	require.True(t, strings.HasSuffix(*condition.Message, "; do this"), "the action remains")
	require.Equal(t, *condition.Message, Bounded(*condition.Message), "a bounded message is not bounded again")

	// library-go's controllers have conditions and errors of their own.
	raw := applyoperatorv1.OperatorCondition().WithType("NodeInstallerDegraded").WithMessage(huge)
	node := applyoperatorv1.NodeStatus().WithNodeName("master-0")
	for range 100 {
		node.WithLastFailedRevisionErrors(huge)
	}
	fake := &recording{}
	client := &retryingClient{StaticPodOperatorClient: fake, turn: make(chan struct{}, 1)}
	status := applyoperatorv1.StaticPodOperatorStatus().WithConditions(raw).WithNodeStatuses(node)
	require.NoError(t, client.ApplyStaticPodOperatorStatus(t.Context(), "test", status))
	require.NoError(t, client.ApplyOperatorStatus(t.Context(), "test", applyoperatorv1.OperatorStatus().WithConditions(
		applyoperatorv1.OperatorCondition().WithType("InstallerControllerDegraded").WithMessage(huge))))
	require.Positive(t, fake.bytes)
	require.Less(t, fake.bytes, etcdLimit/10)
}

// recording counts the bytes of what is applied.
type recording struct {
	v1helpers.StaticPodOperatorClient
	bytes int
}

func (r *recording) ApplyOperatorStatus(_ context.Context, _ string, s *applyoperatorv1.OperatorStatusApplyConfiguration) error {
	for _, c := range s.Conditions {
		r.bytes += len(*c.Message)
	}
	return nil
}

func (r *recording) ApplyStaticPodOperatorStatus(
	_ context.Context, _ string, s *applyoperatorv1.StaticPodOperatorStatusApplyConfiguration,
) error {
	for _, c := range s.Conditions {
		r.bytes += len(*c.Message)
	}
	for _, n := range s.NodeStatuses {
		for _, text := range n.LastFailedRevisionErrors {
			r.bytes += len(text)
		}
	}
	return nil
}
