package simulation

import (
	"fmt"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/apitest"
)

// changeAndReboot installs, rolls a change out, and switches the leader's machine off for three minutes.
func changeAndReboot(w *world) {
	w.installed()
	was := w.state().latest
	w.pass(time.Minute, nil)
	w.configure(1)
	require.True(w, w.pass(10*time.Minute, func() bool { return w.state().latest > was && w.healthy() }), "%+v", w.state())
	w.fault(func() {
		leader := w.someLeader()
		w.note("FAULT the machine %s is off", leader.name)
		leader.mutex.Lock()
		leader.powerOff()
		leader.mutex.Unlock()
		w.pass(3*time.Minute, nil)
		leader.reboot()
	})
	w.recovered()
	w.rest(3 * time.Minute)
}

func TestOneAndTwoNodesInstallChangeAndReboot(t *testing.T) {
	for name, p := range map[string]plan{
		"a single node": {[]string{"m0"}, configv1.SingleReplicaTopologyMode, 50 * time.Second, 5 * time.Second},
		"two nodes with an arbiter, which has no static pod": {
			[]string{"m0", "m1", "w0"}, configv1.HighlyAvailableArbiterMode, 50 * time.Second, 5 * time.Second,
		},
	} {
		t.Run(name, func(t *testing.T) { p.simulate(t, 1, changeAndReboot) })
	}
}

// manage sets the management state as an administrator does, who confirms a removal.
func (w *world) manage(state string) {
	w.note("CHANGE managementState %s", state)
	w.api.Edit("administrator", operators, operatorKey, func(o object) bool {
		spec, _ := o["spec"].(map[string]any)
		spec["managementState"] = state
		return true
	})
	w.rules.removes = true
	if state != "Removed" {
		return
	}
	w.api.Edit("administrator", operators, operatorKey, func(o object) bool {
		apitest.Meta(o)["annotations"] = map[string]any{
			"cloudcontrollermanager.operator.openshift.io/confirmed-removal": fmt.Sprint(apitest.Meta(o)["generation"]),
		}
		return true
	})
}

func TestARemovalLeavesNoStaticPodAndIsUndone(t *testing.T) {
	scenario(t, func(w *world) {
		w.manage("Removed")
		isRemoved := func() bool {
			return conditionsOf(w.api.Get(operators, operatorKey))["Removing"].reason == "Removed"
		}
		require.True(w, w.pass(5*time.Minute, isRemoved), "%+v", conditionsOf(w.api.Get(operators, operatorKey))["Removing"])
		for _, o := range w.api.List(pods) {
			require.Empty(w, annotation(o, corev1.MirrorPodAnnotationKey), "%s is left", apitest.Key(o))
		}
		w.mutex.Lock()
		for _, m := range w.masters() {
			require.Nil(w, m.manifest(), m.name)
		}
		w.mutex.Unlock()
		w.manage("Managed")
		w.pass(2*time.Minute, w.healthy)
		w.rules.removes = false
	})
}
