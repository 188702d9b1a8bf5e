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
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	ccmv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
)

// The operator is killed at each step of the removal. On Azure, every kind of object exists.
func TestRemovedAndManagedAgain(t *testing.T) {
	t.Parallel()
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
	run("it says for a minute what it will do, and is undone without an effect", func(t *testing.T) {
		before, pod := c.objects(t), c.staticPod(t)
		c.patchSpec(t, `{"spec":{"managementState":"Removed"}}`)
		await(t, "the announcement", func(ctx context.Context) error {
			resource, err := c.resource(ctx)
			if err != nil {
				return err
			}
			removing := v1helpers.FindOperatorCondition(resource.Status.Conditions, "Removing")
			if removing == nil {
				return errors.New(describe(resource.Status.Conditions))
			}
			if want := fmt.Sprintf("spec.managementState is Removed: from %s on, every cloud-controller-manager of this cluster is removed, "+
				"and nothing initializes new nodes or updates load balancers then; to keep them, set spec.managementState to Managed before; "+
				"to begin at once, run: oc annotate --overwrite cloudcontrollermanager/cluster "+
				"cloudcontrollermanager.operator.openshift.io/confirmed-removal=%d",
				removing.LastTransitionTime.Add(time.Minute).UTC().Format(time.RFC3339), resource.Generation); removing.Message != want {
				return fmt.Errorf("%+v", removing)
			}
			return nil
		})
		c.patchSpec(t, `{"spec":{"managementState":"Managed"}}`)
		await(t, "the end of the request", func(ctx context.Context) error {
			resource, err := c.resource(ctx)
			if err == nil && v1helpers.FindOperatorCondition(resource.Status.Conditions, "Removing") != nil {
				err = errors.New(describe(resource.Status.Conditions))
			}
			return err
		})
		require.Equal(t, before, c.objects(t))
		require.Equal(t, pod.UID, c.staticPod(t).UID)
		c.awaitNodeRevision(t, 1)
		require.Equal(t, onlyNode+"_ours", c.holder(t))
	})
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
	run("it waits while a Service has a load balancer, too", func(t *testing.T) {
		const finalizer = "service.kubernetes.io/load-balancer-cleanup"
		services := c.kube.CoreV1().Services("default")
		service, err := services.Create(t.Context(), &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: "web", Finalizers: []string{finalizer}},
			Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Port: 80}}},
		}, metav1.CreateOptions{})
		require.NoError(t, err)
		c.awaitCondition(t, "RemovalDegraded", operatorv1.ConditionTrue, "spec.managementState is Removed, but "+
			"these nodes wait for the cloud-controller-manager to initialize them: node/worker-0; wait until they are initialized, delete "+
			"them, or set spec.removalPolicy to Force; and only a cloud-controller-manager can delete the load balancers of these Services, "+
			"and the Services with them: default/web; delete them, or, if another cloud-controller-manager takes over, set "+
			"spec.removalPolicy to Force")
		c.awaitNodeRevision(t, 1)
		require.Equal(t, []string{finalizer}, service.Finalizers)
	})
	run("a removal that is taken back before a node is clean ends no static pod", func(t *testing.T) {
		before := c.staticPod(t)
		c.patchSpec(t, `{"spec":{"removalPolicy":"Force"}}`)
		c.confirmRemoval(t)
		await(t, "the removal pod", func(ctx context.Context) error {
			_, err := c.kube.CoreV1().Pods(targetNamespace).Get(ctx, "removal-"+onlyNode, metav1.GetOptions{})
			return err
		})
		c.patchSpec(t, `{"spec":{"managementState":"Managed"}}`)
		c.awaitNodeRevision(t, 1)
		require.Equal(t, before.UID, c.staticPod(t).UID)
		require.Equal(t, onlyNode+"_ours", c.holder(t))
	})
	run("by force, it removes the static pods first, whatever happens to the operator", func(t *testing.T) {
		c.patchSpec(t, `{"spec":{"managementState":"Removed"}}`)
		c.awaitCondition(t, "Removing", operatorv1.ConditionFalse, "")
		c.killOperator(t, o)
		c.sawRemovalBefore(t, time.Minute)
		o = start()
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
		require.Empty(t, c.holder(t))
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
	run("everything comes back, and is no first installation", func(t *testing.T) {
		const mode = `"clusterServiceLoadBalancerHealthProbeMode": "servicenodeport"`
		c.editConfigMap(t, configNamespace, "cloud-provider-config", func(configMap *corev1.ConfigMap) {
			configMap.Data["config"] = strings.Replace(configMap.Data["config"], "{", "{\n  "+mode+",", 1)
		})
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
		require.NotContains(t, o.log.String(), "lastTransitionTime: Required value")
		config, err := c.kube.CoreV1().Secrets(targetNamespace).Get(t.Context(), "cloud-config", metav1.GetOptions{})
		require.NoError(t, err)
		require.Contains(t, string(config.Data["cloud.conf"]), mode)
	})
	c.noRequestDenied(t)
}

func (c *cluster) staticPod(t *testing.T) *corev1.Pod {
	t.Helper()
	pod, err := c.kube.CoreV1().Pods(targetNamespace).Get(t.Context(), staticPod, metav1.GetOptions{})
	require.NoError(t, err)
	return pod
}

// holder returns the holder of the operand's lease.
func (c *cluster) holder(t *testing.T) string {
	t.Helper()
	lease, err := c.kube.CoordinationV1().Leases(targetNamespace).Get(t.Context(), ccmName, metav1.GetOptions{})
	require.NoError(t, err)
	return *lease.Spec.HolderIdentity
}

// confirmRemoval lets a requested removal begin at once.
func (c *cluster) confirmRemoval(t *testing.T) {
	t.Helper()
	resource, err := c.resource(t.Context())
	require.NoError(t, err)
	_, err = c.dynamic.Resource(ccmv1.Resource).Patch(t.Context(), "cluster", types.MergePatchType, fmt.Appendf(nil,
		`{"metadata":{"annotations":{"cloudcontrollermanager.operator.openshift.io/confirmed-removal":"%d"}}}`, resource.Generation),
		metav1.PatchOptions{})
	require.NoError(t, err)
}

// sawRemovalBefore makes the operator's first sight of the requested removal earlier.
func (c *cluster) sawRemovalBefore(t *testing.T, by time.Duration) {
	t.Helper()
	object, err := c.dynamic.Resource(ccmv1.Resource).Get(t.Context(), "cluster", metav1.GetOptions{})
	require.NoError(t, err)
	conditions, _, err := unstructured.NestedSlice(object.Object, "status", "conditions")
	require.NoError(t, err)
	for _, condition := range conditions {
		if fields := condition.(map[string]any); fields["type"] == "Removing" {
			since, err := time.Parse(time.RFC3339, fields["lastTransitionTime"].(string))
			require.NoError(t, err)
			fields["lastTransitionTime"] = since.Add(-by).Format(time.RFC3339)
		}
	}
	require.NoError(t, unstructured.SetNestedSlice(object.Object, conditions, "status", "conditions"))
	_, err = c.dynamic.Resource(ccmv1.Resource).UpdateStatus(t.Context(), object, metav1.UpdateOptions{})
	require.NoError(t, err)
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
