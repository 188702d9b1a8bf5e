// Package gcp is a small stand-in for Google Cloud: as much of the Compute Engine API, the logins and the instance
// metadata server as the real cloud-controller-manager asks for until its nodes are initialized, when they go, and for
// load balancers, over TLS with a private CA.
//
// It behaves as Google Cloud does where it matters to a test. A token is issued for an assertion that a key of the
// service account has signed, or for a token of the trusted Kubernetes ServiceAccount, which the security token service
// exchanges and which then impersonates the service account. The API also takes an assertion in place of a token, which
// Google's client libraries send if they have a key. Instances are what SetInstances says. Resources of load balancers
// are kept as clients send them, and answers have what the API adds: identifiers, links, addresses. A resource that
// another one refers to cannot be deleted. A target pool keeps an instance that is deleted, an instance group loses it.
// Every change is complete when it is answered, but clients wait for its operation all the same. Other requests are
// answered with 501 and counted under Unserved. Unlike Google Cloud, it rejects a former key at once, so that a test
// sees who still uses it.
//
// Endpoints have the names of the methods in the API, such as instances.get, so that a record can be compared with
// docs/gcp-permissions.md. Clients find the API by its fixed host names; Hosts returns what they must resolve them to.
package gcp
