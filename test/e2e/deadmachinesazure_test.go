package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	devcluster "github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/azure"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/node"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/e2e/internal/monitor"
)

const (
	// farAnswer is what the cloud takes for one answer. The provider gives up after a minute.
	farAnswer = 45 * time.Second
	// slowPassLimit is how long the first Node may stay. The provider remembers a machine for a minute. The first pass
	// announces the deletion, the second one tells how long a pass takes, and so a permission lasts until the third. A
	// pass asks for both machines, in any order: a Node may be the first of one pass and the last of the next.
	slowPassLimit = goneLimit + 4*2*farAnswer
	// turn is the time in which one Node may go where the cloud-controller-manager is not asked.
	turn = 10 * time.Minute
)

// TestOnAzureTheNodesOfDeadMachinesGoOneInTenMinutes ends two machines at once while the cloud is so slow that a pass of
// the cloud-controller-manager over their Nodes takes a minute and a half.
func TestOnAzureTheNodesOfDeadMachinesGoOneInTenMinutes(t *testing.T) {
	if os.Getenv("E2E_LONG") == "" {
		t.Skip("E2E_LONG is not set: this takes 20 minutes")
	}
	d := &deadMachines{suite: startSuite(t, devcluster.Options{
		Name: "e2e-dead-azure", Platform: configv1.AzurePlatformType, Nodes: nodes, QuickRestarts: true,
		Progress: os.Stderr,
	}, monitor.Rollout("the first revision"))}
	d.awaitSettled(t, 1, rolloutLimit)
	for range 2 {
		d.workers = append(d.workers, d.addAzureWorker(t).Name())
	}
	require.NoError(t, d.Azure().Delay(azure.GetMachine, farAnswer))
	began := time.Now()
	for _, name := range d.workers {
		d.monitor.Expect(monitor.NodeDeleted(name, "its machine has ended"))
		require.NoError(t, d.RemoveNode(t.Context(), name))
	}
	d.await(t, "one Node to be deleted", slowPassLimit, func(ctx context.Context) error { return d.left(ctx, 1) })
	first := time.Now()
	d.figure("two machines ended to one Node deleted, with %s for each answer of the cloud: %s", farAnswer, rounded(began))
	require.NoError(t, d.Azure().Delay(azure.GetMachine, 0))
	d.monitor.Expect(monitor.Degraded("NodeDeletionDegraded", "the other Node waits for its turn"))
	d.await(t, "the other Node to be deleted", turn+goneLimit, func(ctx context.Context) error { return d.left(ctx, 0) })
	d.figure("from one deleted Node to the next: %s", rounded(first))
	require.Greater(t, time.Since(began), turn, "the ten minutes begin with the permission of the first one")
	d.awaitReason(t, "AsExpected", cleanLimit)
}

// left returns nil if so many Nodes of the workers exist.
func (d *deadMachines) left(ctx context.Context, want int) error {
	var left []string
	for _, name := range d.workers {
		switch err := d.exists(ctx, name); {
		case err == nil:
			left = append(left, name)
		case !apierrors.IsNotFound(err):
			return err
		}
	}
	if len(left) != want {
		return fmt.Errorf("these exist: %v", left)
	}
	return nil
}

// addAzureWorker adds a worker and waits until it is initialized and Ready.
func (d *deadMachines) addAzureWorker(t *testing.T) *node.Node {
	t.Helper()
	worker, err := d.AddWorker(t.Context())
	require.NoError(t, err)
	d.await(t, worker.Name()+" to be initialized", briefly, func(ctx context.Context) error {
		object, err := d.kube.CoreV1().Nodes().Get(ctx, worker.Name(), metav1.GetOptions{})
		if err == nil && (object.Spec.ProviderID == "" || len(object.Spec.Taints) > 0) {
			err = errors.New("it has no providerID, or a taint")
		}
		return errors.Join(err, d.ready(ctx, worker.Name()))
	})
	return worker
}
