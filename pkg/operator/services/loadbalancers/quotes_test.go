package loadbalancers

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/apitest"
)

func TestOfTheEventsOfATenantOnlyAFewAreRead(t *testing.T) {
	for name, tc := range map[string]struct {
		count, size int
		namespace   string
		want        int
	}{
		"the service controller's are read":       {count: 3, size: 1 << 10, want: 4},
		"no more than the recorder makes":         {count: 180, size: 1 << 10, want: 100},
		"none that is too large for an error":     {count: 3, size: 1 << 20, want: 1},
		"large ones end the read":                 {count: 5, size: 1 << 20, want: 0},
		"those of another namespace are not read": {count: 3, size: 1 << 10, namespace: "other", want: 1},
	} {
		t.Run(name, func(t *testing.T) {
			server := apitest.Start(t)
			if tc.namespace == "" {
				tc.namespace = "shop"
			}
			for i := range tc.count {
				server.Set(t, &corev1.Event{
					ObjectMeta: metav1.ObjectMeta{Namespace: tc.namespace, Name: fmt.Sprintf("e%03d", i)},
					Type:       corev1.EventTypeWarning, Message: strings.Repeat("x", tc.size),
				})
			}
			server.Set(t, &corev1.Event{
				ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "last"}, Type: corev1.EventTypeWarning,
			}, &corev1.Event{
				ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "normal"}, Type: corev1.EventTypeNormal,
			})
			kube, err := kubernetes.NewForConfig(server.Config)
			require.NoError(t, err)
			var read []string
			require.NoError(t, ReadEvents(kube.CoreV1().RESTClient())(t.Context(), "shop", metav1.ListOptions{FieldSelector: "type=Warning"},
				func(event *corev1.Event) { read = append(read, event.Name) }))
			require.Len(t, read, tc.want)
			require.Equal(t, []apitest.Request{{
				Path: "/api/v1/namespaces/shop/events", Fields: "type=Warning", Limit: 10,
			}}, server.Requests())
		})
	}
}
