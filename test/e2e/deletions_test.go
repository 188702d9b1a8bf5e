package e2e

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	devcluster "github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/node"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/openstack"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/e2e/internal/monitor"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/e2e/internal/record"
)

const (
	nodeDeletion = "NodeDeletionDegraded"

	// lieLimit is how long a lie lasts that no condition can report, because the cloud-controller-manager cannot act on
	// it. It tries every five seconds, and the operator asks it for 15.
	lieLimit = 20 * time.Second
	// lieNamedLimit is how long a lie may last before the condition has it. A kubelet must be silent for 40 to 50 seconds
	// before the cloud is asked, and up to 89 seconds were measured.
	lieNamedLimit = 2 * time.Minute
	// deletionLimit is how long the Node of a deleted instance may stay.
	deletionLimit = 2 * time.Minute
)

// deletions is a cluster with a worker whose kubelet falls silent, and a cloud that lies. The monitor fails the test for
// each Node that is deleted.
type deletions struct {
	*cloudStory
	worker *node.Node
	proof  proof
	lies   int
	// silent is true while the worker's kubelet is.
	silent bool
}

// lie is a wrong answer of the cloud about machines that exist.
type lie struct {
	name string
	tell func(t *testing.T, d *deletions)
	// reason is that of NodeDeletionDegraded, "" if the cloud-controller-manager does not believe the lie itself.
	reason string
	// end ends what the inventory does not.
	end func(t *testing.T, d *deletions)
	// onOpenStack says that only OpenStack's stand-in tells it.
	onOpenStack bool
}

// liars are the platforms of TestTwentyLiesCostNoNode, with the number of their lies. On another one the story has a
// single lie: docs/hacking.md says why.
var liars = map[string]int{"aws": 12, "openstack": 23, "vsphere": 12}

func TestTwentyLiesCostNoNode(t *testing.T) {
	name := cmp.Or(strings.ToLower(os.Getenv("PLATFORM")), "openstack")
	if os.Getenv("E2E_LONG")+os.Getenv("PLATFORM") == "" {
		t.Skip("neither PLATFORM nor E2E_LONG is set: this takes half an hour")
	}
	require.Contains(t, liars, name, "PLATFORM: no lies of its cloud are told")
	d := &deletions{cloudStory: newStory(startSuite(t, devcluster.Options{
		Name: "e2e-lies-" + name, Platform: storyPlatforms[name].platform, Nodes: nodes, QuickRestarts: true,
		Progress: os.Stderr,
	}, monitor.Rollout("the first revision")), name)}
	d.proof = d.suite.proof(t)
	d.awaitSettled(t, 1, rolloutLimit)
	d.runSteps(t, []step{{"a worker joins", d.testWorker}})
	d.runSteps(t, d.recorded(t, record.Step{Platform: name, Story: record.Deletions}, []step{
		{"an instance is deleted", d.testDeleted},
		{"an instance is stopped", d.testStopped},
		{"a control-plane instance is deleted", d.testDeletedMaster},
	}))
	d.runSteps(t, []step{
		{"lies while every kubelet reports", d.tells(whileAllReport)},
		{"a kubelet reports that it is not ready", d.testNotReady},
		{"a kubelet falls silent", d.testSilence},
		{"lies about a silent node", d.tells(whileOneIsSilent)},
		{"the kubelet reports again", d.testReport},
	})
	d.figure("lies: %d, healthy nodes lost: 0", d.lies)
	require.Equal(t, liars[name], d.lies)
}

// fails makes the cloud answer requests with a status until it is 0.
func fails(status int, endpoints ...string) func(*testing.T, *deletions) {
	return func(t *testing.T, d *deletions) {
		for _, endpoint := range endpoints {
			require.NoError(t, d.cloud.Fail(endpoint, status))
		}
	}
}

// answers makes the cloud answer lookups by identity, by which a cloud-controller-manager decides about deletions, with
// a status until it is 0. Other clouds than OpenStack answer everything with it.
func answers(status int) func(*testing.T, *deletions) {
	return func(t *testing.T, d *deletions) {
		endpoint := devcluster.AllEndpoints
		if d.Cloud() != nil {
			endpoint = openstack.ComputeServer
		}
		fails(status, endpoint)(t, d)
	}
}

// noInstance empties the inventory.
func noInstance(t *testing.T, d *deletions) { require.NoError(t, d.cloud.DenyInstances(true)) }

// knows replaces the inventory by the instances for which keep is true.
func knows(keep func(d *deletions, name string) bool) func(*testing.T, *deletions) {
	return func(_ *testing.T, d *deletions) {
		d.Cloud().SetServers(slices.DeleteFunc(d.servers(), func(i openstack.Instance) bool { return !keep(d, i.Name) }))
	}
}

var (
	onlyFirst  = knows(func(d *deletions, name string) bool { return name == d.ControlPlane()[0].Name() })
	onlyLast   = knows(func(d *deletions, name string) bool { return name == d.ControlPlane()[nodes-1].Name() })
	onlyWorker = knows(func(d *deletions, name string) bool { return name == d.worker.Name() })
	allButOne  = knows(func(d *deletions, name string) bool {
		return name != d.ControlPlane()[1].Name() && name != d.worker.Name()
	})
)

// anotherProject has instances of other names.
func anotherProject(_ *testing.T, d *deletions) {
	d.Cloud().SetServers([]openstack.Instance{{Name: "someone-elses-master-0", Addresses: []string{"192.0.2.10"}}})
}

// otherInstances have the nodes' names and other identities, as after a restore of another region.
func otherInstances(_ *testing.T, d *deletions) {
	servers := d.servers()
	for i := range servers {
		servers[i].ID = openstack.InstanceID("another " + servers[i].Name)
	}
	d.Cloud().SetServers(servers)
}

var whileAllReport = []lie{
	{name: "the inventory is empty while every kubelet reports", tell: noInstance},
	{name: "the inventory is another project's while every kubelet reports", tell: anotherProject, onOpenStack: true},
	{name: "every instance is not found while every kubelet reports", tell: fails(http.StatusNotFound, openstack.ComputeServer), end: answers(0), onOpenStack: true},
}

var whileOneIsSilent = []lie{
	{name: "the inventory is empty", tell: noInstance, reason: "LivingNodesUnknown"},
	{name: "the inventory is another project's", tell: anotherProject, reason: "LivingNodesUnknown", onOpenStack: true},
	{name: "the instances have other identities", tell: otherInstances, reason: "LivingNodesUnknown", onOpenStack: true},
	{name: "the inventory has only the first instance", tell: onlyFirst, reason: "LivingNodesUnknown", onOpenStack: true},
	{name: "the inventory has only the last control-plane instance", tell: onlyLast, reason: "LivingNodesUnknown", onOpenStack: true},
	{name: "the inventory lacks one living node", tell: allButOne, reason: "LivingNodesUnknown", onOpenStack: true},
	{name: "the inventory has only the silent node", tell: onlyWorker, onOpenStack: true},
	{
		name: "every instance is not found", reason: "LivingNodesUnknown", onOpenStack: true,
		tell: fails(http.StatusNotFound, openstack.ComputeServer), end: answers(0),
	},
	{
		name: "no instance is found by its identity or its name", reason: "LivingNodesUnknown", onOpenStack: true,
		tell: fails(http.StatusNotFound, openstack.ComputeServer, openstack.ComputeServers),
		end:  fails(0, openstack.ComputeServer, openstack.ComputeServers),
	},
	{name: "every instance is gone for good", tell: fails(http.StatusGone, openstack.ComputeServer), end: answers(0), onOpenStack: true},
	{name: "nobody is authenticated", tell: answers(http.StatusUnauthorized), end: answers(0)},
	{name: "nothing is allowed", tell: answers(http.StatusForbidden), end: answers(0)},
	{name: "there are too many requests", tell: answers(http.StatusTooManyRequests), end: answers(0)},
	{name: "the cloud fails", tell: answers(http.StatusInternalServerError), end: answers(0)},
	{name: "the cloud is down", tell: answers(http.StatusServiceUnavailable), end: answers(0)},
	{name: "the inventory is empty while the operator does not run", tell: withoutOperator, end: withOperator},
	{name: "the inventory is empty and the operator is killed", tell: killingOperator, reason: "LivingNodesUnknown"},
	{name: "the inventory is empty for a new leader", tell: killingLeader, reason: "LivingNodesUnknown"},
	{name: "the inventory is empty during a rollout", tell: duringRollout, reason: "LivingNodesUnknown"},
}

func withoutOperator(t *testing.T, d *deletions) {
	d.scale(t, 0)
	d.awaitOperator(t, "", 0)
	noInstance(t, d)
}

// withOperator waits until the operator acts again. It knows only leaders that it has seen renew their lease.
func withOperator(t *testing.T, d *deletions) {
	former, err := d.operatorHolder(t.Context())
	require.NoError(t, err)
	d.scale(t, 1)
	d.awaitOperatorLeads(t, former)
	_, began, err := d.leader(t.Context())
	require.NoError(t, err)
	d.await(t, "the leader to renew the lease", briefly, func(ctx context.Context) error {
		_, lease, err := d.leader(ctx)
		if err == nil && lease.Spec.RenewTime.Equal(began.Spec.RenewTime) {
			err = fmt.Errorf("it was renewed at %s", lease.Spec.RenewTime)
		}
		return err
	})
}

func killingOperator(t *testing.T, d *deletions) {
	noInstance(t, d)
	d.killOperator(t)
}

func killingLeader(t *testing.T, d *deletions) {
	noInstance(t, d)
	d.killLeader(t)
}

func duringRollout(t *testing.T, d *deletions) {
	revision := d.revision(t)
	noInstance(t, d)
	d.forceRedeployment(t)
	d.await(t, "the rollout", rolloutLimit, func(ctx context.Context) error { return d.settledRevisions(ctx, revision+1) })
}

// settledRevisions returns nil once every control-plane node runs the revision.
func (d *deletions) settledRevisions(ctx context.Context, revision int32) error {
	resource, err := d.resource(ctx)
	if err != nil {
		return err
	}
	for _, status := range resource.Status.NodeStatuses {
		if status.CurrentRevision != revision {
			return fmt.Errorf("node %s runs revision %d", status.NodeName, status.CurrentRevision)
		}
	}
	return nil
}

func (d *deletions) testWorker(t *testing.T) {
	var err error
	d.worker, err = d.AddWorker(t.Context())
	require.NoError(t, err)
	d.await(t, "the worker to be initialized", briefly, func(ctx context.Context) error { return d.isInitialized(ctx, d.worker) })
	d.await(t, "the worker to be Ready", briefly, func(ctx context.Context) error { return d.ready(ctx, d.worker.Name()) })
}

func (d *deletions) tells(lies []lie) func(*testing.T) {
	return func(t *testing.T) {
		for _, lie := range lies {
			if lie.onOpenStack && d.name != "openstack" {
				continue
			}
			t.Run(lie.name, func(t *testing.T) {
				if d.silent && d.lies%2 == 0 {
					d.replaceLeader(t)
				}
				d.tell(t, lie)
			})
		}
	}
}

// replaceLeader makes the lies independent: a process announces the deletion of one Node 25 times, and then once in five
// minutes, because its recorder drops the rest.
func (d *deletions) replaceLeader(t *testing.T) {
	t.Helper()
	// The operator releases a lease only after it has seen its holder renew it.
	d.await(t, "the leader to have renewed the lease", briefly, func(ctx context.Context) error {
		_, lease, err := d.leader(ctx)
		if err == nil && lease.Spec.RenewTime.Sub(lease.Spec.AcquireTime.Time) < time.Second {
			err = fmt.Errorf("it acquired it at %s", lease.Spec.AcquireTime)
		}
		return err
	})
	d.monitor.Expect(monitor.Degraded(d.worker.Name(),
		"the former leader announced a deletion and then missed living nodes, and the next one has not answered yet"))
	d.killLeader(t)
}

func (d *deletions) killLeader(t *testing.T) {
	t.Helper()
	leader := d.requireOneLeader(t)
	d.monitor.Expect(monitor.NewLeader("the leader is killed"),
		monitor.Degraded("CrashLoopDegraded", "leaders are killed again and again"))
	pids := d.processesOn(t, leader, d.OperandPath(), "")
	require.Len(t, pids, 1)
	_, lease, err := d.leader(t.Context())
	require.NoError(t, err)
	former := *lease.Spec.HolderIdentity
	require.NoError(t, syscall.Kill(pids[0], syscall.SIGKILL))
	d.await(t, "another leader", leaderLimit, func(ctx context.Context) error {
		_, lease, err := d.leader(ctx)
		if err == nil && (*lease.Spec.HolderIdentity == former || *lease.Spec.HolderIdentity == "") {
			err = fmt.Errorf("the holder is %q", *lease.Spec.HolderIdentity)
		}
		return err
	})
}

// tell lets a lie last until the condition reports it. No Node goes, which the monitor watches.
func (d *deletions) tell(t *testing.T, lie lie) {
	d.lies++
	result := record.Lie{Platform: d.name, Name: lie.name, Order: d.lies, Reason: lie.reason, Date: time.Now().UTC(), Commit: d.proof.commit}
	began := time.Now()
	if lie.reason != "" {
		d.monitor.Expect(monitor.Degraded(d.worker.Name(), "the cloud lies: "+lie.name).Times(2))
	}
	lie.tell(t, d)
	if lie.reason == "" {
		require.Never(t, func() bool { return d.exists(t.Context(), d.worker.Name()) != nil }, lieLimit, time.Second)
		d.figure("lie %q: no condition, and no Node goes in %s", lie.name, lieLimit)
	} else {
		d.awaitReason(t, lie.reason, lieNamedLimit)
		result.Visible = record.Seconds(time.Since(began))
		d.figure("lie %q: %s after %s", lie.name, lie.reason, rounded(began))
	}
	ended := time.Now()
	require.NoError(t, d.cloud.DenyInstances(false))
	if d.Cloud() != nil {
		d.Cloud().SetServers(d.servers())
	}
	if lie.end != nil {
		lie.end(t, d)
	}
	d.awaitReason(t, "AsExpected", cleanLimit)
	result.Cleared = record.Seconds(time.Since(ended))
	d.figure("lie %q ended: condition False after %s", lie.name, rounded(ended))
	require.NoError(t, d.exists(t.Context(), d.worker.Name()))
	require.NoError(t, record.WriteLie(d.proof.dir, &result))
}

func (s *suite) awaitReason(t *testing.T, reason string, limit time.Duration) {
	t.Helper()
	s.await(t, nodeDeletion+" with reason "+reason, limit, func(ctx context.Context) error {
		resource, err := s.resource(ctx)
		if err != nil {
			return err
		}
		for _, c := range resource.Status.Conditions {
			if c.Type == nodeDeletion && c.Reason != reason {
				return fmt.Errorf("its reason is %s: %s", c.Reason, c.Message)
			}
		}
		return nil
	})
}

func (s *suite) exists(ctx context.Context, name string) error {
	_, err := s.kube.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	return err
}

// testNotReady lets the worker's kubelet report that it is not ready.
func (d *deletions) testNotReady(t *testing.T) {
	d.disableCNI(t, d.worker)
	d.tell(t, lie{
		name: "the inventory is empty while a kubelet reports that it is not ready", tell: noInstance, reason: "NodeReports",
	})
	d.enableCNI(t, d.worker)
}

// disableCNI takes the pod network from a node, so its kubelet reports that it is not ready.
func (s *suite) disableCNI(t *testing.T, n *node.Node) {
	t.Helper()
	configs, err := filepath.Glob(filepath.Join(n.Root(), "etc/cni/net.d/*.conflist"))
	require.NoError(t, err)
	require.Len(t, configs, 1)
	require.NoError(t, os.Remove(configs[0]))
	s.awaitReady(t, n.Name(), corev1.ConditionFalse)
}

func (s *suite) enableCNI(t *testing.T, n *node.Node) {
	t.Helper()
	require.NoError(t, n.EnableCNI())
	s.awaitReady(t, n.Name(), corev1.ConditionTrue)
}

func (s *suite) awaitReady(t *testing.T, name string, status corev1.ConditionStatus) {
	t.Helper()
	s.await(t, fmt.Sprintf("Ready=%s of %s", status, name), briefly, func(ctx context.Context) error {
		object, err := s.kube.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, c := range object.Status.Conditions {
			if c.Type == corev1.NodeReady && c.Status != status {
				return fmt.Errorf("it is %s", c.Status)
			}
		}
		return nil
	})
}

// freezeKubelet stops a kubelet. The machine and its pods live.
func (s *suite) freezeKubelet(t *testing.T, n *node.Node) {
	t.Helper()
	s.signalKubelet(t, n, syscall.SIGSTOP)
	s.awaitReady(t, n.Name(), corev1.ConditionUnknown)
}

func (s *suite) thawKubelet(t *testing.T, n *node.Node) {
	t.Helper()
	s.signalKubelet(t, n, syscall.SIGCONT)
	s.awaitReady(t, n.Name(), corev1.ConditionTrue)
}

func (s *suite) signalKubelet(t *testing.T, n *node.Node, signal syscall.Signal) {
	t.Helper()
	pids := s.processesOn(t, n.Name(), filepath.Join(s.BinDir(), "kubelet"), "")
	require.Len(t, pids, 1)
	require.NoError(t, syscall.Kill(pids[0], signal))
}

func (d *deletions) testSilence(t *testing.T) {
	d.silent = true
	d.freezeKubelet(t, d.worker)
}

func (d *deletions) testReport(t *testing.T) {
	d.silent = false
	d.thawKubelet(t, d.worker)
}

// testDeleted deletes the worker's instance in the cloud. Nobody deletes its Node but the cloud-controller-manager.
func (d *deletions) testDeleted(t *testing.T) {
	d.remove(t, d.worker.Name())
	d.testWorker(t)
}

func (d *deletions) remove(t *testing.T, name string) {
	t.Helper()
	d.monitor.Expect(monitor.NodeDeleted(name, "its instance is deleted"))
	began := time.Now()
	require.NoError(t, d.RemoveNode(t.Context(), name))
	d.await(t, "Node "+name+" to be deleted", deletionLimit, func(ctx context.Context) error {
		return gone(d.exists(ctx, name))
	})
	d.figure("instance of %s deleted to its Node deleted: %s", name, rounded(began))
}

// testStopped stops the worker's instance. The cloud knows it, so its Node stays.
func (d *deletions) testStopped(t *testing.T) {
	require.NoError(t, d.worker.Kill())
	require.NoError(t, d.cloud.StopInstance(d.worker.Name()))
	began := time.Now()
	d.await(t, "the taint of a stopped instance", deletionLimit, d.isTainted(d.worker, true))
	d.figure("instance stopped to the taint %s: %s", shutdown, rounded(began))
	require.Never(t, func() bool { return d.exists(t.Context(), d.worker.Name()) != nil }, 30*time.Second, time.Second)
	require.NoError(t, d.cloud.StartInstance(d.worker.Name()))
	require.NoError(t, d.worker.Restart(t.Context()))
	d.awaitReady(t, d.worker.Name(), corev1.ConditionTrue)
	d.awaitCondition(t, nodeDeletion, operatorv1.ConditionFalse, cleanLimit)
}

func (d *deletions) testDeletedMaster(t *testing.T) {
	revision := d.revision(t)
	d.monitor.Expect(monitor.Degraded("", "a control-plane node is missing"))
	d.remove(t, d.follower(t, d.requireOneLeader(t)).Name())
	_, err := d.AddNode(t.Context())
	require.NoError(t, err)
	d.awaitSettled(t, revision, rolloutLimit)
}
