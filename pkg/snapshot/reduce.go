package snapshot

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/inputs/tokens"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/nodes/nodeinitialization"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/terminationmessage"
)

// VersionAnnotation on what is kept of a revision's credentials has the first revision with that content.
const VersionAnnotation = "cloud-controller-manager.openshift.io/content-since-revision"

var metadata = []string{"name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "generation"}

var annotations = []string{
	"kubernetes.io/config.hash",
	nodeinitialization.NodeIPAnnotation,
	tokens.RecordsAnnotation,
	VersionAnnotation,
	operatorclient.NodeDeletionAnnotation,
	operatorclient.NodeDeletionsAnnotation,
}

var fields = map[string][][]string{
	"CloudControllerManager": {
		{"spec", "managementState"},
		{"spec", "observedConfig", "platform"},
		{"spec", "observedConfig", "cloudConfig"},
		{"spec", "observedConfig", "trustedCA"},
		{"spec", "observedConfig", "custom", "cloudConfig"},
		{"status"},
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
		{"metadata", "finalizers"},
	},
}

var labelled = []string{"Pod", "Node"}

// data are the keys that are kept of Secrets and ConfigMaps, by name. None has a secret: a certificate is public, and
// WithoutContent has removed the inputs' digests.
var data = map[string][]string{
	operand.AcceptedInputsSecret: {operand.AcceptedRecordsKey},
	operand.ServingCertSecret:    {"tls.crt"},
	operand.ServingCAConfigMap:   {"ca-bundle.crt"},
}

// reduce returns what is kept of an object, nil for a kind of which nothing is.
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

// maxText is the length of the longest text that is kept. No kubelet and no CCM writes a longer one. To cut it could
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

// mask changes each message of an object that may quote a container, a cloud or a person.
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
	for _, path := range [][]string{{"status"}, {"message"}} {
		value, found, err := unstructured.NestedFieldNoCopy(object.Object, path...)
		if !found || err != nil {
			continue
		}
		if text, is := value.(string); is {
			object.Object[path[0]] = change(text)
			continue
		}
		if object.GetKind() == "Pod" {
			mask(value, func(text string) string { return terminationmessage.Summary(change(text)) })
			continue
		}
		mask(value, change)
	}
}
