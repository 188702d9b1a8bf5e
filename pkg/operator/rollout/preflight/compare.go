package preflight

import (
	"context"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/nodecause"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operandlog"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/terminationmessage"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/trial"
)

// roundPeriod is how old the end of the leader's last round of look-ups may be: a CCM starts one five minutes after the
// end of the former one (--node-status-update-frequency), and may take half a minute. If none has ended since, the
// leader may hang in its cloud, and earlier answers say nothing about the cloud now.
const roundPeriod = 330 * time.Second

// compareWithLeader adds what the leader has looked up to a verdict, if there is a leader with a recent round. The
// result stays, because a tenant may have written lines of the leader's log.
func (s *state) compareWithLeader(ctx context.Context, verdict *trial.Verdict) *trial.Verdict {
	if verdict.AwaitsLeader(0) && s.record.Inputs[diagnostic.Credentials] != "" {
		// These credentials are rejected, whether the running ones are or not.
		verdict.LeaderRejected = s.isRejectedToo(ctx, roundPeriod)
		return verdict
	}
	leader := s.leader()
	if leader == nil {
		return verdict
	}
	lookups, err := s.lookupsWithin(ctx, leader.Name, roundPeriod)
	if err != nil {
		klog.FromContext(ctx).V(2).Info("A preflight is not compared with the leader", "err", err)
	}
	return compare(verdict, lookups)
}

// leader returns the static pod that leads, nil if none does.
func (s *state) leader() *corev1.Pod {
	holder := s.view.Holder()
	if !holder.State.Renews() {
		return nil
	}
	return s.view.StaticPod(holder.Node)
}

// isRejectedToo reports whether the cloud also rejects the login of the leader, by the last part of its log, or that of
// a static pod whose process has ended because of it. A leader that logged in before may log nothing. Static pods of
// rejected revisions do not count, nor those with other credentials than the leader's, which may be accepted ones.
func (s *state) isRejectedToo(ctx context.Context, last time.Duration, rejected ...int32) bool {
	leader := s.leader()
	for _, pod := range s.view.StaticPods() {
		isRejected := func(revision int32) bool { return controlplane.HasRevision(pod, revision) }
		hasItsLogin := leader == nil || s.loginOf(pod) == s.loginOf(leader)
		if hasItsLogin && !slices.ContainsFunc(rejected, isRejected) && s.endedByLogin(ctx, pod) {
			return true
		}
	}
	if leader == nil || last < time.Second {
		return false
	}
	text, err := operandlog.ReadLast(ctx, s.Kube.CoreV1(), leader.Name, last)
	if err != nil {
		klog.FromContext(ctx).V(2).Info("A preflight is not compared with the leader", "err", err)
	}
	return err == nil && rejectsLogin(text)
}

// loginOf returns the digest of a static pod's credentials, empty if its revision has none or was pruned.
func (s *state) loginOf(pod *corev1.Pod) string {
	revision, err := strconv.ParseInt(pod.Labels["revision"], 10, 32)
	if err != nil {
		return ""
	}
	return s.objects.StartDigests(int32(revision))[diagnostic.Credentials]
}

// endedByLogin reports whether the CCM of a static pod has ended because its login was rejected, and does not run. It
// reads the log only if the termination message, in which tenants may have written, says so.
func (s *state) endedByLogin(ctx context.Context, pod *corev1.Pod) bool {
	status := controlplane.ContainerStatus(pod)
	end := controlplane.Terminated(status)
	return status.State.Running == nil && end != nil && saysUnauthenticated(end.Message) &&
		saysUnauthenticated(evident(operandlog.OfRun(end, s.logOfEnded(ctx, pod))))
}

func saysUnauthenticated(message string) bool {
	return nodecause.ClassOf(terminationmessage.Summary(message)) == nodecause.Unauthenticated
}

// logOfEnded returns the log of the last process of a static pod that has ended, "" if it cannot be read.
func (s *state) logOfEnded(ctx context.Context, pod *corev1.Pod) (log string) {
	isCurrent := controlplane.ContainerStatus(pod).State.Terminated != nil // until its kubelet restarts the container
	if text, err := operandlog.ReadEnded(ctx, s.Kube.CoreV1(), pod.Name, isCurrent); err == nil {
		log, _ = s.mask(text)
	}
	return log
}

// recordLeaderRejected records that the cloud rejects the login of what runs, while it rejects that of a changed
// candidate. The candidate is then tried again at once, because new credentials may become valid some seconds after
// they were written.
func (s *state) recordLeaderRejected(ctx context.Context) error {
	var last time.Time
	var rejected []int32
	for _, r := range trial.Remembered(s.record.Rejected, 0, s.view.Now()) {
		if r.Verdict.AwaitsLeader(s.view.Status().LatestAvailableRevision) && r.Verdict.Ended.After(last) {
			last = r.Verdict.Ended.Time
		}
		rejected = append(rejected, r.Verdict.Revision)
	}
	if last.IsZero() {
		return nil
	}
	s.after(logInterval)
	if !s.isRejectedToo(ctx, s.view.Now().Sub(last), rejected...) {
		return nil
	}
	s.record.MarkLeaderRejected(s.view.Status().LatestAvailableRevision)
	return s.record.Save(ctx, s.Kube.CoreV1())
}

// lookupsWithin returns the last round of look-ups of a process, if it has ended within the last time. It may have
// started before, so it is read from the whole end of the log.
func (s *state) lookupsWithin(ctx context.Context, pod string, last time.Duration) (nodecause.Lookups, error) {
	recent, err := operandlog.ReadLast(ctx, s.Kube.CoreV1(), pod, last)
	if err != nil || !nodecause.LastLookups(recent).Ended {
		return nodecause.Lookups{}, err
	}
	text, _, err := operandlog.Read(ctx, s.Kube.CoreV1(), pod)
	if err != nil {
		return nodecause.Lookups{}, err
	}
	masked, err := s.mask(text)
	return nodecause.LastLookups(masked), err
}
