package controllertest

import (
	"maps"
	"slices"
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
)

// syncLimit is how long a sync may take to follow an event.
const syncLimit = time.Minute

// Watched runs a controller on a platform where nothing is to run: each of its syncs then only asks for that.
type Watched struct{ syncs chan struct{} }

// Operator returns the client for the controller.
func (w *Watched) Operator() v1helpers.StaticPodOperatorClient {
	w.syncs = make(chan struct{}, 100)
	return watchedClient{w, v1helpers.NewFakeStaticPodOperatorClient(
		&operatorv1.StaticPodOperatorSpec{OperatorSpec: operatorv1.OperatorSpec{
			ObservedConfig: runtime.RawExtension{Raw: []byte(`{"platform":"none"}`)},
		}}, &operatorv1.StaticPodOperatorStatus{}, nil, nil)}
}

// Run runs the controller until the test ends. Its informers have started, and must have no object yet. watches are the
// fake clients and the number of their informers: a fake client loses what happens before a watch begins.
func (w *Watched) Run(t *testing.T, controller factory.Controller, watches map[*clienttesting.Fake]int) {
	t.Helper()
	for client, want := range watches {
		require.Eventually(t, func() bool {
			watched := map[string]bool{}
			for _, action := range client.Actions() {
				watched[action.GetResource().Resource] = watched[action.GetResource().Resource] || action.GetVerb() == "watch"
			}
			return len(watched) == want && !slices.Contains(slices.Collect(maps.Values(watched)), false)
		}, syncLimit, time.Millisecond)
	}
	go controller.Run(t.Context(), 1)
}

// Expect causes an event and requires that the controller is called.
func (w *Watched) Expect(t *testing.T, event string, do func() error) {
	t.Helper()
	require.Empty(t, w.syncs, "before %s", event)
	require.NoError(t, do(), event)
	select {
	case <-w.syncs:
	case <-time.After(syncLimit):
		require.Fail(t, "the controller was not called", event)
	}
}

type watchedClient struct {
	*Watched
	v1helpers.StaticPodOperatorClient
}

// GetOperatorState implements v1helpers.OperatorClient.
func (c watchedClient) GetOperatorState() (*operatorv1.OperatorSpec, *operatorv1.OperatorStatus, string, error) {
	c.syncs <- struct{}{}
	return c.StaticPodOperatorClient.GetOperatorState()
}
