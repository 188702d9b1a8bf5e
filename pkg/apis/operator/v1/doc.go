// Package v1 holds the operator's own resource, cloudcontrollermanagers.operator.openshift.io/v1.
//
// The resource embeds the specification and status of every static-pod operator, which library-go's controllers own and
// apply. It adds spec.custom, spec.nodeInitialization and spec.removalPolicy, which administrators write.
//
// Clients of the resource are dynamic. The types therefore need neither a scheme nor deep copies.
//
// +groupName=operator.openshift.io
package v1
