package integration_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/yaml"

	ccmv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
)

const (
	customCCM = `
image: localhost/acme:1
command: [/bin/acme-ccm]
args: [--cloud-provider=acme, --key=/etc/kubernetes/static-pod-resources/secrets/cloud-credentials/key]
env: [{name: ACME_REGION, value: north}]
cloudConfig: {name: acme, key: acme.yaml}
secrets: [{name: acme-key}, {name: acme-token, delivery: Reloaded}]
probe: {port: 9999, scheme: HTTP}
`
	customField = "cloudcontrollermanager.operator.openshift.io/cluster, key spec.custom."
	acmeKey     = "secret/acme-key in openshift-cloud-controller-manager"
	acmeToken   = "secret/acme-token in openshift-cloud-controller-manager"
)

func TestAnAdministratorBringsACloudControllerManager(t *testing.T) {
	t.Parallel()
	c := startCluster(t, configv1.NonePlatformType)
	c.waitForSomebody(t)
	c.startOperator(t)
	c.awaitClusterOperator(t, configv1.OperatorAvailable, configv1.ConditionTrue,
		"that the administrator runs; to let this operator run it, set spec.custom of cloudcontrollermanager/cluster")
	c.awaitClusterOperator(t, configv1.OperatorDegraded, configv1.ConditionFalse, "")

	c.createSecret(t, "acme-key", "key", "first")
	c.createSecret(t, "acme-token", "token", "first")
	_, err := c.kube.CoreV1().ConfigMaps(configNamespace).Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "acme"}, Data: map[string]string{"acme.yaml": "zone: north-1\n"},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	require.NoError(t, c.setCustom(t, customCCM))
	require.Equal(t, int32(1), c.awaitRevision(t, 1))
	c.awaitCondition(t, "CloudConfigNotices", operatorv1.ConditionTrue, "cloudcontrollermanager.operator.openshift.io/cluster, key spec.custom: "+
		"the cloud-controller-manager runs as serviceaccount/cloud-controller-manager in openshift-cloud-controller-manager, which has only the "+
		"permissions that all cloud-controller-managers need; bind a role to it if it needs more")
	c.requireCustomCCM(t)
	c.requireNothingSaid(t, "that the administrator runs")
	good := c.delivered(t)

	t.Run("what is reloaded makes no revision", func(t *testing.T) {
		c.editSecret(t, "acme-token", func(s *corev1.Secret) { s.Data["token"] = []byte("second") })
		c.awaitKey(t, "cloud-tokens", "token", "second")
		require.Equal(t, good, c.delivered(t))
		require.Equal(t, int32(1), c.awaitRevision(t, 1))
	})
	for name, tc := range badCustomCCMs {
		t.Run(name, func(t *testing.T) {
			restore := sync.OnceFunc(tc.makeBad(t, c))
			defer restore()
			c.awaitCondition(t, tc.condition, operatorv1.ConditionTrue, tc.message+c.standIn(t, tc.condition))
			require.Equal(t, good, c.delivered(t))
			c.awaitKey(t, "cloud-tokens", "token", "second")
			restore()
			c.awaitCondition(t, tc.condition, operatorv1.ConditionFalse, "")
			require.Equal(t, good, c.delivered(t))
			require.Equal(t, int32(1), c.awaitRevision(t, 1))
		})
	}
	t.Run("what is read once makes a revision", func(t *testing.T) {
		c.editSecret(t, "acme-key", func(s *corev1.Secret) { s.Data["key"] = []byte("second") })
		require.Equal(t, int32(2), c.awaitRevision(t, 2))
		c.awaitKey(t, "cloud-credentials-2", "key", "second")
		c.awaitKey(t, "cloud-credentials-1", "key", "first")
	})
	t.Run("cloud-tokens that cannot be filled hold revisions back, which is reported", func(t *testing.T) {
		secrets := c.kube.CoreV1().Secrets(targetNamespace)
		require.NoError(t, secrets.Delete(t.Context(), "acme-token", metav1.DeleteOptions{}))
		require.NoError(t, secrets.Delete(t.Context(), "cloud-tokens", metav1.DeleteOptions{}))
		c.awaitCondition(t, "RevisionHeldBackDegraded", operatorv1.ConditionTrue, "the accepted configuration is not rolled out: "+
			"secret/cloud-tokens in openshift-cloud-controller-manager does not have token, which the cloud-controller-manager reads; "+
			"check the other Degraded conditions for the cause")
		c.createSecret(t, "acme-token", "token", "second")
		c.awaitKey(t, "cloud-tokens", "token", "second")
		c.awaitCondition(t, "RevisionHeldBackDegraded", operatorv1.ConditionFalse, "")
	})
	t.Run("what is no longer named leaves the nodes", func(t *testing.T) {
		c.createSecret(t, "acme-more", "more", "new")
		require.NoError(t, c.setCustom(t, strings.Replace(customCCM, "{name: acme-token, delivery: Reloaded}", "{name: acme-more, delivery: Reloaded}", 1)))
		c.awaitKey(t, "cloud-tokens", "more", "new")
		c.awaitKey(t, "cloud-tokens", "token", "")
		require.NoError(t, c.setCustom(t, strings.Replace(customCCM, ", {name: acme-token, delivery: Reloaded}", "", 1)))
		c.awaitKey(t, "cloud-tokens", "more", "")
		require.Equal(t, int32(2), c.awaitRevision(t, 2), "nothing that is read once has changed")
	})
	t.Run("and cloud-tokens that are made again hold up nothing", func(t *testing.T) {
		require.NoError(t, c.kube.CoreV1().Secrets(targetNamespace).Delete(t.Context(), "cloud-tokens", metav1.DeleteOptions{}))
		c.patchSpec(t, `{"spec":{"forceRedeploymentReason":"to see whether a revision can be made"}}`)
		require.Equal(t, int32(3), c.awaitRevision(t, 3))
	})
	c.noRequestDenied(t)
}

// badCustomCCMs are invalid changes of the administrator's inputs.
var badCustomCCMs = map[string]badInput{
	"a cloud-controller-manager that is taken away": {
		makeBad:   edited(customCCM, ""),
		condition: "ConfigObservationDegraded",
		message: "spec.custom of cloudcontrollermanager/cluster is gone, but its cloud-controller-manager runs on the control plane: " +
			"to stop it is not supported, restore the former value",
	},
	"another lease": {
		makeBad:   edited("--cloud-provider=acme", "--leader-elect-resource-namespace=kube-system"),
		condition: "ConfigurationDegraded",
		message: customField + "args: --leader-elect-resource-namespace is kube-system, but the operator detects " +
			"the leader by lease/cloud-controller-manager in openshift-cloud-controller-manager; remove the flag or " +
			"use --leader-elect-resource-namespace=openshift-cloud-controller-manager",
	},
	"a file that is not delivered": {
		makeBad:   edited("cloud-credentials/key", "cloud-credentials/kee"),
		condition: "ConfigurationDegraded",
		message: customField + "args[1]: the file " +
			"/etc/kubernetes/static-pod-resources/secrets/cloud-credentials/kee does not exist; its directory has " +
			"key; correct the path",
	},
	"a Secret of the operator's own": {
		makeBad:   edited("{name: acme-key}", "{name: acme-key}, {name: kube-token}"),
		condition: "ConfigurationDegraded",
		message: customField + "secrets[kube-token]: the operator uses this name; put the keys into a Secret with " +
			"another name",
	},
	"a Secret that was never made": {
		makeBad:   edited("{name: acme-key}", "{name: acme-key}, {name: acme-kee}"),
		condition: "CredentialsDegraded",
		message: "secret/acme-kee in openshift-cloud-controller-manager: it does not exist, but spec.custom.secrets of cloudcontrollermanager/cluster " +
			"names it; create it, or remove it from the list",
	},
	"a Secret that is reloaded and gone": {
		makeBad: func(t *testing.T, c *cluster) func() {
			require.NoError(t, c.kube.CoreV1().Secrets(targetNamespace).Delete(t.Context(), "acme-token", metav1.DeleteOptions{}))
			return func() { c.createSecret(t, "acme-token", "token", "second") }
		},
		condition: "CredentialsDegraded",
		message: acmeToken + ": it does not exist, but spec.custom.secrets of cloudcontrollermanager/cluster names " +
			"it; create it, or remove it from the list",
	},
	"a Secret that is reloaded and empty": {
		makeBad: func(t *testing.T, c *cluster) func() {
			return c.editSecret(t, "acme-token", func(s *corev1.Secret) { s.Data = nil })
		},
		condition: "CredentialsDegraded",
		message: acmeToken + ": it has no keys, so no file is delivered; add a key, or remove the Secret from " +
			"spec.custom.secrets of cloudcontrollermanager/cluster",
	},
	"two Secrets with the same key": {
		makeBad: func(t *testing.T, c *cluster) func() {
			c.createSecret(t, "acme-same", "key", "other")
			undo := edited("{name: acme-key}", "{name: acme-key}, {name: acme-same}")(t, c)
			return func() {
				undo()
				require.NoError(t, c.kube.CoreV1().Secrets(targetNamespace).Delete(t.Context(), "acme-same", metav1.DeleteOptions{}))
			}
		},
		condition: "CredentialsDegraded",
		message: "secret/acme-same in openshift-cloud-controller-manager, key key: " + acmeKey +
			" also has this key with the same delivery; rename the key in one of them",
	},
	"a cloud configuration that is not there": {
		makeBad:   edited("name: acme, key", "name: acne, key"),
		condition: "CloudConfigDegraded",
		message: "configmap/acne in openshift-config, key acme.yaml: it does not exist; create it, or correct spec.custom.cloudConfig of " +
			"cloudcontrollermanager/cluster",
	},
}

// edited replaces a string in spec.custom; an empty string removes spec.custom.
func edited(from, to string) func(*testing.T, *cluster) func() {
	return func(t *testing.T, c *cluster) func() {
		changed := ""
		if to != "" {
			require.Contains(t, customCCM, from)
			changed = strings.Replace(customCCM, from, to, 1)
		}
		require.NoError(t, c.setCustom(t, changed))
		return func() { require.NoError(t, c.setCustom(t, customCCM)) }
	}
}

func TestTheAPIServerRejectsInvalidSpecCustom(t *testing.T) {
	t.Parallel()
	c := startCluster(t, configv1.NonePlatformType)
	for name, tc := range map[string]struct{ custom, want string }{
		"a built-in one with arguments": {
			custom: "{platform: DigitalOcean, image: i, args: [--v=9]}",
			want:   "with platform, only image and cloudConfig can be set: the rest is built in",
		},
		"no image": {
			custom: "{command: [/a]}",
			want:   "image is required",
		},
		"a variable from elsewhere": {
			custom: "{image: i, env: [{name: A, valueFrom: {secretKeyRef: {name: a, key: b}}}]}",
			want:   "spec.custom.env[0].value: Required value",
		},
		"the operator's own variable": {
			custom: "{image: i, env: [{name: SSL_CERT_FILE, value: /a}]}",
			want:   "SSL_CERT_FILE is the operator's: add the CA to spec.trustedCA of proxy.config.openshift.io/cluster",
		},
	} {
		t.Run(name, func(t *testing.T) {
			require.ErrorContains(t, c.setCustom(t, tc.custom), tc.want)
		})
	}
}

// waitForSomebody puts the cluster on an External platform whose nodes wait for a cloud-controller-manager.
func (c *cluster) waitForSomebody(t *testing.T) {
	t.Helper()
	infrastructures := c.config.ConfigV1().Infrastructures()
	require.NoError(t, retry.RetryOnConflict(retry.DefaultRetry, func() error {
		infrastructure, err := infrastructures.Get(t.Context(), "cluster", metav1.GetOptions{})
		if err != nil {
			return err
		}
		infrastructure.Status.PlatformStatus = &configv1.PlatformStatus{
			Type: configv1.ExternalPlatformType,
			External: &configv1.ExternalPlatformStatus{
				CloudControllerManager: configv1.CloudControllerManagerStatus{State: configv1.CloudControllerManagerExternal},
			},
		}
		_, err = infrastructures.UpdateStatus(t.Context(), infrastructure, metav1.UpdateOptions{})
		return err
	}))
}

// setCustom sets spec.custom to the YAML; an empty string removes it.
func (c *cluster) setCustom(t *testing.T, custom string) error {
	t.Helper()
	client := c.dynamic.Resource(ccmv1.Resource)
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		resource, err := client.Get(t.Context(), "cluster", metav1.GetOptions{})
		if err != nil {
			return err
		}
		unstructured.RemoveNestedField(resource.Object, "spec", "custom")
		if custom != "" {
			value := map[string]any{}
			require.NoError(t, yaml.Unmarshal([]byte(custom), &value))
			resource.Object["spec"].(map[string]any)["custom"] = value
		}
		_, err = client.Update(t.Context(), resource, metav1.UpdateOptions{})
		return err
	})
}

func (c *cluster) createSecret(t *testing.T, name, key, value string) {
	t.Helper()
	_, err := c.kube.CoreV1().Secrets(targetNamespace).Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string][]byte{key: []byte(value)},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
}

// awaitKey waits until a Secret of the operand's namespace has the value.
func (c *cluster) awaitKey(t *testing.T, secret, key, value string) {
	t.Helper()
	await(t, fmt.Sprintf("key %s of secret/%s", key, secret), func(ctx context.Context) error {
		found, err := c.kube.CoreV1().Secrets(targetNamespace).Get(ctx, secret, metav1.GetOptions{})
		if err == nil && string(found.Data[key]) != value {
			err = fmt.Errorf("it is %q", found.Data[key])
		}
		return err
	})
}

// requireNothingSaid waits until no condition contains the text.
func (c *cluster) requireNothingSaid(t *testing.T, text string) {
	t.Helper()
	await(t, fmt.Sprintf("%q to go", text), func(ctx context.Context) error {
		resource, err := c.resource(ctx)
		if err == nil && strings.Contains(describe(resource.Status.Conditions), text) {
			err = fmt.Errorf("there are\n%s", describe(resource.Status.Conditions))
		}
		return err
	})
}

// requireCustomCCM checks customCCM in the first revision.
func (c *cluster) requireCustomCCM(t *testing.T) {
	t.Helper()
	delivered := c.delivered(t)
	require.Equal(t, map[string][]byte{"key": []byte("first")}, delivered["secret/cloud-credentials"])
	require.Equal(t, map[string][]byte{"cloud.conf": []byte("zone: north-1\n")}, delivered["secret/cloud-config"])
	c.awaitKey(t, "cloud-credentials-1", "key", "first")
	c.awaitKey(t, "cloud-tokens", "token", "first")

	pod := &corev1.Pod{}
	require.NoError(t, yaml.Unmarshal([]byte(delivered["configmap/cloud-controller-manager-pod"].(map[string]string)["pod.yaml"]), pod))
	container := pod.Spec.Containers[0]
	require.Equal(t, "localhost/acme:1", container.Image)
	require.Equal(t, []string{"/bin/acme-ccm"}, container.Command)
	require.Contains(t, container.Args, "--cloud-provider=acme")
	require.Contains(t, container.Args, "--leader-elect-resource-namespace=openshift-cloud-controller-manager")
	require.Contains(t, container.Env, corev1.EnvVar{Name: "ACME_REGION", Value: "north"})
	require.Equal(t, "HTTP", string(container.LivenessProbe.HTTPGet.Scheme))
	require.Equal(t, 9999, container.LivenessProbe.HTTPGet.Port.IntValue())
}
