package removal

import (
	"testing"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
)

func TestTheStaticPodOfANodeThatLostItsLabelIsRemoved(t *testing.T) {
	lost := master("master-1", "True")
	lost.Labels = nil
	w := newWorld(t, master("master-0", "True"), lost, staticPodOn("master-1"),
		pod("removal-master-0", "removal", "master-0", corev1.PodSucceeded),
		&corev1.ConfigMap{ObjectMeta: meta("node-files"), Data: map[string]string{"master-1": "{}"}})
	w.status.Conditions = []operatorv1.OperatorCondition{{Type: "Removing", Status: "True", Reason: "RemovingStaticPods"}}
	w.syncs(t, 2)
	require.Equal(t, []string{"create pods removal-master-1"}, w.writes())

	w.delete(t, operand.Name+"-master-1")
	w.syncs(t, 1)
	require.Equal(t, "True RemovingStaticPods: waiting for node/master-1: pod/removal-master-1 is",
		w.condition("Removing"), "the removal pod deletes the files after the static pod has ended")

	w.end(t, "removal-master-1", corev1.PodSucceeded, "")
	w.syncs(t, 1)
	require.Equal(t, "True RemovingObjects: removing the objects that the operator created", w.condition("Removing"))
}

// A kubelet may make mirror pods on its node with any name and label. A removal pod there would give it a token that
// reads the cloud credentials.
func TestAWorkerWithAForgedStaticPodGetsNoRemovalPod(t *testing.T) {
	for _, step := range []string{"RemovingStaticPods", "Removed"} {
		for _, forged := range []*corev1.Pod{
			staticPodOn("worker-0"), pod("removal-worker-0", "removal", "worker-0", corev1.PodFailed),
		} {
			t.Run(step+" "+forged.Name, func(t *testing.T) {
				worker := master("worker-0", "True")
				worker.Labels = nil
				w := newWorld(t, master("master-0", "True"), worker, forged,
					pod("removal-master-0", "removal", "master-0", corev1.PodSucceeded),
					&corev1.ConfigMap{ObjectMeta: meta("node-files"), Data: map[string]string{"master-0": "{}"}})
				w.status.Conditions = []operatorv1.OperatorCondition{{Type: "Removing", Status: "True", Reason: step}}
				w.syncs(t, 1)
				w.clock.Step(retryPeriod)
				w.syncs(t, 1)
				require.NotContains(t, w.writes(), "create pods removal-worker-0")
				require.NotContains(t, w.condition("Removing"), "worker-0: ")
			})
		}
	}
}

// Whoever deletes a mirror pod, its kubelet makes it again.
func TestForgedPodsHoldUpNoRemoval(t *testing.T) {
	for step, want := range map[string]string{
		"RemovingStaticPods": "True RemovingObjects: removing the objects that the operator created",
		"RemovingObjects":    "True Removed: " + stepMessages["Removed"],
		"Removed":            "True Removed:",
		"Restoring":          "",
	} {
		t.Run(step, func(t *testing.T) {
			w := newWorld(t, master("master-0", "True"), pod("removal-master-0", "removal", "master-0", corev1.PodSucceeded))
			if step != "RemovingStaticPods" {
				w.delete(t, "removal-master-0")
			}
			for _, app := range []string{"installer", "pruner", "handover", "removal", "cloud-controller-manager-preflight"} {
				for _, node := range []string{"master-0", "worker-0"} {
					forged := pod("forged-"+app+"-"+node, app, node, corev1.PodRunning)
					forged.Annotations = map[string]string{"kubernetes.io/config.mirror": "1"}
					require.NoError(t, w.kube.Tracker().Add(forged))
				}
			}
			require.NoError(t, w.kube.Tracker().Add(pod(operand.Name+"-master-0", operand.Name, "worker-0", corev1.PodRunning)))
			w.static = 0
			w.status.Conditions = []operatorv1.OperatorCondition{{Type: "Removing", Status: "True", Reason: step}}
			if step == "Restoring" {
				w.spec.ManagementState = operatorv1.Managed
			}
			w.syncs(t, 1)
			require.Equal(t, want, w.condition("Removing"))
			for _, write := range w.writes() {
				require.NotContains(t, write, "forged-")
			}
		})
	}
}

// The caches may be older than a write of a controller that has just ended.
func TestTheDeletionOfObjectsIsVerified(t *testing.T) {
	w := newWorld(t, &corev1.ConfigMap{ObjectMeta: meta("client-ca")})
	w.static = 0
	w.status.Conditions = []operatorv1.OperatorCondition{{Type: "Removing", Status: "True", Reason: "RemovingObjects"}}
	w.syncs(t, 1)
	require.Empty(t, w.existing(t))
	isRemoving := "True RemovingObjects: " + stepMessages["RemovingObjects"]
	require.Equal(t, isRemoving, w.condition("Removing"), "a second look must find nothing")

	require.NoError(t, w.kube.Tracker().Add(&corev1.ConfigMap{ObjectMeta: meta("node-files")}))
	w.syncs(t, 1)
	require.Empty(t, w.existing(t))
	require.Equal(t, isRemoving, w.condition("Removing"), "this look found something")

	w.syncs(t, 1)
	require.Contains(t, w.condition("Removing"), "True Removed: ")
}
