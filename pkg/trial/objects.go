package trial

import (
	corev1 "k8s.io/api/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
)

// Objects are those of the operand's namespace: the last candidate, and the revisions.
type Objects struct {
	ConfigMaps []*corev1.ConfigMap
	Secrets    []*corev1.Secret
}

// ObjectsOf returns the objects of the operand's namespace.
func ObjectsOf(
	configMaps corelisters.ConfigMapNamespaceLister, secrets corelisters.SecretNamespaceLister,
) (o Objects, err error) {
	if o.ConfigMaps, err = operatorclient.All(configMaps, "configmaps in "+operand.Namespace); err != nil {
		return o, err
	}
	o.Secrets, err = operatorclient.All(secrets, "secrets in "+operand.Namespace)
	return o, err
}

// StartsWith returns the digests of what the cloud-controller-manager of a revision starts with, or with 0 that of the
// last candidate.
func (o Objects) StartsWith(revision int32) (operand.StartDigests, error) {
	return operand.StartsWith(o.ConfigMaps, o.Secrets, revision)
}

// Changes returns the digests of what a revision changes that the cloud-controller-manager starts with, none if the
// former one was pruned: then there is nothing to go back to.
func (o Objects) Changes(revision, former int32) (operand.StartDigests, error) {
	before, err := o.StartsWith(former)
	if err != nil || len(before) == 0 {
		return nil, err
	}
	present, err := o.StartsWith(revision)
	return present.Changed(before), err
}
