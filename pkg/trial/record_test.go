package trial_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/trial"
)

func TestARecordIsWrittenOnlyIfItHasChanged(t *testing.T) {
	kube := fake.NewClientset()
	record := trial.Of(nil)
	require.NoError(t, record.Save(t.Context(), kube.CoreV1()))
	require.Empty(t, kube.Actions(), "an empty one has no Secret")
	record.Digest = "sha256:1"
	for range 2 {
		require.NoError(t, record.Save(t.Context(), kube.CoreV1()))
	}
	record.Again = true
	require.NoError(t, record.Save(t.Context(), kube.CoreV1()))
	empty := &trial.Record{Secret: record.Secret}
	require.NoError(t, empty.Save(t.Context(), kube.CoreV1()))
	var verbs []string
	for _, action := range kube.Actions() {
		verbs = append(verbs, action.GetVerb())
	}
	require.Equal(t, []string{"create", "update", "delete"}, verbs)
}

func TestARecordThatHasChangedSinceItWasReadIsAConflict(t *testing.T) {
	kube := fake.NewClientset(operand.PreflightSecret())
	kube.PrependReactor("update", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewConflict(corev1.Resource("secrets"), operand.PreflightName, nil)
	})
	record := trial.Of(operand.PreflightSecret())
	record.Digest = "sha256:1"
	require.True(t, apierrors.IsConflict(record.Save(t.Context(), kube.CoreV1())))
}

// An administrator has protected all Secrets. No preflight could begin, nor end.
func TestAnImmutableRecordIsReplaced(t *testing.T) {
	former := operand.PreflightSecret()
	former.UID, former.Immutable = "former", ptr.To(true)
	kube := fake.NewClientset(former)
	kube.PrependReactor("update", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("Secret").GroupKind(), former.Name, nil)
	})
	record := trial.Of(former)
	record.Digest = "sha256:1"
	require.NoError(t, record.Save(t.Context(), kube.CoreV1()))
	secret, err := kube.CoreV1().Secrets(former.Namespace).Get(t.Context(), former.Name, metav1.GetOptions{})
	require.NoError(t, err)
	require.Empty(t, secret.UID)
	require.Nil(t, secret.Immutable)
	require.Equal(t, "sha256:1", trial.Of(secret).Digest)
}

func TestARecordThatCannotBeDecodedIsEmpty(t *testing.T) {
	secret := operand.PreflightSecret()
	secret.Annotations = map[string]string{trial.Annotation: "{"}
	require.Equal(t, &trial.Record{Secret: secret}, trial.Of(secret))
}
