package suite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	ccmv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/ote/internal/extension"
)

const (
	prefix = "[sig-cloud-provider][OCPFeatureGate:StaticPodCloudControllerManager] cloud-controller-managers "

	clusterOperator = "cloud-controller-manager"
	uninitialized   = "node.cloudprovider.kubernetes.io/uninitialized"
	controlPlane    = "node-role.kubernetes.io/master"

	// renewalLimit is how long a leader may not renew its lease: two jittered retry periods.
	renewalLimit = 2 * time.Minute
)

// operatorTests are the operator's own.
func operatorTests() []spec {
	gate := `featureGates.exists(g, g=="StaticPodCloudControllerManager")`
	parallel := func(name string, run func(context.Context, *cluster) error) spec {
		return spec{
			name: prefix + name + inParallel, labels: []string{conformance},
			lifecycle: extension.Blocking, include: gate, run: managed(run),
		}
	}
	return []spec{
		parallel("should be Available, with one leader and one revision on every control-plane node", settled),
		parallel("should initialize every Node", initialized),
		parallel("should not be able to delete a Node whose kubelet reports", cannotDelete),
		{
			name:      prefix + "should roll a revision out without an outage [Serial]" + inSerial,
			labels:    []string{conformance, serial},
			lifecycle: extension.Blocking, include: gate, isolationMode: "exec", run: managed(rollout),
		},
	}
}

// managed skips a test where the operator runs no cloud-controller-manager.
func managed(run func(context.Context, *cluster) error) func(context.Context, *cluster) error {
	return func(ctx context.Context, c *cluster) error {
		resource, err := c.resource(ctx)
		if apierrors.IsNotFound(err) {
			return extension.Skip("the cluster has no cloudcontrollermanager.operator.openshift.io/cluster")
		}
		if err != nil {
			return err
		}
		if resource.Status.LatestAvailableRevision == 0 {
			return extension.Skip("the operator runs no cloud-controller-manager on this platform")
		}
		return run(ctx, c)
	}
}

func (c *cluster) resource(ctx context.Context) (*ccmv1.CloudControllerManager, error) {
	object, err := c.dynamic.Resource(ccmv1.Resource).Get(ctx, ccmv1.InstanceName, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	resource := &ccmv1.CloudControllerManager{}
	return resource, runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, resource)
}

func settled(ctx context.Context, c *cluster) error {
	return c.await(ctx, "a settled operator", c.isSettled)
}

// isSettled returns why the cloud-controller-managers are not as the operator wants them.
func (c *cluster) isSettled(ctx context.Context) error {
	if err := c.isHealthy(ctx); err != nil {
		return err
	}
	resource, err := c.resource(ctx)
	if err != nil {
		return err
	}
	latest := resource.Status.LatestAvailableRevision
	nodes, err := c.kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: controlPlane})
	if err != nil {
		return err
	}
	if len(nodes.Items) == 0 {
		return errors.New("no Node has the label " + controlPlane)
	}
	for _, node := range nodes.Items {
		at := slices.IndexFunc(resource.Status.NodeStatuses, func(s operatorv1.NodeStatus) bool {
			return s.NodeName == node.Name
		})
		if at < 0 || resource.Status.NodeStatuses[at].CurrentRevision != latest {
			return fmt.Errorf("node/%s is not at revision %d: %+v", node.Name, latest, resource.Status.NodeStatuses)
		}
		pod, err := c.kube.CoreV1().Pods(operand.Namespace).Get(ctx, operand.Name+"-"+node.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if !isReady(pod) {
			return fmt.Errorf("pod/%s is not Ready", pod.Name)
		}
	}
	return c.isLed(ctx)
}

// isHealthy returns why the ClusterOperator is not Available, or is Progressing or Degraded.
func (c *cluster) isHealthy(ctx context.Context) error {
	operator, err := c.config.ConfigV1().ClusterOperators().Get(ctx, clusterOperator, metav1.GetOptions{})
	if err != nil {
		return err
	}
	for _, want := range []configv1.ClusterOperatorStatusCondition{
		{Type: configv1.OperatorAvailable, Status: configv1.ConditionTrue},
		{Type: configv1.OperatorProgressing, Status: configv1.ConditionFalse},
		{Type: configv1.OperatorDegraded, Status: configv1.ConditionFalse},
	} {
		i := slices.IndexFunc(operator.Status.Conditions,
			func(c configv1.ClusterOperatorStatusCondition) bool { return c.Type == want.Type })
		if i < 0 {
			return fmt.Errorf("clusteroperator/%s has no condition %s", clusterOperator, want.Type)
		}
		if found := operator.Status.Conditions[i]; found.Status != want.Status {
			return fmt.Errorf("clusteroperator/%s: %s is %s: %s", clusterOperator, found.Type, found.Status, found.Message)
		}
	}
	return nil
}

func (c *cluster) isLed(ctx context.Context) error {
	lease, err := c.kube.CoordinationV1().Leases(operand.Namespace).Get(ctx, operand.Lease, metav1.GetOptions{})
	if err != nil {
		return err
	}
	holder, renewed := ptr.Deref(lease.Spec.HolderIdentity, ""), ptr.Deref(lease.Spec.RenewTime, metav1.MicroTime{})
	if holder == "" {
		return fmt.Errorf("lease/%s has no holder", operand.Lease)
	}
	if silence := time.Since(renewed.Time); silence > renewalLimit {
		return fmt.Errorf("%s has not renewed lease/%s for %s", holder, operand.Lease, silence.Round(time.Second))
	}
	return nil
}

func isReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

func initialized(ctx context.Context, c *cluster) error {
	return c.await(ctx, "initialized Nodes", func(ctx context.Context) error {
		nodes, err := c.kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		var errs []error
		for _, node := range nodes.Items {
			// With the effect PreferNoSchedule it is the operator's question about an initialized Node.
			waits := slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool {
				return t.Key == uninitialized && t.Effect == corev1.TaintEffectNoSchedule
			})
			if waits || node.Spec.ProviderID == "" {
				errs = append(errs, fmt.Errorf("node/%s is not initialized", node.Name))
			}
		}
		return errors.Join(errs...)
	})
}

// cannotDelete asks as a cloud-controller-manager for the deletion of a Node that lives. It is only a dry run.
func cannotDelete(ctx context.Context, c *cluster) error {
	nodes, err := c.kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	at := slices.IndexFunc(nodes.Items, func(n corev1.Node) bool {
		return slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
		})
	})
	if at < 0 {
		return errors.New("no Node is Ready")
	}
	as := rest.CopyConfig(c.rest)
	as.Impersonate = rest.ImpersonationConfig{
		UserName: "system:serviceaccount:" + operand.Namespace + ":" + operand.Name,
		Groups:   []string{"system:serviceaccounts", "system:serviceaccounts:" + operand.Namespace, "system:authenticated"},
	}
	client, err := kubernetes.NewForConfig(as)
	if err != nil {
		return fmt.Errorf("client of the cloud-controller-manager: %w", err)
	}
	dryRun := metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}
	err = client.CoreV1().Nodes().Delete(ctx, nodes.Items[at].Name, dryRun)
	if err == nil {
		return fmt.Errorf("the cloud-controller-manager may delete node/%s, whose kubelet reports", nodes.Items[at].Name)
	}
	if !apierrors.IsForbidden(err) {
		return fmt.Errorf("deleting node/%s as the cloud-controller-manager: %w", nodes.Items[at].Name, err)
	}
	c.logf("refused, as it has to be: %v", err)
	return nil
}

// rollout forces a revision, and requires that the operator stays Available until every node has it.
func rollout(ctx context.Context, c *cluster) error {
	if err := settled(ctx, c); err != nil {
		return err
	}
	before, err := c.resource(ctx)
	if err != nil {
		return err
	}
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{
		"forceRedeploymentReason": "openshift-tests at " + time.Now().UTC().Format(time.RFC3339Nano),
	}})
	if err != nil {
		return fmt.Errorf("patch: %w", err)
	}
	if _, err := c.dynamic.Resource(ccmv1.Resource).Patch(ctx, ccmv1.InstanceName, types.MergePatchType, patch,
		metav1.PatchOptions{}); err != nil {
		return err
	}
	var outage error
	err = c.await(ctx, "the new revision on every node", func(ctx context.Context) error {
		outage = errors.Join(outage, c.isAvailable(ctx))
		after, err := c.resource(ctx)
		if err != nil {
			return err
		}
		if after.Status.LatestAvailableRevision == before.Status.LatestAvailableRevision {
			return fmt.Errorf("revision %d is the latest", before.Status.LatestAvailableRevision)
		}
		return c.isSettled(ctx)
	})
	return errors.Join(err, outage)
}

func (c *cluster) isAvailable(ctx context.Context) error {
	operator, err := c.config.ConfigV1().ClusterOperators().Get(ctx, clusterOperator, metav1.GetOptions{})
	if err != nil {
		return nil //nolint:nilerr // An API server that rolls out itself says nothing about this operator.
	}
	for _, condition := range operator.Status.Conditions {
		if condition.Type == configv1.OperatorAvailable && condition.Status == configv1.ConditionFalse {
			return fmt.Errorf("clusteroperator/%s was not Available: %s", clusterOperator, condition.Message)
		}
	}
	return nil
}
