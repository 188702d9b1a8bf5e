package preflight

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clienttesting "k8s.io/client-go/testing"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/trial"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/controlplanetest"
)

const noOctavia = "F1125 19:00:00.000000       1 openstack.go:355] Failed to create an OpenStack LoadBalancer client: " +
	"unable to initialize load-balancer client for region RegionOne: No suitable endpoint could be found in the service catalog.\n"

// newFirst returns a rollout whose first node, m1, has settled with revision 4, while the process of m0 leads.
func newFirst(t *testing.T) *world {
	t.Helper()
	w := newRollout(t, "m0", "m1", "m2")
	w.Ready("m1", true)
	w.Status.NodeStatuses[1].CurrentRevision = 4
	w.pass(t, 0)
	return w
}

// record returns the record of the proof, nil if there is none.
func (w *world) record(t *testing.T) *trial.Proof {
	t.Helper()
	secret, err := w.kube.CoreV1().Secrets(namespace).Get(t.Context(), operand.PreflightName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	require.NoError(t, err)
	return trial.Of(secret).Proof
}

// takesLead starts the container on a node, whose process acquires the lease a second later.
func (w *world) takesLead(node string, second int) {
	w.Start(node, second)
	w.Acquire(node, "process-of-"+node, second+1)
	w.clock.SetTime(controlplanetest.At(second + 1))
	w.Seen.See(w.Lease, w.clock.Now())
	w.observeLeader()
}

// endsLead ends the container on a node, as leader election sees it.
func (w *world) endsLead(node string, second int, message string) {
	w.Exit(node, second, message)
	w.clock.SetTime(controlplanetest.At(second))
	w.observeLeader()
}

func TestTheFirstNodeOfARolloutIsToLead(t *testing.T) {
	w := newFirst(t)
	record := w.record(t)
	require.Equal(t, all, record.Controllers, "what the former leader has started")
	record.Began, record.Since = metav1.Time{}, metav1.Time{}
	require.Equal(t, &trial.Proof{Revision: 4, Former: 3, Node: "m1", State: trial.ProofAwaited, Controllers: all}, record)
	w.takesLead("m1", 10)
	w.pass(t, time.Second)
	require.Equal(t, trial.ProofLeads, w.record(t).State)
	w.pass(t, 13*time.Second)
	require.Equal(t, trial.ProofLeads, w.record(t).State)
	w.restartOperator()
	w.pass(t, 16*time.Second)
	require.Equal(t, trial.Proven, w.record(t).State)
	require.Empty(t, w.events(), "Progressing tells it")
	require.Nil(t, w.rejected(t))
}

func TestAnotherNodeProvesARevisionIfTheFirstOneIsReplaced(t *testing.T) {
	w := newFirst(t)
	w.Leave("m1")
	delete(w.Pods, "m1")
	w.Status.NodeStatuses[1].CurrentRevision = 4 // m2
	w.label("m2", "4")
	w.pass(t, 30*time.Second)
	require.Equal(t, "m2", w.record(t).Node)
	require.Equal(t, trial.ProofAwaited, w.record(t).State)
}

// Rejections are forgotten after an hour.
func TestARevisionThatHasFailedIsUnprovedOnlyIfAnAdministratorAcceptsIt(t *testing.T) {
	for name, tc := range map[string]struct {
		accepts bool
		want    trial.ProofState
	}{"nobody accepts it": {false, trial.ProofFailed}, "an administrator does": {true, trial.Unproved}} {
		t.Run(name, func(t *testing.T) {
			w := newFirst(t)
			failed := w.record(t).In(trial.ProofFailed, "it ended", controlplanetest.At(0))
			secret, err := w.kube.CoreV1().Secrets(namespace).Get(t.Context(), operand.PreflightName, metav1.GetOptions{})
			require.NoError(t, err)
			record := trial.Of(secret)
			record.Proof = failed
			require.NoError(t, record.Save(t.Context(), w.kube.CoreV1()))
			w.accepts = tc.accepts
			w.pass(t, 0)
			w.pass(t, time.Minute)
			require.Equal(t, tc.want, w.record(t).State)
		})
	}
}

// The credentials of the former revision were revoked, so a standby cannot start any more, and the lead does not move.
func TestAProofDoesNotWaitForAProcessThatKeepsEnding(t *testing.T) {
	for name, tc := range map[string]struct {
		node corev1.ConditionStatus
		want trial.ProofState
	}{
		"beside a kubelet that works": {corev1.ConditionTrue, trial.Unproved},
		"on a node that reboots":      {corev1.ConditionUnknown, trial.ProofAwaited},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFirst(t)
			w.Exit("m2", 10, "F1125 19:00:00.000000       1 main.go:1] Cloud provider could not be initialized\n")
			w.Ready("m2", false)
			for _, node := range w.Nodes {
				if node.Name == "m2" {
					node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: tc.node}}
				}
			}
			w.clock.SetTime(controlplanetest.At(12))
			w.pass(t, 0)
			w.pass(t, 59*time.Second)
			require.Equal(t, trial.ProofAwaited, w.record(t).State)
			w.pass(t, time.Second)
			require.Equal(t, tc.want, w.record(t).State)
		})
	}
}

// writes lets a client write the holder of the lease.
func (w *world) writes(holder string) {
	w.Edit(holder, 137)
	w.Seen.See(w.Lease, w.clock.Now())
}

// The leader gives up, and the lease is released once it has not been renewed for its duration.
func TestAProofWaitsWhileTheLeaseIsSomebodyElses(t *testing.T) {
	w := newFirst(t)
	w.writes("somebody")
	for range 13 {
		w.pass(t, 10*time.Second)
		require.Equal(t, trial.ProofAwaited, w.record(t).State)
	}
	w.writes("")
	w.pass(t, 0)
	w.pass(t, 59*time.Second)
	require.Equal(t, trial.ProofAwaited, w.record(t).State)
	w.pass(t, time.Second)
	require.Equal(t, trial.Unproved, w.record(t).State)
}

// The lead cannot move, and whether that process works is not known.
func TestAProofDoesNotWaitForeverWhileAnotherProcessRenewsTheLease(t *testing.T) {
	w := newFirst(t)
	w.writes("somebody")
	w.renews(t, 10*time.Minute+50*time.Second)
	require.Equal(t, trial.ProofAwaited, w.record(t).State)
	w.renews(t, 10*time.Second)
	require.Equal(t, trial.Unproved, w.record(t).State)
	require.Equal(t, "no static pod has led for 1m0s, and the change may be the cure", w.record(t).Why)
}

// Its machine has died, or the API server was away.
func TestAProofWaitsForAMoveAnewAfterNoOperatorHasRun(t *testing.T) {
	w := newFirst(t)
	w.clock.SetTime(controlplanetest.At(600))
	w.Renew(600)
	w.Seen.See(w.Lease, w.clock.Now())
	w.restartOperator()
	w.renews(t, 2*time.Minute+50*time.Second)
	require.Equal(t, trial.ProofAwaited, w.record(t).State)
	w.renews(t, 20*time.Second)
	require.Equal(t, trial.Unproved, w.record(t).State)
	require.Equal(t, "the lead did not move to node/m1 within 3m0s", w.record(t).Why)
}

// A busy process answers late.
func TestAFormerLeaderThatDoesNotAnswerIsAskedAgain(t *testing.T) {
	w := newRollout(t, "m0", "m1", "m2")
	w.started = func(*corev1.Pod) ([]string, error) { return nil, errors.New("context deadline exceeded") }
	w.Ready("m1", true)
	w.Status.NodeStatuses[1].CurrentRevision = 4
	w.pass(t, 0)
	require.Empty(t, w.record(t).Controllers)
	w.pass(t, time.Second)
	require.Equal(t, trial.ProofAwaited, w.record(t).State)
	w.started = func(*corev1.Pod) ([]string, error) { return all, nil }
	w.pass(t, time.Second)
	require.Equal(t, all, w.record(t).Controllers)
	w.started = func(*corev1.Pod) ([]string, error) { return all[:2], nil }
	w.pass(t, time.Second)
	require.Equal(t, all, w.record(t).Controllers)
}

func TestNothingIsToLeadWhereThatProvesNothing(t *testing.T) {
	for name, change := range map[string]func(w *world){
		"no change of what the CCM starts with": func(w *world) { w.sameConfig(t) },
		"the first node is being installed":     func(w *world) { w.Status.NodeStatuses[1].TargetRevision = 4 },
		"the first node is not Ready":           func(w *world) { w.Ready("m1", false) },
		"a node has nothing yet":                func(w *world) { w.Status.NodeStatuses[2].CurrentRevision = 0 },
		"no node has the revision yet":          func(w *world) { w.Status.NodeStatuses[1].CurrentRevision = 3 },
	} {
		t.Run(name, func(t *testing.T) {
			w := newRollout(t, "m0", "m1", "m2")
			w.Ready("m1", true)
			w.Status.NodeStatuses[1].CurrentRevision = 4
			change(w)
			w.pass(t, time.Minute)
			require.Nil(t, w.record(t))
		})
	}
}

func TestARevisionThatEndsWhenItLeadsIsRejected(t *testing.T) {
	const says = `s until 2026-11-21T09:00:12Z: the cloud's catalog has no load-balancer API in the region: "Failed to create an ` +
		`OpenStack LoadBalancer client: unable to initialize load-balancer client for region RegionOne: No suitable endpoint could ` +
		`be found in the service catalog."; set enabled = false in [LoadBalancer] of the cloud configuration, or install Octavia`
	for name, ends := range map[string]func(w *world){
		"after it was seen": func(w *world) { w.takesLead("m1", 10); w.pass(t, 0); w.endsLead("m1", 12, noOctavia) },
		"before it was seen": func(w *world) {
			w.Start("m1", 10)
			w.Acquire("m1", "process-of-m1", 11)
			w.Exit("m1", 12, noOctavia)
			w.clock.SetTime(controlplanetest.At(12))
			w.Seen.See(w.Lease, w.clock.Now())
			w.observeLeader()
		},
		"and the former one leads again": func(w *world) {
			w.takesLead("m1", 10)
			w.pass(t, 0)
			w.endsLead("m1", 12, noOctavia)
			w.takesLead("m0", 14)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFirst(t)
			ends(w)
			w.pass(t, 0)
			require.Equal(t, trial.ProofFailed, w.record(t).State)
			rejections := w.rejected(t)
			require.Len(t, rejections, 1)
			require.Equal(t, []diagnostic.Cause{diagnostic.Configuration}, rejections[0].Inputs.Causes())
			require.Contains(t, rejections[0].Verdict.Describe(), says)
			require.Contains(t, rejections[0].Verdict.Describe(), "; the nodes go back to what revision 3 has")
			require.True(t, rejections[0].IsFor(4))
			w.pass(t, time.Minute)
			require.Len(t, w.events(), 1, "it is rejected once")
		})
	}
}

func TestARevisionIsHeldWhoseCloudIsDownWhenItLeads(t *testing.T) {
	w := newFirst(t)
	w.takesLead("m1", 10)
	w.pass(t, 0)
	w.endsLead("m1", 12, "F1125 19:00:00.000000       1 openstack.go:355] Failed to create a client: dial tcp 192.0.2.1:9876: i/o timeout\n")
	w.pass(t, time.Second)
	require.Equal(t, trial.ProofHeld, w.record(t).State)
	require.Nil(t, w.rejected(t))
	require.Contains(t, w.events()[0], "Warning RevisionHeld: no other node gets revision 4 before 2026-11-21T09:10:12Z: the cloud's API")
	w.takesLead("m0", 14)
	w.pass(t, 10*time.Minute)
	require.Equal(t, trial.Unproved, w.record(t).State)
	require.Contains(t, w.events()[1], "Warning RevisionUnproved: revision 4 rolls out, although its cloud-controller-manager has "+
		"not led well on node/m1: it was held for 10m0s: the cloud's API")
}

// Its kubelet starts a process ever more rarely, so no event comes for minutes.
func TestARevisionThatLeadsAgainIsNotHeldWhileAnotherProcessKeepsEnding(t *testing.T) {
	w := newFirst(t)
	w.takesLead("m1", 10)
	w.pass(t, 0)
	w.endsLead("m1", 12, "F1125 19:00:00.000000       1 openstack.go:355] Failed to create a client: dial tcp 192.0.2.1:9876: i/o timeout\n")
	w.pass(t, time.Second)
	require.Equal(t, trial.ProofHeld, w.record(t).State)
	w.Exit("m0", 13, "the cloud rejects the credentials")
	w.Ready("m0", false)
	w.takesLead("m1", 14)
	w.pass(t, 59*time.Second)
	require.Equal(t, trial.ProofHeld, w.record(t).State)
	w.pass(t, 10*time.Second)
	require.Equal(t, trial.Unproved, w.record(t).State)
}

// A person ends the process, or a defect of it that nothing else shows.
func TestARevisionWhoseProcessIsKilledWhileItLeadsLeadsOnceMoreAtOnce(t *testing.T) {
	w := newFirst(t)
	kills := 0
	for ; w.record(t).State != trial.ProofHeld && kills < 20; kills++ {
		require.Equal(t, trial.ProofAwaited, w.record(t).State)
		w.ended(t, "m1", 2, corev1.ContainerStateTerminated{ExitCode: 137, Reason: "Error", Message: lookedUp})
	}
	require.Equal(t, trial.ProofHeld, w.record(t).State, "not for ever")
	require.Greater(t, kills, 10)
	require.Nil(t, w.rejected(t))
}

// ended lets the process of a node lead for some seconds, and its kubelet report this end.
func (w *world) ended(t *testing.T, node string, led int, end corev1.ContainerStateTerminated) {
	t.Helper()
	second := int(w.clock.Since(controlplanetest.Begin).Seconds()) + 10
	w.takesLead(node, second)
	w.pass(t, 0)
	w.Exit(node, second+1+led, end.Message)
	last := w.Container(node).LastTerminationState.Terminated
	last.ExitCode, last.Reason = end.ExitCode, end.Reason
	w.clock.SetTime(controlplanetest.At(second + 1 + led))
	w.observeLeader()
	w.pass(t, time.Second)
}

// What ends a process that hangs as it leads, or needs more memory, looks like the node's fault.
func TestARevisionWhoseLeaderEndsTwiceIsTakenBackWhateverEndedIt(t *testing.T) {
	for name, tc := range map[string]struct {
		led  int
		end  corev1.ContainerStateTerminated
		says string
	}{
		"the kernel, without memory": {2, corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled"},
			`it ended with exit code 137 and reason "OOMKilled"; find what ended it: its kubelet by a probe, the kernel without ` +
				`memory, or a person; it ended twice`},
		"its kubelet, because it hung": {61, corev1.ContainerStateTerminated{
			ExitCode: 137, Reason: "Error", Message: "I1125 19:00:00.000000       1 a.go:1] unrelated\n",
		}, `it ended with exit code 137 and reason "Error"; find what`},
		"the API server, or it was too busy to renew the lease": {133, corev1.ContainerStateTerminated{
			ExitCode: 1, Reason: "Error", Message: errorAt + "leaderelection lost\n",
		}, `it did not reach the API server, or that was not ready: "leaderelection lost"; check the API server; it ended twice`},
		"its node, which restarted": {61, corev1.ContainerStateTerminated{ExitCode: 255, Reason: "Unknown"},
			`it ended with exit code 255 and reason "Unknown"; find what`},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFirst(t)
			for range 2 {
				w.ended(t, "m1", tc.led, tc.end)
				require.Equal(t, trial.ProofHeld, w.record(t).State)
				require.Empty(t, w.rejected(t))
				now := int(w.clock.Since(controlplanetest.Begin).Seconds())
				w.Start("m1", now)
				w.takesLead("m0", now+2)
				w.renews(t, 10*time.Minute+30*time.Second)
			}
			require.Equal(t, trial.ProofFailed, w.record(t).State)
			require.Len(t, w.rejected(t), 1)
			require.Contains(t, w.rejected(t)[0].Verdict.Message, tc.says)
		})
	}
}

// The machine is so busy that its kubelet reports the end only after the lease has expired.
func TestAnEndThatIsReportedOnceAnotherProcessLeadsCounts(t *testing.T) {
	for name, want := range map[string]trial.ProofState{"its own": trial.ProofFailed, "that of a move": trial.Unproved} {
		t.Run(name, func(t *testing.T) {
			isMoved := name == "that of a move"
			w := newFirst(t)
			w.started = func(pod *corev1.Pod) ([]string, error) {
				if pod.Spec.NodeName == "m1" {
					return nil, errors.New("no answer")
				}
				return all, nil
			}
			for range 2 {
				second := int(w.clock.Since(controlplanetest.Begin).Seconds()) + 10
				w.takesLead("m1", second)
				w.pass(t, time.Second)
				require.Equal(t, trial.ProofLeads, w.record(t).State)
				w.pass(t, 80*time.Second)
				w.takesLead("m0", second+140)
				w.pass(t, time.Second)
				require.Equal(t, trial.ProofHeld, w.record(t).State)
				w.Exit("m1", second+150, "")
				w.Container("m1").LastTerminationState.Terminated.ExitCode = 137
				w.clock.SetTime(controlplanetest.At(second + 150))
				if isMoved {
					w.move(t, second+150, true)
				}
				w.pass(t, 0)
				w.Start("m1", second+160)
				w.renews(t, 10*time.Minute+30*time.Second)
				if isMoved {
					break
				}
			}
			require.Equal(t, want, w.record(t).State)
		})
	}
}

// endsAsInAnOutage lets the process of a node lead and end, and then the one of m0 lead.
func (w *world) endsAsInAnOutage(t *testing.T, node string) {
	t.Helper()
	const down = "F1125 19:00:00.000000       1 openstack.go:355] Failed to create a client: dial tcp 192.0.2.1:9876: i/o timeout\n"
	w.ended(t, node, 1, corev1.ContainerStateTerminated{ExitCode: 255, Reason: "Error", Message: down})
	require.Equal(t, trial.ProofHeld, w.record(t).State)
	w.takesLead("m0", int(w.clock.Since(controlplanetest.Begin).Seconds())+2)
}

// A wrong port looks like an outage. Without this, every node would get the revision, and nobody would lead. A real
// outage may have ended when the process leads once more.
func TestARevisionThatEndsAsInAnOutageLeadsOnceMoreBeforeItIsRejected(t *testing.T) {
	leave := func(w *world, _ *testing.T) {
		w.Leave("m1")
		delete(w.Pods, "m1")
	}
	for name, tc := range map[string]struct {
		held, again func(w *world, t *testing.T)
		want        trial.ProofState
	}{
		"and ends again": {nil, func(w *world, t *testing.T) { w.endsAsInAnOutage(t, "m1") }, trial.ProofFailed},
		"and ends again on another node, as its machine is replaced": {leave, func(w *world, t *testing.T) {
			w.Status.NodeStatuses[1].CurrentRevision = 4 // m2
			w.label("m2", "4")
			w.Ready("m2", true)
			w.pass(t, time.Second)
			require.Equal(t, "m2", w.record(t).Node)
			w.endsAsInAnOutage(t, "m2")
		}, trial.ProofFailed},
		"and the outage is over": {nil, func(w *world, t *testing.T) {
			w.takesLead("m1", int(w.clock.Since(controlplanetest.Begin).Seconds())+10)
			w.renews(t, 20*time.Second)
		}, trial.Proven},
		"and an administrator accepts it meanwhile": {nil, func(w *world, t *testing.T) {
			w.endsAsInAnOutage(t, "m1")
			w.accepts = true
			w.pass(t, time.Second)
		}, trial.Unproved},
		"and the lead does not move": {nil, func(w *world, t *testing.T) { w.renews(t, 3*time.Minute) }, trial.Unproved},
		"but not if the one that leads has it, too": {func(w *world, _ *testing.T) {
			w.Status.NodeStatuses[0].CurrentRevision = 4
		}, nil, trial.Unproved},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFirst(t)
			w.endsAsInAnOutage(t, "m1")
			if tc.held != nil {
				tc.held(w, t)
			}
			w.renews(t, 9*time.Minute+50*time.Second)
			require.Equal(t, trial.ProofHeld, w.record(t).State)
			w.restartOperator()
			w.renews(t, 40*time.Second)
			if tc.again == nil {
				w.renews(t, 3*time.Minute)
			} else {
				record := w.record(t)
				require.WithinDuration(t, w.clock.Now(), record.Began.Time, time.Minute)
				record.Began, record.Since = metav1.Time{}, metav1.Time{}
				require.Equal(t, &trial.Proof{
					Revision: 4, Former: 3, Node: "m1", State: trial.ProofAwaited, Controllers: all, Again: true,
				}, record)
				w.restartOperator()
				tc.again(w, t)
			}
			if tc.want == trial.ProofFailed {
				require.Empty(t, w.rejected(t))
				w.renews(t, 10*time.Minute+40*time.Second)
			}
			require.Equal(t, tc.want, w.record(t).State)
			if tc.want != trial.ProofFailed {
				require.Empty(t, w.rejected(t))
				return
			}
			require.Len(t, w.rejected(t), 1)
			require.True(t, w.rejected(t)[0].IsFor(4))
			require.Contains(t, w.rejected(t)[0].Verdict.Describe(), " led for 1s until 2026-11-21T09:1")
			require.Contains(t, w.rejected(t)[0].Verdict.Describe(), ": the cloud's API cannot be reached from the control plane: ")
			require.Contains(t, w.rejected(t)[0].Verdict.Describe(), "; it ended twice, and one of revision 3 has led since; the "+
				"nodes go back to what revision 3 has")
		})
	}
}

// A tenant's lines get into the end of the log as the kubelet has it, without the times that tell them apart.
func TestTheEndOfALeaderIsNotBlamedOnWhatATenantWrote(t *testing.T) {
	const forged = "E1125 19:00:00.000000       1 a.go:1] dial tcp 192.0.2.1:9876: connect: connection refused\n"
	own := strings.Replace(noOctavia, "No suitable endpoint", "no endpoint", 1)
	w := newFirst(t)
	w.masked = own
	w.takesLead("m1", 10)
	w.pass(t, 0)
	w.endsLead("m1", 12, own+forged)
	w.pass(t, 0)
	require.Equal(t, trial.ProofFailed, w.record(t).State)
	require.NotContains(t, w.rejected(t)[0].Verdict.Message, "connection refused")
}

// The log of its process cannot be read, for example because the next one has just ended too.
func TestTheEndOfALeaderWhoseLogIsAnothersIsNotBlamedOnWhatATenantWrote(t *testing.T) {
	for name, log := range map[string]string{"it is not read": "", "it is another process's": "another one\n"} {
		t.Run(name, func(t *testing.T) {
			w := newFirst(t)
			w.masked = log
			w.takesLead("m1", 10)
			w.pass(t, 0)
			w.endsLead("m1", 12, noOctavia+
				"F1121 08:00:00.000000       1 a.go:1] dial tcp 192.0.2.1:9876: connect: connection refused\n")
			w.pass(t, 0)
			require.Equal(t, trial.ProofFailed, w.record(t).State)
			require.Contains(t, w.rejected(t)[0].Verdict.Message, "no load-balancer API")
		})
	}
}

// The flags and the stacks of each process are the same. A kubelet restarts a container within a second of its first end.
func TestAnOutageIsNoFailureIfTheLogIsTheNextProcesss(t *testing.T) {
	const (
		stack = "goroutine 1 [running]:\nmain.main()\n\t/src/main.go:42 +0x1d\n"
		down  = "F1125 19:00:00.000000       1 openstack.go:355] Failed to create a client: dial tcp 192.0.2.1:9876: i/o timeout\n"
	)
	for name, tc := range map[string]struct{ message, next string }{
		"which has logged its flags": {
			`onfig=\"\""` + "\n" + down, `I1125 19:00:00.500000       1 flags.go:64] FLAG: --cloud-config=\"\""` + "\n",
		},
		"which has ended too": {down + stack, strings.Replace(down, ".000000", ".500000", 1) + stack},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFirst(t)
			w.masked = tc.next
			w.takesLead("m1", 10)
			w.pass(t, 0)
			w.endsLead("m1", 12, tc.message)
			w.pass(t, 0)
			require.Equal(t, trial.ProofHeld, w.record(t).State)
			require.Contains(t, w.record(t).Why, "i/o timeout")
		})
	}
}

func TestARevisionIsNotTakenBackBecauseOfWhatATenantWrote(t *testing.T) {
	for _, begin := range []string{"panic", "Error", "Evil"} {
		words := begin + ": Authentication failed"
		t.Run(begin, func(t *testing.T) {
			log := "I1125 19:00:00.000000       1 a.go:1] annotation x\n" + words + "\n" +
				"E1125 19:00:00.000001       1 a.go:2] leaderelection lost\n"
			w := newFirst(t)
			w.masked = log
			w.takesLead("m1", 10)
			w.pass(t, 0)
			w.endsLead("m1", 12, log)
			w.pass(t, 0)
			require.Equal(t, trial.ProofHeld, w.record(t).State)
		})
	}
}

// A kubelet reports the end before it restarts the container, and has no log of a process before then.
func TestTheLogOfAProcessThatEndedIsReadBeforeAndAfterItsContainerIsRestarted(t *testing.T) {
	for name, previous := range map[string]bool{"before": false, "after": true} {
		t.Run(name, func(t *testing.T) {
			w := newFirst(t)
			w.takesLead("m1", 10)
			w.pass(t, 0)
			w.endsLead("m1", 12, noOctavia)
			if container := w.Container("m1"); !previous {
				container.State, container.LastTerminationState = container.LastTerminationState, corev1.ContainerState{}
			}
			w.pass(t, 0)
			require.Equal(t, trial.ProofFailed, w.record(t).State)
			actions := w.kube.Actions()
			read := slices.IndexFunc(actions, func(a clienttesting.Action) bool { return a.GetSubresource() == "log" })
			require.GreaterOrEqual(t, read, 0)
			options, _ := actions[read].(clienttesting.GenericActionImpl).Value.(*corev1.PodLogOptions)
			require.Equal(t, previous, options.Previous)
		})
	}
}

func TestAnAdministratorEndsTheHoldOfARevision(t *testing.T) {
	w := newFirst(t)
	w.takesLead("m1", 10)
	w.pass(t, 0)
	w.endsLead("m1", 12, "F1125 19:00:00.000000       1 openstack.go:355] Failed to create a client: dial tcp 192.0.2.1:9876: i/o timeout\n")
	w.pass(t, time.Second)
	require.Contains(t, w.events()[0], "; to roll it out unproved, run: oc annotate --overwrite cloudcontrollermanager cluster "+
		"cloudcontrollermanager.operator.openshift.io/accepted-preflight=")
	w.takesLead("m0", 14)
	w.pass(t, time.Minute)
	require.Equal(t, trial.ProofHeld, w.record(t).State)
	w.accepts = true
	w.pass(t, time.Second)
	require.Equal(t, trial.Unproved, w.record(t).State)
	require.Equal(t, "an administrator has accepted what it changes", w.record(t).Why)
}

func TestARevisionThatHangsWhenItLeadsIsRejectedOnceAFormerOneHasStarted(t *testing.T) {
	w := newFirst(t)
	hangs := true
	w.started = func(pod *corev1.Pod) ([]string, error) {
		switch {
		case pod.Spec.NodeName == "m0":
			return all, nil
		case hangs:
			return nil, nil
		}
		return nil, errors.New("no answer")
	}
	w.takesLead("m1", 10)
	w.renews(t, 2*time.Minute+2*time.Second)
	require.Equal(t, trial.ProofHeld, w.record(t).State)
	require.Nil(t, w.rejected(t), "its cloud may hang")
	w.takesLead("m0", 150)
	w.pass(t, time.Second)
	require.Equal(t, trial.ProofFailed, w.record(t).State)
	require.Len(t, w.rejected(t), 1)
	require.Equal(t, "Hang", w.rejected(t)[0].Verdict.Class)
	require.Contains(t, w.rejected(t)[0].Verdict.Message, "within 2m0s, it did not start cloud-node-controller, "+
		"cloud-node-lifecycle-controller, service-lb-controller")
}

// forbids is what a process logs that may not list a resource of which its provider waits for the cache.
func forbids(resource string) string {
	return `E1125 19:00:00.000000       1 reflector.go:204] "Failed to watch" err="failed to list: ` + resource + ` is forbidden: ` +
		`User \"system:serviceaccount:openshift-cloud-controller-manager:cloud-controller-manager\" cannot list resource"` + "\n"
}

// The lines are those of the providers' sources. Each standby with these changes is healthy.
func TestWhatOnlyALeaderStartsIsJudged(t *testing.T) {
	const runs = "F1125 19:00:00.000000       1 controllermanager.go:224] error running controllers: "
	for name, tc := range map[string]struct {
		log   string
		hangs bool
		says  string
	}{
		"AWS: the tagging controller without tags": {"F1125 19:00:00.000000       1 tagging_controller_wrapper.go:39] Tagging " +
			"controller inputs are not properly set: --tags must not be empty and must be a form of key=value\n", false,
			`it failed: "Tagging controller inputs are not properly set: --tags must not be empty`},
		"AWS: --configure-cloud-routes without a cluster CIDR": {
			runs + `failed to parse cidr value:"" with error:invalid CIDR address: ` + "\n", false,
			`it failed: "error running controllers: failed to parse cidr value`,
		},
		"Google Cloud: nodeipam without --allocate-node-cidrs": {
			runs + "the AllocateNodeCIDRs is not enabled\n", false,
			`it failed: "error running controllers: the AllocateNodeCIDRs is not enabled"`,
		},
		"Azure: a cloud configuration that is no JSON": {
			`E1125 19:00:00.000000       1 controllermanager.go:363] "Cloud provider azure could not be initialized" err="error ` +
				`converting YAML to JSON: yaml: line 2: did not find expected ',' or '}'" logger="Run"` + "\n", false,
			`it failed: "\"Cloud provider azure could not be initialized\" err=\"error converting YAML to JSON`,
		},
		"Nutanix: it may not list ConfigMaps":     {forbids("configmaps"), true, "configmaps is forbidden"},
		"DigitalOcean: it may not list Services":  {forbids("services"), true, "services is forbidden"},
		"Nutanix or DigitalOcean, without a word": {"", true, "it did not start cloud-node-controller"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFirst(t)
			w.started = func(pod *corev1.Pod) ([]string, error) {
				return map[bool][]string{true: all}[pod.Spec.NodeName == "m0"], nil
			}
			w.masked = tc.log
			w.takesLead("m1", 10)
			if !tc.hangs {
				w.pass(t, 0)
				w.endsLead("m1", 12, tc.log)
				w.pass(t, 0)
			} else {
				w.renews(t, 2*time.Minute+2*time.Second)
				require.Equal(t, trial.ProofHeld, w.record(t).State)
				require.Contains(t, w.record(t).Why, tc.says)
				w.takesLead("m0", 150)
				w.pass(t, time.Second)
			}
			require.Equal(t, trial.ProofFailed, w.record(t).State)
			require.Len(t, w.rejected(t), 1)
			require.Contains(t, w.rejected(t)[0].Verdict.Message, tc.says)
		})
	}
}

// A firewall may keep the operator from the port of another node.
func TestARevisionThatLeadsAndCannotBeAskedIsNotRejected(t *testing.T) {
	w := newFirst(t)
	w.started = func(pod *corev1.Pod) ([]string, error) {
		if pod.Spec.NodeName == "m0" {
			return all, nil
		}
		return nil, errors.New("no answer")
	}
	w.takesLead("m1", 10)
	w.renews(t, 100*time.Second)
	require.Equal(t, trial.ProofLeads, w.record(t).State)
	w.renews(t, time.Minute)
	require.Equal(t, trial.Proven, w.record(t).State)
	require.Nil(t, w.rejected(t))
}

func TestARevisionThatAnAdministratorHasAcceptedRollsOutAfterItHasLedBadly(t *testing.T) {
	w := newFirst(t)
	w.accepts = true
	w.takesLead("m1", 10)
	w.pass(t, 0)
	w.endsLead("m1", 12, noOctavia)
	w.pass(t, time.Second)
	require.Nil(t, w.rejected(t))
	require.Equal(t, trial.Unproved, w.record(t).State)
	require.Equal(t, "an administrator has accepted what it changes", w.record(t).Why)
}

// everywhere gives every node revision 4, which has led well ten minutes ago.
func everywhere(t *testing.T) *world {
	t.Helper()
	w := newRollout(t, "m0", "m1", "m2")
	w.everyNode()
	record := trial.Record{Proof: &trial.Proof{Revision: 4, Former: 3, Node: "m1", State: trial.Proven,
		Began: metav1.NewTime(controlplanetest.At(-600))}}
	require.NoError(t, record.Save(t.Context(), w.kube.CoreV1()))
	return w
}

// everyNode gives every node revision 4.
func (w *world) everyNode() {
	for i, node := range []string{"m0", "m1", "m2"} {
		w.Status.NodeStatuses[i].CurrentRevision = 4
		w.label(node, "4")
		w.Ready(node, true)
	}
}

// fails lets the process of a node lead and end, from this second on.
func (w *world) fails(t *testing.T, node string, second int, message string) {
	t.Helper()
	w.takesLead(node, second)
	w.pass(t, 0)
	w.endsLead(node, second+2, message)
	w.pass(t, 0)
}

func TestARevisionWhoseLeadersEndIsRejectedAfterItsRollout(t *testing.T) {
	w := everywhere(t)
	w.fails(t, "m0", 10, noOctavia)
	require.Nil(t, w.rejected(t), "one end may be the node's fault")
	w.fails(t, "m2", 20, noOctavia)
	require.Len(t, w.rejected(t), 1)
	require.Contains(t, w.rejected(t)[0].Verdict.Describe(), "the cloud-controller-manager of revision 4 on node/m2 led for 1s until ")
	require.Contains(t, w.rejected(t)[0].Verdict.Describe(), "No suitable endpoint could be found in the service catalog")
	require.Equal(t, trial.ProofFailed, w.record(t).State)
	w.fails(t, "m0", 30, noOctavia)
	require.Len(t, w.events(), 1)
}

// newCredentials returns a rollout that changes only the credentials. Its first node has settled.
func newCredentials(t *testing.T, tried *trial.Verdict, before func(w *world)) *world {
	t.Helper()
	w := newRollout(t, "m0", "m1", "m2")
	w.sameConfig(t)
	for revision, password := range map[int32]string{3: "former", 4: "next"} {
		require.NoError(t, w.caches.Core().V1().Secrets().Informer().GetStore().Add(&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: operand.NameIn(operand.CloudCredentialsSecret, revision)},
			Data:       map[string][]byte{"clouds.yaml": []byte(password)},
		}))
	}
	objects, err := operatorclient.Objects(w.caches.Core().V1().ConfigMaps().Lister().ConfigMaps(namespace),
		w.caches.Core().V1().Secrets().Lister().Secrets(namespace))
	require.NoError(t, err)
	record := trial.Record{Inputs: objects.Changes(4, 3), Verdict: tried}
	require.NoError(t, record.Save(t.Context(), w.kube.CoreV1()))
	before(w)
	w.Ready("m1", true)
	w.Status.NodeStatuses[1].CurrentRevision = 4
	w.pass(t, 0)
	return w
}

// The former credentials may be revoked, so nothing is to be proved. A login that a preflight has made was revoked
// since, or the cloud is to blame.
func TestTheLeadersOfNewCredentialsAreWatched(t *testing.T) {
	const unauthenticated = "Authentication failed\n"
	successful := &trial.Verdict{Result: trial.Successful, Tries: 1}
	for name, tc := range map[string]struct {
		tried    *trial.Verdict
		message  string
		state    trial.ProofState
		rejected bool
	}{
		"no preflight has tried them, and the leaders end":            {nil, noOctavia, trial.Unproved, true},
		"no preflight has tried them, and the cloud rejects them":     {nil, unauthenticated, trial.Unproved, true},
		"a preflight has logged in with them, and the leaders end":    {successful, noOctavia, trial.Proven, true},
		"a preflight has logged in, and the cloud rejects them since": {successful, unauthenticated, trial.Proven, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newCredentials(t, tc.tried, func(*world) {})
			record := w.record(t)
			require.NotNil(t, record)
			record.Began, record.Since = metav1.Time{}, metav1.Time{}
			require.Equal(t, &trial.Proof{Revision: 4, Former: 3, Node: "m1", State: tc.state}, record)
			w.everyNode()
			w.fails(t, "m0", 10, tc.message)
			require.Nil(t, w.rejected(t))
			w.fails(t, "m2", 20, tc.message)
			if !tc.rejected {
				require.Nil(t, w.rejected(t))
				require.Empty(t, w.events())
				return
			}
			require.Len(t, w.rejected(t), 1)
			require.Equal(t, []diagnostic.Cause{diagnostic.Credentials}, w.rejected(t)[0].Inputs.Causes())
			require.Equal(t, trial.ProofFailed, w.record(t).State)
			require.Len(t, w.events(), 1)
		})
	}
}

func TestTheLeadersOfNewCredentialsAreNotWatchedIfNoneLedBefore(t *testing.T) {
	w := newCredentials(t, nil, func(w *world) { w.endsLead("m0", 5, "Authentication failed\n") })
	require.Nil(t, w.record(t), "they may be the cure")
}

// The prune controller deletes what no node runs.
func TestARevisionWhoseLeadersEndStaysIfTheFormerOneWasPruned(t *testing.T) {
	w := everywhere(t)
	store := w.caches.Core().V1().ConfigMaps().Informer().GetStore()
	object, found, err := store.GetByKey(namespace + "/cloud-controller-manager-pod-3")
	require.NoError(t, err)
	require.True(t, found)
	require.NoError(t, store.Delete(object))
	w.fails(t, "m0", 10, noOctavia)
	w.fails(t, "m2", 20, noOctavia)
	w.fails(t, "m1", 30, noOctavia)
	require.Nil(t, w.rejected(t))
	require.Equal(t, trial.Proven, w.record(t).State)
	require.Empty(t, w.events())
}

// Each of its leaders may end within seconds.
func TestARevisionThatAnAdministratorHasAcceptedIsReportedOnce(t *testing.T) {
	w := everywhere(t)
	w.accepts = true
	for second := 10; second < 100; second += 10 {
		w.fails(t, []string{"m0", "m1", "m2"}[second/10%3], second, noOctavia)
	}
	require.Nil(t, w.rejected(t))
	require.Equal(t, trial.Unproved, w.record(t).State)
	require.Len(t, w.events(), 1)
}

func TestARevisionStaysWhoseLeadersEndForAnotherReason(t *testing.T) {
	for name, happens := range map[string]func(w *world, t *testing.T){
		"the cloud is down": func(w *world, t *testing.T) {
			w.fails(t, "m0", 10, "dial tcp 192.0.2.1:5000: i/o timeout\n")
			w.fails(t, "m2", 20, "dial tcp 192.0.2.1:5000: i/o timeout\n")
		},
		"the cloud rejects a login that it has accepted": func(w *world, t *testing.T) {
			w.fails(t, "m0", 10, "Authentication failed\n")
			w.fails(t, "m2", 20, "Authentication failed\n")
		},
		"the same end is seen twice": func(w *world, t *testing.T) {
			w.fails(t, "m0", 10, noOctavia)
			w.pass(t, 20*time.Second)
		},
		"one has led well in between": func(w *world, t *testing.T) {
			w.fails(t, "m0", 10, noOctavia)
			w.takesLead("m1", 20)
			w.renews(t, 40*time.Second)
			w.fails(t, "m2", 70, noOctavia)
		},
		"an hour has passed": func(w *world, t *testing.T) {
			w.fails(t, "m0", 3001, noOctavia)
			w.fails(t, "m2", 3020, noOctavia)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := everywhere(t)
			happens(w, t)
			require.Nil(t, w.rejected(t))
		})
	}
}
