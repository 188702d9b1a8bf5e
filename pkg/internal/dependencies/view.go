package dependencies

import (
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
	pods := d.Target.Core().V1().Pods().Lister().Pods(operand.Namespace)
	if s.Pods, err = operatorclient.All(pods, "pods in "+operand.Namespace); err != nil {
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

// Objects reads the ConfigMaps and Secrets of the operand's namespace from the cache.
func (d *Deps) Objects() (operand.Objects, error) {
	core := d.Target.Core().V1()
	return operatorclient.Objects(
		core.ConfigMaps().Lister().ConfigMaps(operand.Namespace), core.Secrets().Lister().Secrets(operand.Namespace))
}
