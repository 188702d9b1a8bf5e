package preflight

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane/leaseholder"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/nodecause"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operandlog"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/patience"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/trial"
)

// acceptedByAdmin is why a revision that has failed rolls out.
const acceptedByAdmin = "an administrator has accepted what it changes"

// leading is what a process of the operator remembers of the proof of a revision. The rest is in the record.
type leading struct {
	// unled is since when no process leads, and well the container that leads with all its controllers.
	unled patience.Since[bool]
	well  patience.Since[string]
	// ends are the processes that have led with the latest revision, and have ended before they settled.
	ends []string
	of   int32
}

// prove lets the first node of a rollout lead before a second node gets the revision, by its record: package handover
// moves the lead, and the rollout waits. When every node has it, it counts the leaders that end.
func (c *controller) prove(ctx context.Context, syncCtx factory.SyncContext, record *trial.Record) error {
	_, status, _, err := c.Operator.GetStaticPodOperatorState()
	if err != nil {
		return err
	}
	view, err := c.look()
	if err != nil {
		return err
	}
	latest, proof := status.LatestAvailableRevision, record.Leading
	switch {
	case proof.HasFailed(latest) && !record.IsRejected(latest):
		return c.writeProof(ctx, record, proof.In(trial.LeadUnproved, acceptedByAdmin, c.Clock.Now()))
	case proof.HasEnded(latest):
		return c.watchLeaders(ctx, view, record)
	case proof.IsOpen(latest):
		return c.goOn(ctx, syncCtx, view, record)
	}
	begun, err := c.beginProof(ctx, status, view, proof)
	if err != nil || begun == nil {
		return err
	}
	syncCtx.Queue().AddAfter(syncCtx.QueueKey(), lookInterval)
	return c.writeProof(ctx, record, begun)
}

// goOn advances an open proof.
func (c *controller) goOn(
	ctx context.Context, syncCtx factory.SyncContext, view controlplane.View, record *trial.Record,
) error {
	look, present := lookInterval, record.Leading
	if present.State == trial.LeadHeld && !present.Hangs {
		look = max(lookInterval, present.Since.Add(trial.LeadHold).Sub(c.Clock.Now())) // Time ends it, or an event.
	}
	syncCtx.Queue().AddAfter(syncCtx.QueueKey(), look)
	p, err := c.proofOf(ctx, view, present)
	if err != nil {
		return err
	}
	next, verdict := p.next()
	if verdict != nil {
		return c.rejectLed(ctx, view, record, next, verdict)
	}
	if next.State == trial.LeadAwaited && p.isElsewhere && len(next.Controllers) == 0 {
		asked := *next // The former leader did not answer in time before.
		asked.Controllers, _ = c.startedOn(ctx, view, view.Holder().Node)
		next = &asked
	}
	return c.writeProof(ctx, record, next)
}

// beginProof returns the record of a rollout whose first node has the revision, nil if nothing is to be proved.
func (c *controller) beginProof(
	ctx context.Context, status *operatorv1.StaticPodOperatorStatus, view controlplane.View, former *trial.Leading,
) (*trial.Leading, error) {
	latest, now := status.LatestAvailableRevision, metav1.NewTime(c.Clock.Now())
	leader := leaderOf(status, view)
	record := &trial.Leading{Revision: latest, State: trial.LeadAwaited, Began: now, Since: now}
	record.Node, record.Former = controlplane.Halfway(status, leader)
	first := view.StaticPod(record.Node)
	if record.Former == 0 || first == nil || !controlplane.IsReady(first) {
		return nil, nil
	}
	objects, err := c.objects()
	if err != nil {
		return nil, err
	}
	if needed, err := former.NeedsProof(objects, latest, record.Former); err != nil || !needed {
		return nil, err
	}
	if holder := view.Holder(); holder.State.Runs() && holder.Node != record.Node {
		record.Controllers, _ = c.startedOn(ctx, view, holder.Node)
	}
	return record, nil
}

// leaderOf returns the node that the lease names, "" if it names none.
func leaderOf(status *operatorv1.StaticPodOperatorStatus, view controlplane.View) string {
	lease := view.Record().Lease
	if lease == nil {
		return ""
	}
	var nodes []string
	for _, node := range status.NodeStatuses {
		nodes = append(nodes, node.NodeName)
	}
	return leaseholder.Node(lease, nodes)
}

// startedOn returns the controllers that the leader on a node has started, and whether it has answered.
func (c *controller) startedOn(
	ctx context.Context, view controlplane.View, node string,
) (started []string, answers bool) {
	pod := view.StaticPod(node)
	if pod == nil {
		return nil, false
	}
	started, err := c.Started(ctx, pod)
	if err != nil {
		klog.FromContext(ctx).V(2).Info("The leader does not tell what it has started", "node", node, "err", err)
	}
	return started, err == nil
}

// proofOf returns what is known about the record's revision.
func (c *controller) proofOf(ctx context.Context, view controlplane.View, record *trial.Leading) (*proof, error) {
	now, holder := c.Clock.Now(), view.Holder()
	changes, err := c.changes(&rollout{revision: record.Revision, former: record.Former})
	if err != nil {
		return nil, err
	}
	p := &proof{now: now, record: record, changed: changes.Causes()}
	if p.accepted, p.accept, err = c.acceptance(changes); err != nil {
		return nil, err
	}
	leads := holder.State.Runs()
	if since := c.leading.unled.See(!leads, now); !leads {
		p.unled = now.Sub(since)
	}
	p.isElsewhere, p.isSettled = leads && holder.Node != record.Node, holder.State == controlplane.Leading
	first := view.StaticPod(record.Node)
	if first == nil || first.Labels["revision"] != strconv.Itoa(int(record.Revision)) {
		return p, nil // Its static pod is just being started.
	}
	p.end = c.endOfLead(ctx, view, first, record)
	if leads && !p.isElsewhere {
		p.container = controlplane.ContainerStatus(first, operand.Name).ContainerID
	}
	if leads && (p.container != "" || record.AwaitsFormer()) {
		p.started, p.answers = c.startedOn(ctx, view, holder.Node)
	}
	return p, c.observeStart(ctx, p, first)
}

// observeStart adds to the proof how long the process of the first node has led with all its controllers, and its log
// if it has not started them in time.
func (c *controller) observeStart(ctx context.Context, p *proof, first *corev1.Pod) (err error) {
	if p.container == "" {
		return nil
	}
	well := ""
	if p.hasStarted() {
		well = p.container
	}
	if since := c.leading.well.See(well, p.now); well != "" {
		p.wellFor = p.now.Sub(since)
	}
	if p.now.Sub(p.record.Since.Time) >= startLimit {
		p.log, err = c.logOf(ctx, first)
	}
	return err
}

// endOfLead returns the verdict about the process of the first node if it led and has ended, nil otherwise. The
// container and the lease prove it. The log only says why.
func (c *controller) endOfLead(
	ctx context.Context, view controlplane.View, pod *corev1.Pod, record *trial.Leading,
) *trial.Verdict {
	status, lease := controlplane.ContainerStatus(pod, operand.Name), view.Record().Lease
	run := controlplane.Terminated(status)
	if run == nil || lease == nil {
		return nil
	}
	// It led if the record has seen it lead, or by the lease: it may have ended before the operator looked.
	hasLed := record.State == trial.LeadTaken && run.ContainerID == record.Container
	if !hasLed {
		process := view.Record().Process
		hasLed = process.Node == record.Node && controlplane.Led(run, lease) && c.Lease.EndOf(view).Proven
	}
	if !hasLed {
		return nil
	}
	return c.judgeEnd(ctx, pod, run, lease)
}

// judgeEnd returns the verdict about a process that led and has ended.
func (c *controller) judgeEnd(
	ctx context.Context, pod *corev1.Pod, run *corev1.ContainerStateTerminated, lease *coordinationv1.Lease,
) *trial.Verdict {
	e := &evidence{now: c.Clock.Now(), pod: pod}
	if text, err := operandlog.ReadFormer(ctx, c.Kube.CoreV1(), pod.Name); err == nil {
		e.log, _ = c.Mask(text)
	}
	run = run.DeepCopy()
	run.Message = logged(run.Message, e.log)
	verdict := e.ended(run)
	verdict.Led, verdict.Ended = true, run.FinishedAt
	if acquired := lease.Spec.AcquireTime; controlplane.Led(run, lease) {
		verdict.Took.Duration = max(0, run.FinishedAt.Sub(acquired.Time))
	} else {
		verdict.Took.Duration = run.FinishedAt.Sub(run.StartedAt.Time)
	}
	if wasKilled(run, verdict.Took.Duration) {
		verdict.Class = killed
	}
	return verdict
}

// logged returns the lines of a termination message that are also in the log. The kubelet takes the message from the
// end of the log, with lines that tenants have written, which were left out of the log. If there are none, the log is
// that of another process.
func logged(message, log string) string {
	var found strings.Builder
	for line := range strings.Lines(message) {
		if strings.Contains(log, strings.TrimSuffix(line, "\n")) {
			found.WriteString(line)
		}
	}
	return cmp.Or(found.String(), message)
}

// logOf returns the evidence with the log of a process that leads.
func (c *controller) logOf(ctx context.Context, pod *corev1.Pod) (*evidence, error) {
	text, _, err := operandlog.Read(ctx, c.Kube.CoreV1(), pod.Name)
	if err != nil {
		return nil, nil //nolint:nilerr // The log only explains.
	}
	masked, err := c.Mask(text)
	return &evidence{pod: pod, log: masked}, err
}

// rejectLed writes the verdict about a revision that has led badly, with its record. What an administrator has accepted
// rolls out.
func (c *controller) rejectLed(
	ctx context.Context, view controlplane.View, record *trial.Record, failed *trial.Leading, verdict *trial.Verdict,
) error {
	record.Leading, verdict.Led = failed, true
	first := &rollout{revision: failed.Revision, former: failed.Former, pod: view.StaticPod(failed.Node)}
	rejected, err := c.rejectRevision(ctx, record, first, verdict)
	if err != nil || rejected {
		return err
	}
	return c.writeProof(ctx, record, failed.In(trial.LeadUnproved, acceptedByAdmin, c.Clock.Now()))
}

// writeProof writes the proof of a revision, and reports a state that has begun.
func (c *controller) writeProof(ctx context.Context, record *trial.Record, next *trial.Leading) error {
	former := record.Leading
	record.Leading = next
	if err := record.Save(ctx, c.Kube.CoreV1()); err != nil {
		return fmt.Errorf("the proof of revision %d: %w", next.Revision, err)
	}
	if former != nil && former.State == next.State {
		return nil
	}
	switch next.State {
	case trial.LeadProven:
		klog.FromContext(ctx).Info("A revision has led well", "revision", next.Revision, "node", next.Node)
	case trial.LeadHeld:
		c.Recorder.Warning("RevisionHeld", next.Describe())
	case trial.LeadUnproved:
		c.Recorder.Warningf("RevisionUnproved", "revision %d rolls out, although its cloud-controller-manager has not led "+
			"well on node/%s: %s", next.Revision, next.Node, next.Why)
	case trial.LeadAwaited, trial.LeadTaken, trial.LeadFailed:
	}
	return nil
}

// watchLeaders rejects a revision of the last hour whose cloud-controller-managers end soon after each begins to lead,
// although one of the former revision led.
func (c *controller) watchLeaders(ctx context.Context, view controlplane.View, record *trial.Record) error {
	l, present, latest := &c.leading, record.Leading, record.Leading.Revision
	isOver := c.isOver(view, present)
	if l.of != latest || isOver {
		l.of, l.ends = latest, nil
	}
	if isOver {
		return nil
	}
	process := view.Record().Process
	verdict := c.endOfLeader(ctx, view, process, latest)
	if verdict == nil || slices.Contains(l.ends, process.Identity) {
		return nil
	}
	if present.State == trial.LeadProven && verdict.Class == nodecause.Unauthenticated.String() {
		return nil // The revision has logged in before: its credentials have expired, or were revoked.
	}
	l.ends = append(l.ends, process.Identity)
	if len(l.ends) < enoughEnds {
		return nil
	}
	changes, err := c.changes(&rollout{revision: latest, former: present.Former})
	if err != nil || len(changes) == 0 {
		return err // The former revision was pruned: there is nothing to go back to.
	}
	failed := present.In(trial.LeadFailed, verdict.Message, c.Clock.Now())
	failed.Node = process.Node
	return c.rejectLed(ctx, view, record, failed, verdict)
}

// isOver reports whether the ends of the leaders so far do not count against a revision.
func (c *controller) isOver(view controlplane.View, record *trial.Leading) bool {
	return view.Holder().State == controlplane.Leading || record.State == trial.LeadFailed ||
		record.Why == acceptedByAdmin || c.Clock.Now().Sub(record.Began.Time) >= recentTime
}

// endOfLeader returns the verdict about a process of a revision that led and has ended before it had settled, nil if it
// has not, or if the revision was not to blame.
func (c *controller) endOfLeader(
	ctx context.Context, view controlplane.View, process controlplane.Process, revision int32,
) *trial.Verdict {
	pod, lease := view.StaticPod(process.Node), view.Record().Lease
	if pod == nil || lease == nil || pod.Labels["revision"] != strconv.Itoa(int(revision)) ||
		!c.Lease.EndOf(view).Failed {
		return nil
	}
	run := controlplane.Terminated(controlplane.ContainerStatus(pod, operand.Name))
	if !controlplane.Led(run, lease) {
		return nil
	}
	return onlyFailed(c.judgeEnd(ctx, pod, run, lease))
}
