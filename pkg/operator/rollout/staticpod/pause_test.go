package staticpod

import (
	"context"
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
)

func TestTheControllersStartOnceSomethingIsToRun(t *testing.T) {
	for name, tc := range map[string]struct {
		observed   string
		conditions []operatorv1.OperatorCondition
		want       int
	}{
		"a cloud-controller-manager is to run": {
			observed: `{"platform":"openstack"}`, conditions: askedWith("AsExpected"), want: 1,
		},
		"nothing runs":                    {observed: `{"platform":"none"}`, conditions: askedWith("AsExpected")},
		"the platform is not known":       {observed: `{}`, conditions: askedWith("AsExpected")},
		"who runs the loops is not known": {observed: `{"platform":"openstack"}`},
		"kube-controller-manager runs them": {
			observed: `{"platform":"openstack"}`, conditions: askedWith("WaitingForKubeControllerManager"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			started := make(chan struct{}, 2)
			recorder := events.NewInMemoryRecorder("test", clocktesting.NewFakePassiveClock(time.Unix(0, 0)))
			ctx, stop := context.WithCancel(t.Context())
			s := &starter{
				Deps: dependencies.Deps{
					Operator: v1helpers.NewFakeStaticPodOperatorClient(
						&operatorv1.StaticPodOperatorSpec{OperatorSpec: operatorv1.OperatorSpec{
							ObservedConfig: runtime.RawExtension{Raw: []byte(tc.observed)},
						}},
						&operatorv1.StaticPodOperatorStatus{OperatorStatus: operatorv1.OperatorStatus{Conditions: tc.conditions}},
						nil,
						nil,
					),
				},
				controllers: func() []factory.Controller {
					return []factory.Controller{factory.New().
						WithPostStartHooks(func(context.Context, factory.SyncContext) error { started <- struct{}{}; return nil }).
						WithSync(func(context.Context, factory.SyncContext) error { return nil }).
						ToController("One", recorder)}
				},
			}
			require.NoError(t, s.sync(ctx, nil))
			require.NoError(t, s.sync(ctx, nil))
			if tc.want > 0 {
				receive(t, started, "nothing was started")
			}
			stop()
			require.NoError(t, s.wait(ctx, nil))
			require.Empty(t, started, "started once")
			require.Equal(t, tc.want > 0, s.stop != nil)
		})
	}
}

// receive waits for a controller.
func receive(t *testing.T, from <-chan struct{}, failure string) {
	t.Helper()
	select {
	case <-from:
	case <-time.After(time.Minute):
		require.FailNow(t, failure)
	}
}

func askedWith(reason string) []operatorv1.OperatorCondition {
	return []operatorv1.OperatorCondition{{Type: "TakingOver", Reason: reason}}
}

func TestTheControllersPauseDuringARemoval(t *testing.T) {
	started, ended := make(chan struct{}, 2), make(chan struct{}, 2)
	recorder := events.NewInMemoryRecorder("test", clocktesting.NewFakePassiveClock(time.Unix(0, 0)))
	removing := operatorv1.OperatorCondition{Type: "Removing", Status: "True", Reason: "RemovingStaticPods"}
	operator := func(conditions ...operatorv1.OperatorCondition) v1helpers.StaticPodOperatorClient {
		return v1helpers.NewFakeStaticPodOperatorClient(
			&operatorv1.StaticPodOperatorSpec{OperatorSpec: operatorv1.OperatorSpec{
				ObservedConfig: runtime.RawExtension{Raw: []byte(`{"platform":"openstack"}`)},
			}},
			&operatorv1.StaticPodOperatorStatus{OperatorStatus: operatorv1.OperatorStatus{Conditions: conditions}},
			nil,
			nil,
		)
	}
	s := &starter{controllers: func() []factory.Controller {
		return []factory.Controller{factory.New().
			WithPostStartHooks(func(ctx context.Context, _ factory.SyncContext) error {
				started <- struct{}{}
				<-ctx.Done()
				ended <- struct{}{}
				return nil
			}).
			WithSync(func(context.Context, factory.SyncContext) error { return nil }).
			ToController("One", recorder)}
	}}
	for range 2 {
		s.Operator = operator(askedWith("AsExpected")...)
		require.NoError(t, s.sync(t.Context(), nil))
		receive(t, started, "nothing was started")
		s.Operator = operator(removing)
		require.NoError(t, s.sync(t.Context(), nil))
		require.Len(t, ended, 1, "the sync waits for their end")
		<-ended
		require.NoError(t, s.sync(t.Context(), nil))
	}
	require.Empty(t, started)
}

// The controllers that a sync starts after the operator has begun to end would write beside the next operator.
func TestNoControllerStartsOnceTheOperatorEnds(t *testing.T) {
	recorder := events.NewInMemoryRecorder("test", clocktesting.NewFakePassiveClock(time.Unix(0, 0)))
	s := &starter{
		Deps: dependencies.Deps{
			Operator: v1helpers.NewFakeStaticPodOperatorClient(
				&operatorv1.StaticPodOperatorSpec{OperatorSpec: operatorv1.OperatorSpec{
					ObservedConfig: runtime.RawExtension{Raw: []byte(`{"platform":"openstack"}`)},
				}},
				&operatorv1.StaticPodOperatorStatus{OperatorStatus: operatorv1.OperatorStatus{Conditions: askedWith("AsExpected")}},
				nil,
				nil,
			),
		},
		controllers: func() []factory.Controller {
			return []factory.Controller{factory.New().
				WithSync(func(context.Context, factory.SyncContext) error { return nil }).
				ToController("One", recorder)}
		},
	}
	ended, end := context.WithCancel(t.Context())
	end()
	require.NoError(t, s.wait(ended, nil))
	// library-go gives a sync another context, which ends later than that of the hooks.
	require.NoError(t, s.sync(t.Context(), nil))
	require.Nil(t, s.stop, "nothing has started")

}
