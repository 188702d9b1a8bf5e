package availability

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/patience"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/predecessor"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/printable"
)

// outages decides when a failure has lasted long enough to be an outage. Its zero value is ready for use.
//
// The grace period starts when the operand last worked. For the lease, that is its expiry after the last renewal by a
// settled process. For readiness, it is the moment when the last Ready pod became unready. A holder that dies before it
// settles changes neither, so a series of such holders counts as one failure.
//
// Nothing is known of the time before this process, or before etcd was restored from a snapshot: a lease from then
// proves neither work nor an outage. It counts as renewed when it is first seen, as for standbys.
//
// If processes acquire the lease in turn without settling, it never expires: leaderlessGrace applies then.
type outages struct {
	lease     controlplane.Record
	ready     patience.Since[bool]
	heldUntil time.Time
	// works reports whether the lease has a working leader; taken are the lease's transitions while it had one.
	works patience.Since[bool]
	taken int32
	// granted is when a holder settles that acquired the lease before the deadline, once per failure.
	granted time.Time
}

func (o *outages) see(v controlplane.View) {
	lease := v.Record()
	if o.heldUntil.IsZero() {
		o.heldUntil, o.taken = v.Now(), lease.Transitions()
	}
	if !lease.ObservedStaleSince.Equal(o.lease.ObservedStaleSince) {
		o.heldUntil, o.granted = lease.ObservedStaleSince.Add(v.Duration()), time.Time{}
		o.works, o.taken = patience.Since[bool]{}, lease.Transitions()
	}
	o.lease = lease
}

// observe records the lease and the state, and returns when its failure becomes an outage.
func (o *outages) observe(v controlplane.View, state operandState) time.Time {
	o.see(v)
	now := v.Now()
	unready := o.ready.See(state.ready, now)
	works := state.leader.State == controlplane.Leading || state.leader.State == controlplane.Predecessor
	o.works.See(works, now)
	if works {
		o.taken = o.lease.Transitions()
	}
	if works && o.lease.Observed {
		o.heldUntil, o.granted = now.Add(state.leader.ExpiresIn), time.Time{}
	}
	byReadiness, byLease := unready.Add(state.gracePeriod), o.heldUntil.Add(state.gracePeriod)
	if state.leader.State == controlplane.Starting {
		byLease = o.grant(state.leader.Acquired, byLease)
	}
	if minute := o.works.At().Add(leaderlessGrace); o.fails(state.leader, now) && minute.Before(byLease) {
		byLease = minute
	}
	if !works && (state.ready || byLease.Before(byReadiness)) {
		return byLease
	}
	return byReadiness
}

// leaderlessGrace is how long no process may lead while each that acquires the lease ends.
const leaderlessGrace = time.Minute

// reportDelay is how late a kubelet may report a container that has started and leads already.
const reportDelay = 5 * time.Second

// unreported returns for how long the container of a new holder may still be unreported, 0 if it is not.
func (o *outages) unreported(leader controlplane.Holder, now time.Time) time.Duration {
	if leader.State != controlplane.Ended {
		return 0
	}
	return max(0, o.lease.HeldSince.Add(reportDelay).Sub(now))
}

// fails reports whether two holders have not settled since the operand worked. One may have been killed or rolled back.
// The last one may still settle, also if a user has written or deleted its lease.
func (o *outages) fails(leader controlplane.Holder, now time.Time) bool {
	failed := o.lease.Transitions() - o.taken
	if leader.State == controlplane.Starting || leader.State == controlplane.Other || !o.lease.Exists ||
		o.unreported(leader, now) > 0 {
		failed--
	}
	return !o.works.Value() && failed > 1
}

// grant extends the deadline, once per failure, so that a holder that acquired the lease before it can settle.
func (o *outages) grant(acquired, byLease time.Time) time.Time {
	if settled := acquired.Add(controlplane.SettleTime); o.granted.IsZero() && acquired.Before(byLease) &&
		settled.After(byLease) {
		o.granted = settled
	}
	if o.granted.After(byLease) {
		return o.granted
	}
	return byLease
}

const asExpected = "AsExpected"

// minGracePeriod applies if the lease's duration does not define a longer one.
const minGracePeriod = 2 * time.Minute

type operandState struct {
	// reason is asExpected if the operand works.
	reason, message string
	ready           bool
	leader          controlplane.Holder
	// gracePeriod is how long a failure must last before it is an outage: the duration of a lease of ours, which must
	// expire after a leader's death. Standbys look at it only every 26 to 57 s, the jittered retry period, so they may
	// start to count one period late, and retry one period late. A single node's pod recovers faster.
	gracePeriod time.Duration
}

// operandStateOf evaluates the pods on the expected Nodes, and the lease, whose holder may be on a Node that lost the
// role. Messages have nothing that changes with the clock, because every change is written to the API.
func operandStateOf(v view, pods []*corev1.Pod, expected expectedNodes) operandState {
	ready := 0
	for _, pod := range pods {
		if pod.DeletionTimestamp == nil && controlplane.IsReady(pod) {
			ready++
		}
	}
	present := v.WithNodes(expected.runs, slices.Concat(expected.vanished, expected.left))
	state := operandState{leader: present.Holder(), gracePeriod: max(minGracePeriod, v.Duration())}
	state.ready = ready > 0 || state.leader.State == controlplane.Predecessor
	readyText := fmt.Sprintf("%d of %d cloud-controller-managers are Ready", ready, expected.installed)
	if !state.ready {
		state.reason, state.message = "NoReadyPod", fmt.Sprintf("%s%s; check the pods in %s and the logs of their "+
			"container %s", readyText, waitingText(pods), operand.Namespace, operand.Name)
		return state
	}
	state.reason, state.message = describe(state.leader, readyText)
	return state
}

func describe(h controlplane.Holder, readyText string) (reason, message string) {
	const lease = "lease/" + operand.Lease + " in " + operand.Namespace
	held := fmt.Sprintf("%s is held by %q", lease, h.Identity)
	switch h.State {
	case controlplane.Vacant:
		return "NoLeader", fmt.Sprintf("%s has no holder; %s and one of them takes over within a minute; if none does, "+
			"check the logs of the container %s for why they cannot acquire it", lease, readyText, operand.Name)
	case controlplane.Expired:
		return "LeaseExpired", fmt.Sprintf("%q has stopped renewing %s and no standby has taken over although %s; "+
			"check the logs of the container %s for leader-election errors", h.Identity, lease, readyText, operand.Name)
	case controlplane.Other:
		return "ForeignLeader", fmt.Sprintf("%s, which is not a container of this operator's %s pods; "+
			"stop that cloud-controller-manager", held, operand.Name)
	case controlplane.Predecessor:
		return "PredecessorLeads", fmt.Sprintf("the cloud-controller-manager of this operator's predecessor on node/%s "+
			"holds %s; the condition %s has the step of its replacement", h.Node, lease, predecessor.ConditionType)
	case controlplane.NodeGone:
		return "LeaderCutOff", fmt.Sprintf("%s on node/%s, which is no longer a control-plane Node; "+
			"make sure that the machine is off, or that its kubelet registers the Node again", held, h.Node)
	case controlplane.Ended:
		return "LeaderEnded", fmt.Sprintf("%s, a container on node/%s that has ended; "+
			"%s and may take over when the lease expires; if none does, check their logs", held, h.Node, readyText)
	case controlplane.NotRenewing:
		return "LeaderSilent", fmt.Sprintf("%s on node/%s, which has not renewed it for %.0fs; "+
			"%s and may take over when the lease expires; check the node, and the log of its container %s",
			held, h.Node, h.Silence.Seconds(), readyText, operand.Name)
	case controlplane.Starting:
		return "LeaderStarting", fmt.Sprintf("%s on node/%s, which has not yet held it for %s; %s",
			held, h.Node, controlplane.SettleTime, readyText)
	case controlplane.Leading:
	}
	return asExpected, fmt.Sprintf("%s; the one on node/%s leads", readyText, h.Node)
}

func (s operandState) works() bool {
	return s.reason == asExpected || s.leader.State == controlplane.Predecessor
}

// withoutLeader returns the state if every process that acquires the lease ends, whatever the present holder. last is
// how the last one ended, nil if unknown.
func (s operandState) withoutLeader(since time.Time, last *crashLoop) operandState {
	if !s.ready || s.leader.State == controlplane.Other {
		return s
	}
	s.reason = "NoLeader"
	s.message = fmt.Sprintf("no cloud-controller-manager has led for %s since %s: each that acquires lease/%s in %s ends",
		controlplane.SettleTime, since.UTC().Format(time.RFC3339), operand.Lease, operand.Namespace)
	if last == nil {
		s.message += fmt.Sprintf("; read the logs of their container %s", operand.Name)
	} else {
		s.message += fmt.Sprintf(", last %s; %s", last.end, last.action)
	}
	return s
}

func waitingText(pods []*corev1.Pod) string {
	var waiting []string
	for _, pod := range pods {
		for _, status := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
			if controlplane.IsStuck(status) {
				// A name of a container and a reason are short, and a kubelet can write any text.
				waiting = append(waiting, fmt.Sprintf("container %s of pod/%s with image %s is in %s",
					printable.Cut(status.Name, 63), pod.Name, printable.Cut(status.Image, 200),
					printable.Cut(status.State.Waiting.Reason, 64)))
			}
		}
	}
	slices.Sort(waiting)
	if len(waiting) > 0 {
		waiting[0] = ": " + waiting[0]
	}
	return strings.Join(waiting, ", ")
}
