package staticpod

import (
	"github.com/openshift/library-go/pkg/operator/revisioncontroller"
	"github.com/openshift/library-go/pkg/operator/staticpod/controller/installer"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
)

// synced returns the objects of one kind that the installer writes into operand.CertDir and the file-syncer keeps up
// to date there.
func synced(kind operand.Kind) []installer.UnrevisionedResource {
	var resources []installer.UnrevisionedResource
	for _, name := range operand.DeliveredBy(kind, operand.Synced) {
		resources = append(resources, installer.UnrevisionedResource{Name: name})
	}
	return resources
}

// revisioned returns the objects of one kind that are copied for each revision. None is optional: an object that
// appears later would cause a rollout.
func revisioned(kind operand.Kind) []revisioncontroller.RevisionResource {
	var resources []revisioncontroller.RevisionResource
	for _, name := range operand.DeliveredBy(kind, operand.Revisioned) {
		resources = append(resources, revisioncontroller.RevisionResource{Name: name})
	}
	return resources
}
