//go:build tools

// Package clouds names the commands that the tests start, so that this module's go.mod and go.sum pin everything they
// need. It is never compiled.
package clouds

import (
	_ "k8s.io/cloud-provider-aws/cmd/aws-cloud-controller-manager"
	_ "k8s.io/cloud-provider-vsphere/cmd/vsphere-cloud-controller-manager"
	_ "sigs.k8s.io/cloud-provider-azure/cmd/cloud-controller-manager"
	_ "sigs.k8s.io/cloud-provider-azure/cmd/cloud-node-manager"
)
