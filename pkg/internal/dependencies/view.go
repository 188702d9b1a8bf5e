package dependencies

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
)

// View reads the caches.
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

// What the methods below read is in the cache of the operand's namespace. Of one object, they return nil if it does not
// exist.

// Pods returns all Pods.
func (d *Deps) Pods() ([]*corev1.Pod, error) {
	return operatorclient.All(d.Target.Core().V1().Pods().Lister().Pods(operand.Namespace), "pods in "+operand.Namespace)
}

// Objects returns all ConfigMaps and Secrets.
func (d *Deps) Objects() (operand.Objects, error) {
	core := d.Target.Core().V1()
	return operatorclient.Objects(
		core.ConfigMaps().Lister().ConfigMaps(operand.Namespace), core.Secrets().Lister().Secrets(operand.Namespace))
}

// Pod returns a Pod.
func (d *Deps) Pod(name string) (*corev1.Pod, error) {
	return operatorclient.Find(d.Target.Core().V1().Pods().Lister().Pods(operand.Namespace), "pod", operand.Namespace, name)
}

// ConfigMap returns a ConfigMap.
func (d *Deps) ConfigMap(name string) (*corev1.ConfigMap, error) {
	return operatorclient.Find(d.Target.Core().V1().ConfigMaps().Lister().ConfigMaps(operand.Namespace), "configmap",
		operand.Namespace, name)
}

// Secret returns a Secret.
func (d *Deps) Secret(name string) (*corev1.Secret, error) {
	return operatorclient.Find(d.Target.Core().V1().Secrets().Lister().Secrets(operand.Namespace), "secret",
		operand.Namespace, name)
}
