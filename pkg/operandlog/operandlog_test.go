package operandlog

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	clienttesting "k8s.io/client-go/testing"
)

func TestEachLogIsReadWithoutTheKubeletsTimestamps(t *testing.T) {
	const line = "Error: unknown flag: --evil\n"
	client := fake.NewClientset()
	client.PrependReactor("get", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		options, _ := action.(clienttesting.GenericActionImpl).Value.(*corev1.PodLogOptions)
		require.True(t, options.Timestamps)
		return true, &runtime.Unknown{Raw: []byte("2026-11-27T03:00:00.100000000Z " + line)}, nil
	})
	for name, read := range map[string]func(context.Context, corev1client.PodsGetter, string) (string, error){
		"the end": func(ctx context.Context, pods corev1client.PodsGetter, pod string) (string, error) {
			log, _, err := Read(ctx, pods, pod)
			return log, err
		},
		"the last minute": func(ctx context.Context, pods corev1client.PodsGetter, pod string) (string, error) {
			return ReadLast(ctx, pods, pod, time.Minute)
		},
		"the beginning": ReadBegin,
		"that of a process that has ended": func(ctx context.Context, pods corev1client.PodsGetter, pod string) (string, error) {
			return ReadEnded(ctx, pods, pod, false)
		},
	} {
		t.Run(name, func(t *testing.T) {
			log, err := read(t.Context(), client.CoreV1(), "ccm-m0")
			require.NoError(t, err)
			require.Equal(t, line, log)
		})
	}
}

// An administrator may set the time zone of a custom cloud-controller-manager. Nobody may say that it has logged nothing.
func TestABeginningInAnotherTimeZoneIsUnknown(t *testing.T) {
	client := fake.NewClientset()
	client.PrependReactor("get", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, &runtime.Unknown{Raw: []byte("2026-11-27T03:00:00.100000000Z " +
			"I1127 04:00:00.099000       1 leaderelection.go:258] Attempting to acquire leader lease...\n")}, nil
	})
	log, err := ReadBegin(t.Context(), client.CoreV1(), "ccm-m0")
	require.Empty(t, log)
	require.EqualError(t, err, "the log of pod/ccm-m0 in openshift-cloud-controller-manager has another time zone")
}
