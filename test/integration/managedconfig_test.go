package integration_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
)

func TestOnVSphereTheOperatorWritesTheManagedConfigBehindItsGate(t *testing.T) {
	t.Parallel()
	c := startCluster(t, configv1.VSpherePlatformType)
	managed := c.kube.CoreV1().ConfigMaps("openshift-config-managed")
	awaitText := func(t *testing.T, text string) {
		t.Helper()
		await(t, "kube-cloud-config", func(ctx context.Context) error {
			configMap, err := managed.Get(ctx, "kube-cloud-config", metav1.GetOptions{})
			if err == nil && !strings.Contains(configMap.Data["cloud.conf"], text) {
				return fmt.Errorf("it is %s", configMap.Data["cloud.conf"])
			}
			return err
		})
	}
	c.startOperator(t, "VSPHERE_IMAGE=localhost/vsphere:new")
	c.awaitRevision(t, 1)
	before, err := managed.List(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=kube-cloud-config"})
	require.NoError(t, err)
	for _, configMap := range before.Items {
		require.NotContains(
			t, configMap.Annotations, "cloud-controller-manager.openshift.io/accepted-input", "the gate is off",
		)
	}

	c.enableFeatureGate(t, "VSphereMultiVCenterDay2")
	awaitText(t, "secretName: vsphere-creds\n")

	const name = "cloud-provider-config"
	restore := c.editConfigMap(
		t, configNamespace, name, func(m *corev1.ConfigMap) { m.Data["config"] = "global:\n  insecureFlag: ture\n" },
	)
	c.awaitCondition(t, "ManagedCloudConfigDegraded", operatorv1.ConditionTrue,
		"configmap/kube-cloud-config in openshift-config-managed is not updated: "+
			"configmap/cloud-provider-config in openshift-config, key config, line 2:17: global.insecureFlag is \"ture\", "+
			"but must be true or false")
	awaitText(t, "secretName: vsphere-creds\n")
	restore()
	c.awaitCondition(t, "ManagedCloudConfigDegraded", operatorv1.ConditionFalse, "")

	c.editConfigMap(
		t, "openshift-config-managed", "kube-cloud-config", func(m *corev1.ConfigMap) { m.Data["cloud.conf"] = "edited" },
	)
	awaitText(t, "secretName: vsphere-creds\n")
	require.NoError(t, managed.Delete(t.Context(), "kube-cloud-config", metav1.DeleteOptions{}))
	awaitText(t, "secretName: vsphere-creds\n")
	c.noRequestDenied(t)
}

func (c *cluster) enableFeatureGate(t *testing.T, name configv1.FeatureGateName) {
	t.Helper()
	gates := c.config.ConfigV1().FeatureGates()
	require.NoError(t, retry.RetryOnConflict(retry.DefaultRetry, func() error {
		gate, err := gates.Get(t.Context(), "cluster", metav1.GetOptions{})
		if err != nil {
			return err
		}
		for i := range gate.Status.FeatureGates {
			gate.Status.FeatureGates[i].Enabled = append(
				gate.Status.FeatureGates[i].Enabled, configv1.FeatureGateAttributes{Name: name},
			)
		}
		_, err = gates.UpdateStatus(t.Context(), gate, metav1.UpdateOptions{})
		return err
	}))
}
