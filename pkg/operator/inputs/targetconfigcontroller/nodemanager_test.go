package targetconfigcontroller

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/yaml"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/trial"
)

// newAzureFixture returns a valid cluster with a node manager, that of operand's golden files.
func newAzureFixture(t *testing.T) *fixture {
	t.Helper()
	return newNodeManagerFixture(t, "azure")
}

// azureConfig returns the cloud.conf of operand's golden files.
func azureConfig(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "operand", "testdata", "azure", "cloud.conf"))
	require.NoError(t, err)
	return string(data)
}

// Azure's provider exits without the controller of Services, and writes to Azure with it.
func TestAServiceGatewayHasNoPreflight(t *testing.T) {
	f := newAzureFixture(t)
	f.works = true
	f.settle(t)
	f.refresh(t)
	change := func(edit ...string) {
		f.put(t, userConfigMap("cloud-provider-config",
			map[string]string{"config": strings.NewReplacer(edit...).Replace(azureConfig(t))}))
		f.sees(t)
	}
	change(`"cloudProviderBackoffDuration": 6`, `"cloudProviderBackoffDuration": 7`)
	require.True(t, trial.Of(f.submitted(t)).Runs(), "another change has one")

	change(`"loadBalancerSku": "standard"`, `"loadBalancerSku": "service", "serviceGatewayEnabled": true, `+
		`"loadBalancerBackendPoolConfigurationType": "podIP"`)
	require.Contains(t, f.delivered(t, operand.Secret, "cloud-config", "cloud.conf"), `"serviceGatewayEnabled": true`)
	require.Nil(t, f.submitted(t))
	require.Equal(t, []string{"nothing has proved the change of [CloudConfig]: with serviceGatewayEnabled, the " +
		"cloud-controller-manager would write to Azure in it"}, f.unproved())
}

// newNodeManagerFixture is the same of a platform.
func newNodeManagerFixture(t *testing.T, platform string) *fixture {
	t.Helper()
	dir := filepath.Join("..", "..", "..", "operand", "testdata", platform)
	read := func(name string) []byte {
		data, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		return data
	}
	credentials := map[string][]byte{}
	entries, err := os.ReadDir(filepath.Join(dir, "credentials"))
	require.NoError(t, err)
	for _, entry := range entries {
		credentials[entry.Name()] = read(filepath.Join("credentials", entry.Name()))
	}
	observed, err := yaml.YAMLToJSON(read("observed.yaml"))
	require.NoError(t, err)
	cloudConfig := map[string]string{"config": string(read("cloud.conf"))}
	if endpoints, err := os.ReadFile(filepath.Join(dir, "endpoints")); err == nil {
		cloudConfig["endpoints"] = string(endpoints)
	}
	f := newObserving(t, string(observed), goodInputs(
		userConfigMap("cloud-provider-config", cloudConfig),
		secret("azure-cloud-credentials", credentials),
		userConfigMap("user-ca-bundle", map[string]string{"ca-bundle.crt": ""}),
	)...)
	f.OperandImages = map[string]string{"azure-cloud-controller-manager": "registry/azure@sha256:1", "azure-cloud-node-manager": "registry/node@sha256:1"}
	return f
}

// daemonSet returns the API's DaemonSet; see copies it to the cache.
func (f *fixture) daemonSet(t *testing.T) *appsv1.DaemonSet {
	t.Helper()
	found, err := f.kube.AppsV1().DaemonSets(target).Get(t.Context(), "azure-cloud-node-manager", metav1.GetOptions{})
	require.NoError(t, err)
	return found.DeepCopy()
}

func (f *fixture) see(t *testing.T, daemonSet *appsv1.DaemonSet) {
	t.Helper()
	require.NoError(t, f.target.Apps().V1().DaemonSets().Informer().GetStore().Add(daemonSet))
	f.kube.ClearActions()
}

func TestTheNodeManagerComesAfterTheCandidate(t *testing.T) {
	f := newAzureFixture(t)
	require.NoError(t, f.run(t))
	writes := f.writes()
	require.Equal(t, []string{"create configmaps/cloud-controller-manager-pod", "create daemonsets/azure-cloud-node-manager"}, writes[len(writes)-2:])
	require.Equal(t, "registry/node@sha256:1", f.daemonSet(t).Spec.Template.Spec.Containers[0].Image)

	f.refresh(t)
	f.see(t, f.daemonSet(t))
	require.NoError(t, f.run(t))
	require.Empty(t, f.writes())
	require.False(t, slices.ContainsFunc(f.kube.Actions(), func(a clienttesting.Action) bool { return a.GetResource().Resource == "daemonsets" }),
		"what the informer saw is not read again")
}

func TestWhatTheNodeManagerReadsComesBeforeIt(t *testing.T) {
	f := newNodeManagerFixture(t, "azurestack")
	require.NoError(t, f.run(t))
	writes := f.writes()
	require.Equal(t, []string{"create secrets/cloud-node-manager-config", "create daemonsets/azure-cloud-node-manager"}, writes[len(writes)-2:])
	require.Contains(t, f.delivered(t, operand.Secret, operand.NodeManagerConfigSecret, "cloud.conf"), "AzureStackCloud")
}

func TestTheNodeManagerFollowsTheCandidate(t *testing.T) {
	f := newAzureFixture(t)
	require.NoError(t, f.run(t))
	f.refresh(t)
	f.see(t, f.daemonSet(t))

	f.OperandImages["azure-cloud-node-manager"] = "registry/node@sha256:2"
	require.NoError(t, f.run(t))
	require.Equal(t, []string{"update daemonsets/azure-cloud-node-manager"}, f.writes())
	require.Equal(t, "registry/node@sha256:2", f.daemonSet(t).Spec.Template.Spec.Containers[0].Image)
}

func TestAChangeOfTheNodeManagerByOthersIsUndone(t *testing.T) {
	f := newAzureFixture(t)
	require.NoError(t, f.run(t))
	f.refresh(t)
	changed := f.daemonSet(t)
	changed.Generation++
	changed.Spec.Template.Spec.NodeSelector = map[string]string{"kubernetes.io/os": "linux", "none": "at-all"}
	_, err := f.kube.AppsV1().DaemonSets(target).Update(t.Context(), changed, metav1.UpdateOptions{})
	require.NoError(t, err)
	f.see(t, changed)

	require.NoError(t, f.run(t))
	require.Equal(t, []string{"update daemonsets/azure-cloud-node-manager"}, f.writes())
	require.Equal(t, map[string]string{"kubernetes.io/os": "linux"}, f.daemonSet(t).Spec.Template.Spec.NodeSelector)
	_, status, _, err := f.operator.GetStaticPodOperatorState()
	require.NoError(t, err)
	require.Equal(t, []operatorv1.GenerationStatus{{
		Group: "apps", Resource: "daemonsets", Namespace: target, Name: "azure-cloud-node-manager", LastGeneration: 1,
	}}, status.Generations)
}

func TestANodeManagerWithAnotherSelectorIsCreatedAgain(t *testing.T) {
	f := newAzureFixture(t)
	require.NoError(t, f.run(t))
	f.refresh(t)
	old := f.daemonSet(t)
	old.UID = "old"
	old.Spec.Selector.MatchLabels = map[string]string{"app": "azure-cloud-node-manager"}
	_, err := f.kube.AppsV1().DaemonSets(target).Update(t.Context(), old, metav1.UpdateOptions{})
	require.NoError(t, err)
	f.see(t, old)

	require.NoError(t, f.run(t))
	require.Equal(t, []string{"delete daemonsets/azure-cloud-node-manager", "create daemonsets/azure-cloud-node-manager"}, f.writes())
	for _, action := range f.kube.Actions() {
		if deletion, ok := action.(clienttesting.DeleteAction); ok {
			require.Equal(t, types.UID("old"), *deletion.GetDeleteOptions().Preconditions.UID)
			require.Equal(t, metav1.DeletePropagationBackground, *deletion.GetDeleteOptions().PropagationPolicy)
		}
	}
	require.Equal(t, map[string]string(operand.NodeManagerLabels()), f.daemonSet(t).Spec.Selector.MatchLabels)
}

func TestANodeManagerWithAnotherSelectorThatStaysIsReported(t *testing.T) {
	f := newAzureFixture(t)
	require.NoError(t, f.run(t))
	f.refresh(t)
	old := f.daemonSet(t)
	old.Spec.Selector.MatchLabels = map[string]string{"app": "azure-cloud-node-manager"}
	f.see(t, old)
	f.kube.PrependReactor("delete", "daemonsets", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("no")
	})
	require.EqualError(t, f.run(t), "deleting daemonset/azure-cloud-node-manager in openshift-cloud-controller-manager, "+
		"whose selector is app=azure-cloud-node-manager: no")
}

func TestARejectedChangeLeavesTheNodeManager(t *testing.T) {
	f := newAzureFixture(t)
	require.NoError(t, f.run(t))
	f.refresh(t)
	f.see(t, f.daemonSet(t))
	f.OperandImages["azure-cloud-node-manager"] = ""
	require.NoError(t, f.run(t))
	require.Empty(t, f.writes())
	require.Equal(t, []string{"ImageDegraded: deployment/cluster-cloud-controller-manager-operator in openshift-cloud-controller-manager-operator, " +
		"key azure-cloud-node-manager: there is no image of the cloud-node-manager for platform azure; the release must name it"},
		slices.DeleteFunc(f.trueConditions(t), func(p string) bool { return !strings.HasPrefix(p, "Image") }))
}

func TestANodeManagerThatCannotBeWrittenIsReported(t *testing.T) {
	f := newAzureFixture(t)
	f.kube.PrependReactor("create", "daemonsets", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("no quota")
	})
	require.EqualError(t, f.run(t), "applying daemonset/azure-cloud-node-manager in openshift-cloud-controller-manager: no quota")
	require.Contains(t, f.writes(), "create configmaps/cloud-controller-manager-pod")
}

func TestWithoutANodeManagerNothingIsAskedFor(t *testing.T) {
	f := newFixture(t, goodInputs()...)
	require.NoError(t, f.run(t))
	for _, action := range f.kube.Actions() {
		require.NotEqual(t, "daemonsets", action.GetResource().Resource)
	}
	_, status, _, err := f.operator.GetStaticPodOperatorState()
	require.NoError(t, err)
	require.Empty(t, status.Generations)
}

// probeMode returns the Azure cloud-controller-manager's mode of health probes.
func (f *fixture) probeMode(t *testing.T) string {
	t.Helper()
	delivered, err := f.kube.CoreV1().Secrets(target).Get(t.Context(), "cloud-config", metav1.GetOptions{})
	require.NoError(t, err)
	var config struct {
		Mode string `json:"clusterServiceLoadBalancerHealthProbeMode"`
	}
	require.NoError(t, json.Unmarshal(delivered.Data["cloud.conf"], &config))
	return config.Mode
}

// The predecessor always set shared, regardless of the user's value.
func TestAnUpgradeChangesNoHealthProbesOnAzure(t *testing.T) {
	const warning = `CloudConfigNotices: configmap/cloud-provider-config in openshift-config, key config, line 2:48: ` +
		`clusterServiceLoadBalancerHealthProbeMode is set to "shared": the value was ignored before this operator took over, and an upgrade ` +
		`does not change health probes; to apply it, remove the line, wait until that is rolled out, and add it again`
	f := newAzureFixture(t)
	const source = "openshift-config"
	original, err := f.kube.CoreV1().ConfigMaps(source).Get(t.Context(), "cloud-provider-config", metav1.GetOptions{})
	require.NoError(t, err)
	without := original.Data["config"]
	with := func(more string) string { return strings.Replace(without, "{\n", "{\n"+more, 1) }
	const old = "  \"clusterServiceLoadBalancerHealthProbeMode\": \"servicenodeport\",\n"
	for _, step := range []struct {
		name, config, want string
		warnings           []string
	}{
		{"the first candidate keeps shared", with(old), "shared", []string{warning}},
		{"the next one too", with(old), "shared", []string{warning}},
		{"and so does one with another change", with(old + "  \"loadBalancerName\": \"another\",\n"), "shared", []string{warning}},
		{"the line is removed", without, "shared", nil},
		{"a value that is new counts", with(old), "servicenodeport", nil},
		{"and goes on to count", with(old + "  \"loadBalancerName\": \"another\",\n"), "servicenodeport", nil},
	} {
		t.Run(step.name, func(t *testing.T) {
			changed := original.DeepCopy()
			changed.Data["config"] = step.config
			_, err := f.kube.CoreV1().ConfigMaps(source).Update(t.Context(), changed, metav1.UpdateOptions{})
			require.NoError(t, err)
			f.refresh(t)
			require.NoError(t, f.run(t))
			require.Equal(t, step.want, f.probeMode(t))
			var warnings []string
			for _, condition := range f.trueConditions(t) {
				if strings.Contains(condition, "HealthProbeMode") {
					warnings = append(warnings, condition)
				}
			}
			require.Equal(t, step.warnings, warnings)
		})
	}
}

func TestAnotherVersionOfThePayloadIsRecordedAndRollsNothingOut(t *testing.T) {
	const annotation = "cloud-controller-manager.openshift.io/rendered-by"
	f := newAzureFixture(t)
	f.Version = "4.22.9"
	require.NoError(t, f.run(t))
	f.refresh(t)
	before, pod := f.daemonSet(t), f.podConfigMap(t)
	f.see(t, before)
	require.Equal(t, "4.22.9 registry/operator@sha256:2", before.Annotations[annotation])
	require.Equal(t, "4.22.9 registry/operator@sha256:2", pod.Annotations[annotation])

	f.Version = "4.23.0"
	require.NoError(t, f.run(t))
	require.Equal(t, []string{"update configmaps/cloud-controller-manager-pod", "update daemonsets/azure-cloud-node-manager"}, f.writes())
	require.Equal(t, "4.23.0 registry/operator@sha256:2", f.daemonSet(t).Annotations[annotation])
	require.Equal(t, "4.23.0 registry/operator@sha256:2", f.podConfigMap(t).Annotations[annotation])
	require.Equal(t, before.Spec, f.daemonSet(t).Spec)
	require.Equal(t, pod.Data, f.podConfigMap(t).Data)
}

func (f *fixture) podConfigMap(t *testing.T) *corev1.ConfigMap {
	t.Helper()
	found, err := f.kube.CoreV1().ConfigMaps(target).Get(t.Context(), "cloud-controller-manager-pod", metav1.GetOptions{})
	require.NoError(t, err)
	return found
}
