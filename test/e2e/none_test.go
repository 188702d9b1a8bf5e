package e2e

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
	devcluster "github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster"
)

// TestNone starts a single-node cluster on a platform that needs no cloud-controller-manager.
func TestNone(t *testing.T) {
	runBesideOthers(t)
	began := time.Now()
	s := startSuite(t, devcluster.Options{Name: "e2e-none", Platform: configv1.NonePlatformType, Nodes: 1,
		Progress: os.Stderr})
	s.await(t, "a clean ClusterOperator", rolloutLimit, s.clean)
	s.figure("platform None, start of the cluster to Available: %s", rounded(began))

	s.await(t, "both versions", briefly, func(ctx context.Context) error {
		reported, err := s.config.ConfigV1().ClusterOperators().Get(ctx, clusterOperator, metav1.GetOptions{})
		if err != nil {
			return err
		}
		versions := map[string]string{}
		for _, version := range reported.Status.Versions {
			versions[version.Name] = version.Version
		}
		if versions["operator"] != devcluster.Version || versions[operand] != devcluster.Version {
			return fmt.Errorf("it has %v", versions)
		}
		return nil
	})
	pods, err := s.kube.CoreV1().Pods(targetNamespace).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Empty(t, pods.Items, "neither an operand nor an installer")
	require.Equal(t, int32(0), s.revision(t))
	s.requireRights(t, platform.None)
}
