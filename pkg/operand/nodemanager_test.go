package operand_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

// withNodeManager are the platforms that have a cloud-node-manager.
func withNodeManager() []platform.Platform {
	return slices.DeleteFunc(managed(), func(p platform.Platform) bool { return p.NodeManagerImage == "" })
}

func TestOnlyThePlatformsWithAnImageHaveANodeManager(t *testing.T) {
	require.NotEmpty(t, withNodeManager())
	for _, p := range managed() {
		for _, phase := range phases() {
			resources, err := operand.Render(inputs(t, p, phase))
			require.NoError(t, err)
			require.Equal(t, p.NodeManagerImage != "", resources.NodeManager != nil, "%s in phase %s", p.Name, phase.Name)
		}
	}
}

// At bootstrap, cloud-provider-azure's cloud-controller-manager would initialize nothing.
func TestTheNodeManagerComesInsteadOfABootstrapPod(t *testing.T) {
	for _, p := range withNodeManager() {
		t.Run(p.Name, func(t *testing.T) {
			early, err := operand.Render(inputs(t, p, operand.BootstrapPhase()))
			require.NoError(t, err)
			require.Nil(t, early.Pod)
			require.Empty(t, early.Files)
			require.Empty(t, early.Tokens)

			late, err := operand.Render(inputs(t, p, operand.OperatorPhase()))
			require.NoError(t, err)
			require.Equal(t, late.NodeManager, early.NodeManager, "the operator replaces no pod")
			require.Equal(t, late.NodeManagerConfig, early.NodeManagerConfig)
			for _, o := range early.ConfigMaps {
				require.Contains(t, late.ConfigMaps, o)
			}
			require.Len(t, early.ConfigMaps, 1)
		})
	}
}

func TestTheNodeManagerRunsOnEveryLinuxNode(t *testing.T) {
	for _, p := range withNodeManager() {
		t.Run(p.Name, func(t *testing.T) {
			resources, err := operand.Render(inputs(t, p, operand.OperatorPhase()))
			require.NoError(t, err)
			daemonSet := resources.NodeManager
			require.Equal(t, operand.Namespace, daemonSet.Namespace)
			require.Equal(t, operand.NodeManager, daemonSet.Name)
			// The predecessor's selector since 4.11. With any other, each upgrade would recreate the DaemonSet.
			selector := map[string]string{"infrastructure.openshift.io/cloud-node-manager": "Azure",
				"k8s-app": "azure-cloud-node-manager"}
			require.Equal(t, &metav1.LabelSelector{MatchLabels: selector}, daemonSet.Spec.Selector)
			require.Equal(t, selector, daemonSet.Spec.Template.Labels)
			require.Equal(t, labels.Set(selector), operand.NodeManagerLabels())
			pod := daemonSet.Spec.Template.Spec
			require.Equal(t, map[string]string{"kubernetes.io/os": "linux"}, pod.NodeSelector)
			require.Equal(t, []corev1.Toleration{{Operator: corev1.TolerationOpExists}}, pod.Tolerations)
			require.Equal(t, "cloud-node-manager", pod.ServiceAccountName)
			require.True(t, pod.HostNetwork)
			require.Len(t, pod.Containers, 1)
			container := pod.Containers[0]
			requireHardened(t, container)
			require.Equal(t, "registry.example.com/ocp/"+p.NodeManagerImage+"@sha256:0123", container.Image)
			require.Contains(t, container.Args, "--node-name=$(NODE_NAME)")
			require.Subset(t, container.Env, []corev1.EnvVar{
				{Name: "NODE_NAME",
					ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "spec.nodeName"}}},
				{Name: "KUBERNETES_SERVICE_HOST", Value: "api-int.demo.example.com"},
				{Name: "KUBERNETES_SERVICE_PORT", Value: "6443"},
			})
		})
	}
}

// TestAChangedInputReplacesTheNodeManager changes one input after the other.
func TestAChangedInputReplacesTheNodeManager(t *testing.T) {
	for name, tc := range map[string]struct {
		platform string
		change   func(*operand.Inputs)
		want     bool
	}{
		"another image": {
			platform: "azure", want: true,
			change: func(in *operand.Inputs) { in.Images.NodeManager += "x" },
		},
		"another trusted CA": {
			platform: "azure", want: true,
			change: func(in *operand.Inputs) { in.Trust = in.Trust[:1]; in.CloudConfig.CABundle = nil },
		},
		"another proxy": {
			platform: "azure", want: true,
			change: func(in *operand.Inputs) { in.Overrides = []byte(`{"proxy": {"NO_PROXY": ".example.com"}}`) },
		},
		"another image of the operand": {
			platform: "azure",
			change:   func(in *operand.Inputs) { in.Images.Operand += "x" },
		},
		"a redeployment of the operand": {
			platform: "azure",
			change:   func(in *operand.Inputs) { in.ForceRedeploymentReason = "because" },
		},
		"another load balancer, about which it reads nothing": {
			platform: "azurestack",
			change: func(in *operand.Inputs) {
				in.CloudConfig.Data = bytes.Replace(in.CloudConfig.Data, []byte(`"basic"`), []byte(`"standard"`), 1)
			},
		},
		"another client secret where the configuration is read": {
			platform: "azurestack", want: true,
			change: func(in *operand.Inputs) {
				in.Credentials.Data["azure_client_secret"] = []byte("another-secret")
				in.CloudConfig.Data = append(slices.Clone(in.CloudConfig.Data), '\n')
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, known := platform.ByName(tc.platform)
			require.True(t, known)
			digests := map[bool]string{}
			for _, changed := range []bool{false, true} {
				in := inputs(t, p, operand.OperatorPhase())
				if changed {
					tc.change(&in)
				}
				resources, err := operand.Render(in)
				require.NoError(t, err)
				digests[changed] = resources.NodeManager.Spec.Template.Annotations[operand.NodeManagerDigestAnnotation]
				require.Regexp(t, "^sha256:[0-9a-f]{64}$", digests[changed])
			}
			require.Equal(t, tc.want, digests[false] != digests[true])
		})
	}
}

// Every node of an Azure Stack Hub has a credential, because its resource manager requires one.
func TestOnlyRootReadsTheNodeManagersCredentials(t *testing.T) {
	p, known := platform.ByName("azurestack")
	require.True(t, known)
	resources, err := operand.Render(inputs(t, p, operand.OperatorPhase()))
	require.NoError(t, err)
	var config map[string]any
	require.NoError(t, json.Unmarshal(resources.NodeManagerConfig.Data["cloud.conf"], &config))
	require.Equal(t, []string{
		"aadClientId", "aadClientSecret", "cloud", "location", "resourceGroup", "resourceManagerEndpoint",
		"subscriptionId", "tenantId",
		"useInstanceMetadata", "useManagedIdentityExtension", "vmType",
	}, slices.Sorted(maps.Keys(config)))
	require.Equal(t, []string{"cloud.conf", "endpoints"}, slices.Sorted(maps.Keys(resources.NodeManagerConfig.Data)))

	pod := resources.NodeManager.Spec.Template.Spec
	var secrets []*corev1.SecretVolumeSource
	for _, volume := range pod.Volumes {
		if volume.Secret != nil {
			secrets = append(secrets, volume.Secret)
		}
	}
	require.Equal(t, []*corev1.SecretVolumeSource{{SecretName: "cloud-node-manager-config",
		DefaultMode: ptr.To[int32](0o600)}}, secrets)
	require.Zero(t, *pod.SecurityContext.RunAsUser, "nobody else reads a file of mode 0600")
}

func TestOnAzureTheNodeManagerReadsNoSecret(t *testing.T) {
	p, known := platform.ByName("azure")
	require.True(t, known)
	resources, err := operand.Render(inputs(t, p, operand.OperatorPhase()))
	require.NoError(t, err)
	require.Nil(t, resources.NodeManagerConfig)
	for _, volume := range resources.NodeManager.Spec.Template.Spec.Volumes {
		require.Nil(t, volume.Secret, volume.Name)
	}
	require.True(t, *resources.NodeManager.Spec.Template.Spec.SecurityContext.RunAsNonRoot)
}

func TestANodeManagerNeedsTheAddressOfTheAPIServer(t *testing.T) {
	in := inputs(t, withNodeManager()[0], operand.OperatorPhase())
	in.Overrides = []byte(`{"apiServerInternalURI": "api-int"}`)
	_, err := operand.Render(in)
	require.EqualError(t, err, `building the cloud-node-manager of platform azure: status.apiServerInternalURI of `+
		`infrastructure.config.openshift.io/cluster is "api-int", which names no host; restore it from the cluster's installation`)
}
