package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/operandprobe"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/e2e/internal/monitor"
)

const (
	// ofPredecessor is an argument of the predecessor's processes only.
	ofPredecessor = "--v=1"
	// runLevel is the predecessor's label on the namespaces.
	runLevel = "openshift.io/run-level"
	// takeoverLimit is how long nobody may lead while the static pods take over: until the next attempt of a standby, 57
	// seconds at most, and until the predecessor has ended before.
	takeoverLimit = time.Minute + harness
)

// takeover is a cluster that the predecessor runs.
type takeover struct {
	*cloudStory
	// command is the path of the cloud-controller-manager in its image.
	command string
	// onPort says that the predecessor's pods listen on the static pods' port.
	onPort bool
}

// TestTakeover upgrades a cluster whose cloud-controller-managers are the predecessor's. Its port is free in today's
// releases, and occupied in earlier ones and on two platforms.
func TestTakeover(t *testing.T) {
	for _, tc := range []struct {
		name, story, command string
		nodes                int
		onPort, long         bool
	}{
		{name: "three nodes", story: "openstack", command: operandBinary, nodes: 3},
		{name: "three nodes on AWS", story: "aws", command: "/bin/aws-cloud-controller-manager", nodes: 3, long: true},
		{name: "three nodes on Azure", story: "azure", command: "/bin/azure-cloud-controller-manager", nodes: 3, long: true},
		{name: "three nodes with pods on the port", story: "openstack", command: operandBinary, nodes: 3, onPort: true, long: true},
		{name: "one node", story: "openstack", command: operandBinary, nodes: 1, long: true},
		{name: "one node with a pod on the port", story: "openstack", command: operandBinary, nodes: 1, onPort: true, long: true},
	} {
		if tc.long && os.Getenv("E2E_LONG") == "" {
			continue
		}
		t.Run(tc.name, func(t *testing.T) {
			s := &takeover{command: tc.command, onPort: tc.onPort, cloudStory: newStory(startSuite(t, devcluster.Options{
				Name: "e2e-takeover", Platform: storyPlatforms[tc.story].platform, Nodes: tc.nodes, WithoutPayload: true,
				Progress: os.Stderr,
			}), tc.story)}
			s.testTakeover(t)
			if os.Getenv("E2E_LONG") != "" {
				s.testUnpreparedDowngrade(t)
				s.testPreparedDowngrade(t)
			}
		})
	}
}

func (s *takeover) testTakeover(t *testing.T) {
	require.NoError(t, s.LoadImages(t.Context()))
	require.NoError(t, s.InstallPredecessor(t.Context(), devcluster.Predecessor{OnPort: s.onPort}))
	for _, n := range s.Nodes() {
		s.awaitInitialized(t, n)
	}
	s.awaitPredecessor(t)

	// A configuration that is rejected leaves the predecessor running.
	good := s.cloudConfig(t)
	s.monitor.Begin("a rejected configuration")
	s.monitor.Expect(monitor.Degraded("cloud-provider-config", "the configuration is broken"))
	s.setCloudConfig(t, "["+good)
	if s.name == "aws" {
		setSecretKeys("aws_secret_access_key", wrong)(t, s.cloudStory)
	}
	require.NoError(t, s.InstallPayload(t.Context()))
	s.awaitCondition(t, "TakingOver", "True", briefly, "deployment/"+s.OperandTag(), "keeps running until the static pods stand by")
	s.awaitDegraded(t, namedLimit, "cloud-provider-config")
	s.awaitPredecessor(t)

	s.monitor.Begin("the take-over")
	s.monitor.Expect(monitor.Rollout("the first revision"), monitor.NewLeader("a static pod takes over"))
	s.expectSingleNodeTimings()
	w := s.witness(t)
	accepted := s.setCloudConfig(t, good)
	if s.name == "aws" {
		accepted = s.testRejectedLogin(t, accepted)
	}
	s.awaitCondition(t, "TakingOver", "False", rolloutLimit)
	s.figure("configuration accepted to the end of the take-over: %s", rounded(accepted))
	require.NoError(t, s.CompleteRelease(t.Context(), s.Release()))
	s.figure("configuration accepted to the versions in the ClusterOperator: %s", rounded(accepted))
	s.awaitSettled(t, 1, rolloutLimit)
	s.requireOneLeader(t)

	without := w.finish(t)
	s.figure("without a leader: %s", without.Round(100*time.Millisecond))
	require.Less(t, without, takeoverLimit, "without a leader")
	s.requireNothingOfThePredecessor(t)
}

// testRejectedLogin lets the preflight of the take-over fail: the predecessor goes on. On AWS, its own credentials are
// others, the roles of the instances. It returns when those of the static pods became valid.
func (s *takeover) testRejectedLogin(t *testing.T, accepted time.Time) time.Time {
	t.Helper()
	s.monitor.Expect(monitor.Degraded(s.secret, "the cloud rejects the credentials"))
	s.awaitDegraded(t, namedLimit, s.secret, "a cloud-controller-manager with the changed inputs")
	s.figure("configuration accepted to the rejection of the login: %s", rounded(accepted))
	s.awaitCondition(t, "TakingOver", "True", briefly, "deployment/"+s.OperandTag(), "keeps running until the static pods stand by")
	s.awaitPredecessor(t)
	require.Zero(t, s.revision(t))
	s.setSecret(t, s.secret, s.cloud.Credentials())
	return time.Now()
}

// expectSingleNodeTimings lets the lease's timings of a single node come and go, as the predecessor's Deployment does.
func (s *takeover) expectSingleNodeTimings() {
	if len(s.Nodes()) > 1 {
		return
	}
	s.monitor.Expect(monitor.Rollout("the lease's timings of a single node"), monitor.Rollout("the predecessor's timings"),
		monitor.NewLeader("the process with these timings"), monitor.NoneReady("the only node is rolled out"))
}

// testUnpreparedDowngrade brings the predecessor back without a removal, as a downgrade would: its Deployment beside the
// static pods, and no operator of ours. The static pods lead on, and the next upgrade takes over again.
func (s *takeover) testUnpreparedDowngrade(t *testing.T) {
	s.monitor.Begin("a downgrade without a removal")
	s.scale(t, 0)
	s.awaitOperator(t, "", 0)
	_, lease, err := s.leader(t.Context())
	require.NoError(t, err)
	require.NoError(t, s.InstallPredecessor(t.Context(), devcluster.Predecessor{OnPort: s.onPort}))
	if s.onPort {
		s.await(t, "the predecessor to find its port occupied", rolloutLimit, s.predecessorCrashes)
	} else {
		s.awaitPredecessor(t)
	}
	_, still, err := s.leader(t.Context())
	require.NoError(t, err)
	require.Equal(t, *lease.Spec.HolderIdentity, *still.Spec.HolderIdentity, "the static pods lead on")
	s.requireOneLeader(t)

	s.monitor.Begin("the next upgrade")
	s.expectSingleNodeTimings()
	s.scale(t, 1)
	s.awaitCondition(t, "TakingOver", "False", rolloutLimit)
	s.await(t, "the end of the predecessor's pods", briefly, func(context.Context) error {
		if pids := s.processes(t, s.command, ofPredecessor); len(pids) > 0 {
			return fmt.Errorf("%d processes run", len(pids))
		}
		return nil
	})
	s.awaitSettled(t, 1, rolloutLimit)
	s.requireOneLeader(t)
}

// testPreparedDowngrade removes the static pods before the predecessor comes back.
func (s *takeover) testPreparedDowngrade(t *testing.T) {
	s.monitor.Begin("a downgrade after a removal")
	s.expectSingleNodeTimings()
	s.monitor.Expect(monitor.NoneReady("it is removed"), monitor.NewLeader("the predecessor leads"))
	began := time.Now()
	s.setManagement(t, operatorv1.Removed)
	s.await(t, "the end of the removal", briefly, s.removed)
	require.Empty(t, s.processes(t, s.command, ""))
	require.Empty(t, s.processes(t, syncerBinary, ""))
	s.scale(t, 0)
	s.awaitOperator(t, "", 0)
	require.NoError(t, s.InstallPredecessor(t.Context(), devcluster.Predecessor{OnPort: s.onPort}))
	s.awaitPredecessor(t)
	s.await(t, "the predecessor to lead", briefly, func(ctx context.Context) error {
		node, _, err := s.leader(ctx)
		if err == nil && node == "" {
			err = errors.New("nothing leads")
		}
		return err
	})
	s.figure("removal requested to the predecessor leading: %s", rounded(began))

	s.monitor.Begin("the upgrade after that")
	s.monitor.Expect(monitor.Rollout("it is back"), monitor.NewLeader("it is back"), monitor.NoneReady("the only node is rolled out"),
		monitor.Rollout("the lease's timings of a single node"), monitor.NewLeader("the process with these timings"))
	s.setManagement(t, operatorv1.Managed)
	s.scale(t, 1)
	s.await(t, "the end of the predecessor's pods", rolloutLimit, func(context.Context) error {
		if pids := s.processes(t, s.command, ofPredecessor); len(pids) > 0 {
			return fmt.Errorf("%d processes run", len(pids))
		}
		return nil
	})
	s.awaitCondition(t, "TakingOver", "False", rolloutLimit)
	s.awaitSettled(t, 1, rolloutLimit)
	s.requireOneLeader(t)
}

func (s *suite) requireNoProcess(t *testing.T) {
	t.Helper()
	require.Empty(t, s.processes(t, operandBinary, ""))
	require.Empty(t, s.processes(t, syncerBinary, ""))
}

// predecessorCrashes returns nil once a pod of the predecessor has exited.
func (s *takeover) predecessorCrashes(ctx context.Context) error {
	pods, err := s.kube.CoreV1().Pods(targetNamespace).List(ctx, metav1.ListOptions{LabelSelector: "k8s-app=" + s.OperandTag()})
	if err != nil {
		return err
	}
	for _, pod := range pods.Items {
		for _, status := range pod.Status.ContainerStatuses {
			if status.RestartCount > 0 || status.State.Terminated != nil {
				return nil
			}
		}
	}
	return fmt.Errorf("none of %d pods has exited", len(pods.Items))
}

// awaitPredecessor waits until the predecessor's pods are available and one of them holds the lease.
func (s *suite) awaitPredecessor(t *testing.T) {
	t.Helper()
	s.await(t, "the predecessor's cloud-controller-managers", briefly, func(ctx context.Context) error {
		deployment, err := s.kube.AppsV1().Deployments(targetNamespace).Get(ctx, s.OperandTag(), metav1.GetOptions{})
		if err != nil {
			return err
		}
		if !available(deployment) {
			return fmt.Errorf("its status is %+v", deployment.Status)
		}
		_, _, err = s.leader(ctx)
		return err
	})
}

func available(d *appsv1.Deployment) bool {
	return d.Status.AvailableReplicas == *d.Spec.Replicas && d.Status.ObservedGeneration == d.Generation
}

// requireNothingOfThePredecessor checks that the cluster is as a new one is.
func (s *takeover) requireNothingOfThePredecessor(t *testing.T) {
	t.Helper()
	_, err := s.kube.AppsV1().Deployments(targetNamespace).Get(t.Context(), s.OperandTag(), metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err), "%v", err)
	require.Empty(t, s.processes(t, s.command, ofPredecessor))
	for namespace, want := range map[string]string{targetNamespace: "none", operatorNamespace: ""} {
		found, err := s.kube.CoreV1().Namespaces().Get(t.Context(), namespace, metav1.GetOptions{})
		require.NoError(t, err)
		label, labelled := found.Labels[runLevel]
		if !labelled {
			label = "none"
		}
		require.Equal(t, want, label, "label %s of namespace/%s", runLevel, namespace)
	}
	reported, err := s.config.ConfigV1().ClusterOperators().Get(t.Context(), clusterOperator, metav1.GetOptions{})
	require.NoError(t, err)
	for _, c := range reported.Status.Conditions {
		require.NotContains(t, string(c.Type), "Controller", "a condition of the predecessor")
	}
	s.requireBound(t, s.name)
	budgets, err := s.kube.PolicyV1().PodDisruptionBudgets(targetNamespace).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Empty(t, budgets.Items)
}

// witness samples who leads, ten times a second.
type witness struct {
	stop    func()
	group   sync.WaitGroup
	mutex   sync.Mutex
	old     time.Time // when a process of the predecessor last ran on the node of its leader
	ours    time.Time // when a static pod's process first led
	last    time.Time // when one last led
	gap     time.Duration
	doubles []string
}

func (s *takeover) witness(t *testing.T) *witness {
	t.Helper()
	node, _, err := s.leader(t.Context())
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	w := &witness{stop: cancel, old: time.Now()}
	w.group.Go(func() {
		for ctx.Err() == nil {
			if len(s.processesOn(t, node, s.command, ofPredecessor)) > 0 {
				w.runs(time.Now())
			}
			<-time.After(probeInterval)
		}
	})
	for _, n := range s.Nodes() {
		w.group.Go(func() {
			for ctx.Err() == nil {
				asked := time.Now()
				client, err := operandprobe.Client(ctx, s.kube, s.RESTConfig())
				if err == nil {
					if leads, err := operandprobe.Leads(ctx, client, n.IP()); err == nil && leads {
						w.leads(n.Name(), asked)
					}
				}
				<-time.After(probeInterval)
			}
		})
	}
	t.Cleanup(func() { cancel(); w.group.Wait() })
	return w
}

func (w *witness) runs(at time.Time) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.old = at
	if !w.ours.IsZero() {
		w.doubles = append(w.doubles, at.Format(time.TimeOnly)+": the predecessor's leader runs while a static pod leads")
	}
}

func (w *witness) leads(node string, asked time.Time) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.ours.IsZero() {
		w.ours, w.last = asked, asked
	}
	w.gap = max(w.gap, asked.Sub(w.last))
	w.last = asked
	if asked.Before(w.old) {
		w.doubles = append(w.doubles, asked.Format(time.TimeOnly)+": "+node+" leads while the predecessor's leader runs")
	}
}

// finish requires that no two processes led, and returns the longest time without a leader.
func (w *witness) finish(t *testing.T) time.Duration {
	t.Helper()
	w.stop()
	w.group.Wait()
	require.Empty(t, w.doubles)
	require.False(t, w.ours.IsZero())
	return max(w.ours.Sub(w.old), w.gap)
}
