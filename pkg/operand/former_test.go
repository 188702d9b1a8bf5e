package operand_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
)

func podConfigMapOf(r *operand.Resources) *corev1.ConfigMap {
	return r.ConfigMaps[slices.IndexFunc(r.ConfigMaps, func(c *corev1.ConfigMap) bool { return c.Name == operand.PodConfigMap })]
}

// former returns the static pod of a candidate with another image and other flags.
func former(t *testing.T) (*operand.Former, *corev1.Pod) {
	t.Helper()
	in := inputs(t, openstack(), operand.OperatorPhase())
	in.Images.Operand, in.Overrides = "registry/former:1", []byte(`extendedArguments: {v: ["7"]}`)
	rendered, err := operand.Render(in)
	require.NoError(t, err)
	former, err := operand.FormerOf(podConfigMapOf(rendered))
	require.NoError(t, err)
	return former, rendered.Pod
}

func TestAFormerImageOrFormerFlagsTakeThePlaceOfRejectedOnes(t *testing.T) {
	_, was := former(t)
	present, err := operand.Render(inputs(t, openstack(), operand.OperatorPhase()))
	require.NoError(t, err)
	for name, tc := range map[string]struct {
		image, flags bool
		wantImage    string
		wantArgs     []string
	}{
		"nothing":   {wantImage: present.Pod.Spec.Containers[0].Image, wantArgs: present.Pod.Spec.Containers[0].Args},
		"the image": {image: true, wantImage: "registry/former:1", wantArgs: present.Pod.Spec.Containers[0].Args},
		"the flags": {flags: true, wantImage: present.Pod.Spec.Containers[0].Image, wantArgs: was.Spec.Containers[0].Args},
		"both":      {image: true, flags: true, wantImage: "registry/former:1", wantArgs: was.Spec.Containers[0].Args},
	} {
		t.Run(name, func(t *testing.T) {
			in := inputs(t, openstack(), operand.OperatorPhase())
			in.Former, _ = former(t)
			in.Former.Image, in.Former.Flags = tc.image, tc.flags
			rendered, err := operand.Render(in)
			require.NoError(t, err)
			got := rendered.Pod.Spec.Containers
			require.Equal(t, tc.wantImage, got[0].Image)
			require.Equal(t, tc.wantArgs, got[0].Args)
			require.Equal(t, present.Pod.Spec.Containers[1].Image, got[1].Image, "the operator's is never a former one")
		})
	}
}

// The flags of a preflight keep it from doing more than a preflight may.
func TestAPreflightWithFormerFlagsKeepsItsOwn(t *testing.T) {
	in := inputs(t, openstack(), operand.OperatorPhase())
	_, present := preflightOf(t, in)
	in.Former, _ = former(t)
	in.Former.Flags = true
	_, pod := preflightOf(t, in)
	got := pod.Spec.Containers[0].Args
	require.Contains(t, got, "--v=7")
	require.Contains(t, got, "--controllers=cloud-node-controller,service-lb-controller")
	require.Contains(t, got, "--concurrent-service-syncs=0")
	require.Contains(t, got, "--leader-elect-resource-name=cloud-controller-manager-preflight")
	require.Len(t, got, len(present.Spec.Containers[0].Args), "each flag is there once")
	require.Equal(t, present.Spec.Volumes, pod.Spec.Volumes)
}

// What a platform changes in a preflight keeps it from writing, or makes it say more.
func TestAPreflightWithFormerFlagsKeepsWhatItsPlatformChanges(t *testing.T) {
	for _, p := range preflighted() {
		in := inputs(t, p, operand.OperatorPhase())
		_, present := preflightOf(t, in)
		rendered, err := operand.Render(in)
		require.NoError(t, err)
		in.Former, err = operand.FormerOf(podConfigMapOf(rendered))
		require.NoError(t, err)
		in.Former.Flags = true
		_, pod := preflightOf(t, in)
		require.ElementsMatch(t, present.Spec.Containers[0].Env, pod.Spec.Containers[0].Env, p.Name)
		require.ElementsMatch(t, present.Spec.Containers[0].Args, pod.Spec.Containers[0].Args, p.Name)
	}
}

func TestAFormerPodThatWasEditedByHandIsRejected(t *testing.T) {
	configMap := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "cloud-controller-manager-pod-7"}}
	for manifest, want := range map[string]string{
		"spec: {containers: [{name: other}]}": "configmap/cloud-controller-manager-pod-7 in openshift-cloud-controller-manager, " +
			"key pod.yaml: no container cloud-controller-manager",
		"spec: {pods: []}": "decoding configmap/cloud-controller-manager-pod-7 in openshift-cloud-controller-manager, key pod.yaml: " +
			`error unmarshaling JSON: while decoding JSON: json: unknown field "pods"`,
	} {
		configMap.Data = map[string]string{"pod.yaml": manifest}
		_, err := operand.FormerOf(configMap)
		require.EqualError(t, err, want)
	}
}

func TestWhatTheInstallerWritesIsTheRevision(t *testing.T) {
	configMaps, secrets := candidate(t, "-7")
	installed, err := operand.Objects{ConfigMaps: configMaps, Secrets: secrets}.Installed(7)
	require.NoError(t, err)
	require.Equal(t, installed.Manifest, installed.Files["cloud-controller-manager-pod.yaml"])
	require.Contains(t, string(installed.Manifest), "name: cloud-controller-manager\n")
	require.NotEmpty(t, installed.Files["secrets/cloud-config/cloud.conf"])
	require.NotEmpty(t, installed.Files["configmaps/kubeconfigs/cloud-controller-manager.kubeconfig"])

	_, err = operand.Objects{ConfigMaps: configMaps, Secrets: secrets[1:]}.Installed(7)
	require.EqualError(t, err, "secret/cloud-config-7 in openshift-cloud-controller-manager does not exist: the candidate is not "+
		"fully applied")
}
