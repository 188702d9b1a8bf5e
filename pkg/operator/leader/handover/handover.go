// Package handover moves the lead of the cloud-controller-managers (CCMs) away from a Node that is cordoned, before it
// reboots, and away from a process that is deaf. Otherwise no process leads until the lease of the one that ended with
// its machine expires, and nodes wait for a deaf leader until that process is restarted. In a rollout, it moves the
// lead to the first node that has the revision, see package preflight.
package handover

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	configinformers "github.com/openshift/client-go/config/informers/externalversions/config/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/loglevel"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1informers "k8s.io/client-go/informers/core/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/hostpod"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/observedplatform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/reconciler"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/patience"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/predecessor"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/trial"
)

const (
	name = "Handover"

	// cordonGrace is how long a Node must have been cordoned before the lead moves. A drain lists what it evicts after
	// the cordon: a pod of a move that had not started by then never would. A cordon of a moment moves nothing.
	cordonGrace = 10 * time.Second

	// observePeriod is how soon to look again for the process behind the lease. Leader election records it, and may be
	// called a moment later for the same event.
	observePeriod = time.Second

	// leaveLimit is how long the former leader's manifest is away, takeLimit the successor's. The successor waits for
	// the other one. Node repair installs a missing static pod after 30 seconds.
	leaveLimit, takeLimit = 15 * time.Second, 20 * time.Second

	// proofPeriod is how long the former leader's manifest stays away after the lead has moved for a proof: most of what
	// can end the next leader ends it by then, and a process that starts asks for the lease at once.
	proofPeriod = 18 * time.Second

	// gracePeriod is longer than the command takes, which ignores SIGTERM. A drain deletes the pod while it works.
	gracePeriod = 90 * time.Second
)

// Options are the dependencies of New; all are required.
type Options struct {
	Operator v1helpers.StaticPodOperatorClient
	Lease    *controlplane.Lease
	// Pods watches the operand's namespace, Nodes the control-plane Nodes.
	Pods  corev1informers.PodInformer
	Nodes corev1informers.NodeInformer
	// Secrets watches the operand's namespace. One has the record of a revision's proof.
	Secrets corev1informers.SecretInformer
	// Infrastructures has the topology.
	Infrastructures configinformers.InfrastructureInformer
	// Client creates and deletes pods.
	Client corev1client.PodsGetter
	// OperatorImage is this operator's image, which the pods run.
	OperatorImage string
	// Deafness has the leader that looks at no node.
	Deafness *controlplane.Deafness
	// Replaced counts the deaf leaders that were replaced.
	Replaced func()
	Clock    clock.PassiveClock
	Recorder events.Recorder
}

type controller struct {
	Options
	// cordoned is the leader's Node while it is cordoned, and since when this process has seen that.
	cordoned patience.Since[string]
}

// New returns the controller. It reacts to Nodes, pods and the lease. A timer removes the pods of a former move, and
// looks again when time alone lets the lead move. A deaf leader renews the lease, so it is seen within a retry period.
func New(o Options) factory.Controller {
	dependencies.Require(o)
	f := factory.New().
		WithInformers(o.Lease, o.Pods.Informer(), o.Nodes.Informer()).
		WithFilteredEventsInformers(isProof, o.Secrets.Informer()).
		WithBareInformers(o.Infrastructures.Informer())
	return reconciler.From(f, name, o.Operator, o.Recorder, newController(o).sync)
}

func newController(o Options) *controller { return &controller{Options: o} }

// snapshot is the content of the caches at one moment.
type snapshot struct {
	controlplane.View
	nodes []*corev1.Node
	// moves are the pods of moves.
	moves []*corev1.Pod
	// proof is the record of a revision's proof, nil if there is none.
	proof  *trial.Leading
	spec   *operatorv1.StaticPodOperatorSpec
	status *operatorv1.StaticPodOperatorStatus
}

func (c *controller) sync(ctx context.Context, syncCtx factory.SyncContext) error {
	managed, known, err := observedplatform.Managed(c.Operator)
	if err != nil || !known || !managed {
		return err
	}
	s, err := c.observe()
	if err != nil {
		return err
	}
	next, err := c.cleanUp(ctx, s)
	if err != nil {
		return err
	}
	planned, wait := c.plan(s)
	if rest := s.brokenOff(planned.holder); rest.successor != "" {
		planned = rest
	}
	if next = patience.Sooner(next, wait); next > 0 {
		syncCtx.Queue().AddAfter(syncCtx.QueueKey(), next)
	}
	if planned.successor != "" {
		if err := c.begin(ctx, s, planned); err != nil {
			return err
		}
	}
	return operatorclient.ApplyConditions(ctx, c.Operator, name, c.condition(s, planned.holder))
}

// observe reads the caches.
func (c *controller) observe() (snapshot, error) {
	var s snapshot
	var err error
	if s.spec, s.status, _, err = c.Operator.GetStaticPodOperatorState(); err != nil {
		return s, err
	}
	if s.nodes, err = operatorclient.All(c.Nodes.Lister(), "nodes"); err != nil {
		return s, err
	}
	if s.View, err = controlplane.Look(c.Lease, c.Pods.Lister(), c.Infrastructures.Lister(), c.Clock); err != nil {
		return s, err
	}
	secret, err := operatorclient.Find(c.Secrets.Lister().Secrets(operand.Namespace), "secret", operand.Namespace,
		operand.PreflightName)
	if err != nil {
		return s, err
	}
	s.proof = trial.Of(secret).Leading
	pods, err := operatorclient.All(c.Pods.Lister().Pods(operand.Namespace), "pods in "+operand.Namespace)
	s.moves = slices.DeleteFunc(pods, func(pod *corev1.Pod) bool {
		return pod.Labels["app"] != controlplane.HandoverApp
	})
	return s, err
}

// node returns the Node of that name, nil if there is none.
func (s *snapshot) node(name string) *corev1.Node {
	for _, node := range s.nodes {
		if node.Name == name {
			return node
		}
	}
	return nil
}

// cleanUp deletes the pods of moves that have ended. They are the record of a move, for this process of the operator
// and the next, so they stay as long as that counts. It returns when to call again.
func (c *controller) cleanUp(ctx context.Context, s snapshot) (next time.Duration, err error) {
	for _, pod := range s.moves {
		if left := s.keeps(pod); left != 0 {
			next = patience.Sooner(next, left)
			continue
		}
		err := operatorclient.Delete(ctx, c.Client.Pods(operand.Namespace).Delete, "pod", operand.Namespace, pod.Name,
			metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(pod.UID))})
		if err != nil {
			return 0, err
		}
	}
	return next, nil
}

// move is a move of the lead.
type move struct {
	occasion
	holder controlplane.Holder
	// successor is the node that is to lead next, the holder's own for another process there, "" for no move.
	successor string
}

// plan returns the move to make, or not before wait. The holder is a settled process of ours, which was seen to write
// the lease, and the Node's kubelet works. There is no move during a rollout or a take-over, which move the lead
// themselves, but for a proof.
func (c *controller) plan(s snapshot) (next move, wait time.Duration) {
	record := s.Record()
	next.holder = s.Holder()
	node := s.node(next.holder.Node)
	cordoned := node != nil && controlplane.IsCordoned(node)
	since := c.cordoned.See(map[bool]string{true: next.holder.Node}[cordoned], s.Now())
	leaves := cordoned && !s.hasLeft(node.Name)
	replaced, isDeaf := c.replacedAt(s, next.holder)
	if why, prover := s.proofMove(next.holder); prover != "" {
		if left, free := s.mayLeave(record, next.holder, node); !free {
			return next, left
		}
		next.occasion, next.successor = why, prover
		return next, 0
	}
	if !leaves && !isDeaf || s.isChanging() {
		return next, 0
	}
	if left, free := s.mayLeave(record, next.holder, node); !free {
		return next, left
	}
	due, choose := since.Add(cordonGrace), s.successor
	if next.occasion = cordon; !leaves {
		next.occasion, due, choose = deafness, replaced, s.otherProcess
	}
	if wait = due.Sub(s.Now()); wait <= 0 {
		next.successor = choose(node.Name)
	}
	return next, wait
}

// mayLeave reports whether the lead may leave a holder, or when to look again without an event, 0 if only an event lets
// it.
func (s *snapshot) mayLeave(
	record controlplane.Record, holder controlplane.Holder, node *corev1.Node,
) (wait time.Duration, free bool) {
	if controlplane.KubeletOf(node) != controlplane.KubeletReady {
		return 0, false
	}
	if holder.State != controlplane.Leading || record.Process.Identity != holder.Identity || s.isMoving() {
		return s.unsettled(record, holder), false
	}
	return 0, true
}

// unsettled returns when the lead may be free to move without an event, 0 if only an event lets it.
func (s *snapshot) unsettled(record controlplane.Record, holder controlplane.Holder) time.Duration {
	switch {
	case s.isMoving():
		return s.movesUntil().Sub(s.Now())
	case holder.State == controlplane.Starting:
		return holder.SettlesIn
	case holder.State == controlplane.Leading && record.Present:
		return observePeriod
	default:
		return 0
	}
}

// isChanging reports whether a revision is being installed, or repaired, or the predecessor leaves.
func (s *snapshot) isChanging() bool {
	return predecessor.Remains(s.status.Conditions) ||
		slices.ContainsFunc(s.status.NodeStatuses, func(n operatorv1.NodeStatus) bool {
			return n.TargetRevision != 0 || n.CurrentRevision != s.status.LatestAvailableRevision
		})
}

// successor returns the node of the standby that started last, "" if no Ready one is on another Node that is Ready and
// not cordoned. Where one Node after the other reboots, that Node has most likely rebooted.
func (s *snapshot) successor(holder string) string {
	return s.successorAmong(func(node string) bool { return node != holder })
}

// successorAmong is successor for some nodes.
func (s *snapshot) successorAmong(isOne func(node string) bool) string {
	standbys := slices.DeleteFunc(slices.Clone(s.StaticPods()), func(pod *corev1.Pod) bool {
		return !isOne(pod.Spec.NodeName) || s.unfit(pod) != ""
	})
	if len(standbys) == 0 {
		return ""
	}
	return slices.MaxFunc(standbys, func(a, b *corev1.Pod) int {
		started := func(pod *corev1.Pod) time.Time {
			return controlplane.ContainerStatus(pod, operand.Name).State.Running.StartedAt.Time
		}
		if order := started(a).Compare(started(b)); order != 0 {
			return order
		}
		return strings.Compare(b.Name, a.Name)
	}).Spec.NodeName
}

// unfit returns why the process of a static pod cannot replace the leader, "" if it can.
func (s *snapshot) unfit(pod *corev1.Pod) string {
	node := s.node(pod.Spec.NodeName)
	switch {
	case node == nil:
		return fmt.Sprintf("node/%s does not exist", pod.Spec.NodeName)
	case controlplane.IsCordoned(node):
		return fmt.Sprintf("node/%s is cordoned", node.Name)
	case controlplane.KubeletOf(node) != controlplane.KubeletReady:
		return fmt.Sprintf("node/%s is not Ready", node.Name)
	case !controlplane.IsReady(pod), controlplane.ContainerStatus(pod, operand.Name).State.Running == nil:
		return fmt.Sprintf("pod/%s is not Ready", pod.Name)
	}
	return ""
}

// begin creates a pod on the successor, and one on the holder's node. Each takes the static pod's manifest away and
// puts it back, also if this operator ends. The static pod of the successor starts again when the lease is free, and
// asks for it at once, while the other standbys ask every 26 to 57 seconds.
//
// Two processes never lead because of that: the pod on the holder's node releases the lease only after the static pod
// there has ended, see package cmd/handover. The pod on the successor is created first, because it is harmless by
// itself and records the move. A move that has only that pod goes on, see brokenOff. On a single node there is only the
// other pod.
func (c *controller) begin(ctx context.Context, s snapshot, m move) error {
	observed, err := observedplatform.Config(&s.spec.OperatorSpec)
	if err != nil {
		return err
	}
	server, err := observed.APIServer()
	if err != nil {
		return err
	}
	newPod := func(prefix, node string, limit time.Duration, args ...string) *corev1.Pod {
		pod := hostpod.New(hostpod.Options{
			Name: prefix + m.holder.Node, App: controlplane.HandoverApp, Node: node, Image: c.OperatorImage, Command: "handover",
			Args: append([]string{
				"--resource-dir=" + hostpod.ResourceDir, "--pod-manifest-dir=" + hostpod.ManifestDir,
				holderFlag + m.holder.Identity, "--limit=" + limit.String(),
			}, args...),
			Verbosity: loglevel.LogLevelToVerbosity(s.spec.LogLevel), Server: server,
		})
		pod.Spec.TerminationGracePeriodSeconds = ptr.To(int64(gracePeriod.Seconds()))
		return pod
	}
	leave := []string{"--successor=" + m.successor}
	if holder := s.StaticPod(m.holder.Node); holder != nil {
		leave = append(leave, fmt.Sprintf("--port=%d", controlplane.Port(holder)))
	}
	if m.occasion == proof {
		leave = append(leave, "--stay-away="+proofPeriod.String())
	}
	pods := []*corev1.Pod{newPod(m.leave, m.holder.Node, leaveLimit, leave...)}
	if m.successor != m.holder.Node {
		pods = slices.Insert(pods, 0, newPod(m.take, m.successor, takeLimit))
	}
	begun := false
	for _, pod := range pods {
		_, err := c.Client.Pods(operand.Namespace).Create(ctx, pod, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("creating pod/%s in %s: %w", pod.Name, operand.Namespace, err)
		}
		begun = err == nil // If not, the cache is behind.
	}
	if begun {
		c.announce(s, m)
	}
	return nil
}

// announce records the move.
func (c *controller) announce(s snapshot, m move) {
	switch m.occasion {
	case proof:
		c.Recorder.Eventf("LeadMoves", "%s: node/%s hands the lead over", s.proof.Describe(), m.holder.Node)
		return
	case takingBack:
		c.Recorder.Eventf("LeadMoves", "the cloud-controller-manager on node/%s leads with revision %d and has not proved "+
			"it: it hands the lead over to the one on node/%s", m.holder.Node, s.proof.Revision, m.successor)
		return
	case cordon:
		c.Recorder.Eventf("LeadMoves", "node/%s is cordoned: its cloud-controller-manager hands the lead over to the one on "+
			"node/%s", m.holder.Node, m.successor)
		return
	}
	c.Replaced()
	next := "the one on node/" + m.successor + " leads next"
	if m.successor == m.holder.Node {
		next = "it is restarted"
	}
	text := fmt.Sprintf("the cloud-controller-manager on node/%s leads and looks at no node", m.holder.Node)
	if _, nodes, ok := c.Deafness.Of(m.holder.Identity); ok { // A former process of the operator may have begun the move.
		text += ", while " + waits(nodes)
	}
	c.Recorder.Warning("DeafLeaderReplaced", text+": "+next)
}
