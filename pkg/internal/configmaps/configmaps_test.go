package configmaps_test

import (
	"bytes"
	"errors"
	"flag"
	"testing"
	"time"

	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/resource/resourceapply"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/klog/v2"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/configmaps"
)

func configMap(data, annotations map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "raw-cloud-config", Annotations: annotations},
		Data:       data,
	}
}

func immutable(configMap *corev1.ConfigMap) *corev1.ConfigMap {
	configMap.Immutable = ptr.To(true)
	return configMap
}

func TestApply(t *testing.T) {
	const update = "ConfigMapUpdated: Updated ConfigMap/raw-cloud-config -n ns"
	for name, tc := range map[string]struct {
		existing, required, want *corev1.ConfigMap
		event                    string
	}{
		"a missing one is created": {
			required: configMap(map[string]string{"config": "canary"}, nil),
			want:     configMap(map[string]string{"config": "canary"}, nil),
			event:    "ConfigMapCreated: Created ConfigMap/raw-cloud-config -n ns because it was missing",
		},
		"an equal one is left alone": {
			existing: configMap(map[string]string{"config": "canary"}, map[string]string{"a": "1", "other": "2"}),
			required: configMap(map[string]string{"config": "canary"}, map[string]string{"a": "1"}),
			want:     configMap(map[string]string{"config": "canary"}, map[string]string{"a": "1", "other": "2"}),
		},
		"keys are changed, added and removed": {
			existing: configMap(map[string]string{"config": "former-canary", "gone": "canary", "same": "x"}, nil),
			required: configMap(map[string]string{"config": "canary", "new": "canary", "same": "x"}, nil),
			want:     configMap(map[string]string{"config": "canary", "new": "canary", "same": "x"}, nil),
			event:    update + ":\nbecause of changes in data.config, data.gone, data.new",
		},
		"an annotation is merged": {
			existing: configMap(map[string]string{"config": "canary"}, map[string]string{"other": "2"}),
			required: configMap(map[string]string{"config": "canary"}, map[string]string{"a": "1"}),
			want:     configMap(map[string]string{"config": "canary"}, map[string]string{"a": "1", "other": "2"}),
			event:    update + " because it changed",
		},
		"binary data counts": {
			existing: &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "raw-cloud-config"}, BinaryData: map[string][]byte{"b": {0}, "gone": {}, "same": {2}}},
			required: &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "raw-cloud-config"}, BinaryData: map[string][]byte{"b": {1}, "same": {2}}},
			want:     &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "raw-cloud-config"}, BinaryData: map[string][]byte{"b": {1}, "same": {2}}},
			event:    update + ":\nbecause of changes in binaryData.b, binaryData.gone",
		},
		"an immutable one is replaced": {
			existing: immutable(configMap(map[string]string{"config": "former-canary"}, nil)),
			required: configMap(map[string]string{"config": "canary"}, nil),
			want:     configMap(map[string]string{"config": "canary"}, nil),
			event:    "ConfigMapCreated: Created ConfigMap/raw-cloud-config -n ns because it was missing",
		},
		"an immutable one with other annotations is updated": {
			existing: immutable(configMap(map[string]string{"config": "canary"}, map[string]string{"other": "2"})),
			required: configMap(map[string]string{"config": "canary"}, map[string]string{"a": "1"}),
			want:     immutable(configMap(map[string]string{"config": "canary"}, map[string]string{"a": "1", "other": "2"})),
			event:    update + " because it changed",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var objects []runtime.Object
			if tc.existing != nil {
				objects = append(objects, tc.existing)
			}
			client := fake.NewClientset(objects...)
			recorder := events.NewInMemoryRecorder("test", clocktesting.NewFakePassiveClock(time.Unix(0, 0)))
			log := captureLog(t, "8")
			require.NoError(t, configmaps.Apply(t.Context(), client.CoreV1(), recorder, tc.required))
			got, err := client.CoreV1().ConfigMaps("ns").Get(t.Context(), "raw-cloud-config", metav1.GetOptions{})
			require.NoError(t, err)
			require.Equal(t, tc.want.Data, got.Data)
			require.Equal(t, tc.want.BinaryData, got.BinaryData)
			require.Equal(t, tc.want.Immutable, got.Immutable)
			if len(tc.want.Annotations)+len(got.Annotations) > 0 {
				require.Equal(t, tc.want.Annotations, got.Annotations)
			}
			event := ""
			for _, e := range recorder.Events() {
				event += e.Reason + ": " + e.Message
			}
			require.Equal(t, tc.event, event)
			require.NotContains(t, log(), "canary")
		})
	}
}

func TestAFailedWriteIsReturned(t *testing.T) {
	former := func() *corev1.ConfigMap { return configMap(map[string]string{"config": "former"}, nil) }
	for verb, tc := range map[string]struct {
		existing []runtime.Object
		want     string
	}{
		"get":    {want: "not today"},
		"create": {want: "not today"},
		"update": {existing: []runtime.Object{former()}, want: "not today"},
		"delete": {existing: []runtime.Object{immutable(former())}, want: "deleting it, because it is immutable: not today"},
	} {
		t.Run(verb, func(t *testing.T) {
			client := fake.NewClientset(tc.existing...)
			client.PrependReactor(verb, "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
				return true, nil, errors.New("not today")
			})
			recorder := events.NewInMemoryRecorder("test", clocktesting.NewFakePassiveClock(time.Unix(0, 0)))
			require.EqualError(t, configmaps.Apply(t.Context(), client.CoreV1(), recorder, configMap(map[string]string{"config": "x"}, nil)),
				"applying configmap/raw-cloud-config in ns: "+tc.want)
		})
	}
}

func TestAnImmutableOneThatItsFinalizersKeepIsReported(t *testing.T) {
	held := immutable(configMap(map[string]string{"config": "former"}, nil))
	held.DeletionTimestamp, held.Finalizers = ptr.To(metav1.NewTime(time.Unix(0, 0))), []string{"example.com/a"}
	recorder := events.NewInMemoryRecorder("test", clocktesting.NewFakePassiveClock(time.Unix(0, 0)))
	require.EqualError(t, configmaps.Apply(t.Context(), fake.NewClientset(held).CoreV1(), recorder,
		configMap(map[string]string{"config": "x"}, nil)), "applying configmap/raw-cloud-config in ns: "+
		"its finalizers keep it, remove them if nothing else does: [example.com/a]")
}

// This is the reason for the package: library-go logs the values at the default verbosity.
func TestWhatApplyConfigMapLogsByItself(t *testing.T) {
	client := fake.NewClientset(configMap(map[string]string{"config": "former-canary"}, nil))
	recorder := events.NewInMemoryRecorder("test", clocktesting.NewFakePassiveClock(time.Unix(0, 0)))
	log := captureLog(t, "2")
	_, _, err := resourceapply.ApplyConfigMap(t.Context(), client.CoreV1(), recorder, configMap(map[string]string{"config": "canary"}, nil))
	require.NoError(t, err)
	require.Contains(t, log(), `"canary"`)
}

// captureLog returns the log at a verbosity.
func captureLog(t *testing.T, verbosity string) func() string {
	t.Helper()
	state := klog.CaptureState()
	t.Cleanup(state.Restore)
	flags := flag.NewFlagSet("", flag.PanicOnError)
	klog.InitFlags(flags)
	for name, value := range map[string]string{"v": verbosity, "logtostderr": "false", "stderrthreshold": "FATAL", "one_output": "true"} {
		require.NoError(t, flags.Set(name, value))
	}
	var output bytes.Buffer
	klog.SetOutput(&output)
	return func() string { klog.Flush(); return output.String() }
}
