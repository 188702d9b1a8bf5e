package operatorlock

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	leaderelectionconfig "github.com/openshift/library-go/pkg/config/leaderelection"
	"github.com/openshift/library-go/pkg/controller/controllercmd"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
)

const (
	namespace = "operator"
	name      = "operator-lock"
	ours      = "master-0_operator-a_uid-a_process-2"
	former    = "master-0_operator-a_uid-a_process-1"
	other     = "master-1_operator-b_uid-b_process-1"
)

var acquired = time.Date(2026, 5, 1, 12, 0, 0, 300_000_000, time.UTC)

// election is a process that asks for a lock.
type election struct {
	*lock
	kube  *fake.Clientset
	clock *clocktesting.FakePassiveClock
}

func newElection(holder string) *election {
	kube := fake.NewClientset(&coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: &holder, LeaseDurationSeconds: ptr.To[int32](137),
			AcquireTime: &metav1.MicroTime{Time: acquired}, RenewTime: &metav1.MicroTime{Time: acquired},
		},
	})
	fixed := clocktesting.NewFakePassiveClock(acquired.Add(time.Hour))
	return &election{kube: kube, clock: fixed, lock: &lock{
		Interface: &resourcelock.LeaseLock{
			LeaseMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Client: kube.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: ours},
		},
		pod: Pod{Name: "operator-a", UID: "uid-a"}, pods: kube.CoreV1().Pods(namespace), clock: fixed,
		leases: kube.CoordinationV1().Leases(namespace), name: name, lasts: 137 * time.Second,
	}}
}

// holder returns who holds the lock as far as client-go's leader election would be told at once.
func (e *election) holder(t *testing.T) string {
	t.Helper()
	record, _, err := e.get(t.Context())
	require.NoError(t, err)
	return record.HolderIdentity
}

func podB(uid types.UID, states ...corev1.ContainerState) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "operator-b", UID: uid}}
	for i, state := range states {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses,
			corev1.ContainerStatus{Name: fmt.Sprint(i), State: state})
	}
	return pod
}

func ended(at time.Time) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{FinishedAt: metav1.NewTime(at.Truncate(time.Second))}}
}

var runs = corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}

func TestTheLockOfAProcessThatHasEndedIsFree(t *testing.T) {
	for name, tc := range map[string]struct {
		holder string
		pod    *corev1.Pod
		silent time.Duration
		want   string
	}{
		"an earlier container of this pod":     {holder: former},
		"this process itself":                  {holder: ours, want: ours},
		"nobody":                               {},
		"a pod that runs":                      {holder: other, pod: podB("uid-b", runs), silent: 136 * time.Second, want: other},
		"a pod without a status":               {holder: other, pod: podB("uid-b"), silent: 136 * time.Second, want: other},
		"a pod whose container has terminated": {holder: other, pod: podB("uid-b", ended(acquired.Add(time.Minute)))},
		"a container that ended before another one got the lock":     {holder: other, pod: podB("uid-b", ended(acquired.Add(-time.Minute))), want: other},
		"a container that ended within the second of acquisition":    {holder: other, pod: podB("uid-b", ended(acquired)), want: other},
		"a pod of which one container runs":                          {holder: other, pod: podB("uid-b", ended(acquired.Add(time.Minute)), runs), want: other},
		"a pod that has just vanished":                               {holder: other, silent: 53 * time.Second, want: other},
		"a pod that has vanished, and two retry periods":             {holder: other, silent: 54 * time.Second},
		"a pod that was replaced by one of its name":                 {holder: other, pod: podB("uid-c", runs), silent: 54 * time.Second},
		"a pod that was replaced just now":                           {holder: other, pod: podB("uid-c", runs), want: other},
		"a process of a release whose identity does not tell":        {holder: "master-1_5a7e", silent: 136 * time.Second, want: "master-1_5a7e"},
		"a process that nobody knows, for as long as the lock lasts": {holder: "intruder", silent: 137 * time.Second},
		"a pod that runs and is silent for as long":                  {holder: other, pod: podB("uid-b", runs), silent: 137 * time.Second},
		"a process on this host of a release that does not either":   {holder: "master-0_5a7e", silent: 136 * time.Second, want: "master-0_5a7e"},
	} {
		t.Run(name, func(t *testing.T) {
			e := newElection(tc.holder)
			if tc.pod != nil {
				require.NoError(t, e.kube.Tracker().Add(tc.pod))
			}
			_ = e.holder(t)
			e.clock.SetTime(e.clock.Now().Add(tc.silent))
			require.Equal(t, tc.want, e.holder(t))
		})
	}
}

func TestAProcessThatRenewsTheLockKeepsItThoughItsPodHasVanished(t *testing.T) {
	e := newElection(other)
	for range 10 {
		require.Equal(t, other, e.holder(t))
		e.clock.SetTime(e.clock.Now().Add(30 * time.Second))
		e.renew(t)
	}
}

func TestALockThatWasRenewedSinceItWasReadIsNotTaken(t *testing.T) {
	e := newElection(former)
	require.Empty(t, e.holder(t))
	e.kube.PrependReactor("update", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewConflict(coordinationv1.Resource("leases"), name, errors.New("changed"))
	})
	require.True(t, apierrors.IsConflict(e.Update(t.Context(), resourcelock.LeaderElectionRecord{HolderIdentity: ours})))
}

// client-go asks again until the deadline of its renewal, 107 seconds, and acts meanwhile.
func TestAProcessThatLostTheLockEndsAtOnce(t *testing.T) {
	e := newElection(other)
	code := -1
	e.pod.Exit = func(c int) { code = c }
	require.NoError(t, e.kube.Tracker().Add(podB("uid-b", runs)))
	require.Equal(t, other, e.holder(t))
	require.Equal(t, -1, code, "it waits for the lock")
	e.leads.Store(true)
	require.Equal(t, other, e.holder(t))
	require.Equal(t, 0, code)
}

func TestAPodThatCannotBeReadProvesNothing(t *testing.T) {
	e := newElection(other)
	_ = e.holder(t)
	e.clock.SetTime(e.clock.Now().Add(136 * time.Second))
	e.kube.PrependReactor("get", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(corev1.Resource("pods"), "operator-b", nil)
	})
	require.Equal(t, other, e.holder(t))
}

// memory records what the lock passes to a process.
type memory struct {
	seen string
	err  error
}

func (m *memory) Leave(time.Time) (string, error) { return m.seen, m.err }

func (m *memory) Take(left string, _ time.Time) error { m.seen = left; return m.err }

func TestTheLockTakesTheMemoryOfAProcessToTheNextOne(t *testing.T) {
	e := newElection(ours)
	for i, seen := range []string{"first", "second", ""} {
		former, next := &memory{seen: seen}, &memory{seen: "nothing was taken"}
		e.pod.Memory = former
		require.Equal(t, ours, e.holder(t))
		require.NoError(t, e.Update(t.Context(), resourcelock.LeaderElectionRecord{LeaderTransitions: i}))
		require.Empty(t, e.holder(t), "the lock is released")
		e.pod.Memory = next
		require.NoError(t, e.Update(t.Context(), resourcelock.LeaderElectionRecord{HolderIdentity: ours}))
		e.take()
		require.Equal(t, seen, next.seen)
	}
}

// A snapshot of etcd that has it is from the seconds in which no process had the lock.
func TestWhatAProcessLeftCountsOnlyWhileNobodyHasTheLock(t *testing.T) {
	e := newElection(ours)
	e.pod.Memory = &memory{seen: "the lease of a former process"}
	require.Equal(t, ours, e.holder(t))
	require.NoError(t, e.Update(t.Context(), resourcelock.LeaderElectionRecord{}))
	require.Empty(t, e.holder(t))
	e.edit(t, func(spec *coordinationv1.LeaseSpec) { spec.HolderIdentity = ptr.To(former) })
	require.Empty(t, e.holder(t), "it has ended")
	next := &memory{seen: "nothing was taken"}
	e.pod.Memory = next
	require.NoError(t, e.Update(t.Context(), resourcelock.LeaderElectionRecord{HolderIdentity: ours}))
	e.take()
	require.Empty(t, next.seen)
}

func TestALockIsReleasedThoughItsHolderCannotLeaveWhatItHasSeen(t *testing.T) {
	e := newElection(ours)
	e.pod.Memory = &memory{err: errors.New("the disk is broken")}
	require.Equal(t, ours, e.holder(t))
	require.NoError(t, e.Update(t.Context(), resourcelock.LeaderElectionRecord{}))
	require.Empty(t, e.holder(t))
	e.take()
}

func TestALockThatAnotherProcessHoldsIsNotReleased(t *testing.T) {
	e := newElection(other)
	require.NoError(t, e.kube.Tracker().Add(podB("uid-b", runs)))
	e.pod.Memory = &memory{}
	require.EqualError(t, e.Update(t.Context(), resourcelock.LeaderElectionRecord{}), "releasing the lock: "+other+" holds it")
	require.Equal(t, other, e.holder(t))
}

// This is the reason for lock: client-go counts from its own first look, with library-go's times.
func TestWhatTheLeaderElectionWaitsByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		times := leaderelectionconfig.LeaderElectionDefaulting(configv1.LeaderElection{}, namespace, name)
		require.Equal(t, 137*time.Second, times.LeaseDuration.Duration, "that of the record")
		ctx, end := context.WithCancel(t.Context())
		start, waited := time.Now(), time.Duration(0)
		elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
			Lock:          newElection(former).Interface,
			LeaseDuration: times.LeaseDuration.Duration, RenewDeadline: times.RenewDeadline.Duration,
			RetryPeriod: times.RetryPeriod.Duration,
			Callbacks: leaderelection.LeaderCallbacks{
				OnStartedLeading: func(context.Context) { waited = time.Since(start); end() },
				OnStoppedLeading: func() {},
			},
		})
		require.NoError(t, err)
		elector.Run(ctx)
		synctest.Wait()
		require.GreaterOrEqual(t, waited, 137*time.Second)
	})
}

// client-go asks every 26 to 57 seconds. The lock may be free long before.
func TestTheLockIsTakenWhenTimeProvesTheEndOfItsHolder(t *testing.T) {
	for name, tc := range map[string]struct {
		holder string
		// duration is what the lock names.
		duration int32
		// vanishes is when the pod of the holder vanishes, and released when the holder releases the lock, 0 for never.
		vanishes, released time.Duration
		want               time.Duration
	}{
		"its pod has vanished":                        {holder: other, duration: 137, want: 55 * time.Second},
		"its pod vanishes meanwhile":                  {holder: other, duration: 137, vanishes: 30 * time.Second, want: 55 * time.Second},
		"it is released":                              {holder: other, duration: 137, vanishes: time.Hour, released: 8 * time.Second, want: 10 * time.Second},
		"a name that a person wrote, for a long time": {holder: "intruder", duration: 36000, want: 140 * time.Second},
		"a pod that vanished, for a long time":        {holder: other, duration: 36000, want: 55 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := newElection(tc.holder)
				e.lock.clock = clock.RealClock{}
				if tc.vanishes > 0 {
					require.NoError(t, e.kube.Tracker().Add(podB("uid-b", runs)))
					time.AfterFunc(tc.vanishes, func() {
						_ = e.kube.CoreV1().Pods(namespace).Delete(t.Context(), "operator-b", metav1.DeleteOptions{})
					})
				}
				e.edit(t, func(spec *coordinationv1.LeaseSpec) { spec.LeaseDurationSeconds = &tc.duration })
				if tc.released > 0 {
					time.AfterFunc(tc.released, func() {
						e.edit(t, func(spec *coordinationv1.LeaseSpec) { spec.HolderIdentity = ptr.To("") })
					})
				}
				times := leaderelectionconfig.LeaderElectionDefaulting(configv1.LeaderElection{}, namespace, name)
				ctx, end := context.WithTimeout(t.Context(), 10*time.Minute)
				defer end()
				start, waited := time.Now(), time.Duration(0)
				elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
					Lock: e.lock, LeaseDuration: times.LeaseDuration.Duration, RenewDeadline: times.RenewDeadline.Duration,
					RetryPeriod: times.RetryPeriod.Duration,
					Callbacks: leaderelection.LeaderCallbacks{
						OnStartedLeading: func(context.Context) { waited = time.Since(start); end() },
						OnStoppedLeading: func() {},
					},
				})
				require.NoError(t, err)
				elector.Run(ctx)
				synctest.Wait()
				require.Equal(t, tc.want, waited)
			})
		})
	}
}

func TestTheIdentityNamesHostPodAndProcess(t *testing.T) {
	pod := Pod{Name: "operator-a", UID: "uid-a"}
	first, err := identityOf(pod)
	require.NoError(t, err)
	second, err := identityOf(pod)
	require.NoError(t, err)
	require.NotEqual(t, first, second, "each process has its own")
	got, known := podOf(first)
	require.True(t, known)
	require.Equal(t, pod, got)

	outside, err := identityOf(Pod{Name: "operator-a"})
	require.NoError(t, err)
	require.Empty(t, outside, "library-go makes one")
}

func TestTheTimesOfTheLockFollowTheTopology(t *testing.T) {
	for name, tc := range map[string]struct {
		topology configv1.TopologyMode
		want     time.Duration
		events   int
	}{
		"several nodes":                  {topology: configv1.HighlyAvailableTopologyMode, want: 137 * time.Second},
		"a single node":                  {topology: configv1.SingleReplicaTopologyMode, want: 270 * time.Second},
		"a topology that cannot be read": {want: 137 * time.Second, events: 1},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if tc.topology == "" {
					http.NotFound(w, r)
					return
				}
				w.Header().Set("Content-Type", "application/json")
				_ = json.NewEncoder(w).Encode(&configv1.Infrastructure{
					TypeMeta: metav1.TypeMeta{APIVersion: "config.openshift.io/v1", Kind: "Infrastructure"},
					Status:   configv1.InfrastructureStatus{ControlPlaneTopology: tc.topology},
				})
			}))
			t.Cleanup(server.Close)
			recorder := events.NewInMemoryRecorder("test", clocktesting.NewFakePassiveClock(acquired))
			times := timesOf(t.Context(), &controllercmd.ControllerContext{
				KubeConfig: &rest.Config{Host: server.URL}, OperatorNamespace: namespace, EventRecorder: recorder,
			}, "operator")
			require.Equal(t, tc.want, times.LeaseDuration.Duration)
			require.Equal(t, "operator-lock", times.Name)
			require.Len(t, recorder.Events(), tc.events)
		})
	}
}

// renew writes the lock as its holder.
func (e *election) renew(t *testing.T) {
	t.Helper()
	e.edit(t, func(spec *coordinationv1.LeaseSpec) { spec.RenewTime = &metav1.MicroTime{Time: e.clock.Now()} })
}

func (e *election) edit(t *testing.T, change func(*coordinationv1.LeaseSpec)) {
	t.Helper()
	leases := e.kube.CoordinationV1().Leases(namespace)
	lease, err := leases.Get(t.Context(), name, metav1.GetOptions{})
	require.NoError(t, err)
	change(&lease.Spec)
	_, err = leases.Update(t.Context(), lease, metav1.UpdateOptions{})
	require.NoError(t, err)
}
