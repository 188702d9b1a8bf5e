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
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/e2e/internal/monitor"
)

// lateFault is a change that a preflight passes, and that only the static pod of the first node shows.
type lateFault struct {
	name string
	do   func(*suite, *testing.T)
	// undo undoes do.
	undo func(*suite, *testing.T)
	// says are words of the condition.
	says []string
}

// setsArgument returns a change of a flag.
func setsArgument(flag, value string) func(*suite, *testing.T) {
	return func(s *suite, t *testing.T) { s.setArgument(t, flag, value) }
}

func removesOverrides(s *suite, t *testing.T) { s.setOverrides(t, nil) }

// upgradesTo returns an upgrade to an image that fails as a static pod only.
func upgradesTo(fault string) func(*suite, *testing.T) {
	return func(s *suite, t *testing.T) { s.setFaultyImage(t, "later-"+fault, "FAULT="+fault, "LATER=1") }
}

const formerFlags, formerImage = "the former flags stay in use", "the former image stays in use"

// lateFaults are a port in use on every node and an address that nobody asks, because a preflight serves nothing, and
// images that pretend to work in a preflight.
var lateFaults = []lateFault{
	{"flags that crash", setsArgument("secure-port", "10250"), removesOverrides, []string{"address already in use", formerFlags}},
	{"flags that hang", setsArgument("bind-address", "127.0.0.1"), removesOverrides, []string{"it stands by", formerFlags}},
	{"an image that crashes", upgradesTo("crash"), (*suite).restoreImage, []string{"nil pointer dereference", formerImage}},
	{"an image that hangs", upgradesTo("hang"), (*suite).restoreImage, []string{"it has logged nothing", formerImage}},
}

// TestAFailedRevisionGoesBack rolls out changes that a preflight passes.
func TestAFailedRevisionGoesBack(t *testing.T) {
	if os.Getenv("E2E_LONG") == "" {
		t.Skip("E2E_LONG is not set: this takes ten minutes")
	}
	s := startSuite(t, devcluster.Options{
		Name: "e2e-fallback", Platform: configv1.OpenStackPlatformType, Nodes: nodes, Progress: os.Stderr,
	}, monitor.Rollout("the first revision"), monitor.NewLeader("the first leader"))
	s.awaitSettled(t, 1, rolloutLimit)
	for _, fault := range lateFaults {
		t.Run(fault.name, func(t *testing.T) { s.testLateFault(t, &fault) })
	}
}

func (s *suite) testLateFault(t *testing.T, fault *lateFault) {
	leader := s.requireOneLeader(t)
	s.awaitSettledLeader(t)
	before := s.revision(t)
	s.monitor.Begin(fault.name)
	s.monitor.Expect(monitor.Degraded("", fault.name), monitor.Rollout(fault.name))
	s.expectRollout("back from " + fault.name)

	began := time.Now()
	fault.do(s, t)
	s.await(t, "a pod of the revision", rolloutLimit, func(context.Context) error {
		if s.operands.reached(before+1) == 0 {
			return errors.New("there is none")
		}
		return nil
	})
	installed := time.Now()
	says := append([]string{fmt.Sprintf("revision %d on node/", before+1),
		fmt.Sprintf("the node goes back to what revision %d has", before)}, fault.says...)
	s.await(t, "Degraded=True because of the revision", fallbackLimit, func(ctx context.Context) error {
		return s.degradedWith(ctx, says...)
	})
	visible := rounded(installed)
	var first string
	s.await(t, "the first node with what works", time.Until(installed.Add(fallbackLimit)), func(ctx context.Context) (err error) {
		first, err = s.wentBack(ctx, before+2)
		return err
	})
	require.NotEqual(t, leader, first)
	s.figure("%s: on the first node %s after the change; from then, Degraded after %s, and the node works again after %s", fault.name,
		installed.Sub(began).Round(100*time.Millisecond), visible, rounded(installed))
	s.await(t, "every node with what works", rolloutLimit, func(ctx context.Context) error { return s.allAt(ctx, before+2) })
	s.figure("... and every node is at one revision %s after the change", rounded(began))

	fault.undo(s, t)
	require.Equal(t, before+2, s.awaitSettled(t, before+2, rolloutLimit), "what works is not rolled out again")
	s.requireOneLeader(t)
	s.requireAnnounced(t.Context(), t)
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
