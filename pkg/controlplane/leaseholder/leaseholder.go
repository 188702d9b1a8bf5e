// Package leaseholder finds the node of the process that holds the operand's lease, and has the lease's timings.
package leaseholder

import "strings"

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
