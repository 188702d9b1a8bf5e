// Package conformance checks the operator's idea of a cloud-controller-manager against the cloud-controller-manager's own
// code. It has tests only.
package conformance
