package integration_test

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	configclient "github.com/openshift/client-go/config/clientset/versioned"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"

	ccmv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
	devcluster "github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster"
)

const (
	operatorNamespace = "openshift-cloud-controller-manager-operator"
	targetNamespace   = "openshift-cloud-controller-manager"
	configNamespace   = "openshift-config"

	// timeout is how long a test waits for an expected state. It is long because the machine may be busy, also with other
	// tests, and costs nothing on success.
	timeout = 5 * time.Minute
)

// cluster is a control plane with the operator's manifests and the installer's objects.
type cluster struct {
	*devcluster.Cluster
	kube    kubernetes.Interface
	config  configclient.Interface
	dynamic dynamic.Interface
}

func startCluster(t *testing.T, platform configv1.PlatformType) *cluster {
	t.Helper()
	started, err := devcluster.Start(t.Context(), devcluster.Options{
		Dir:      filepath.Join(t.TempDir(), "run"),
		Platform: platform,
		Progress: t.Output(),
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, started.Stop(context.WithoutCancel(t.Context()))) })
	c := &cluster{Cluster: started}
	c.kube, err = kubernetes.NewForConfig(started.RESTConfig())
	require.NoError(t, err)
	c.config, err = configclient.NewForConfig(started.RESTConfig())
	require.NoError(t, err)
	c.dynamic, err = dynamic.NewForConfig(started.RESTConfig())
	require.NoError(t, err)
	return c
}

// await repeats check until it returns nil.
func await(t *testing.T, what string, check func(ctx context.Context) error) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, timeout, true, func(ctx context.Context) (bool, error) {
		err := check(ctx)
		if ctx.Err() == nil {
			last = err
		}
		return err == nil, nil
	})
	require.NoErrorf(t, err, "waiting for %s: %v", what, last)
}

func (c *cluster) resource(ctx context.Context) (*ccmv1.CloudControllerManager, error) {
	object, err := c.dynamic.Resource(ccmv1.Resource).Get(ctx, "cluster", metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	resource := &ccmv1.CloudControllerManager{}
	return resource, runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, resource)
}

// awaitRevision waits until the latest revision is at least the given one and returns it.
func (c *cluster) awaitRevision(t *testing.T, revision int32) int32 {
	t.Helper()
	var latest int32
	await(t, fmt.Sprintf("revision %d", revision), func(ctx context.Context) error {
		resource, err := c.resource(ctx)
		if err != nil {
			return err
		}
		if latest = resource.Status.LatestAvailableRevision; latest < revision {
			return fmt.Errorf("the latest is %d, conditions:\n%s", latest, describe(resource.Status.Conditions))
		}
		return nil
	})
	return latest
}

// acceptance is how the condition of a rejected input ends: the command has a digest of the input.
var acceptance = regexp.MustCompile(`; to (let a preflight judge it|use it although nothing proves it), run: ` +
	`oc annotate --overwrite cloudcontrollermanager cluster cloudcontrollermanager\.operator\.openshift\.io/` +
	`accepted-preflight=[0-9a-f]+(-unproved)?$`)

// awaitCondition waits until the condition has the status and, unless message is empty, the message, with or without
// the command that accepts a rejected input.
func (c *cluster) awaitCondition(t *testing.T, conditionType string, status operatorv1.ConditionStatus, message string) {
	t.Helper()
	await(t, fmt.Sprintf("%s=%s", conditionType, status), func(ctx context.Context) error {
		resource, err := c.resource(ctx)
		if err != nil {
			return err
		}
		for _, condition := range resource.Status.Conditions {
			is := message == "" || acceptance.ReplaceAllString(condition.Message, "") == message
			if condition.Type == conditionType && condition.Status == status && is {
				return nil
			}
		}
		return fmt.Errorf("want message %q, have\n%s", message, describe(resource.Status.Conditions))
	})
}

// awaitClusterOperator waits until the ClusterOperator's condition has the status and a message that contains text.
func (c *cluster) awaitClusterOperator(t *testing.T, conditionType configv1.ClusterStatusConditionType, status configv1.ConditionStatus, text string) {
	t.Helper()
	await(t, fmt.Sprintf("ClusterOperator %s=%s", conditionType, status), func(ctx context.Context) error {
		operator, err := c.config.ConfigV1().ClusterOperators().Get(ctx, "cloud-controller-manager", metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, condition := range operator.Status.Conditions {
			if condition.Type == conditionType && condition.Status == status && strings.Contains(condition.Message, text) {
				return nil
			}
		}
		return fmt.Errorf("it has %+v", operator.Status.Conditions)
	})
}

func describe(conditions []operatorv1.OperatorCondition) string {
	var b strings.Builder
	for _, condition := range conditions {
		fmt.Fprintf(&b, "  %s=%s %s: %s\n", condition.Type, condition.Status, condition.Reason, condition.Message)
	}
	return b.String()
}

// editConfigMap changes a ConfigMap and returns a function that reverts the change.
func (c *cluster) editConfigMap(t *testing.T, namespace, name string, edit func(*corev1.ConfigMap)) (restore func()) {
	t.Helper()
	client := c.kube.CoreV1().ConfigMaps(namespace)
	before, err := client.Get(t.Context(), name, metav1.GetOptions{})
	require.NoError(t, err)
	set := func(from *corev1.ConfigMap) {
		require.NoError(t, retry.RetryOnConflict(retry.DefaultRetry, func() error {
			current, err := client.Get(t.Context(), name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			current.Data, current.BinaryData = from.Data, from.BinaryData
			_, err = client.Update(t.Context(), current, metav1.UpdateOptions{})
			return err
		}))
	}
	edited := before.DeepCopy()
	edit(edited)
	set(edited)
	return func() { set(before) }
}

// editSecret changes a Secret and returns a function that reverts the change.
func (c *cluster) editSecret(t *testing.T, name string, edit func(*corev1.Secret)) (restore func()) {
	t.Helper()
	client := c.kube.CoreV1().Secrets(targetNamespace)
	before, err := client.Get(t.Context(), name, metav1.GetOptions{})
	require.NoError(t, err)
	set := func(from *corev1.Secret) {
		require.NoError(t, retry.RetryOnConflict(retry.DefaultRetry, func() error {
			current, err := client.Get(t.Context(), name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			current.Data = from.Data
			_, err = client.Update(t.Context(), current, metav1.UpdateOptions{})
			return err
		}))
	}
	edited := before.DeepCopy()
	edit(edited)
	set(edited)
	return func() { set(before) }
}
