// Package integration runs the operator's own binary against a real API server and a real kube-controller-manager, with
// the ServiceAccount and the rules of its manifests. There are no nodes: what happens on one is the end-to-end tests'
// matter.
package integration
