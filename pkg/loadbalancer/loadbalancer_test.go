package loadbalancer

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

func TestWhatAServiceNeeds(t *testing.T) {
	created, deleted := time.Date(2026, 11, 24, 9, 0, 0, 0, time.UTC), time.Date(2026, 11, 24, 10, 0, 0, 0, time.UTC)
	balanced := func(s *corev1.Service) {
		s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "192.0.2.1"}}
	}
	deletes := func(s *corev1.Service) { s.DeletionTimestamp = ptr.To(metav1.NewTime(deleted)) }
	cleansUp := func(s *corev1.Service) { s.Finalizers = []string{"example.com/other", Finalizer} }
	cleansUpOnAlibaba := func(s *corev1.Service) { s.Finalizers = []string{"service.k8s.alibaba/resources"} }
	ofClass := func(s *corev1.Service) { s.Spec.LoadBalancerClass = ptr.To("example.com/other") }
	for name, tc := range map[string]struct {
		changes []func(*corev1.Service)
		want    Need
		since   time.Time
	}{
		"a new one needs an address, since its creation":        {want: Address, since: created},
		"one that is served needs nothing":                      {changes: []func(*corev1.Service){cleansUp, balanced}, want: Nothing},
		"one of a class is another controller's":                {changes: []func(*corev1.Service){ofClass}, want: Nothing},
		"one of a class that is being deleted is, too":          {changes: []func(*corev1.Service){ofClass, deletes, cleansUp}, want: Nothing},
		"a deletion needs the end of the load balancer":         {changes: []func(*corev1.Service){balanced, deletes, cleansUp}, want: Deletion, since: deleted},
		"a deletion needs it on Alibaba Cloud, too":             {changes: []func(*corev1.Service){balanced, deletes, cleansUpOnAlibaba}, want: Deletion, since: deleted},
		"a deletion that another finalizer holds is not ours":   {changes: []func(*corev1.Service){deletes}, want: Nothing},
		"one without a load balancer needs nothing":             {changes: []func(*corev1.Service){func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeClusterIP }}, want: Nothing},
		"one that is being deleted no longer needs its address": {changes: []func(*corev1.Service){deletes, cleansUp}, want: Deletion, since: deleted},
	} {
		t.Run(name, func(t *testing.T) {
			service := &corev1.Service{
				ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(created)},
				Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer},
			}
			for _, change := range tc.changes {
				change(service)
			}
			require.Equal(t, tc.want, NeedOf(service))
			if tc.want != Nothing {
				require.Equal(t, tc.since, NeedOf(service).Since(service))
			}
		})
	}
}
