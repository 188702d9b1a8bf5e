package report

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/loadbalancer"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/nodecause"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/services/loadbalancers"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/snapshot"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/terminationmessage"
)

// ExplainService explains why a Service has no load balancer.
func ExplainService(s *snapshot.Snapshot, namespace, name string) (*Explanation, error) {
	e, err := begin(s)
	if err != nil {
		return nil, err
	}
	service := snapshot.Get[corev1.Service](s, namespace, name)
	// A dump has all Services.
	object := fmt.Sprintf("service/%s in %s", name, namespace)
	if service == nil && e.unread(cmp.Or(s.Missing(object), s.Missing("services")), object, "the Service",
		fmt.Sprintf("it in the cluster: oc get service %s -n %s", name, namespace)) {
		return e.Explanation, nil
	}
	if service == nil {
		e.step(false, "service/%s does not exist in %s", name, namespace)
		return e.withCause("there is no such Service", "check its name and namespace"), nil
	}
	// The finalizer is the cloud-controller-manager's, also on a Service of another controller.
	if e.needsNothing(service) || service.DeletionTimestamp == nil && e.handedOver(service) {
		return e.Explanation, nil
	}
	e.noBalancers(service)
	if e.Cause != "" {
		return e.Explanation, nil
	}
	e.either(loadbalancer.NeedsCleanup(service), "the cloud-controller-manager has begun with it",
		"the cloud-controller-manager has not begun with it")
	return e.lastFailure(service), nil
}

// needsNothing ends the explanation of a Service that needs no load balancer, nor the deletion of one, and reports
// whether it did.
func (e *walk) needsNothing(service *corev1.Service) bool {
	found, deleted, isBalanced := addresses(service), service.DeletionTimestamp,
		service.Spec.Type == corev1.ServiceTypeLoadBalancer
	e.step(isBalanced || deleted != nil, "service/%s in %s has type %s", service.Name, service.Namespace,
		service.Spec.Type)
	switch {
	case deleted != nil && loadbalancer.NeedsCleanup(service):
		e.step(false, "it is being deleted since %s, and waits for its load balancer", stamp(deleted.Time))
		return false
	case deleted != nil:
		e.step(false, "it is being deleted since %s", stamp(deleted.Time))
		e.withCause("other controllers than the cloud-controller-manager have finalizers on it: "+
			diagnostic.Few(service.Finalizers), "check the controllers that added them")
	case !isBalanced:
		e.withCause("only a Service of type LoadBalancer gets a load balancer", "set spec.type")
	default:
		return e.either(found != "", "it has an address: "+found, "it has no address")
	}
	return true
}

// handedOver ends the explanation if another controller makes the load balancer of the Service, and reports whether it
// did.
func (e *walk) handedOver(service *corev1.Service) bool {
	if class := ptr.Deref(service.Spec.LoadBalancerClass, ""); class != "" {
		e.step(false, "spec.loadBalancerClass is %q", class)
		if source := e.platform.Classes[class]; source != "" {
			e.noBalancers(service)
			e.withCause("the cloud-controller-manager serves this class with a controller of its own", fmt.Sprintf("read its "+
				"Events: oc get events -n %s --field-selector=source=%s,involvedObject.name=%s; then the leader's log",
				service.Namespace, source, service.Name))
		}
		e.withCause("the cloud-controller-manager leaves a Service with a class to another controller",
			"check that controller, or create the Service without a class")
		return true
	}
	name, value, found := strings.Cut(loadbalancer.HandedOver(service, e.platform.HandsOver, e.platform.Keeps), "=")
	if !found {
		return false
	}
	e.step(false, "annotation %s is %q", name, value)
	e.withCause("the cloud-controller-manager leaves a Service with this annotation to another controller",
		"check that controller, or create the Service without the annotation")
	return true
}

// noBalancers ends the explanation if no CCM creates load balancers, or deletes them: by platform, by configuration, or
// if none leads.
func (e *walk) noBalancers(service *corev1.Service) {
	otherwise := "install a controller that makes load balancers, such as MetalLB, or set another spec.type"
	if service.DeletionTimestamp != nil {
		otherwise = removeFinalizer(service)
	}
	if e.unmanaged("nobody makes load balancers on this platform", otherwise) {
		return
	}
	if e.platform.WithoutLoadBalancers {
		e.step(false, "the cloud-controller-manager of platform %q makes no load balancers", e.platform.Name)
		e.withCause("the cloud-controller-manager of this platform makes no load balancers", otherwise)
		return
	}
	if _, leads := e.leads(); !leads {
		e.withCause(nodecause.NoLeader.Cause(), nodecause.NoLeader.Action())
		return
	}
	if nodecause.StartOf(e.shot.Log.Text).WithoutServices {
		e.step(false, "the log of pod/%s: it has started no controller of Services", e.shot.Log.Pod)
		e.withCause("the cloud-controller-manager makes no load balancers with this cloud configuration",
			"enable them there, on OpenStack by enabled = true in [LoadBalancer], or "+otherwise)
	}
}

// lastFailure ends the explanation with the CCM's last Warning about the Service, or with the condition that names it.
func (e *walk) lastFailure(service *corev1.Service) *Explanation {
	notice, isNamed := e.naming(loadbalancers.NoticesCondition,
		fmt.Sprintf("service/%s in %s", service.Name, service.Namespace))
	if isNamed {
		e.step(false, "condition %s since %s names it", notice.Type, stamp(notice.Since))
	}
	// What an earlier leader reported, or what failed before the deletion, is no present cause.
	since := leaderOf(e.shot).Acquired
	if deleted := service.DeletionTimestamp; deleted != nil && deleted.After(since) {
		since = deleted.Time
	}
	events := snapshot.List[corev1.Event](e.shot, service.Namespace)
	logged := nodecause.Logged(e.shot.Log.Text, service.Namespace+"/"+service.Name)
	isForged := func(event *corev1.Event) bool {
		return !slices.ContainsFunc(logged, func(l nodecause.Event) bool { return l.Text == loadbalancer.TextOf(event) })
	}
	// No Event of a tenant hides one of the cloud-controller-manager.
	event := cmp.Or(
		loadbalancer.LastWarning(slices.DeleteFunc(slices.Clone(events), isForged), service.Name, service.UID, since),
		e.lastLogged(logged, since),
		loadbalancer.LastWarning(events, service.Name, service.UID, since))
	if event == nil && isNamed {
		return e.condition(notice)
	}
	if event == nil {
		e.unread(cmp.Or(e.shot.Missing("events in "+service.Namespace), e.shot.Missing("events about services")),
			"what the cloud-controller-manager has reported about it", "the Events about the Service",
			"them in the cluster: oc get events -n "+service.Namespace)
		return e.withCause("the cloud-controller-manager has not reported a failure: the cloud may take minutes",
			"ask again in a minute; then read the leader's log")
	}
	e.step(false, "event %s at %s: %s", event.Reason, stamp(event.LastTimestamp.Time), summary(event.Message))
	cause, action := causeOf(e.shot, event.Message)
	if service.DeletionTimestamp != nil && loadbalancer.IsGone(event.Message) && !isAnswer(event.Message) {
		cause, action = "the cloud no longer has the load balancer, or something else that the cloud-controller-manager "+
			"looks up to delete it", removeFinalizer(service)
	}
	if isForged(event) {
		action = e.unwitnessed(service.Namespace) + action
	}
	return e.withCause(cause, action)
}

// lastLogged returns the last Warning that the leader has logged since then, nil if it has succeeded later. A dump may
// lack the Events, which are deleted after some hours.
func (e *walk) lastLogged(logged []nodecause.Event, since time.Time) (last *corev1.Event) {
	for _, event := range logged {
		at := event.At.Near(e.shot.Taken)
		switch {
		case at.Before(since.Truncate(time.Second)):
		case event.Type == corev1.EventTypeWarning:
			last = &corev1.Event{Reason: event.Reason, Message: event.Text, LastTimestamp: metav1.NewTime(at)}
		case event.Reason == "EnsuredLoadBalancer":
			last = nil
		}
	}
	return last
}

// unwitnessed adds the step of an event that is not in the leader's log, and returns what to do first.
func (e *walk) unwitnessed(namespace string) string {
	log, lacks := "the leader's log", "the end of the leader's log does not have it"
	if pod := LeadingPod(e.shot); pod != "" {
		log = "the log of pod/" + pod
	}
	if e.shot.Log.Pod == "" {
		lacks = "the leader's log was not read"
	}
	e.step(false, "a tenant may have written this event: %s", lacks)
	return fmt.Sprintf("first look for the event in %s, because every user with the right to create Events in namespace "+
		"%s can write one; then ", log, namespace)
}

// removeFinalizer returns the action that ends the deletion of a Service without the CCM. The command fails if the
// finalizers have changed since.
func removeFinalizer(service *corev1.Service) string {
	i := loadbalancer.CleanupIndex(service)
	at := fmt.Sprintf("/metadata/finalizers/%d", i)
	return fmt.Sprintf("check in the cloud that the load balancer and its addresses, such as a floating IP, are gone; if "+
		"the load balancer still exists, delete it first; then remove the finalizer: "+
		`oc patch service %s -n %s --type=json -p `+
		`'[{"op": "test", "path": %q, "value": %q}, {"op": "remove", "path": %q}]'`,
		service.Name, service.Namespace, at, service.Finalizers[i], at)
}

// answers are the classes of errors with which a cloud may answer any request.
var answers = []nodecause.Class{
	nodecause.Unauthenticated, nodecause.QuotaExceeded, nodecause.Throttled, nodecause.Unreachable, nodecause.Unavailable,
	nodecause.ProxyRefused, nodecause.Certificate, nodecause.NoEndpoint, nodecause.NoLoadBalancers,
	nodecause.NoIdentityProvider, nodecause.NotTrusted, nodecause.NoToken, nodecause.NoCredentials,
	nodecause.NoRegion, nodecause.WrongClock, nodecause.Denied,
}

// isAnswer reports whether the cloud may answer any request with an error, whatever it asks for.
func isAnswer(text string) bool {
	_, _, hasRemedy := nodecause.Remedy(text)
	class := nodecause.ClassOf(text)
	return hasRemedy || class == nodecause.Unauthorized || slices.Contains(answers, class)
}

// noNodes are in the Event of k8s.io/cloud-provider (controllers/service/controller.go) and in the errors of OpenStack
// ("for LoadBalancer"), IBM Cloud ("for this load balancer") and Google Cloud.
var noNodes = regexp.MustCompile(`no available nodes for |EnsureLoadBalancer\(\) with no hosts`)

func summary(message string) string {
	return terminationmessage.Summary(loadbalancer.Quotable(message))
}

func causeOf(s *snapshot.Snapshot, message string) (cause, action string) {
	waiting, class := withoutProviderID(s), nodecause.ClassOf(message)
	gotError := "the cloud-controller-manager got an error: " + summary(message)
	if action := loadbalancer.Remedy(message); action != "" {
		return gotError, action
	}
	if cause, action, found := nodecause.Remedy(message); found {
		return cause, action
	}
	switch {
	case slices.Contains(answers, class):
		return class.Cause(), class.Action()
	case class == nodecause.Unauthorized:
		if cause, action := class.Explain(message); action != class.Action() {
			return cause, action
		}
		return class.Cause(), "permit them what the quoted error names"
	case len(waiting) > 0 && strings.Contains(strings.ToLower(message), "providerid"):
		return "a Node has no providerID, so the cloud-controller-manager does not find the members of a load balancer: " +
			diagnostic.Few(waiting), "explain node " + waiting[0]
	case noNodes.MatchString(message):
		return "no node counts as a member of a load balancer: a member is Ready, has no label " +
				corev1.LabelNodeExcludeBalancers + ", which control-plane nodes may have, and no taint of the cluster autoscaler",
			fmt.Sprintf("see which nodes count: oc get nodes -L %[1]s; make one of them Ready, or, if it is to serve load "+
				"balancers, remove its label: oc label node <node> %[1]s-", corev1.LabelNodeExcludeBalancers)
	default:
		return gotError, "correct what the error names"
	}
}

// withoutProviderID returns the names of the Nodes that no CCM has initialized. While there is one, OpenStack's CCM
// creates no load balancer (applyNodeSecurityGroupIDForLB).
func withoutProviderID(s *snapshot.Snapshot) []string {
	var names []string
	for _, node := range nodes(s) {
		if node.Spec.ProviderID == "" {
			names = append(names, node.Name)
		}
	}
	return names
}

func addresses(service *corev1.Service) string {
	var found []string
	for _, ingress := range service.Status.LoadBalancer.Ingress {
		found = append(found, cmp.Or(ingress.IP, ingress.Hostname))
	}
	return strings.Join(found, ", ")
}
