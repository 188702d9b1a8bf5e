package preflight

import (
	"context"
	"fmt"
	"slices"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/nodecause"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operandlog"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/patience"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/trial"
)

// acceptedByAdmin is why a revision that has failed rolls out.
const acceptedByAdmin = "an administrator has accepted what it changes"

// proofMemory is what a process of the operator remembers about the proof of a revision, beside the record.
type proofMemory struct {
	// unled is since when no process holds the lease, lost since when a process of another node has ended and is not
	// Ready, awaits the start of the state that waits for a move, and well the container that leads with all its
	// controllers.
	unled, lost patience.Since[bool]
	awaits      patience.Since[int64]
	well        patience.Since[string]
	// ends are the processes that led with the latest revision (of) and ended before they settled.
	ends []string
	of   int32
}

// prove lets the first node of a rollout lead before a second node gets the revision: package leadership moves the
// lead, and the rollout waits. When every node has the revision, it counts the leaders that end.
func (s *state) prove(ctx context.Context) error {
	latest, proof := s.view.Status().LatestAvailableRevision, s.record.Proof
	switch {
	case proof.HasFailed(latest) && !s.record.IsRejected(latest) &&
		s.isAccepted(s.changes(proof.Former)):
		return s.writeProof(ctx, proof.In(trial.Unproved, acceptedByAdmin, s.view.Now()))
	case proof.HasEnded(latest):
		return s.takeBackIfLeadersEnd(ctx)
	case proof.IsOpen(latest) && s.hasFirstNode(proof):
		return s.continueProof(ctx)
	}
	begun := s.beginProof(ctx)
	if begun == nil {
		return nil
	}
	s.after(lookInterval)
	return s.writeProof(ctx, begun)
}

// hasFirstNode reports whether the first node of a proof still has its revision: a machine may be replaced meanwhile.
// Then another node proves it.
func (s *state) hasFirstNode(p *trial.Proof) bool {
	return p.AwaitsFormer() || s.view.Revisions(p.Node).CurrentRevision == p.Revision
}

func (s *state) continueProof(ctx context.Context) error {
	look, present := lookInterval, s.record.Proof
	if present.State == trial.ProofHeld && !present.Hangs {
		look = max(lookInterval, present.Since.Add(trial.ProofHoldPeriod).Sub(s.view.Now())) // Time or an event ends it.
	}
	s.after(look)
	p := s.observeProof(ctx, present)
	next, verdict := p.next()
	if verdict != nil {
		return s.rejectLed(ctx, next, verdict)
	}
	if next.State == trial.ProofAwaited && p.isElsewhere && len(next.Controllers) == 0 {
		asked := *next // The former leader did not answer in time before.
		asked.Controllers, _ = s.startedOn(ctx, s.view.Holder().Node)
		next = &asked
	}
	return s.writeProof(ctx, next)
}

// beginProof returns the proof of a rollout whose first node has the revision, nil if it needs none. Changes of only
// credentials and CAs need no proof, but their leaders are watched if the former revision leads.
func (s *state) beginProof(ctx context.Context) *trial.Proof {
	latest, now := s.view.Status().LatestAvailableRevision, metav1.NewTime(s.view.Now())
	begun := &trial.Proof{Revision: latest, State: trial.ProofAwaited, Began: now, Since: now}
	begun.Node, begun.Former = s.view.Halfway()
	first, former := s.view.StaticPod(begun.Node), s.record.Proof
	begun.Again = former.IsOpen(latest) && former.Again // The machine of its first node was replaced.
	if begun.Former == 0 || first == nil || !controlplane.IsReady(first) ||
		!former.IsNew(s.objects, latest, begun.Former) {
		return nil
	}
	if !trial.MustLead(s.changes(begun.Former)) {
		return s.withoutProof(begun)
	}
	if holder := s.view.Holder(); holder.State.Runs() && holder.Node != begun.Node {
		begun.Controllers, _ = s.startedOn(ctx, holder.Node)
	}
	return begun
}

// withoutProof returns the proof of a revision that need not lead, which has ended; nil if no former one leads: then
// the change may be the fix. A preflight that has led with it counts.
func (s *state) withoutProof(begun *trial.Proof) *trial.Proof {
	if s.leadingFormer() == 0 {
		return nil
	}
	begun.State = trial.Unproved
	if s.hasLoggedIn(begun.Former) {
		begun.State = trial.Proven
	}
	return begun
}

// startedOn returns the controllers that the leader on a node has started, and whether it has answered.
func (s *state) startedOn(ctx context.Context, node string) (started []string, answers bool) {
	pod := s.view.StaticPod(node)
	if pod == nil {
		return nil, false
	}
	started, err := s.controllersOf(ctx, pod)
	if err != nil {
		klog.FromContext(ctx).V(2).Info("The leader does not tell what it has started", "node", node, "err", err)
	}
	return started, err == nil
}

func (s *state) observeProof(ctx context.Context, proof *trial.Proof) *proving {
	holder, changes := s.view.Holder(), s.changes(proof.Former)
	p := &proving{
		now: s.view.Now(), proof: proof, changed: changes.Causes(),
		accepted: s.isAccepted(changes), accept: s.acceptCommand(changes),
	}
	holds := holder.State.Runs() // It may hang, or its machine may be dead, until the lease expires.
	s.observeLosses(p, holds)
	p.isElsewhere, p.isSettled = holds && holder.Node != proof.Node, holder.State == controlplane.Leading
	first := s.view.StaticPod(proof.Node)
	// Otherwise its static pod is just being started, or its machine is being replaced.
	if first != nil && controlplane.HasRevision(first, proof.Revision) {
		p.end = s.endOfLead(ctx, first, proof)
		if holds && !p.isElsewhere {
			p.container = controlplane.ContainerStatus(first).ContainerID
		}
	}
	isFormer := p.isElsewhere && s.view.Revisions(holder.Node).CurrentRevision != proof.Revision
	if p.container != "" || isFormer && proof.AwaitsFormer() {
		p.started, p.answers = s.startedOn(ctx, holder.Node)
	}
	if p.container != "" {
		s.observeStart(ctx, p, first)
	}
	return p
}

// observeLosses adds to the proof how long nobody has held the lease, how long the move has been awaited, and how long
// another node's process has been missing. A client that has written the lease keeps the lead from moving until that is
// released or expires. One that goes on renewing it may be another operator's.
func (s *state) observeLosses(p *proving, holds bool) {
	if s.view.Holder().State == controlplane.Other && s.view.Now().Sub(p.proof.Began.Time) < trial.ProofHoldPeriod {
		s.memory.unled, s.memory.awaits = patience.Since[bool]{}, patience.Since[int64]{}
	} else {
		p.awaited = s.view.Now().Sub(s.memory.awaits.See(p.proof.Since.Unix(), s.view.Now()))
		if since := s.memory.unled.See(!holds, s.view.Now()); !holds {
			p.unled = s.view.Now().Sub(since)
		}
	}
	isLost := s.view.OtherHasEnded(p.proof.Node)
	if since := s.memory.lost.See(isLost, s.view.Now()); isLost {
		p.lost = s.view.Now().Sub(since)
		s.after(lookInterval)
	}
}

// observeStart adds how long the first node's process has led with all its controllers, and its log if they are late.
func (s *state) observeStart(ctx context.Context, p *proving, first *corev1.Pod) {
	well := ""
	if p.hasStarted() {
		well = p.container
	}
	if since := s.memory.well.See(well, s.view.Now()); well != "" {
		p.wellFor = s.view.Now().Sub(since)
	}
	if s.view.Now().Sub(p.proof.Since.Time) >= startTimeout {
		text, _, _ := operandlog.Read(ctx, s.Kube.CoreV1(), first.Name)
		p.log, _ = s.mask(text) // It only explains.
	}
}

// endOfLead returns the verdict about the first node's process if it led and has ended, nil otherwise. The container
// and the lease prove it; the log only says why.
func (s *state) endOfLead(ctx context.Context, pod *corev1.Pod, proof *trial.Proof) *trial.Verdict {
	status, lease := controlplane.ContainerStatus(pod), s.view.Record().Lease
	run := controlplane.Terminated(status)
	if run == nil || lease == nil {
		return nil
	}
	// It led if the proof has seen that, or by the lease: it may have ended before the operator looked.
	hasLed := proof.State == trial.ProofLeads || proof.State == trial.ProofHeld && !proof.AwaitsFormer() &&
		!controlplane.EndedByMove(run, proof.Node, s.view.Moves())
	isRecorded := hasLed && run.ContainerID == proof.Container
	process := s.view.Record().Process
	if !isRecorded && (process.Node != proof.Node || !controlplane.Led(run, lease) || !s.Lease.EndOf(s.view).Proven) {
		return nil
	}
	return s.judgeEnd(ctx, pod, run, lease)
}

func (s *state) judgeEnd(
	ctx context.Context, pod *corev1.Pod, run *corev1.ContainerStateTerminated, lease *coordinationv1.Lease,
) *trial.Verdict {
	verdict := (&evidence{now: s.view.Now(), pod: pod, log: s.logOfEnded(ctx, pod)}).ended(run)
	verdict.Led, verdict.Ended = true, run.FinishedAt
	began := run.StartedAt.Time
	if controlplane.Led(run, lease) {
		began = lease.Spec.AcquireTime.Time
	}
	verdict.Took.Duration = max(0, run.FinishedAt.Sub(began))
	if controlplane.Signal(run) != 0 && run.Reason != "OOMKilled" && verdict.Took.Duration < probePeriod {
		verdict.Class = killed // neither by its kubelet nor because memory is short
	}
	return verdict
}

// rejectLed rejects a revision that has led badly. What an administrator has accepted rolls out.
func (s *state) rejectLed(ctx context.Context, failed *trial.Proof, verdict *trial.Verdict) error {
	s.record.Proof, verdict.Led = failed, true
	rejected, err := s.rejectRevision(ctx, failed.Former, verdict)
	if err != nil || rejected {
		return err
	}
	return s.writeProof(ctx, failed.In(trial.Unproved, acceptedByAdmin, s.view.Now()))
}

// writeProof writes the proof of a revision, and reports a new state.
func (s *state) writeProof(ctx context.Context, next *trial.Proof) error {
	former := s.record.Proof
	s.record.Proof = next
	if err := s.record.Save(ctx, s.Kube.CoreV1()); err != nil {
		return fmt.Errorf("the proof of revision %d: %w", next.Revision, err)
	}
	if former == nil || former.Revision != next.Revision || former.State == next.State {
		return nil
	}
	switch next.State {
	case trial.Proven:
		klog.FromContext(ctx).Info("A revision has led well", "revision", next.Revision, "node", next.Node)
	case trial.ProofHeld:
		s.Recorder.Warning("RevisionHeld", next.Describe())
	case trial.Unproved:
		s.Recorder.Warningf("RevisionUnproved", "revision %d rolls out, although its cloud-controller-manager has not led "+
			"well on node/%s: %s", next.Revision, next.Node, next.Why)
	case trial.ProofAwaited, trial.ProofLeads, trial.ProofFailed:
	}
	return nil
}

// takeBackIfLeadersEnd rejects a revision of the last hour whose leaders end soon, although one of the former revision
// led.
func (s *state) takeBackIfLeadersEnd(ctx context.Context) error {
	m, present, latest := &s.memory, s.record.Proof, s.record.Proof.Revision
	noEndCounts := s.noEndCounts(present)
	if m.of != latest || noEndCounts {
		m.of, m.ends = latest, nil
	}
	if noEndCounts {
		return nil
	}
	process := s.view.Record().Process
	verdict := s.endOfLeader(ctx, process, latest)
	if verdict == nil || slices.Contains(m.ends, process.Identity) {
		return nil
	}
	if present.State == trial.Proven && verdict.Class == nodecause.Unauthenticated.String() {
		return nil // The revision has logged in before: its credentials have expired, or were revoked.
	}
	m.ends = append(m.ends, process.Identity)
	if len(m.ends) < minRestarts || len(s.changes(present.Former)) == 0 {
		return nil // The former revision may be pruned: then there is nothing to go back to.
	}
	failed := present.In(trial.ProofFailed, verdict.Message, s.view.Now())
	failed.Node = process.Node
	return s.rejectLed(ctx, failed, verdict)
}

// noEndCounts reports whether the leaders that have ended so far do not count against a revision.
func (s *state) noEndCounts(proof *trial.Proof) bool {
	return s.view.Holder().State == controlplane.Leading || proof.State == trial.ProofFailed ||
		proof.Why == acceptedByAdmin || s.view.Now().Sub(proof.Began.Time) >= watchPeriod
}

// endOfLeader returns the verdict about a process of the revision that ended, because of it, before it settled, or nil.
func (s *state) endOfLeader(ctx context.Context, process controlplane.Process, revision int32) *trial.Verdict {
	pod, lease := s.view.StaticPod(process.Node), s.view.Record().Lease
	if pod == nil || lease == nil || !controlplane.HasRevision(pod, revision) ||
		!s.Lease.EndOf(s.view).Failed {
		return nil
	}
	run := controlplane.Terminated(controlplane.ContainerStatus(pod))
	if !controlplane.Led(run, lease) {
		return nil
	}
	if verdict := s.judgeEnd(ctx, pod, run, lease); verdict.Result == trial.Failed {
		return verdict
	}
	return nil
}
