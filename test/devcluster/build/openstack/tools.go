//go:build tools

// Package openstack names the command that the development cluster builds, so that this module's go.mod and go.sum
// pin everything it needs. It is never compiled.
package openstack

import _ "k8s.io/cloud-provider-openstack/cmd/openstack-cloud-controller-manager"
