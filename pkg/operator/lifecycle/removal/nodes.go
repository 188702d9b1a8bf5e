package removal

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/loglevel"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/pager"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/filesyncer"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/hostpod"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/observedplatform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/terminationmessage"
)

const appRemoval = "removal"

// appWriters are the apps whose pods write files of the operand.
var appWriters = []string{controlplane.InstallerApp, controlplane.PrunerApp, controlplane.HandoverApp}

// retryPeriod is how long a failed removal pod stays, so that its log can be read and retries do not load the node.
const retryPeriod = 15 * time.Second

// finalizerLimit is how long a deleted pod may stay after the end of its grace period before its finalizers are named.
const finalizerLimit = time.Minute

// listUninitialized returns the nodes that wait for the cloud-controller-manager, as node/name. It reads live objects,
// in pages and only before a removal starts: the informers have only the control plane.
func (c *controller) listUninitialized(ctx context.Context) ([]string, error) {
	var waiting []string
	list := pager.New(pager.SimplePageFunc(func(options metav1.ListOptions) (runtime.Object, error) {
		return c.Kube.CoreV1().Nodes().List(ctx, options)
	}))
	err := list.EachListItem(ctx, metav1.ListOptions{}, func(object runtime.Object) error {
		if node, ok := object.(*corev1.Node); ok && controlplane.IsUninitialized(node) {
			waiting = append(waiting, "node/"+node.Name)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("listing nodes: %w", err)
	}
	slices.Sort(waiting)
	return waiting, nil
}

// nodes returns the Nodes to clean, sorted by name: those of the control plane, and those that lost its label but have
// a static pod or a removal pod. A deleted Node needs no removal: its static pods cannot act without its kubelet, and
// if the Node returns, stayRemoved finds its static pod.
func (c *controller) nodes(ctx context.Context) ([]*corev1.Node, error) {
	nodes, err := operatorclient.All(c.Nodes.Lister(), "nodes")
	if err != nil {
		return nil, err
	}
	pods, err := c.podsOf(operand.Name, appRemoval)
	if err != nil {
		return nil, err
	}
	reports, err := c.ConfigMap(filesyncer.ReportConfigMap)
	if err != nil {
		return nil, err
	}
	withoutRole, err := operatorclient.NodesWithoutRole(ctx, c.Kube.CoreV1(), pods, nodes, reports)
	if err != nil {
		return nil, err
	}
	nodes = append(nodes, withoutRole...)
	slices.SortFunc(nodes, func(a, b *corev1.Node) int { return strings.Compare(a.Name, b.Name) })
	return nodes, nil
}

// removeStaticPods is a step: it runs removal pods on all nodes at once.
func (c *controller) removeStaticPods(ctx context.Context, syncCtx factory.SyncContext,
	spec *operatorv1.StaticPodOperatorSpec, status *operatorv1.StaticPodOperatorStatus,
) error {
	if err := c.forgetRevisions(ctx, status); err != nil {
		return err
	}
	nodes, err := c.nodes(ctx)
	if err != nil {
		return err
	}
	var waiting, problems []string
	for _, node := range nodes {
		wait, problem, err := c.clean(ctx, syncCtx, spec, node.Name)
		if err != nil {
			return err
		}
		if wait == "" && problem == "" {
			continue
		}
		if controlplane.KubeletOf(node) == controlplane.KubeletSilent {
			problem = fmt.Sprintf("node/%s does not report, so its static pod cannot be removed: start its kubelet, or "+
				"delete the Node if the machine is gone", node.Name)
		}
		waiting = append(waiting, fmt.Sprintf("node/%s: %s", node.Name, wait))
		if problem != "" {
			problems = append(problems, problem)
		}
	}
	if len(waiting) > 0 {
		return c.report(ctx, observedplatform.RemovingStaticPods, waiting, problems)
	}
	if err := c.enter(ctx, observedplatform.RemovingObjects); err != nil {
		return err
	}
	c.Recorder.Eventf("StaticPodsRemoved", "Removed the static pods and their files from %d nodes", len(nodes))
	return nil
}

// clean takes the next step of cleaning a node. It returns what the node waits for, "" if it is clean, and what failed.
func (c *controller) clean(
	ctx context.Context, syncCtx factory.SyncContext, spec *operatorv1.StaticPodOperatorSpec, node string,
) (waiting, problem string, err error) {
	// library-go's installer controller has ended, but its last pod may still write.
	writers, err := c.removePods(ctx, node, appWriters...)
	if err != nil || len(writers) > 0 {
		return strings.Join(endsOf("", writers), ", "), c.keptBy(syncCtx, writers...), err
	}
	pod, err := c.Pod(podName(node))
	if err != nil {
		return "", "", err
	}
	switch {
	case pod == nil:
		waiting, err = c.createPod(ctx, spec, node)
		return waiting, "", err
	case pod.DeletionTimestamp != nil:
		return fmt.Sprintf("the end of pod/%s", pod.Name), c.keptBy(syncCtx, pod), nil
	case pod.Spec.NodeName != node: // Another node's kubelet may create a mirror pod of any name.
		return fmt.Sprintf("the end of pod/%s on node/%s", pod.Name, pod.Spec.NodeName), "", c.deletePod(ctx, pod)
	case pod.Status.Phase == corev1.PodSucceeded:
		exists, err := c.staticPodExists(node)
		if err != nil || !exists {
			return "", "", err
		}
		// An installer has written the manifest again.
		return fmt.Sprintf("another pod/%s", pod.Name), "", c.deletePod(ctx, pod)
	case pod.Status.Phase == corev1.PodFailed:
		waiting = fmt.Sprintf("another pod/%s", pod.Name)
		problem = fmt.Sprintf("pod/%s in %s failed: %s", pod.Name, operand.Namespace, failureOf(pod))
		if left := retryPeriod - c.Clock.Since(endOf(pod, c.Clock.Now())); left > 0 {
			syncCtx.Queue().AddAfter(syncCtx.QueueKey(), left)
			return waiting, problem, nil
		}
		return waiting, problem, c.deletePod(ctx, pod)
	}
	return fmt.Sprintf("pod/%s is %s", pod.Name, pod.Status.Phase), startFailureOf(pod), nil
}

func (c *controller) podsOf(apps ...string) ([]*corev1.Pod, error) {
	pods, err := c.Pods()
	if err != nil {
		return nil, err
	}
	pods = slices.DeleteFunc(pods, func(pod *corev1.Pod) bool { return !slices.Contains(apps, pod.Labels["app"]) })
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return pods, nil
}

// removePods deletes the pods of these apps, or only those that run on a node, and returns them.
func (c *controller) removePods(ctx context.Context, node string, apps ...string) (left []*corev1.Pod, err error) {
	pods, err := c.podsOf(apps...)
	if err != nil {
		return nil, err
	}
	for _, pod := range pods {
		isElsewhere := node != "" && (pod.Spec.NodeName != node || controlplane.HasEnded(pod))
		if controlplane.IsMirror(pod) || isElsewhere {
			continue
		}
		if err := c.deletePod(ctx, pod); err != nil {
			return nil, err
		}
		left = append(left, pod)
	}
	return left, nil
}

// keptBy returns a message about the first deleted pod that its finalizers keep, "" if there is none yet. It requeues
// for a pod whose time is not over, because nothing else may change.
func (c *controller) keptBy(syncCtx factory.SyncContext, deleted ...*corev1.Pod) string {
	for _, pod := range deleted {
		if pod.DeletionTimestamp == nil || len(pod.Finalizers) == 0 {
			continue
		}
		if left := finalizerLimit - c.Clock.Since(pod.DeletionTimestamp.Time); left > 0 {
			syncCtx.Queue().AddAfter(syncCtx.QueueKey(), left)
			continue
		}
		return fmt.Sprintf("pod/%s in %s: %s", pod.Name, operand.Namespace, operatorclient.Held(pod))
	}
	return ""
}

// onNode precedes the name of a pod's node in a message.
const onNode = " on node/"

// endsOf describes pods whose end is awaited, with their nodes after on unless that is empty.
func endsOf(on string, pods []*corev1.Pod) []string {
	ends := make([]string, 0, len(pods))
	for _, pod := range pods {
		end := "the end of pod/" + pod.Name
		if on != "" {
			end += on + pod.Spec.NodeName
		}
		ends = append(ends, end)
	}
	return ends
}

// endPods deletes the pods of these apps and returns them, except for those that only a silent kubelet could end,
// perhaps never. It starts none that is being deleted, and what runs there still holds the lock that an installer waits
// for. If it writes a manifest, stayRemoved finds the static pod.
func (c *controller) endPods(ctx context.Context, apps ...string) ([]*corev1.Pod, error) {
	left, err := c.removePods(ctx, "", apps...)
	if err != nil {
		return nil, err
	}
	nodes, err := c.nodes(ctx)
	if err != nil {
		return nil, err
	}
	isSilent := func(pod *corev1.Pod) bool {
		return slices.ContainsFunc(nodes, func(node *corev1.Node) bool {
			return node.Name == pod.Spec.NodeName && controlplane.KubeletOf(node) == controlplane.KubeletSilent
		})
	}
	return slices.DeleteFunc(left, isSilent), nil
}

func (c *controller) deletePod(ctx context.Context, pod *corev1.Pod) error {
	if pod.DeletionTimestamp != nil {
		return nil
	}
	return operatorclient.Delete(ctx, c.Kube.CoreV1().Pods(operand.Namespace).Delete, "pod", operand.Namespace, pod.Name,
		metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(pod.UID))})
}

// staticPodExists ignores a mirror pod of that name that another node's kubelet created.
func (c *controller) staticPodExists(node string) (bool, error) {
	pod, err := c.Pod(operand.Name + "-" + node)
	return pod != nil && pod.Spec.NodeName == node, err
}

// startFailureOf returns why the kubelet does not start a container, "" if it does.
func startFailureOf(pod *corev1.Pod) string {
	i := slices.IndexFunc(pod.Status.ContainerStatuses, controlplane.IsStuck)
	if i < 0 {
		return ""
	}
	waiting := pod.Status.ContainerStatuses[i].State.Waiting
	return fmt.Sprintf("pod/%s in %s does not start: %s", pod.Name, operand.Namespace,
		cmp.Or(terminationmessage.Summary(waiting.Message), terminationmessage.Cut(waiting.Reason)))
}

func failureOf(pod *corev1.Pod) string {
	for _, status := range pod.Status.ContainerStatuses {
		if ended := status.State.Terminated; ended != nil && ended.Message != "" {
			return terminationmessage.Summary(ended.Message)
		}
	}
	if pod.Status.Message != "" {
		return terminationmessage.Cut(pod.Status.Message)
	}
	return "read its log"
}

// endOf ignores an end that is far in the future: the clock of the node is wrong.
func endOf(pod *corev1.Pod, now time.Time) time.Time {
	end := pod.CreationTimestamp.Time
	for _, status := range pod.Status.ContainerStatuses {
		ended := status.State.Terminated
		if ended != nil && ended.FinishedAt.After(end) && ended.FinishedAt.Time.Before(now.Add(retryPeriod)) {
			end = ended.FinishedAt.Time
		}
	}
	return end
}

func podName(node string) string { return "removal-" + node }

func (c *controller) createPod(
	ctx context.Context, spec *operatorv1.StaticPodOperatorSpec, node string,
) (waiting string, err error) {
	// staticresources creates it again after a removal.
	account, err := operatorclient.Find(c.Target.Core().V1().ServiceAccounts().Lister().ServiceAccounts(operand.Namespace),
		"serviceaccount", operand.Namespace, hostpod.ServiceAccount)
	if err != nil {
		return "", err
	}
	if account == nil {
		return "serviceaccount/" + hostpod.ServiceAccount, nil
	}
	server, err := observedplatform.APIServer(&spec.OperatorSpec)
	if err != nil {
		return "", err
	}
	pod := newPod(node, c.OperatorImage, loglevel.LogLevelToVerbosity(spec.LogLevel), server)
	_, err = c.Kube.CoreV1().Pods(operand.Namespace).Create(ctx, pod, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return "", fmt.Errorf("creating pod/%s in %s: %w", pod.Name, operand.Namespace, err)
	}
	return "pod/" + pod.Name, nil
}

// newPod returns a node's removal pod. It uses the installers' rights to read the mirror pod and to write an Event.
func newPod(node, image string, verbosity int, server *url.URL) *corev1.Pod {
	return hostpod.New(hostpod.Options{
		Name: podName(node), App: appRemoval, Node: node, Image: image, Command: "remove",
		Args: []string{
			"--resource-dir=" + hostpod.ResourceDir,
			"--cert-dir=" + path.Join(hostpod.ResourceDir, operand.CertDir),
			"--pod-manifest-dir=" + hostpod.ManifestDir,
		},
		Verbosity: verbosity, Server: server,
	})
}
