package nodeinitialization

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
)

var now = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

// node returns a node of the given age with the given taints.
func node(name string, age time.Duration, taints ...string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: name, CreationTimestamp: metav1.NewTime(now.Add(-age)), ResourceVersion: "7",
		Labels: map[string]string{"kubernetes.io/os": "linux"},
	}}
	for _, key := range taints {
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key, Value: "true", Effect: corev1.TaintEffectNoSchedule})
	}
	return n
}

const uninit = "node.cloudprovider.kubernetes.io/uninitialized"

func newStore(clock *clocktesting.FakeClock) (*store, *int) {
	changes := 0
	return &store{clock: clock, waiting: map[string]wait{}, wrong: map[string]drift{}, changed: func() { changes++ }}, &changes
}

func TestStore(t *testing.T) {
	for name, tc := range map[string]struct {
		do          func(*store, *clocktesting.FakeClock)
		want        map[string]wait
		wantChanges int
	}{
		"a node that was there waits since its creation, so that a restart begins no new wait": {
			do: func(s *store, _ *clocktesting.FakeClock) {
				_ = s.Replace([]any{node("old", time.Hour, uninit), node("fine", time.Hour)}, "1")
			},
			want: map[string]wait{"old": {since: now.Add(-time.Hour)}}, wantChanges: 1,
		},
		"a node from the future, by the operator's clock, waits since it was seen": {
			do: func(s *store, _ *clocktesting.FakeClock) {
				_ = s.Replace([]any{node("new", -time.Hour, uninit)}, "1")
			},
			want: map[string]wait{"new": {since: now}}, wantChanges: 1,
		},
		"a node that gets the taint later waits from then on": {
			do: func(s *store, clock *clocktesting.FakeClock) {
				_ = s.Replace(nil, "1")
				clock.Step(time.Minute)
				_ = s.Update(node("old", time.Hour, uninit))
			},
			want: map[string]wait{"old": {since: now.Add(time.Minute)}}, wantChanges: 2,
		},
		"a heartbeat of a waiting node changes nothing": {
			do: func(s *store, clock *clocktesting.FakeClock) {
				_ = s.Replace([]any{node("old", time.Hour, uninit)}, "1")
				clock.Step(time.Minute)
				_ = s.Update(node("old", time.Hour, uninit))
			},
			want: map[string]wait{"old": {since: now.Add(-time.Hour)}}, wantChanges: 1,
		},
		"an initialized node is forgotten": {
			do: func(s *store, _ *clocktesting.FakeClock) {
				_ = s.Replace(nil, "1")
				_ = s.Add(node("new", 0, uninit))
				_ = s.Update(node("new", 0))
			},
			want: map[string]wait{}, wantChanges: 3,
		},
		"a deleted node is forgotten": {
			do: func(s *store, _ *clocktesting.FakeClock) {
				_ = s.Replace([]any{node("old", time.Hour, uninit)}, "1")
				_ = s.Delete(node("old", time.Hour, uninit))
			},
			want: map[string]wait{}, wantChanges: 2,
		},
		"the taints of others are not ours": {
			do: func(s *store, _ *clocktesting.FakeClock) {
				_ = s.Replace([]any{node("busy", time.Hour, "node.kubernetes.io/not-ready")}, "1")
				_ = s.Update(node("new", 0, "node-role.kubernetes.io/master"))
			},
			want: map[string]wait{}, wantChanges: 1,
		},
		"a question of node deletion about an initialized node, as an operator that was killed leaves it": {
			do: func(s *store, _ *clocktesting.FakeClock) {
				asked := node("old", time.Hour, uninit)
				asked.Spec.Taints[0].Effect = corev1.TaintEffectPreferNoSchedule
				_ = s.Replace([]any{asked}, "1")
				_ = s.Update(asked)
			},
			want: map[string]wait{}, wantChanges: 1,
		},
		"a new list keeps the waits that it confirms, drops the others and dates new ones from now": {
			do: func(s *store, clock *clocktesting.FakeClock) {
				_ = s.Replace([]any{node("stays", time.Hour, uninit), node("goes", time.Hour, uninit)}, "1")
				clock.Step(time.Minute)
				_ = s.Replace([]any{node("stays", time.Hour, uninit), node("comes", time.Hour, uninit)}, "2")
			},
			want: map[string]wait{"stays": {since: now.Add(-time.Hour)}, "comes": {since: now.Add(time.Minute)}}, wantChanges: 2,
		},
	} {
		t.Run(name, func(t *testing.T) {
			clock := clocktesting.NewFakeClock(now)
			s, changes := newStore(clock)
			_, _, synced := s.snapshot()
			require.False(t, synced)
			tc.do(s, clock)
			waiting, _, synced := s.snapshot()
			require.True(t, synced)
			require.Equal(t, ofThemselves(tc.want), waiting)
			require.Equal(t, tc.wantChanges, *changes)
		})
	}
}

// pagedNodes is an API without streaming lists. It lists in pages; then the test sends events.
type pagedNodes struct {
	corev1client.NodeInterface
	pages  [][]corev1.Node
	limits chan int64
	events *watch.FakeWatcher
}

// IsWatchListSemanticsUnSupported implements the reflector's check for streaming lists.
func (p *pagedNodes) IsWatchListSemanticsUnSupported() bool { return true }

func (p *pagedNodes) List(_ context.Context, options metav1.ListOptions) (*corev1.NodeList, error) {
	if options.ResourceVersion != "" {
		return nil, fmt.Errorf("listing at %q is not paged", options.ResourceVersion)
	}
	page := 0
	if options.Continue != "" {
		page = 1
	}
	p.limits <- options.Limit
	list := &corev1.NodeList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}, Items: p.pages[page]}
	if page == 0 {
		list.Continue = "more"
	}
	return list, nil
}

func (p *pagedNodes) Watch(context.Context, metav1.ListOptions) (watch.Interface, error) {
	return p.events, nil
}

// ofThemselves returns the waits with the names of their nodes.
func ofThemselves(waiting map[string]wait) map[string]wait {
	for node, w := range waiting {
		w.machine.Node = node
		waiting[node] = w
	}
	return waiting
}

func TestTheReflectorFillsTheStore(t *testing.T) {
	nodes := &pagedNodes{
		pages:  [][]corev1.Node{{*node("a", 0), *node("b", time.Hour, uninit)}, {*node("c", time.Hour, uninit), *node("d", 0)}},
		limits: make(chan int64, 2),
		events: watch.NewFake(),
	}
	changed := make(chan struct{}, 10)
	s := &store{clock: clocktesting.NewFakeClock(now), waiting: map[string]wait{}, wrong: map[string]drift{}, changed: func() { changed <- struct{}{} }}
	go newReflector(nodes, s).RunWithContext(t.Context())
	awaitChange := func() {
		select {
		case <-changed:
		case <-time.After(time.Minute):
			require.FailNow(t, "the store did not change")
		}
	}

	awaitChange()
	waiting, _, synced := s.snapshot()
	require.True(t, synced)
	require.Equal(t, ofThemselves(map[string]wait{"b": {since: now.Add(-time.Hour)}, "c": {since: now.Add(-time.Hour)}}), waiting)
	require.Equal(t, int64(10), <-nodes.limits)
	require.Equal(t, int64(10), <-nodes.limits)

	nodes.events.Add(node("a", 0))
	nodes.events.Modify(node("b", time.Hour))
	awaitChange()
	nodes.events.Delete(node("c", time.Hour, uninit))
	awaitChange()
	nodes.events.Add(node("e", 0, uninit))
	awaitChange()
	waiting, _, _ = s.snapshot()
	require.Equal(t, ofThemselves(map[string]wait{"e": {since: now}}), waiting)
}

// advice is what to do about a cause that is not known: the log cannot be read.
const advice = "; read the log of the pod in openshift-cloud-controller-manager that holds the lease cloud-controller-manager, " +
	"and check that the cloud has an instance with the node's name and with the node's addresses, that its API is reachable from the control plane, " +
	"and that the credentials may read instances and their networks"

var (
	notDegraded = operatorv1.OperatorCondition{Type: "NodeInitializationDegraded", Status: "False", Reason: "AsExpected"}
	noNotices   = operatorv1.OperatorCondition{Type: "NodeInitializationNotices", Status: "False", Reason: "AsExpected"}
)

func TestSync(t *testing.T) {
	for name, tc := range map[string]struct {
		observed string
		waiting  map[string]wait
		unsynced bool
		want     []operatorv1.OperatorCondition
	}{
		"without a waiting node all is well": {
			want: []operatorv1.OperatorCondition{notDegraded, noNotices},
		},
		"a node may wait for half a minute": {
			waiting: map[string]wait{"a": {since: now.Add(-30*time.Second + time.Second)}},
			want:    []operatorv1.OperatorCondition{notDegraded, noNotices},
		},
		"for another four and a half it is named without harm": {
			waiting: map[string]wait{"a": {since: now.Add(-5*time.Minute + time.Second)}, "b": {since: now.Add(-30 * time.Second)}},
			want: []operatorv1.OperatorCondition{notDegraded, {
				Type: "NodeInitializationNotices", Status: "True", Reason: "NodesWaiting",
				Message: "not initialized by the cloud-controller-manager: node/a (since 2026-11-21T08:55:01Z), node/b (since 2026-11-21T08:59:30Z)" + advice,
			}},
		},
		"one that has waited for five minutes is named, the longest first": {
			waiting: map[string]wait{"a": {since: now.Add(-5 * time.Minute)}, "b": {since: now.Add(-time.Second)}, "c": {since: now.Add(-time.Hour)}},
			want: []operatorv1.OperatorCondition{{
				Type: "NodeInitializationDegraded", Status: "True", Reason: "NodesUninitialized",
				Message: "not initialized by the cloud-controller-manager: node/c (since 2026-11-21T08:00:00Z), node/a (since 2026-11-21T08:55:00Z)" + advice,
			}, noNotices},
		},
		"of many, five are named": {
			waiting: map[string]wait{
				"a": {since: now.Add(-time.Hour)}, "b": {since: now.Add(-time.Hour)}, "c": {since: now.Add(-time.Hour)}, "d": {since: now.Add(-time.Hour)},
				"e": {since: now.Add(-time.Hour)}, "f": {since: now.Add(-time.Hour)}, "g": {since: now.Add(-time.Hour)},
			},
			want: []operatorv1.OperatorCondition{{
				Type: "NodeInitializationDegraded", Status: "True", Reason: "NodesUninitialized",
				Message: "not initialized by the cloud-controller-manager: node/a (since 2026-11-21T08:00:00Z), node/b (since 2026-11-21T08:00:00Z), " +
					"node/c (since 2026-11-21T08:00:00Z), node/d (since 2026-11-21T08:00:00Z), node/e (since 2026-11-21T08:00:00Z) and 2 more" + advice,
			}, noNotices},
		},
		"where there is a node manager, it is the one to look at": {
			observed: `{"platform":"azure"}`,
			waiting:  map[string]wait{"a": {since: now.Add(-time.Hour)}},
			want: []operatorv1.OperatorCondition{{
				Type: "NodeInitializationDegraded", Status: "True", Reason: "NodesUninitialized",
				Message: "not initialized by the cloud-node-manager: node/a (since 2026-11-21T08:00:00Z); " +
					"read the log of the pod of daemonset/azure-cloud-node-manager in openshift-cloud-controller-manager on that node, " +
					"and check that the cloud has an instance with the node's name and with the node's addresses, that its API is reachable from the node, " +
					"and that the credentials may read instances and their networks",
			}, noNotices},
		},
		"before all nodes were seen nothing is said": {unsynced: true},
		"on a platform that runs nothing, nothing":   {observed: `{"platform":"none"}`, waiting: map[string]wait{"a": {since: now.Add(-time.Hour)}}},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.observed == "" {
				tc.observed = `{"platform":"openstack"}`
			}
			c := start(t, tc.observed)
			c.status = http.StatusInternalServerError
			c.controller.store.synced = !tc.unsynced
			if tc.waiting != nil {
				c.controller.store.waiting = tc.waiting
			}
			c.sync(t)
			_, status, _, err := c.operator.GetOperatorState()
			require.NoError(t, err)
			require.Equal(t, tc.want, status.Conditions)
		})
	}
}

func TestTheTimerIsSetForTheNextNode(t *testing.T) {
	c := &controller{
		Deps: dependencies.Deps{Clock: clocktesting.NewFakePassiveClock(now)}, Options: Options{Threshold: defaultThreshold},
	}
	overdue, late, next := c.split(map[string]wait{
		"a": {since: now.Add(-time.Hour)}, "b": {since: now.Add(-4 * time.Minute)}, "c": {since: now.Add(-time.Minute)},
	})
	require.Equal(t, []string{"a"}, overdue)
	require.Equal(t, []string{"b", "c"}, late)
	require.Equal(t, time.Minute, next)
	_, late, next = c.split(map[string]wait{"b": {since: now.Add(-4 * time.Minute)}, "c": {since: now.Add(-10 * time.Second)}})
	require.Equal(t, []string{"b"}, late)
	require.Equal(t, 20*time.Second, next)
	_, _, next = c.split(map[string]wait{"a": {since: now.Add(-time.Hour)}})
	require.Zero(t, next)
}
