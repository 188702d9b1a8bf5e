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
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
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

// firstNode returns the static pod of a rollout's first node, and the revision that the others run well meanwhile. The
// pod is nil if no rollout is at its first node, or if the others do not prove that the former revision works: at a
// first installation, a take-over, on a single node, or while another CCM is not Ready. It ignores a node whose kubelet
// does not work: that proves nothing, and may last for days. The former revision is the leader's. An interrupted
// rollout may have left an older one on a third node.
func (s *state) firstNode() (first *corev1.Pod, former int32) {
	if former = s.wayBack(); former == 0 {
		return nil, 0
	}
	for _, node := range s.view.Status().NodeStatuses {
		pod := s.view.StaticPod(node.NodeName)
		switch isFirst := pod != nil && controlplane.HasRevision(pod, s.view.Status().LatestAvailableRevision); {
		case isFirst && first != nil:
			return nil, 0
		case isFirst:
			first = pod
		case controlplane.KubeletOf(s.view.Node(node.NodeName)) != controlplane.KubeletReady:
		case node.CurrentRevision == 0 || !controlplane.IsReady(pod):
			return nil, 0
		}
	}
	if first == nil || first.Spec.NodeName == s.view.Holder().Node {
		return nil, 0
	}
	return first, former
}

// watchFirstNode rejects what a revision changes if it fails on its first node. Target configuration then goes back to
// what the other nodes have, and that rolls out on the failed one first. A preflight does not see everything that a
// static pod needs, and not every platform has one.
func (s *state) watchFirstNode(ctx context.Context) error {
	first, former := s.firstNode()
	if first == nil || s.record.IsRejected(s.view.Status().LatestAvailableRevision) {
		s.notReady = notReady{}
		return nil
	}
	s.after(lookInterval)
	s.ignoreSettledRestarts(first)
	node := s.view.Node(first.Spec.NodeName)
	if controlplane.IsReady(first) || controlplane.KubeletOf(node) != controlplane.KubeletReady {
		s.notReady = notReady{}
		return nil
	}
	verdict := s.judgeFirstNode(ctx, first, former)
	if verdict == nil {
		return nil
	}
	_, err := s.rejectRevision(ctx, former, verdict)
	return err
}

// changes returns what the latest revision changes of what the CCM of a former one starts with.
func (s *state) changes(former int32) operand.StartDigests {
	return s.objects.Changes(s.view.Status().LatestAvailableRevision, former)
}

// hasLoggedIn reports whether a preflight has logged in with what the latest revision changes, or that is only the
// image: then a cloud that rejects the login now rejects that of the former revision, too.
func (s *state) hasLoggedIn(former int32) bool {
	changes := s.changes(former)
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
	hasSettled := s.view.Now().Sub(s.ready.See(ready, s.view.Now())) >= controlplane.SettleTime && ready != ""
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
func (s *state) judgeFirstNode(ctx context.Context, first *corev1.Pod, former int32) *trial.Verdict {
	e := &evidence{now: s.view.Now(), pod: first, since: s.unready.See(string(first.UID), s.view.Now())}
	status := controlplane.ContainerStatus(first)
	count := endsOf(status) - s.ignored[first.UID]
	if end := controlplane.Terminated(status); end != nil && count >= minRestarts {
		e.log = s.logOfEnded(ctx, first)
		verdict := e.ended(end)
		isRevoked := verdict.Class == nodecause.Unauthenticated.String() && s.hasLoggedIn(former)
		switch {
		case isRevoked && e.now.Sub(e.since) < cloudTimeout: // Other credentials end a rejection after that.
		case verdict.Result == trial.Failed:
			return verdict
		case verdict.Class != crash:
			return nil // The cloud, or the API server, may be down.
		}
	}
	return s.judgeHang(ctx, e, status, former)
}

// judgeHang is judgeFirstNode for a container that has not failed repeatedly.
func (s *state) judgeHang(
	ctx context.Context, e *evidence, status corev1.ContainerStatus, former int32,
) *trial.Verdict {
	runs := status.State.Running != nil && e.now.Sub(s.running.See(status.ContainerID, e.now)) >= hangTimeout
	switch {
	case e.now.Sub(e.since) >= cloudTimeout:
		return e.verdict(trial.Failed, hang, "it was not Ready within %s, while one of revision %d led; "+
			"correct what was changed", cloudTimeout, former)
	case !runs || e.now.Sub(s.lastLogRead) < logInterval:
		return nil
	}
	s.lastLogRead = e.now
	waitsFor := s.waitsForNoCloud(ctx, e.pod.Name, status.ContainerID)
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
		if s.view.Now().Sub(s.emptyLog.See(container, s.view.Now())) < lookInterval {
			s.lastLogRead = time.Time{}
			return ""
		}
		return "it has logged nothing"
	case strings.Contains(strings.ToLower(text), asksForLease):
		return "it stands by, so it does not wait for its cloud"
	}
	return ""
}

// rejectRevision rejects the latest revision, unless an administrator has accepted what it changes, or it changes
// nothing that a cloud-controller-manager starts with, so that going back to the former one would not help.
func (s *state) rejectRevision(ctx context.Context, former int32, verdict *trial.Verdict) (rejected bool, err error) {
	inputs := s.changes(former)
	if len(inputs) == 0 || s.isAccepted(inputs) {
		return false, nil
	}
	if verdict.Late {
		// The revision's rejection replaces the preflight's.
		isSame := func(r trial.Rejection) bool { return inputs.Matches(r.Inputs) }
		s.record.Rejected = slices.DeleteFunc(s.record.Rejected, isSame)
	}
	verdict.Tries, verdict.Revision, verdict.Former = 1, s.view.Status().LatestAvailableRevision, former
	verdict.LoggedIn = s.hasLoggedIn(former)
	s.record.Inputs = inputs
	s.record.Conclude(verdict)
	if err := s.record.Save(ctx, s.Kube.CoreV1()); err != nil {
		return false, err
	}
	s.Recorder.Warning(revisionFailed, verdict.Describe())
	return true, nil
}

// rejectedLate returns the revision to go back to if the preflight of the latest one failed after its rollout had
// started. It returns 0 if it did not, or if an administrator has accepted the failure.
func (s *state) rejectedLate() (former int32) {
	if s.record.Verdict.Result != trial.Failed || len(s.record.Inputs) == 0 {
		return 0
	}
	former = s.wayBack()
	isAccepted := func(r trial.Rejection) bool { return s.isAccepted(r.Inputs) }
	if former == 0 || !s.changes(former).Matches(s.record.Inputs) || s.isAccepted(s.record.Inputs) ||
		slices.ContainsFunc(s.record.Rejected, isAccepted) {
		return 0
	}
	return former
}

// leadingFormer returns the leader's revision if it is not the latest one, 0 otherwise. The leader's node is the last.
func (s *state) leadingFormer() int32 {
	holder := s.view.Holder()
	former := s.view.Revisions(holder.Node).CurrentRevision
	if holder.State != controlplane.Leading || former == s.view.Status().LatestAvailableRevision {
		return 0
	}
	return former
}

// wayBack returns the revision that a node with a rejected latest one goes back to, 0 if there is none. Without the pod
// ConfigMap of the former revision, what the latest one changes is not known, and no node can go back.
func (s *state) wayBack() (former int32) {
	former = s.leadingFormer()
	if s.objects.ConfigMap(operand.NameIn(operand.PodConfigMap, former)) == nil {
		return 0
	}
	return former
}
