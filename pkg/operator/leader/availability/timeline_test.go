package availability

import (
	"fmt"
	"strings"
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/controlplanetest"
)

// cluster is a simulated control plane.
type cluster struct {
	*controlplanetest.Cluster

	// vanished is what the controller reported last.
	vanished []string
	// leaving is what the events of the Nodes have shown, besides the Nodes of a view.
	leaving departures
	// moves are the pods of moves of the lead.
	moves []*corev1.Pod
}

var begin = controlplanetest.Begin

func at(second int) time.Time { return controlplanetest.At(second) }

// newCluster returns a cluster whose first pod leads, and Available is True.
func newCluster(nodes ...string) *cluster {
	c := &cluster{Cluster: controlplanetest.New(nodes...)}
	c.Status.Conditions = []operatorv1.OperatorCondition{
		{Type: AvailableCondition, Status: operatorv1.ConditionTrue, Reason: asExpected},
	}
	return c
}

// Exit ends the container just after it has logged the lines of its message.
func (c *cluster) Exit(node string, second int, message string) {
	c.Cluster.Exit(node, second, strings.ReplaceAll(message, "1121 09:00:00.000000", at(second).Format("0102 15:04:05.000000")))
}

func (c *cluster) view(second int) view {
	c.Others = c.moves
	for _, node := range c.Nodes {
		c.leaving.note(node)
	}
	return view{View: c.View(second), withoutRole: c.WithoutRole, leaving: c.leaving.names()}
}

// apply writes conditions as the API server would.
func (c *cluster) apply(second int, a *assessor) (changes []string, next time.Duration) {
	conditions, next := a.assess(c.view(second))
	for _, condition := range conditions {
		applied := operatorv1.OperatorCondition{
			Type: *condition.Type, Status: *condition.Status, Reason: *condition.Reason, Message: ptr.Deref(condition.Message,
				""),
			LastTransitionTime: metav1.NewTime(at(second)),
		}
		previous := v1helpers.FindOperatorCondition(c.Status.Conditions, applied.Type)
		if previous == nil {
			c.Status.Conditions = append(c.Status.Conditions, applied)
		}
		if previous == nil || previous.Status != applied.Status || previous.Reason != applied.Reason {
			changes = append(changes, fmt.Sprintf("%ds %s=%s %s", second, applied.Type, applied.Status, applied.Reason))
		}
		if previous != nil {
			if previous.Status == applied.Status {
				applied.LastTransitionTime = previous.LastTransitionTime
			}
			*previous = applied
		}
	}
	return changes, next
}

// timeline has the events by second.
type timeline map[int][]func(c *cluster, second int)

func (l timeline) at(second int, do func(c *cluster, second int)) {
	l[second] = append(l[second], do)
}

// renews adds renewals of the lease at from and every 26 s until the end.
func (l timeline) renews(from, end int) {
	for second := from; second < end; second += 26 {
		l.at(second, (*cluster).Renew)
	}
}

// run simulates the timeline and returns every change of a condition after the first assessment. It assesses twice:
// every second, and only after events and requested delays. Both runs must yield the same changes.
func (l timeline) run(t *testing.T, start func() *cluster, seconds int) []string {
	t.Helper()
	everySecond, cluster := l.simulate(start(), seconds, func(int, bool, int) bool { return true })
	byTimer, _ := l.simulate(
		start(),
		seconds,
		func(second int, happened bool, due int) bool { return happened || second == due },
	)
	require.Equal(t, everySecond, byTimer, "a timer is missing")
	for _, condition := range cluster.Status.Conditions {
		require.NotContains(t, condition.Message, "back-off")
		require.NotContains(t, condition.Message, "FLAG")
	}
	return everySecond
}

func (l timeline) simulate(
	c *cluster,
	seconds int,
	look func(second int, happened bool, due int) bool,
) ([]string, *cluster) {
	a, due := newAssessor(), 0
	var series []string
	for second := range seconds {
		for _, do := range l[second] {
			do(c, second)
		}
		if !look(second, len(l[second]) > 0, due) && second > 0 {
			continue
		}
		changes, next := c.apply(second, a)
		due = -1
		if next > 0 {
			due = second + int((next+time.Second-1)/time.Second)
		}
		if second > 0 {
			series = append(series, changes...)
		}
	}
	return series, c
}

// of returns the changes of one condition.
func of(series []string, conditionType string) []string {
	kept := []string{}
	for _, change := range series {
		var second int
		var rest string
		if _, err := fmt.Sscanf(change, "%ds "+conditionType+"=%s", &second, &rest); err == nil {
			kept = append(kept, change)
		}
	}
	return kept
}
