package integration_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// The completed installer pod of the former machine exists until the pod garbage collector deletes it, which it does
// not if the name is back soon.
func TestAMachineThatIsReplacedUnderItsNameIsInstalled(t *testing.T) {
	t.Parallel()
	c := startCluster(t, configv1.OpenStackPlatformType)
	c.startOperator(t)
	for _, node := range masters {
		c.register(t, node)
	}
	revision := c.install(t, time.Now().Add(-2*time.Minute))
	name := fmt.Sprintf("installer-%d-%s", revision, masters[1])
	former := c.podUID(t, name)
	// A Node's creation has seconds.
	await(t, "the next second", func(ctx context.Context) error {
		pod, err := c.kube.CoreV1().Pods(targetNamespace).Get(ctx, name, metav1.GetOptions{})
		if err == nil && time.Since(pod.CreationTimestamp.Time) < 2*time.Second {
			err = fmt.Errorf("it was created at %s", pod.CreationTimestamp)
		}
		return err
	})

	require.NoError(t, c.kube.CoreV1().Nodes().Delete(t.Context(), masters[1], metav1.DeleteOptions{}))
	require.NoError(t, c.kube.CoreV1().Pods(targetNamespace).Delete(t.Context(), ccmName+"-"+masters[1],
		metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)}))
	c.createMaster(t, masters[1])
	await(t, "another installer pod", func(ctx context.Context) error {
		pod, err := c.kube.CoreV1().Pods(targetNamespace).Get(ctx, name, metav1.GetOptions{})
		if err == nil && pod.UID == former {
			err = fmt.Errorf("it is the former one, %s", pod.Status.Phase)
		}
		return err
	})
	require.Equal(t, revision, c.install(t, time.Now()))
}

func (c *cluster) podUID(t *testing.T, name string) types.UID {
	t.Helper()
	pod, err := c.kube.CoreV1().Pods(targetNamespace).Get(t.Context(), name, metav1.GetOptions{})
	require.NoError(t, err)
	return pod.UID
}

func TestAStaticPodOnANodeThatLostItsRoleIsReported(t *testing.T) {
	t.Parallel()
	c := startCluster(t, configv1.OpenStackPlatformType)
	c.startOperator(t)
	for _, node := range masters {
		c.register(t, node)
	}
	c.install(t, time.Now().Add(-2*time.Minute))
	label := func(value string) {
		patch := `{"metadata": {"labels": {"node-role.kubernetes.io/master": ` + value + `}}}`
		_, err := c.kube.CoreV1().Nodes().Patch(t.Context(), masters[2], types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		require.NoError(t, err)
	}
	c.editConfigMap(t, targetNamespace, "node-files", func(reports *corev1.ConfigMap) {
		reports.Data = map[string]string{masters[2]: "a report"} // It is none, so nothing is repaired.
	})
	label("null")
	c.awaitCondition(t, "ControlPlaneNodesDegraded", operatorv1.ConditionTrue, "node/master-2 lost the label node-role.kubernetes.io/master "+
		"while the static pod cloud-controller-manager ran there, which still runs and may lead; set the label again, or delete "+
		"/etc/kubernetes/manifests/cloud-controller-manager-pod.yaml there")
	label(`""`)
	c.awaitCondition(t, "ControlPlaneNodesDegraded", operatorv1.ConditionFalse, "")
	c.install(t, time.Now())
}

// The operator's caches, and the versions of what it wrote last, are of another history then.
func TestTheOperatorGoesOnAfterARestoreOfEtcd(t *testing.T) {
	t.Parallel()
	c := startCluster(t, configv1.OpenStackPlatformType)
	c.startOperator(t)
	c.awaitRevision(t, 1)
	snapshot := filepath.Join(t.TempDir(), "etcd.db")
	require.NoError(t, c.SaveEtcd(t.Context(), snapshot))
	change := func(line string) {
		c.editConfigMap(t, configNamespace, "cloud-provider-config", func(object *corev1.ConfigMap) {
			object.Data["config"] += line + "\n"
		})
	}
	change("max-shared-lb = 3")
	c.awaitRevision(t, 2)
	change("internal-lb = true")
	c.awaitRevision(t, 3)

	require.NoError(t, c.RestoreEtcd(t.Context(), snapshot))
	change("max-shared-lb = 4")
	// It may have created another revision of what was restored, because it found the objects of revision 3 missing.
	await(t, "a revision with the change", func(ctx context.Context) error {
		resource, err := c.resource(ctx)
		if err != nil {
			return err
		}
		name := fmt.Sprintf("cloud-config-%d", resource.Status.LatestAvailableRevision)
		secret, err := c.kube.CoreV1().Secrets(targetNamespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		text := strings.Join(strings.Fields(strings.ReplaceAll(string(secret.Data["cloud.conf"]), `"`, "")), " ")
		if !strings.Contains(text, "max-shared-lb = 4") || strings.Contains(text, "internal-lb") {
			return fmt.Errorf("%s has %s", name, text)
		}
		return nil
	})
	c.awaitNothingDegraded(t)
}

// library-go's revision controller tries to decrease the latest revision, which the API server rejects.
func TestALatestRevisionThatWasLostIsFollowedByTheNext(t *testing.T) {
	t.Parallel()
	c := startCluster(t, configv1.OpenStackPlatformType)
	operator := c.startOperator(t)
	c.awaitRevision(t, 1)
	c.editConfigMap(t, configNamespace, "cloud-provider-config", func(object *corev1.ConfigMap) {
		object.Data["config"] += "max-shared-lb = 3\n"
	})
	c.awaitRevision(t, 2)
	operator.kill(t)
	c.releaseElection(t)
	// It owns the revision's objects.
	require.NoError(t, c.kube.CoreV1().ConfigMaps(targetNamespace).Delete(t.Context(), "revision-status-2", metav1.DeleteOptions{}))
	c.startOperator(t)
	require.Equal(t, int32(3), c.awaitRevision(t, 3))
	require.Contains(t, c.deliveredCloudConfig(t, "cloud-config-3"), "max-shared-lb")
	c.awaitNothingDegraded(t)
}
