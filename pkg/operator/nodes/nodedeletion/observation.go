package nodedeletion

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unique"

	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/printable"
)

const (
	// shutdownTaint is k8s.io/cloud-provider/api.TaintNodeShutdown: the cloud reports that the machine is shut down.
	shutdownTaint   = "node.cloudprovider.kubernetes.io/shutdown"
	probeTaintValue = "known-to-the-cloud"

	// permissionLimit is how far in the future the end of an administrator's permission for many deletions may be.
	permissionLimit = 24 * time.Hour
)

// observation is the content of the caches at one time.
type observation struct {
	now time.Time
	// leader identifies the CCM process that holds the lease, "" if there is none or if it does not renew the lease.
	leader string
	// nodes, sorted by name, have a kubelet that is not ready, a mark of the controller, or a part in the probe.
	all   []*Facts
	nodes []*node
	byUID map[types.UID]*node
	// living has the schemes of the provider IDs of the nodes that can be references.
	living map[string]bool
	// silent counts the kubelets that do not report, expected those that should, because their machines are not shut down.
	silent, expected, ready int
	// queue counts the Nodes that wait for the CCM to initialize them.
	queue int
	// rollout reports whether a rollout is in progress that is not blocked.
	rollout       bool
	manyPermitted bool
	// canProbe reports whether the CCM looks up machines of nodes with the taint.
	canProbe  bool
	deletions platform.Deletions
}

type node struct {
	*Facts

	// scheme is "" if no cloud-controller-manager has initialized the node.
	scheme, zone, permission string
	// queued is true while the Node waits for the CCM, shutDown while it has shutdownTaint, hasTaint while it has ours.
	queued, shutDown, hasTaint bool
	// record is nil if the kubelet is ready.
	record *record
	// deletionWanted is as in evidence, and announced is when the CCM announced the deletion last.
	deletionWanted bool
	announced      time.Time
}

// look reads the caches, and records what has changed since the last look.
func (c *controller) look(p platform.Platform) (*observation, error) {
	o := &observation{
		now: c.Clock.Now(), deletions: p.Deletions, byUID: map[types.UID]*node{}, living: map[string]bool{},
		// A cloud-node-manager answers in place of the CCM, from the node itself, so its answer would prove nothing.
		canProbe: p.NodeManagerImage == "" && !p.Deletions.Unannounced,
	}
	for _, object := range c.every.GetStore().List() {
		if facts, ok := object.(*Facts); ok {
			o.all = append(o.all, facts)
		}
	}
	lease := c.Lease.Record()
	o.leader = lease.Term(o.now) // What a dead leader does not find proves nothing.
	c.memory.readEvents(o.now, c.announced.snapshot())
	for _, facts := range o.all {
		o.add(facts, &c.memory)
	}
	slices.SortFunc(o.nodes, func(a, b *node) int { return strings.Compare(a.name, b.name) })
	c.memory.observe(o)
	_, status, _, err := c.Operator.GetStaticPodOperatorState()
	if err != nil {
		return o, err
	}
	if o.rollout, err = c.rollsOut(status); err != nil {
		return o, err
	}
	meta, err := c.Operator.GetObjectMeta()
	if err != nil {
		return o, err
	}
	o.manyPermitted = isPermitted(meta.Annotations[operatorclient.NodeDeletionsAnnotation], o.now)
	return o, nil
}

// add counts a Node, and keeps it if there may be something to decide about it.
func (o *observation) add(facts *Facts, m *memory) {
	n := newNode(facts)
	if n.queued {
		o.queue++
	}
	if n.kubelet == controlplane.KubeletReady {
		o.expected++
		o.ready++
		if n.canBeReference() {
			o.living[n.scheme] = true
		}
		m.dropAnnouncement(n.uid, o.now)
		delete(m.records, n.uid)
		if !n.hasTaint && n.permission == "" && !m.probe.includes(n.uid) {
			return
		}
	}
	o.nodes, o.byUID[n.uid] = append(o.nodes, &n), &n
}

func newNode(f *Facts) node {
	seen := node{Facts: f, scheme: f.scheme.Value(), zone: f.zone.Value(), permission: f.permission.Value()}
	for _, taint := range f.taints {
		switch {
		case taint.Key == shutdownTaint:
			seen.shutDown = true
		case taint.Key != controlplane.UninitializedTaint:
		case isProbeTaint(taint):
			seen.hasTaint = true
		default:
			seen.queued = true
		}
	}
	return seen
}

// canBeReference reports whether the node lives, and the CCM has found its machine before.
func (n *node) canBeReference() bool {
	return n.kubelet == controlplane.KubeletReady && n.scheme != "" && !n.queued
}

// rollsOut reports whether a rollout may soon change the leader: a node gets a revision, or will get the latest one. A
// rollout behind a silent node does not count, because it may wait for the deletion of that Node. Nor does a status
// without a Node, which is about to be removed.
func (c *controller) rollsOut(status *operatorv1.StaticPodOperatorStatus) (bool, error) {
	lag, blocked := false, false
	for _, s := range status.NodeStatuses {
		object, _, err := c.every.GetStore().GetByKey(s.NodeName)
		if err != nil {
			return false, fmt.Errorf("getting node/%s: %w", s.NodeName, err)
		}
		facts, ok := object.(*Facts)
		if !ok {
			continue
		}
		silent := facts.kubelet == controlplane.KubeletSilent
		lacks := s.CurrentRevision != status.LatestAvailableRevision
		switch {
		case !silent && s.TargetRevision != 0:
			return true, nil
		case silent && lacks:
			blocked = true
		case lacks:
			lag = true
		}
	}
	return lag && !blocked, nil
}

func (o *observation) mostAreSilent() bool { return o.silent > 1 && o.silent*2 > o.expected }

// isPermitted reports whether an administrator's permission until a time, in RFC 3339, counts now. It must end soon.
func isPermitted(annotation string, now time.Time) bool {
	until, err := time.Parse(time.RFC3339, annotation)
	return err == nil && now.Before(until) && until.Sub(now) <= permissionLimit
}

// Facts are what the controller reads of a Node. The cache has them instead of Nodes: a Node without most of its fields
// is still a kilobyte and a half, and a cluster may have many thousands.
type Facts struct {
	name, version string
	uid           types.UID
	// scheme is the part of the provider ID before "://". permission is the value of the annotation.
	scheme, zone, permission unique.Handle[string]
	taints                   []corev1.Taint
	kubelet                  controlplane.Kubelet
	// transition is in seconds, as the API has it.
	transition int64
}

var _ metav1.ObjectMetaAccessor = &Facts{}

// GetObjectMeta returns what an informer reads of its objects.
func (f *Facts) GetObjectMeta() metav1.Object {
	return &metav1.ObjectMeta{Name: f.name, UID: f.uid, ResourceVersion: f.version}
}

// maxValue limits what a kubelet writes. A label of a zone has 63 characters.
const maxValue = 64

// StripNode returns the Facts of a Node. It is a cache.TransformFunc.
func StripNode(obj any) (any, error) {
	node, ok := obj.(*corev1.Node)
	if !ok {
		return obj, nil
	}
	scheme, _, _ := strings.Cut(node.Spec.ProviderID, "://")
	short := func(value string) unique.Handle[string] { return unique.Make(printable.Cut(value, maxValue)) }
	facts := &Facts{
		name: node.Name, version: node.ResourceVersion, uid: node.UID, taints: node.Spec.Taints,
		scheme: short(scheme), zone: short(node.Labels[corev1.LabelTopologyZone]),
		permission: short(node.Annotations[Annotation]), kubelet: controlplane.KubeletOf(node),
	}
	for _, ready := range controlplane.ReadyConditions(node) {
		facts.transition = ready.LastTransitionTime.Unix()
	}
	return facts, nil
}
