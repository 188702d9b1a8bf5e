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

func TestACensusCountsPodsThatAreOutdatedOrPending(t *testing.T) {
	w := fixture{platform: "azure", daemonSet: unavailable(1, 3), pods: []*corev1.Pod{
		pod("a", same), pod("b", same), pod("c", func(p *corev1.Pod) { p.Annotations, p.Status.Phase = nil, corev1.PodPending }),
	}}.start(t)
	w.sync(t)
	require.Equal(t, 1, w.last.outdated)
	require.Equal(t, 1, w.last.pending)
}

func TestARolloutLastsAsLongAsAPodIsOutdatedOrStarts(t *testing.T) {
	outdated := daemonSet(func(d *appsv1.DaemonSet) { d.Status.UpdatedNumberScheduled = 1 })
	for name, tc := range map[string]struct {
		daemonSet *appsv1.DaemonSet
		found     podSummary
		already   bool
		want      string
	}{
		"all pods are available": {daemonSet: daemonSet(same), already: true, want: "AsExpected"},
		"one is not":             {daemonSet: unavailable(1, 2), already: true, want: "RollingOut"},
		"one is not, but none is pending": {
			daemonSet: unavailable(1, 2), found: podSummary{at: now, status: unavailable(1, 2).Status}, already: true, want: "AsExpected",
		},
		"one is pending": {
			daemonSet: unavailable(1, 2), found: podSummary{at: now, status: unavailable(1, 2).Status, pending: 1}, already: true, want: "RollingOut",
		},
		"one is pending without a rollout": {
			daemonSet: unavailable(1, 2), found: podSummary{at: now, status: unavailable(1, 2).Status, pending: 1}, want: "AsExpected",
		},
		"the status counts one that is outdated": {daemonSet: outdated, want: "RollingOut"},
		"the status counts one that is outdated, but the list shows none": {
			daemonSet: outdated, found: podSummary{at: now, status: outdated.Status}, want: "AsExpected",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := (&controller{last: tc.found}).rollout(tc.daemonSet, tc.already)
			require.Equal(t, tc.want, *got.Reason)
		})
	}
}

func TestTheNodesOfManyFailingPodsAreReadTogether(t *testing.T) {
	for name, tc := range map[string]struct {
		pods  int32
		reads int
	}{
		"few are read by name": {pods: 10, reads: 10},
		"more are listed":      {pods: 11, reads: 1},
	} {
		t.Run(name, func(t *testing.T) {
			f := fixture{platform: "azure", daemonSet: unavailable(tc.pods, 100)}
			for i := range tc.pods {
				of := string('a' + i)
				f.pods = append(f.pods, pod(of, waiting("ErrImagePull", now.Add(-time.Hour))))
				f.nodes = append(f.nodes, node(of, same))
			}
			w := f.start(t)
			w.sync(t)
			require.Len(t, w.last.failures, int(tc.pods))
			reads := 0
			for _, action := range w.kube.Actions() {
				if action.Matches("list", "nodes") {
					reads++
				}
			}
			require.Equal(t, tc.reads, reads)
		})
	}
}

func TestACrashLoopNeedsThreeShortRunsOfLate(t *testing.T) {
	for name, tc := range map[string]struct {
		restarts  int32
		run, last time.Duration
		want      bool
	}{
		"three restarts, the last of them a moment ago": {restarts: 3, run: time.Second, last: time.Second, want: true},
		"two restarts": {restarts: 2, run: time.Second, last: time.Second},
		"the last run ended just less than ten minutes ago": {restarts: 3, run: time.Second, last: 10*time.Minute - 1, want: true},
		"it ended ten minutes ago":                          {restarts: 3, run: time.Second, last: 10 * time.Minute},
		"it lasted for just less than ten minutes":          {restarts: 3, run: 10*time.Minute - 1, last: time.Second, want: true},
		"it lasted for ten minutes":                         {restarts: 3, run: 10 * time.Minute, last: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			ended := now.Add(-tc.last)
			require.Equal(t, tc.want, crashLoops(corev1.ContainerStatus{
				RestartCount: tc.restarts,
				LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
					StartedAt: metav1.NewTime(ended.Add(-tc.run)), FinishedAt: metav1.NewTime(ended),
				}},
			}, now))
		})
	}
}

func TestAdviceFollowsTheReason(t *testing.T) {
	for reason, want := range map[string]string{
		"ErrImagePull": checkRegistry, "ImagePullBackOff": checkRegistry, "RegistryUnavailable": checkRegistry,
		"CrashLoopBackOff": readLog, "CreateContainerConfigError": readEvents,
	} {
		require.Equal(t, want, adviceFor(reason), reason)
	}
}

// The kubelet of a worker writes the status of its pods.
func TestTheReasonOfAKubeletIsShort(t *testing.T) {
	huge := strings.Repeat("9", 1<<20)
	for name, tc := range map[string]func(*corev1.Pod){
		"a container waits": waiting(huge, now),
		"the pod has failed": func(p *corev1.Pod) {
			p.Status.Phase, p.Status.Reason = corev1.PodFailed, huge
		},
	} {
		t.Run(name, func(t *testing.T) {
			require.Less(t, len(inspect(pod("a", tc), now).text), 200)
		})
	}
}
