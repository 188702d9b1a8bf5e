package operator

import (
	"maps"
	"slices"
	"strings"

	"github.com/openshift/library-go/pkg/controller/factory"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/configobservation"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/inputs/targetconfigcontroller"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/inputs/tokens"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/inputs/trustedca"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/leader/availability"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/leader/leadership"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/lifecycle/removal"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/nodes/nodedeletion"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/nodes/nodeinitialization"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/nodes/nodemanager"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/resources/admissionpolicies"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/rollout/noderepair"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/rollout/preflight"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/rollout/staticpod"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/services/loadbalancers"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/status/versions"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
)

// Conditions returns the conditions that this release writes, with library-go's, but without controllers' own errors.
func Conditions() []string {
	all := slices.Concat(slices.Collect(maps.Keys(Inertia())), staticpod.Conditions(), []string{
		operatorclient.AvailableCondition, operatorclient.ProgressingCondition, operatorclient.UpgradeableCondition,
		targetconfigcontroller.NoticesCondition, trustedca.ConditionType, preflight.Condition,
		leadership.NodeControllerCondition, nodeinitialization.NoticesCondition, nodemanager.NoticesCondition,
		nodemanager.ProgressingCondition,
		loadbalancers.NoticesCondition, versions.ProgressingCondition,
	})
	// An inertia for a single reason has the key TYPE/REASON.
	all = slices.DeleteFunc(all, func(name string) bool { return strings.Contains(name, "/") })
	slices.Sort(all)
	return slices.Compact(all)
}

func conditionsOf(controllers []factory.Controller) []string {
	all := Conditions()
	for _, controller := range controllers {
		all = append(all, controller.Name()+"Degraded")
	}
	return all
}

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
