package simulation

import (
	"fmt"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
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
		leader.turnOff()
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

// The tokens of the CCMs last for two days, and only the operator issues others. It waits for its own lock for up to a
// minute, and does not know whose lease the CCMs' is: it waits for 137 s more, and a standby asks after up to 57 s.
func TestAClusterThatWasOffForDaysLeadsSoonAfterItsStart(t *testing.T) {
	scenario(t, func(w *world) {
		w.operator.kill()
		for _, m := range w.machines {
			m.turnOff()
		}
		w.network.set(func() { w.network.isDown = true })
		pause(w.ctx, 49*time.Hour)
		require.Zero(w, w.expired.Load())
		w.network.set(func() { w.network.isDown = false })
		for _, m := range w.machines {
			m.reboot()
		}
		began := w.now()
		go w.operator.replace(false, 10*time.Second)
		require.True(w, w.pass(5*time.Minute, func() bool { return w.allLead() && w.healthy() }), "%+v", w.state())
		require.NotZero(w, w.expired.Load(), "no token has expired")
		w.Logf("all is well %s after the start", w.now()-began)
	})
}

// predecessorPods are the Deployment of the predecessor and its pods, see pkg/predecessor.
func (w *world) predecessorPods(nodes ...string) {
	labels := map[string]string{
		"k8s-app": "openstack-cloud-controller-manager", "infrastructure.openshift.io/cloud-controller-manager": "OpenStack",
	}
	deployment := &appsv1.Deployment{ObjectMeta: named(target, labels["k8s-app"])}
	deployment.Labels, deployment.UID = labels, "predecessor"
	deployment.Spec.Template.Spec.Containers = []corev1.Container{{Name: operand.Name, Command: []string{
		"openstack-cloud-controller-manager", "--secure-port=0", "--leader-elect-lease-duration=137s",
		"--leader-elect-renew-deadline=107s", "--leader-elect-retry-period=26s",
	}}}
	subject := rbacv1.Subject{Kind: "ServiceAccount", Namespace: target, Name: operand.Name}
	for _, o := range []runtime.Object{
		deployment,
		&rbacv1.Role{ObjectMeta: named(target, operand.Name), Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{leases.Group}, Resources: []string{leases.Resource}, Verbs: []string{"get", "create", "update"}}}},
		&rbacv1.RoleBinding{ObjectMeta: named(target, operand.Name), Subjects: []rbacv1.Subject{subject},
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: operand.Name}},
	} {
		w.api.Put("predecessor", w.api.Encode(o))
	}
	for _, node := range nodes {
		pod := &corev1.Pod{ObjectMeta: named(target, deployment.Name+"-"+node), Spec: deployment.Spec.Template.Spec}
		pod.Labels, pod.Spec.NodeName, pod.Status.Phase = labels, node, corev1.PodPending
		pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: deployment.Name, UID: deployment.UID}}
		w.api.Put("predecessor", w.api.Encode(pod))
	}
}

func TestTheOperatorTakesOverFromItsPredecessor(t *testing.T) {
	simulate(t, 1, func(w *world) {
		w.predecessorPods("m0", "m1")
		isLed := func() bool { return holderOf(w.api.Get(leases, leaseKey)) != "" }
		require.True(w, w.pass(2*time.Minute, isLed), "the predecessor does not lead")
		former := holderOf(w.api.Get(leases, leaseKey))
		w.installed()
		require.Empty(w, w.api.List(resource("apps", "deployments")))
		require.NotEqual(w, former, holderOf(w.api.Get(leases, leaseKey)))
		require.True(w, w.allLead())
		w.Logf("installed after %s, longest without a leader %s", w.now(), w.rules.longest)
		w.rest(3 * time.Minute)
	})
}
