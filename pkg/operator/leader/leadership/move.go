package leadership

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/operator/loglevel"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/hostpod"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/observedplatform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/patience"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/predecessor"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/trial"
)

const (
	// cordonGrace is how long a Node must have been cordoned before the lead moves. A drain lists the pods right after the
	// cordon, and would evict a pod of a move before it starts. A short cordon moves nothing.
	cordonGrace = 10 * time.Second

	// leaveLimit limits how long the former leader's manifest is away, takeLimit the successor's, which waits for the
	// other. Node repair would install a missing static pod after 30 seconds.
	leaveLimit, takeLimit = 15 * time.Second, 20 * time.Second

	// proofPeriod is how long the former leader's manifest stays away after a move for a proof. Most errors end the next
	// leader within it, and a process that starts asks for the lease at once.
	proofPeriod = 18 * time.Second

	// gracePeriod exceeds the runtime of the command, which ignores SIGTERM: a drain may delete its pod meanwhile.
	gracePeriod = 90 * time.Second
)

func (c *controller) moveLead(ctx context.Context, v *view) (next time.Duration, err error) {
	if next, err = c.cleanUp(ctx, v); err != nil {
		return 0, err
	}
	planned, wait := v.plan()
	if planned.successor != "" {
		if err := c.start(ctx, v, planned); err != nil {
			return 0, err
		}
	}
	return patience.Sooner(next, wait), operatorclient.ApplyConditions(ctx, c.Operator, name, v.condition())
}

func (v *view) isCordoned() bool {
	node := v.Node(v.holder.Node)
	return node != nil && controlplane.IsCordoned(node)
}

// cleanUp deletes the pods of moves that do not count any more. It returns when to call again.
func (c *controller) cleanUp(ctx context.Context, v *view) (next time.Duration, err error) {
	for _, p := range v.moves {
		if left := v.keeps(p); left != 0 {
			next = patience.Sooner(next, left)
			continue
		}
		err := operatorclient.Delete(ctx, c.Kube.CoreV1().Pods(operand.Namespace).Delete, "pod", operand.Namespace,
			p.Name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(p.UID))})
		if err != nil {
			return 0, err
		}
	}
	return next, nil
}

type move struct {
	occasion
	// due is when the lead moves, zero for at once.
	due time.Time
	// successor is the node that leads next, the holder's own for another process there, "" if none can.
	successor string
}

// wishes return the move that is wanted, without a successor if there is none. The first one counts.
var wishes = []func(v *view) move{proofWanted, takingBackWanted, cordonWanted, replacementWanted}

// plan returns the move to start, or when to look again. A holder must be a settled process of ours that was seen to
// write the lease, on a Node whose kubelet works.
func (v *view) plan() (start move, wait time.Duration) {
	if rest, ok := v.brokenOff(); ok {
		return rest, 0
	}
	for _, wish := range wishes {
		wanted := wish(v)
		if wanted.successor == "" {
			continue
		}
		wait, free := v.mayLeave()
		if free {
			wait = max(0, wanted.due.Sub(v.Now()))
		}
		if !free || wait > 0 {
			return move{}, wait
		}
		return wanted, 0
	}
	return move{}, 0
}

// cordonWanted moves the lead away from a Node that reboots. Like replacementWanted, it wants nothing during a rollout
// or a take-over, which move the lead themselves.
func cordonWanted(v *view) move {
	if !v.isCordoned() || v.hasLeft(v.holder.Node) || v.isChanging() {
		return move{}
	}
	return move{cordon, v.cordonedSince.Add(cordonGrace), v.successor(v.isOther)}
}

// mayLeave reports whether the lead may leave the holder, or when to look again, 0 if only an event lets it.
func (v *view) mayLeave() (wait time.Duration, free bool) {
	switch {
	case controlplane.KubeletOf(v.Node(v.holder.Node)) != controlplane.KubeletReady:
		return 0, false
	case v.isMoving():
		return v.movesUntil().Sub(v.Now()), false
	case v.holder.State == controlplane.Starting:
		return v.holder.SettlesIn, false
	default:
		return 0, v.holder.State == controlplane.Leading && v.isOurs
	}
}

// isChanging reports whether a revision is being installed or repaired, or the predecessor leaves.
func (v *view) isChanging() bool {
	return predecessor.Remains(v.Status().Conditions) || v.IsInstalling(v.Status())
}

func (v *view) isOther(node string) bool { return node != v.holder.Node }

// successor returns the node whose standby started last, "" if no Ready one is on a Node that is Ready and not
// cordoned. If Nodes reboot in turn, that Node has most likely rebooted.
func (v *view) successor(isOne func(node string) bool) string {
	standbys := slices.DeleteFunc(slices.Clone(v.StaticPods()), func(pod *corev1.Pod) bool {
		return !isOne(pod.Spec.NodeName) || v.unfit(pod) != ""
	})
	if len(standbys) == 0 {
		return ""
	}
	started := func(pod *corev1.Pod) time.Time {
		return controlplane.ContainerStatus(pod).State.Running.StartedAt.Time
	}
	return slices.MaxFunc(standbys, func(a, b *corev1.Pod) int {
		return cmp.Or(started(a).Compare(started(b)), strings.Compare(b.Name, a.Name))
	}).Spec.NodeName
}

// unfit returns why the process of a static pod cannot replace the leader, "" if it can.
func (v *view) unfit(pod *corev1.Pod) string {
	node := v.Node(pod.Spec.NodeName)
	switch {
	case node == nil:
		return fmt.Sprintf("node/%s does not exist", pod.Spec.NodeName)
	case controlplane.IsCordoned(node):
		return fmt.Sprintf("node/%s is cordoned", node.Name)
	case controlplane.KubeletOf(node) != controlplane.KubeletReady:
		return fmt.Sprintf("node/%s is not Ready", node.Name)
	case !controlplane.IsReady(pod), controlplane.ContainerStatus(pod).State.Running == nil:
		return fmt.Sprintf("pod/%s is not Ready", pod.Name)
	}
	return ""
}

// start creates a pod on the successor, and one on the holder's node. Each removes the static pod's manifest and
// restores it, even if this operator ends. The successor's static pod starts again when the lease is free and asks for
// it at once, while the other standbys ask every 26 to 57 seconds.
//
// Two processes never lead: the pod on the holder's node releases the lease only after the static pod there has ended,
// see package cmd/handover. The successor's pod is created first, because it is harmless by itself and records the
// move, see brokenOff. A move on a single node has only the other pod.
func (c *controller) start(ctx context.Context, v *view, m move) error {
	server, err := observedplatform.APIServer(&v.Spec().OperatorSpec)
	if err != nil {
		return err
	}
	newPod := func(prefix, node string, limit time.Duration, args ...string) *corev1.Pod {
		pod := hostpod.New(hostpod.Options{
			Name: prefix + v.holder.Node, App: controlplane.HandoverApp, Node: node, Image: c.OperatorImage, Command: "handover",
			Args: append([]string{
				"--resource-dir=" + hostpod.ResourceDir, "--pod-manifest-dir=" + hostpod.ManifestDir,
				holderFlag + v.holder.Identity, "--limit=" + limit.String(),
			}, args...),
			Verbosity: loglevel.LogLevelToVerbosity(v.Spec().LogLevel), Server: server,
		})
		pod.Spec.TerminationGracePeriodSeconds = ptr.To(int64(gracePeriod.Seconds()))
		return pod
	}
	leave := []string{"--successor=" + m.successor}
	if holder := v.StaticPod(v.holder.Node); holder != nil {
		leave = append(leave, fmt.Sprintf("--port=%d", controlplane.Port(holder)))
	}
	if m.occasion == proving {
		leave = append(leave, "--stay-away="+proofPeriod.String())
	}
	pods := []*corev1.Pod{newPod(m.leave, v.holder.Node, leaveLimit, leave...)}
	if m.successor != v.holder.Node {
		pods = slices.Insert(pods, 0, newPod(m.take, m.successor, takeLimit))
	}
	started := false
	for _, pod := range pods {
		if started, err = c.create(ctx, pod); err != nil {
			return fmt.Errorf("creating pod/%s in %s: %w", pod.Name, operand.Namespace, err)
		}
	}
	if started {
		c.announce(v, m)
	}
	return nil
}

// create creates a pod of a move, and reports whether it did. Otherwise the cache is behind. Any kubelet may create a
// mirror pod of that name, which is replaced.
func (c *controller) create(ctx context.Context, pod *corev1.Pod) (created bool, err error) {
	pods := c.Kube.CoreV1().Pods(operand.Namespace)
	if _, err = pods.Create(ctx, pod, metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
		return err == nil, err
	}
	former, err := pods.Get(ctx, pod.Name, metav1.GetOptions{})
	if err != nil || !controlplane.IsMirror(former) {
		return false, err
	}
	err = pods.Delete(ctx, pod.Name, metav1.DeleteOptions{
		GracePeriodSeconds: ptr.To[int64](0), Preconditions: metav1.NewUIDPreconditions(string(former.UID)),
	})
	if err == nil {
		_, err = pods.Create(ctx, pod, metav1.CreateOptions{})
	}
	return err == nil, err
}

func (c *controller) announce(v *view, m move) {
	switch m.occasion {
	case proving:
		c.Recorder.Eventf("LeadMoves", "%s: node/%s hands the lead over", v.proof.Describe(), v.holder.Node)
	case takingBack:
		c.Recorder.Eventf("LeadMoves", "the cloud-controller-manager on node/%s leads with revision %d and has not proved "+
			"it: it hands the lead over to the one on node/%s", v.holder.Node, v.proof.Revision, m.successor)
	case cordon:
		c.Recorder.Eventf("LeadMoves", "node/%s is cordoned: its cloud-controller-manager hands the lead over to the one on "+
			"node/%s", v.holder.Node, m.successor)
	case deaf:
		c.Replaced()
		next := "the one on node/" + m.successor + " leads next"
		if m.successor == v.holder.Node {
			next = "it is restarted"
		}
		text := fmt.Sprintf("the cloud-controller-manager on node/%s leads and looks at no node", v.holder.Node)
		if v.isDeaf { // A former process of the operator may have started the move.
			text += ", while " + waits(v.waiting)
		}
		c.Recorder.Warning("DeafLeaderReplaced", text+": "+next)
	}
}

// proofWanted moves the lead to the first node of a rollout, for the proof of its revision. It waits while another
// process is missing, because the former leader may not start again, and while the kubelet would delay a restart of the
// first node's process.
func proofWanted(v *view) move {
	if !v.proofIs(trial.ProofAwaited) || v.holder.Node == v.proof.Node || !v.allReady() || v.backsOff(v.proof.Node) {
		return move{}
	}
	return move{occasion: proving, successor: v.successor(func(node string) bool { return node == v.proof.Node })}
}

// takingBackWanted moves the lead back to a node of the former revision, if the first node's process proves nothing. If
// that does not hang, it leads on while another process has ended: one of the former revision may not start again, for
// example because its credentials were revoked.
func takingBackWanted(v *view) move {
	if !v.proofIs(trial.ProofHeld) || v.holder.Node != v.proof.Node || !v.proof.Hangs && v.OtherHasEnded(v.proof.Node) {
		return move{}
	}
	return move{occasion: takingBack, successor: v.successor(func(node string) bool {
		return v.Revisions(node).CurrentRevision == v.proof.Former
	})}
}

func (v *view) proofIs(state trial.ProofState) bool {
	return v.proof.IsOpen(v.Status().LatestAvailableRevision) && !predecessor.Remains(v.Status().Conditions) &&
		v.proof.State == state
}

func (v *view) allReady() bool {
	return !slices.ContainsFunc(v.Status().NodeStatuses, func(n operatorv1.NodeStatus) bool {
		return !controlplane.IsReady(v.StaticPod(n.NodeName)) && !v.CannotJoin(&n)
	})
}

// backsOff reports whether the kubelet would restart the node's cloud-controller-manager only after a pause that is
// longer than a move. The first restart has none, and the second one ten seconds.
func (v *view) backsOff(node string) bool {
	status := controlplane.ContainerStatus(v.StaticPod(node))
	last := controlplane.Terminated(status)
	return status.RestartCount > 1 && last != nil && v.Now().Sub(last.FinishedAt.Time) < controlplane.BackOffPeriod
}
