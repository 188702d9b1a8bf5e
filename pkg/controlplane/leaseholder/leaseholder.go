// Package leaseholder finds the node of the process that holds the operand's lease, and has the lease's timings.
package leaseholder

import (
	"context"
	"fmt"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/utils/ptr"
)

// Identity returns the identity of a lease's holder, "" if there is none.
func Identity(lease *coordinationv1.Lease) string { return ptr.Deref(lease.Spec.HolderIdentity, "") }

// Node returns the one of nodes that the lease names, "" if there is none. Whether its process is one of ours and
// renews the lease is what a controlplane.View says.
func Node(lease *coordinationv1.Lease, nodes []string) string { return NodeOf(Identity(lease), nodes) }

// Release frees a lease, unless it has changed since it was read. client-go's leader election lets the first that asks
// acquire a lease without a holder, whatever its times are.
func Release(
	ctx context.Context, client coordinationv1client.LeasesGetter, lease *coordinationv1.Lease,
) error {
	lease = lease.DeepCopy()
	lease.Spec.HolderIdentity = ptr.To("")
	if _, err := client.Leases(lease.Namespace).Update(ctx, lease, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("releasing lease/%s in %s: %w", lease.Name, lease.Namespace, err)
	}
	return nil
}

// NodeOf returns the node with the identity "<hostname>_<UUID>", or "". Node name and host name may differ in form:
// one may be the full name and the other the short one.
func NodeOf(identity string, nodes []string) string {
	host, _, _ := strings.Cut(identity, "_")
	byShortName := ""
	for _, node := range nodes {
		if node == host {
			return node
		}
		if Short(node) == Short(host) && (byShortName == "" || node < byShortName) {
			byShortName = node
		}
	}
	return byShortName
}

// Short returns a host name without its domain.
func Short(host string) string {
	name, _, _ := strings.Cut(host, ".")
	return name
}
