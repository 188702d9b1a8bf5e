package nodedeletion

import (
	"fmt"
	"slices"
	"strings"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/leaseholder"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

const (
	// uninitializedTaint is k8s.io/cloud-provider/api.TaintExternalCloudProvider.
	uninitializedTaint = "node.cloudprovider.kubernetes.io/uninitialized"
	// shutdownTaint is k8s.io/cloud-provider/api.TaintNodeShutdown: the CCM sets it on a node whose machine is shut down,
	// as the cloud says.
	shutdownTaint = "node.cloudprovider.kubernetes.io/shutdown"
	// question is the value of the controller's taint.
	question = "known-to-the-cloud"

	// claimLife is how long a CCM's last announcement counts. Its recorder passes on one repetition in five minutes.
	claimLife = 12 * time.Minute
)

// world is what the controller decides by.
type world struct {
	now time.Time
	// leader identifies the CCM process that holds the lease, "" if there is none or if it does not renew the lease.
	leader string
	// nodes are sorted by name.
	nodes []node
	// rollout reports whether a node that reports does not run the latest revision yet.
	rollout bool
	// answers reports whether the CCM looks up machines of nodes with the taint.
	answers bool
	// deletions are the platform's.
	deletions platform.Deletions
}

type node struct {
	name, zone string
	// scheme is that of the provider ID, "" if no cloud-controller-manager has initialized the node.
	scheme string
	uid    types.UID
	// object has the version and the taints to patch.
	object *corev1.Node
	// ready is the kubelet's own report. reports is false once it has been silent, since is the last change.
	ready, reports bool
	since          time.Time
	initialized    bool
	// off is true while the cloud knows the machine to be shut down.
	off bool
	// asked is true while the node has the controller's taint.
	asked      bool
	permission string
	// claimed is true while the CCM says that the machine is gone, or may think so; announced is when it said so last.
	claimed   bool
	announced time.Time
}

// StripNode keeps the fields of a Node that the controller reads. It is a cache.TransformFunc.
func StripNode(obj any) (any, error) {
	full, ok := obj.(*corev1.Node)
	if !ok {
		return obj, nil
	}
	stripped := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: full.Name, UID: full.UID, ResourceVersion: full.ResourceVersion},
		Spec:       corev1.NodeSpec{ProviderID: full.Spec.ProviderID, Taints: full.Spec.Taints},
	}
	if permission := full.Annotations[Annotation]; permission != "" {
		stripped.Annotations = map[string]string{Annotation: permission}
	}
	if zone := full.Labels[corev1.LabelTopologyZone]; zone != "" {
		stripped.Labels = map[string]string{corev1.LabelTopologyZone: zone}
	}
	if ready := readyCondition(full); ready != nil {
		stripped.Status.Conditions = []corev1.NodeCondition{{
			Type: ready.Type, Status: ready.Status, LastTransitionTime: ready.LastTransitionTime,
		}}
	}
	return stripped, nil
}

func readyCondition(n *corev1.Node) *corev1.NodeCondition {
	i := slices.IndexFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == corev1.NodeReady })
	if i < 0 {
		return nil
	}
	return &n.Status.Conditions[i]
}

// look reads the caches.
func (c *controller) look(p platform.Platform) (world, error) {
	// A cloud-node-manager answers in place of the CCM, from the node itself, so its answer would prove nothing.
	answers := p.NodeManagerImage == "" && !p.Deletions.Unannounced
	w := world{now: c.Clock.Now(), answers: answers, deletions: p.Deletions}
	nodes, err := c.Nodes.Lister().List(labels.Everything())
	if err != nil {
		return w, fmt.Errorf("nodes: %w", err)
	}
	announced, err := c.announced(w.now)
	if err != nil {
		return w, err
	}
	for _, n := range nodes {
		seen := newNode(n, announced[n.UID], w.now)
		if w.deletions.Unannounced {
			seen.claimed = seen.scheme != "" && !seen.since.IsZero() && !seen.reports && !seen.off
		}
		w.nodes = append(w.nodes, seen)
	}
	slices.SortFunc(w.nodes, func(a, b node) int { return strings.Compare(a.name, b.name) })
	if w.leader, err = c.leader(w.now); err != nil {
		return w, err
	}
	_, status, _, err := c.Operator.GetStaticPodOperatorState()
	if err != nil {
		return w, fmt.Errorf("cloudcontrollermanager/cluster: %w", err)
	}
	w.rollout = w.rollsOut(status)
	return w, nil
}

func newNode(n *corev1.Node, announced, now time.Time) node {
	scheme, _, _ := strings.Cut(n.Spec.ProviderID, "://")
	seen := node{
		name: n.Name, scheme: scheme, uid: n.UID, object: n, permission: n.Annotations[Annotation], announced: announced,
		initialized: n.Spec.ProviderID != "", zone: n.Labels[corev1.LabelTopologyZone],
	}
	if ready := readyCondition(n); ready != nil {
		seen.ready = ready.Status == corev1.ConditionTrue
		seen.reports = ready.Status != corev1.ConditionUnknown
		seen.since = ready.LastTransitionTime.Time
	}
	for _, taint := range n.Spec.Taints {
		switch {
		case taint.Key == shutdownTaint:
			seen.off = true
		case taint.Key != uninitializedTaint:
		case isQuestion(taint):
			seen.asked = true
		default:
			seen.initialized = false
		}
	}
	// A report refutes what the CCM said before it. Silence does not, and the CCM's recorder may drop what it says then.
	refuted := seen.reports && announced.Before(seen.since)
	// What a CCM never initialized it may not delete.
	seen.claimed = scheme != "" && !announced.IsZero() && !refuted && now.Sub(announced) < claimLife
	return seen
}

func isQuestion(t corev1.Taint) bool {
	return t.Key == uninitializedTaint && t.Effect == corev1.TaintEffectPreferNoSchedule && t.Value == question
}

// announcement is an Event in which the CCM announces a deletion: its time by the clock of the CCM's node, and when it
// reached the operator.
type announcement struct {
	at    metav1.Time
	heard time.Time
}

// announced returns when the CCM last announced the deletion of each Node. A process that starts hears of what was said
// before, so the time in the Event counts then. A later one counts when it arrives: clocks differ.
func (c *controller) announced(now time.Time) (map[types.UID]time.Time, error) {
	found, err := c.Events.Lister().Events(EventNamespace).List(labels.Everything())
	if err != nil {
		return nil, fmt.Errorf("events about nodes: %w", err)
	}
	announced := map[types.UID]time.Time{}
	announcements := map[string]announcement{}
	for _, event := range found {
		said, known := c.announcements[event.Name]
		switch {
		case !known && c.announcements == nil && event.LastTimestamp.Time.Before(now):
			said = announcement{at: event.LastTimestamp, heard: event.LastTimestamp.Time}
		case !known || !said.at.Equal(&event.LastTimestamp):
			said = announcement{at: event.LastTimestamp, heard: now}
		}
		announcements[event.Name] = said
		if uid := event.InvolvedObject.UID; said.heard.After(announced[uid]) {
			announced[uid] = said.heard
		}
	}
	c.announcements = announcements
	return announced, nil
}

// renewal is a renewal of the lease: its time by the leader's clock, and when the operator saw it by its own.
type renewal struct {
	at   metav1.MicroTime
	seen time.Time
}

// leader returns an identity that differs between processes, and between terms of one process.
func (c *controller) leader(now time.Time) (string, error) {
	lease, err := operatorclient.Find(
		c.Leases.Lister().Leases(operand.Namespace), "lease", operand.Namespace, operand.Lease)
	if err != nil || lease == nil || lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "" {
		return "", err
	}
	renewed := ptr.Deref(lease.Spec.RenewTime, metav1.MicroTime{})
	if c.renewal.seen.IsZero() || !renewed.Equal(&c.renewal.at) {
		c.renewal = renewal{at: renewed, seen: now}
	}
	// What a dead leader does not find proves nothing. The duration may be one that a person wrote.
	duration := min(leaseholder.Duration(lease), leaseholder.Default(configv1.SingleReplicaTopologyMode))
	if now.Sub(c.renewal.seen) > leaseholder.Silence(duration) {
		return "", nil
	}
	return fmt.Sprintf("%s since %s", *lease.Spec.HolderIdentity, lease.Spec.AcquireTime), nil
}

// rollsOut reports whether a node lacks the latest revision. A node that is silent may never get it.
func (w world) rollsOut(status *operatorv1.StaticPodOperatorStatus) bool {
	return slices.ContainsFunc(w.nodes, func(n node) bool {
		return n.reports && slices.ContainsFunc(status.NodeStatuses, func(s operatorv1.NodeStatus) bool {
			return s.NodeName == n.name && (s.TargetRevision != 0 || s.CurrentRevision != status.LatestAvailableRevision)
		})
	})
}

func (w world) find(uid types.UID) (node, bool) {
	i := slices.IndexFunc(w.nodes, func(n node) bool { return n.uid == uid })
	if i < 0 {
		return node{}, false
	}
	return w.nodes[i], true
}
