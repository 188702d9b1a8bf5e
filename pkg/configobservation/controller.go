// Package configobservation turns the cluster's configuration into spec.observedConfig.
//
// Observers is one list for two users: the operator, whose listers read informers' caches, and render on the bootstrap
// node, whose listers read files. Each observer owns its paths of pkg/operandconfig, and keeps their previous values if
// it cannot determine new ones: unknown is not empty.
package configobservation

import (
	"encoding/json"
	"fmt"
	"reflect"

	operatorv1 "github.com/openshift/api/operator/v1"
	configinformers "github.com/openshift/client-go/config/informers/externalversions/config/v1"
	configlistersv1 "github.com/openshift/client-go/config/listers/config/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/condition"
	"github.com/openshift/library-go/pkg/operator/configobserver"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/resourcesynccontroller"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	corev1informers "k8s.io/client-go/informers/core/v1"
	corev1listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	apisv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/eventfilter"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/redaction"
)

// Inertia is 0, because an invalid configuration does not recover by itself.
var Inertia = operatorclient.Inertia{condition.ConfigObservationDegradedConditionType: operatorclient.AtOnce}

// New returns the controller that keeps spec.observedConfig up to date. If it cannot observe a value, it keeps the
// previous one and sets ConfigObservationDegraded. listers is from NewListers.
func New(operatorClient v1helpers.OperatorClient, listers Listers, recorder events.Recorder) factory.Controller {
	dependencies.Require(listers)
	return configobserver.NewConfigObserver("cloud-controller-manager", operatorClient, redacting(recorder),
		listers, listers.Informers, Observers()...)
}

// NewListers returns what the observers read in a cluster. custom and initialization read spec.custom and
// spec.nodeInitialization; version is the payload's version. authentication must watch at least the ConfigMap
// extension-apiserver-authentication in kube-system. The caller sets Predecessor.
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

// redacting keeps the passwords of proxies out of events, and thus out of the log. library-go records the difference
// between two observed configurations, and its proxy observer records the URLs.
func redacting(recorder events.Recorder) events.Recorder {
	return eventfilter.New(recorder, func(_, message string) (string, bool) { return redaction.Logins(message), true })
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

// Listers is what the observers read. All fields but Informers are required.
type Listers struct {
	Infrastructures configlistersv1.InfrastructureLister
	Proxies         configlistersv1.ProxyLister
	APIServers      configlistersv1.APIServerLister
	FeatureGates    configlistersv1.FeatureGateLister
	Networks        configlistersv1.NetworkLister

	// Authentication reads extension-apiserver-authentication in kube-system, which the bootstrap node does not have.
	Authentication corev1listers.ConfigMapLister

	// LogLevel returns the operand's log level, spec.logLevel of the operator's resource.
	LogLevel func() (operatorv1.LogLevel, error)

	// Custom returns spec.custom of the operator's resource, or nil.
	Custom func() (*apisv1.CustomCloudControllerManager, error)

	// NodeInitialization returns spec.nodeInitialization of the operator's resource, or nil.
	NodeInitialization func() (*apisv1.CloudControllerManagerNodeInitialization, error)

	// Predecessor reports whether a Deployment of the predecessor exists. There is none on the bootstrap node.
	Predecessor func() (bool, error)

	// Version is the payload's version: a FeatureGate lists its gates by version.
	Version string

	// Informers fill the listers; the controller waits until they have synced. There are none on the bootstrap node.
	Informers []factory.Informer
}

// ResourceSyncer returns nil: no observer copies objects.
func (l Listers) ResourceSyncer() resourcesynccontroller.ResourceSyncer { return nil }

// PreRunHasSynced returns nil: the controller waits for Informers itself.
func (l Listers) PreRunHasSynced() []cache.InformerSynced { return nil }

// ProxyLister serves library-go's proxy observer.
func (l Listers) ProxyLister() configlistersv1.ProxyLister { return l.Proxies }

// APIServerLister serves library-go's TLS observer.
func (l Listers) APIServerLister() configlistersv1.APIServerLister { return l.APIServers }

// Confirm returns a function that reports whether spec.observedConfig is what the observers make of the cluster now. It
// is not while the observers have something to correct: after a change of the cluster's configuration, or when another
// client wrote to the field. It is not while the observers reject the platform either, because they cannot know whether
// the cluster's or the observed platform is wrong; they report it.
func Confirm(listers Listers) func(*operatorv1.OperatorSpec) (bool, error) {
	return func(spec *operatorv1.OperatorSpec) (bool, error) {
		for _, informer := range listers.Informers {
			if !informer.HasSynced() {
				return false, nil
			}
		}
		existing := map[string]any{}
		if err := json.Unmarshal(spec.ObservedConfig.Raw, &existing); err != nil {
			return false, fmt.Errorf("decoding spec.observedConfig of cloudcontrollermanager/cluster: %w", err)
		}
		if d, err := decide(listers, existing); err == nil && d.isRefused {
			return false, nil
		}
		// A failing observer keeps the existing value. The controller reports the error.
		observed, _ := Observe(listers, unrecorded(), existing)
		return reflect.DeepEqual(existing, observed), nil
	}
}

// unrecorded returns a recorder that discards events. The controller that writes the configuration records them.
func unrecorded() events.Recorder { return events.NewInMemoryRecorder("", clock.RealClock{}) }
