package staticpod

import (
	"cmp"
	"slices"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/utils/clock"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane/leaseholder"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/patience"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/predecessor"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/trial"
)

// proofLimit is how long a rollout waits for the proof of its revision, whatever becomes of that. Package preflight
// ends each before.
const proofLimit = 20 * time.Minute

// notReadyPatience is how long a rollout waits for the node that it is at when its kubelet reports that it is not
// Ready. The kubelet may have lost only the pod network, which an installer does not need.
const notReadyPatience = time.Minute

// watchInterval is how often a rollout looks again whether somebody renews the lease. The lease is released when nobody
// has renewed it for as long as it lasts, so no rollout waits for longer.
const watchInterval = 5 * time.Second

// nextNode chooses the one node that library-go's installer controller may act upon, see installerClient.
//
// A rollout reaches one node at a time, and is at a node until its static pod has settled. It passes by a node whose
// kubelet cannot do anything now: one that is silent, and one that is not Ready as long as another node can be
// installed. Such a node gets the revision when its kubelet works again. No second node is without its
// cloud-controller-manager because of that: an installer that has not started there is deleted, see abandon, so the
// node waits for its turn.
type nextNode struct {
	nodes corev1listers.NodeLister
	pods  corev1listers.PodLister
	lease *controlplane.Lease
	// configMaps and secrets have the revisions, and the record of a proof.
	configMaps corev1listers.ConfigMapLister
	secrets    corev1listers.SecretLister
	clock      clock.PassiveClock

	// notReady is the node of the rollout whose kubelet is not Ready, "" if it is Ready.
	notReady patience.Since[string]
	// unproved is the revision that a second node waits for, and led the node that leads.
	unproved patience.Since[int32]
	led      patience.Since[string]
}

// choice is what the installer controller may do now.
type choice struct {
	// node is the node that it may act upon, nil if there is none.
	node *operatorv1.NodeStatus
	// latest is the revision that the node is to get.
	latest int32
	// passedBy are the nodes that were being installed and are not any more.
	passedBy []operatorv1.NodeStatus
	// wait is the time until another node may be chosen without any event, 0 if there is none.
	wait time.Duration
}

// isRepair reports whether the node gets the revision that it is at.
func (c choice) isRepair() bool { return c.node != nil && controlplane.IsRepair(c.node) }

// place is a node as a rollout sees it.
type place struct {
	*operatorv1.NodeStatus
	kubelet controlplane.Kubelet
	// begun reports whether the latest revision was to be installed there before.
	begun bool
	// failed reports whether its revision has led badly.
	failed bool
	// works reports whether the CCM there was Ready when the kubelet reported last. The pod's condition says less: the
	// node controller sets it to False when the kubelet is silent.
	works bool
	// started is when the container of the CCM started.
	started metav1.Time
	// last is 0, or larger the later a rollout should reach the node.
	last int
	// watches is set on the standby that has waited for the longest time for a lease that nobody renews.
	watches bool
}

func (n *nextNode) choose(status *operatorv1.StaticPodOperatorStatus) (choice, error) {
	places, err := n.places(status)
	if err != nil {
		return choice{}, err
	}
	leader := n.leader(status)
	n.mark(places, leader)
	latest := status.LatestAvailableRevision
	chosen := choice{latest: latest}
	behind := behindOf(places, latest)
	for i := range places {
		if places[i].TargetRevision == 0 {
			continue
		}
		passes, wait := n.passesBy(places[i], behind)
		if !passes {
			unproved, err := n.waitsForProof(status, leader)
			chosen.node, chosen.wait = places[i].NodeStatus, wait
			chosen.latest = revisionFor(places[i], places, latest, unproved > 0)
			return chosen, err
		}
		chosen.passedBy = append(chosen.passedBy, *places[i].NodeStatus)
	}
	if len(behind) == 0 {
		return chosen, nil
	}
	next := slices.MinFunc(behind, byTurn)
	chosen.wait, err = n.waits(status, leader, places, next)
	if chosen.wait == 0 {
		chosen.node = next.NodeStatus
	}
	return chosen, err
}

// waits returns how long the next node waits at most, 0 if it does not wait.
func (n *nextNode) waits(
	status *operatorv1.StaticPodOperatorStatus, leader string, places []place, next place,
) (time.Duration, error) {
	wait, err := n.waitsForProof(status, leader)
	if wait > 0 || err != nil {
		return wait, err
	}
	hasLatest := func(p place) bool { return p.CurrentRevision == status.LatestAvailableRevision }
	if leader == next.NodeName && slices.ContainsFunc(places, hasLatest) {
		wait = max(0, n.led.At().Add(controlplane.SettleTime).Sub(n.clock.Now()))
	}
	if wait == 0 && next.watches {
		wait = watchInterval
	}
	if wait > 0 {
		return wait, nil
	}
	return n.moves()
}

// moves returns for how long the lead may still be moving, 0 if it is not. A move takes up to two static pods away for
// a moment, so a rollout that went on would take the last one.
func (n *nextNode) moves() (left time.Duration, err error) {
	pods, err := controlplane.Moves(n.pods)
	for _, pod := range pods {
		if pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed {
			left = max(left, pod.CreationTimestamp.Add(controlplane.MoveTimeout).Sub(n.clock.Now()))
		}
	}
	return left, err
}

// leader returns the node that the lease names, "" if it names none. The last node of a rollout waits until it has led
// for a moment: a lead that moves again before it has settled is no lead.
func (n *nextNode) leader(status *operatorv1.StaticPodOperatorStatus) string {
	leader := n.holder(nodeNames(status))
	n.led.See(leader, n.clock.Now())
	return leader
}

// holder returns the one of nodes that the lease names. Whatever the state of the process is, a View's holder is known:
// it may lead again.
func (n *nextNode) holder(nodes []string) string {
	record := n.lease.Record()
	if record.Lease == nil || !record.Exists {
		return ""
	}
	return leaseholder.Node(record.Lease, nodes)
}

// mark finds the standby that has waited for the longest time for a lease that nobody renews. client-go counts the
// duration of the lease from each process's own first look. A rollout that restarted that standby, too, would leave the
// cluster without a leader for as long again, also if the operator was replaced and has seen nothing.
func (n *nextNode) mark(places []place, leader string) {
	record := n.lease.Record()
	if !record.IsUnrenewed(n.clock.Now()) {
		return
	}
	var longest *place
	for i := range places {
		p := &places[i]
		if p.works && p.NodeName != leader && p.kubelet == controlplane.KubeletReady &&
			(longest == nil || p.started.Before(&longest.started)) {
			longest = p
		}
	}
	if longest != nil {
		longest.watches = true
	}
}

// waitsForProof returns how long the second node of a rollout waits at most until the revision has proved itself on the
// first one, 0 if it does not wait. Only a process that leads shows what a leader starts.
func (n *nextNode) waitsForProof(
	status *operatorv1.StaticPodOperatorStatus, leader string,
) (time.Duration, error) {
	_, former := controlplane.Halfway(status, leader)
	if former == 0 {
		return 0, nil
	}
	objects, err := operatorclient.Objects(
		n.configMaps.ConfigMaps(operand.Namespace), n.secrets.Secrets(operand.Namespace))
	if err != nil {
		return 0, err
	}
	record := trial.Of(objects.Secret(operand.PreflightName)).Leading
	latest := status.LatestAvailableRevision
	if !record.NeedsProof(objects, latest, former) {
		return 0, nil
	}
	now := n.clock.Now()
	return max(0, n.unproved.See(latest, now).Add(proofLimit).Sub(now)), nil
}

// record returns the record of a proof, nil if there is none.
func (n *nextNode) record() (*trial.Leading, error) {
	secret, err := operatorclient.Find(n.secrets.Secrets(operand.Namespace), "secret", operand.Namespace,
		operand.PreflightName)
	return trial.Of(secret).Leading, err
}

// behindOf returns the nodes that can be installed and do not have the latest revision. Those that are not Ready have
// to wait for the others.
func behindOf(places []place, latest int32) []place {
	behind := slices.DeleteFunc(slices.Clone(places), func(p place) bool {
		return p.kubelet == controlplane.KubeletSilent || p.CurrentRevision == latest
	})
	isReady := func(p place) bool { return p.kubelet == controlplane.KubeletReady }
	if !slices.ContainsFunc(behind, isReady) {
		return behind
	}
	return slices.DeleteFunc(behind, func(p place) bool { return !isReady(p) })
}

// passesBy reports whether the rollout goes on without the node that it is at, or else after which time it may.
func (n *nextNode) passesBy(at place, behind []place) (passes bool, wait time.Duration) {
	isOther := func(p place) bool { return p.NodeName != at.NodeName && p.kubelet == controlplane.KubeletReady }
	switch {
	case at.kubelet == controlplane.KubeletSilent:
		n.notReady.See("", n.clock.Now())
		return true, 0
	case at.kubelet == controlplane.KubeletReady || !slices.ContainsFunc(behind, isOther):
		n.notReady.See("", n.clock.Now())
		return false, 0
	}
	now := n.clock.Now()
	wait = n.notReady.See(at.NodeName, now).Add(notReadyPatience).Sub(now)
	return wait <= 0, max(wait, 0)
}

// byTurn orders the nodes that are behind: first the one where the revision was begun, so that a failure stays on one
// node; then one whose revision has failed; then those without a working CCM; then the oldest; the leader's
// last; a standby that watches an unrenewed lease after the others.
func byTurn(a, b place) int {
	first := func(a, b bool) int {
		switch {
		case a == b:
			return 0
		case a:
			return -1
		}
		return 1
	}
	return cmp.Or(first(a.begun, b.begun), first(a.failed, b.failed), first(!a.works, !b.works),
		cmp.Compare(a.CurrentRevision, b.CurrentRevision), cmp.Compare(a.last, b.last),
		first(!a.watches, !b.watches))
}

// revisionFor returns the revision that a node gets that is being installed. A repair goes on to the latest revision
// like any installation, unless that one is unproved, or was begun on another node and may fail there.
func revisionFor(at place, places []place, latest int32, unproved bool) int32 {
	if controlplane.IsRepair(at.NodeStatus) && (unproved || slices.ContainsFunc(places, func(p place) bool {
		return p.NodeName != at.NodeName && p.begun && p.CurrentRevision != latest
	})) {
		return at.TargetRevision
	}
	return latest
}

func (n *nextNode) places(status *operatorv1.StaticPodOperatorStatus) ([]place, error) {
	last, err := n.last(nodeNames(status))
	if err != nil {
		return nil, err
	}
	installers, err := controlplane.Installers(n.pods)
	if err != nil {
		return nil, err
	}
	record, err := n.record()
	if err != nil {
		return nil, err
	}
	var places []place
	for i := range status.NodeStatuses {
		p := place{NodeStatus: &status.NodeStatuses[i]}
		p.last = 1 + slices.Index(last, p.NodeName)
		if p.kubelet, err = kubeletOf(n.nodes, p.NodeName); err != nil {
			return nil, err
		}
		p.begun = p.LastFailedRevision == status.LatestAvailableRevision ||
			slices.ContainsFunc(installers, func(pod *corev1.Pod) bool {
				return controlplane.Installs(pod, p.NodeName, status.LatestAvailableRevision) && pod.DeletionTimestamp == nil
			})
		static, err := controlplane.StaticPod(n.pods, p.NodeName)
		if err != nil {
			return nil, err
		}
		if static != nil {
			container := controlplane.ContainerStatus(static, operand.Name)
			p.works = container.Ready
			if container.State.Running != nil {
				p.started = container.State.Running.StartedAt
			}
		}
		p.failed = record.HasFailed(p.CurrentRevision)
		places = append(places, p)
	}
	return places, nil
}

// last returns the nodes that a rollout reaches last, in this order: those where the predecessor's pods run, which may
// occupy the port of the static pod, and the leader's. A rollout then moves the leadership once, to a node that has the
// new revision. A node that becomes the leader meanwhile is last too.
func (n *nextNode) last(nodes []string) ([]string, error) {
	var last []string
	predecessors, err := predecessor.Pods(n.pods)
	if err != nil {
		return nil, err
	}
	for _, pod := range predecessors {
		last = append(last, pod.Spec.NodeName)
	}
	leader := n.holder(nodes)
	if leader == "" {
		return last, nil
	}
	return append(slices.DeleteFunc(last, func(node string) bool { return node == leader }), leader), nil
}

func nodeNames(status *operatorv1.StaticPodOperatorStatus) []string {
	var names []string
	for _, node := range status.NodeStatuses {
		names = append(names, node.NodeName)
	}
	return names
}

// kubeletOf returns the state of a node's kubelet.
func kubeletOf(nodes corev1listers.NodeLister, name string) (controlplane.Kubelet, error) {
	node, err := operatorclient.Find(nodes, "node", "", name)
	return controlplane.KubeletOf(node), err
}
