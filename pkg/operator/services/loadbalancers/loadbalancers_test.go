package loadbalancers

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/controllertest"
)

// cluster has Services, and an API that has Events.
type cluster struct {
	clock    *clocktesting.FakeClock
	operator v1helpers.OperatorClient
	watch    *Watch
	sync     factory.SyncFunc
	recorder events.Recorder
	// events are what the API answers by the name of the Service, err its error.
	events map[string][]corev1.Event
	err    error
	// reads are the selectors of the lists of Events, and unlimited counts those without a time limit.
	reads     []string
	unlimited int
}

func start(t *testing.T, platform string) *cluster {
	t.Helper()
	c := &cluster{clock: clocktesting.NewFakeClock(now), events: map[string][]corev1.Event{}}
	c.recorder = events.NewInMemoryRecorder("test", c.clock)
	c.operator = v1helpers.NewFakeOperatorClient(&operatorv1.OperatorSpec{
		ObservedConfig: runtime.RawExtension{Raw: fmt.Appendf(nil, `{"platform":%q}`, platform)},
	}, &operatorv1.OperatorStatus{}, nil)
	c.watch = NewWatch(nil, c.clock)
	c.sync = New(
		controllertest.Complete(t, dependencies.Deps{
			Operator: controllertest.StaticPods(c.operator), Clock: c.clock, Recorder: c.recorder,
		}),
		c.watch, c.read,
		func(text string) (string, error) { return strings.ReplaceAll(text, "hunter2", "<redacted>"), nil },
	).Sync
	return c
}

// read implements Events.
func (c *cluster) read(ctx context.Context, namespace string, options metav1.ListOptions, item func(*corev1.Event)) error {
	if _, limited := ctx.Deadline(); !limited {
		c.unlimited++
	}
	c.reads = append(c.reads, namespace+" "+options.FieldSelector)
	selected, err := fields.ParseSelector(options.FieldSelector)
	if err != nil {
		return err
	}
	name, _ := selected.RequiresExactMatch("involvedObject.name")
	for i := range c.events[name] {
		item(c.events[name][i].DeepCopy())
	}
	return c.err
}

// warn makes the service controller report an error about the Service web, some time ago.
func (c *cluster) warn(message string, ago time.Duration) {
	c.events["web"] = append(c.events["web"], corev1.Event{
		InvolvedObject: corev1.ObjectReference{Kind: "Service", Name: "web", UID: "uid-web"},
		Source:         corev1.EventSource{Component: "service-controller"}, Type: corev1.EventTypeWarning,
		Reason: "SyncLoadBalancerFailed", Message: "Error syncing load balancer: " + message,
		LastTimestamp: metav1.NewTime(c.clock.Now().Add(-ago)),
	})
}

// notice returns the condition after a sync, "" while there is none.
func (c *cluster) notice(t *testing.T) string {
	t.Helper()
	require.NoError(t, c.sync(t.Context(), factory.NewSyncContext("test", c.recorder)))
	return c.written(t)
}

func (c *cluster) written(t *testing.T) string {
	t.Helper()
	_, status, _, err := c.operator.GetOperatorState()
	require.NoError(t, err)
	condition := v1helpers.FindOperatorCondition(status.Conditions, NoticesCondition)
	if condition == nil {
		return ""
	}
	return strings.TrimSpace(fmt.Sprintf("%s %s %s", condition.Status, condition.Reason, condition.Message))
}

const (
	isWell = "False AsExpected"
	waits  = "True ServicesWaiting Services of type LoadBalancer that wait for the cloud-controller-manager: "
	action = "; the quotes are Events, which tenants can write, too: compare them with the leader's log, and correct what they name; where there is none, check that a cloud-controller-manager leads, and that the cloud configuration enables load balancers"
)

func TestServicesThatWaitAreReported(t *testing.T) {
	many := func(count int) (services []any) {
		for i := range count {
			services = append(services, service(fmt.Sprintf("s%d", i), time.Hour-time.Duration(i)*time.Second))
		}
		return services
	}
	const three = "service/s0 in shop (without an address since 2026-11-24T08:00:00Z), " +
		"service/s1 in shop (without an address since 2026-11-24T08:00:01Z), service/s2 in shop (without an address since 2026-11-24T08:00:02Z), and others"
	for name, tc := range map[string]struct {
		platform string
		services []any
		unsynced bool
		change   func(*cluster)
		want     string
	}{
		"all are served":                                 {services: []any{service("web", time.Hour, served)}, want: isWell},
		"one may wait for two minutes":                   {services: []any{service("web", 2*time.Minute-time.Second)}, want: isWell},
		"before all Services were seen nothing is said":  {unsynced: true},
		"where the CCM makes no load balancers, neither": {platform: "vsphere", services: []any{service("web", time.Hour)}},
		"on a platform that runs nothing, neither":       {platform: "none", services: []any{service("web", time.Hour)}},
		"one whose annotation hands it to another controller is that one's": {
			platform: "aws", services: []any{service("web", time.Hour, external)}, want: isWell,
		},
		"the annotation of another cloud does not": {
			services: []any{service("web", time.Hour, external)},
			want:     waits + "1: service/web in shop (without an address since 2026-11-24T08:00:00Z)" + action,
		},
		"an internal one on Google Cloud is the CCM's, in spite of the annotation": {
			platform: "gcp", services: []any{service("web", time.Hour, func(s *corev1.Service) {
				s.Annotations["cloud.google.com/l4-rbs"], s.Annotations["networking.gke.io/load-balancer-type"] = "enabled", "Internal"
			})},
			want: waits + "1: service/web in shop (without an address since 2026-11-24T08:00:00Z)" + action,
		},
		"an external one is another controller's": {
			platform: "gcp", services: []any{service("web", time.Hour, func(s *corev1.Service) { s.Annotations["cloud.google.com/l4-rbs"] = "enabled" })},
			want: isWell,
		},
		"the deletion of a handed one is the CCM's, which added the finalizer": {
			platform: "aws", services: []any{service("web", time.Hour, external, deleted(time.Minute*10))},
			want: waits + "1: service/web in shop (its load balancer not deleted since 2026-11-24T08:50:00Z)" + action,
		},
		"one that has waited for two minutes is named": {
			services: []any{service("web", 2*time.Minute)},
			want:     waits + "1: service/web in shop (without an address since 2026-11-24T08:58:00Z)" + action,
		},
		"the CCM's own last words are quoted, without secrets": {
			services: []any{service("web", 2*time.Minute)},
			change: func(c *cluster) {
				c.warn("failed to ensure load balancer: quota exceeded", time.Minute)
				c.warn("failed to ensure load balancer: password hunter2 rejected", time.Second)
				c.warn("failed to ensure load balancer: older", 2*time.Minute)
			},
			want: waits + "1: service/web in shop (without an address since 2026-11-24T08:58:00Z; " +
				`"SyncLoadBalancerFailed: Error syncing load balancer: failed to ensure load balancer: password <redacted> rejected")` + action,
		},
		"with an error of the CCM half a minute suffices": {
			services: []any{service("web", 30*time.Second), service("db", 30*time.Second)},
			change:   func(c *cluster) { c.warn("quota exceeded", 0) },
			want: waits + "1: service/web in shop (without an address since 2026-11-24T08:59:30Z; " +
				`"SyncLoadBalancerFailed: Error syncing load balancer: quota exceeded")` + action,
		},
		"what failed before the deletion is not why it lasts": {
			services: []any{service("web", time.Hour, served, deleted(3*time.Minute))},
			change:   func(c *cluster) { c.warn("quota exceeded", 4*time.Minute) },
			want:     waits + "1: service/web in shop (its load balancer not deleted since 2026-11-24T08:57:00Z)" + action,
		},
		"a load balancer that is not deleted": {
			services: []any{service("web", time.Hour, served, deleted(3*time.Minute)), service("new", time.Hour, served, deleted(time.Second))},
			want:     waits + "1: service/web in shop (its load balancer not deleted since 2026-11-24T08:57:00Z)" + action,
		},
		"three are all of them":               {services: many(3), want: waits + "3: " + strings.TrimSuffix(three, ", and others") + action},
		"of many, the three oldest are named": {services: many(7), want: waits + "7: " + three + action},
		"of more than are kept, the number is a minimum": {
			services: many(limit + 1), want: waits + "at least 1000: " + three + action,
		},
		"without its Events the Service is named": {
			services: []any{service("web", time.Hour)},
			change:   func(c *cluster) { c.err = errors.New("not today") },
			want:     waits + "1: service/web in shop (without an address since 2026-11-24T08:00:00Z)" + action,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.platform == "" {
				tc.platform = "openstack"
			}
			c := start(t, tc.platform)
			if !tc.unsynced {
				require.NoError(t, c.watch.Replace(tc.services, "1"))
			}
			if tc.change != nil {
				tc.change(c)
			}
			require.Equal(t, tc.want, c.notice(t))
		})
	}
}

func TestEventsAreReadSparinglyAndOnlyWhileAServiceWaits(t *testing.T) {
	c := start(t, "openstack")
	require.NoError(t, c.watch.Replace([]any{service("fine", time.Hour, served), service("new", 29*time.Second)}, "1"))
	require.Equal(t, isWell, c.notice(t))
	require.Empty(t, c.reads)

	var all []any
	for i := range 10 {
		all = append(all, service(fmt.Sprintf("s%d", i), time.Hour))
	}
	require.NoError(t, c.watch.Replace(all, "2"))
	c.clock.Step(29 * time.Second)
	c.notice(t)
	require.Empty(t, c.reads)
	c.clock.Step(time.Second)
	c.notice(t)
	c.notice(t)
	of := func(name string) string {
		return "shop involvedObject.kind=Service,involvedObject.name=" + name + ",involvedObject.uid=uid-" + name + ",source=service-controller,type=Warning"
	}
	require.Equal(t, []string{of("s0"), of("s1"), of("s2")}, c.reads)
	c.clock.Step(eventInterval)
	c.notice(t)
	require.Len(t, c.reads, 6)
}

func TestAnErrorThatDiffersOnlyByAnIDDoesNotChangeTheNotice(t *testing.T) {
	c := start(t, "openstack")
	require.NoError(t, c.watch.Replace([]any{service("web", time.Hour)}, "1"))
	c.warn("request req-8c5f0e1b-7a64 took 12 s", time.Minute)
	first := c.notice(t)
	require.Contains(t, first, "took 12 s")
	c.clock.Step(eventInterval)
	c.warn("request req-11111111-2222 took 13 s", 0)
	require.Equal(t, first, c.notice(t))
	c.clock.Step(eventInterval)
	c.warn("the quota is exhausted", 0)
	require.Contains(t, c.notice(t), "the quota is exhausted")
	// The Events expire after hours.
	c.clock.Step(eventInterval)
	c.events = nil
	require.Contains(t, c.notice(t), "the quota is exhausted")
}

func TestAServiceThatWasReplacedHasNoErrorOfTheFormerOne(t *testing.T) {
	c := start(t, "openstack")
	require.NoError(t, c.watch.Replace([]any{service("web", time.Hour)}, "1"))
	c.warn("the quota is exhausted", time.Minute)
	require.Contains(t, c.notice(t), "the quota is exhausted")
	require.Contains(t, c.notice(t), "the quota is exhausted")
	require.Len(t, c.reads, 1)
	c.events = nil
	replaced := service("web", time.Hour)
	replaced.UID = "another"
	require.NoError(t, c.watch.Replace([]any{replaced}, "2"))
	c.clock.Step(30 * time.Second)
	require.NotContains(t, c.notice(t), "the quota is exhausted")
	require.Len(t, c.reads, 2)
}

func TestANoticeEndsWhenTheServiceIsServed(t *testing.T) {
	c := start(t, "openstack")
	require.NoError(t, c.watch.Replace([]any{service("web", time.Hour)}, "1"))
	require.Contains(t, c.notice(t), "service/web")
	require.NoError(t, c.watch.Update(service("web", time.Hour, served)))
	require.Equal(t, isWell, c.notice(t))
}

func TestItComesBackByItselfWhileAServiceWaits(t *testing.T) {
	for name, tc := range map[string]struct {
		service any
		// seconds are when it looks within two minutes.
		seconds []int
		want    string
	}{
		"one that is served":              {service("web", time.Hour, served), []int{0}, isWell},
		"one that has just begun to wait": {service("web", 10*time.Second), []int{0, 20, 50, 80, 110}, waits + "1: service/web in shop (without an address since 2026-11-24T08:59:50Z)" + action},
		"one that is soon to be named":    {service("web", 100*time.Second), []int{0, 20, 50, 80, 110}, waits + "1: service/web in shop (without an address since 2026-11-24T08:58:20Z)" + action},
	} {
		t.Run(name, func(t *testing.T) {
			c := start(t, "openstack")
			require.NoError(t, c.watch.Replace([]any{tc.service}, "1"))
			calls, err := controllertest.NewTimer(c.clock, c.recorder).Run(t.Context(), c.sync, 2*time.Minute)
			require.NoError(t, err)
			var seconds []int
			for _, call := range calls {
				seconds = append(seconds, int(call/time.Second))
			}
			require.Equal(t, tc.seconds, seconds)
			require.Equal(t, tc.want, c.written(t))
		})
	}
}

// A tenant can write an Event of any length.
func TestOneEventCannotFillTheStatus(t *testing.T) {
	c := start(t, "openstack")
	require.NoError(t, c.watch.Replace([]any{service("web", time.Hour)}, "1"))
	c.warn(strings.Repeat("9", 1<<20), time.Second)
	text := c.notice(t)
	require.Contains(t, text, "999…999")
	require.Less(t, len(text), 2<<10)
}

// An API server that answers late would delay the condition by half an hour: three Services with ten pages of Events.
func TestTheConditionDoesNotWaitForEventsForLong(t *testing.T) {
	c := start(t, "openstack")
	require.NoError(t, c.watch.Replace([]any{service("web", time.Hour)}, "1"))
	require.Contains(t, c.notice(t), "service/web")
	require.NotEmpty(t, c.reads)
	require.Zero(t, c.unlimited)
}
