// Package configobservation turns the cluster's configuration into spec.observedConfig.
//
// Observers is one list for two users: the operator, whose listers are fed by informers, and render on the bootstrap
// node, whose listers read an index in memory. Each observer owns its paths of pkg/operandconfig and keeps their
// previous values where it cannot tell better: unknown is not empty.
package configobservation

import (
	operatorv1 "github.com/openshift/api/operator/v1"
	configlistersv1 "github.com/openshift/client-go/config/listers/config/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/resourcesynccontroller"
	corev1listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	apisv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
)

// Listers is what the observers read. All fields but Informers are required.
type Listers struct {
	Infrastructures configlistersv1.InfrastructureLister
	Proxies         configlistersv1.ProxyLister
	APIServers      configlistersv1.APIServerLister
	FeatureGates    configlistersv1.FeatureGateLister
	Networks        configlistersv1.NetworkLister

	// Authentication has the ConfigMap extension-apiserver-authentication in kube-system. On the bootstrap node nobody
	// has written it yet.
	Authentication corev1listers.ConfigMapLister

	// LogLevel is the operand's log level, spec.logLevel of the operator's resource.
	LogLevel func() (operatorv1.LogLevel, error)

	// Custom is spec.custom of the operator's resource, nil where it is not set.
	Custom func() (*apisv1.CustomCloudControllerManager, error)

	// NodeInitialization is spec.nodeInitialization of the operator's resource, nil where it is not set.
	NodeInitialization func() (*apisv1.CloudControllerManagerNodeInitialization, error)

	// Predecessor reports whether a Deployment of the predecessor exists. There is none on the bootstrap node.
	Predecessor func() (bool, error)

	// Version is the payload's version: a FeatureGate lists its gates by version.
	Version string

	// Informers fill the listers; nothing is observed before they have synced. There are none on the bootstrap node.
	Informers []factory.Informer
}

// ResourceSyncer returns nil: no observer has a say in what is copied.
func (l Listers) ResourceSyncer() resourcesynccontroller.ResourceSyncer { return nil }

// PreRunHasSynced returns nil: the controller waits for Informers themselves.
func (l Listers) PreRunHasSynced() []cache.InformerSynced { return nil }

// ProxyLister serves library-go's proxy observer.
func (l Listers) ProxyLister() configlistersv1.ProxyLister { return l.Proxies }

// APIServerLister serves library-go's TLS observer.
func (l Listers) APIServerLister() configlistersv1.APIServerLister { return l.APIServers }
