package architecture

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// everywhere are the annotations that TestEveryManifestIsInTheRightPayloads checks.
var everywhere = []string{
	"include.release.openshift.io/self-managed-high-availability",
	"include.release.openshift.io/single-node-developer",
	"capability.openshift.io/name",
}

// TestWhatTheReleaseDoesWithEachManifest lists every other annotation that a component of the release acts on. No
// other test detects a dropped annotation: without create-only the cluster-version-operator would revert the
// administrator's settings.
func TestWhatTheReleaseDoesWithEachManifest(t *testing.T) {
	got := map[string]map[string]string{}
	for _, m := range payload(t) {
		left := map[string]string{}
		for key, value := range m.meta(t).GetAnnotations() {
			left[key] = value
		}
		for _, key := range everywhere {
			delete(left, key)
		}
		for key := range left {
			if !strings.Contains(key, "openshift.io/") {
				delete(left, key)
			}
		}
		if len(left) > 0 {
			_, name, _ := strings.Cut(m.name(t), ": ")
			got[name] = left
		}
	}
	partitioned := map[string]string{"openshift.io/node-selector": "", "workload.openshift.io/allowed": "management"}
	require.Equal(t, map[string]map[string]string{
		"Namespace/" + operatorNamespace: partitioned,
		"Namespace/" + operandNamespace:  partitioned,
		"CloudControllerManager/cluster": {"release.openshift.io/create-only": "true"},
		"Service/cloud-controller-manager-operator": {
			"service.beta.openshift.io/serving-cert-secret-name": "cloud-controller-manager-operator-tls",
		},
		"ClusterOperator/cloud-controller-manager": {
			"exclude.release.openshift.io/internal-openshift-hosted": "true",
		},
		"ConfigMap/cloud-controller-manager-operator-config": {"config.openshift.io/inject-tls": "true"},
		"Deployment/cluster-cloud-controller-manager-operator": {
			"exclude.release.openshift.io/internal-openshift-hosted": "true",
		},
	}, got)
}

// Two operator pods would contend for the host port, so the old one must end first.
func TestTheOperatorsDeploymentIsRecreated(t *testing.T) {
	spec := operatorDeployment(t).Spec
	require.Equal(t, appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}, spec.Strategy)
	require.Equal(t, ptr.To[int32](1), spec.Replicas)
}

// The operator runs on an uninitialized control-plane node, and leaves an unreachable one.
func TestTheOperatorToleratesAnUninitializedControlPlane(t *testing.T) {
	pod := operatorDeployment(t).Spec.Template.Spec
	require.Equal(t, map[string]string{"node-role.kubernetes.io/master": ""}, pod.NodeSelector)
	tolerated := func(key string, effect corev1.TaintEffect) corev1.Toleration {
		return corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: effect}
	}
	leaves := func(key string) corev1.Toleration {
		toleration := tolerated(key, corev1.TaintEffectNoExecute)
		toleration.TolerationSeconds = ptr.To[int64](120)
		return toleration
	}
	require.Equal(t, []corev1.Toleration{
		tolerated("node-role.kubernetes.io/master", corev1.TaintEffectNoSchedule),
		tolerated("node.cloudprovider.kubernetes.io/uninitialized", corev1.TaintEffectNoSchedule),
		tolerated("node.kubernetes.io/not-ready", corev1.TaintEffectNoSchedule),
		tolerated("node.kubernetes.io/network-unavailable", corev1.TaintEffectNoSchedule),
		leaves("node.kubernetes.io/not-ready"),
		leaves("node.kubernetes.io/unreachable"),
	}, pod.Tolerations)
}

// The static pod and the node manager must start before any component that could remove a taint.
func TestTheOperandToleratesEveryTaint(t *testing.T) {
	checked := 0
	for _, pod := range pods(t) {
		if pod.partial || strings.HasPrefix(pod.name, "manifests/") {
			continue
		}
		require.Equal(t, []corev1.Toleration{{Operator: corev1.TolerationOpExists}}, pod.spec.Tolerations, pod.name)
		checked++
	}
	require.Equal(t, 2, checked, "the static pod and the node manager")
}
