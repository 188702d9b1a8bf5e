// Package snapshot has what the commands for a person read: the objects of a cluster at one moment. What status does
// not need is removed when an object is read, so a snapshot has no content of a Secret, no environment and no arguments
// of a container, and no annotation that is not listed here.
package snapshot

import (
	"cmp"
	"slices"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	ccmv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/redaction"
)

// OperatorLock is the name of the Lease by which one process of the operator acts at a time.
const OperatorLock = "cluster-cloud-controller-manager-operator-lock"

// Snapshot is a cluster at one moment.
type Snapshot struct {
	// Taken is the time of the moment, by the API server's clock.
	Taken time.Time
	// Unread is what could not be read.
	Unread []Unread

	// Log is the end of the log of a pod of the operand, if it was read.
	Log Log

	objects []*unstructured.Unstructured
	// redactor has the values of the Secrets, if they were read.
	redactor *redaction.Redactor
}

// Log is the end of the log of a pod.
type Log struct {
	Pod, Text string
	// Complete reports whether that is all that the process has logged.
	Complete bool
}

// Unread is something that could not be read.
type Unread struct {
	What string `json:"what"`
	Why  string `json:"why"`
}

// of returns the objects of a kind in a namespace as their type, sorted by name, without those that do not fit it. Of
// a name, "" selects all.
func of[T any](s *Snapshot, kind, namespace, name string) []*T {
	var found []*T
	for _, o := range s.objects {
		typed := new(T)
		if o.GetKind() == kind && o.GetNamespace() == namespace && (name == "" || name == o.GetName()) &&
			runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, typed) == nil {
			found = append(found, typed)
		}
	}
	return found
}

func get[T any](s *Snapshot, kind, namespace, name string) *T {
	found := of[T](s, kind, namespace, name)
	return append(found, nil)[0]
}

// The methods for single objects return nil if the object does not exist.

// Operator returns the operator's resource.
func (s *Snapshot) Operator() *ccmv1.CloudControllerManager {
	return get[ccmv1.CloudControllerManager](s, ccmv1.Kind.Kind, "", operatorclient.Instance)
}

// ClusterOperator returns the operator's ClusterOperator.
func (s *Snapshot) ClusterOperator() *configv1.ClusterOperator {
	return get[configv1.ClusterOperator](s, "ClusterOperator", "", operatorclient.ClusterOperator)
}

// Infrastructure returns the cluster's.
func (s *Snapshot) Infrastructure() *configv1.Infrastructure {
	return get[configv1.Infrastructure](s, "Infrastructure", "", operatorclient.Instance)
}

// Nodes returns all Nodes.
func (s *Snapshot) Nodes() []*corev1.Node { return of[corev1.Node](s, "Node", "", "") }

// Pods returns the Pods of a namespace.
func (s *Snapshot) Pods(namespace string) []*corev1.Pod {
	return of[corev1.Pod](s, "Pod", namespace, "")
}

// Events returns the Events of a namespace.
func (s *Snapshot) Events(namespace string) []*corev1.Event {
	return of[corev1.Event](s, "Event", namespace, "")
}

// Service returns a Service.
func (s *Snapshot) Service(namespace, name string) *corev1.Service {
	return get[corev1.Service](s, "Service", namespace, name)
}

// Secret returns what is kept of a Secret in the operand's namespace.
func (s *Snapshot) Secret(name string) *corev1.Secret {
	return get[corev1.Secret](s, "Secret", operand.Namespace, name)
}

// ConfigMap returns a ConfigMap in the operand's namespace.
func (s *Snapshot) ConfigMap(name string) *corev1.ConfigMap {
	return get[corev1.ConfigMap](s, "ConfigMap", operand.Namespace, name)
}

// Lease returns a Lease.
func (s *Snapshot) Lease(namespace, name string) *coordinationv1.Lease {
	return get[coordinationv1.Lease](s, "Lease", namespace, name)
}

func (s *Snapshot) add(objects ...*unstructured.Unstructured) {
	for _, object := range objects {
		if kept := reduce(object); kept != nil {
			s.objects = append(s.objects, kept)
		}
	}
}

// sort orders the objects, so that equal clusters have equal reports.
func (s *Snapshot) sort() {
	slices.SortFunc(s.objects, func(a, b *unstructured.Unstructured) int {
		return cmp.Or(cmp.Compare(a.GetKind(), b.GetKind()), cmp.Compare(a.GetNamespace(), b.GetNamespace()),
			cmp.Compare(a.GetName(), b.GetName()))
	})
	slices.SortFunc(s.Unread, func(a, b Unread) int { return cmp.Compare(a.What, b.What) })
}

// NotKnown begins what Missing returns.
const NotKnown = "not known: "

// Missing returns why something could not be read, "" if it was.
func (s *Snapshot) Missing(what string) string {
	if i := slices.IndexFunc(s.Unread, func(u Unread) bool { return u.What == what }); i >= 0 {
		return NotKnown + s.Unread[i].Why
	}
	return ""
}
