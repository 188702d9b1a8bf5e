package e2e

import (
	"os"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/e2e/internal/monitor"
)

// TestTwoNodesWithArbiter rolls out over the two control-plane nodes of a cluster whose third one is an arbiter: that one
// has no control-plane label, so it gets no static pod.
func TestTwoNodesWithArbiter(t *testing.T) {
	if os.Getenv("E2E_LONG") == "" {
		t.Skip("E2E_LONG is not set: this takes two minutes")
	}
	s := startSuite(t, devcluster.Options{
		Name: "e2e-arbiter", Platform: configv1.OpenStackPlatformType, Nodes: 2, WithoutPayload: true, Progress: os.Stderr,
	}, monitor.Rollout("the first revision"))
	infrastructures := s.config.ConfigV1().Infrastructures()
	infrastructure, err := infrastructures.Get(t.Context(), "cluster", metav1.GetOptions{})
	require.NoError(t, err)
	infrastructure.Status.ControlPlaneTopology = configv1.HighlyAvailableArbiterMode
	_, err = infrastructures.UpdateStatus(t.Context(), infrastructure, metav1.UpdateOptions{})
	require.NoError(t, err)
	require.NoError(t, s.LoadImages(t.Context()))
	require.NoError(t, s.InstallPayload(t.Context()))
	revision := s.awaitSettled(t, 1, rolloutLimit)
	s.requireOneLeader(t)

	s.monitor.Begin("a rollout")
	s.expectRollout("a key of the cloud configuration")
	s.setCloudConfig(t, s.cloudConfig(t)+"max-shared-lb = 3\n")
	s.awaitSettled(t, revision+1, rolloutLimit)
	s.requireOneLeader(t)
}
