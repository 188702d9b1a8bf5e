package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	devcluster "github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/openstack"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/e2e/internal/monitor"
)

const (
	// betweenKills makes three kills last for longer than the five minutes after which exits are a crash loop.
	betweenKills = 160 * time.Second
	// verySlowAnswer exceeds what a leader of a cloud that answers needs to begin its first attempt.
	verySlowAnswer = 10 * time.Second
	// vanishedLimit is how long the operator may be away whose pod has vanished: the start of the next pod, two retry
	// periods of the lock, and its patience.
	vanishedLimit = 75 * time.Second
	// slowInitialization is the timeout of a node's initialization when each answer takes that long.
	slowInitialization = 5 * time.Minute
)

// TestWhatLooksLikeAFailureForAMinuteIsNone lets a leader wait for a slow cloud, takes the operator's pod away, and kills
// a process twice within minutes. The monitor fails a step in which the ClusterOperator turns Degraded.
func TestWhatLooksLikeAFailureForAMinuteIsNone(t *testing.T) {
	if os.Getenv("E2E_LONG") == "" {
		t.Skip("E2E_LONG is not set: this takes a quarter of an hour")
	}
	s := startSuite(t, devcluster.Options{
		Name: "e2e-kills", Platform: configv1.OpenStackPlatformType, Nodes: nodes, QuickRestarts: true, Progress: os.Stderr,
	}, monitor.Rollout("the first revision"))
	s.awaitSettled(t, 1, rolloutLimit)
	s.runSteps(t, []step{
		{"the leader of a slow cloud is not called deaf", s.testSlowCloudIsNotDeaf},
		{"the next operator leads soon after the pod of the former one has vanished", s.testVanishedOperator},
		{"the third kill within minutes is named with its signal, two are not", s.testKills},
	})
}

func (s *suite) testSlowCloudIsNotDeaf(t *testing.T) {
	former := s.requireHolder(t)
	s.monitor.Expect(monitor.NewLeader("the leader is killed"))
	require.NoError(t, s.Cloud().Delay(openstack.AllEndpoints, verySlowAnswer))
	s.killLeader(t)
	s.await(t, "another leader", leaderLimit, func(ctx context.Context) error { return s.leadsInstead(ctx, former) })
	holder := s.requireHolder(t)
	waiting, began := s.waitFor(t, holder)
	s.await(t, "the node to be initialized", slowInitialization, func(ctx context.Context) error {
		condition, err := s.deafCondition(ctx)
		if err != nil {
			return err
		}
		require.Equal(t, operatorv1.ConditionFalse, condition.Status, condition.Message)
		require.Error(t, s.leadsInstead(ctx, holder), "the leader was replaced")
		return s.initialized(ctx, waiting)
	})
	s.figure("%s for each answer of the cloud: uninitialized node to initialized by the same leader: %s", verySlowAnswer,
		rounded(began))
	require.NoError(t, s.Cloud().Delay(openstack.AllEndpoints, 0))
	s.awaitSettled(t, 1, rolloutLimit)
}

// testVanishedOperator ends the operator while its kubelet hangs, so nothing reports that it has ended. The scheduler
// does not know yet that the kubelet hangs, so the node is cordoned until the next pod has another one.
func (s *suite) testVanishedOperator(t *testing.T) {
	holder, err := s.operatorHolder(t.Context())
	require.NoError(t, err)
	pods, err := s.kube.CoreV1().Pods(operatorNamespace).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, pods.Items, 1)
	pod := pods.Items[0]
	host := s.Node(pod.Spec.NodeName)
	s.signalKubelet(t, host, syscall.SIGSTOP)
	s.setCordoned(t, host, true)
	s.killOperator(t)
	began := time.Now()
	require.NoError(t, s.kube.CoreV1().Pods(operatorNamespace).Delete(t.Context(), pod.Name,
		metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)}))
	s.await(t, "the next pod to be scheduled", briefly, func(ctx context.Context) error {
		pods, err := s.kube.CoreV1().Pods(operatorNamespace).List(ctx, metav1.ListOptions{
			FieldSelector: "spec.nodeName!=,spec.nodeName!=" + host.Name(),
		})
		if err == nil && len(pods.Items) == 0 {
			err = errors.New("there is none")
		}
		return err
	})
	s.setCordoned(t, host, false)
	s.await(t, "the next operator to lead", vanishedLimit, func(ctx context.Context) error {
		now, err := s.operatorHolder(ctx)
		if err == nil && (now == "" || now == holder) {
			err = fmt.Errorf("its lock is held by %q", now)
		}
		return err
	})
	s.figure("the operator's pod has vanished: the next one leads after %s", rounded(began))
	s.signalKubelet(t, host, syscall.SIGCONT)
	s.awaitSettled(t, 1, rolloutLimit)
}

// neverKilled returns a node that does not lead, and whose cloud-controller-manager no former step has killed.
func (s *suite) neverKilled(t *testing.T, leader string) string {
	t.Helper()
	for _, pod := range s.staticPods(t) {
		isKilled := func(c corev1.ContainerStatus) bool { return c.RestartCount > 0 }
		if pod.Spec.NodeName != leader && !slices.ContainsFunc(pod.Status.ContainerStatuses, isKilled) {
			return pod.Spec.NodeName
		}
	}
	require.Fail(t, "each cloud-controller-manager leads or was killed")
	return ""
}

func (s *suite) testKills(t *testing.T) {
	leader, _, err := s.leader(t.Context())
	require.NoError(t, err)
	victim := s.neverKilled(t, leader)
	kill := func() { require.NoError(t, syscall.Kill(s.operandOn(t, victim), syscall.SIGKILL)) }
	began := time.Now()
	for range 2 {
		kill()
		require.Never(t, func() bool { return s.degradedWith(t.Context()) == nil }, betweenKills, time.Second,
			"a process that was killed once or twice is no crash loop")
	}
	s.monitor.Expect(monitor.Degraded("keeps exiting", "the third kill within minutes"))
	kill()
	killed := time.Now()
	s.awaitDegraded(t, visibleLimit, "CrashLoopDegraded", "keeps exiting", "by signal 9 (killed)",
		"find what ends it: its kubelet by a probe, the kernel without memory, or a person")
	s.figure("the third kill, %s after the first: named after %s", killed.Sub(began).Round(time.Second), rounded(killed))
	s.await(t, "the ClusterOperator not to be Degraded", rolloutLimit, func(ctx context.Context) error {
		if s.degradedWith(ctx) == nil {
			return errors.New("it is Degraded")
		}
		return nil
	})
	s.figure("the third kill to a clean ClusterOperator: %s", rounded(killed))
	s.awaitSettled(t, 1, rolloutLimit)
}
