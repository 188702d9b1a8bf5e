package monitor

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ccmv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
)

const uninitializedTaint = "node.cloudprovider.kubernetes.io/uninitialized"

// maxMessage limits a condition's message in the timeline.
const maxMessage = 160

// state is the last observed state.
type state struct {
	conditions map[configv1.ClusterStatusConditionType]configv1.ClusterOperatorStatusCondition
	versions   string

	pods  map[string]*corev1.Pod
	ready []string

	// holder is the lease's holder, lastHolder the previous one.
	holder, lastHolder string

	revision int32
	nodes    map[string]int32

	taints map[string]string
	// initialized are the nodes that were initialized at any time.
	initialized map[string]bool
}

func newState() state {
	return state{
		conditions:  map[configv1.ClusterStatusConditionType]configv1.ClusterOperatorStatusCondition{},
		pods:        map[string]*corev1.Pod{},
		nodes:       map[string]int32{},
		taints:      map[string]string{},
		initialized: map[string]bool{},
	}
}

// ClusterOperator observes the ClusterOperator; nil when it was deleted.
func (m *Monitor) ClusterOperator(operator *configv1.ClusterOperator) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	seen := map[configv1.ClusterStatusConditionType]configv1.ClusterOperatorStatusCondition{}
	if operator != nil {
		for _, condition := range operator.Status.Conditions {
			seen[condition.Type] = condition
		}
	}
	available := seen[configv1.OperatorAvailable].Status
	m.enter(NotAvailable, map[bool]string{true: "not"}[available != configv1.ConditionTrue])
	for _, name := range []configv1.ClusterStatusConditionType{
		configv1.OperatorAvailable, configv1.OperatorProgressing, configv1.OperatorDegraded,
		configv1.OperatorUpgradeable,
	} {
		m.condition(m.state.conditions[name], seen[name], name)
	}
	m.state.conditions = seen
	if operator != nil {
		m.versions(operator.Status.Versions)
	}
}

// condition checks the change of a condition. A condition that is new or was Unknown is checked only for Degraded,
// because an operator is not available at its start.
func (m *Monitor) condition(
	before, after configv1.ClusterOperatorStatusCondition, name configv1.ClusterStatusConditionType,
) {
	if before.Status == after.Status {
		return
	}
	subject := "clusteroperator " + string(name)
	text := fmt.Sprintf("%s -> %s", orNone(string(before.Status)), orNone(string(after.Status)))
	if after.Message != "" {
		text += fmt.Sprintf(" (%s: %s)", after.Reason, shorten(after.Message))
	}
	switch {
	case name == configv1.OperatorAvailable && before.Status == configv1.ConditionTrue:
		m.require(unavailable, subject, text)
	case name == configv1.OperatorDegraded && after.Status == configv1.ConditionTrue:
		m.require(degraded, subject, text)
	default:
		m.record(subject, text)
	}
}

func (m *Monitor) versions(versions []configv1.OperandVersion) {
	var texts []string
	for _, version := range versions {
		texts = append(texts, version.Name+"="+version.Version)
	}
	slices.Sort(texts)
	if text := strings.Join(texts, " "); text != m.state.versions {
		m.record("clusteroperator versions", orNone(m.state.versions)+" -> "+orNone(text))
		m.state.versions = text
	}
}

// Pod observes the static pod of a node; exists is false when it was deleted.
func (m *Monitor) Pod(pod *corev1.Pod, exists bool) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if exists {
		m.state.pods[pod.Name] = pod
		m.enter("pod on "+pod.Spec.NodeName, stateOf(pod))
	} else if former, known := m.state.pods[pod.Name]; known {
		delete(m.state.pods, pod.Name)
		m.enter("pod on "+former.Spec.NodeName, "")
	}
	var ready []string
	for _, name := range slices.Sorted(maps.Keys(m.state.pods)) {
		if pod := m.state.pods[name]; isReady(pod) {
			ready = append(ready, fmt.Sprintf("%s@%s", pod.Spec.NodeName, pod.Labels["revision"]))
		}
	}
	if slices.Equal(ready, m.state.ready) {
		return
	}
	m.enter(NoneIsReady, map[bool]string{true: "none"}[len(ready) == 0])
	const subject = "ready CCMs"
	text := fmt.Sprintf("%d -> %d %v", len(m.state.ready), len(ready), ready)
	if len(ready) == 0 {
		m.require(noneReady, subject, text)
	} else {
		m.record(subject, text)
	}
	m.state.ready = ready
}

func isReady(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// Lease observes the operand's lease; nil when it was deleted. A holder that releases the lease and acquires it again
// is the same.
func (m *Monitor) Lease(lease *coordinationv1.Lease) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	holder := ""
	if lease != nil && lease.Spec.HolderIdentity != nil {
		holder = *lease.Spec.HolderIdentity
	}
	if holder == m.state.holder {
		return
	}
	const subject = "lease holder"
	text := orNone(m.state.holder) + " -> " + orNone(holder)
	if holder != "" && m.state.lastHolder != "" && holder != m.state.lastHolder {
		m.require(newLeader, subject, text)
	} else {
		m.record(subject, text)
	}
	m.state.holder = holder
	host, _, _ := strings.Cut(holder, "_")
	m.enter("lease", host)
	if holder != "" {
		m.state.lastHolder = holder
	}
}

// Resource observes the operator's resource.
func (m *Monitor) Resource(resource *ccmv1.CloudControllerManager) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if revision := resource.Status.LatestAvailableRevision; revision != m.state.revision {
		m.require(rollout, "latest revision", fmt.Sprintf("%d -> %d", m.state.revision, revision))
		m.state.revision = revision
	}
	nodes := map[string]int32{}
	for _, node := range resource.Status.NodeStatuses {
		nodes[node.NodeName] = node.CurrentRevision
		if before, known := m.state.nodes[node.NodeName]; !known || before != node.CurrentRevision {
			m.record("node/"+node.NodeName+" revision", fmt.Sprintf("%d -> %d", before, node.CurrentRevision))
		}
	}
	m.state.nodes = nodes
}

// Node observes a Node; exists is false when it was deleted.
func (m *Monitor) Node(node *corev1.Node, exists bool) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	subject := "node/" + node.Name
	if !exists {
		m.require(nodeDeleted, subject, "deleted")
		delete(m.state.taints, node.Name)
		return
	}
	var texts []string
	waits := false
	for _, taint := range node.Spec.Taints {
		texts = append(texts, path.Base(taint.Key)+":"+string(taint.Effect))
		// The operator asks the cloud-controller-manager by the same taint with an effect that repels no pod.
		waits = waits || taint.Key == uninitializedTaint && taint.Effect == corev1.TaintEffectNoSchedule
	}
	slices.Sort(texts)
	text := orNone(strings.Join(texts, " "))
	before, known := m.state.taints[node.Name]
	if known && before == text {
		return
	}
	if !known {
		before = "new"
	}
	if waits && m.state.initialized[node.Name] {
		m.require(uninitialized, subject+" taints", before+" -> "+text)
	} else {
		m.record(subject+" taints", before+" -> "+text)
	}
	m.state.taints[node.Name] = text
	m.enter("taint of "+node.Name, map[bool]string{true: "uninitialized"}[waits])
	m.state.initialized[node.Name] = !waits
}

// Lost records that a watch could not resume where it was interrupted.
func (m *Monitor) Lost(what string, err error) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.require(gap, "watch of "+what, err.Error())
}

// Missed records how far a watch is behind the API server at the end of a step.
func (m *Monitor) Missed(what string, objects []metav1.Object) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	for _, object := range objects {
		m.require(gap, "watch of "+what,
			fmt.Sprintf("%s is not seen at resource version %s", object.GetName(), object.GetResourceVersion()))
	}
}

func orNone(text string) string {
	if text == "" {
		return "none"
	}
	return text
}

func shorten(message string) string {
	message = strings.ReplaceAll(message, "\n", "; ")
	if len(message) > maxMessage {
		message = message[:maxMessage] + "…"
	}
	return message
}
