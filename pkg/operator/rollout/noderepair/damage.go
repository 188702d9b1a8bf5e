package noderepair

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/filesyncer"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/nodefiles"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/patience"
)

// damage is how a node differs from its revision, with the text "" if it does not or that is unknown. patience is how
// long it must last, and missing whether the static pod does not exist.
type damage struct {
	text     string
	patience time.Duration
	missing  bool
}

// damagedNode is a node whose damage has lasted for long enough.
type damagedNode struct {
	damage

	// machine is the name and the UID of the Node.
	machine string
	status  operatorv1.NodeStatus
	// installers are the node's installer pods of the revision to install again.
	installers []*corev1.Pod
}

// damagedNodes returns the nodes to repair, the problems of those that wait, and the time until there are more. A node
// whose static pod runs waits for the end of a rollout or repair: its own repair would end another static pod.
func (c *controller) damagedNodes(s snapshot) (
	damaged []damagedNode, waiting []problem, wait time.Duration, err error,
) {
	for i := range s.nodes {
		n := &s.nodes[i]
		found, err := c.found(&s, n)
		if err != nil {
			return nil, nil, 0, err
		}
		waits := s.IsInstalling(s.Status()) && n.TargetRevision == 0 && !found.missing
		if waits {
			found.patience = waitingPatience
		}
		left := c.since.See(n.NodeName, found.text != "", s.Now()).Add(found.patience).Sub(s.Now())
		switch {
		case found.text == "":
		case left > 0:
			wait = patience.Sooner(wait, left)
		case waits:
			before := fmt.Sprintf("rollout of revision %d", s.latest)
			if s.isRepairing(s.Status()) {
				before = "repair of another node"
			}
			waiting = append(waiting, problem{"RepairWaits", fmt.Sprintf(
				"node/%s: %s; its revision is installed again after the %s", n.NodeName, found.text, before)})
		default:
			damaged = append(damaged, damagedNode{found, n.NodeName + "/" + string(n.node.UID), n.NodeStatus,
				s.installersOf(n.NodeName, cmp.Or(n.TargetRevision, n.CurrentRevision))})
		}
	}
	// The others wait for the node that is being installed.
	slices.SortStableFunc(damaged, func(a, b damagedNode) int {
		return cmp.Compare(min(b.status.TargetRevision, 1), min(a.status.TargetRevision, 1))
	})
	return damaged, waiting, wait, nil
}

// found returns the damage of a node, none if the rollout has started there.
func (c *controller) found(s *snapshot, n *nodeState) (damage, error) {
	switch {
	case !n.isReady():
		return damage{}, nil
	case n.TargetRevision != 0:
		return n.stuckInstallation(s.installersOf(n.NodeName, n.TargetRevision)), nil
	case n.CurrentRevision == 0,
		n.CurrentRevision != s.latest && len(s.installersOf(n.NodeName, s.latest)) > 0:
		return damage{}, nil
	}
	wrong := n.staticPodDamage(n.CurrentRevision, s.installersOf(n.NodeName, n.CurrentRevision))
	if wrong.text != "" || n.reportText == "" {
		return wrong, nil
	}
	want, err := c.digestsOf(n.CurrentRevision)
	if err != nil || want == nil {
		return damage{}, err
	}
	wrong = damage{patience: filesPatience}
	switch {
	case n.report.Manifest != want.Manifest:
		wrong.text = fmt.Sprintf("the manifest of the static pod differs from revision %d", n.CurrentRevision)
	case n.report.Directory != want.Directory:
		wrong.text = fmt.Sprintf("the files of revision %d differ from its objects", n.CurrentRevision)
	}
	return wrong, nil
}

// stuckInstallation returns why the success of the node's installer pod does not count: it ran on a former machine of
// this name, or before etcd was restored. library-go's installer controller would wait for its static pod forever.
func (n *nodeState) stuckInstallation(installers []*corev1.Pod) damage {
	if !slices.ContainsFunc(installers, hasSucceeded) {
		return damage{}
	}
	return n.staticPodDamage(n.TargetRevision, installers)
}

// staticPodDamage returns how the node's mirror pod differs from the revision.
func (n *nodeState) staticPodDamage(revision int32, installers []*corev1.Pod) damage {
	if n.static == nil || n.isOfFormerNode() {
		if slices.ContainsFunc(installers, func(installer *corev1.Pod) bool {
			return hasSucceeded(installer) && installer.CreationTimestamp.Before(&n.node.CreationTimestamp)
		}) {
			return damage{"the machine was replaced, and the static pod does not exist", replacedPatience, true}
		}
		return damage{"the static pod does not exist", filesPatience, true}
	}
	if runs := n.static.Labels["revision"]; runs != "" && !controlplane.HasRevision(n.static, revision) {
		return damage{fmt.Sprintf("the static pod runs revision %s, want %d", runs, revision), filesPatience, false}
	}
	return damage{}
}

// isOfFormerNode reports whether the kubelet of a deleted Node of the same name created the mirror pod.
func (n *nodeState) isOfFormerNode() bool {
	return slices.ContainsFunc(n.static.OwnerReferences, func(owner metav1.OwnerReference) bool {
		return owner.Kind == "Node" && owner.UID != n.node.UID
	})
}

func hasSucceeded(pod *corev1.Pod) bool { return pod.Status.Phase == corev1.PodSucceeded }

// computed has a revision's digests, nil if it is incomplete, and its objects, which informers replace, never change.
type computed struct {
	operand.Objects
	digests *filesyncer.Report
}

// digestsOf returns a file-syncer's digests of a revision, nil if that is incomplete. It computes them only if an
// object differs: each status that a kubelet writes needs them, and they took a third of the CPU time at rest.
func (c *controller) digestsOf(revision int32) (*filesyncer.Report, error) {
	objects, err := c.Objects()
	if err != nil {
		return nil, err
	}
	var of computed
	for _, name := range operand.DeliveredBy(operand.ConfigMap, operand.Revisioned) {
		of.ConfigMaps = append(of.ConfigMaps, objects.ConfigMap(operand.NameIn(name, revision)))
	}
	for _, name := range operand.DeliveredBy(operand.Secret, operand.Revisioned) {
		of.Secrets = append(of.Secrets, objects.Secret(operand.NameIn(name, revision)))
	}
	if slices.Equal(of.ConfigMaps, c.computed.ConfigMaps) && slices.Equal(of.Secrets, c.computed.Secrets) {
		return c.computed.digests, nil
	}
	c.computed = of
	if slices.Contains(of.ConfigMaps, nil) || slices.Contains(of.Secrets, nil) {
		return nil, nil
	}
	// The installer could not install an incomplete revision either, and reports that.
	if installed, err := of.Installed(revision); err == nil {
		c.computed.digests = &filesyncer.Report{
			Manifest:  nodefiles.Digest(nodefiles.Files{operand.ManifestFile: installed.Manifest}),
			Directory: nodefiles.Digest(installed.Files),
		}
	}
	return c.computed.digests, nil
}
