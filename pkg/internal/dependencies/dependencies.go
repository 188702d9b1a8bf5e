// Package dependencies contains what most controllers need, and panics if a controller is built without one of its
// dependencies. The compiler accepts nil, and the controller would fail only when it uses it, perhaps after months.
package dependencies

import (
	"fmt"
	"reflect"

	configinformers "github.com/openshift/client-go/config/informers/externalversions/config/v1"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	corev1informers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/utils/clock"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
)

// Deps are what most controllers need. All controllers share one.
type Deps struct {
	Operator v1helpers.StaticPodOperatorClient
	Kube     kubernetes.Interface
	// Target has the informers of the operand's namespace, and Nodes that of the control-plane Nodes.
	Target informers.SharedInformerFactory
	Nodes  corev1informers.NodeInformer
	// Infrastructures has the topology of the control plane.
	Infrastructures configinformers.InfrastructureInformer
	Lease           *controlplane.Lease
	Clock           clock.PassiveClock
	Recorder        events.Recorder
}

// ConfigMaps returns a client that reads the operand's namespace from the cache.
func (d *Deps) ConfigMaps() corev1client.ConfigMapsGetter {
	return v1helpers.CachedConfigMapGetter(d.Kube.CoreV1(), d.byNamespace())
}

// Secrets returns a client that reads the operand's namespace from the cache.
func (d *Deps) Secrets() corev1client.SecretsGetter {
	return v1helpers.CachedSecretGetter(d.Kube.CoreV1(), d.byNamespace())
}

// byNamespace returns what library-go's cached getters read. Despite its name, NewFakeKubeInformersForNamespaces
// returns the type of production code, and it is the only constructor that accepts existing informers.
func (d *Deps) byNamespace() v1helpers.KubeInformersForNamespaces {
	return v1helpers.NewFakeKubeInformersForNamespaces(map[string]informers.SharedInformerFactory{
		operand.Namespace: d.Target,
	})
}

// Accepted is called with the dependencies that Require accepts. Only a test of the wiring replaces it.
var Accepted = func([]any) {}

// Require panics if a dependency is not set: an interface, function, pointer or channel that is nil, or a string, slice
// or map that is empty. In a struct, each field is required, including unexported fields and those of embedded structs.
// A field with the tag optional, whose value is the reason, is not required. Other kinds always count as set, because
// their zero value selects a default.
func Require(dependencies ...any) {
	for i, dependency := range dependencies {
		switch value := reflect.ValueOf(dependency); {
		case !value.IsValid() || !isSet(value):
			panic(fmt.Sprintf("dependency %d is not set", i))
		case value.Kind() == reflect.Struct:
			require(value)
		}
	}
	Accepted(dependencies)
}

func require(options reflect.Value) {
	for field, value := range options.Fields() {
		_, optional := field.Tag.Lookup("optional")
		switch {
		case optional:
		case field.Anonymous && value.Kind() == reflect.Struct:
			require(value)
		case !isSet(value):
			panic(fmt.Sprintf("%s.%s is not set", options.Type(), field.Name))
		}
	}
}

func isSet(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Interface:
		return !v.IsNil() && isSet(v.Elem())
	case reflect.Func, reflect.Pointer, reflect.Chan:
		return !v.IsNil()
	case reflect.String, reflect.Slice, reflect.Map:
		return v.Len() > 0
	default:
		return true
	}
}

// View returns the control plane according to the caches.
func (d *Deps) View() (controlplane.View, error) {
	s := controlplane.State{Now: d.Clock.Now(), Record: d.Lease.Record()}
	var err error
	if s.Spec, s.Status, _, err = d.Operator.GetStaticPodOperatorState(); err != nil {
		return controlplane.View{}, err
	}
	if s.Pods, err = d.Pods(); err != nil {
		return controlplane.View{}, err
	}
	if s.Nodes, err = operatorclient.All(d.Nodes.Lister(), "nodes"); err != nil {
		return controlplane.View{}, err
	}
	infrastructure, err := operatorclient.Find(d.Infrastructures.Lister(), "infrastructure", "", "cluster")
	if err != nil {
		return controlplane.View{}, err
	}
	if infrastructure != nil {
		s.Topology = infrastructure.Status.ControlPlaneTopology
	}
	return controlplane.NewView(s), nil
}

// Pods returns all Pods of the operand's namespace. Like the methods below, it reads the caches; those for single
// objects return nil if the object does not exist.
func (d *Deps) Pods() ([]*corev1.Pod, error) {
	return operatorclient.All(d.Target.Core().V1().Pods().Lister().Pods(operand.Namespace), "pods in "+operand.Namespace)
}

// Objects returns the ConfigMaps and Secrets of the operand's namespace.
func (d *Deps) Objects() (operand.Objects, error) {
	core := d.Target.Core().V1()
	return operatorclient.Objects(
		core.ConfigMaps().Lister().ConfigMaps(operand.Namespace), core.Secrets().Lister().Secrets(operand.Namespace))
}

// Pod returns a Pod of the operand's namespace.
func (d *Deps) Pod(name string) (*corev1.Pod, error) {
	return operatorclient.Find(d.Target.Core().V1().Pods().Lister().Pods(operand.Namespace), "pod",
		operand.Namespace, name)
}

// ConfigMap returns a ConfigMap of the operand's namespace.
func (d *Deps) ConfigMap(name string) (*corev1.ConfigMap, error) {
	return operatorclient.Find(d.Target.Core().V1().ConfigMaps().Lister().ConfigMaps(operand.Namespace), "configmap",
		operand.Namespace, name)
}

// Secret returns a Secret of the operand's namespace.
func (d *Deps) Secret(name string) (*corev1.Secret, error) {
	return operatorclient.Find(d.Target.Core().V1().Secrets().Lister().Secrets(operand.Namespace), "secret",
		operand.Namespace, name)
}
