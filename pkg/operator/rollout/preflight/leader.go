package preflight

import (
	"context"
	"slices"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/nodecause"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operandlog"
)

// roundTime is how old the end of the leader's last round of look-ups may be: a CCM begins one five minutes after the
// end of the former one (--node-status-update-frequency), and this lets it take half a minute. If none has ended
// since, the leader may hang in its cloud, and what it was answered before says nothing about the cloud now.
const roundTime = 330 * time.Second

// worksSince reports whether every node has the latest revision, which has what the candidate changes, and a process
// that acquired the lease since then has settled. The leader's node rolls last, so that process has the change.
func (c *controller) worksSince(candidate *corev1.Secret, verdict time.Time) (bool, error) {
	_, status, _, err := c.Operator.GetStaticPodOperatorState()
	if err != nil {
		return false, err
	}
	view, err := c.look()
	if err != nil {
		return false, err
	}
	isBehind := func(n operatorv1.NodeStatus) bool { return n.CurrentRevision != status.LatestAvailableRevision }
	if view.Holder().State != controlplane.Leading || !view.Record().HeldSince.After(verdict) ||
		slices.ContainsFunc(status.NodeStatuses, isBehind) {
		return false, nil
	}
	present, err := c.startsWith(status.LatestAvailableRevision)
	return present.Have(operand.PreflightInputsOf(candidate)), err
}

// compareWithLeader compares with what the leader has looked up last. Without a leader, its log, or a round of late,
// there is nothing to compare with.
func (c *controller) compareWithLeader(
	ctx context.Context, verdict *operand.PreflightVerdict,
) (*operand.PreflightVerdict, error) {
	view, err := c.look()
	if err != nil {
		return nil, err
	}
	holder := view.Holder()
	if holder.State != controlplane.Starting && holder.State != controlplane.Leading {
		return verdict, nil
	}
	lookups, err := c.lookupsWithin(ctx, view.StaticPod(holder.Node).Name, roundTime)
	if err != nil {
		klog.FromContext(ctx).V(2).Info("A preflight is not compared with the leader", "err", err)
		return verdict, nil
	}
	return compare(verdict, lookups), nil
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
