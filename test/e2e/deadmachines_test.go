package e2e

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	devcluster "github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/openstack"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/e2e/internal/monitor"
)

const (
	// slowAnswer is what a throttled or distant cloud takes for one answer.
	slowAnswer = 5 * time.Second
	// workersGone is more than half of the Nodes.
	workersGone = nodes + 1
	// goneLimit is how long the Node of a dead machine may stay, as docs/claims.md promises.
	goneLimit = deletionLimit + harness
	// massGoneLimit exceeds the ten minutes for which so many silent kubelets may be a failure of the network.
	massGoneLimit = 15 * time.Minute
)

// deadMachines is a cluster whose machines end while something else is not as usual. No Node of a living machine may go,
// and the Node of each dead one must.
type deadMachines struct {
	*suite
	workers []string
}

func TestNodesOfDeadMachinesGoWhateverElseHappens(t *testing.T) {
	if os.Getenv("E2E_LONG") == "" {
		t.Skip("E2E_LONG is not set: this takes 20 minutes")
	}
	d := &deadMachines{suite: startSuite(t, devcluster.Options{
		Name: "e2e-dead", Platform: configv1.OpenStackPlatformType, Nodes: nodes, QuickRestarts: true,
		Progress: os.Stderr,
	}, monitor.Rollout("the first revision"))}
	d.awaitSettled(t, 1, rolloutLimit)
	d.runSteps(t, []step{
		{"a machine ends while the cloud takes five seconds for each answer", d.testSlowCloud},
		{"a control-plane machine ends while a revision is installed on it", func(t *testing.T) {
			d.testDeadDuringRollout(t, "max-shared-lb = 3\n", false)
		}},
		{"so does the one that runs the operator", func(t *testing.T) {
			d.testDeadDuringRollout(t, "max-shared-lb = 4\n", true)
		}},
		{"most machines end at once", d.testMostAreGone},
	})
}

// addWorkers adds workers and waits until all are initialized.
func (d *deadMachines) addWorkers(t *testing.T, count int) {
	t.Helper()
	for range count {
		worker, err := d.AddWorker(t.Context())
		require.NoError(t, err)
		d.workers = append(d.workers, worker.Name())
		d.await(t, worker.Name()+" to be initialized", briefly, func(ctx context.Context) error {
			return d.initialized(ctx, worker)
		})
		d.await(t, worker.Name()+" to be Ready", briefly, func(ctx context.Context) error {
			return d.ready(ctx, worker.Name())
		})
	}
}

// end ends machines and deletes their instances, and returns the time until all of their Nodes are gone.
func (d *deadMachines) end(t *testing.T, limit time.Duration, names ...string) time.Duration {
	t.Helper()
	began := time.Now()
	for _, name := range names {
		d.monitor.Expect(monitor.NodeDeleted(name, "its machine has ended"))
		require.NoError(t, d.RemoveNode(t.Context(), name))
	}
	d.awaitGone(t, limit, names...)
	return time.Since(began).Round(time.Second)
}

func (d *deadMachines) awaitGone(t *testing.T, limit time.Duration, names ...string) {
	t.Helper()
	for _, name := range names {
		d.await(t, "Node "+name+" to be deleted", limit, func(ctx context.Context) error {
			return gone(d.exists(ctx, name))
		})
	}
}

// testSlowCloud: a late answer is an answer. The monitor fails the step if the ClusterOperator turns Degraded.
func (d *deadMachines) testSlowCloud(t *testing.T) {
	d.addWorkers(t, 1)
	require.NoError(t, d.Cloud().Delay(openstack.AllEndpoints, slowAnswer))
	d.figure("machine ended to its Node deleted, with %s for each answer of the cloud: %s", slowAnswer,
		d.end(t, goneLimit, d.workers...))
	require.NoError(t, d.Cloud().Delay(openstack.AllEndpoints, 0))
	d.workers = nil
}

// testMostAreGone: nobody does anything, and the Nodes go all the same, after the time in which it may be a failure of
// the network.
func (d *deadMachines) testMostAreGone(t *testing.T) {
	d.addWorkers(t, workersGone)
	d.monitor.Expect(monitor.Degraded(d.workers[0], "so many silent kubelets may be a failure of the network"))
	d.figure("%d of %d machines ended to their Nodes deleted: %s", workersGone, nodes+workersGone,
		d.end(t, massGoneLimit, d.workers...))
	d.awaitReason(t, "AsExpected", cleanLimit)
}

// testDeadDuringRollout: the rollout does not wait for the dead machine, nor its Node for the rollout. withOperator is
// whether that machine runs the operator, which another node has to start first.
func (d *deadMachines) testDeadDuringRollout(t *testing.T, line string, withOperator bool) {
	revision := d.revision(t) + 1
	operator, err := d.operatorHolder(t.Context())
	require.NoError(t, err)
	runsOperator, _, _ := strings.Cut(operator, "_")
	limit := goneLimit
	if withOperator {
		limit += operatorLimit
	}
	d.expectRollout("the cloud configuration is changed")
	d.monitor.Expect(monitor.Degraded("", "a control-plane node is missing").Times(2),
		monitor.NewLeader("the dead machine may have led"),
		monitor.NoneReady("the lead moves between the two that are left, to prove the revision"))
	text, _, _ := strings.Cut(d.cloudConfig(t), "max-shared-lb")
	d.setCloudConfig(t, text+line)
	dead := d.awaitInstaller(t, revision, func(node string) bool { return (node == runsOperator) == withOperator })
	began := time.Now()
	d.monitor.Expect(monitor.NodeDeleted(dead, "its machine has ended"),
		monitor.Uninitialized(dead, "another machine registers with its name"))
	_, err = d.ReplaceNode(t.Context(), dead, func() error {
		d.awaitGone(t, limit, dead)
		d.figure("control-plane machine, operator on it: %t, ended during its installation to its Node deleted: %s",
			withOperator, rounded(began))
		d.await(t, fmt.Sprintf("the other nodes to run revision %d", revision), limit,
			func(ctx context.Context) error { return d.othersRun(ctx, revision) })
		d.figure("… to the revision on the other nodes: %s", rounded(began))
		return nil
	})
	require.NoError(t, err)
	d.awaitSettled(t, revision, rolloutLimit)
}

// awaitInstaller returns a node that is wanted, and on which a revision is being installed.
func (d *deadMachines) awaitInstaller(t *testing.T, revision int32, wanted func(node string) bool) (node string) {
	t.Helper()
	prefix := fmt.Sprintf("installer-%d-", revision)
	d.await(t, "pod "+prefix+"…", rolloutLimit, func(ctx context.Context) error {
		pods, err := d.kube.CoreV1().Pods(targetNamespace).List(ctx, metav1.ListOptions{LabelSelector: "app=installer"})
		if err != nil {
			return err
		}
		for _, pod := range pods.Items {
			if strings.HasPrefix(pod.Name, prefix) && pod.Status.Phase != corev1.PodSucceeded && wanted(pod.Spec.NodeName) {
				node = pod.Spec.NodeName
				return nil
			}
		}
		return fmt.Errorf("it is not among %d pods", len(pods.Items))
	})
	return node
}

// othersRun returns nil if each control-plane node that is left runs the revision.
func (d *deadMachines) othersRun(ctx context.Context, revision int32) error {
	resource, err := d.resource(ctx)
	if err != nil {
		return err
	}
	for _, n := range d.ControlPlane() {
		for _, status := range resource.Status.NodeStatuses {
			if status.NodeName == n.Name() && status.CurrentRevision != revision {
				return fmt.Errorf("node %s runs revision %d", n.Name(), status.CurrentRevision)
			}
		}
	}
	return nil
}
