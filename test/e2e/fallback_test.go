package e2e

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/e2e/internal/monitor"
)

// TestAFailedRevisionGoesBack rolls out a port that is in use on every node. A preflight serves no port, so only the
// static pod of the first node shows it.
func TestAFailedRevisionGoesBack(t *testing.T) {
	if os.Getenv("E2E_LONG") == "" {
		t.Skip("E2E_LONG is not set: this takes five minutes")
	}
	s := startSuite(t, devcluster.Options{
		Name: "e2e-fallback", Platform: configv1.OpenStackPlatformType, Nodes: nodes, Progress: os.Stderr,
	}, monitor.Rollout("the first revision"), monitor.NewLeader("the first leader"))
	s.awaitSettled(t, 1, rolloutLimit)
	leader := s.requireOneLeader(t)
	s.awaitSettledLeader(t)
	before := s.revision(t)
	s.monitor.Begin("a port in use")
	s.monitor.Expect(monitor.Degraded("", "a port in use"), monitor.Rollout("a port in use"))
	s.expectRollout("back to the former port")

	began := time.Now()
	s.setArgument(t, "secure-port", "10250")
	s.await(t, "Degraded=True because of the revision", briefly, func(ctx context.Context) error {
		return s.degradedWith(ctx, fmt.Sprintf("revision %d on node/", before+1), "address already in use",
			fmt.Sprintf("the node goes back to what revision %d has", before), "the former flags stay in use")
	})
	visible, judged := rounded(began), time.Now()
	var first string
	s.await(t, "the first node with what works", time.Minute, func(ctx context.Context) (err error) {
		first, err = s.wentBack(ctx, before+2)
		return err
	})
	require.NotEqual(t, leader, first)
	s.figure("a revision that crashes on its first node: Degraded after %s, the node works again %s later", visible, rounded(judged))
	s.await(t, "every node with what works", rolloutLimit, func(ctx context.Context) error { return s.allAt(ctx, before+2) })
	s.figure("... and every node is at one revision %s after the change", rounded(began))

	s.setOverrides(t, nil)
	require.Equal(t, before+2, s.awaitSettled(t, before+2, rolloutLimit), "what works is not rolled out again")
	s.requireOneLeader(t)
}

// wentBack returns the one node that has got a revision, once its static pod is Ready. No node but this one has had the
// revision before it.
func (s *suite) wentBack(ctx context.Context, revision int32) (node string, err error) {
	pods, err := s.mirrorPods(ctx)
	if err != nil {
		return "", err
	}
	for _, pod := range pods {
		switch pod.Labels["revision"] {
		case fmt.Sprint(revision):
			if !isReady(&pod) {
				return "", fmt.Errorf("pod/%s is not Ready", pod.Name)
			}
			node = pod.Spec.NodeName
		case fmt.Sprint(revision - 1):
			return "", fmt.Errorf("pod/%s has the failed revision", pod.Name)
		}
	}
	if node == "" {
		return "", fmt.Errorf("no node has revision %d", revision)
	}
	return node, nil
}

// allAt returns nil if every static pod is Ready and of a revision.
func (s *suite) allAt(ctx context.Context, revision int32) error {
	pods, err := s.mirrorPods(ctx)
	if err != nil {
		return err
	}
	for _, pod := range pods {
		if pod.Labels["revision"] != fmt.Sprint(revision) || !isReady(&pod) {
			return fmt.Errorf("pod/%s is at revision %s, Ready: %t", pod.Name, pod.Labels["revision"], isReady(&pod))
		}
	}
	if len(pods) != s.size {
		return fmt.Errorf("%d of %d static pods exist", len(pods), s.size)
	}
	return nil
}

// mirrorPods returns the mirror pods of the static pods. One may be missing while its node gets another.
func (s *suite) mirrorPods(ctx context.Context) ([]corev1.Pod, error) {
	pods, err := s.kube.CoreV1().Pods(targetNamespace).List(ctx, metav1.ListOptions{LabelSelector: "app=" + operand})
	if err != nil {
		return nil, err
	}
	return pods.Items, nil
}
