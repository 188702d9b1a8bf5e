// Package v1 holds the operator's own resource, cloudcontrollermanagers.operator.openshift.io/v1.
//
// The resource embeds the specification and status of every static-pod operator and adds no field of its own:
// library-go's controllers own and apply those fields, and a field that they do not know would be dropped when
// the object is read as one of theirs.
//
// Clients of the resource are dynamic. The types therefore need neither a scheme nor deep copies.
//
// +groupName=operator.openshift.io
package v1
