package nodeinitialization

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/openshift/library-go/pkg/operator/v1helpers"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
)

// emitted returns the Events that were written about nodes since the last call, in their order.
func (c *cluster) emitted(t *testing.T) []string {
	t.Helper()
	var events []string
	for _, action := range c.events.Actions() {
		created, ok := action.(clienttesting.CreateAction)
		require.True(t, ok)
		event := created.GetObject().(*corev1.Event)
		require.Equal(t, "default", created.GetNamespace())
		require.Equal(t, corev1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: event.InvolvedObject.Name, UID: event.InvolvedObject.UID}, event.InvolvedObject)
		require.Equal(t, event.InvolvedObject.Name, string(event.InvolvedObject.UID))
		require.Equal(t, metav1.NewTime(c.clock.Now()), event.LastTimestamp)
		events = append(events, fmt.Sprintf("%s %s %s: %s", event.InvolvedObject.Name, event.Type, event.Reason, event.Message))
	}
	c.events.ClearActions()
	return events
}

func TestANodeThatWaitsHasAnEventForEachCauseOnce(t *testing.T) {
	const (
		down = "a Warning NodeNotInitialized: not initialized by the cloud-controller-manager: the cloud's API answers with a server error " +
			`("got 503 instead"); check the state of the cloud's API`
		rejected = "a Warning NodeNotInitialized: not initialized by the cloud-controller-manager: the cloud rejects the credentials " +
			`("got 401 instead: {}"); replace the credentials`
	)
	c := start(t, `{"platform":"openstack"}`)
	c.wait("a")
	c.log = attempt("a", "got 503 instead")
	c.sync(t)
	require.Equal(t, []string{down}, c.emitted(t))
	for _, log := range []string{attempt("a", "got 503 instead"), attempt("a", "got 503 instead: again")} {
		c.pass(t, logInterval)
		c.logs(log)
		c.sync(t)
		require.Empty(t, c.emitted(t), "a repetition")
	}
	c.pass(t, logInterval)
	c.logs(attempt("a", "got 401 instead: {}"))
	c.sync(t)
	require.Equal(t, []string{rejected}, c.emitted(t))
	c.pass(t, logInterval)
	c.logs(attempt("a", "got 503 instead"))
	c.sync(t)
	require.Empty(t, c.emitted(t), "it has an Event for that")

	waits := c.controller.store.waiting["a"]
	delete(c.controller.store.waiting, "a")
	c.sync(t)
	c.controller.store.waiting["a"] = waits
	c.pass(t, logInterval)
	c.sync(t)
	require.Equal(t, []string{down}, c.emitted(t), "another wait")
}

func TestANodeWhoseCauseIsNotKnownHasNoEvent(t *testing.T) {
	c := start(t, `{"platform":"openstack"}`)
	c.wait("a")
	c.status = 500
	c.sync(t)
	require.Empty(t, c.emitted(t))
}

func TestWhereACloudNodeManagerInitializesNodesTheyHaveNoEvent(t *testing.T) {
	c := start(t, `{"platform":"azure"}`)
	c.wait("a")
	c.log = attempt("a", "got 503 instead")
	c.sync(t)
	require.Empty(t, c.emitted(t))
}

func TestOfManyNodesTenHaveTheirEventAtATime(t *testing.T) {
	c := start(t, `{"platform":"openstack"}`)
	for i := range 25 {
		c.wait(fmt.Sprintf("n%02d", i))
		c.log += attempt(fmt.Sprintf("n%02d", i), "got 503 instead")
	}
	for _, want := range []int{10, 10, 5, 0} {
		c.sync(t)
		require.Len(t, c.emitted(t), want)
		c.pass(t, logInterval)
	}
}

func TestAnEventThatCannotBeWrittenIsTriedAgain(t *testing.T) {
	c := start(t, `{"platform":"openstack"}`)
	refuse := true
	c.events.PrependReactor("create", "events", func(clienttesting.Action) (bool, runtime.Object, error) {
		return refuse, nil, errors.New("not today")
	})
	c.wait("a")
	c.log = attempt("a", "got 503 instead")
	require.Contains(t, c.notice(t), "node/a")
	require.Len(t, c.emitted(t), 1)
	refuse = false
	c.pass(t, time.Second)
	c.sync(t)
	require.Len(t, c.emitted(t), 1)
	c.sync(t)
	require.Empty(t, c.emitted(t))
}

// An API server that answers late answers each of up to ten Events late.
func TestTheConditionsDoNotWaitForEvents(t *testing.T) {
	c := start(t, `{"platform":"openstack"}`)
	written := ""
	c.events.PrependReactor("create", "events", func(clienttesting.Action) (bool, runtime.Object, error) {
		_, status, _, err := c.operator.GetOperatorState()
		require.NoError(t, err)
		if notices := v1helpers.FindOperatorCondition(status.Conditions, NoticesCondition); notices != nil {
			written = notices.Message
		}
		return false, nil, nil
	})
	c.wait("a")
	c.log = attempt("a", "got 503 instead")
	c.sync(t)
	require.Contains(t, written, "node/a")
}
