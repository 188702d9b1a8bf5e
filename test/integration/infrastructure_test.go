package integration_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"

	ccmv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
)

func TestAnInfrastructureThatComesLateIsWaitedFor(t *testing.T) {
	t.Parallel()
	c := startCluster(t, configv1.OpenStackPlatformType)
	infrastructures := c.config.ConfigV1().Infrastructures()
	before, err := infrastructures.Get(t.Context(), "cluster", metav1.GetOptions{})
	require.NoError(t, err)
	require.NoError(t, infrastructures.Delete(t.Context(), "cluster", metav1.DeleteOptions{}))

	c.startOperator(t)
	c.awaitCondition(t, "ConfigObservationDegraded", operatorv1.ConditionTrue, "infrastructure.config.openshift.io/cluster does not exist: "+
		"the installer writes it, restore it from the cluster's installation or a backup")

	created, err := infrastructures.Create(t.Context(), &configv1.Infrastructure{ObjectMeta: metav1.ObjectMeta{Name: "cluster"}, Spec: before.Spec}, metav1.CreateOptions{})
	require.NoError(t, err)
	c.awaitCondition(t, "ConfigObservationDegraded", operatorv1.ConditionTrue, "infrastructure.config.openshift.io/cluster has no status.platformStatus.type; "+
		"the installer writes it, restore it from the cluster's installation or a backup")

	created.Status = before.Status
	_, err = infrastructures.UpdateStatus(t.Context(), created, metav1.UpdateOptions{})
	require.NoError(t, err)
	c.awaitCondition(t, "ConfigObservationDegraded", operatorv1.ConditionFalse, "")
	c.awaitRevision(t, 1)
}

func TestAChangedPlatformIsRejected(t *testing.T) {
	t.Parallel()
	c := startCluster(t, configv1.OpenStackPlatformType)
	c.startOperator(t)
	c.awaitRevision(t, 1)
	good := c.delivered(t)

	c.setPlatform(t, configv1.NonePlatformType)
	c.awaitCondition(t, "ConfigObservationDegraded", operatorv1.ConditionTrue,
		`infrastructure.config.openshift.io/cluster changed its platform from "openstack" to "none" in status.platformStatus.type: `+
			`changing the platform of a running cluster is not supported, restore the former value`)
	require.Equal(t, good, c.delivered(t))

	c.setPlatform(t, configv1.OpenStackPlatformType)
	c.awaitCondition(t, "ConfigObservationDegraded", operatorv1.ConditionFalse, "")
	require.Equal(t, int32(1), c.awaitRevision(t, 1))
}

func TestAFeatureGateThatTheOperandDoesNotKnowReachesNoFlag(t *testing.T) {
	t.Parallel()
	c := startCluster(t, configv1.OpenStackPlatformType)
	c.startOperator(t)
	c.awaitRevision(t, 1)
	gates := c.config.ConfigV1().FeatureGates()
	require.NoError(t, retry.RetryOnConflict(retry.DefaultRetry, func() error {
		gate, err := gates.Get(t.Context(), "cluster", metav1.GetOptions{})
		if err != nil {
			return err
		}
		gate.Status.FeatureGates[0].Enabled = append(gate.Status.FeatureGates[0].Enabled,
			configv1.FeatureGateAttributes{Name: "NobodyKnowsThis"}, configv1.FeatureGateAttributes{Name: "CloudControllerManagerWebhook"})
		_, err = gates.UpdateStatus(t.Context(), gate, metav1.UpdateOptions{})
		return err
	}))
	c.awaitRevision(t, 2)
	pod := c.delivered(t)["configmap/cloud-controller-manager-pod"].(map[string]string)["pod.yaml"]
	require.Contains(t, pod, "--feature-gates=CloudControllerManagerWebhook=true\"")
}

func TestAnImageThatTheReleaseDoesNotNameIsReported(t *testing.T) {
	t.Parallel()
	c := startCluster(t, configv1.OpenStackPlatformType)
	c.startOperator(t, "OPENSTACK_IMAGE=")
	c.awaitCondition(t, "ImageDegraded", operatorv1.ConditionTrue,
		"deployment/cluster-cloud-controller-manager-operator in openshift-cloud-controller-manager-operator, key openstack-cloud-controller-manager: "+
			"there is no image of the cloud-controller-manager for platform openstack; the release must name it")
	resource, err := c.resource(t.Context())
	require.NoError(t, err)
	require.Zero(t, resource.Status.LatestAvailableRevision)
}

func TestAPlatformWithoutACloudControllerManagerIsAvailable(t *testing.T) {
	t.Parallel()
	c := startCluster(t, configv1.NonePlatformType)
	c.startOperator(t)
	c.awaitClusterOperator(t, configv1.OperatorAvailable, configv1.ConditionTrue, "")
	c.awaitClusterOperator(t, configv1.OperatorDegraded, configv1.ConditionFalse, "")
	c.awaitClusterOperator(t, configv1.OperatorProgressing, configv1.ConditionFalse, "")
	versions := []configv1.OperandVersion{
		{Name: "cloud-controller-manager", Version: "4.99.0-dev"},
		{Name: "operator", Version: "4.99.0-dev"},
		{Name: "operator-image", Version: "localhost/operator:new"},
	}
	await(t, "the versions", func(ctx context.Context) error { // They are written once the conditions are.
		operator, err := c.config.ConfigV1().ClusterOperators().Get(ctx, "cloud-controller-manager", metav1.GetOptions{})
		if err != nil {
			return err
		}
		got := operator.Status.Versions
		slices.SortFunc(got, func(a, b configv1.OperandVersion) int { return strings.Compare(a.Name, b.Name) })
		if !slices.Equal(got, versions) {
			return fmt.Errorf("they are %v", got)
		}
		return nil
	})
}

func (c *cluster) setPlatform(t *testing.T, platform configv1.PlatformType) {
	t.Helper()
	infrastructures := c.config.ConfigV1().Infrastructures()
	require.NoError(t, retry.RetryOnConflict(retry.DefaultRetry, func() error {
		infrastructure, err := infrastructures.Get(t.Context(), "cluster", metav1.GetOptions{})
		if err != nil {
			return err
		}
		infrastructure.Status.PlatformStatus.Type = platform
		_, err = infrastructures.UpdateStatus(t.Context(), infrastructure, metav1.UpdateOptions{})
		return err
	}))
}

func (c *cluster) patchSpec(t *testing.T, patch string) {
	t.Helper()
	_, err := c.dynamic.Resource(ccmv1.Resource).Patch(t.Context(), "cluster", types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	require.NoError(t, err)
}
