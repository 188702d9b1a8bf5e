package adminevents

import (
	"runtime"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/openshift/library-go/pkg/config/clusteroperator/v1helpers"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/resource/resourceapply"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/utils/clock"
)

// These are the reasons for filter and lazy.
func TestWhatTheRecordersDoByThemselves(t *testing.T) {
	t.Run("each object that is written is an event", func(t *testing.T) {
		kube, recorder := fake.NewClientset(), events.NewInMemoryRecorder("test", clock.RealClock{})
		for _, value := range []string{"1", "2"} {
			meta := metav1.ObjectMeta{Namespace: "a", Name: "b"}
			_, _, err := resourceapply.ApplyConfigMap(t.Context(), kube.CoreV1(), recorder,
				&corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{"key": value}})
			require.NoError(t, err)
			_, _, err = resourceapply.ApplySecret(t.Context(), kube.CoreV1(), recorder,
				&corev1.Secret{ObjectMeta: meta, Type: corev1.SecretTypeOpaque, Data: map[string][]byte{"key": []byte(value)}})
			require.NoError(t, err)
		}
		for i, want := range []string{"ConfigMapCreated", "SecretCreated", "ConfigMapUpdated", "SecretUpdated"} {
			require.Equal(t, want, recorder.Events()[i].Reason)
			require.True(t, bookkeeping.Has(want))
		}
	})
	t.Run("each message of the ClusterOperator is one", func(t *testing.T) {
		of := func(message string) configv1.ClusterOperatorStatus {
			return configv1.ClusterOperatorStatus{Conditions: []configv1.ClusterOperatorStatusCondition{
				{Type: configv1.OperatorProgressing, Status: configv1.ConditionTrue, Message: message},
			}}
		}
		require.Equal(t, `Progressing message changed from "2 of 3" to "1 of 3"`, v1helpers.GetStatusDiff(of("2 of 3"), of("1 of 3")))
	})
	t.Run("each component's recorder starts three goroutines before its first event", func(t *testing.T) {
		const components = 50
		root := events.NewKubeRecorder(fake.NewClientset().CoreV1().Events(""), "operator", &corev1.ObjectReference{}, clock.RealClock{})
		t.Cleanup(root.Shutdown)
		before := runtime.NumGoroutine()
		for range components {
			t.Cleanup(root.ForComponent("a").Shutdown)
		}
		// Those of other tests may end meanwhile.
		require.Greater(t, runtime.NumGoroutine()-before, 2*components)
	})
}
