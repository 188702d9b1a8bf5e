// Package integration runs the operator's binary against a real API server and a real kube-controller-manager, with
// the ServiceAccount and the rules of its manifests. There are no nodes; the end-to-end tests cover them.
//
// Each test has its own control plane, and they run in parallel, except for those that measure time or memory.
package integration
