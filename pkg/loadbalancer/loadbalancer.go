// Package loadbalancer interprets what the service controller of a cloud-controller-manager
// (k8s.io/cloud-provider/controllers/service) writes about Services.
package loadbalancer

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Finalizer is on a Service until a cloud-controller-manager has deleted its load balancer
// (k8s.io/cloud-provider/service/helpers).
const Finalizer = "service.kubernetes.io/load-balancer-cleanup"

// finalizers has those of Alibaba Cloud's provider, too (pkg/controller/helper/service_utils.go).
var finalizers = []string{Finalizer, "service.k8s.alibaba/resources", "service.k8s.alibaba/nlb"}

// EventSource is the component in the service controller's Events. The reasons of its Warnings are
// SyncLoadBalancerFailed, also for a deletion, UpdateLoadBalancerFailed and UnAvailableLoadBalancer.
const EventSource = "service-controller"

// LastWarning returns the service controller's last Warning about a Service since the given time, or nil.
func LastWarning(events []*corev1.Event, name string, uid types.UID, since time.Time) *corev1.Event {
	var last *corev1.Event
	for _, event := range events {
		of := event.InvolvedObject
		isOf := of.Kind == "Service" && of.Name == name && of.UID == uid && event.Source.Component == EventSource
		isOld := event.LastTimestamp.Time.Before(since.Truncate(time.Second)) // the precision of an Event's time
		if !isOf || isOld || event.Type != corev1.EventTypeWarning {
			continue
		}
		if last == nil || event.LastTimestamp.After(last.LastTimestamp.Time) {
			last = event
		}
	}
	return last
}

// TextOf returns the text with which the service controller made an Event: client-go adds a prefix if many are similar
// (client-go/tools/record, EventAggregatorByReasonMessageFunc).
func TextOf(event *corev1.Event) string {
	return strings.TrimSuffix(strings.TrimPrefix(event.Message, "(combined from similar events): "), "\n")
}

// gone matches the errors of OpenStack, Azure, AWS, Google Cloud, IBM Cloud and DigitalOcean for a missing object.
var gone = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\bresource not found\b|\bgot 404\b|\b(?:Parent)?Resource(?:Group)?NotFound\b|` +
		`\bLoadBalancerNotFound\b|\bgoogleapi: Error 404\b|\bload_balancer_not_found\b|//api\.digitalocean\.com/\S*: 404\b`)
})

// IsGone reports whether a Warning of the service controller means that the cloud has lost a load balancer or its
// parts.
func IsGone(message string) bool { return gone().MatchString(message) }

// NeedsCleanup reports whether a cloud-controller-manager must delete the load balancer before the Service can go.
func NeedsCleanup(service metav1.Object) bool { return CleanupIndex(service) >= 0 }

// CleanupIndex returns the index of a cloud-controller-manager's finalizer, -1 if there is none.
func CleanupIndex(service metav1.Object) int {
	return slices.IndexFunc(service.GetFinalizers(), func(f string) bool { return slices.Contains(finalizers, f) })
}

// HandedOver returns the annotation of handsOver, as name=value, that is on a Service, "" if none is, or one of keeps.
func HandedOver(service metav1.Object, handsOver, keeps []string) string {
	isOn := func(annotation string) bool {
		name, value, _ := strings.Cut(annotation, "=")
		return service.GetAnnotations()[name] == value
	}
	i := slices.IndexFunc(handsOver, isOn)
	if i < 0 || slices.ContainsFunc(keeps, isOn) {
		return ""
	}
	return handsOver[i]
}

// Need is what a Service needs from a cloud-controller-manager.
type Need int

// The needs.
const (
	Nothing  Need = iota
	Address       // the Service has no address
	Deletion      // the Service is being deleted, and its load balancer still exists
)

// NeedOf returns what a Service needs. A Service with a class belongs to another controller and needs nothing.
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

// Since returns the earliest time at which the Service may have had the need.
func (n Need) Since(service *corev1.Service) time.Time {
	if n == Deletion {
		return service.DeletionTimestamp.Time
	}
	return service.CreationTimestamp.Time
}
