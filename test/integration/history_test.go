package integration_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	ccmv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
)

// history has all values of the conditions of cloudcontrollermanager/cluster. A watch delivers even short-lived ones.
type history struct {
	mutex sync.Mutex
	// degraded are the conditions that were Degraded, as "<type>: <message>", without duplicates.
	degraded []string
	// nodes are the node statuses after each change.
	nodes []operatorv1.NodeStatus
}

// recordHistory records from now on until the test ends. library-go's installer controller degrades before the first
// revision; its report of that may be late.
func (c *cluster) recordHistory(t *testing.T) *history {
	t.Helper()
	c.awaitCondition(t, "InstallerControllerDegraded", operatorv1.ConditionFalse, "")
	client := c.dynamic.Resource(ccmv1.Resource)
	list, err := client.List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	watcher, err := client.Watch(t.Context(), metav1.ListOptions{ResourceVersion: list.GetResourceVersion()})
	require.NoError(t, err)
	t.Cleanup(watcher.Stop)
	h := &history{}
	for i := range list.Items {
		h.record(t, &list.Items[i])
	}
	go func() {
		for event := range watcher.ResultChan() {
			if object, is := event.Object.(*unstructured.Unstructured); is && event.Type != watch.Deleted {
				h.record(t, object)
			}
		}
	}()
	return h
}

func (h *history) record(t *testing.T, object *unstructured.Unstructured) {
	t.Helper()
	resource := &ccmv1.CloudControllerManager{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, resource); err != nil {
		t.Errorf("reading what was watched: %v", err)
		return
	}
	h.mutex.Lock()
	defer h.mutex.Unlock()
	for _, condition := range resource.Status.Conditions {
		if condition.Status != operatorv1.ConditionTrue || !strings.HasSuffix(condition.Type, "Degraded") {
			continue
		}
		// That is true on a busy machine: the operator sees as much of its API server as a test does.
		if strings.Contains(condition.Message, "the API server has not answered for ") {
			continue
		}
		if text := condition.Type + ": " + condition.Message; !slices.Contains(h.degraded, text) {
			h.degraded = append(h.degraded, text)
		}
	}
	h.nodes = append(h.nodes, resource.Status.NodeStatuses...)
}

// degradations returns the conditions that were Degraded at any time.
func (h *history) degradations() []string {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return slices.Clone(h.degraded)
}

func TestNothingFlashesThatAnotherControllerIsAboutToRepair(t *testing.T) {
	t.Parallel()
	c := startCluster(t, configv1.OpenStackPlatformType)
	c.startOperator(t)
	c.awaitRevision(t, 1)
	c.awaitNothingDegraded(t)
	recorded := c.recordHistory(t)

	for name, change := range map[string]func(t *testing.T){
		"a trusted CA that the Proxy names newly": func(t *testing.T) {
			c.createConfigMap(t, "new-ca", map[string]string{"ca-bundle.crt": c.serverCA(t)})
			c.patchConfig(t, "proxies", `{"spec":{"trustedCA":{"name":"new-ca"}}}`)
		},
		"a new key of the cloud configuration": func(t *testing.T) {
			before, err := c.kube.CoreV1().ConfigMaps(configNamespace).Get(t.Context(), "cloud-provider-config", metav1.GetOptions{})
			require.NoError(t, err)
			data := map[string]string{"other": useOtherSetting(before.Data["config"]), "ca-bundle.pem": before.Data["ca-bundle.pem"]}
			c.createConfigMap(t, "other-config", data)
			c.patchConfig(t, "infrastructures", `{"spec":{"cloudConfig":{"name":"other-config","key":"other"}}}`)
		},
		"credentials that are deleted and created again": func(t *testing.T) { c.replaceCredentials(t) },
		"the token of the file-syncer": func(t *testing.T) {
			require.NoError(t, c.kube.CoreV1().Secrets(targetNamespace).Delete(t.Context(), "file-syncer-identity", metav1.DeleteOptions{}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			resource, err := c.resource(t.Context())
			require.NoError(t, err)
			change(t)
			c.awaitRevision(t, resource.Status.LatestAvailableRevision+1)
		})
	}
	c.awaitNothingDegraded(t)
	require.Empty(t, recorded.degradations())
}

func TestTheNamespaceThatIsBeingDeletedIsBlamed(t *testing.T) {
	t.Parallel()
	c := startCluster(t, configv1.OpenStackPlatformType)
	c.startOperator(t)
	c.awaitRevision(t, 1)
	c.awaitNothingDegraded(t)
	recorded := c.recordHistory(t)

	// A finalizer of another component delays the namespace's deletion.
	c.createSecret(t, "finalized", "key", "value")
	_, err := c.kube.CoreV1().Secrets(targetNamespace).Patch(t.Context(), "finalized", types.MergePatchType,
		[]byte(`{"metadata":{"finalizers":["example.com/held"]}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	require.NoError(t, c.kube.CoreV1().Namespaces().Delete(t.Context(), targetNamespace, metav1.DeleteOptions{}))

	c.awaitCondition(t, "ConfigurationDegraded", operatorv1.ConditionTrue, "namespace/openshift-cloud-controller-manager: it is being deleted, so no "+
		"configuration can be rolled out; read its status for what delays the deletion; the cluster-version-operator creates it again afterwards")
	await(t, "the objects in the namespace to go", func(ctx context.Context) error {
		left, err := c.kube.CoreV1().ConfigMaps(targetNamespace).List(ctx, metav1.ListOptions{})
		if err == nil && len(left.Items) > 0 {
			err = fmt.Errorf("%d configmaps are left", len(left.Items))
		}
		return err
	})
	_, err = c.kube.CoreV1().Secrets(targetNamespace).Patch(t.Context(), "finalized", types.MergePatchType,
		[]byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	c.awaitCondition(t, "ConfigurationDegraded", operatorv1.ConditionTrue, "namespace/openshift-cloud-controller-manager: it does not exist, so no "+
		"configuration can be rolled out; check that the cluster-version-operator, which creates it, is running")
	for _, degraded := range recorded.degradations() {
		for _, blameless := range []string{"CloudConfigDegraded", "CredentialsDegraded", "TrustedCADegraded"} {
			require.NotContains(t, degraded, blameless)
		}
	}
}

func TestNothingFlashesFromAnObservedConfigurationThatIsWrittenByHand(t *testing.T) {
	t.Parallel()
	c := startCluster(t, configv1.OpenStackPlatformType)
	c.startOperator(t)
	c.awaitRevision(t, 1)
	c.awaitNothingDegraded(t)
	recorded := c.recordHistory(t)
	before, err := c.resource(t.Context())
	require.NoError(t, err)

	for range 10 {
		c.patchSpec(t, `{"spec":{"observedConfig":{"extendedArguments":{"v":["9"]}}}}`)
		await(t, "the observed configuration to be corrected", func(ctx context.Context) error {
			resource, err := c.resource(ctx)
			if err == nil && !bytes.Equal(resource.Spec.ObservedConfig.Raw, before.Spec.ObservedConfig.Raw) {
				err = fmt.Errorf("it is %s", resource.Spec.ObservedConfig.Raw)
			}
			return err
		})
	}
	c.patchSpec(t, `{"spec":{"forceRedeploymentReason":"what is accepted becomes a revision"}}`)
	require.Equal(t, int32(2), c.awaitRevision(t, 2), "the candidate of a moment became a revision")
	require.Empty(t, recorded.degradations())
}

func TestNothingFlashesWhenTheResourceIsCreatedAgain(t *testing.T) {
	t.Parallel()
	c := startCluster(t, configv1.OpenStackPlatformType)
	c.startOperator(t)
	c.awaitRevision(t, 1)
	c.awaitNothingDegraded(t)
	recorded := c.recordHistory(t)
	client := c.dynamic.Resource(ccmv1.Resource)
	for range 3 {
		before, err := client.Get(t.Context(), "cluster", metav1.GetOptions{})
		require.NoError(t, err)
		require.NoError(t, client.Delete(t.Context(), "cluster", metav1.DeleteOptions{}))
		_, err = client.Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": before.GetAPIVersion(), "kind": before.GetKind(),
			"metadata": map[string]any{"name": "cluster"}, "spec": map[string]any{"managementState": "Managed"},
		}}, metav1.CreateOptions{})
		require.NoError(t, err)
		c.awaitRevision(t, 1)
		c.awaitNothingDegraded(t)
	}
	require.Empty(t, recorded.degradations())
}

// awaitNothingDegraded waits until no condition of cloudcontrollermanager/cluster is Degraded.
func (c *cluster) awaitNothingDegraded(t *testing.T) {
	t.Helper()
	await(t, "no condition to be Degraded", func(ctx context.Context) error {
		resource, err := c.resource(ctx)
		if err != nil {
			return err
		}
		for _, condition := range resource.Status.Conditions {
			if condition.Status == operatorv1.ConditionTrue && strings.HasSuffix(condition.Type, "Degraded") {
				return fmt.Errorf("%s: %s", condition.Type, condition.Message)
			}
		}
		return nil
	})
}

// patchConfig changes the object named cluster of a resource of config.openshift.io.
func (c *cluster) patchConfig(t *testing.T, resource, patch string) {
	t.Helper()
	_, err := c.dynamic.Resource(configv1.GroupVersion.WithResource(resource)).
		Patch(t.Context(), "cluster", types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	require.NoError(t, err)
}

func (c *cluster) createConfigMap(t *testing.T, name string, data map[string]string) {
	t.Helper()
	_, err := c.kube.CoreV1().ConfigMaps(configNamespace).Create(t.Context(),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: data}, metav1.CreateOptions{})
	require.NoError(t, err)
}

// replaceCredentials deletes the credentials and recreates them with other bytes and the same meaning.
func (c *cluster) replaceCredentials(t *testing.T) {
	t.Helper()
	client := c.kube.CoreV1().Secrets(targetNamespace)
	before, err := client.Get(t.Context(), "openstack-cloud-credentials", metav1.GetOptions{})
	require.NoError(t, err)
	require.NoError(t, client.Delete(t.Context(), before.Name, metav1.DeleteOptions{}))
	c.createSecret(t, before.Name, "clouds.yaml", string(before.Data["clouds.yaml"])+"\n")
}

func (c *cluster) serverCA(t *testing.T) string {
	t.Helper()
	bundle, err := os.ReadFile(c.ServerCAFile())
	require.NoError(t, err)
	return string(bundle)
}
