// Package aws is a small stand-in for Amazon EC2: as much of its Query API as the real AWS cloud-controller-manager
// asks for until its nodes are initialized and when they go, over TLS with a private CA.
//
// It behaves as EC2 does where it matters to a test: the signature of every request is checked, an unknown instance is
// an error, a terminated one is still described, and lists have pages. Nothing can be created in it: instances are what
// SetInstances says. An action that is not served is answered with InvalidAction and counted under Unserved.
//
// There is no metadata service: the cloud configuration has what the cloud-controller-manager would ask it for.
//
// The servers for the whole of AWS that exist in Go are young, large, and answer no faults on demand. Three actions,
// which are all that is asked for, are less than such a dependency.
package aws
