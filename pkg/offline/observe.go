package offline

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	configlistersv1 "github.com/openshift/client-go/config/listers/config/v1"
	"github.com/openshift/library-go/pkg/operator/events"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	corev1listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	ccmv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/configobservation"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
)

// Observe runs the operator's observers on the files and returns the observed configuration as JSON.
func (c *Cluster) Observe(payloadVersion string) ([]byte, error) {
	listers, err := c.listers(payloadVersion)
	if err != nil {
		return nil, err
	}
	observed, err := configobservation.Observe(listers, newRecorder(), map[string]any{})
	err = utilerrors.FilterOut(err, func(err error) bool { return errors.As(err, &c.tlsProfile) })
	if err != nil {
		return nil, fmt.Errorf("observing the manifests: %w", err)
	}
	return encode(observed)
}

// TLSProfile returns the diagnostic about a TLS profile that the operator rejects, or none. Observe adds cipher suites
// to such a profile, as the operator does without a former profile.
func (c *Cluster) TLSProfile(occasion Occasion) []diagnostic.Diagnostic {
	if c.tlsProfile == nil {
		return nil
	}
	rejected := configobservation.TLSProfileError{Kept: occasion == Change}
	object := "apiserver." + configv1.GroupName + "/" + operatorclient.Instance
	return []diagnostic.Diagnostic{{
		Kind: diagnostic.Invalid, Object: object, Key: configobservation.TLSProfileKey, Message: rejected.Reason(),
	}}
}

func newRecorder() events.Recorder { return events.NewInMemoryRecorder("render", clock.RealClock{}) }

func encode(observed map[string]any) ([]byte, error) {
	data, err := json.Marshal(observed)
	if err != nil {
		return nil, fmt.Errorf("writing the observed configuration: %w", err)
	}
	return data, nil
}

func (c *Cluster) listers(payloadVersion string) (configobservation.Listers, error) {
	var errs []error
	index := func(kind string, object object) cache.Indexer {
		found, err := c.index(kind, object)
		errs = append(errs, err)
		return found
	}
	featureGates, err := c.featureGates(payloadVersion)
	errs = append(errs, err)
	listers := configobservation.Listers{
		Predecessor:     func() (bool, error) { return false, nil },
		Infrastructures: configlistersv1.NewInfrastructureLister(index("Infrastructure", &configv1.Infrastructure{})),
		Proxies:         configlistersv1.NewProxyLister(index("Proxy", &configv1.Proxy{})),
		APIServers:      configlistersv1.NewAPIServerLister(index("APIServer", &configv1.APIServer{})),
		FeatureGates:    configlistersv1.NewFeatureGateLister(featureGates),
		Networks:        configlistersv1.NewNetworkLister(index("Network", &configv1.Network{})),
		Authentication:  corev1listers.NewConfigMapLister(newIndex()),
		Custom: func() (*ccmv1.CustomCloudControllerManager, error) {
			spec, err := c.spec()
			return spec.Custom, err
		},
		NodeInitialization: func() (*ccmv1.CloudControllerManagerNodeInitialization, error) {
			spec, err := c.spec()
			return spec.NodeInitialization, err
		},
		LogLevel: func() (operatorv1.LogLevel, error) { return operatorv1.Normal, nil },
		Version:  payloadVersion,
	}
	return listers, errors.Join(errs...)
}

// featureGates returns an index with the FeatureGate. It is empty without one, or without a payload version.
func (c *Cluster) featureGates(payloadVersion string) (cache.Indexer, error) {
	if payloadVersion == "" {
		return newIndex(), nil
	}
	if found, _, err := c.gatesOf(payloadVersion); found == nil || err != nil {
		return newIndex(), err
	}
	return c.index("FeatureGate", &configv1.FeatureGate{})
}

// WithoutGate returns why the release does not enable the feature gate, or an empty string if it does.
func (c *Cluster) WithoutGate(gate configv1.FeatureGateName, payloadVersion string) (string, error) {
	found, gates, err := c.gatesOf(payloadVersion)
	switch {
	case err != nil:
		return "", err
	case found == nil:
		return fmt.Sprintf("no manifest is featuregate.%s/%s, which must enable %s",
			configv1.GroupName, operatorclient.Instance, gate), nil
	case !slices.ContainsFunc(gates.Enabled, func(a configv1.FeatureGateAttributes) bool { return a.Name == gate }):
		return fmt.Sprintf("%s does not enable %s in %s", found.Source(), gate, payloadVersion), nil
	}
	return "", nil
}

// gatesOf returns the FeatureGate and its entry for a release, or neither if there is no FeatureGate.
func (c *Cluster) gatesOf(payloadVersion string) (*Manifest, *configv1.FeatureGateDetails, error) {
	gate := &configv1.FeatureGate{}
	found, err := c.config("FeatureGate", gate)
	if found == nil || err != nil {
		return nil, nil, err
	}
	isOfPayload := func(d configv1.FeatureGateDetails) bool { return d.Version == payloadVersion }
	i := slices.IndexFunc(gate.Status.FeatureGates, isOfPayload)
	if i < 0 {
		return nil, nil, fmt.Errorf("%s: status.featureGates has no entry for --payload-version %s: render it for this "+
			"release first", found.Source(), payloadVersion)
	}
	return found, &gate.Status.FeatureGates[i], nil
}

func newIndex() cache.Indexer {
	return cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
}

type object interface {
	runtime.Object
	metav1.Object
}

// index returns an index with the object, decoded into object. Without a cluster, a missing object counts as empty.
func (c *Cluster) index(kind string, object object) (cache.Indexer, error) {
	found, err := c.config(kind, object)
	switch {
	case err != nil:
		return nil, err
	case found == nil && c.live != nil:
		return newIndex(), nil // the observers keep what they observed before
	}
	object.SetName(operatorclient.Instance)
	object.SetNamespace("") // see objectsOf
	index := newIndex()
	if err := index.Add(object); err != nil {
		return nil, fmt.Errorf("indexing %s: %w", kind, err)
	}
	return index, nil
}
