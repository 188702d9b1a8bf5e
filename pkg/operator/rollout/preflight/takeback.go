package preflight

import (
	"context"
	"slices"
	"time"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/nodecause"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/trial"
)

// watchPeriod is how long after the start of its proof a revision is taken back if its leaders end.
const watchPeriod = time.Hour

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
	if len(m.ends) < minRestarts || len(s.objects.Changes(latest, present.Former)) == 0 {
		return nil // The former revision may be pruned: then there is nothing to go back to.
	}
	failed := present.In(trial.ProofFailed, verdict.Message, s.now)
	failed.Node = process.Node
	return s.rejectLed(ctx, failed, verdict)
}

// noEndCounts reports whether the leaders that have ended so far do not count against a revision.
func (s *state) noEndCounts(record *trial.Proof) bool {
	return s.view.Holder().State == controlplane.Leading || record.State == trial.ProofFailed ||
		record.Why == acceptedByAdmin || s.now.Sub(record.Began.Time) >= watchPeriod
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
	return onlyFailed(s.judgeEnd(ctx, pod, run, lease))
}
