package integration_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"

	ccmv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
)

const ccmName = "cloud-controller-manager"

var masters = []string{"master-0", "master-1", "master-2"}

// A cluster without kubelets: the test writes Nodes, pods and the lease as kubelets and cloud-controller-managers
// would.
func TestStatusTellsTheTruthAboutProcessesAndNodes(t *testing.T) {
	t.Parallel()
	c := startCluster(t, configv1.OpenStackPlatformType)
	c.startOperator(t)
	for _, node := range masters {
		c.register(t, node)
	}
	started := time.Now().Add(-2 * time.Minute)
	revision := c.install(t, started)

	t.Run("the lease has no holder", func(t *testing.T) {
		c.awaitClusterOperator(t, configv1.OperatorAvailable, configv1.ConditionFalse, "lease/cloud-controller-manager in "+
			"openshift-cloud-controller-manager has no holder; 3 of 3 cloud-controller-managers are Ready")
	})
	t.Run("the predecessor's process on the same host is foreign", func(t *testing.T) {
		c.hold(t, "master-0_predecessor", started.Add(-time.Hour))
		c.awaitClusterOperator(t, configv1.OperatorAvailable, configv1.ConditionFalse,
			`is held by "master-0_predecessor", which is not a container of this operator's cloud-controller-manager pods`)
	})
	t.Run("ours leads once it has stayed up", func(t *testing.T) {
		c.hold(t, "master-0_ours", time.Now().Add(-20*time.Second))
		c.awaitClusterOperator(t, configv1.OperatorAvailable, configv1.ConditionFalse, `is held by "master-0_ours" on node/master-0, which has not yet held it for 30s`)
		c.awaitClusterOperator(t, configv1.OperatorAvailable, configv1.ConditionTrue,
			"3 of 3 cloud-controller-managers are Ready; the one on node/master-0 leads")
	})
	client := c.dynamic.Resource(ccmv1.Resource)
	for name, lose := range map[string]func(t *testing.T, resource *unstructured.Unstructured) error{
		"a status that is wiped is no outage": func(t *testing.T, resource *unstructured.Unstructured) error {
			resource.Object["status"] = map[string]any{}
			_, err := client.UpdateStatus(t.Context(), resource, metav1.UpdateOptions{})
			return err
		},
		"a resource that is created again is no outage": func(t *testing.T, _ *unstructured.Unstructured) error {
			if err := client.Delete(t.Context(), "cluster", metav1.DeleteOptions{}); err != nil {
				return err
			}
			created := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"managementState": "Managed"}}}
			created.SetGroupVersionKind(ccmv1.Kind)
			created.SetName("cluster")
			_, err := client.Create(t.Context(), created, metav1.CreateOptions{})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			recorded := c.recordOutages(t)
			require.NoError(t, retry.RetryOnConflict(retry.DefaultRetry, func() error {
				resource, err := client.Get(t.Context(), "cluster", metav1.GetOptions{})
				if err != nil {
					return err
				}
				return lose(t, resource)
			}))
			revision = c.install(t, started)
			c.awaitCondition(t, "CloudControllerManagerProgressing", operatorv1.ConditionFalse,
				fmt.Sprintf("3 of 3 control-plane nodes run revision %d", revision))
			require.Empty(t, recorded())
		})
	}
	t.Run("a leader that was restarted within the second of its acquisition has ended", func(t *testing.T) {
		second := time.Now().Truncate(time.Second)
		require.NoError(t, retry.RetryOnConflict(retry.DefaultRetry, func() error {
			lease, err := c.kube.CoordinationV1().Leases(targetNamespace).Get(t.Context(), ccmName, metav1.GetOptions{})
			if err != nil {
				return err
			}
			lease.Spec.HolderIdentity = ptr.To("master-2_ours")
			lease.Spec.AcquireTime = &metav1.MicroTime{Time: second.Add(60 * time.Millisecond)}
			lease.Spec.RenewTime = lease.Spec.AcquireTime
			_, err = c.kube.CoordinationV1().Leases(targetNamespace).Update(t.Context(), lease, metav1.UpdateOptions{})
			return err
		}))
		c.crash(t, "master-2", started, second)
		c.run(t, "master-2", second)
		c.awaitClusterOperator(t, configv1.OperatorAvailable, configv1.ConditionTrue,
			`is held by "master-2_ours", a container on node/master-2 that has ended`)
	})
	c.hold(t, "master-0_ours", time.Now().Add(-time.Minute))
	c.awaitClusterOperator(t, configv1.OperatorAvailable, configv1.ConditionTrue, "the one on node/master-0 leads")
	t.Run("kubectl get shows what runs and what is wanted", func(t *testing.T) {
		want := map[string]any{
			"Name": "cluster", "Available": "True", "Revision": int64(revision), "Platform": "openstack",
			"Message": "3 of 3 cloud-controller-managers are Ready; the one on node/master-0 leads",
		}
		await(t, "the table", func(context.Context) error {
			if row := c.printed(t); !reflect.DeepEqual(want, row) {
				return fmt.Errorf("it is %v", row)
			}
			return nil
		})
	})
	t.Run("a node that is not at the latest revision is named", func(t *testing.T) {
		_, err := c.dynamic.Resource(ccmv1.Resource).Patch(t.Context(), "cluster", types.MergePatchType,
			[]byte(`{"spec":{"forceRedeploymentReason":"a test"}}`), metav1.PatchOptions{})
		require.NoError(t, err)
		c.awaitRevision(t, revision+1)
		c.awaitClusterOperator(t, configv1.OperatorProgressing, configv1.ConditionTrue, fmt.Sprintf(
			"CloudControllerManagerProgressing: 0 of 3 control-plane nodes run revision %d, node/master-0 runs revision %d, ", revision+1, revision))
		require.Equal(t, int64(revision+1), c.printed(t)["Revision"])
		c.install(t, started)
	})
	t.Run("a crash loop degrades, though its container runs in between", func(t *testing.T) {
		begin := time.Now().Add(-6 * time.Minute)
		for range 2 {
			c.crash(t, "master-1", begin, begin.Add(2*time.Second))
			c.awaitCondition(t, "CloudControllerManagerAvailable", operatorv1.ConditionTrue,
				"2 of 3 cloud-controller-managers are Ready; the one on node/master-0 leads")
			c.run(t, "master-1", time.Now())
			c.awaitCondition(t, "CloudControllerManagerAvailable", operatorv1.ConditionTrue,
				"3 of 3 cloud-controller-managers are Ready; the one on node/master-0 leads")
			begin = begin.Add(time.Minute)
		}
		c.crash(t, "master-1", time.Now().Add(-3*time.Second), time.Now().Add(-time.Second))
		const want = `CrashLoopDegraded: container cloud-controller-manager of pod/cloud-controller-manager-master-1 keeps exiting, last with code 255 and ` +
			`"Cloud provider could not be initialized: Post \"https://<redacted>@keystone:1/v3\": connection refused"`
		c.awaitClusterOperator(t, configv1.OperatorDegraded, configv1.ConditionTrue, want)
		c.run(t, "master-1", time.Now())
		c.remains(t, 5*time.Second, configv1.OperatorDegraded, configv1.ConditionTrue, want)
		require.NotContains(t, c.clusterOperator(t, configv1.OperatorDegraded).Message, "FLAG")
		require.NotContains(t, c.clusterOperator(t, configv1.OperatorDegraded).Message, "back-off")
	})
	t.Run("Nodes that vanish are counted and reported", func(t *testing.T) {
		for _, node := range masters[1:] {
			require.NoError(t, c.kube.CoreV1().Nodes().Delete(t.Context(), node, metav1.DeleteOptions{}))
			err := c.kube.CoreV1().Pods(targetNamespace).Delete(t.Context(), ccmName+"-"+node, metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)})
			require.NoError(t, err)
		}
		const vanished = "node/master-1, node/master-2 vanished while the static pod cloud-controller-manager ran there, 1 of 3 control-plane Nodes exist; " +
			"restart the kubelet so that the Node registers again, or replace the machine"
		c.awaitCondition(t, "ControlPlaneNodesDegraded", operatorv1.ConditionTrue, vanished)
		c.awaitClusterOperator(t, configv1.OperatorAvailable, configv1.ConditionTrue, "1 of 3 cloud-controller-managers are Ready; the one on node/master-0 leads")
	})
	t.Run("a Node that does not exist does not lead", func(t *testing.T) {
		c.hold(t, "master-1_ours", time.Now().Add(-time.Minute))
		c.awaitClusterOperator(t, configv1.OperatorAvailable, configv1.ConditionTrue,
			`is held by "master-1_ours" on node/master-1, which is no longer a control-plane Node`)
	})
}

// register creates a control-plane Node whose kubelet works until the test ends.
func (c *cluster) register(t *testing.T, name string) {
	t.Helper()
	c.createMaster(t, name)
	c.live(t, name)
}

// live renews a Node's lease until the test ends, like its kubelet. After 40 s without a heartbeat the node controller
// marks the Node as unreachable.
func (c *cluster) live(t *testing.T, name string) {
	t.Helper()
	lease, err := c.kube.CoordinationV1().Leases("kube-node-lease").Create(t.Context(), &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &name, LeaseDurationSeconds: ptr.To[int32](40), RenewTime: &metav1.MicroTime{Time: time.Now()}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	client := c.unthrottled(t)
	go wait.UntilWithContext(t.Context(), func(ctx context.Context) {
		// The next round repairs a failure.
		lease.Spec.RenewTime = &metav1.MicroTime{Time: time.Now()}
		if renewed, err := client.CoordinationV1().Leases("kube-node-lease").Update(ctx, lease, metav1.UpdateOptions{}); err == nil {
			lease = renewed
		}
		keepReady(ctx, client, name)
	}, time.Second)
}

// createMaster creates the Node of a machine whose kubelet works.
func (c *cluster) createMaster(t *testing.T, name string) {
	t.Helper()
	_, err := c.kube.CoreV1().Nodes().Create(t.Context(), &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"node-role.kubernetes.io/master": "", "kubernetes.io/os": "linux"}},
		Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{
			{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastHeartbeatTime: metav1.Now()},
		}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
}

// keepReady restores Nodes that the node controller marked as unreachable while the machine was busy.
func keepReady(ctx context.Context, client kubernetes.Interface, name string) {
	node, err := client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return
	}
	for i := range node.Status.Conditions {
		if condition := &node.Status.Conditions[i]; condition.Type == corev1.NodeReady && condition.Status != corev1.ConditionTrue {
			condition.Status, condition.LastHeartbeatTime = corev1.ConditionTrue, metav1.Now()
			_, _ = client.CoreV1().Nodes().UpdateStatus(ctx, node, metav1.UpdateOptions{})
		}
	}
	pod, err := client.CoreV1().Pods(targetNamespace).Get(ctx, ccmName+"-"+name, metav1.GetOptions{})
	if err != nil || len(pod.Status.ContainerStatuses) == 0 || !pod.Status.ContainerStatuses[0].Ready {
		return
	}
	for i := range pod.Status.Conditions {
		if condition := &pod.Status.Conditions[i]; condition.Type == corev1.PodReady && condition.Status != corev1.ConditionTrue {
			condition.Status = corev1.ConditionTrue
			_, _ = client.CoreV1().Pods(targetNamespace).UpdateStatus(ctx, pod, metav1.UpdateOptions{})
		}
	}
}

// unthrottled returns a client with its own rate limit.
func (c *cluster) unthrottled(t *testing.T) kubernetes.Interface {
	t.Helper()
	config := rest.CopyConfig(c.RESTConfig())
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	return client
}

// install makes every installer pod succeed, with static pods that run since started, until all nodes are at one
// revision.
func (c *cluster) install(t *testing.T, started time.Time) int32 {
	t.Helper()
	var revision int32
	await(t, "a revision on every node", func(ctx context.Context) error {
		pods, err := c.kube.CoreV1().Pods(targetNamespace).List(ctx, metav1.ListOptions{LabelSelector: "app=installer"})
		if err != nil {
			return err
		}
		for _, pod := range pods.Items {
			if pod.Status.Phase != corev1.PodSucceeded {
				c.finish(ctx, t, &pod, started)
			}
		}
		resource, err := c.resource(ctx)
		if err != nil {
			return err
		}
		revision = resource.Status.LatestAvailableRevision
		if len(resource.Status.NodeStatuses) != len(masters) {
			return fmt.Errorf("there are %d nodes", len(resource.Status.NodeStatuses))
		}
		for _, node := range resource.Status.NodeStatuses {
			if node.CurrentRevision != revision || revision == 0 {
				return fmt.Errorf("%+v is not at revision %d", node, revision)
			}
		}
		return nil
	})
	return revision
}

// finish ends an installer pod and starts its static pod.
func (c *cluster) finish(ctx context.Context, t *testing.T, installer *corev1.Pod, started time.Time) {
	t.Helper()
	pods := c.kube.CoreV1().Pods(targetNamespace)
	node := installer.Spec.NodeName
	revision, _, _ := strings.Cut(strings.TrimPrefix(installer.Name, "installer-"), "-")
	_, err := strconv.Atoi(revision)
	require.NoError(t, err, installer.Name)
	err = pods.Delete(ctx, ccmName+"-"+node, metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)})
	require.True(t, err == nil || apierrors.IsNotFound(err), "%v", err)
	_, err = pods.Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: ccmName + "-" + node, Labels: map[string]string{"app": ccmName, "revision": revision},
		},
		Spec: corev1.PodSpec{
			NodeName:                     node,
			AutomountServiceAccountToken: ptr.To(false),
			Containers:                   []corev1.Container{{Name: ccmName, Image: "localhost/openstack:new"}},
			Tolerations:                  []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	c.run(t, node, started)
	installer.Status.Phase = corev1.PodSucceeded
	installer.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "installer", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{FinishedAt: metav1.Now()}},
	}}
	_, err = pods.UpdateStatus(ctx, installer, metav1.UpdateOptions{})
	require.NoError(t, err)
}

// report writes the container's status on a node.
func (c *cluster) report(t *testing.T, node string, ready bool, change func(*corev1.ContainerStatus)) {
	t.Helper()
	pods := c.kube.CoreV1().Pods(targetNamespace)
	require.NoError(t, retry.RetryOnConflict(retry.DefaultRetry, func() error {
		pod, err := pods.Get(t.Context(), ccmName+"-"+node, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if len(pod.Status.ContainerStatuses) == 0 {
			pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: ccmName, Image: "localhost/openstack:new", ImageID: "x"}}
		}
		status := corev1.ConditionFalse
		if ready {
			status = corev1.ConditionTrue
		}
		change(&pod.Status.ContainerStatuses[0])
		pod.Status.ContainerStatuses[0].Ready = ready
		pod.Status.Phase = corev1.PodRunning
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: status}}
		_, err = pods.UpdateStatus(t.Context(), pod, metav1.UpdateOptions{})
		return err
	}))
}

// run starts the container on a node.
func (c *cluster) run(t *testing.T, node string, started time.Time) {
	t.Helper()
	c.report(t, node, true, func(status *corev1.ContainerStatus) {
		status.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(started)}}
	})
}

// crash ends a run of the container on a node and starts its back-off.
func (c *cluster) crash(t *testing.T, node string, started, finished time.Time) {
	t.Helper()
	c.report(t, node, false, func(status *corev1.ContainerStatus) {
		status.RestartCount++
		status.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{
			Reason: "CrashLoopBackOff", Message: "back-off 5m0s restarting failed container=" + ccmName,
		}}
		status.LastTerminationState = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: 255, Reason: "Error", StartedAt: metav1.NewTime(started), FinishedAt: metav1.NewTime(finished),
			Message: "F" + finished.UTC().Format("0102 15:04:05.000000") + "       1 main.go:72] Cloud provider could not be initialized: " +
				"Post \"https://ccm:hunter2@keystone:1/v3\": connection refused\n",
		}}
	})
}

// hold assigns the lease to a process with the given acquire time, and renews it until another process holds it.
func (c *cluster) hold(t *testing.T, identity string, acquired time.Time) {
	t.Helper()
	leases := c.unthrottled(t).CoordinationV1().Leases(targetNamespace)
	_, err := leases.Create(t.Context(), &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: ccmName}}, metav1.CreateOptions{})
	require.True(t, err == nil || apierrors.IsAlreadyExists(err), "%v", err)
	var lease *coordinationv1.Lease
	renew := func(ctx context.Context) error {
		lease.Spec = coordinationv1.LeaseSpec{
			HolderIdentity: &identity, LeaseDurationSeconds: ptr.To[int32](137),
			AcquireTime: &metav1.MicroTime{Time: acquired}, RenewTime: &metav1.MicroTime{Time: time.Now()},
		}
		renewed, err := leases.Update(ctx, lease, metav1.UpdateOptions{})
		if err == nil {
			lease = renewed
		}
		return err
	}
	require.NoError(t, retry.RetryOnConflict(retry.DefaultRetry, func() error {
		if lease, err = leases.Get(t.Context(), ccmName, metav1.GetOptions{}); err != nil {
			return err
		}
		return renew(t.Context())
	}))
	go func() {
		// The renewals end with a conflict when another process holds the lease, and with the test.
		_ = wait.PollUntilContextCancel(t.Context(), 5*time.Second, false, func(ctx context.Context) (bool, error) {
			return false, renew(ctx)
		})
	}()
}

// clusterOperator returns a condition of the ClusterOperator.
func (c *cluster) clusterOperator(t *testing.T, conditionType configv1.ClusterStatusConditionType) configv1.ClusterOperatorStatusCondition {
	t.Helper()
	operator, err := c.config.ConfigV1().ClusterOperators().Get(t.Context(), "cloud-controller-manager", metav1.GetOptions{})
	require.NoError(t, err)
	for _, condition := range operator.Status.Conditions {
		if condition.Type == conditionType {
			return condition
		}
	}
	require.Fail(t, "there is no such condition", conditionType)
	return configv1.ClusterOperatorStatusCondition{}
}

// recordOutages records from now on when the ClusterOperator is unavailable. It is Unknown while the operator's resource
// has no conditions.
func (c *cluster) recordOutages(t *testing.T) (recorded func() []string) {
	t.Helper()
	client := c.config.ConfigV1().ClusterOperators()
	list, err := client.List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	watcher, err := client.Watch(t.Context(), metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	require.NoError(t, err)
	t.Cleanup(watcher.Stop)
	var mutex sync.Mutex
	var outages []string
	go func() {
		for event := range watcher.ResultChan() {
			operator, is := event.Object.(*configv1.ClusterOperator)
			if !is {
				continue
			}
			for _, condition := range operator.Status.Conditions {
				if condition.Type == configv1.OperatorAvailable && condition.Status == configv1.ConditionFalse {
					mutex.Lock()
					outages = append(outages, condition.Reason+": "+condition.Message)
					mutex.Unlock()
				}
			}
		}
	}()
	return func() []string {
		mutex.Lock()
		defer mutex.Unlock()
		return slices.Clone(outages)
	}
}

// remains checks a condition of the ClusterOperator for some time.
func (c *cluster) remains(t *testing.T, duration time.Duration, conditionType configv1.ClusterStatusConditionType, status configv1.ConditionStatus, text string) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, duration, true, func(context.Context) (bool, error) {
		condition := c.clusterOperator(t, conditionType)
		require.Equal(t, status, condition.Status, condition.Message)
		require.Contains(t, condition.Message, text)
		return false, nil
	})
	require.True(t, wait.Interrupted(err), "%v", err)
}

// printed returns the output of kubectl get for the operator resource, without its age.
func (c *cluster) printed(t *testing.T) map[string]any {
	t.Helper()
	table := &metav1.Table{}
	require.NoError(t, c.config.ConfigV1().RESTClient().Get().
		AbsPath("/apis/operator.openshift.io/v1/cloudcontrollermanagers/cluster").
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").
		Do(t.Context()).Into(table))
	cells := map[string]any{}
	for i, column := range table.ColumnDefinitions {
		cells[column.Name] = table.Rows[0].Cells[i]
	}
	delete(cells, "Age")
	return cells
}
