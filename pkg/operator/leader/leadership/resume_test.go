package leadership

import (
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/controllertest"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/controlplanetest"
)

// breakOff makes the controller begin a move at the second, of which it creates the first pod only.
func (w *world) breakOff(t *testing.T, second int) {
	t.Helper()
	created, failing := 0, true
	w.kube.PrependReactor("create", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		created++
		if created == 1 || !failing {
			return false, nil, nil
		}
		return true, nil, errors.New("the server was unable to return a response in the time allotted")
	})
	w.fill(t, second)
	_, err := controllertest.NewTimer(w.clock, w.recorder).Run(t.Context(), w.sync, time.Second)
	require.ErrorContains(t, err, "creating pod/handover-")
	require.Len(t, w.moves(t), 1)
	failing = false
}

func TestAMoveThatWasBrokenOffGoesOn(t *testing.T) {
	for name, restart := range map[string]bool{"after an error of the API server": false, "in another process": true} {
		t.Run(name, func(t *testing.T) {
			for occasion, of := range map[string]struct {
				begin func(w *world)
				pods  []string
				event string
			}{
				"a deaf leader": {func(w *world) { w.hear(-120, "a") }, []string{"handover-end-m0", "handover-follow-m0"},
					"DeafLeaderReplaced"},
				"a cordoned node": {func(w *world) { w.cordon("m0", true); w.cordoned.See("m0", controlplanetest.At(-10)) },
					[]string{"handover-leave-m0", "handover-take-m0"}, "LeadMoves"},
			} {
				t.Run(occasion, func(t *testing.T) {
					w := newWorld(t, "m0", "m1", "m2")
					of.begin(w)
					w.breakOff(t, 1)
					if restart {
						w.restartOperator()
					}
					w.run(t, 3, time.Second)
					require.Equal(t, of.pods, slices.Sorted(maps.Keys(w.moves(t))))
					require.Contains(t, w.moves(t)[of.pods[0]].Spec.Containers[0].Args, "--successor=m1")
					require.Len(t, w.messages(), 1)
					require.Contains(t, w.messages()[0], of.event+": ")
				})
			}
		})
	}
}

func TestAMoveThatWasBrokenOffDoesNotGoOnIf(t *testing.T) {
	for name, change := range map[string]func(w *world, take *corev1.Pod){
		"another process leads":   func(w *world, _ *corev1.Pod) { w.Acquire("m2", "second", 2); w.see(3) },
		"the successor has ended": func(_ *world, take *corev1.Pod) { take.Status.Phase = corev1.PodSucceeded },
		"the successor is back":   func(_ *world, take *corev1.Pod) { take.Status.Phase = corev1.PodFailed },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "m0", "m1", "m2")
			w.hear(-120, "a")
			w.breakOff(t, 1)
			take := w.moves(t)["handover-follow-m0"]
			change(w, take)
			require.NoError(t, w.kube.Tracker().Update(corev1.SchemeGroupVersion.WithResource("pods"), take, namespace))
			w.run(t, 3, time.Second)
			require.Len(t, w.moves(t), 1)
			require.Empty(t, w.messages())
		})
	}
}
