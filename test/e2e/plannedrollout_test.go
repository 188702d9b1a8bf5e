package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	ccmv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
)

// maxRolloutEvents is what a planned rollout over three nodes may record: the revision and its cause, the preflight, three
// nodes that have it, the two changes of Progressing, and the lead that moves to the first node.
const maxRolloutEvents = 8

// plannedRollout observes what an administrator sees of a rollout that goes as planned.
type plannedRollout struct {
	s      *suite
	events map[types.UID]int32
	seen   chan conditionsSeen
	stop   context.CancelFunc
}

// conditionsSeen is what the conditions of the operator's resource showed, also without inertia.
type conditionsSeen struct {
	// degraded are the Degraded conditions that were True, changes the changes of every condition's status.
	degraded, changes []string
}

// add records what changed from the former status of each condition.
func (c *conditionsSeen) add(resource *ccmv1.CloudControllerManager, former map[string]operatorv1.ConditionStatus) {
	for _, condition := range resource.Status.Conditions {
		text := condition.Type + ": " + condition.Message
		isTrue := condition.Status == operatorv1.ConditionTrue
		if isTrue && strings.HasSuffix(condition.Type, "Degraded") && !slices.Contains(c.degraded, text) {
			c.degraded = append(c.degraded, text)
		}
		if was, known := former[condition.Type]; known && was != condition.Status {
			c.changes = append(c.changes, fmt.Sprintf("%s condition %s is %s: %s", time.Now().UTC().Format(time.TimeOnly),
				condition.Type, condition.Status, condition.Message))
		}
		former[condition.Type] = condition.Status
	}
}

// observeRollout begins to observe a planned rollout.
func (s *suite) observeRollout(t *testing.T) *plannedRollout {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	t.Cleanup(stop)
	watch, err := s.dynamic.Resource(ccmv1.Resource).Watch(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	p := &plannedRollout{s: s, events: map[types.UID]int32{}, seen: make(chan conditionsSeen, 1), stop: stop}
	p.recorded(t) // the baseline
	go func() {
		var seen conditionsSeen
		former := map[string]operatorv1.ConditionStatus{}
		for event := range watch.ResultChan() {
			object, is := event.Object.(*unstructured.Unstructured)
			if !is {
				continue
			}
			resource := &ccmv1.CloudControllerManager{}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, resource); err != nil {
				seen.degraded = append(seen.degraded, err.Error())
				continue
			}
			seen.add(resource, former)
		}
		p.seen <- seen
	}()
	return p
}

// recorded returns the operator's events since the last call.
func (p *plannedRollout) recorded(t *testing.T) []string {
	t.Helper()
	list, err := p.s.kube.CoreV1().Events(operatorNamespace).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	var recorded []string
	for _, event := range list.Items {
		for range event.Count - p.events[event.UID] {
			recorded = append(recorded, fmt.Sprintf("%s event %s %s",
				event.LastTimestamp.UTC().Format(time.TimeOnly), event.Reason, event.Message))
		}
		p.events[event.UID] = event.Count
	}
	slices.Sort(recorded)
	return recorded
}

// requireQuiet checks that the rollout recorded few events and set no Degraded condition.
func (p *plannedRollout) requireQuiet(t *testing.T) {
	t.Helper()
	p.stop()
	seen, recorded := <-p.seen, p.recorded(t)
	timeline := slices.Sorted(slices.Values(slices.Concat(recorded, seen.changes)))
	t.Log("the planned rollout:\n" + strings.Join(timeline, "\n"))
	require.Empty(t, seen.degraded)
	require.LessOrEqual(t, len(recorded), maxRolloutEvents, strings.Join(recorded, "\n"))
	p.s.figure("events of a planned rollout: %d", len(recorded))
}
