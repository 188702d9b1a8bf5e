package operator

import (
	"maps"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/configobservation"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/inputs/targetconfigcontroller"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/inputs/tokens"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/leader/availability"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/lifecycle/removal"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/nodes/nodedeletion"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/nodes/nodeinitialization"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/nodes/nodemanager"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/resources/admissionpolicies"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/rollout/noderepair"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/rollout/staticpod"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
)

// Inertia returns the inertia of every Degraded condition that declares one.
func Inertia() operatorclient.Inertia {
	all := operatorclient.Inertia{}
	for _, declared := range []operatorclient.Inertia{
		configobservation.Inertia, targetconfigcontroller.Inertia, tokens.Inertia, staticpod.Inertia, noderepair.Inertia,
		removal.Inertia, nodedeletion.Inertia, nodeinitialization.Inertia, nodemanager.Inertia, availability.Inertia,
		admissionpolicies.Inertia,
	} {
		maps.Copy(all, declared)
	}
	return all
}
