package targetconfigcontroller

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
)

// checkNamespace reports a missing or terminating operand namespace. The credentials are deleted with the namespace,
// and without this check they would be reported as missing.
func (c *controller) checkNamespace() (*diagnostic.Diagnostic, error) {
	const writer = "the cluster-version-operator"
	d := &diagnostic.Diagnostic{Cause: diagnostic.Configuration, Object: "namespace/" + operatorclient.TargetNamespace}
	namespace, err := c.Namespaces.Lister().Get(operatorclient.TargetNamespace)
	switch {
	case apierrors.IsNotFound(err):
		d.Message = "it does not exist, so no configuration can be rolled out; check that " + writer +
			", which creates it, is running"
	case err != nil:
		return nil, fmt.Errorf("reading %s: %w", d.Object, err)
	case namespace.DeletionTimestamp != nil:
		d.Message = "it is being deleted, so no configuration can be rolled out; read its status for what delays the " +
			"deletion; " + writer + " creates it again afterwards"
	default:
		return nil, nil
	}
	return d, nil
}
