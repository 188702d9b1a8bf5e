package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/openstack"
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

// testClosedPort gives the processes credentials for a port at which nothing listens, so they end at their start. The
// rollout stops at the first node, which does not lead.
func (s *suite) testClosedPort(t *testing.T) {
	leader, before := s.requireOneLeader(t), s.revision(t)
	good := s.Cloud().CloudsYAML()
	closed := regexp.MustCompile(`(https://[0-9.]+):\d+/`).ReplaceAll(good, []byte("${1}:1/"))
	require.NotEqual(t, good, closed)
	s.monitor.Expect(monitor.Rollout("credentials for a closed port"),
		monitor.Degraded("", "a process cannot start"))
	s.operands.sample()
	s.setCredentials(t, closed)
	began := time.Now()
	s.awaitCondition(t, "StaticPodsDegraded", operatorv1.ConditionTrue, visibleLimit, "connection refused")
	s.figure("credentials for a closed port to StaticPodsDegraded: %s", rounded(began))
	require.Equal(t, before+1, s.revision(t))
	require.Equal(t, 1, s.operands.reached(before+1), "the rollout stops at the first node")
	holder, _, err := s.leader(t.Context())
	require.NoError(t, err)
	require.Equal(t, leader, holder)

	s.expectRollout("the credentials are corrected")
	s.setCredentials(t, good)
	began = time.Now()
	require.Equal(t, before+2, s.awaitSettled(t, before+2, rolloutLimit))
	s.figure("credentials corrected to clean: %s", rounded(began))
	fewest, history := s.operands.fewest()
	require.GreaterOrEqual(t, fewest, 2, history)
	s.awaitCondition(t, "StaticPodsDegraded", operatorv1.ConditionFalse, visibleLimit)
}

// setOperandImage gives the operator another image of the cloud-controller-manager, as an upgrade does.
func (s *suite) setOperandImage(t *testing.T, image string) {
	t.Helper()
	s.patchDeployment(t, types.StrategicMergePatchType, fmt.Sprintf(
		`{"spec":{"template":{"spec":{"containers":[{"name":%q,"env":[{"name":"OPENSTACK_IMAGE","value":%q}]}]}}}}`,
		operatorName, image))
}

// testMissingImage upgrades to an image that no node can pull. No static pod ends for it.
func (s *suite) testMissingImage(t *testing.T) {
	leader, before, containers := s.requireOneLeader(t), s.revision(t), s.operands.containers()
	pod, err := s.kube.CoreV1().Pods(targetNamespace).Get(t.Context(), "cloud-controller-manager-"+leader, metav1.GetOptions{})
	require.NoError(t, err)
	present := pod.Spec.Containers[0].Image
	const missing = "localhost/devcluster/missing:1"
	s.monitor.Expect(monitor.Rollout("an image that does not exist"), monitor.Degraded("pull-cloud-controller-manager", "an image that does not exist"))
	s.setOperandImage(t, missing)
	began := time.Now()
	// Half of the time is that of the operator's own restart.
	s.awaitCondition(t, "ImagePullDegraded", operatorv1.ConditionTrue, 2*visibleLimit, missing, fmt.Sprintf("revision %d keeps running there", before))
	s.figure("image that does not exist to ImagePullDegraded, the operator's restart included: %s", rounded(began))
	require.Equal(t, containers, s.operands.containers(), "no container was restarted")
	require.Equal(t, leader, s.requireOneLeader(t))

	s.expectRollout("the image exists again")
	s.setOperandImage(t, present)
	require.Equal(t, before+2, s.awaitSettled(t, before+2, rolloutLimit))
	s.awaitCondition(t, "ImagePullDegraded", operatorv1.ConditionFalse, visibleLimit)
}

// testDamagedToken damages the token that the leader needs.
func (s *suite) testDamagedToken(t *testing.T) {
	leader, containers := s.requireOneLeader(t), s.operands.containers()
	token := filepath.Join(s.Node(leader).Root(), "etc/kubernetes/static-pod-resources/cloud-controller-manager-certs/secrets/kube-token/token")
	sound, err := os.ReadFile(token)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(token, []byte("damaged"), 0o600))
	began := time.Now()
	s.await(t, "the token to be repaired", briefly, func(context.Context) error {
		if found, err := os.ReadFile(token); err != nil || !bytes.Equal(found, sound) {
			return errors.Join(err, errors.New("it is damaged"))
		}
		return nil
	})
	s.figure("token of the leader damaged to repaired: %s", rounded(began))
	require.Equal(t, leader, s.requireOneLeader(t))
	require.Equal(t, containers, s.operands.containers(), "no container was restarted")
}

// testImmutableDirectory makes a node's directory of synced files immutable while one of them changes.
func (s *suite) testImmutableDirectory(t *testing.T) {
	containers := s.operands.containers()
	n := s.follower(t, s.requireOneLeader(t))
	s.monitor.Expect(monitor.Degraded("files cannot be written", "a directory is immutable"))
	directory := filepath.Join(n.Root(), "etc/kubernetes/static-pod-resources/cloud-controller-manager-certs/secrets")
	setImmutable(t, directory, true)
	t.Cleanup(func() { setImmutable(t, directory, false) })
	token := func(ctx context.Context) ([]byte, error) {
		secret, err := s.kube.CoreV1().Secrets(targetNamespace).Get(ctx, kubeToken, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		return secret.Data["token"], nil
	}
	require.NoError(t, s.kube.CoreV1().Secrets(targetNamespace).Delete(t.Context(), kubeToken, metav1.DeleteOptions{}))
	began := time.Now()
	s.awaitCondition(t, "NodeFilesDegraded", operatorv1.ConditionTrue, visibleLimit, "node/"+n.Name(), "secret/kube-token",
		"operation not permitted")
	s.figure("immutable directory to NodeFilesDegraded: %s", rounded(began))

	setImmutable(t, directory, false)
	began = time.Now()
	s.awaitCondition(t, "NodeFilesDegraded", operatorv1.ConditionFalse, visibleLimit+time.Minute)
	s.figure("directory writable again to clean: %s", rounded(began))
	want, err := token(t.Context())
	require.NoError(t, err)
	found, err := os.ReadFile(filepath.Join(directory, "kube-token/token"))
	require.NoError(t, err)
	require.Equal(t, want, found)
	require.Equal(t, containers, s.operands.containers(), "no container was restarted")
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

// testCloudDown kills the leader while the cloud answers every request with an error.
func (s *suite) testCloudDown(t *testing.T) {
	leader, revision := s.requireOneLeader(t), s.revision(t)
	pids := s.processesOn(t, leader, operandBinary, "")
	require.Len(t, pids, 1)
	s.monitor.Expect(
		monitor.NewLeader("the leader is killed, and others end without a cloud").Times(50),
		monitor.NoneReady("no process starts without a cloud").Times(50),
		monitor.Unavailable("", "no process leads without a cloud").Times(2),
		monitor.Degraded("", "no process starts without a cloud").Times(2),
	)
	require.NoError(t, s.Cloud().Fail(openstack.AllEndpoints, http.StatusServiceUnavailable))
	require.NoError(t, syscall.Kill(pids[0], syscall.SIGKILL))
	began := time.Now()
	s.awaitCondition(t, "StaticPodsDegraded", operatorv1.ConditionTrue, visibleLimit)
	s.figure("leader killed while the cloud is down to StaticPodsDegraded: %s", rounded(began))
	require.NoError(t, s.Cloud().Fail(openstack.AllEndpoints, 0))
	began = time.Now()
	// The kubelet's back-off has at most five minutes.
	require.Equal(t, revision, s.awaitSettled(t, revision, 2*giveUpLimit))
	s.requireOneLeader(t)
	s.figure("cloud back to clean: %s", rounded(began))
}
