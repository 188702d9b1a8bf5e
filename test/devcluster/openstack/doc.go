// Package openstack is a small stand-in for an OpenStack cloud: as much of Keystone, Nova, Neutron and Octavia as the
// real OpenStack cloud-controller-manager asks for until its nodes are initialized, over TLS with a private CA.
//
// It behaves as the services do where it matters to a test: passwords and tokens are checked, a changed password
// revokes the tokens that were issued for the old one, unknown servers are not found, and every service can be made to
// fail. Nothing can be created in it: servers are what SetServers says, and every other list is empty or constant.
//
// The paths are those of a DevStack (one host, one directory per service). A request for anything that is not served is
// answered with 501 and counted under Unserved.
package openstack
