// Package snapshot reads the objects of a cluster at one moment, for the administrator's commands. It removes what
// status does not need as soon as an object is read, so a snapshot contains no content of a Secret, no environment or
// arguments of a container, and no annotation that is not listed here.
package snapshot

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/inputs/tokens"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/nodes/nodeinitialization"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/redaction"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/terminationmessage"
)

// OperatorLock is the name of the Lease that the active process of the operator holds.
const OperatorLock = "cluster-cloud-controller-manager-operator-lock"

// Snapshot is a cluster at one moment.
type Snapshot struct {
	// Taken is the time of the snapshot, by the API server's clock.
	Taken  time.Time
	Unread []Unread

	// Log is the end of the log of a pod of the operand, if it was read.
	Log Log

	objects []*unstructured.Unstructured
	// redactor knows the values of the Secrets, if they were read.
	redactor *redaction.Redactor
}

// Log is the end of the log of a pod.
type Log struct {
	Pod, Text string
	// Complete means that this is the whole log of the process.
	Complete bool
}

// Unread is something that could not be read.
type Unread struct {
	What string `json:"what"`
	Why  string `json:"why"`
}

// List returns the objects of the type T in a namespace, sorted by name, as far as they can be decoded. The name of the
// type is their kind. The namespace of cluster-scoped objects is "".
func List[T any](s *Snapshot, namespace string) []*T {
	return decoded[T](s, namespace, func(string) bool { return true })
}

// Get returns an object, nil if it does not exist.
func Get[T any](s *Snapshot, namespace, name string) *T {
	return append(decoded[T](s, namespace, func(other string) bool { return other == name }), nil)[0]
}

func decoded[T any](s *Snapshot, namespace string, isWanted func(name string) bool) []*T {
	kind := reflect.TypeFor[T]().Name()
	var found []*T
	for _, o := range s.objects {
		typed := new(T)
		if o.GetKind() == kind && o.GetNamespace() == namespace && isWanted(o.GetName()) &&
			runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, typed) == nil {
			found = append(found, typed)
		}
	}
	return found
}

func (s *Snapshot) add(object *unstructured.Unstructured) {
	if kept := reduce(object); kept != nil {
		s.objects = append(s.objects, kept)
	}
}

// sort sorts the objects, so that equal clusters yield equal reports. It keeps the first copy of each: two queries may
// return an Event, and a must-gather has the copies of several images.
func (s *Snapshot) sort() {
	byName := func(a, b *unstructured.Unstructured) int {
		return cmp.Or(cmp.Compare(a.GetKind(), b.GetKind()), cmp.Compare(a.GetNamespace(), b.GetNamespace()),
			cmp.Compare(a.GetName(), b.GetName()))
	}
	slices.SortStableFunc(s.objects, byName)
	s.objects = slices.CompactFunc(s.objects, func(a, b *unstructured.Unstructured) bool { return byName(a, b) == 0 })
	slices.SortFunc(s.Unread, func(a, b Unread) int { return cmp.Compare(a.What, b.What) })
}

// NotKnown is the prefix of what Missing returns.
const NotKnown = "not known: "

// Missing returns why something could not be read, "" if it was.
func (s *Snapshot) Missing(what string) string {
	if i := slices.IndexFunc(s.Unread, func(u Unread) bool { return u.What == what }); i >= 0 {
		return NotKnown + s.Unread[i].Why
	}
	return ""
}

// VersionAnnotation on the copy of a revision's credentials names the first revision with that content.
const VersionAnnotation = "cloud-controller-manager.openshift.io/content-since-revision"

var metadata = []string{
	"name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "finalizers", "generation",
}

var annotations = []string{
	"kubernetes.io/config.hash", nodeinitialization.NodeIPAnnotation, tokens.RecordsAnnotation, VersionAnnotation,
	operatorclient.NodeDeletionAnnotation, operatorclient.NodeDeletionsAnnotation,
}

var fields = map[string][][]string{
	"CloudControllerManager": {
		{"spec", "managementState"}, {"spec", "observedConfig", "platform"}, {"spec", "observedConfig", "cloudConfig"},
		{"spec", "observedConfig", "trustedCA"}, {"spec", "observedConfig", "custom", "cloudConfig"}, {"status"},
	},
	"ClusterOperator": {{"status", "conditions"}, {"status", "versions"}},
	"Infrastructure": {
		{"status", "infrastructureName"}, {"status", "controlPlaneTopology"}, {"status", "platformStatus", "type"},
	},
	"Node": {
		{"spec", "providerID"}, {"spec", "taints"}, {"spec", "unschedulable"},
		{"status", "conditions"}, {"status", "addresses"}, {"status", "nodeInfo", "systemUUID"},
	},
	"Pod": {
		{"spec", "nodeName"},
		{"status", "phase"}, {"status", "reason"}, {"status", "message"}, {"status", "conditions"},
		{"status", "initContainerStatuses"}, {"status", "containerStatuses"},
	},
	"Lease":     {{"spec"}},
	"Secret":    {},
	"ConfigMap": {},
	"Event": {
		{"involvedObject"}, {"reason"}, {"message"}, {"source"}, {"type"}, {"count"}, {"firstTimestamp"},
		{"lastTimestamp"}, {"eventTime"},
	},
	"Service": {
		{"spec", "type"}, {"spec", "loadBalancerClass"}, {"status", "loadBalancer"}, {"status", "conditions"},
	},
}

var labelled = []string{"Pod", "Node"}

// data are the keys of Secrets and ConfigMaps that are kept, by the object's name. None is secret: a certificate is
// public, and WithoutContent has removed the inputs' digests.
var data = map[string][]string{
	operand.AcceptedInputsSecret: {operand.AcceptedRecordsKey},
	operand.ServingCertSecret:    {"tls.crt"},
	operand.ServingCAConfigMap:   {"ca-bundle.crt"},
}

// reduce returns what is kept of an object, nil if nothing of its kind is kept.
func reduce(object *unstructured.Unstructured) *unstructured.Unstructured {
	paths, known := fields[object.GetKind()]
	if !known {
		return nil
	}
	kept := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": object.GetAPIVersion(), "kind": object.GetKind(), "metadata": map[string]any{},
	}}
	for _, field := range metadata {
		keep(object, kept, "metadata", field)
	}
	for _, name := range annotations {
		keep(object, kept, "metadata", "annotations", name)
	}
	for _, handover := range slices.Concat(platform.Handovers()) {
		name, _, _ := strings.Cut(handover, "=")
		keep(object, kept, "metadata", "annotations", name)
	}
	if slices.Contains(labelled, object.GetKind()) {
		keep(object, kept, "metadata", "labels")
	}
	for _, path := range paths {
		keep(object, kept, path...)
	}
	for _, key := range data[object.GetName()] {
		keep(object, kept, "data", key)
	}
	kept.SetManagedFields(lastStatus(object))
	return kept
}

func keep(from, to *unstructured.Unstructured, path ...string) {
	if value, found, err := unstructured.NestedFieldCopy(from.Object, path...); found && err == nil {
		// The parents of a path are maps in each object.
		_ = unstructured.SetNestedField(to.Object, value, path...)
	}
}

// maxText is the maximum length of a text that is kept. No kubelet and no CCM writes a longer text. Truncating it could
// leave a part of a secret, which would not be recognized.
const maxText = 32 << 10

func omitLong(value any) any {
	switch value := value.(type) {
	case string:
		if len(value) > maxText {
			return fmt.Sprintf("<%d bytes omitted>", len(value))
		}
	case map[string]any:
		for key := range value {
			value[key] = omitLong(value[key])
		}
	case []any:
		for i := range value {
			value[i] = omitLong(value[i])
		}
	}
	return value
}

func lastStatus(object *unstructured.Unstructured) []metav1.ManagedFieldsEntry {
	writes := slices.DeleteFunc(object.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool {
		return e.Subresource != "status" || e.Time == nil
	})
	if len(writes) == 0 {
		return nil
	}
	last := slices.MaxFunc(writes, func(a, b metav1.ManagedFieldsEntry) int { return a.Time.Compare(b.Time.Time) })
	return []metav1.ManagedFieldsEntry{{
		Manager: last.Manager, Operation: metav1.ManagedFieldsOperationApply, Subresource: "status", Time: last.Time,
	}}
}

// mask changes each message of an object that may quote a container, a cloud or a user.
func mask(value any, change func(string) string) {
	switch value := value.(type) {
	case map[string]any:
		for key, inner := range value {
			if text, is := inner.(string); !is {
				mask(inner, change)
			} else if key == "message" {
				value[key] = change(text)
			}
		}
	case []any:
		for i, inner := range value {
			if text, is := inner.(string); is {
				value[i] = change(text)
			} else {
				mask(inner, change)
			}
		}
	}
}

// messages masks those of an object. What a container logged is reduced to the line that a condition may show.
func messages(object *unstructured.Unstructured, change func(string) string) {
	inside := change
	if object.GetKind() == "Pod" {
		inside = func(text string) string { return terminationmessage.Summary(change(text)) }
	}
	for _, key := range []string{"status", "message"} {
		if text, is := object.Object[key].(string); is {
			object.Object[key] = change(text)
			continue
		}
		mask(object.Object[key], inside)
	}
}
