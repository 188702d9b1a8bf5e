package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
	devcluster "github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/e2e/internal/monitor"
)

// TestPlatforms starts a single-node cluster on a platform whose cloud-controller-manager runs here;
// TestDigitalOceansToken covers one without an image. With E2E_LONG it tests every platform. TestStory has what needs a
// cloud.
func TestPlatforms(t *testing.T) {
	runBesideOthers(t)
	names := []string{"aws"}
	if os.Getenv("E2E_LONG") != "" {
		names = nil
		for _, p := range platform.All() {
			if p.Managed() && p.Name != "openstack" {
				names = append(names, p.Name)
			}
		}
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			s := startSuite(t, devcluster.Options{
				Name: "e2e-" + name, Platform: configv1.PlatformType(name), Nodes: 1, Progress: os.Stderr,
			}, monitor.Rollout("the first revision"))
			if s.HasOperand() {
				s.await(t, "a cloud-controller-manager that runs and leads", rolloutLimit, s.leads)
				s.figure("platform %s, start of the cluster to Available: %s", name, rounded(began))
				s.testFirstOfCorpus(t, name)
			} else {
				s.monitor.Expect(imageMissing)
				s.await(t, "a report of the image that does not exist", rolloutLimit, s.reportsTheImage)
				s.figure("platform %s, start of the cluster to the report of its missing image: %s", name,
					rounded(began))
			}
			require.Equal(t, int32(1), s.revision(t))
			s.requireRights(t, name)
		})
	}
}

// testFirstOfCorpus tries one bad change of an input, if the platform has a preflight; TestPreflights tries all.
func (s *suite) testFirstOfCorpus(t *testing.T, name string) {
	t.Helper()
	changes := corpus(name)
	first := slices.IndexFunc(changes, func(c preflightChange) bool { return !c.restarts })
	if hasPreflight(name) && first >= 0 {
		s.awaitSettled(t, 1, rolloutLimit)
		newStory(s, name).testPreflightOf(t, &changes[first])
	}
}

// imageMissing announces that the installer waits for an image that does not exist.
var imageMissing = monitor.Degraded("ImagePullDegraded", "the cloud-controller-manager's image does not exist")

// leads returns nil when the static pod is Ready, the lease is held and the ClusterOperator is Available. More is
// impossible without a cloud.
func (s *suite) leads(ctx context.Context) error {
	pod, err := s.staticPod(ctx)
	if err != nil {
		return err
	}
	if !isReady(pod) {
		return fmt.Errorf("pod %s is not ready", pod.Name)
	}
	if _, _, err := s.leader(ctx); err != nil {
		return err
	}
	return s.reported(ctx, configv1.OperatorAvailable, configv1.ConditionTrue)
}

// reportsTheImage returns nil when an installer pod waits for the missing image, no static pod is installed, and the
// ClusterOperator names the image.
func (s *suite) reportsTheImage(ctx context.Context) error {
	image, err := s.awaitedImage(ctx)
	if err != nil {
		return err
	}
	if pod, err := s.staticPod(ctx); err == nil {
		return fmt.Errorf("pod %s was installed without its image", pod.Name)
	}
	return s.reported(ctx, configv1.OperatorDegraded, configv1.ConditionTrue, "ImagePullDegraded: ",
		"container pull-"+operand+" of pod/installer-1-", fmt.Sprintf("with image %q does not start: ", image))
}

// awaitedImage returns the image that an installer pod waits for.
func (s *suite) awaitedImage(ctx context.Context) (string, error) {
	pods, err := s.kube.CoreV1().Pods(targetNamespace).List(ctx, metav1.ListOptions{LabelSelector: "app=installer"})
	if err != nil {
		return "", err
	}
	for _, pod := range pods.Items {
		for i, status := range pod.Status.InitContainerStatuses {
			if waiting := status.State.Waiting; waiting != nil && strings.Contains(waiting.Reason, "ImagePull") {
				return pod.Spec.InitContainers[i].Image, nil
			}
		}
	}
	return "", errors.New("no installer pod waits for an image")
}

// staticPod returns the one mirror pod of the operand.
func (s *suite) staticPod(ctx context.Context) (*corev1.Pod, error) {
	pods, err := s.kube.CoreV1().Pods(targetNamespace).List(ctx, metav1.ListOptions{LabelSelector: "app=" + operand})
	if err != nil {
		return nil, err
	}
	for _, pod := range pods.Items {
		if strings.HasPrefix(pod.Name, operand+"-") && pod.Labels["revision"] != "" {
			return &pod, nil
		}
	}
	return nil, errors.New("there is no static pod")
}

// reported returns nil when the ClusterOperator has the condition with the texts in its message.
func (s *suite) reported(
	ctx context.Context, kind configv1.ClusterStatusConditionType, status configv1.ConditionStatus, texts ...string,
) error {
	found, err := s.config.ConfigV1().ClusterOperators().Get(ctx, clusterOperator, metav1.GetOptions{})
	if err != nil {
		return err
	}
	for _, c := range found.Status.Conditions {
		if c.Type != kind {
			continue
		}
		if c.Status != status {
			return fmt.Errorf("the ClusterOperator has %s=%s %s: %s", c.Type, c.Status, c.Reason, c.Message)
		}
		return contains(c.Message, texts...)
	}
	return fmt.Errorf("the ClusterOperator has no condition %s", kind)
}
