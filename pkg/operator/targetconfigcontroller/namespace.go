package targetconfigcontroller

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/operatorclient"
)

// namespaceProblem reports the operand's namespace if it does not exist or is being deleted. The credentials
// go with it, so that without this they would be reported as missing.
func (c *controller) namespaceProblem() (*diagnostic.Diagnostic, error) {
	const recreates = "the cluster-version-operator creates it again"
	problem := &diagnostic.Diagnostic{Cause: diagnostic.Configuration, Object: "namespace/" + operatorclient.TargetNamespace}
	namespace, err := c.namespaces.Get(operatorclient.TargetNamespace)
	switch {
	case apierrors.IsNotFound(err):
		problem.Message = "it does not exist, so no configuration can be rolled out; " + recreates + ", see whether that runs"
	case err != nil:
		return nil, fmt.Errorf("%s: %w", problem.Object, err)
	case namespace.DeletionTimestamp != nil:
		problem.Message = "it is being deleted, so no configuration can be rolled out; read its status for what delays the deletion, after which " + recreates
	default:
		return nil, nil
	}
	return problem, nil
}
