package availability

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/nodecause"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/controlplanetest"
)

// terminationTail is a CCM's termination message: the tail of its log. Exit sets the times of the lines.
const terminationTail = `I1121 09:00:00.000000       1 flags.go:64] FLAG: --cloud-config="/etc/kubernetes/` +
	`static-pod-resources/secrets/cloud-config/cloud.conf"
I1121 09:00:00.000000       1 flags.go:64] FLAG: --vmodule=""
F1121 09:00:00.000000       1 main.go:72] Cloud provider could not be initialized: ` +
	`Post "https://ccm:hunter2@keystone:1/v3": connection refused
`

const crashLoopMessage = `container cloud-controller-manager of pod/cloud-controller-manager-m1 keeps exiting, ` +
	`last with code 255 and ` +
	`"Cloud provider could not be initialized: Post \"https://<redacted>@keystone:1/v3\": connection refused"; ` +
	`check name resolution, routes, firewalls and the cluster's proxy`

// crashes makes the container of node exit after each run of the given length in seconds, from the given second until
// the end. The kubelet's back-off starts at 10 s and doubles up to 5 minutes.
func (l timeline) crashes(node string, from, runs, end int) {
	backOff := 10
	for second := from; second < end; {
		l.at(second, func(c *cluster, second int) { c.Exit(node, second, terminationTail) })
		second += backOff
		if second >= end {
			return
		}
		l.at(second, func(c *cluster, second int) { c.Start(node, second) })
		second += runs
		backOff = min(2*backOff, 300)
	}
}

func TestACrashLoopIsOneFailure(t *testing.T) {
	// A report begins with an exit: five minutes after the first exit, the fourth run of 100 s goes on.
	for runs, reported := range map[int]int{1: 301, 20: 301, 100: 371} {
		t.Run(fmt.Sprintf("of runs of %d s", runs), func(t *testing.T) {
			start := func() *cluster { c := threeMasters(); c.Start("m1", -runs); return c }
			events := timeline{}
			events.renews(26, 5000)
			events.crashes("m1", 1, runs, 3600)
			events.at(3000, func(c *cluster, _ int) { require.Equal(t, crashLoopMessage, c.message(CrashLoopCondition)) })
			// The cause of the crash is removed.
			events.at(3600, func(c *cluster, second int) { c.Start("m1", second) })
			stable := 3600 + max(45, 2*runs)
			require.Equal(t, []string{
				fmt.Sprintf("%ds CrashLoopDegraded=True CrashLooping", reported),
				fmt.Sprintf("%ds CrashLoopDegraded=False AsExpected", stable),
			}, of(events.run(t, start, 5000), CrashLoopCondition))
		})
	}
}

// A Service's annotation contains the line, and the CCM has logged it a minute before it ended.
func TestAForgedLineIsNotTheCauseOfACrashLoop(t *testing.T) {
	forged := "F" + at(-60).Format("0102 15:04:05.000000") + "       1 main.go:72] Authentication failed\n"
	c := threeMasters()
	c.Start("m1", -3600)
	c.Exit("m1", 0, strings.Replace(terminationTail, "F", forged+"F", 1))
	_, action := describeEnd(controlplane.ContainerStatus(c.Pods["m1"]).LastTerminationState.Terminated)
	require.Equal(t, nodecause.Unreachable.Action(), action)
	c.Start("m1", -3600)
	c.Exit("m1", 0, forged)
	end, action := describeEnd(controlplane.ContainerStatus(c.Pods["m1"]).LastTerminationState.Terminated)
	require.Equal(t, []string{"with code 255", "fix the error above, or read the container's log"}, []string{end, action})
}

func TestACrashLoopHasTheRemedyOfItsError(t *testing.T) {
	for text, want := range map[string]string{
		"AADSTS53003: Access has been blocked by Conditional Access policies.":        "exclude the identity from the policy",
		`Post "https://keystone/v3": http: server gave HTTP response to HTTPS client`: "correct the scheme",
		"AADSTS7000222: The provided client secret keys are expired.":                 "replace the credentials",
		"an error that nobody knows":                                                  "fix the error above",
	} {
		_, action := describeEnd(&corev1.ContainerStateTerminated{ExitCode: 1, Message: "Error: " + text + "\n"})
		require.Contains(t, action, want)
	}
}

func TestAllCrashLoopingIsAnOutageWithoutAnEnd(t *testing.T) {
	start := func() *cluster {
		c := threeMasters()
		for node := range c.Pods {
			c.Start(node, -3600)
		}
		return c
	}
	events := timeline{}
	for i, node := range []string{"m0", "m1", "m2"} {
		events.crashes(node, 5+i, 3, 3600)
	}
	require.Equal(t, []string{
		"274s CloudControllerManagerAvailable=False",
		"318s CrashLoopDegraded=True",
		"394s CloudControllerManagerDegraded=True",
	}, transitions(events.run(t, start, 3600)))
}

func TestAFailureThatPassesIsNoCrashLoop(t *testing.T) {
	for name, events := range map[string]func(timeline){
		"a leader that lost its lease after a long run": func(l timeline) {
			l.at(10, func(c *cluster, second int) { c.Exit("m1", second, terminationTail); c.Start("m1", second) })
		},
		"a container that fails twice and then runs": func(l timeline) { l.crashes("m1", 10, 1, 42) },
		"a short run, hours after the last": func(l timeline) {
			l.crashes("m1", 10, 1, 42)
			l.at(3000, func(c *cluster, second int) { c.Exit("m1", second, terminationTail); c.Start("m1", second) })
			l.at(3003, func(c *cluster, second int) { c.Exit("m1", second, terminationTail); c.Start("m1", second) })
		},
		"a container that runs again before five minutes are over": func(l timeline) {
			l.crashes("m1", 10, 1, 290)
			l.at(290, func(c *cluster, second int) { c.Start("m1", second) })
		},
		"revisions that replace each other": func(l timeline) {
			for second := 100; second < 2000; second += 100 {
				l.at(second, func(c *cluster, second int) {
					container := c.Container("m1")
					container.State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
						ExitCode: 2, StartedAt: container.State.Running.StartedAt, FinishedAt: controlplanetest.Stamp(at(second)),
					}}
				})
				l.at(second+14, func(c *cluster, second int) { c.Install("m1", second) })
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := timeline{}
			l.renews(26, 4000)
			events(l)
			require.Empty(t, of(l.run(t, threeMasters, 4000), CrashLoopCondition))
		})
	}
}

func TestARolloutDoesNotProlongAFailureThatIsOver(t *testing.T) {
	events := timeline{}
	events.renews(26, 2000)
	start := func() *cluster { c := threeMasters(); c.Start("m1", -1); return c }
	events.crashes("m1", 0, 1, 42)
	for second := 100; second < 600; second += 100 {
		events.at(second, func(c *cluster, _ int) { delete(c.Pods, "m1") })
		events.at(second+14, func(c *cluster, second int) { c.Install("m1", second) })
	}
	require.Empty(t, of(events.run(t, start, 2000), CrashLoopCondition))
}

func TestARevisionThatFailsLikeThePreviousOneIsTheSameFailure(t *testing.T) {
	events := timeline{}
	events.renews(26, 2000)
	start := func() *cluster { c := threeMasters(); c.Start("m1", -1); return c }
	events.crashes("m1", 0, 1, 700)
	events.at(700, func(c *cluster, _ int) { delete(c.Pods, "m1") })
	events.at(715, func(c *cluster, second int) { c.Install("m1", second) })
	events.crashes("m1", 717, 1, 1200)
	events.at(1200, func(c *cluster, _ int) { delete(c.Pods, "m1") })
	events.at(1215, func(c *cluster, second int) { c.Install("m1", second) })
	require.Equal(t, []string{
		"300s CrashLoopDegraded=True CrashLooping",
		"1260s CrashLoopDegraded=False AsExpected",
	}, of(events.run(t, start, 2000), CrashLoopCondition))
}

// Its former revision ran for three minutes before each exit, as with a cloud that does not answer.
func TestANewRevisionThatStaysUpEndsACrashLoopWithinAMinute(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(events timeline)
		want   []string
	}{
		"it stays up": {change: func(timeline) {}, want: []string{
			"391s CrashLoopDegraded=True CrashLooping",
			"1045s CrashLoopDegraded=False AsExpected",
		}},
		"it exits like the former one": {
			change: func(events timeline) {
				events.at(1180, func(c *cluster, second int) { c.Exit("m1", second, terminationTail) })
				events.at(1181, func(c *cluster, second int) { c.Start("m1", second) })
			},
			want: []string{
				"391s CrashLoopDegraded=True CrashLooping",
				"1045s CrashLoopDegraded=False AsExpected",
				"1180s CrashLoopDegraded=True CrashLooping",
				"1541s CrashLoopDegraded=False AsExpected",
			},
		},
		"the clock of its node is an hour ahead": {
			change: func(events timeline) {
				events.at(1000, func(c *cluster, second int) { c.Start("m1", second+3600) })
			},
			want: []string{
				"391s CrashLoopDegraded=True CrashLooping",
				"1045s CrashLoopDegraded=False AsExpected",
			},
		},
		"another one replaces it before": {
			change: func(events timeline) {
				events.at(1030, func(c *cluster, _ int) { delete(c.Pods, "m1") })
				events.at(1035, func(c *cluster, second int) { c.Install("m1", second) })
			},
			want: []string{
				"391s CrashLoopDegraded=True CrashLooping",
				"1080s CrashLoopDegraded=False AsExpected",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			start := func() *cluster { c := threeMasters(); c.Start("m1", -180); return c }
			events := timeline{}
			events.renews(26, 2000)
			events.crashes("m1", 1, 180, 980)
			events.at(985, func(c *cluster, _ int) { delete(c.Pods, "m1") })
			events.at(1000, func(c *cluster, second int) { c.Install("m1", second) })
			tc.change(events)
			require.Equal(t, tc.want, of(events.run(t, start, 2000), CrashLoopCondition))
		})
	}
}

// A process that cannot lead exits at once if it acquires the lease, and lives for minutes if it stands by.
func TestAProcessThatLivesLongerAsAStandbyFlapsOnce(t *testing.T) {
	start := func() *cluster { c := threeMasters(); c.Start("m1", -1); return c }
	events := timeline{}
	events.renews(26, 3000)
	events.crashes("m1", 0, 1, 400)
	for second := 400; second < 1800; second += 140 {
		events.at(second, func(c *cluster, second int) { c.Start("m1", second) })
		events.at(second+100, func(c *cluster, second int) { c.Exit("m1", second, terminationTail) })
	}
	require.Equal(t, []string{
		"300s CrashLoopDegraded=True CrashLooping",
		"445s CrashLoopDegraded=False AsExpected",
		"500s CrashLoopDegraded=True CrashLooping",
	}, of(events.run(t, start, 1800), CrashLoopCondition))
}

func TestARestartedOperatorGoesOnReportingACrashLoop(t *testing.T) {
	start := func() *cluster {
		c := threeMasters()
		c.Start("m1", -2)
		c.Exit("m1", -1, terminationTail)
		c.Status.Conditions = append(c.Status.Conditions, operatorv1.OperatorCondition{
			Type: CrashLoopCondition, Status: operatorv1.ConditionTrue, Reason: "CrashLooping", Message: crashLoopMessage,
		})
		return c
	}
	events := timeline{}
	events.renews(26, 1000)
	events.at(250, func(c *cluster, second int) { c.Start("m1", second) })
	require.Equal(
		t,
		[]string{"295s CrashLoopDegraded=False AsExpected"},
		of(events.run(t, start, 1000), CrashLoopCondition),
	)
}

func TestACrashLoopEndsWithItsNode(t *testing.T) {
	start := func() *cluster { c := threeMasters(); c.Start("m1", -1); return c }
	events := timeline{}
	events.renews(26, 1000)
	events.crashes("m1", 0, 1, 600)
	events.at(600, func(c *cluster, _ int) { c.Leave("m1") })
	require.Equal(t, []string{
		"300s CrashLoopDegraded=True CrashLooping",
		"600s CrashLoopDegraded=False AsExpected",
	}, of(events.run(t, start, 1000), CrashLoopCondition))
}

func TestAnInitContainerThatSucceedsInTheEndIsNoCrashLoop(t *testing.T) {
	run := func(code int32) *corev1.ContainerStateTerminated {
		return &corev1.ContainerStateTerminated{
			ExitCode:   code,
			StartedAt:  controlplanetest.Stamp(at(-5)),
			FinishedAt: controlplanetest.Stamp(at(-4)),
		}
	}
	c := threeMasters()
	c.Pods["m1"].Status.InitContainerStatuses = []corev1.ContainerStatus{{
		Name: "init", Ready: true, LastTerminationState: corev1.ContainerState{Terminated: run(1)},
		State: corev1.ContainerState{Terminated: run(0)},
	}}
	loops := newAssessor().loops
	require.Zero(t, loops.observe(c.view(3600), []*corev1.Pod{c.Pods["m1"]}, expectedNodes{present: []string{"m1"}}))
	require.Empty(t, loops.series)
}

func TestASeriesIsForgottenWithItsContainer(t *testing.T) {
	const gone, stays = "gone", "stays"
	for name, tc := range map[string]struct {
		containers []corev1.ContainerStatus
		want       []containerOn
	}{
		"a container that the pod no longer has is forgotten, one of another node is not": {
			containers: []corev1.ContainerStatus{{Name: stays}},
			want:       []containerOn{{"m1", stays}, {"m2", gone}},
		},
		"a pod whose containers the kubelet has not reported yet proves nothing": {
			want: []containerOn{{"m1", gone}, {"m1", stays}, {"m2", gone}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			loops, c := newAssessor().loops, threeMasters()
			maps.Copy(loops.series, map[containerOn]*crashLoop{{"m1", gone}: {}, {"m1", stays}: {}, {"m2", gone}: {}})
			pod := c.Pods["m1"]
			pod.Status.ContainerStatuses = tc.containers
			loops.observe(c.view(0), []*corev1.Pod{pod}, expectedNodes{present: []string{"m1", "m2"}})
			require.Equal(t, tc.want, slices.SortedFunc(maps.Keys(loops.series), containerOn.compare))
		})
	}
}

func TestARunOfTenMinutesIsNotShort(t *testing.T) {
	run := func(d time.Duration) *corev1.ContainerStateTerminated {
		return &corev1.ContainerStateTerminated{
			StartedAt:  controlplanetest.Stamp(begin),
			FinishedAt: controlplanetest.Stamp(begin.Add(d)),
		}
	}
	require.True(t, isShort(run(10*time.Minute-time.Second)))
	require.False(t, isShort(run(10*time.Minute)))
}

func TestOneExitIsNoCrashLoopHoweverLongTheRunWas(t *testing.T) {
	start := func() *cluster { c := threeMasters(); c.Start("m1", -360); return c }
	events := timeline{}
	events.renews(26, 1000)
	events.at(10, func(c *cluster, second int) { c.Exit("m1", second, terminationTail) })
	events.at(300, func(c *cluster, second int) { c.Start("m1", second) })
	require.Empty(t, of(events.run(t, start, 1000), CrashLoopCondition))
}

func TestTheListOfCrashLoopsIsBounded(t *testing.T) {
	for count, want := range map[int]string{5: "", 6: "; 1 more"} {
		loops := newAssessor().loops
		for _, name := range []string{"a", "b", "c", "d", "e", "f"}[:count] {
			loops.series[containerOn{name, "c"}] = &crashLoop{since: begin, exits: 3, subject: name, end: "with code 1", action: "fix it"}
		}
		got := crashLooping(&input{assessor: &assessor{loops: loops}, view: view{View: controlplane.NewView(controlplane.State{
			Now: begin.Add(crashLoopAfter), Status: &operatorv1.StaticPodOperatorStatus{},
		})}})
		require.Equal(t, "a, last with code 1; b, last with code 1; c, last with code 1; d, last with code 1; e, last with code 1"+
			want+"; fix it", got.message)
		require.Zero(t, got.next)
	}
}

// transitions keeps the changes of a status, without their reasons.
func transitions(series []string) []string {
	last := map[string]string{AvailableCondition: "True", DegradedCondition: "False", CrashLoopCondition: "False"}
	var kept []string
	for _, change := range series {
		var second int
		var condition string
		if _, err := fmt.Sscanf(change, "%ds %s", &second, &condition); err != nil {
			continue
		}
		for name, status := range last {
			if condition == name+"=True" && status != "True" || condition == name+"=False" && status != "False" {
				last[name] = condition[len(name)+1:]
				kept = append(kept, fmt.Sprintf("%ds %s", second, condition))
			}
		}
	}
	return kept
}

// kill is kill -9 of the process on a node, whose kubelet starts another one ten seconds later.
func (l timeline) kill(node string, second int) {
	l.at(second, func(c *cluster, second int) {
		c.Exit(node, second, terminationTail)
		c.Container(node).LastTerminationState.Terminated.ExitCode = 137
	})
	l.at(second+10, func(c *cluster, second int) { c.Start(node, second) })
}

// A person, or the kernel, ends a process now and then. What it has logged last has nothing to do with it.
func TestTwoKillsAreNoCrashLoopAndThreeAreNamedByTheirSignal(t *testing.T) {
	start := func() *cluster { c := threeMasters(); c.Start("m1", -250); return c }
	events := timeline{}
	events.renews(26, 1200)
	events.kill("m1", 10)
	events.kill("m1", 160)
	require.Empty(t, of(events.run(t, start, 1200), CrashLoopCondition))

	events.kill("m1", 330)
	events.at(335, func(c *cluster, _ int) {
		require.Equal(t, "container cloud-controller-manager of pod/cloud-controller-manager-m1 keeps exiting, last by signal "+
			"9 (killed); find what ends it: its kubelet by a probe, the kernel without memory, or a person",
			c.message(CrashLoopCondition))
	})
	require.Equal(t, "330s CrashLoopDegraded=True CrashLooping", of(events.run(t, start, 1200), CrashLoopCondition)[0])
}

// Each rollout that is proved ends the process of its first node, and that of the former leader, once more.
func TestWhatMovesOfTheLeadEndIsNoCrashLoop(t *testing.T) {
	start := func() *cluster { c := threeMasters(); c.Start("m1", -250); c.Start("m2", -250); return c }
	events := timeline{}
	events.renews(26, 1200)
	for _, second := range []int{10, 160, 330} {
		events.kill("m1", second)
		events.at(second, func(c *cluster, second int) { c.move("m1", second-2, second+3) })
	}
	require.Empty(t, of(events.run(t, start, 1200), CrashLoopCondition))
	events.at(330, func(c *cluster, _ int) { c.moves = nil })
	require.Empty(t, of(events.run(t, start, 1200), CrashLoopCondition), "the record of a move is deleted some time")
	for _, second := range []int{10, 160, 330} {
		events.kill("m2", second)
	}
	require.NotEmpty(t, of(events.run(t, start, 1200), CrashLoopCondition), "that of another node")
}

// The record of a move goes after a minute, and the kubelet still reports the end then.
func TestAKillAfterTheRecordsOfMovesAreGoneIsNoCrashLoop(t *testing.T) {
	start := func() *cluster { c := threeMasters(); c.Start("m1", -250); return c }
	events := timeline{}
	events.renews(26, 1200)
	for _, second := range []int{10, 160} {
		events.kill("m1", second)
		events.at(second, func(c *cluster, second int) { c.move("m1", second-2, second+3) })
		events.at(second+70, func(c *cluster, _ int) { c.moves = nil })
	}
	events.kill("m1", 330)
	require.Empty(t, of(events.run(t, start, 1200), CrashLoopCondition))
}

// move adds the pod of a move that ran on a node.
func (c *cluster) move(node string, from, until int) {
	pod := &corev1.Pod{Spec: corev1.PodSpec{NodeName: node}}
	pod.Labels = map[string]string{"app": controlplane.HandoverApp}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{
		Terminated: &corev1.ContainerStateTerminated{
			StartedAt: controlplanetest.Stamp(at(from)), FinishedAt: controlplanetest.Stamp(at(until)),
		},
	}}}
	c.moves = append(c.moves, pod)
}
