package configobservation

import (
	operatorv1 "github.com/openshift/api/operator/v1"
	configinformers "github.com/openshift/client-go/config/informers/externalversions/config/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/condition"
	"github.com/openshift/library-go/pkg/operator/configobserver"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	corev1informers "k8s.io/client-go/informers/core/v1"

	apisv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
)

// Inertia is that of the condition: an invalid configuration does not recover by itself.
var Inertia = operatorclient.Inertia{condition.ConfigObservationDegradedConditionType: operatorclient.AtOnce}

// New returns the controller that keeps spec.observedConfig up to date. What it cannot observe it reports as
// ConfigObservationDegraded, and keeps the previous value. listers comes from NewListers.
func New(operatorClient v1helpers.OperatorClient, listers Listers, recorder events.Recorder) factory.Controller {
	dependencies.Require(listers)
	return configobserver.NewConfigObserver("cloud-controller-manager", operatorClient, redacting(recorder),
		listers, listers.Informers, Observers()...)
}

// NewListers returns what the observers read in a cluster. custom and initialization read spec.custom and
// spec.nodeInitialization, version is the payload's version. authentication watches ConfigMaps in kube-system, at least
// extension-apiserver-authentication.
func NewListers(
	operatorClient v1helpers.OperatorClient, custom func() (*apisv1.CustomCloudControllerManager, error),
	initialization func() (*apisv1.CloudControllerManagerNodeInitialization, error),
	config configinformers.Interface, authentication corev1informers.ConfigMapInformer, version string,
) Listers {
	return Listers{
		Infrastructures:    config.Infrastructures().Lister(),
		Proxies:            config.Proxies().Lister(),
		APIServers:         config.APIServers().Lister(),
		FeatureGates:       config.FeatureGates().Lister(),
		Networks:           config.Networks().Lister(),
		Authentication:     authentication.Lister(),
		Custom:             custom,
		NodeInitialization: initialization,
		Version:            version,
		LogLevel:           logLevel(operatorClient),
		Informers: []factory.Informer{
			operatorClient.Informer(),
			config.Infrastructures().Informer(),
			config.Proxies().Informer(),
			config.APIServers().Informer(),
			config.FeatureGates().Informer(),
			config.Networks().Informer(),
			authentication.Informer(),
		},
	}
}

func logLevel(operatorClient v1helpers.OperatorClient) func() (operatorv1.LogLevel, error) {
	return func() (operatorv1.LogLevel, error) {
		spec, _, _, err := operatorClient.GetOperatorState()
		if err != nil {
			return "", err
		}
		return spec.LogLevel, nil
	}
}
