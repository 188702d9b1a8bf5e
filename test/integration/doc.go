// Package integration runs the operator's binary against a real API server and a real kube-controller-manager, with
// the ServiceAccount and the rules of its manifests. There are no nodes; the end-to-end tests cover them.
package integration
