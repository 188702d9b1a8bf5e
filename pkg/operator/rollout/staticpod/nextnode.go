package staticpod

import (
	"slices"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/patience"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/trial"
)

const (
	// proofTimeout is how long a rollout waits for the proof of its revision. Package preflight ends each proof before, a
	// second one included.
	proofTimeout = time.Hour

	// notReadyTimeout is how long a rollout waits for its node while the kubelet there is not Ready. It may have lost only
	// the pod network, which an installer does not need.
	notReadyTimeout = time.Minute

	// watchPeriod is how often a rollout checks whether the lease is renewed. A lease that is not renewed for its duration
	// is released, so no rollout waits for longer.
	watchPeriod = 5 * time.Second
)

// nextNode chooses the one node that library-go's installer controller may act upon, see installerClient.
//
// A rollout reaches one node at a time, and is at a node until its static pod has settled. It abandons a node whose
// kubelet is silent, and one that is not Ready as long as another node can be installed. An abandoned node gets the
// revision in its turn when its kubelet works again; an installer that has not started there is deleted, see abandon.
type nextNode struct {
	dependencies.Deps
	// notReady is the node of the rollout whose kubelet is not Ready, "" if it is Ready.
	notReady patience.Since[string]
	// proving is the revision for whose proof a second node waits, and led the leader's node.
	proving patience.Since[int32]
	led     patience.Since[string]
}

// choice is what the installer controller may do now.
type choice struct {
	// node is the node that it may act upon, nil if there is none.
	node *operatorv1.NodeStatus
	// latest is the revision that the node is to get.
	latest int32
	// abandoned are the nodes that were being installed and are not any more.
	abandoned []operatorv1.NodeStatus
	// wait is the time until another node may be chosen without an event, 0 for never.
	wait time.Duration
}

func (c choice) isRepair() bool { return c.node != nil && controlplane.IsRepair(c.node) }

type nodeState struct {
	*operatorv1.NodeStatus
	kubelet controlplane.Kubelet
	// hasStarted reports whether an installation of the latest revision was ever started there.
	hasStarted bool
	// failed reports whether the proof of its revision has failed, unproved whether it was to lead and has not led well.
	failed, unproved bool
	// works reports whether the CCM there was Ready at the kubelet's last report. The pod's condition does not: the node
	// controller sets it to False if the kubelet is silent.
	works bool
	// starts reports whether the CCM there starts, or is about to.
	starts  bool
	started metav1.Time
	// last is 0, or larger the later a rollout should reach the node.
	last int
	// watches is set on the standby that has waited the longest for a lease that is not renewed.
	watches bool
}

// rollout is what a choice is made from.
type rollout struct {
	controlplane.View
	latest int32
	nodes  []nodeState
	// leader is the node that the lease names, see controlplane.View.LeaseNode.
	leader  string
	objects operand.Objects
	proof   *trial.Proof
}

func (n *nextNode) choose(view controlplane.View) (choice, error) {
	objects, err := n.Objects()
	if err != nil {
		return choice{}, err
	}
	r := rolloutOf(view, objects)
	// A rollout reaches the leader's node only after it has led for a moment: a lead that moves again before it has
	// settled is no lead, and the lease of a leader that was not seen to renew it cannot be freed.
	n.led.See(r.leader, r.Now())
	chosen := choice{latest: r.latest}
	behind := r.behind()
	for _, node := range r.nodes {
		if node.TargetRevision == 0 {
			continue
		}
		abandons, wait := n.abandons(node, behind, r.Now())
		if !abandons {
			chosen.node, chosen.wait = node.NodeStatus, wait
			chosen.latest = r.revisionFor(node, n.proofWait(r) > 0)
			return chosen, nil
		}
		chosen.abandoned = append(chosen.abandoned, *node.NodeStatus)
	}
	if len(behind) == 0 {
		return chosen, nil
	}
	next := slices.MinFunc(behind, func(a, b nodeState) int { return slices.Compare(a.rank(), b.rank()) })
	if chosen.wait = n.waits(r, next); chosen.wait == 0 {
		chosen.node = next.NodeStatus
	}
	return chosen, nil
}

// waits returns how long the next node waits at most, 0 if it does not wait.
func (n *nextNode) waits(r rollout, next nodeState) time.Duration {
	if wait := n.proofWait(r); wait > 0 {
		return wait
	}
	// An installation here stops nothing that works, so no move has to end first. But a process that starts here would
	// take the lease that the installation frees.
	if next.failed && !next.starts {
		return 0
	}
	if r.leader == next.NodeName && next.works && len(r.nodes) > 1 {
		if wait := n.led.At().Add(controlplane.SettleTime).Sub(r.Now()); wait > 0 {
			return wait
		}
	}
	if next.watches {
		return watchPeriod
	}
	return r.moveWait()
}

// proofWait returns how long the second node of a rollout waits at most until the revision has proved itself on the
// first one, 0 if it does not wait. Only a process that leads shows what a leader starts. No time ends the wait for one
// that has failed: going back does, a correction, or an administrator who accepts it.
func (n *nextNode) proofWait(r rollout) time.Duration {
	_, former := r.Halfway()
	if former == 0 || !r.proof.NeedsProof(r.objects, r.latest, former) {
		return 0
	}
	if r.proof.HasFailed(r.latest) {
		return proofTimeout
	}
	return max(0, n.proving.See(r.latest, r.Now()).Add(proofTimeout).Sub(r.Now()))
}

// abandons reports whether the rollout goes on without the node that it is at, or else after which time it may.
func (n *nextNode) abandons(at nodeState, behind []nodeState, now time.Time) (abandons bool, wait time.Duration) {
	isOther := func(n nodeState) bool { return n.NodeName != at.NodeName && n.kubelet == controlplane.KubeletReady }
	if at.kubelet != controlplane.KubeletNotReady || !slices.ContainsFunc(behind, isOther) {
		n.notReady.See("", now)
		return at.kubelet == controlplane.KubeletSilent, 0
	}
	wait = n.notReady.See(at.NodeName, now).Add(notReadyTimeout).Sub(now)
	return wait <= 0, max(wait, 0)
}

// moveWait returns how long the lead may still be moving: a move removes up to two static pods, and a rollout the last.
func (r rollout) moveWait() (left time.Duration) {
	for _, pod := range r.Moves() {
		if !controlplane.HasEnded(pod) {
			left = max(left, pod.CreationTimestamp.Add(controlplane.MoveTimeout).Sub(r.Now()))
		}
	}
	return left
}

// behind returns the nodes that can be installed and lack the latest revision. Unready ones wait for the others.
func (r rollout) behind() []nodeState {
	behind := slices.DeleteFunc(slices.Clone(r.nodes), func(n nodeState) bool {
		return n.kubelet == controlplane.KubeletSilent || n.CurrentRevision == r.latest
	})
	isReady := func(n nodeState) bool { return n.kubelet == controlplane.KubeletReady }
	if !slices.ContainsFunc(behind, isReady) {
		return behind
	}
	return slices.DeleteFunc(behind, func(n nodeState) bool { return !isReady(n) })
}

// revisionFor returns the revision that a node that is being installed gets. A repair goes on to the latest revision
// like any installation, unless that is unproved, or was started on another node and may fail there.
func (r rollout) revisionFor(at nodeState, isUnproved bool) int32 {
	if controlplane.IsRepair(at.NodeStatus) && (isUnproved || slices.ContainsFunc(r.nodes, func(n nodeState) bool {
		return n.NodeName != at.NodeName && n.hasStarted && n.CurrentRevision != r.latest
	})) {
		return at.TargetRevision
	}
	return r.latest
}

// rank orders the nodes that are behind: first the one where the revision was started, so that a failure stays on one
// node; then one whose revision has failed or was replaced before its proof, so that the others keep what works; then
// those without a working CCM; then the oldest; then the leader's; a standby that watches an unrenewed lease last.
func (n *nodeState) rank() []int {
	after := func(isAfter bool) int {
		if isAfter {
			return 1
		}
		return 0
	}
	return []int{
		after(!n.hasStarted), after(!n.unproved), after(n.works), int(n.CurrentRevision), n.last, after(n.watches),
	}
}

func rolloutOf(view controlplane.View, objects operand.Objects) rollout {
	r := rollout{
		View: view, latest: view.Status().LatestAvailableRevision, leader: view.LeaseNode(),
		objects: objects, proof: trial.Of(objects.Secret(operand.PreflightName)).Proof,
	}
	last, installers := r.last(), r.Installers()
	for i := range r.Status().NodeStatuses {
		state := nodeState{NodeStatus: &r.Status().NodeStatuses[i]}
		state.kubelet = controlplane.KubeletOf(r.Node(state.NodeName))
		state.last = 1 + slices.Index(last, state.NodeName)
		state.failed = r.proof.HasFailed(state.CurrentRevision)
		state.unproved = state.failed || r.proof.IsOpen(state.CurrentRevision) && state.NodeName != r.leader
		state.hasStarted = state.LastFailedRevision == r.latest ||
			slices.ContainsFunc(installers, func(pod *corev1.Pod) bool {
				return controlplane.Installs(pod, state.NodeName, r.latest) && pod.DeletionTimestamp == nil
			})
		if static := r.StaticPod(state.NodeName); static != nil {
			container := controlplane.ContainerStatus(static)
			state.works, state.starts = container.Ready, !container.Ready && !controlplane.IsInBackOff(container)
			if container.State.Running != nil {
				state.started = container.State.Running.StartedAt
			}
		}
		r.nodes = append(r.nodes, state)
	}
	if record := r.Record(); record.IsUnrenewed(r.Now()) {
		r.markWatching()
	}
	return r
}

// markWatching marks the standby that has waited the longest for a lease that is not renewed: client-go counts the
// duration of the lease from each process's own first look. If a rollout restarted that standby, too, the cluster would
// have no leader for as long again, even if the operator was killed and has seen nothing.
func (r rollout) markWatching() {
	var longest *nodeState
	for i := range r.nodes {
		n := &r.nodes[i]
		if n.works && n.NodeName != r.leader && n.kubelet == controlplane.KubeletReady &&
			(longest == nil || n.started.Before(&longest.started)) {
			longest = n
		}
	}
	if longest != nil {
		longest.watches = true
	}
}

// last returns the nodes that a rollout reaches last, in this order: those where the predecessor's pods run, which may
// occupy the port of the static pod, and the leader's. The lead then changes hands once, to a process that has the
// new revision. A node that becomes the leader meanwhile is last too.
func (r rollout) last() (last []string) {
	for _, pod := range r.Predecessors() {
		if pod.Spec.NodeName != r.leader {
			last = append(last, pod.Spec.NodeName)
		}
	}
	if r.leader != "" {
		last = append(last, r.leader)
	}
	return last
}
