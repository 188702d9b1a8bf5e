package preflight

import (
	"context"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/nodecause"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operandlog"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/patience"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/trial"
)

const (
	// minRestarts is how often the container must have ended since it last settled: a single end may be the node's fault.
	minRestarts = 2

	// hangTimeout is how long a container may run without being Ready if its log shows that it does not wait for a cloud.
	hangTimeout = 30 * time.Second

	// cloudTimeout is the same for one that may wait for its cloud. The former revision leads meanwhile.
	cloudTimeout = trial.ProofHoldPeriod

	// logInterval is how often the log of a static pod is read meanwhile.
	logInterval = 10 * time.Second
)

// firstNodeMemory is what this process has seen of the pod on a rollout's first node.
type firstNodeMemory struct {
	notReady
	// ready is the ID of its Ready container, and ignored how many of the ends of that pod's container do not count.
	ready   patience.Since[string]
	ignored map[types.UID]int
}

// notReady is what was seen since the pod was Ready last.
type notReady struct {
	// unready is the UID of the pod, running the ID of its running container, and emptyLog the container whose log was
	// empty. lastLogRead is when its log was last read.
	unready, running, emptyLog patience.Since[string]
	lastLogRead                time.Time
}

// rollout is at its first node, while the others run a former revision well.
type rollout struct {
	revision, former int32
	// pod is the static pod of the first node.
	pod *corev1.Pod
}

// firstNode returns the rollout that is at its first node, nil if there is none, or if the others do not prove that the
// former revision works: at a first installation, a take-over, on a single node, or while another CCM is not Ready. It
// ignores a node whose kubelet does not work: that proves nothing, and may last for days. The former revision is the
// leader's. An interrupted rollout may have left an older one on a third node.
func (s *state) firstNode() *rollout {
	first := s.ledByFormer()
	if first == nil {
		return nil
	}
	for _, node := range s.status.NodeStatuses {
		pod := s.view.StaticPod(node.NodeName)
		switch isFirst := pod != nil && controlplane.HasRevision(pod, first.revision); {
		case isFirst && first.pod != nil:
			return nil
		case isFirst:
			first.pod = pod
		case controlplane.KubeletOf(s.view.Node(node.NodeName)) != controlplane.KubeletReady:
		case node.CurrentRevision == 0 || !controlplane.IsReady(pod):
			return nil
		}
	}
	if first.pod == nil || first.pod.Spec.NodeName == s.view.Holder().Node {
		return nil
	}
	return first
}

// watchFirstNode rejects what a revision changes if it fails on its first node. Target configuration then goes back to
// what the other nodes have, and that rolls out on the failed one first. A preflight does not see everything that a
// static pod needs, and not every platform has one.
func (s *state) watchFirstNode(ctx context.Context) error {
	first := s.firstNode()
	if first == nil || s.record.IsRejected(first.revision) {
		s.notReady = notReady{}
		return nil
	}
	s.after(lookInterval)
	s.ignoreSettledRestarts(first.pod)
	node := s.view.Node(first.pod.Spec.NodeName)
	if controlplane.IsReady(first.pod) || controlplane.KubeletOf(node) != controlplane.KubeletReady {
		s.notReady = notReady{}
		return nil
	}
	verdict := s.judgeFirstNode(ctx, first)
	if verdict == nil {
		return nil
	}
	_, err := s.rejectRevision(ctx, first, verdict)
	return err
}

// hasLoggedIn reports whether a preflight has logged in with what the revision changes, or the revision changes only
// the image: then a cloud that rejects the login now rejects that of the former revision, too.
func (s *state) hasLoggedIn(first *rollout) bool {
	changes := s.objects.Changes(first.revision, first.former)
	return len(changes) == 1 && changes[diagnostic.Image] != "" ||
		s.record.Verdict != nil && s.record.Verdict.Result == trial.Successful && s.record.Inputs.Matches(changes)
}

// ignoreSettledRestarts ignores the ends of a container before a run that has settled, which are no failure of the
// revision. A container that is Ready for a moment may fail at each start. It also ignores ends caused by a move.
func (s *state) ignoreSettledRestarts(pod *corev1.Pod) {
	status, ready := controlplane.ContainerStatus(pod), ""
	if controlplane.IsReady(pod) {
		ready = status.ContainerID
	}
	hasSettled := s.now.Sub(s.ready.See(ready, s.now)) >= controlplane.SettleTime && ready != ""
	run := controlplane.Terminated(status)
	if hasSettled || run != nil && controlplane.EndedByMove(run, pod.Spec.NodeName, s.view.Moves()) {
		s.ignored = map[types.UID]int{pod.UID: endsOf(status)}
	}
}

// endsOf returns how often a container has ended: the kubelet counts an end when it starts the next run.
func endsOf(status corev1.ContainerStatus) int {
	if status.State.Running == nil {
		return int(status.RestartCount) + 1
	}
	return int(status.RestartCount)
}

// judgeFirstNode judges a revision that is not Ready on its first node, nil if there is no verdict yet. A cloud that
// may be down, or that rejects a login which it accepted before, only pauses the rollout.
func (s *state) judgeFirstNode(ctx context.Context, first *rollout) *trial.Verdict {
	e := &evidence{now: s.now, pod: first.pod, since: s.unready.See(string(first.pod.UID), s.now)}
	status := controlplane.ContainerStatus(first.pod)
	count := endsOf(status) - s.ignored[first.pod.UID]
	if end := controlplane.Terminated(status); end != nil && count >= minRestarts {
		verdict := e.ended(end)
		isRevoked := verdict.Class == nodecause.Unauthenticated.String() && s.hasLoggedIn(first)
		lasts := e.now.Sub(e.since) >= cloudTimeout // Then other credentials end the rejection.
		if (!isRevoked || lasts) && (verdict.Result == trial.Failed || verdict.Class != crash) {
			return onlyFailed(verdict)
		}
	}
	return s.judgeHang(ctx, first, e, status)
}

// judgeHang is judgeFirstNode for a container that has not failed repeatedly.
func (s *state) judgeHang(
	ctx context.Context, first *rollout, e *evidence, status corev1.ContainerStatus,
) *trial.Verdict {
	runs := status.State.Running != nil && e.now.Sub(s.running.See(status.ContainerID, e.now)) >= hangTimeout
	switch {
	case e.now.Sub(e.since) >= cloudTimeout:
		return e.verdict(trial.Failed, hang, "it was not Ready within %s, while one of revision %d led; "+
			"correct what was changed", cloudTimeout, first.former)
	case !runs || e.now.Sub(s.lastLogRead) < logInterval:
		return nil
	}
	s.lastLogRead = e.now
	waitsFor := s.waitsForNoCloud(ctx, first.pod.Name, status.ContainerID)
	if waitsFor == "" {
		return nil // The cloud may be down.
	}
	return e.verdict(trial.Failed, hang, "it was not Ready within %s, and %s; correct what was changed",
		hangTimeout, waitsFor)
}

// asksForLease is what client-go (tools/leaderelection/leaderelection.go) logs when a process starts to stand by. A CCM
// builds its provider before, and sends its cloud no request until it leads.
const asksForLease = "attempting to acquire leader lease"

// waitsForNoCloud returns what in the log shows that a process does not wait for its cloud, "" if it may. With -v=1 or
// more, a CCM logs its flags first (k8s.io/component-base/cli/flag). An empty log is read again within a second: the
// API may not have the status of an ended container yet, while the kubelet returns the log of the next one.
func (s *state) waitsForNoCloud(ctx context.Context, pod, container string) string {
	text, err := operandlog.ReadBegin(ctx, s.Kube.CoreV1(), pod)
	switch {
	case err != nil:
		return ""
	case strings.TrimSpace(text) == "":
		if s.now.Sub(s.emptyLog.See(container, s.now)) < lookInterval {
			s.lastLogRead = time.Time{}
			return ""
		}
		return "it has logged nothing"
	case strings.Contains(strings.ToLower(text), asksForLease):
		return "it stands by, so it does not wait for its cloud"
	}
	return ""
}

func onlyFailed(verdict *trial.Verdict) *trial.Verdict {
	if verdict.Result != trial.Failed {
		return nil
	}
	return verdict
}

// rejectRevision rejects a revision, unless an administrator has accepted what it changes, or it changes nothing that a
// cloud-controller-manager starts with, so that going back would not help.
func (s *state) rejectRevision(ctx context.Context, r *rollout, verdict *trial.Verdict) (rejected bool, err error) {
	inputs := s.objects.Changes(r.revision, r.former)
	if len(inputs) == 0 || s.isAccepted(inputs) {
		return false, nil
	}
	if verdict.Late = r.pod == nil && !verdict.Led; verdict.Late {
		// The revision's rejection replaces the preflight's.
		isSame := func(r trial.Rejection) bool { return inputs.Matches(r.Inputs) }
		s.record.Rejected = slices.DeleteFunc(s.record.Rejected, isSame)
	}
	verdict.Tries, verdict.Revision, verdict.Former = 1, r.revision, r.former
	verdict.LoggedIn = s.hasLoggedIn(r)
	s.record.Inputs = inputs
	s.record.Conclude(verdict)
	if err := s.record.Save(ctx, s.Kube.CoreV1()); err != nil {
		return false, err
	}
	s.Recorder.Warning(revisionFailed, verdict.Describe())
	return true, nil
}

// lateRollout returns the rollout of a candidate whose preflight failed after it had started, nil if there is none, or
// if an administrator has accepted the failure.
func (s *state) lateRollout() *rollout {
	if s.record.Verdict.Result != trial.Failed || len(s.record.Inputs) == 0 {
		return nil
	}
	late := s.ledByFormer()
	if late == nil || !s.objects.Changes(late.revision, late.former).Matches(s.record.Inputs) {
		return nil
	}
	isAccepted := func(r trial.Rejection) bool { return s.isAccepted(r.Inputs) }
	if s.isAccepted(s.record.Inputs) || slices.ContainsFunc(s.record.Rejected, isAccepted) {
		return nil
	}
	return late
}

// ledByFormer returns the latest revision while a former one leads, nil otherwise. The leader's node is the last.
func (s *state) ledByFormer() *rollout {
	holder, latest := s.view.Holder(), s.status.LatestAvailableRevision
	former := s.view.Revisions(holder.Node).CurrentRevision
	if holder.State != controlplane.Leading || former == 0 || former == latest {
		return nil
	}
	return &rollout{revision: latest, former: former}
}
