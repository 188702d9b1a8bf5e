package loadbalancers

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/loadbalancer"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/apitest"
)

var now = time.Date(2026, 11, 24, 9, 0, 0, 0, time.UTC)

type change = func(*corev1.Service)

// service returns a Service without an address of the given age.
func service(name string, age time.Duration, changes ...change) *corev1.Service {
	s := &corev1.Service{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: name, UID: types.UID("uid-" + name), CreationTimestamp: metav1.NewTime(now.Add(-age)),
			Annotations: map[string]string{"big": "value"}, Finalizers: []string{loadbalancer.Finalizer, "example.com/other"},
		},
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, ClusterIP: "172.30.0.1"},
	}
	for _, c := range changes {
		c(s)
	}
	return s
}

func served(s *corev1.Service) {
	s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{Hostname: "a"}, {Hostname: "b"}}
}

func external(s *corev1.Service) {
	s.Annotations["service.beta.kubernetes.io/aws-load-balancer-type"] = "external"
}

func deleted(ago time.Duration) change {
	return func(s *corev1.Service) { s.DeletionTimestamp = ptr.To(metav1.NewTime(now.Add(-ago))) }
}

func TestWhatIsRecordedOfServices(t *testing.T) {
	web := types.NamespacedName{Namespace: "shop", Name: "web"}
	for name, tc := range map[string]struct {
		do          func(*Watch, *clocktesting.FakeClock)
		want        map[types.NamespacedName]need
		wantChanges int
	}{
		"one that was there waits since its creation, so that a restart begins no new wait": {
			do: func(w *Watch, _ *clocktesting.FakeClock) {
				_ = w.Replace([]any{service("web", time.Hour), service("fine", time.Hour, served)}, "1")
			},
			want: map[types.NamespacedName]need{web: {loadbalancer.Address, "uid-web", now.Add(-time.Hour), ""}}, wantChanges: 1,
		},
		"one from the future, by the operator's clock, waits since it was seen": {
			do: func(w *Watch, _ *clocktesting.FakeClock) {
				_ = w.Replace([]any{service("web", -time.Hour)}, "1")
			},
			want: map[types.NamespacedName]need{web: {loadbalancer.Address, "uid-web", now, ""}}, wantChanges: 1,
		},
		"one that becomes a load balancer's waits from then on": {
			do: func(w *Watch, clock *clocktesting.FakeClock) {
				_ = w.Replace(nil, "1")
				clock.Step(time.Minute)
				_ = w.Add(service("web", time.Hour))
			},
			want: map[types.NamespacedName]need{web: {loadbalancer.Address, "uid-web", now.Add(time.Minute), ""}}, wantChanges: 2,
		},
		"a repeated event changes nothing": {
			do: func(w *Watch, clock *clocktesting.FakeClock) {
				_ = w.Replace([]any{service("web", time.Hour)}, "1")
				clock.Step(time.Minute)
				_ = w.Update(service("web", time.Hour))
				_ = w.Update(service("fine", time.Hour, served))
			},
			want: map[types.NamespacedName]need{web: {loadbalancer.Address, "uid-web", now.Add(-time.Hour), ""}}, wantChanges: 1,
		},
		"one that is served is forgotten": {
			do: func(w *Watch, _ *clocktesting.FakeClock) {
				_ = w.Replace([]any{service("web", time.Hour)}, "1")
				_ = w.Update(service("web", time.Hour, served))
			},
			want: map[types.NamespacedName]need{}, wantChanges: 2,
		},
		"one that is gone, or no longer of that type, is forgotten": {
			do: func(w *Watch, _ *clocktesting.FakeClock) {
				_ = w.Replace([]any{service("web", time.Hour)}, "1")
				_ = w.Delete(service("web", time.Hour))
			},
			want: map[types.NamespacedName]need{}, wantChanges: 2,
		},
		"a deletion is another need, which begins when it is seen": {
			do: func(w *Watch, clock *clocktesting.FakeClock) {
				_ = w.Replace([]any{service("web", time.Hour)}, "1")
				clock.Step(time.Minute)
				_ = w.Update(service("web", time.Hour, deleted(0)))
			},
			want: map[types.NamespacedName]need{web: {loadbalancer.Deletion, "uid-web", now.Add(time.Minute), ""}}, wantChanges: 2,
		},
		"another Service of the same name begins a new wait": {
			do: func(w *Watch, clock *clocktesting.FakeClock) {
				_ = w.Replace([]any{service("web", time.Hour)}, "1")
				clock.Step(time.Minute)
				_ = w.Update(service("web", 0, func(s *corev1.Service) { s.UID = "other" }))
			},
			want: map[types.NamespacedName]need{web: {loadbalancer.Address, "other", now.Add(time.Minute), ""}}, wantChanges: 2,
		},
		"the annotation that hands one to another controller is recorded, also when it is added later": {
			do: func(w *Watch, _ *clocktesting.FakeClock) {
				_ = w.Replace([]any{service("web", time.Hour)}, "1")
				_ = w.Update(stripped(service("web", time.Hour, external)))
			},
			want: map[types.NamespacedName]need{
				web: {loadbalancer.Address, "uid-web", now, "service.beta.kubernetes.io/aws-load-balancer-type=external"},
			}, wantChanges: 2,
		},
		"a new list keeps what it confirms, drops the others and dates new needs from now": {
			do: func(w *Watch, clock *clocktesting.FakeClock) {
				_ = w.Replace([]any{service("web", time.Hour), service("goes", time.Hour)}, "1")
				clock.Step(time.Minute)
				_ = w.Replace([]any{service("web", time.Hour), service("comes", time.Hour)}, "2")
			},
			want: map[types.NamespacedName]need{
				web:                                {loadbalancer.Address, "uid-web", now.Add(-time.Hour), ""},
				{Namespace: "shop", Name: "comes"}: {loadbalancer.Address, "uid-comes", now.Add(time.Minute), ""},
			}, wantChanges: 2,
		},
	} {
		t.Run(name, func(t *testing.T) {
			clock := clocktesting.NewFakeClock(now)
			w := NewWatch(nil, clock)
			changes := 0
			w.onChange(func() { changes++ })
			_, _, synced := w.snapshot()
			require.False(t, synced)
			tc.do(w, clock)
			needs, more, synced := w.snapshot()
			require.True(t, synced)
			require.False(t, more)
			require.Equal(t, tc.want, needs)
			require.Equal(t, tc.wantChanges, changes)
		})
	}
}

func TestOfMoreServicesThanTheLimitTheOldestAreKept(t *testing.T) {
	w := NewWatch(nil, clocktesting.NewFakeClock(now))
	relists := 0
	w.relist = func() { relists++ }
	var all []any
	for i := range limit + 10 {
		all = append(all, service(fmt.Sprint(i), time.Duration(i)*time.Second))
	}
	require.NoError(t, w.Replace(all, "1"))
	needs, more, _ := w.snapshot()
	require.Len(t, needs, limit)
	require.True(t, more)
	require.NotContains(t, needs, types.NamespacedName{Namespace: "shop", Name: "9"})
	require.NoError(t, w.Add(service("new", 0)))
	needs, _, _ = w.snapshot()
	require.Len(t, needs, limit)
	require.Zero(t, relists)

	// Once half of them are gone, a new list knows the others again, since when they wait.
	for _, obj := range all[limit/2+10:] {
		require.NoError(t, w.Delete(obj))
	}
	require.Equal(t, 1, relists)
	require.NoError(t, w.Replace(all[:3], "2"))
	needs, more, _ = w.snapshot()
	require.False(t, more)
	require.Equal(t, need{loadbalancer.Address, "uid-2", now.Add(-2 * time.Second), ""}, needs[types.NamespacedName{Namespace: "shop", Name: "2"}])
	require.Len(t, needs, 3)
}

func TestTheWatchAsksForLoadBalancersOnlyAndListsAgainWhenItIsTold(t *testing.T) {
	server := apitest.Start(t)
	// The server in memory has no collection of all namespaces.
	anywhere := func(s *corev1.Service) { s.Namespace = "" }
	server.Set(t, service("web", time.Hour, anywhere), service("fine", time.Hour, anywhere, served),
		service("internal", time.Hour, anywhere, func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeClusterIP }))
	kube, err := kubernetes.NewForConfig(server.Config)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w := NewWatch(kube.CoreV1(), clocktesting.NewFakeClock(now))
	changed := make(chan struct{}, 10)
	w.onChange(func() { changed <- struct{}{} })
	w.Start(ctx.Done())
	w.Start(ctx.Done())
	await := func() {
		select {
		case <-changed:
		case <-time.After(time.Minute):
			require.FailNow(t, "nothing changed")
		}
	}
	await()
	needs, _, _ := w.snapshot()
	require.Equal(t, map[types.NamespacedName]need{
		{Name: "web"}: {loadbalancer.Address, "uid-web", needs[types.NamespacedName{Name: "web"}].since, ""},
	}, needs)
	require.True(t, now.Add(-time.Hour).Equal(needs[types.NamespacedName{Name: "web"}].since))
	w.lock.Lock()
	w.relist()
	w.lock.Unlock()
	await()
	requests := slices.DeleteFunc(server.Requests(), func(r apitest.Request) bool { return !r.Watch })
	require.Len(t, requests, 2)
	for _, r := range requests {
		require.Equal(t, "/api/v1/services", r.Path)
		require.Equal(t, "spec.type=LoadBalancer", r.Fields)
	}
}

func TestNothingIsKeptOfAServiceThatIsNotRead(t *testing.T) {
	kept := stripped(service("web", time.Hour, served, deleted(time.Minute), func(s *corev1.Service) {
		s.Spec.LoadBalancerClass = ptr.To("x")
	}))
	require.Equal(t, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "web", UID: "uid-web", CreationTimestamp: metav1.NewTime(now.Add(-time.Hour)),
			DeletionTimestamp: ptr.To(metav1.NewTime(now.Add(-time.Minute))), Finalizers: []string{loadbalancer.Finalizer},
		},
		Spec:   corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, LoadBalancerClass: ptr.To("x")},
		Status: corev1.ServiceStatus{LoadBalancer: corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{{}}}},
	}, kept)
}
