package v1

import "k8s.io/apimachinery/pkg/runtime/schema"

// InstanceName is the name of the only CloudControllerManager that the API server accepts.
const InstanceName = "cluster"

var (
	// GroupVersion is the group and version of this package's types.
	GroupVersion = schema.GroupVersion{Group: "operator.openshift.io", Version: "v1"}

	// Kind is the kind of the operator's resource.
	Kind = GroupVersion.WithKind("CloudControllerManager")

	// Resource is the resource under which the API server serves Kind.
	Resource = GroupVersion.WithResource("cloudcontrollermanagers")
)
