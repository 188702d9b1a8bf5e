package nodemanager

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// moment is the state of the cluster from a time after the start.
type moment struct {
	after     time.Duration
	daemonSet *appsv1.DaemonSet
	pods      []*corev1.Pod
	nodes     []*corev1.Node
}

// play runs the controller at every change of the DaemonSet and after every requested delay. It returns the changes
// of its conditions as "<time> <type>=<status>".
func play(t *testing.T, until time.Duration, moments ...moment) []string {
	t.Helper()
	w := fixture{platform: "azure", daemonSet: moments[0].daemonSet, pods: moments[0].pods, nodes: moments[0].nodes}.start(t)
	var changes []string
	seen := map[string]string{}
	var due time.Time
	for at := time.Duration(0); at <= until; at += 5 * time.Second {
		w.clock.SetTime(now.Add(at))
		wake := at == 0 || !due.IsZero() && !w.clock.Now().Before(due)
		for len(moments) > 1 && moments[1].after <= at {
			moments = moments[1:]
			w.set(t, moments[0].daemonSet, moments[0].pods, moments[0].nodes)
			wake = true
		}
		if !wake {
			continue
		}
		conditions, after := w.sync(t)
		due = time.Time{}
		if len(after) > 0 {
			due = w.clock.Now().Add(after[0])
		}
		for _, condition := range conditions {
			state, _, _ := strings.Cut(condition, " ")
			name, _, _ := strings.Cut(state, "=")
			if before, known := seen[name]; known && before != state {
				changes = append(changes, at.String()+" "+state)
			}
			seen[name] = state
		}
	}
	return changes
}

func at(after time.Duration) time.Time { return now.Add(after) }

// away makes a pod look as if kube-controller-manager gave up its node at the given time: the kubelet's last status,
// with Ready False.
func away(since time.Time) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.Conditions[0].Status, p.Status.Conditions[0].LastTransitionTime = corev1.ConditionFalse, metav1.NewTime(since)
	}
}

// rebooted makes a pod look as if the kubelet restarted its container after a reboot.
func rebooted(gone time.Time) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		away(gone)(p)
		p.Status.StartTime = &metav1.Time{Time: now.Add(-time.Hour)}
		p.Status.ContainerStatuses[0].RestartCount = 1
		p.Status.ContainerStatuses[0].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}
		p.Status.ContainerStatuses[0].LastTerminationState = corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{ExitCode: 255, Reason: "Unknown", FinishedAt: metav1.NewTime(gone.Add(-time.Minute))},
		}
	}
}

func TestAWorkerThatReturnsAfterMinutesIsNoFailure(t *testing.T) {
	gone, back := time.Minute, 7*time.Minute
	require.Empty(t, play(t, 30*time.Minute,
		moment{daemonSet: unavailable(0, 6), pods: []*corev1.Pod{pod("a", same)}, nodes: []*corev1.Node{node("a", same)}},
		moment{gone, unavailable(1, 6), []*corev1.Pod{pod("a", away(at(gone)))}, []*corev1.Node{node("a", ready(corev1.ConditionUnknown, at(gone)))}},
		moment{back, unavailable(1, 6), []*corev1.Pod{pod("a", rebooted(at(gone)))}, []*corev1.Node{node("a", ready(corev1.ConditionTrue, at(back)))}},
		moment{back + 2*time.Minute, unavailable(0, 6), []*corev1.Pod{pod("a", same)}, nil},
	))
}

func TestAWorkerThatReturnsAndCannotStartItIsReportedAfterFiveMinutes(t *testing.T) {
	gone, back := time.Minute, 7*time.Minute
	require.Equal(t, []string{"12m0s NodeManagerNotices=True", "20m0s NodeManagerNotices=False"}, play(t, 30*time.Minute,
		moment{daemonSet: unavailable(0, 6), pods: []*corev1.Pod{pod("a", same)}, nodes: []*corev1.Node{node("a", same)}},
		moment{gone, unavailable(1, 6), []*corev1.Pod{pod("a", away(at(gone)))}, []*corev1.Node{node("a", ready(corev1.ConditionUnknown, at(gone)))}},
		moment{back, unavailable(1, 6), []*corev1.Pod{pod("a", rebooted(at(gone)))}, []*corev1.Node{node("a", ready(corev1.ConditionTrue, at(back)))}},
		moment{20 * time.Minute, unavailable(0, 6), []*corev1.Pod{pod("a", same)}, nil},
	))
}

func TestEveryWorkerOfAZoneReturnsAtOnce(t *testing.T) {
	gone, back := time.Minute, 20*time.Minute
	all := func(change func(*corev1.Pod)) []*corev1.Pod {
		return []*corev1.Pod{pod("a", change), pod("b", change), pod("c", change)}
	}
	nodes := func(change func(*corev1.Node)) []*corev1.Node {
		return []*corev1.Node{node("a", change), node("b", change), node("c", change)}
	}
	require.Empty(t, play(t, 40*time.Minute,
		moment{daemonSet: unavailable(0, 6), pods: all(same), nodes: nodes(same)},
		moment{gone, unavailable(3, 6), all(away(at(gone))), nodes(ready(corev1.ConditionUnknown, at(gone)))},
		moment{back, unavailable(3, 6), all(rebooted(at(gone))), nodes(ready(corev1.ConditionTrue, at(back)))},
		moment{back + 4*time.Minute, unavailable(0, 6), all(same), nil},
	))
}

func TestOneBadWorkerNeverDegrades(t *testing.T) {
	require.Equal(t, []string{"6m0s NodeManagerNotices=True", "2h0m0s NodeManagerNotices=False"}, play(t, 3*time.Hour,
		moment{daemonSet: unavailable(0, 6), nodes: []*corev1.Node{node("a", same)}},
		moment{time.Minute, unavailable(1, 6), []*corev1.Pod{pod("a", waiting("ErrImagePull", at(time.Minute)))}, nil},
		moment{2 * time.Hour, unavailable(0, 6), []*corev1.Pod{pod("a", same)}, nil},
	))
}

func TestPodsThatCannotBeCreatedAreReportedAfterFiveMinutes(t *testing.T) {
	missing := daemonSet(func(d *appsv1.DaemonSet) { d.Status.CurrentNumberScheduled, d.Status.UpdatedNumberScheduled = 0, 0 })
	require.Equal(t, []string{"1h5m0s NodeManagerDegraded=True", "2h0m0s NodeManagerDegraded=False"}, play(t, 3*time.Hour,
		moment{daemonSet: daemonSet(func(*appsv1.DaemonSet) {})},
		moment{time.Hour, missing, nil, nil},
		moment{2 * time.Hour, daemonSet(func(*appsv1.DaemonSet) {}), nil, nil},
	))
}

// The kubelet has lost the container's status, so only the operator knows since when it waits.
func TestAPodThatWaitsWithoutAStatusIsReportedAfterFiveMinutes(t *testing.T) {
	lost := func(p *corev1.Pod) {
		waiting("ContainerCreating", at(0))(p)
		p.Status.ContainerStatuses[0].RestartCount = 1
	}
	require.Equal(t, []string{"6m0s NodeManagerNotices=True", "20m0s NodeManagerNotices=False"}, play(t, 30*time.Minute,
		moment{daemonSet: unavailable(0, 6), pods: []*corev1.Pod{pod("a", same)}, nodes: []*corev1.Node{node("a", same)}},
		moment{time.Minute, unavailable(1, 6), []*corev1.Pod{pod("a", lost)}, nil},
		moment{3 * time.Minute, unavailable(1, 6), []*corev1.Pod{pod("a", lost)}, nil},
		moment{20 * time.Minute, unavailable(0, 6), []*corev1.Pod{pod("a", same)}, nil},
	))
}

func TestARolloutOfABadImageDegrades(t *testing.T) {
	rollout := func(unavailable, updated int32) *appsv1.DaemonSet {
		return daemonSet(func(d *appsv1.DaemonSet) {
			d.Status.DesiredNumberScheduled, d.Status.CurrentNumberScheduled = 20, 20
			d.Status.UpdatedNumberScheduled, d.Status.NumberUnavailable = updated, unavailable
		})
	}
	old := pod("c", func(p *corev1.Pod) { p.Annotations = nil })
	stuck := []*corev1.Pod{pod("a", waiting("ErrImagePull", at(time.Minute))), pod("b", waiting("ErrImagePull", at(time.Minute))), old}
	require.Equal(t, []string{
		"1m0s NodeManagerProgressing=True", "6m0s NodeManagerDegraded=True",
		"1h0m0s NodeManagerProgressing=False", "1h0m0s NodeManagerDegraded=False",
	}, play(t, 90*time.Minute,
		moment{daemonSet: rollout(0, 20), pods: []*corev1.Pod{pod("c", same)}, nodes: []*corev1.Node{node("a", same), node("b", same)}},
		moment{time.Minute, rollout(2, 2), stuck, nil},
		moment{time.Hour, rollout(0, 20), []*corev1.Pod{pod("a", same), pod("b", same), pod("c", same)}, nil},
	))
}

// Between two back-offs of the kubelet a crashing container runs for a few seconds.
func TestACrashLoopOnATenthOfTheNodesIsOneFailure(t *testing.T) {
	moments := []moment{{
		daemonSet: unavailable(0, 10), pods: []*corev1.Pod{pod("a", same), pod("b", same)},
		nodes: []*corev1.Node{node("a", same), node("b", same)},
	}}
	crash := time.Minute
	for i, backoff := range []time.Duration{10 * time.Second, 20 * time.Second, 40 * time.Second, 80 * time.Second, 160 * time.Second, 5 * time.Minute, 5 * time.Minute} {
		restarts := int32(i + 1)
		waits := func(p *corev1.Pod) {
			crashed(restarts, at(crash))(p)
			p.Status.ContainerStatuses[0].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
		}
		moments = append(moments,
			moment{crash, unavailable(2, 10), []*corev1.Pod{pod("a", waits), pod("b", waits)}, nil},
			moment{crash + backoff, unavailable(0, 10), []*corev1.Pod{pod("a", crashed(restarts, at(crash))), pod("b", crashed(restarts, at(crash)))}, nil})
		crash += backoff + 5*time.Second
	}
	changes := play(t, time.Hour, moments...)
	require.Len(t, changes, 2, "%v", changes)
	require.Equal(t, "2m20s NodeManagerDegraded=True", changes[0])
	require.Contains(t, changes[1], "NodeManagerDegraded=False")
}

func TestPodsAreListedSeldom(t *testing.T) {
	w := fixture{platform: "azure", daemonSet: unavailable(0, 5000), pods: []*corev1.Pod{pod("a", same)}}.start(t)
	for range 100 {
		w.clock.SetTime(w.clock.Now().Add(time.Minute))
		w.sync(t)
	}
	require.Equal(t, 1, w.lists(), "when every pod is available")

	w.set(t, unavailable(1, 5000), []*corev1.Pod{pod("a", away(w.clock.Now()))}, nil)
	for range 60 {
		w.clock.SetTime(w.clock.Now().Add(time.Minute))
		w.sync(t)
	}
	require.Equal(t, 12, w.lists(), "in an hour while a node is away")

	w.kube.ClearActions()
	for i := range int32(600) {
		w.clock.SetTime(w.clock.Now().Add(time.Second))
		require.NoError(t, w.store.Update(unavailable(i, 5000)))
		w.sync(t)
	}
	require.Equal(t, 10, w.lists(), "in ten minutes of a rollout")
}
