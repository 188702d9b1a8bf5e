package integration_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestARejectedCloudConfigHoldsUpNothingElse(t *testing.T) {
	t.Parallel()
	const (
		typo    = cloudConfig + `, key config, line 4:1: unknown key "regoin" in [Global]; did you mean "region"?`
		missing = cloudConfig + ", key config: it does not exist; create it, or correct spec.cloudConfig of infrastructure.config.openshift.io/cluster"
		rotated = "# rotated\n"
	)
	c := startCluster(t, configv1.OpenStackPlatformType)
	first := c.startOperator(t)
	c.awaitRevision(t, 1)
	c.awaitNothingDegraded(t)
	require.Equal(t, c.userCloudConfig(t).Data["config"], string(c.secret(t, "accepted-inputs").Data["cloud-config"]))
	restore := cloudConfigText(func(s string) string { return strings.Replace(s, "region =", "regoin =", 1) })(t, c)
	runs := typo + c.standIn(t, "CloudConfigDegraded")
	c.awaitCondition(t, "CloudConfigDegraded", operatorv1.ConditionTrue, runs)

	// The next process has only the cluster's state. It runs until the end of the test, beyond this subtest.
	first.kill(t)
	c.releaseElection(t)
	c.startOperator(t, "OPENSTACK_IMAGE=localhost/openstack:newer")
	t.Run("an upgrade brings another image of the cloud-controller-manager", func(t *testing.T) {
		require.Equal(t, int32(2), c.awaitRevision(t, 2))
		require.Contains(t, c.configMap(t, "cloud-controller-manager-pod-2").Data["pod.yaml"], "localhost/openstack:newer")
		c.requireStill(t, 2, runs)
	})
	t.Run("the API server gets another CA", func(t *testing.T) {
		// kube-controller-manager would restore its own CA.
		allow := c.forbidUpdates(t, "configmaps", "kube-root-ca.crt", `object.data['ca.crt'].endsWith('# rotated\n')`)
		defer allow()
		c.editConfigMap(t, targetNamespace, "kube-root-ca.crt", func(m *corev1.ConfigMap) { m.Data["ca.crt"] += rotated })
		require.Equal(t, int32(3), c.awaitRevision(t, 3))
		require.True(t, strings.HasSuffix(c.configMap(t, "kubeconfigs-3").Data["ca-bundle.crt"], rotated))
		c.requireStill(t, 3, runs)
	})
	t.Run("the accepted inputs are deleted", func(t *testing.T) {
		latest := c.awaitRevision(t, 4) // the former CA
		c.forgetAcceptedCloudConfig(t)
		c.awaitCondition(t, "CloudConfigDegraded", operatorv1.ConditionTrue, typo+revisionStandIn(latest))
		c.patchSpec(t, `{"spec":{"forceRedeploymentReason":"whatever the cloud configuration says"}}`)
		require.Equal(t, latest+1, c.awaitRevision(t, latest+1))
		c.requireStill(t, latest+1, typo+revisionStandIn(latest+1))
	})
	t.Run("the cloud config is deleted", func(t *testing.T) {
		require.NoError(t, c.kube.CoreV1().ConfigMaps(configNamespace).Delete(t.Context(), "cloud-provider-config", metav1.DeleteOptions{}))
		latest := c.awaitRevision(t, 5)
		c.requireStill(t, latest, missing+revisionStandIn(latest))
		c.createConfigMap(t, "cloud-provider-config", map[string]string{"config": "", "ca-bundle.pem": ""})
	})
	t.Run("the cloud config is as it was", func(t *testing.T) {
		latest := c.awaitRevision(t, 5)
		restore()
		c.awaitCondition(t, "CloudConfigDegraded", operatorv1.ConditionFalse, "")
		c.awaitNothingDegraded(t)
		await(t, "the accepted inputs to be kept again", func(context.Context) error {
			if !strings.Contains(string(c.secret(t, "accepted-inputs").Data["cloud-config"]), "region =") {
				return fmt.Errorf("the cloud configuration is not there")
			}
			return nil
		})
		require.Equal(t, latest, c.awaitRevision(t, latest), "identical bytes are no change")
	})
	c.noRequestDenied(t)
}

// forgetAcceptedCloudConfig deletes the accepted inputs until they come back without a cloud configuration. A sync that
// read them before the deletion writes them again.
func (c *cluster) forgetAcceptedCloudConfig(t *testing.T) {
	t.Helper()
	secrets := c.kube.CoreV1().Secrets(targetNamespace)
	await(t, "the accepted cloud configuration to be gone", func(ctx context.Context) error {
		secret, err := secrets.Get(ctx, "accepted-inputs", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if _, kept := secret.Data["cloud-config"]; !kept {
			return nil
		}
		if err := secrets.Delete(ctx, secret.Name, metav1.DeleteOptions{}); err != nil {
			return err
		}
		return errors.New("it was kept until now")
	})
}

// requireStill waits for the condition and compares the cloud configuration of a revision with that of the first one.
func (c *cluster) requireStill(t *testing.T, revision int32, message string) {
	t.Helper()
	c.awaitCondition(t, "CloudConfigDegraded", operatorv1.ConditionTrue, message)
	for _, name := range []string{"cloud-config", "cloud-credentials"} {
		require.Equal(t, c.secret(t, name+"-1").Data, c.secret(t, fmt.Sprintf("%s-%d", name, revision)).Data)
	}
}

// standIn returns the end of a rejected input's condition, empty for a condition that is not about an input.
func (c *cluster) standIn(t *testing.T, condition string) string {
	t.Helper()
	input := map[string]string{"CloudConfigDegraded": "cloudConfig", "CredentialsDegraded": "credentials", "TrustedCADegraded": "trustedCA"}[condition]
	if input == "" {
		return ""
	}
	var records map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(c.secret(t, "accepted-inputs").Data["inputs.json"], &records))
	var record struct{ Since string }
	require.NoError(t, json.Unmarshal(records[input], &record))
	require.NotEmpty(t, record.Since)
	return "\nuntil then, the version accepted at " + record.Since + " stays in use"
}

func revisionStandIn(revision int32) string {
	return fmt.Sprintf("\nuntil then, the content of revision %d stays in use", revision)
}

func (c *cluster) secret(t *testing.T, name string) *corev1.Secret {
	t.Helper()
	secret, err := c.kube.CoreV1().Secrets(targetNamespace).Get(t.Context(), name, metav1.GetOptions{})
	require.NoError(t, err)
	return secret
}

func (c *cluster) configMap(t *testing.T, name string) *corev1.ConfigMap {
	t.Helper()
	configMap, err := c.kube.CoreV1().ConfigMaps(targetNamespace).Get(t.Context(), name, metav1.GetOptions{})
	require.NoError(t, err)
	return configMap
}

func (c *cluster) userCloudConfig(t *testing.T) *corev1.ConfigMap {
	t.Helper()
	configMap, err := c.kube.CoreV1().ConfigMaps(configNamespace).Get(t.Context(), "cloud-provider-config", metav1.GetOptions{})
	require.NoError(t, err)
	return configMap
}
