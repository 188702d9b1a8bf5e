package integration_test

import (
	"bytes"
	"strings"
	"sync"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	cloudConfig = "configmap/cloud-provider-config in openshift-config"
	credentials = "secret/openstack-cloud-credentials in openshift-cloud-controller-manager"
)

// badInput is a change that must not become a revision.
type badInput struct {
	// makeBad makes the change and returns a function that reverts it.
	makeBad func(t *testing.T, c *cluster) func()

	// condition becomes True with exactly message.
	condition, message string
}

func TestABadInputIsReportedAndLeavesTheLastRevision(t *testing.T) {
	t.Parallel()
	c := startCluster(t, configv1.OpenStackPlatformType)
	c.startOperator(t)
	c.awaitRevision(t, 1)
	c.awaitCondition(t, "CloudConfigDegraded", operatorv1.ConditionFalse, "")
	good := c.delivered(t)

	for name, tc := range badInputs {
		t.Run(name, func(t *testing.T) {
			restore := sync.OnceFunc(tc.makeBad(t, c))
			defer restore()
			c.awaitCondition(t, tc.condition, operatorv1.ConditionTrue, tc.message+c.standIn(t, tc.condition))
			c.awaitClusterOperator(t, configv1.OperatorDegraded, configv1.ConditionTrue, tc.condition+": "+tc.message)
			require.Equal(t, good, c.delivered(t))

			restore()
			c.awaitCondition(t, tc.condition, operatorv1.ConditionFalse, "")
			require.Equal(t, good, c.delivered(t))
			require.Equal(t, int32(1), c.awaitRevision(t, 1))
		})
	}
	c.awaitClusterOperator(t, configv1.OperatorDegraded, configv1.ConditionFalse, "")
}

var badInputs = map[string]badInput{
	"a cloud config that is gone": {
		makeBad: func(t *testing.T, c *cluster) func() {
			client := c.kube.CoreV1().ConfigMaps(configNamespace)
			before, err := client.Get(t.Context(), "cloud-provider-config", metav1.GetOptions{})
			require.NoError(t, err)
			require.NoError(t, client.Delete(t.Context(), before.Name, metav1.DeleteOptions{}))
			return func() {
				_, err := client.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: before.Name}, Data: before.Data}, metav1.CreateOptions{})
				require.NoError(t, err)
			}
		},
		condition: "CloudConfigDegraded",
		message:   cloudConfig + ", key config: it does not exist; create it, or correct spec.cloudConfig of infrastructure.config.openshift.io/cluster",
	},
	"a cloud config without any data": {
		makeBad:   cloudConfigMap(func(m *corev1.ConfigMap) { m.Data = nil }),
		condition: "CloudConfigDegraded",
		message: cloudConfig + ", key config: there is no such key, the object has no data; add the key, or correct " +
			"spec.cloudConfig of infrastructure.config.openshift.io/cluster",
	},
	"an empty cloud config": {
		makeBad:   cloudConfigText(func(string) string { return "" }),
		condition: "CloudConfigDegraded",
		message:   cloudConfig + ", key config: there is no cloud configuration: it is empty; write at least the line [Global] to have OpenShift's defaults, which a first installation gets without it",
	},
	"a cloud config under another key": {
		makeBad: cloudConfigMap(func(m *corev1.ConfigMap) {
			m.Data["cloud.conf"] = m.Data["config"]
			delete(m.Data, "config")
		}),
		condition: "CloudConfigDegraded",
		message: cloudConfig + ", key config: there is no such key, the object has ca-bundle.pem, cloud.conf; add the key, or correct " +
			"spec.cloudConfig of infrastructure.config.openshift.io/cluster",
	},
	"a cloud config in binary data": {
		makeBad: cloudConfigMap(func(m *corev1.ConfigMap) {
			m.BinaryData = map[string][]byte{"config": []byte(m.Data["config"])}
			delete(m.Data, "config")
		}),
		condition: "CloudConfigDegraded",
		message:   cloudConfig + ", key config: binary data is not supported; store the value as UTF-8 text",
	},
	"a typo in a key": {
		makeBad:   cloudConfigText(func(s string) string { return strings.Replace(s, "region =", "regoin =", 1) }),
		condition: "CloudConfigDegraded",
		message:   cloudConfig + `, key config, line 4:1: unknown key "regoin" in [Global]; did you mean "region"?`,
	},
	"an unclosed section": {
		makeBad:   cloudConfigText(func(s string) string { return strings.Replace(s, "[LoadBalancer]", "[LoadBalancer", 1) }),
		condition: "CloudConfigDegraded",
		message:   cloudConfig + `, key config, line 7:1: the header of section [LoadBalancer] is not closed: write "]" after the name`,
	},
	"a legacy secret-name that is not the default": {
		makeBad:   cloudConfigText(func(s string) string { return strings.Replace(s, "openstack-credentials", "mine", 1) }),
		condition: "CloudConfigDegraded",
		message: cloudConfig + `, key config, line 2:15: secret-name is "mine", but only its default "openstack-credentials" can be used ` +
			`(the cloud-controller-manager reads its credentials from a file): remove the line`,
	},
	"a CA bundle of the cloud that is not PEM": {
		makeBad:   cloudConfigMap(func(m *corev1.ConfigMap) { m.Data["ca-bundle.pem"] = "no certificate" }),
		condition: "CloudConfigDegraded",
		message: cloudConfig + ", key ca-bundle.pem: it contains no PEM certificate, so the cloud-controller-manager would exit: " +
			"write the CA certificates in PEM format",
	},
	"a credentials Secret that is gone": {
		makeBad: func(t *testing.T, c *cluster) func() {
			client := c.kube.CoreV1().Secrets(targetNamespace)
			before, err := client.Get(t.Context(), "openstack-cloud-credentials", metav1.GetOptions{})
			require.NoError(t, err)
			require.NoError(t, client.Delete(t.Context(), before.Name, metav1.DeleteOptions{}))
			return func() {
				_, err := client.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: before.Name}, Data: before.Data}, metav1.CreateOptions{})
				require.NoError(t, err)
			}
		},
		condition: "CredentialsDegraded",
		message: credentials + ": there is no credentials Secret: check the cloud-credential-operator, or create the Secret if " +
			"credentials are managed manually",
	},
	"credentials without clouds.yaml": {
		makeBad:   credentialsSecret(func(s *corev1.Secret) { s.Data = map[string][]byte{"other": []byte("x")} }),
		condition: "CredentialsDegraded",
		message:   credentials + ", key clouds.yaml: the credentials Secret has no such key, only other",
	},
	"a clouds.yaml that is no YAML": {
		makeBad:   credentialsSecret(func(s *corev1.Secret) { s.Data["clouds.yaml"] = []byte("clouds:\n\topenstack: {}\n") }),
		condition: "CredentialsDegraded",
		message:   credentials + ", key clouds.yaml, line 2:1: invalid YAML: a tab in the indentation: indent with spaces",
	},
	"a clouds.yaml with another cloud": {
		makeBad: credentialsSecret(func(s *corev1.Secret) {
			s.Data["clouds.yaml"] = bytes.Replace(s.Data["clouds.yaml"], []byte("openstack:"), []byte("mine:"), 1)
		}),
		condition: "CredentialsDegraded",
		message:   credentials + `, key clouds.yaml, line 2:3: there is no cloud named openstack, only "mine": rename the entry to openstack`,
	},
	"an override that replaces the payload's image": {
		makeBad: func(t *testing.T, c *cluster) func() {
			c.patchSpec(t, `{"spec": {"unsupportedConfigOverrides": {"custom": {"image": "registry.example.com/evil:1"}}}}`)
			return func() { c.patchSpec(t, `{"spec": {"unsupportedConfigOverrides": null}}`) }
		},
		condition: "ConfigurationDegraded",
		message: "cloudcontrollermanager.operator.openshift.io/cluster, key spec.unsupportedConfigOverrides.custom: platform openstack runs the " +
			"cloud-controller-manager of the release payload, which cannot be replaced; remove the field",
	},
}

func cloudConfigMap(edit func(*corev1.ConfigMap)) func(*testing.T, *cluster) func() {
	return func(t *testing.T, c *cluster) func() {
		return c.editConfigMap(t, configNamespace, "cloud-provider-config", edit)
	}
}

func cloudConfigText(edit func(string) string) func(*testing.T, *cluster) func() {
	return cloudConfigMap(func(m *corev1.ConfigMap) { m.Data["config"] = edit(m.Data["config"]) })
}

func credentialsSecret(edit func(*corev1.Secret)) func(*testing.T, *cluster) func() {
	return func(t *testing.T, c *cluster) func() {
		return c.editSecret(t, "openstack-cloud-credentials", edit)
	}
}

// delivered returns the data of every revisioned object.
func (c *cluster) delivered(t *testing.T) map[string]any {
	t.Helper()
	all := map[string]any{}
	for _, name := range []string{"cloud-controller-manager-pod", "cloud-config", "trusted-ca", "kubeconfigs"} {
		object, err := c.kube.CoreV1().ConfigMaps(targetNamespace).Get(t.Context(), name, metav1.GetOptions{})
		require.NoError(t, err)
		all["configmap/"+name] = object.Data
	}
	for _, name := range []string{"cloud-config", "cloud-credentials", "file-syncer-token"} {
		object, err := c.kube.CoreV1().Secrets(targetNamespace).Get(t.Context(), name, metav1.GetOptions{})
		require.NoError(t, err)
		all["secret/"+name] = object.Data
	}
	return all
}
