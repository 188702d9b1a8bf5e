package staticpod

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

func TestOnlyAnotherStateOfAKubeletIsAnEvent(t *testing.T) {
	node := func(uid string, ready corev1.ConditionStatus, version string) *corev1.Node {
		return &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{UID: types.UID(uid), ResourceVersion: version},
			Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}}},
		}
	}
	before := node("1", corev1.ConditionTrue, "1")
	for name, test := range map[string]struct {
		after *corev1.Node
		want  int
	}{
		"the kubelet reports again":    {node("1", corev1.ConditionTrue, "2"), 0},
		"the kubelet is not Ready":     {node("1", corev1.ConditionFalse, "2"), 1},
		"the kubelet falls silent":     {node("1", corev1.ConditionUnknown, "2"), 1},
		"another machine has the name": {node("2", corev1.ConditionTrue, "2"), 1},
	} {
		t.Run(name, func(t *testing.T) {
			events := 0
			handler := kubeletHandler{cache.ResourceEventHandlerFuncs{UpdateFunc: func(any, any) { events++ }}}
			handler.OnUpdate(before, test.after)
			require.Equal(t, test.want, events)
		})
	}
}
