package trial_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

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

func TestARecordThatCannotBeDecodedIsEmpty(t *testing.T) {
	secret := operand.PreflightSecret()
	secret.Annotations = map[string]string{trial.Annotation: "{"}
	require.Equal(t, &trial.Record{Secret: secret}, trial.Of(secret))
}
