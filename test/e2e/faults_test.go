package e2e

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/e2e/internal/monitor"
)

// visibleLimit is how long a fault may last before a condition of the operator's resource names it.
const visibleLimit = time.Minute

// awaitCondition waits until a condition of the operator's resource has the status and its message the words.
func (s *suite) awaitCondition(t *testing.T, conditionType string, status operatorv1.ConditionStatus, limit time.Duration, words ...string) {
	t.Helper()
	s.await(t, fmt.Sprintf("condition %s=%s", conditionType, status), limit, func(ctx context.Context) error {
		resource, err := s.resource(ctx)
		if err != nil {
			return err
		}
		for _, c := range resource.Status.Conditions {
			if c.Type == conditionType && c.Status == status {
				return contains(c.Message, words...)
			}
		}
		return fmt.Errorf("it is not %s", status)
	})
}

// setCredentials writes the user's credentials.
func (s *suite) setCredentials(t *testing.T, cloudsYAML []byte) {
	t.Helper()
	s.setSecret(t, "openstack-cloud-credentials", map[string][]byte{"clouds.yaml": cloudsYAML})
}

// setSecret replaces the data of a Secret that the cloud-credential-operator delivers.
func (s *suite) setSecret(t *testing.T, name string, data map[string][]byte) {
	t.Helper()
	client := s.kube.CoreV1().Secrets(targetNamespace)
	require.NoError(t, retry.RetryOnConflict(retry.DefaultRetry, func() error {
		secret, err := client.Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		secret.Data = data
		_, err = client.Update(t.Context(), secret, metav1.UpdateOptions{})
		return err
	}))
}

// setOperandImage gives the operator another image of the cloud-controller-manager, as an upgrade does.
func (s *suite) setOperandImage(t *testing.T, image string) {
	t.Helper()
	s.patchDeployment(t, types.StrategicMergePatchType, fmt.Sprintf(
		`{"spec":{"template":{"spec":{"containers":[{"name":%q,"env":[{"name":%q,"value":%q}]}]}}}}`,
		operatorName, platform.ImageEnv(s.OperandTag()), image))
}

// testMissingImage upgrades to an image that no node can pull. No static pod ends for it.
func (s *suite) testMissingImage(t *testing.T) {
	leader, before, containers := s.requireOneLeader(t), s.revision(t), s.operands.containers()
	pod, err := s.kube.CoreV1().Pods(targetNamespace).Get(t.Context(), "cloud-controller-manager-"+leader, metav1.GetOptions{})
	require.NoError(t, err)
	present := pod.Spec.Containers[0].Image
	const missing = "localhost/devcluster/missing:1"
	s.monitor.Expect(monitor.Degraded("ImageDegraded", "an image that does not exist"))
	s.setOperandImage(t, missing)
	began := time.Now()
	// Half of the time is that of the operator's own restart.
	s.awaitCondition(t, "ImageDegraded", operatorv1.ConditionTrue, 2*visibleLimit, missing, "the former image stays in use")
	s.figure("image that does not exist to ImageDegraded, the operator's restart included: %s", rounded(began))
	require.Equal(t, containers, s.operands.containers(), "no container was restarted")
	require.Equal(t, leader, s.requireOneLeader(t))

	s.setOperandImage(t, present)
	s.awaitCondition(t, "ImageDegraded", operatorv1.ConditionFalse, 2*visibleLimit)
	require.Equal(t, before, s.awaitSettled(t, before, rolloutLimit), "no new revision")
}

// setImmutable sets or clears the attribute that chattr calls i.
func setImmutable(t *testing.T, directory string, immutable bool) {
	t.Helper()
	const attribute = 0x10 // FS_IMMUTABLE_FL of linux/fs.h
	f, err := os.Open(directory)
	require.NoError(t, err)
	defer f.Close()
	flags, err := unix.IoctlGetInt(int(f.Fd()), unix.FS_IOC_GETFLAGS)
	require.NoError(t, err)
	flags &^= attribute
	if immutable {
		flags |= attribute
	}
	require.NoError(t, unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, flags))
}
