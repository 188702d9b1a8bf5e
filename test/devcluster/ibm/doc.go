// Package ibm is a small stand-in for IBM Cloud: as much of IAM, of the resource manager and of VPC infrastructure as
// the real cloud-controller-manager asks for until its nodes are initialized, and for load balancers, over TLS with a
// private CA.
//
// It behaves as IBM Cloud does where it matters to a test: an API key buys a token, which every other request needs;
// requests to the VPC name a version and a generation; lists have pages; a load balancer is busy after a change, and
// rejects another one until then. Instances are what SetInstances says, spread over three zones. Load balancers can be
// created, and the members of their pools change. Unlike IBM Cloud, it rejects the tokens of a former API key at once,
// so that a test sees who still has one.
//
// With Options.Power it also stands in for a workspace of Power Virtual Servers, where the machines are then: each
// request names the workspace in its header CRN, and only the DHCP server of the network knows an address.
//
// Further ports of a load balancer are not served: they belong to a Service whose ports change. Other requests are
// answered with 501 and counted under Unserved.
//
// The cloud-controller-manager asks for nodes at public endpoints, for load balancers at private ones, and at neither
// where the administrator gives it other endpoints. The stand-in has a certificate for all of them, and Hosts returns
// what its clients must resolve them to.
package ibm
