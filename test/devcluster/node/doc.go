// Package node runs Kubernetes nodes on one Linux machine: each a real kubelet and its own containerd in its own
// network, mount, UTS, IPC and PID namespace, joined by a bridge. It needs root, and the programs containerd, ctr,
// runc, ip and the CNI plugins of Debian's packages containerd, runc, iproute2 and containernetworking-plugins.
//
// A node sees the machine's file system, but has its own /etc/kubernetes, /etc/cni/net.d, /var/lib/kubelet,
// /var/lib/containerd, /var/lib/cni, /var/log, /run/containerd and /run/lock, which lie in one host directory
// (Node.Root). Default paths and port 10250 therefore work on every node, and a test reads a node's files from
// outside.
//
// Nothing outlives the process that started a node: the node ends when its parent does, and the next NewNetwork with
// the same bridge removes what a crashed run left.
package node
