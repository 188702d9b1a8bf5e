package integration_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/openstack"
)

// canary is the prefix of every secret in a cluster's inputs.
const canary = "CANARY"

// secretValue matches secrets in the credentials of the examples and of the stand-ins. A private key must stay one.
var secretValue = regexp.MustCompile(`correct-horse|(password: )\S+|("private_key_id": ?")[^"]+`)

// TestASecretReachesOnlySecrets puts a canary into every input, changes each input, and makes each invalid. It then
// searches everything that is readable without rights to Secrets, and the operator's log at the verbosity of
// TraceAll.
func TestASecretReachesOnlySecrets(t *testing.T) {
	t.Parallel()
	var images []string
	for _, name := range []string{
		"AWS", "AZURE", "AZURE_NODE_MANAGER", "GCP", "IBM", "NUTANIX", "OPENSTACK", "POWERVS", "VSPHERE",
	} {
		images = append(images, name+"_IMAGE=localhost/"+strings.ToLower(name)+":new")
	}
	for _, p := range platform.All() {
		if !p.Managed() {
			continue
		}
		t.Run(p.Name, func(t *testing.T) {
			c := startCluster(t, configv1.PlatformType(p.Name))
			c.plant(t, "first")
			c.setProxy(t, "first")
			o := c.startOperatorAt(t, 8, images...)
			first := c.awaitRevision(t, 1)

			c.plant(t, "second")
			c.setProxy(t, "second")
			c.awaitRevision(t, first+1)

			// On platforms whose credentials may be any text, the spoiled ones make a revision.
			c.spoil(t)
			c.awaitCondition(t, c.spoiledCondition(), operatorv1.ConditionTrue, "")
			c.requireNoCanary(t, o)
		})
	}
}

// credentialSecrets are the platform's credentials Secrets in the operand's namespace.
func (c *cluster) credentialSecrets() []string {
	if name := c.platform().Credentials.Secret; name != "" {
		return []string{name}
	}
	return []string{openstack.ExternalCredentials}
}

func (c *cluster) platform() platform.Platform {
	found, _ := platform.ByName(strings.ToLower(string(c.Platform())))
	return found
}

// plant puts canaries with a suffix into the credentials, a comment of the cloud configuration, and the text around
// the certificates of both CA bundles.
func (c *cluster) plant(t *testing.T, suffix string) {
	t.Helper()
	for _, name := range c.credentialSecrets() {
		c.editSecret(t, name, func(s *corev1.Secret) {
			planted := 0
			for key, value := range s.Data {
				s.Data[key] = secretValue.ReplaceAll(value, []byte("${1}${2}"+canary+"-credentials-"+suffix))
				s.Data[key] = bytes.ReplaceAll(
					s.Data[key],
					[]byte(canary+"-credentials-first"),
					[]byte(canary+"-credentials-"+suffix),
				)
				planted += bytes.Count(s.Data[key], []byte(canary))
			}
			require.NotZero(t, planted, "secret/%s holds no secret", name)
		})
	}
	beside := fmt.Sprintf("of https://user:%s-bundle-%s@example.com\n", canary, suffix)
	c.editCloudConfigs(t, func(key, text string) string {
		switch {
		case key == "ca-bundle.pem":
			return beside + text
		case strings.HasPrefix(text, "{"):
			return text + " "
		}
		return text + fmt.Sprintf("\n# password = %s-config-%s\n", canary, suffix)
	})
	bundle := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "user-ca-bundle"},
		Data:       map[string]string{"ca-bundle.crt": beside + c.certificate(t)},
	}
	c.applyConfigMap(t, bundle)
}

// spoil makes every input invalid, with a canary in the invalid part.
func (c *cluster) spoil(t *testing.T) {
	t.Helper()
	for _, name := range c.credentialSecrets() {
		c.editSecret(t, name, func(s *corev1.Secret) {
			for key := range s.Data {
				s.Data[key] = []byte("[{\"'" + canary + "-spoiled\n: \x01")
			}
		})
	}
	c.editCloudConfigs(t, func(key, _ string) string {
		if key == "ca-bundle.pem" {
			return "-----BEGIN CERTIFICATE-----\n" + canary + "-spoiled\n-----END CERTIFICATE-----\n"
		}
		return "[Global\npassword = " + canary + "-spoiled {"
	})
	c.applyConfigMap(t, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Name: "user-ca-bundle",
		},
		Data: map[string]string{"ca-bundle.crt": "-----BEGIN CERTIFICATE-----\n" + canary + "-spoiled\n"},
	})
}

// spoiledCondition returns the condition that shows that the operator read the invalid input. An External cluster's
// cloud configuration has no format, and DigitalOcean has none.
func (c *cluster) spoiledCondition() string {
	switch c.platform().Name {
	case "digitalocean", "external":
		return "TrustedCADegraded"
	}
	return "CloudConfigDegraded"
}

// editCloudConfigs edits each key of every ConfigMap in openshift-config except for the trusted CA.
func (c *cluster) editCloudConfigs(t *testing.T, edit func(key, text string) string) {
	t.Helper()
	all, err := c.kube.CoreV1().ConfigMaps(configNamespace).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	for _, object := range all.Items {
		if object.Name == "user-ca-bundle" || object.Name == "kube-root-ca.crt" {
			continue
		}
		c.editConfigMap(t, configNamespace, object.Name, func(m *corev1.ConfigMap) {
			for key, text := range m.Data {
				m.Data[key] = edit(key, text)
			}
		})
	}
}

func (c *cluster) applyConfigMap(t *testing.T, object *corev1.ConfigMap) {
	t.Helper()
	client := c.kube.CoreV1().ConfigMaps(configNamespace)
	_, err := client.Create(t.Context(), object, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		_, err = client.Update(t.Context(), object, metav1.UpdateOptions{})
	}
	require.NoError(t, err)
}

// certificate returns any CA certificate.
func (c *cluster) certificate(t *testing.T) string {
	t.Helper()
	content, err := os.ReadFile(c.ServerCAFile())
	require.NoError(t, err)
	return string(content)
}

func (c *cluster) setProxy(t *testing.T, suffix string) {
	t.Helper()
	proxies := c.config.ConfigV1().Proxies()
	url := fmt.Sprintf("http://user:%s-proxy-%s@proxy.example.com:3128", canary, suffix)
	require.NoError(t, retry.RetryOnConflict(retry.DefaultRetry, func() error {
		proxy, err := proxies.Get(t.Context(), "cluster", metav1.GetOptions{})
		if err != nil {
			return err
		}
		proxy.Spec = configv1.ProxySpec{
			HTTPProxy:  url,
			HTTPSProxy: url,
			TrustedCA:  configv1.ConfigMapNameReference{Name: "user-ca-bundle"},
		}
		if proxy, err = proxies.Update(t.Context(), proxy, metav1.UpdateOptions{}); err != nil {
			return err
		}
		proxy.Status = configv1.ProxyStatus{HTTPProxy: url, HTTPSProxy: url, NoProxy: ".cluster.local"}
		_, err = proxies.UpdateStatus(t.Context(), proxy, metav1.UpdateOptions{})
		return err
	}))
}

// requireNoCanary searches the log, the operator's files, and every object that is not a Secret.
func (c *cluster) requireNoCanary(t *testing.T, o *operator) {
	t.Helper()
	for line := range strings.Lines(o.log.String()) {
		require.NotContains(t, line, canary, "the operator's log")
	}
	require.Contains(t, o.log.String(), `"Response Body" body="(content is not logged)"`, "the log is that of verbosity 8")
	require.NoError(t, filepath.WalkDir(o.dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err != nil || info.Mode().Perm()&0o077 == 0 {
			return err
		}
		content, err := os.ReadFile(path)
		require.NotContains(t, string(content), canary, "%s has mode %s", path, info.Mode())
		return err
	}))
	for place, object := range c.visible(t) {
		content, err := json.Marshal(object)
		require.NoError(t, err)
		text := string(content)
		if proxyPlaces(place) {
			// The CCM's environment has the proxy with its password, like that of every operator of the cluster.
			text = regexp.MustCompile(`http://user:`+canary+`-proxy-\w+@proxy\.example\.com:3128`).ReplaceAllString(text, "")
		}
		require.NotContains(t, text, canary, place)
	}
}

// proxyPlaces reports whether a path is in the CCM's or the node manager's environment.
func proxyPlaces(place string) bool {
	return strings.HasPrefix(place, "configmap/cloud-controller-manager-pod") || strings.HasPrefix(place, "daemonset/")
}

// visible returns everything that is readable without the right to read Secrets, except for the inputs, because the
// user's are ConfigMaps.
func (c *cluster) visible(t *testing.T) map[string]any {
	t.Helper()
	ctx := t.Context()
	visible := map[string]any{}
	events, err := c.kube.CoreV1().Events("").List(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	require.NotEmpty(t, events.Items)
	for _, event := range events.Items {
		visible["event/"+event.Namespace+"/"+event.Name+" "+event.Reason] = event
	}
	pods, err := c.kube.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	for _, pod := range pods.Items {
		visible["pod/"+pod.Name] = pod
	}
	daemonSets, err := c.kube.AppsV1().DaemonSets("").List(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	for _, daemonSet := range daemonSets.Items {
		visible["daemonset/"+daemonSet.Name] = daemonSet
	}
	for _, namespace := range []string{targetNamespace, operatorNamespace} {
		configMaps, err := c.kube.CoreV1().ConfigMaps(namespace).List(ctx, metav1.ListOptions{})
		require.NoError(t, err)
		for _, configMap := range configMaps.Items {
			visible["configmap/"+configMap.Name] = configMap
		}
		secrets, err := c.kube.CoreV1().Secrets(namespace).List(ctx, metav1.ListOptions{})
		require.NoError(t, err)
		for _, secret := range secrets.Items {
			visible["metadata of secret/"+secret.Name] = secret.ObjectMeta
		}
	}
	resource, err := c.resource(ctx)
	require.NoError(t, err)
	visible["status of cloudcontrollermanager/cluster"] = resource.Status
	operator, err := c.config.ConfigV1().ClusterOperators().Get(ctx, "cloud-controller-manager", metav1.GetOptions{})
	require.NoError(t, err)
	visible["clusteroperator/cloud-controller-manager"] = operator
	return visible
}
