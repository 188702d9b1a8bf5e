// Package takeover replaces the cloud-controller-managers (CCMs) of the Deployment-based predecessor. It lets them run
// until the static pods stand by, then deletes their Deployments, waits until their pods have ended and releases their
// lease. Every step follows from what exists, so a restarted operator continues.
//
// The cluster-version-operator deletes the predecessor's other objects: it applies manifests with the annotation
// release.openshift.io/delete after the ClusterOperator, for which it waits.
package takeover

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	corev1informers "k8s.io/client-go/informers/core/v1"
	"k8s.io/utils/ptr"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane/leaseholder"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/observedplatform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/reconciler"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/predecessor"
)

const (
	name = "Takeover"

	// askAgain is the delay before kubecontrollermanager/cluster is read again.
	askAgain = 30 * time.Second
)

// The reasons of TakingOver while it is True, in the order of the steps.
const (
	waitingForStaticPods = "WaitingForStaticPods"
	stoppingPredecessor  = "StoppingPredecessor"
	releasingLease       = "ReleasingLease"
	startingStaticPods   = "StartingStaticPods"
	waitingForLeader     = "WaitingForLeader"
)

type controller struct {
	dependencies.Deps
	namespaces corev1informers.NamespaceInformer
	inTree     func(context.Context) (bool, error)
	// externalOnly is set once kube-controller-manager does not run the cloud controllers. It never does so again.
	externalOnly bool
}

// New returns the controller that writes the condition TakingOver on managed platforms. namespaces must watch the
// namespace of the operand. inTree reports whether kube-controller-manager runs the cloud controllers.
func New(
	d dependencies.Deps, namespaces corev1informers.NamespaceInformer, inTree func(context.Context) (bool, error),
) factory.Controller {
	dependencies.Require(d, namespaces, inTree)
	f := factory.New().
		WithInformers(d.Target.Apps().V1().Deployments().Informer(), d.Target.Core().V1().Pods().Informer(),
			d.Nodes.Informer(), namespaces.Informer(), d.Lease).
		WithBareInformers(d.Infrastructures.Informer())
	c := &controller{Deps: d, namespaces: namespaces, inTree: inTree}
	return reconciler.From(f, name, d.Operator, d.Recorder, c.sync)
}

// step is the state of the take-over; its zero value is the end.
type step struct {
	reason, message string
	// next is when to look again without an event, 0 for never.
	next time.Duration
}

type action func(ctx context.Context, c *controller) error

func (c *controller) sync(ctx context.Context, syncCtx factory.SyncContext) error {
	managed, known, err := observedplatform.Managed(c.Operator)
	if err != nil || !known {
		return err
	}
	if !managed {
		return c.tidy(ctx)
	}
	v, err := c.view(ctx)
	if err != nil {
		return err
	}
	at, actions := v.decide()
	for _, act := range actions {
		if err := act(ctx, c); err != nil {
			return err
		}
	}
	reconciler.After(syncCtx, at.next)
	return operatorclient.ApplyConditions(ctx, c.Operator, name,
		operatorclient.Problem(predecessor.ConditionType, at.reason, at.message))
}

// tidy drops the run-level label on a platform that needs no CCM, where the predecessor ran none either. The label
// stays during a removal, which may precede a downgrade, and where an administrator may run a CCM that needs it.
func (c *controller) tidy(ctx context.Context) error {
	v, err := c.View()
	if err != nil || len(v.Pods()) > 0 {
		return err
	}
	observed, err := observedplatform.Config(&v.Spec().OperatorSpec)
	if err != nil || observed.Platform != platform.None ||
		platform.AbsenceOf(&observed.Cluster.Status) != platform.NotNeeded {
		return err
	}
	return dropRunLevel(ctx, c)
}

// view adds the predecessor's Deployments, and whether kube-controller-manager runs the cloud controllers.
type view struct {
	controlplane.View
	inTree      bool
	deployments []*appsv1.Deployment
}

func (c *controller) view(ctx context.Context) (v *view, err error) {
	v = &view{}
	if !c.externalOnly {
		if v.inTree, err = c.inTree(ctx); err != nil {
			return nil, err
		}
		c.externalOnly = !v.inTree
	}
	if v.deployments, err = predecessor.Deployments(c.Target.Apps().V1().Deployments().Lister()); err != nil {
		return nil, err
	}
	v.View, err = c.View()
	return v, err
}

// decide returns the next actions, and the step after them.
func (v *view) decide() (at step, actions []action) {
	switch {
	case v.inTree:
		return step{reason: predecessor.InTreeReason, next: askAgain, message: "kube-controller-manager runs the cloud " +
			"controllers: CloudControllerOwner of kubecontrollermanager/cluster is True; nothing is installed before " +
			"its operator sets that condition to False, so check clusteroperator/kube-controller-manager"}, nil
	case len(v.deployments) > 0:
		return v.stop()
	case len(v.Predecessors()) > 0:
		return v.stopping(), nil
	case !v.isStarted():
		return step{}, []action{dropRunLevel}
	}
	return v.replace()
}

func (v *view) stop() (at step, actions []action) {
	var running []string
	for _, d := range v.deployments {
		if d.DeletionTimestamp == nil {
			running = append(running, "deployment/"+d.Name)
			actions = append(actions, deletion(d))
		}
	}
	if missing := v.missing(); len(running) > 0 && (missing != "" || !v.isStarted()) {
		return step{reason: waitingForStaticPods, message: fmt.Sprintf(
			"%s of this operator's predecessor keeps running until the static pods stand by%s; if they do not come, a "+
				"Degraded condition or PreflightNotices has the cause", strings.Join(running, ", "), missing)}, nil
	}
	return v.stopping(), actions
}

// missing returns what must exist before the predecessor may stop, as the end of a sentence, or "".
//
// Every control-plane node must have a Ready static pod, except for the last one, which needs only the images: its
// process starts seconds after the predecessor has ended, and asks for the lease at once, a standby up to 57 s later.
//
// A node where a pod of the predecessor occupies the port cannot have a static pod. If that is so on every node, as on
// a single node, the images must be there: the kubelet pulls them before an installer runs.
func (v *view) missing() string {
	if len(v.Status().NodeStatuses) == 0 {
		return ": no control-plane node is known yet"
	}
	var absent []string
	free := 0
	for _, node := range v.Status().NodeStatuses {
		if v.occupied(node.NodeName) {
			continue
		}
		free++
		if node.CurrentRevision == 0 || !controlplane.IsReady(v.StaticPod(node.NodeName)) {
			absent = append(absent, "node/"+node.NodeName)
		}
	}
	switch {
	case len(absent) == 1 && free > 1 && v.installsOn(absent[0]):
		return ""
	case len(absent) > 0:
		return ": waiting for " + strings.Join(absent, ", ")
	case free == 0 && !slices.ContainsFunc(v.Pods(), v.installs):
		return ": waiting for an installer pod that has pulled the images; the port 10258 is occupied on every node"
	}
	return ""
}

func (v *view) installsOn(node string) bool {
	return slices.ContainsFunc(v.Pods(), func(pod *corev1.Pod) bool {
		return "node/"+pod.Spec.NodeName == node && v.installs(pod)
	})
}

func (v *view) occupied(node string) bool {
	return slices.ContainsFunc(v.Predecessors(), func(pod *corev1.Pod) bool {
		return pod.Spec.NodeName == node && predecessor.ListensOn10258(&pod.Spec)
	})
}

// installs reports whether a pod is an installer of the latest revision, and the static pod's images are pulled.
func (v *view) installs(pod *corev1.Pod) bool {
	return controlplane.Installs(pod, pod.Spec.NodeName, v.Status().LatestAvailableRevision) &&
		pod.DeletionTimestamp == nil &&
		len(pod.Status.InitContainerStatuses) > 0 &&
		!slices.ContainsFunc(pod.Status.InitContainerStatuses, func(c corev1.ContainerStatus) bool {
			return c.State.Terminated == nil || c.State.Terminated.ExitCode != 0
		})
}

// stopping waits for the pods, then for the Deployments. A Deployment that a person deleted without its pods left a
// ReplicaSet that keeps them. A finalizer of another client keeps a Deployment without pods.
func (v *view) stopping() step {
	var pods, kept []string
	orphaned := false
	for _, pod := range v.Predecessors() {
		pods = append(pods, fmt.Sprintf("pod/%s on node/%s", pod.Name, pod.Spec.NodeName))
		orphaned = orphaned || len(v.deployments) == 0 && pod.DeletionTimestamp == nil
	}
	for _, d := range v.deployments {
		foreign := slices.DeleteFunc(slices.Clone(d.Finalizers), func(f string) bool {
			return f == metav1.FinalizerDeleteDependents
		})
		if len(foreign) > 0 {
			kept = append(kept, fmt.Sprintf("; if nothing else removes the finalizers of deployment/%s, remove them: %s",
				d.Name, strings.Join(foreign, ", ")))
		}
	}
	waiting := "its Deployment to be deleted" + strings.Join(kept, "")
	if len(pods) > 0 {
		waiting = strings.Join(pods, ", ") + " to end"
		if orphaned {
			waiting += fmt.Sprintf("; their Deployment was deleted without them: as soon as the static pods are Ready, run: "+
				"oc delete replicasets -n %s -l %s", operand.Namespace, predecessor.Label)
		}
	}
	return step{reason: stoppingPredecessor, message: "the predecessor is being stopped; waiting for " + waiting}
}

// isStarted reports whether TakingOver is True because of the predecessor. Nothing of the predecessor is stopped
// before: without its Deployments, only this condition records that its lease may be left.
func (v *view) isStarted() bool {
	conditions := v.Status().Conditions
	return predecessor.Remains(conditions) && predecessor.LetsInstall(conditions)
}

func (v *view) replace() (at step, actions []action) {
	holder := v.Holder()
	if v.isPredecessors(holder) {
		reports := func(node *corev1.Node) bool { return controlplane.KubeletOf(node) == controlplane.KubeletReady }
		if !slices.ContainsFunc(v.NodesOf(holder.Identity), reports) {
			return step{reason: releasingLease, next: holder.ExpiresIn, message: fmt.Sprintf(
				"the predecessor has stopped; lease/%s in %s is held by %q on a node that does not report, and expires by itself",
				operand.Lease, operand.Namespace, holder.Identity)}, nil
		}
		actions = append(actions, release(v.Record().Lease))
	}
	actions = append(actions, dropRunLevel)
	switch {
	case !v.IsInstalled():
		at = step{reason: startingStaticPods, message: "the predecessor has stopped; waiting for the first static pod"}
	case !holder.State.Runs():
		at = step{reason: waitingForLeader, message: fmt.Sprintf("the predecessor has stopped; waiting for a static "+
			"pod to acquire lease/%s in %s; if none does within a minute, check the logs of the container %s",
			operand.Lease, operand.Namespace, operand.Name)}
	}
	return at, actions
}

// deletion deletes a Deployment in the foreground, so that it exists until its pods have ended.
func deletion(d *appsv1.Deployment) action {
	return func(ctx context.Context, c *controller) error {
		err := operatorclient.Delete(ctx, c.Kube.AppsV1().Deployments(d.Namespace).Delete, "deployment", d.Namespace,
			d.Name, metav1.DeleteOptions{
				PropagationPolicy: ptr.To(metav1.DeletePropagationForeground),
				Preconditions:     metav1.NewUIDPreconditions(string(d.UID)),
			})
		if err == nil {
			c.Recorder.Eventf("PredecessorStopped", "Deleted deployment/%s in %s: the static pods stand by", d.Name, d.Namespace)
		}
		return err
	}
}

// release releases the lease of the predecessor's last leader, whose CCMs keep it when they end. It would expire after
// 137 seconds. The update fails if the lease has changed since it was read.
func release(lease *coordinationv1.Lease) action {
	return func(ctx context.Context, c *controller) error {
		if err := leaseholder.Release(ctx, c.Kube.CoordinationV1(), lease); err != nil {
			return err
		}
		c.Recorder.Eventf("LeaseReleased", "Released lease/%s in %s: its holder %s, of the predecessor, has ended",
			operand.Lease, operand.Namespace, leaseholder.Identity(lease))
		return nil
	}
}

// runLevel is the predecessor's label on the namespace, which disables OpenShift's security context constraints there.
// The predecessor's pods need it: their ServiceAccount may use no constraint, so recreated pods would be rejected. That
// is why no manifest overwrites the label, and the cluster-version-operator, which merges labels, does not remove it.
const runLevel = "openshift.io/run-level"

func dropRunLevel(ctx context.Context, c *controller) error {
	namespace, err := operatorclient.Find(c.namespaces.Lister(), "namespace", "", operand.Namespace)
	if err != nil || namespace == nil {
		return err
	}
	if _, found := namespace.Labels[runLevel]; !found {
		return nil
	}
	patch := fmt.Sprintf(`{"metadata":{"labels":{%q:null}}}`, runLevel)
	_, err = c.Kube.CoreV1().Namespaces().Patch(ctx, operand.Namespace, types.MergePatchType, []byte(patch),
		metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("removing the label %s of namespace/%s: %w", runLevel, operand.Namespace, err)
	}
	return nil
}

// cloudControllerOwner is the condition of cluster-kube-controller-manager-operator that is True while
// kube-controller-manager runs the cloud controllers.
const cloudControllerOwner = "CloudControllerOwner"

var kubeControllerManagers = schema.GroupVersionResource{
	Group: "operator.openshift.io", Version: "v1", Resource: "kubecontrollermanagers",
}

// InTree returns the function that reads whether kube-controller-manager runs the cloud controllers. It does not in a
// cluster without its operator's resource.
func InTree(client dynamic.Interface) func(context.Context) (bool, error) {
	return func(ctx context.Context) (bool, error) {
		object, err := client.Resource(kubeControllerManagers).Get(ctx, operatorclient.Instance, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		if err != nil {
			return false, fmt.Errorf("reading kubecontrollermanager/%s: %w", operatorclient.Instance, err)
		}
		resource, status := operatorv1.KubeControllerManager{}, map[string]any{"status": object.Object["status"]}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(status, &resource); err != nil {
			return false, fmt.Errorf("reading kubecontrollermanager/%s: %w", operatorclient.Instance, err)
		}
		return v1helpers.IsOperatorConditionTrue(resource.Status.Conditions, cloudControllerOwner), nil
	}
}

// isPredecessors reports whether the predecessor's last leader holds the lease. Releasing it never lets two CCMs lead:
//   - The predecessor's Deployments and pods are gone from the API, so their kubelets have reported that the containers
//     ended. A pod may also vanish because its Node is silent; then the lease expires by itself.
//   - The holder is none of ours, which also stand by: it acquired the lease before the first reported run of the
//     static pod's container on its node, by that node's clock. A static pod without a reported run may lead already.
func (v *view) isPredecessors(holder controlplane.Holder) bool {
	return v.Record().Exists && holder.Identity != "" && holder.State != controlplane.Expired && !v.mayBeOurs(holder)
}

// mayBeOurs reports whether the holder is, or was, in a static pod. Package leadership releases an ended one's lease.
func (v *view) mayBeOurs(holder controlplane.Holder) bool {
	if holder.State.Runs() {
		return true
	}
	pod := v.StaticPod(holder.Node)
	if pod == nil {
		return slices.ContainsFunc(v.Status().NodeStatuses, func(n operatorv1.NodeStatus) bool {
			return (n.CurrentRevision > 0 || n.TargetRevision > 0) &&
				leaseholder.NodeOf(holder.Identity, []string{n.NodeName}) != ""
		})
	}
	container := controlplane.ContainerStatus(pod)
	if last := controlplane.Terminated(container); last != nil {
		return !holder.Acquired.Before(last.StartedAt.Time)
	}
	return container.State.Running == nil || !holder.Acquired.Before(container.State.Running.StartedAt.Time)
}
