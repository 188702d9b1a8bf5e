// Package nutanix is a small stand-in for Nutanix' Prism Central: as much of its API v4 as the real
// cloud-controller-manager asks for until its nodes are initialized, and when they go, over TLS with a private CA.
//
// It behaves as Prism Central does where it matters to a test: the first request of a client has a user and a password,
// and its answer a cookie with which the client goes on; a virtual machine that was deleted is not found; and Prism
// Central itself is one of the clusters. Virtual machines are what SetInstances says, spread over two clusters, which
// the cloud-controller-manager takes for zones. The versions 4.0, 4.1 and 4.2 of the API have the same answers. Other
// requests are answered with 501 and counted under Unserved. Unlike Prism Central, it rejects the sessions of a former
// user at once, so that a test sees who still has one.
package nutanix
