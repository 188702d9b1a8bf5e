package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	devcluster "github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/e2e/internal/monitor"
)

// rotatedCA ends the CA bundle of the API server after its rotation.
const rotatedCA = "# rotated\n"

// testRejectedInput lets a typo stand while the image of the cloud-controller-manager and the CA of the API server
// change.
func (s *suite) testRejectedInput(t *testing.T) {
	const detectionLimit = 30 * time.Second
	good, before := s.cloudConfig(t), s.revision(t)
	broken := strings.Replace(good, "max-shared-lb", "max-shared-ld", 1)
	message := []string{"max-shared-ld", fmt.Sprintf("line %d:", lineOfDifference(good, broken)),
		"until then, the version accepted at "}
	s.monitor.Expect(monitor.Degraded("max-shared-ld", "a typo in the cloud configuration"))
	s.setCloudConfig(t, broken)
	s.awaitDegraded(t, detectionLimit, message...)

	// The operator restarts with another image of the operand while it sees another CA: that can be one revision or
	// two.
	image := devcluster.ImageRef("openstack-cloud-controller-manager") + "-next"
	for _, n := range s.Nodes() {
		require.NoError(t, n.TagImage(t.Context(), devcluster.ImageRef("openstack-cloud-controller-manager"), image))
	}
	for range 2 {
		s.expectRollout("another image and another CA")
	}
	began := time.Now()
	s.rotateRootCA(t)
	s.setOperandImage(t, image)
	s.await(t, "every node to run the new image with the new CA", 2*rolloutLimit, func(ctx context.Context) error {
		return errors.Join(s.runEverywhere(ctx, before, image), s.degradedWith(ctx, message...))
	})
	s.figure("another image and another CA beside a rejected cloud configuration, to %d nodes: %s", nodes,
		rounded(began))
	delivered, err := s.kube.CoreV1().ConfigMaps(targetNamespace).Get(t.Context(),
		fmt.Sprintf("kubeconfigs-%d", s.revision(t)), metav1.GetOptions{})
	require.NoError(t, err)
	require.True(t, strings.HasSuffix(delivered.Data["ca-bundle.crt"], rotatedCA))

	s.setCloudConfig(t, good)
	s.await(t, "a clean ClusterOperator", detectionLimit, s.clean)
	s.requireOneLeader(t)
}

// runEverywhere returns nil if every node is at the latest revision, which came after the given one, and runs the
// image.
func (s *suite) runEverywhere(ctx context.Context, before int32, image string) error {
	resource, err := s.resource(ctx)
	if err != nil {
		return err
	}
	latest := resource.Status.LatestAvailableRevision
	if latest <= before {
		return fmt.Errorf("revision %d is the latest", latest)
	}
	for _, status := range resource.Status.NodeStatuses {
		if status.CurrentRevision != latest || status.TargetRevision != 0 {
			return fmt.Errorf("node %s is at revision %d, not at %d", status.NodeName, status.CurrentRevision, latest)
		}
		pod, err := s.kube.CoreV1().Pods(targetNamespace).Get(ctx, "cloud-controller-manager-"+status.NodeName,
			metav1.GetOptions{})
		if err != nil {
			return err
		}
		if got := pod.Spec.Containers[0].Image; got != image {
			return fmt.Errorf("pod/%s has the image %s", pod.Name, got)
		}
	}
	return nil
}

// rotateRootCA appends a comment to the CA bundle that every pod gets. kube-controller-manager, which knows the old
// bundle, cannot write it back until the test ends.
func (s *suite) rotateRootCA(t *testing.T) {
	t.Helper()
	const name = "kube-root-ca.crt"
	_, err := s.RejectUpdates(t.Context(), devcluster.UpdateRejection{
		Resource: "configmaps", Namespace: targetNamespace, Name: name,
		Unless: fmt.Sprintf("object.data['ca.crt'].endsWith(%q)", rotatedCA), Message: "it would lose the new CA",
	})
	require.NoError(t, err)

	client := s.kube.CoreV1().ConfigMaps(targetNamespace)
	s.await(t, "the new CA", time.Minute, func(ctx context.Context) error {
		var bundle *corev1.ConfigMap
		if bundle, err = client.Get(ctx, name, metav1.GetOptions{}); err != nil {
			return err
		}
		bundle.Data["ca.crt"] += rotatedCA
		_, err = client.Update(ctx, bundle, metav1.UpdateOptions{})
		return err
	})
}
