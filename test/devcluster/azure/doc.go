// Package azure is a small stand-in for Azure and for an Azure Stack Hub: as much of the resource manager, the login
// and the instance metadata service as the real cloud-controller-manager and cloud-node-manager ask for until their
// nodes are initialized, when they go, and for a public load balancer, over TLS with a private CA.
//
// It behaves as Azure does where it matters to a test: a token is issued for a client secret and an audience only,
// every request needs one and an api-version, a deleted virtual machine is not found, and the instance view is left
// out unless a request expands it. Virtual machines are what SetInstances says, and scale sets what SetScaleSet says.
// Scale sets are uniform, and clients can only read them: no member joins a load balancer. Public IP addresses, load
// balancers and security groups can be created. They are kept as clients send them, and answers have what the resource
// manager adds: identifiers, etags, the public address, and which interfaces and rules refer to the parts of a load
// balancer. A change of an older version than the current one is rejected. There is no load balancer at first, as in a
// private cluster whose outbound traffic has a route of its own. Every change is complete when it is answered. Other
// requests are answered with 501 and counted under Unserved. Unlike Azure, it rejects the tokens of a former client
// secret at once, so that a test sees who still has one.
//
// The SDK has fixed endpoints for Azure, and those of an Azure Stack Hub are names too. The stand-in serves all of them
// by their names; Hosts returns what its clients must resolve them to.
//
// The SDK's own fakes (packages fake of armcompute and armnetwork) are transports inside of a client: they read the
// operation from a value that the client leaves in the request's context, which no server has, and they know nothing of
// the login. Behind a listener they would save three answers, for two of the largest modules of the SDK.
package azure
