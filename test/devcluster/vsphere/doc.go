// Package vsphere is a stand-in for a vCenter: the simulator of govmomi, with its tags, behind a server that has a
// certificate of a private CA and checks who logs in.
//
// The simulator is what answers, so a cloud-controller-manager finds virtual machines, hosts, clusters and tags as with
// a vCenter. The server in front of it adds what a test needs: a record of every call with the user that made it,
// credentials that can be rotated, and faults. A rotation also ends the sessions of the former user, which a vCenter
// would keep, so that a client cannot hide behind a session that it still has. A path that the simulator does not have
// is answered with 501 and counted under Unserved, and a method with the fault MethodNotFound, as by a vCenter.
//
// The inventory is one datacenter with a cluster for each zone. Region and zones are tags of the categories that
// OpenShift uses. Virtual machines are what SetInstances says.
package vsphere
