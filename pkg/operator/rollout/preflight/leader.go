package preflight

import (
	"context"
	"slices"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/nodecause"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operandlog"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/terminationmessage"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/trial"
)

// roundTime is how old the end of the leader's last round of look-ups may be: a CCM begins one five minutes after the
// end of the former one (--node-status-update-frequency), and this lets it take half a minute. If none has ended
// since, the leader may hang in its cloud, and what it was answered before says nothing about the cloud now.
const roundTime = 330 * time.Second

// worksSince reports whether every node has the latest revision, which has what the candidate changes, and a process
// that acquired the lease since its verdict has settled. The leader's node rolls last, so that process has the change.
func (c *controller) worksSince(record *trial.Record) (bool, error) {
	_, status, _, err := c.Operator.GetStaticPodOperatorState()
	if err != nil {
		return false, err
	}
	view, err := c.look()
	if err != nil {
		return false, err
	}
	isBehind := func(n operatorv1.NodeStatus) bool { return n.CurrentRevision != status.LatestAvailableRevision }
	if view.Holder().State != controlplane.Leading || !view.Record().HeldSince.After(record.Verdict.Ended.Time) ||
		slices.ContainsFunc(status.NodeStatuses, isBehind) {
		return false, nil
	}
	objects, err := c.objects()
	if err != nil {
		return false, err
	}
	present, err := objects.StartsWith(status.LatestAvailableRevision)
	return present.Have(record.Inputs), err
}

// compareWithLeader compares with what the leader has looked up. Without a leader, its log, or a round of late, there
// is nothing to compare with. The result stays: that the cloud answers the leader proves nothing where a tenant may
// have written it.
func (c *controller) compareWithLeader(
	ctx context.Context, record *trial.Record, verdict *trial.Verdict,
) (*trial.Verdict, error) {
	if verdict.AwaitsLeader() && record.Inputs[diagnostic.Credentials] != "" {
		// These credentials are rejected, whatever happens to the running ones.
		rejected, err := c.isRejectedToo(ctx, roundTime)
		if verdict.LeaderRejected = rejected; rejected {
			verdict.Message += "; the login of the running one is rejected too"
		}
		return verdict, err
	}
	pod, err := c.leader()
	if err != nil || pod == "" {
		return verdict, err
	}
	lookups, err := c.lookupsWithin(ctx, pod, roundTime)
	if err != nil {
		klog.FromContext(ctx).V(2).Info("A preflight is not compared with the leader", "err", err)
	}
	return compare(verdict, lookups), nil
}

// leader returns the static pod of the process that leads, "" if none does.
func (c *controller) leader() (string, error) {
	view, err := c.look()
	if err != nil {
		return "", err
	}
	holder := view.Holder()
	if holder.State != controlplane.Starting && holder.State != controlplane.Leading {
		return "", nil
	}
	return view.StaticPod(holder.Node).Name, nil
}

// isRejectedToo reports whether the cloud rejects the login of the operand too: that of the leader by its log of the
// last time, or that of a process which has ended because of it. A leader that had logged in before may log nothing.
func (c *controller) isRejectedToo(ctx context.Context, last time.Duration) (bool, error) {
	view, err := c.look()
	if err != nil {
		return false, err
	}
	if slices.ContainsFunc(view.StaticPods(), endedByLogin) {
		return true, nil
	}
	pod, err := c.leader()
	return err == nil && pod != "" && c.isRejectedSince(ctx, pod, last), err
}

// endedByLogin reports whether the CCM of a static pod does not run, because its login was rejected.
func endedByLogin(pod *corev1.Pod) bool {
	status := controlplane.ContainerStatus(pod, operand.Name)
	end := status.State.Terminated
	if status.State.Waiting != nil {
		end = status.LastTerminationState.Terminated
	}
	return end != nil && nodecause.ClassOf(terminationmessage.Summary(end.Message)) == nodecause.Unauthenticated
}

// isRejectedSince reports whether the log of the leader tells that its login was rejected within the last time.
func (c *controller) isRejectedSince(ctx context.Context, pod string, last time.Duration) bool {
	if last < time.Second {
		return false
	}
	text, err := operandlog.ReadLast(ctx, c.Kube.CoreV1(), pod, last)
	if err != nil {
		klog.FromContext(ctx).V(2).Info("A preflight is not compared with the leader", "err", err)
		return false
	}
	return rejectsLogin(text)
}

// watchLeader records that the operand's login is rejected too while that of a changed candidate is: it is tried again
// at once, because new credentials may become valid some seconds after they were written.
func (c *controller) watchLeader(ctx context.Context, syncCtx factory.SyncContext, record *trial.Record) error {
	var last time.Time
	for _, r := range record.Rejected {
		if r.Verdict.AwaitsLeader() && r.Verdict.Ended.After(last) {
			last = r.Verdict.Ended.Time
		}
	}
	if last.IsZero() {
		return nil
	}
	syncCtx.Queue().AddAfter(syncCtx.QueueKey(), hangInterval)
	if rejected, err := c.isRejectedToo(ctx, c.Clock.Now().Sub(last)); err != nil || !rejected {
		return err
	}
	record.RejectsRunning()
	return record.Save(ctx, c.Kube.CoreV1())
}

// lookupsWithin returns those of the last round of a process if it has ended within the last time. The round may have
// begun before that, so the whole end of the log has it.
func (c *controller) lookupsWithin(ctx context.Context, pod string, last time.Duration) (nodecause.Lookups, error) {
	recent, err := operandlog.ReadLast(ctx, c.Kube.CoreV1(), pod, last)
	if err != nil || !nodecause.LastLookups(recent).Ended {
		return nodecause.Lookups{}, err
	}
	text, _, err := operandlog.Read(ctx, c.Kube.CoreV1(), pod)
	if err != nil {
		return nodecause.Lookups{}, err
	}
	masked, err := c.Mask(text)
	return nodecause.LastLookups(masked), err
}

// look returns the view of the operand's lease.
func (c *controller) look() (controlplane.View, error) {
	return controlplane.Look(c.Lease, c.Pods.Lister(), c.Infrastructures.Lister(), c.Clock)
}
