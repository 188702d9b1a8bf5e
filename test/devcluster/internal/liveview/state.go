// Package liveview shows the operator's progress in a development cluster, and reports when its main task is done.
package liveview

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/nodekeeper"
)

const (
	operatorNamespace = "openshift-cloud-controller-manager-operator"
	targetNamespace   = "openshift-cloud-controller-manager"
	clusterOperator   = "cloud-controller-manager"
)

var (
	operatorResource = schema.GroupVersionResource{Group: "operator.openshift.io", Version: "v1",
		Resource: "cloudcontrollermanagers"}
	statusResource = schema.GroupVersionResource{Group: "config.openshift.io", Version: "v1",
		Resource: "clusteroperators"}
)

// Node is the view of a node.
type Node struct {
	Name          string
	Ready         bool
	Uninitialized bool
	ProviderID    string
	// Current and Target are the revisions that the operator reports for the node, 0 when unknown.
	Current, Target int32
}

// State is a cluster at one moment.
type State struct {
	// Latest is the latest revision, 0 when there is none.
	Latest int32
	// Nodes are sorted by name.
	Nodes []Node
	// Version is the version of the operator that the ClusterOperator reports, empty before that.
	Version string
	// Conditions are the ClusterOperator's, sorted by type.
	Conditions []configv1.ClusterOperatorStatusCondition
	// Waiting are the pods of both namespaces that are neither ready nor completed, with the reason, sorted.
	Waiting []string
}

// Reader reads the State of a cluster.
type Reader struct {
	client  kubernetes.Interface
	dynamic dynamic.Interface
}

// NewReader returns a reader for the cluster of config.
func NewReader(config *rest.Config) (*Reader, error) {
	client, clientErr := kubernetes.NewForConfig(config)
	dynamicClient, dynamicErr := dynamic.NewForConfig(config)
	if err := errors.Join(clientErr, dynamicErr); err != nil {
		return nil, fmt.Errorf("live view: %w", err)
	}
	return &Reader{client: client, dynamic: dynamicClient}, nil
}

// Read returns the cluster's state. Objects that do not exist yet leave their part empty.
func (r *Reader) Read(ctx context.Context) (State, error) {
	nodes, err := r.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return State{}, fmt.Errorf("nodes: %w", err)
	}
	var operator struct {
		Status operatorv1.StaticPodOperatorStatus `json:"status"`
	}
	if err := r.get(ctx, operatorResource, "cluster", &operator); err != nil {
		return State{}, err
	}
	var reported configv1.ClusterOperator
	if err := r.get(ctx, statusResource, clusterOperator, &reported); err != nil {
		return State{}, err
	}
	state := State{Latest: operator.Status.LatestAvailableRevision, Conditions: reported.Status.Conditions}
	slices.SortFunc(state.Conditions, func(a, b configv1.ClusterOperatorStatusCondition) int {
		return strings.Compare(string(a.Type), string(b.Type))
	})
	for _, version := range reported.Status.Versions {
		if version.Name == "operator" {
			state.Version = version.Version
		}
	}
	for _, node := range nodes.Items {
		state.Nodes = append(state.Nodes, describe(&node, operator.Status.NodeStatuses))
	}
	slices.SortFunc(state.Nodes, func(a, b Node) int { return strings.Compare(a.Name, b.Name) })
	state.Waiting, err = r.waiting(ctx)
	return state, err
}

func (r *Reader) get(ctx context.Context, resource schema.GroupVersionResource, name string, into any) error {
	object, err := r.dynamic.Resource(resource).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s/%s: %w", resource.Resource, name, err)
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, into); err != nil {
		return fmt.Errorf("%s/%s: %w", resource.Resource, name, err)
	}
	return nil
}

func describe(node *corev1.Node, statuses []operatorv1.NodeStatus) Node {
	described := Node{Name: node.Name, ProviderID: node.Spec.ProviderID}
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			described.Ready = condition.Status == corev1.ConditionTrue
		}
	}
	for _, taint := range node.Spec.Taints {
		if taint.Key == nodekeeper.UninitializedTaint {
			described.Uninitialized = true
		}
	}
	for _, status := range statuses {
		if status.NodeName == node.Name {
			described.Current, described.Target = status.CurrentRevision, status.TargetRevision
		}
	}
	return described
}

func (r *Reader) waiting(ctx context.Context) ([]string, error) {
	var waiting []string
	for _, namespace := range []string{operatorNamespace, targetNamespace} {
		pods, err := r.client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, fmt.Errorf("pods in %s: %w", namespace, err)
		}
		for _, pod := range pods.Items {
			if reason := whyWaiting(&pod); reason != "" {
				waiting = append(waiting, namespace+"/"+pod.Name+": "+reason)
			}
		}
	}
	slices.Sort(waiting)
	return waiting, nil
}

// whyWaiting returns why the pod is not Ready, "" if it is Ready or has completed.
func whyWaiting(pod *corev1.Pod) string {
	if pod.Status.Phase == corev1.PodSucceeded {
		return ""
	}
	for _, status := range append(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses...) {
		if state := status.State.Waiting; state != nil {
			return strings.TrimSpace(fmt.Sprintf("container %s: %s %s", status.Name, state.Reason, state.Message))
		}
		if state := status.State.Terminated; state != nil && state.ExitCode != 0 {
			return strings.TrimSpace(fmt.Sprintf("container %s: exit code %d %s", status.Name, state.ExitCode,
				state.Message))
		}
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Status == corev1.ConditionTrue || (condition.Type != corev1.PodScheduled &&
			condition.Type != corev1.PodReady) {
			continue
		}
		return strings.TrimSpace(fmt.Sprintf("not %s: %s %s", condition.Type, condition.Reason, condition.Message))
	}
	if pod.Status.Phase == corev1.PodRunning {
		return ""
	}
	return string(pod.Status.Phase)
}

// Goal is the expected end state of a cluster's start.
type Goal int

const (
	// Unmanaged is the goal without an operand: the ClusterOperator is Available.
	Unmanaged Goal = iota
	// Running is the goal without a cloud: every node runs the latest revision but stays uninitialized.
	Running
	// Initialized is the goal with a cloud: every node is also initialized.
	Initialized
	// ImageMissing is the goal without an image: an installer pod waits for it, and the ClusterOperator reports that.
	ImageMissing
)

// Missing returns what keeps the cluster from its goal, nothing if it has reached it.
func (s State) Missing(goal Goal) []string {
	if goal == ImageMissing {
		return s.missingToReportAnImage()
	}
	var missing []string
	if condition := s.condition(configv1.OperatorAvailable); condition.Status != configv1.ConditionTrue {
		missing = append(missing, "ClusterOperator "+clusterOperator+" is not Available: "+describeCondition(condition))
	}
	if goal == Unmanaged {
		return missing
	}
	if s.Latest == 0 {
		missing = append(missing, "there is no revision")
	}
	for _, node := range s.Nodes {
		if node.Current != s.Latest {
			missing = append(missing, fmt.Sprintf("node %s is at revision %d, not %d", node.Name, node.Current,
				s.Latest))
		}
		if node.Uninitialized && goal == Initialized {
			missing = append(missing, fmt.Sprintf("node %s carries the taint %s", node.Name,
				nodekeeper.UninitializedTaint))
		}
	}
	return missing
}

// imagePull matches the kubelet's reasons for an image that cannot be pulled.
var imagePull = regexp.MustCompile("ErrImagePull|ImagePullBackOff")

func (s State) missingToReportAnImage() []string {
	var missing []string
	if !slices.ContainsFunc(s.Waiting, func(pod string) bool {
		return strings.HasPrefix(pod, targetNamespace+"/installer-") && imagePull.MatchString(pod)
	}) {
		missing = append(missing, "no installer pod waits for the image of its static pod")
	}
	if condition := s.condition(configv1.OperatorDegraded); condition.Status != configv1.ConditionTrue ||
		!strings.Contains(condition.Message, "ImagePullDegraded: ") {
		missing = append(missing,
			"ClusterOperator "+clusterOperator+" does not report the image: "+describeCondition(condition))
	}
	return missing
}

func (s State) condition(kind configv1.ClusterStatusConditionType) configv1.ClusterOperatorStatusCondition {
	for _, condition := range s.Conditions {
		if condition.Type == kind {
			return condition
		}
	}
	return configv1.ClusterOperatorStatusCondition{Type: kind, Message: "not reported yet"}
}

func describeCondition(condition configv1.ClusterOperatorStatusCondition) string {
	return strings.TrimSpace(condition.Reason + " " + oneLine(condition.Message))
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// shown returns the conditions that every ClusterOperator has. Others, such as EvaluationConditionsDetected, say
// nothing about the start.
func (s State) shown() []configv1.ClusterOperatorStatusCondition {
	usual := []configv1.ClusterStatusConditionType{configv1.OperatorAvailable, configv1.OperatorDegraded,
		configv1.OperatorProgressing, configv1.OperatorUpgradeable}
	return slices.DeleteFunc(slices.Clone(s.Conditions), func(c configv1.ClusterOperatorStatusCondition) bool {
		return !slices.Contains(usual, c.Type)
	})
}

// Lines returns the state as a table.
func (s State) Lines() []string {
	lines := []string{
		fmt.Sprintf("revision %s, operator %s", orNone(s.Latest), orDash(s.Version)),
		fmt.Sprintf("%-22s %-9s %-9s %-14s %s", "NODE", "READY", "REVISION", "INITIALIZED", "PROVIDER ID"),
	}
	for _, node := range s.Nodes {
		lines = append(lines, fmt.Sprintf("%-22s %-9s %-9s %-14s %s", node.Name,
			yesNo(node.Ready), node.revision(), yesNo(!node.Uninitialized), orDash(node.ProviderID)))
	}
	for _, condition := range s.shown() {
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("%-22s %-9s %s", condition.Type, condition.Status,
			describeCondition(condition))))
	}
	for _, pod := range s.Waiting {
		lines = append(lines, "waiting: "+oneLine(pod))
	}
	return lines
}

// Summary returns the state in one line, without values that change constantly.
func (s State) Summary() string {
	parts := []string{"revision " + orNone(s.Latest)}
	for _, node := range s.Nodes {
		part := fmt.Sprintf("%s at %s", node.Name, node.revision())
		if !node.Ready {
			part += " not ready"
		}
		if node.Uninitialized {
			part += " uninitialized"
		}
		parts = append(parts, part)
	}
	for _, condition := range s.shown() {
		part := fmt.Sprintf("%s=%s", condition.Type, condition.Status)
		if condition.Reason != "" && condition.Reason != "AsExpected" {
			part += " (" + condition.Reason + ")"
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", ")
}

func (n Node) revision() string {
	if n.Target > n.Current {
		return fmt.Sprintf("%s>%d", orNone(n.Current), n.Target)
	}
	return orNone(n.Current)
}

func orNone(revision int32) string {
	if revision == 0 {
		return "none"
	}
	return fmt.Sprint(revision)
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

func yesNo(value bool) string {
	if value {
		return "yes"
	}
	return "no"
}
