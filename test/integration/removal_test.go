package integration_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// The operator is killed at each step of the removal. On Azure, every kind of object exists.
func TestRemovedAndManagedAgain(t *testing.T) {
	run := func(name string, step func(*testing.T)) { require.True(t, t.Run(name, step)) }
	c := startCluster(t, configv1.AzurePlatformType)
	before := c.objects(t)
	kubelet := c.startKubelet(t)
	kubelet.runsStaticPods.Store(true)
	kubelet.runsDaemons.Store(true)
	start := func() *operator {
		return c.startOperator(t, "AZURE_IMAGE=localhost/azure:new", "AZURE_NODE_MANAGER_IMAGE=localhost/azure-node-manager:new")
	}
	o := start()
	c.awaitNodeRevision(t, 1)
	c.hold(t, onlyNode+"_ours", time.Now().Add(-time.Minute))
	c.createNode(t, "worker-0")

	run("it waits while a node is uninitialized", func(t *testing.T) {
		installed := c.objects(t)
		c.patchSpec(t, `{"spec":{"managementState":"Removed"}}`)
		const message = "spec.managementState is Removed, but these nodes wait for the cloud-controller-manager to initialize them: " +
			"node/worker-0; wait until they are initialized, delete them, or set spec.removalPolicy to Force"
		c.awaitCondition(t, "Removing", operatorv1.ConditionFalse, message)
		c.awaitCondition(t, "RemovalDegraded", operatorv1.ConditionTrue, message)
		require.Subset(t, c.objects(t), installed)
		c.awaitNodeRevision(t, 1)
	})
	run("a removal that is taken back before a node is clean ends no static pod", func(t *testing.T) {
		before, err := c.kube.CoreV1().Pods(targetNamespace).Get(t.Context(), staticPod, metav1.GetOptions{})
		require.NoError(t, err)
		c.patchSpec(t, `{"spec":{"removalPolicy":"Force"}}`)
		await(t, "the removal pod", func(ctx context.Context) error {
			_, err := c.kube.CoreV1().Pods(targetNamespace).Get(ctx, "removal-"+onlyNode, metav1.GetOptions{})
			return err
		})
		c.patchSpec(t, `{"spec":{"managementState":"Managed"}}`)
		c.awaitNodeRevision(t, 1)
		after, err := c.kube.CoreV1().Pods(targetNamespace).Get(t.Context(), staticPod, metav1.GetOptions{})
		require.NoError(t, err)
		require.Equal(t, before.UID, after.UID)
	})
	run("by force, it removes the static pods first, whatever happens to the operator", func(t *testing.T) {
		c.patchSpec(t, `{"spec":{"managementState":"Removed"}}`)
		c.awaitStep(t, "RemovingStaticPods")
		c.killOperator(t, o)
		require.Contains(t, c.objects(t), "configmap/cloud-controller-manager-pod-1")
		o = start()
		await(t, "the removal pod", func(ctx context.Context) error {
			_, err := c.kube.CoreV1().Pods(targetNamespace).Get(ctx, "removal-"+onlyNode, metav1.GetOptions{})
			return err
		})
		c.awaitClusterOperator(t, configv1.OperatorProgressing, configv1.ConditionTrue, "is being removed")
		c.killOperator(t, o)
		kubelet.removes.Store(true)
		o = start()
	})
	run("then its objects, and nothing of others", func(t *testing.T) {
		c.awaitRemoved(t)
		require.Equal(t, before, c.objects(t))
		lease, err := c.kube.CoordinationV1().Leases(targetNamespace).Get(t.Context(), ccmName, metav1.GetOptions{})
		require.NoError(t, err)
		require.Empty(t, *lease.Spec.HolderIdentity)
	})
	run("the operator is healthy and reports versions", func(t *testing.T) {
		const message = "spec.managementState of cloudcontrollermanager/cluster is Removed"
		c.awaitClusterOperator(t, configv1.OperatorAvailable, configv1.ConditionTrue, message)
		c.awaitClusterOperator(t, configv1.OperatorProgressing, configv1.ConditionFalse, message)
		c.awaitClusterOperator(t, configv1.OperatorDegraded, configv1.ConditionFalse, "")
		require.Len(t, c.versions(t), 3)
		resource, err := c.resource(t.Context())
		require.NoError(t, err)
		for _, condition := range resource.Status.Conditions {
			if condition.Type == "CloudControllerManagerAvailable" {
				require.Equal(t, "Removed", condition.Reason)
			}
			require.NotContains(t, condition.Message, "revision", condition.Type)
			require.False(t, strings.HasSuffix(condition.Type, "Degraded") && condition.Status == operatorv1.ConditionTrue, condition.Message)
		}
	})
	run("another process of the operator leaves it at that", func(t *testing.T) {
		o.terminate(t)
		o = start()
		o.awaitLog(t, "Caches are synced for RemovalController")
		c.remains(t, 3*time.Second, configv1.OperatorAvailable, configv1.ConditionTrue, "is Removed")
		require.Equal(t, before, c.objects(t))
	})
	run("a static pod that comes back with its node is removed", func(t *testing.T) {
		_, err := c.kube.CoreV1().Pods(targetNamespace).Create(t.Context(), &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: staticPod, Labels: map[string]string{"app": ccmName}},
			Spec: corev1.PodSpec{
				NodeName: onlyNode, AutomountServiceAccountToken: ptr.To(false),
				Containers: []corev1.Container{{Name: ccmName, Image: "localhost/azure:new"}},
			},
		}, metav1.CreateOptions{})
		require.NoError(t, err)
		await(t, "the end of the static pod", func(ctx context.Context) error {
			_, err := c.kube.CoreV1().Pods(targetNamespace).Get(ctx, staticPod, metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return nil
			}
			return errors.Join(err, errors.New("it exists"))
		})
		c.awaitRemoved(t)
		require.Equal(t, before, c.objects(t))
	})
	run("everything comes back", func(t *testing.T) {
		c.patchSpec(t, `{"spec":{"managementState":"Managed","removalPolicy":null}}`)
		c.awaitNodeRevision(t, 2)
		c.hold(t, onlyNode+"_again", time.Now())
		c.awaitCondition(t, "CloudControllerManagerProgressing", operatorv1.ConditionFalse, "1 of 3 control-plane nodes run revision 2")
		c.awaitCondition(t, "CloudControllerManagerAvailable", operatorv1.ConditionTrue,
			"1 of 3 cloud-controller-managers are Ready; the one on node/master-0 leads")
		await(t, "the DaemonSet", func(ctx context.Context) error {
			_, err := c.kube.AppsV1().DaemonSets(targetNamespace).Get(ctx, nodeManagers, metav1.GetOptions{})
			return err
		})
		resource, err := c.resource(t.Context())
		require.NoError(t, err)
		for _, condition := range resource.Status.Conditions {
			require.False(t, condition.Type == "Removing" || condition.Type == "RemovalDegraded", "%+v", condition)
			require.NotEqual(t, "Removed", condition.Reason, condition.Type)
		}
	})
	c.noRequestDenied(t)
}

// killOperator kills the process of the operator, and releases its own lease so that the next one starts at once.
func (c *cluster) killOperator(t *testing.T, o *operator) {
	t.Helper()
	o.kill(t)
	_, err := c.kube.CoordinationV1().Leases(operatorNamespace).Patch(t.Context(), "cluster-cloud-controller-manager-operator-lock",
		types.MergePatchType, []byte(`{"spec":{"holderIdentity":""}}`), metav1.PatchOptions{})
	require.NoError(t, err)
}

// awaitStep waits for a step of the removal.
func (c *cluster) awaitStep(t *testing.T, step string) {
	t.Helper()
	await(t, step, func(ctx context.Context) error {
		resource, err := c.resource(ctx)
		if err != nil {
			return err
		}
		for _, condition := range resource.Status.Conditions {
			if condition.Type == "Removing" && condition.Status == operatorv1.ConditionTrue && condition.Reason == step {
				return nil
			}
		}
		return fmt.Errorf("the conditions are\n%s", describe(resource.Status.Conditions))
	})
}

func (c *cluster) awaitRemoved(t *testing.T) {
	t.Helper()
	c.awaitStep(t, "Removed")
}

// objects lists what exists in the operand's namespace, and the objects with the operator's label outside of it. Leases
// and events do not count.
func (c *cluster) objects(t *testing.T) []string {
	t.Helper()
	ctx, all := t.Context(), metav1.ListOptions{}
	var found []string
	add := func(kind string, object metav1.Object) { found = append(found, kind+"/"+object.GetName()) }

	configMaps, err := c.kube.CoreV1().ConfigMaps(targetNamespace).List(ctx, all)
	require.NoError(t, err)
	for i := range configMaps.Items {
		add("configmap", &configMaps.Items[i])
	}
	for _, namespace := range []string{targetNamespace, operatorNamespace} {
		secrets, err := c.kube.CoreV1().Secrets(namespace).List(ctx, all)
		require.NoError(t, err)
		for i := range secrets.Items {
			add("secret", &secrets.Items[i])
		}
	}
	accounts, err := c.kube.CoreV1().ServiceAccounts(targetNamespace).List(ctx, all)
	require.NoError(t, err)
	for i := range accounts.Items {
		add("serviceaccount", &accounts.Items[i])
	}
	services, err := c.kube.CoreV1().Services(targetNamespace).List(ctx, all)
	require.NoError(t, err)
	for i := range services.Items {
		add("service", &services.Items[i])
	}
	pods, err := c.kube.CoreV1().Pods(targetNamespace).List(ctx, all)
	require.NoError(t, err)
	for i := range pods.Items {
		if !isDaemon(&pods.Items[i]) { // kube-controller-manager deletes it later
			add("pod", &pods.Items[i])
		}
	}
	daemonSets, err := c.kube.AppsV1().DaemonSets(targetNamespace).List(ctx, all)
	require.NoError(t, err)
	for i := range daemonSets.Items {
		add("daemonset", &daemonSets.Items[i])
	}
	for _, namespace := range []string{targetNamespace, "kube-system"} {
		bindings, err := c.kube.RbacV1().RoleBindings(namespace).List(ctx, all)
		require.NoError(t, err)
		for i := range bindings.Items {
			add("rolebinding", &bindings.Items[i])
		}
	}
	labelled := metav1.ListOptions{LabelSelector: "app.kubernetes.io/managed-by=cloud-controller-manager-operator"}
	clusterBindings, err := c.kube.RbacV1().ClusterRoleBindings().List(ctx, labelled)
	require.NoError(t, err)
	for i := range clusterBindings.Items {
		add("clusterrolebinding", &clusterBindings.Items[i])
	}
	policies, err := c.kube.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings().List(ctx, labelled)
	require.NoError(t, err)
	for i := range policies.Items {
		add("validatingadmissionpolicybinding", &policies.Items[i])
	}
	slices.Sort(found)
	return found
}
