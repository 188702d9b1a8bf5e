package operand

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

func TestTheManifestGetsTheRevisionInItsLabelAndPathsOnly(t *testing.T) {
	configMap := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "cloud-controller-manager-pod-7"}}
	configMap.Data = map[string]string{"pod.yaml": `
metadata: {labels: {revision: REVISION}}
spec:
  containers: [{name: REVISION, args: [--node=NODE_NAME], env: [{name: A, value: REVISION}]}]
  volumes:
  - {name: a, hostPath: {path: /etc/pod-REVISION/secrets}}
  - {name: b, emptyDir: {}}
`}
	manifest, err := installedManifest(configMap, 7)
	require.NoError(t, err)
	pod := &corev1.Pod{}
	require.NoError(t, yaml.UnmarshalStrict(manifest, pod))
	require.Equal(t, map[string]string{"revision": "7"}, pod.Labels)
	require.Equal(t, "/etc/pod-7/secrets", pod.Spec.Volumes[0].HostPath.Path)
	require.Equal(t, corev1.Container{Name: "REVISION", Args: []string{"--node=NODE_NAME"}, Env: []corev1.EnvVar{{Name: "A", Value: "REVISION"}}}, pod.Spec.Containers[0])

	configMap.Data["pod.yaml"] = "spec: {containers: [], volume: []}"
	_, err = installedManifest(configMap, 7)
	require.EqualError(t, err, "decoding configmap/cloud-controller-manager-pod-7 in openshift-cloud-controller-manager, key pod.yaml: "+
		`error unmarshaling JSON: while decoding JSON: json: unknown field "volume"`)
}

func TestAStaticPodIsDecodedOnceAndEachCallerGetsACopy(t *testing.T) {
	configMap := &corev1.ConfigMap{Data: map[string]string{"pod.yaml": "metadata: {name: a}\nspec:\n" +
		strings.Repeat("  # a comment\n", 1000) + "  containers: [{name: b, args: [--v=2]}]\n"}}
	pod, err := StaticPodOf(configMap)
	require.NoError(t, err)
	pod.Spec.Containers[0].Args[0] = "--v=4"
	again, err := StaticPodOf(configMap)
	require.NoError(t, err)
	require.Equal(t, []string{"--v=2"}, again.Spec.Containers[0].Args)
	require.Less(t, testing.AllocsPerRun(10, func() { _, _ = StaticPodOf(configMap) }), 10.0)
}
