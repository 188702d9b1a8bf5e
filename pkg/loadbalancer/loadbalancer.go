// Package loadbalancer has what the service controller of a cloud-controller-manager
// (k8s.io/cloud-provider/controllers/service) leaves on the Services that it serves.
package loadbalancer

import (
	"regexp"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Finalizer is on a Service until a cloud-controller-manager has deleted its load balancer
// (k8s.io/cloud-provider/service/helpers).
const Finalizer = "service.kubernetes.io/load-balancer-cleanup"

// EventSource is the component in the Events of the service controller. Its Warnings have the reasons
// SyncLoadBalancerFailed, which includes a deletion, UpdateLoadBalancerFailed and UnAvailableLoadBalancer.
const EventSource = "service-controller"

// LastWarning returns the service controller's last Warning about a Service, nil if there is none among the events.
func LastWarning(events []*corev1.Event, name string, uid types.UID) *corev1.Event {
	var last *corev1.Event
	for _, event := range events {
		of := event.InvolvedObject
		isOf := of.Kind == "Service" && of.Name == name && of.UID == uid && event.Source.Component == EventSource
		if !isOf || event.Type != corev1.EventTypeWarning {
			continue
		}
		if last == nil || event.LastTimestamp.After(last.LastTimestamp.Time) {
			last = event
		}
	}
	return last
}

// gone matches the errors of clouds about something that they do not have: OpenStack, Azure, AWS, Google Cloud, IBM
// Cloud and DigitalOcean.
var gone = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\bresource not found\b|\bgot 404\b|\b(?:Parent)?Resource(?:Group)?NotFound\b|` +
		`\bLoadBalancerNotFound\b|\bgoogleapi: Error 404\b|\bload_balancer_not_found\b|//api\.digitalocean\.com/\S*: 404\b`)
})

// IsGone reports whether a Warning of the service controller says that the cloud does not have a load balancer, or what
// belongs to it.
func IsGone(message string) bool { return gone().MatchString(message) }

// NeedsCleanup reports whether only a cloud-controller-manager can delete the Service.
func NeedsCleanup(service metav1.Object) bool {
	return slices.Contains(service.GetFinalizers(), Finalizer)
}

// Need is what a Service needs from a cloud-controller-manager.
type Need int

// The needs.
const (
	Nothing  Need = iota
	Address       // the Service has no address
	Deletion      // the Service is being deleted, and its load balancer still exists
)

// NeedOf returns what a Service needs. A class in its spec means that another controller serves it.
func NeedOf(service *corev1.Service) Need {
	switch {
	case service.Spec.Type != corev1.ServiceTypeLoadBalancer || service.Spec.LoadBalancerClass != nil:
		return Nothing
	case service.DeletionTimestamp != nil && NeedsCleanup(service):
		return Deletion
	case service.DeletionTimestamp == nil && len(service.Status.LoadBalancer.Ingress) == 0:
		return Address
	default:
		return Nothing
	}
}

// Since returns the time since which a Service may have the need.
func (n Need) Since(service *corev1.Service) time.Time {
	if n == Deletion {
		return service.DeletionTimestamp.Time
	}
	return service.CreationTimestamp.Time
}
