package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	ccmv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/snapshot"
)

// Node is a control-plane node.
type Node struct {
	Name string `json:"name"`
	// Revision is the running revision, 0 if none is, and Installing the one that is being installed, 0 if none is.
	Revision   int32 `json:"revision"`
	Installing int32 `json:"installing,omitempty"`
	// Failed is the last revision that could not be installed, and Failure why.
	Failed  int32  `json:"failedRevision,omitempty"`
	Failure string `json:"failure,omitempty"`
	// Kubelet is Ready, NotReady, silent, or missing if there is no Node.
	Kubelet string `json:"kubelet"`
	// CCM is Ready, what its container waits for, or "-" if there is no static pod.
	CCM   string `json:"cloudControllerManager"`
	Leads bool   `json:"leads"`
	// LeadsSince is by the clock of the node.
	LeadsSince  time.Time   `json:"leadsSince,omitzero"`
	Credentials Credentials `json:"credentials,omitzero"`
}

// Credentials are those that a node uses.
type Credentials struct {
	// SinceRevision is the first revision with this content, and Created its time.
	SinceRevision int       `json:"sinceRevision,omitempty"`
	Created       time.Time `json:"created,omitzero"`
	// Outdated reports that a later revision has others.
	Outdated bool `json:"outdated,omitempty"`
}

func operandPods(s *snapshot.Snapshot) []*corev1.Pod {
	return slices.DeleteFunc(s.Pods(operand.Namespace), func(p *corev1.Pod) bool { return !controlplane.IsOperand(p) })
}

func podOn(node string, pods []*corev1.Pod) *corev1.Pod {
	if i := slices.IndexFunc(pods, func(p *corev1.Pod) bool { return p.Spec.NodeName == node }); i >= 0 {
		return pods[i]
	}
	return nil
}

// leaderOf returns the holder of the operand's lease. A single look cannot tell a silent holder from one that renews:
// it counts until its lease expires.
func leaderOf(s *snapshot.Snapshot) controlplane.Holder {
	seen := controlplane.Lease{}
	if lease := s.Lease(operand.Namespace, operand.Lease); lease != nil {
		seen.See(lease, s.Taken)
	}
	var topology configv1.TopologyMode
	if infrastructure := s.Infrastructure(); infrastructure != nil {
		topology = infrastructure.Status.ControlPlaneTopology
	}
	view := controlplane.NewView(controlplane.State{
		Now: s.Taken, Record: seen.Record(), Topology: topology, Pods: s.Pods(operand.Namespace),
	})
	return view.Holder()
}

// controlPlane reports the control-plane nodes: those of the status, and other Nodes with the label.
func (s *Status) controlPlane(shot *snapshot.Snapshot, operator *ccmv1.CloudControllerManager) {
	pods, leader := operandPods(shot), leaderOf(shot)
	s.Images = images(pods)
	byName := map[string]*corev1.Node{}
	names := []string{}
	for _, node := range shot.Nodes() {
		byName[node.Name] = node
		if _, is := node.Labels[operatorclient.MasterLabel]; is {
			names = append(names, node.Name)
		}
	}
	statuses := map[string]operatorv1.NodeStatus{}
	for _, status := range operator.Status.NodeStatuses {
		statuses[status.NodeName] = status
		names = append(names, status.NodeName)
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		node := Node{
			Name: name, Revision: statuses[name].CurrentRevision, Installing: statuses[name].TargetRevision,
			Failed: statuses[name].LastFailedRevision, Kubelet: kubelet(byName[name]), CCM: none,
		}
		if errors := statuses[name].LastFailedRevisionErrors; len(errors) > 0 {
			node.Failure = errors[len(errors)-1]
		}
		if pod := podOn(name, pods); pod != nil {
			node.CCM = stateOf(pod)
		}
		if leader.Node == name && (leader.State.Runs() || leader.State == controlplane.Predecessor) {
			node.Leads, node.LeadsSince = true, leader.Acquired.UTC()
		}
		node.Credentials = credentialsOf(shot, node.Revision, s.Revision)
		s.Nodes = append(s.Nodes, node)
	}
	if !slices.ContainsFunc(s.Nodes, func(n Node) bool { return n.Leads }) {
		s.Leader = noLeader(leader, conditionOf(operator, operatorclient.AvailableCondition))
		if why := shot.Missing(operandLease); why != "" {
			s.Leader = why
		}
	}
}

func images(pods []*corev1.Pod) []string {
	found := sets.New[string]()
	for _, p := range pods {
		found.Insert(controlplane.ContainerStatus(p, operand.Name).Image)
	}
	return sets.List(found.Delete(""))
}

func kubelet(node *corev1.Node) string {
	if node == nil {
		return "missing"
	}
	return map[controlplane.Kubelet]string{
		controlplane.KubeletReady: "Ready", controlplane.KubeletNotReady: "NotReady", controlplane.KubeletSilent: "silent",
	}[controlplane.KubeletOf(node)]
}

func stateOf(pod *corev1.Pod) string {
	state := controlplane.ContainerStatus(pod, operand.Name).State
	switch {
	case controlplane.IsReady(pod):
		return "Ready"
	case state.Waiting != nil:
		return cmp.Or(state.Waiting.Reason, "waiting")
	case state.Terminated != nil:
		return fmt.Sprintf("exited %d", state.Terminated.ExitCode)
	default:
		return "NotReady"
	}
}

// noLeader returns why nobody leads: what the operator says, or how the lease is.
func noLeader(leader controlplane.Holder, available Condition) string {
	return cmp.Or(available.Message, fmt.Sprintf("the state of lease/%s in %s is %s, its holder %q", operand.Lease,
		operand.Namespace, leader.State, leader.Identity))
}

func credentialsOf(s *snapshot.Snapshot, revision, latest int32) Credentials {
	since, known := sinceRevision(s, revision)
	if !known {
		return Credentials{}
	}
	c := Credentials{SinceRevision: since}
	if first := s.Secret(fmt.Sprintf("%s-%d", operand.CloudCredentialsSecret, since)); first != nil {
		c.Created = first.CreationTimestamp.UTC()
	}
	newest, known := sinceRevision(s, latest)
	c.Outdated = known && newest != since
	return c
}

func sinceRevision(s *snapshot.Snapshot, revision int32) (since int, known bool) {
	secret := s.Secret(fmt.Sprintf("%s-%d", operand.CloudCredentialsSecret, revision))
	if secret == nil {
		return 0, false
	}
	since, err := strconv.Atoi(secret.Annotations[snapshot.VersionAnnotation])
	return since, err == nil
}
