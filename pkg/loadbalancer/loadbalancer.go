// Package loadbalancer interprets what the service controller of a cloud-controller-manager
// (k8s.io/cloud-provider/controllers/service) writes about Services.
package loadbalancer

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

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

// Quotable joins the lines of a message if the last one has no word, such as the end of an answer in JSON.
func Quotable(message string) string {
	text := strings.TrimSpace(message)
	if strings.ContainsFunc(text[strings.LastIndex(text, "\n")+1:], unicode.IsLetter) {
		return message
	}
	return strings.Join(slices.DeleteFunc(strings.Fields(text), func(field string) bool {
		return strings.Trim(field, "-") == "" // Azure's SDK underlines.
	}), " ")
}

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

// gone matches the errors of OpenStack, Azure, AWS, Google Cloud, IBM Cloud, DigitalOcean and Alibaba Cloud for an
// object that does not exist.
var gone = sync.OnceValue(func() *regexp.Regexp {
	return anyOf(
		`\bresource not found\b`, `\bgot 404\b`, `\bfailed to find object\b`, `\b(?:Parent)?Resource(?:Group)?NotFound\b`,
		`\b(?:LoadBalancer|TargetGroup)NotFound\b`, `\bload balancer not found\b`, `\bgoogleapi: Error 404\b`,
		`\bload_balancer_not_found\b`, `//api\.digitalocean\.com/\S*: 404\b`, `\bInvalidLoadBalancerId\.NotFound\b`,
	)
})

// IsGone reports whether a Warning of the service controller means that the cloud has lost a load balancer, or
// something that the deletion looks up.
func IsGone(message string) bool { return gone().MatchString(message) }

// remedies are what to do about errors that do not say it. The first match wins.
var remedies = sync.OnceValue(func() []remedy {
	return []remedy{
		// The words of Azure, OpenStack, DigitalOcean, Alibaba Cloud and IBM Cloud.
		{anyOf(
			`\bretryable ?error`, `\bAnotherOperation`, `\bOperationPreempted`, `\bCanceledAndSuperseded`,
			`\bEtag ?Mismatch`, `\bPreconditionFailed\b`,
			`\bis immutable and cannot be updated`, `\bprovisioning status: PENDING_`,
			`\btimeout waiting for the loadbalancer`,
			`while it processes previous actions`, `\bload-balancer is currently being created\b`,
			`\bServiceIsConfiguring\b`, `\bOperationConflict\b`,
			`\bLoadBalancer is busy\b`, `\bload balancer (?:is )?not ready: `, `\bstatus is '\w+_PENDING'`,
			// Vultr, Google Cloud, Oracle Cloud, AWS.
			`\bload-balancer is not yet active\b`, `, resourceNotReady\b`, `\bhas other work requests in progress\b`,
			`\bInvalid fingerprint\b`, `\bis not in running state\b`,
			`\bfailed to delete within the allotted time\b`, // OpenStack
		), "wait: the cloud has not completed an earlier change, and the cloud-controller-manager tries again; if it " +
			"lasts, find out in the cloud what holds that change up"},
		// OpenStack, AWS, Google Cloud.
		{anyOf(
			`\bIpAddressGenerationFailure\b`, `\bNo more IP addresses available\b`, `\bExternalIpAddressExhausted\b`,
			`\bInsufficientFreeAddressesInSubnet\b`, `\bnot enough IP space\b`, `\bIP_SPACE_EXHAUSTED`,
			`\bSubnetIsFull\b`, `\bVSwitchAvailableIpNotExist\b`, // Azure, Alibaba Cloud
		), "release unused addresses of the subnet or network that the error names, extend it, or let the load balancer " +
			"use another one"},
		// OpenStack.
		{anyOf(`\bprovisioning status: ERROR\b`, `\bhas gone into ERROR state`, `\bloadbalancer \S+ is in ERROR state`),
			"find out in Octavia why the load balancer failed, and repair it there (openstack loadbalancer failover); the " +
				"load balancer of a Service that is being deleted can be deleted there instead (openstack loadbalancer " +
				"delete --cascade)"},
		{anyOf(`\bExternalGatewayForFloatingIPNotFound\b`, `\bis not reachable from subnet\b`),
			"connect the subnet by a router to the external network that the error names, or set another " +
				"floating-network-id in [LoadBalancer]"},
		{anyOf(`\b(?:to get subnet to create load balancer|no subnet-id found) for service \S+: failed to find object\b`),
			"set subnet-id in [LoadBalancer] of the cloud configuration to the subnet of the nodes, or name a subnet in the " +
				"Service's annotation loadbalancer.openstack.org/subnet-id"},
		// AWS.
		{anyOf(`\bcould not find any suitable subnets\b`),
			"tag a subnet of each zone with kubernetes.io/role/elb, or for an internal load balancer with " +
				"kubernetes.io/role/internal-elb, and with kubernetes.io/cluster/<infrastructure name>; a public one needs a " +
				"route to an internet gateway, too"},
		{anyOf(`\bMultiple (?:un)?tagged security groups found`),
			"leave the tag kubernetes.io/cluster/<infrastructure name> on exactly one security group of the instance that the " +
				"error names"},
		// Also OpenStack, Azure, Google Cloud, Alibaba Cloud.
		{anyOf(`\bDependencyViolation\b`, `\bResourceInUse: `, `\bcould not delete security groups\b`,
			`\bSecurityGroupInUse\b`, `\bis still allocated to resource\b`, `\bLoadBalancerInUseBy`,
			`, resourceInUseByAnotherResource\b`, `\bRspoolVipExist\b`),
			"find out what still uses the object that the error names, such as a network interface or a rule of another " +
				"security group, and end that use if nothing needs it"},
		// Google Cloud.
		{anyOf(
			`\binstance may belong to at most one load-balanced instance group`, `\bis expected to be in the subnetwork\b`,
		), "set external-instance-groups-prefix in the cloud configuration to the prefix of the names of the cluster's own " +
			"instance groups, or take the instance out of the other load-balanced instance group"},
		{anyOf(`\bno node tags supplied\b`),
			"set node-tags in the cloud configuration to the network tags of the nodes' instances"},
		{anyOf(`\bmust specify a subnet if the network resource is in custom subnet mode\b`),
			"set subnetwork-name in the cloud configuration to the subnetwork of the nodes"},
		// Azure.
		{anyOf(`\bfailed to get subnet: \S*/`),
			"set vnetName, vnetResourceGroup and subnetName in the cloud configuration to the subnet of the nodes, or name " +
				"another one in the Service's annotation service.beta.kubernetes.io/azure-load-balancer-internal-subnet"},
		{anyOf(`\bfailed to parse the VMAS ID\b`),
			"find the network interface in the load balancer's backend pool that has no virtual machine, such as that of a " +
				"Machine that failed (oc get machines -A), and take it out of the pool, or delete that Machine"},
		{anyOf(`\bis not in Succeeded state\b`),
			"bring the resource that the error names into the state Succeeded, such as by an update without a change"},
		{anyOf(`\bnot a vmss instance\b`),
			"set vmType in the cloud configuration to what the nodes' machines are: standard, or vmss for scale sets"},
		{anyOf(`\buser supplied IP Address \S+ was not found`),
			"ask for the address of a public IP in the resource group that the error names, or name the resource group of " +
				"this one in the Service's annotation service.beta.kubernetes.io/azure-load-balancer-resource-group"},
	}
})

type remedy struct {
	errors *regexp.Regexp
	action string
}

func anyOf(expressions ...string) *regexp.Regexp {
	return regexp.MustCompile(`(?i)` + strings.Join(expressions, `|`))
}

// Remedy returns what to do about an error in a Warning of the service controller, "" if the error says it itself.
func Remedy(message string) string {
	for _, r := range remedies() {
		if r.errors.MatchString(message) {
			return r.action
		}
	}
	return ""
}

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
