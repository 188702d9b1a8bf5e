package targetconfigcontroller

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
)

// remove deletes what a removal deletes, and keeps what it keeps.
func (f *fixture) remove(t *testing.T) {
	t.Helper()
	configMaps, secrets := f.kube.CoreV1().ConfigMaps(target), f.kube.CoreV1().Secrets(target)
	pod, err := configMaps.Get(t.Context(), operand.PodConfigMap, metav1.GetOptions{})
	require.NoError(t, err)
	f.meta.Annotations = operand.Remembered(pod.Annotations)
	require.NotEmpty(t, f.meta.Annotations)
	require.NoError(t, configMaps.Delete(t.Context(), operand.PodConfigMap, metav1.DeleteOptions{}))
	require.NoError(t, secrets.Delete(t.Context(), operand.AcceptedInputsSecret, metav1.DeleteOptions{}))
	f.refresh(t)
}

// set changes the cloud configuration.
func (f *fixture) set(t *testing.T, config string) {
	t.Helper()
	configMaps := f.kube.CoreV1().ConfigMaps("openshift-config")
	source, err := configMaps.Get(t.Context(), "cloud-provider-config", metav1.GetOptions{})
	require.NoError(t, err)
	source.Data["config"] = config
	_, err = configMaps.Update(t.Context(), source, metav1.UpdateOptions{})
	require.NoError(t, err)
	f.refresh(t)
}

const ignoredMode = "  \"clusterServiceLoadBalancerHealthProbeMode\": \"servicenodeport\",\n"

func TestADeletedCandidatePutsNoModeIntoEffect(t *testing.T) {
	f := newAzureFixture(t)
	f.set(t, strings.Replace(azureConfig(t), "{\n", "{\n"+ignoredMode, 1))
	require.NoError(t, f.run(t))
	require.Equal(t, "shared", f.probeMode(t))
	f.makeRevision(t)
	require.NoError(t, f.kube.CoreV1().ConfigMaps(target).Delete(t.Context(), operand.PodConfigMap, metav1.DeleteOptions{}))
	f.refresh(t)
	require.NoError(t, f.run(t))
	require.Equal(t, "shared", f.probeMode(t))
}

func TestARemovalIsNoFirstInstallation(t *testing.T) {
	for name, tc := range map[string]struct {
		inEffect bool
		want     string
	}{
		"a mode that was in effect is so again":    {inEffect: true, want: "servicenodeport"},
		"one that was not in effect is not either": {want: "shared"},
	} {
		t.Run("on Azure, "+name, func(t *testing.T) {
			f := newAzureFixture(t)
			source, err := f.kube.CoreV1().ConfigMaps("openshift-config").Get(t.Context(), "cloud-provider-config", metav1.GetOptions{})
			require.NoError(t, err)
			with := strings.Replace(source.Data["config"], "{\n", "{\n"+ignoredMode, 1)
			if tc.inEffect {
				require.NoError(t, f.run(t))
				f.refresh(t)
			}
			f.set(t, with)
			require.NoError(t, f.run(t))
			require.Equal(t, tc.want, f.probeMode(t))
			f.remove(t)
			require.NoError(t, f.run(t))
			require.Equal(t, tc.want, f.probeMode(t))
		})
	}
}

func TestAfterARemovalALikelyTypoIsRejectedIfItIsNew(t *testing.T) {
	const typo = "[Global]\nregoin = RegionOne\n"
	for name, tc := range map[string]struct {
		before, after string
		wantApplied   bool
	}{
		"what was accepted is accepted again": {before: typo, after: typo, wantApplied: true},
		"a new typo is rejected":              {before: goodConfig, after: typo},
		"a good configuration is accepted":    {before: typo, after: goodConfig, wantApplied: true},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, goodInputs(userConfigMap("cloud-provider-config", map[string]string{"config": tc.before}))...)
			require.NoError(t, f.run(t))
			f.remove(t)
			f.set(t, tc.after)
			require.NoError(t, f.run(t))
			_, err := f.kube.CoreV1().ConfigMaps(target).Get(t.Context(), operand.PodConfigMap, metav1.GetOptions{})
			if tc.wantApplied {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, `configmaps "cloud-controller-manager-pod" not found`)
			require.Len(t, f.trueConditions(t), 1)
			require.Contains(t, f.trueConditions(t)[0], `unknown key "regoin" in [Global]; did you mean "region"?`)
		})
	}
}
