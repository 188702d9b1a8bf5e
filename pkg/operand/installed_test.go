package operand

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

func TestTheManifestGetsTheRevisionInItsLabelAndPathsOnly(t *testing.T) {
	manifest, err := installedManifest(`
metadata: {labels: {revision: REVISION}}
spec:
  containers: [{name: REVISION, args: [--node=NODE_NAME], env: [{name: A, value: REVISION}]}]
  volumes:
  - {name: a, hostPath: {path: /etc/pod-REVISION/secrets}}
  - {name: b, emptyDir: {}}
`, 7)
	require.NoError(t, err)
	pod := &corev1.Pod{}
	require.NoError(t, yaml.UnmarshalStrict(manifest, pod))
	require.Equal(t, map[string]string{"revision": "7"}, pod.Labels)
	require.Equal(t, "/etc/pod-7/secrets", pod.Spec.Volumes[0].HostPath.Path)
	require.Equal(t, corev1.Container{Name: "REVISION", Args: []string{"--node=NODE_NAME"}, Env: []corev1.EnvVar{{Name: "A", Value: "REVISION"}}}, pod.Spec.Containers[0])

	_, err = installedManifest("spec: {containers: [], volume: []}", 7)
	require.EqualError(t, err, `error unmarshaling JSON: while decoding JSON: json: unknown field "volume"`)
}
