// Package clusteroperatorstatus sums up the operator resource in the ClusterOperator cloud-controller-manager, where
// administrators and the cluster-version-operator look.
package clusteroperatorstatus

import (
	"regexp"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	configv1client "github.com/openshift/client-go/config/clientset/versioned/typed/config/v1"
	configv1informers "github.com/openshift/client-go/config/informers/externalversions/config/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/status"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	"k8s.io/utils/clock"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/operatorclient"
)

// Options are the dependencies of New; all are required.
type Options struct {
	Operator         v1helpers.OperatorClient
	ClusterOperators configv1client.ClusterOperatorsGetter
	// Informer watches at least the ClusterOperator cloud-controller-manager.
	Informer configv1informers.ClusterOperatorInformer
	// Versions is what the controllers publish once their operands are at it. The ClusterOperator keeps an older
	// version until then.
	Versions status.VersionGetter
	Clock    clock.PassiveClock
	Recorder events.Recorder
}

// New returns the controller that unites all conditions of the operator resource by their suffixes.
func New(o Options) factory.Controller {
	return status.NewClusterOperatorStatusController(
		operatorclient.ClusterOperator,
		RelatedObjects(),
		o.ClusterOperators,
		o.Informer,
		o.Operator,
		o.Versions,
		o.Recorder,
		o.Clock,
	).WithDegradedInertia(inertia().Inertia)
}

// inertia is for how long a Degraded condition has to last before the ClusterOperator shows it. What an administrator
// configured wrongly does not pass by itself and is shown at once. So is what has waited long enough before it became a
// condition. A node that reboots and a pod that restarts are given the time that this takes on metal.
func inertia() *status.InertiaConfig {
	const (
		byDefault = 2 * time.Minute
		reboot    = 10 * time.Minute
	)
	return status.MustNewInertia(byDefault,
		status.InertiaCondition{
			ConditionTypeMatcher: regexp.MustCompile(`^(CloudConfig|Credentials|TrustedCA|Image|Configuration|ConfigObservation)Degraded$`),
		},
		status.InertiaCondition{
			ConditionTypeMatcher: regexp.MustCompile(`^(CloudControllerManager|CrashLoop|NodeInitialization|NodeManager|RevisionHeldBack)Degraded$`),
		},
		status.InertiaCondition{
			ConditionTypeMatcher: regexp.MustCompile(`^(NodeController|StaticPods)Degraded$`),
			Duration:             reboot,
		},
	)
}

// RelatedObjects are what must-gather collects, the same as in the ClusterOperator's manifest.
func RelatedObjects() []configv1.ObjectReference {
	return []configv1.ObjectReference{
		{Group: "operator.openshift.io", Resource: "cloudcontrollermanagers", Name: operatorclient.Instance},
		{Resource: "namespaces", Name: operatorclient.OperatorNamespace},
		{Resource: "namespaces", Name: operatorclient.TargetNamespace},
		{Resource: "namespaces", Name: operatorclient.UserConfigNamespace},
		{Resource: "namespaces", Name: operatorclient.ManagedConfigNamespace},
		{
			Group: "cloudcredential.openshift.io", Resource: "credentialsrequests",
			Namespace: "openshift-cloud-credential-operator", Name: "openshift-openstack-cloud-controller-manager",
		},
	}
}
