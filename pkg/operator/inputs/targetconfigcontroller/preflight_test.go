package targetconfigcontroller

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
)

const otherConfig = goodConfig + "\n[LoadBalancer]\nmax-shared-lb = 3\n"

// submitted returns the candidate that was given to a preflight, nil if there is none.
func (f *fixture) submitted(t *testing.T) *corev1.Secret {
	t.Helper()
	secret, err := f.kube.CoreV1().Secrets(target).Get(t.Context(), operand.PreflightName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	require.NoError(t, err)
	return secret
}

func (f *fixture) conclude(t *testing.T) {
	t.Helper()
	secret := f.submitted(t)
	secret.Annotations[operand.PreflightVerdictAnnotation], secret.Data = `{"result":"Failed"}`, nil
	f.put(t, secret)
}

// newWorking returns a cluster whose cloud-controller-managers work with the good inputs.
func newWorking(t *testing.T) *fixture {
	t.Helper()
	f := newFixture(t, goodInputs()...)
	f.works = true
	f.settle(t)
	require.Nil(t, f.submitted(t), "a first installation has no preflight")
	f.refresh(t)
	return f
}

func TestAChangeOfWhatWorksIsGivenToAPreflight(t *testing.T) {
	f := newWorking(t)
	f.settle(t)
	require.Nil(t, f.submitted(t), "nothing has changed")
	f.put(t, userConfigMap("cloud-provider-config", map[string]string{"config": otherConfig}))
	f.settle(t)
	first := f.submitted(t)
	require.Contains(t, string(first.Data["secret-cloud-config-cloud.conf"]), "max-shared-lb = 3")
	require.Empty(t, first.Annotations[operand.PreflightVerdictAnnotation])
	require.Contains(t, f.delivered(t, operand.Secret, "cloud-config", "cloud.conf"), "max-shared-lb = 3")

	f.conclude(t)
	f.settle(t)
	require.NotEmpty(t, f.submitted(t).Annotations[operand.PreflightVerdictAnnotation], "equal bytes are tried once")
	f.put(t, userConfigMap("cloud-provider-config", map[string]string{"config": goodConfig}))
	f.settle(t)
	second := f.submitted(t)
	require.NotEqual(t, digestOf(first), digestOf(second))
	require.Empty(t, second.Annotations[operand.PreflightVerdictAnnotation], "the verdict was about another candidate")
	require.NotEmpty(t, second.Data)
}

func TestWhatTheCloudControllerManagerDoesNotStartWithHasNoPreflight(t *testing.T) {
	f := newWorking(t)
	f.put(t, secret("file-syncer-identity", map[string][]byte{"token": []byte("another token")}))
	f.OperatorImage = "registry/operator@sha256:3"
	f.settle(t)
	require.Equal(t, "another token", f.delivered(t, operand.Secret, "file-syncer-token", "token"))
	require.Nil(t, f.submitted(t))
}

func TestAChangeOfWhatDoesNotWorkHasNoPreflight(t *testing.T) {
	f := newWorking(t)
	f.put(t, userConfigMap("cloud-provider-config", map[string]string{"config": otherConfig}))
	f.settle(t)
	f.conclude(t)
	f.works = false
	f.put(t, userConfigMap("cloud-provider-config", map[string]string{"config": goodConfig}))
	f.settle(t)
	require.Nil(t, f.submitted(t), "the verdict about the former candidate is void")
	require.NotContains(t, f.delivered(t, operand.Secret, "cloud-config", "cloud.conf"), "max-shared-lb = 3")
}

func TestAChangeWaitsWhileItIsNotKnownWhetherTheFormerOneWorks(t *testing.T) {
	f := newWorking(t)
	f.put(t, userConfigMap("cloud-provider-config", map[string]string{"config": otherConfig}))
	f.worksErr = errors.New("listing pods: no answer")
	f.clock.Step(componentGracePeriod)
	require.EqualError(t, f.run(t), "listing pods: no answer")
	require.NotContains(t, f.delivered(t, operand.Secret, "cloud-config", "cloud.conf"), "max-shared-lb = 3")
}
