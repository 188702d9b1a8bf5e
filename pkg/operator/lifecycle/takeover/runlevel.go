package takeover

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
)

// runLevel is the predecessor's label on the namespace. It keeps OpenShift from checking security context constraints.
// The cluster-version-operator merges labels, so it would stay. The predecessor's pods need it: their ServiceAccount
// may use no constraint, so a pod of theirs that is created again would be refused. That is why no manifest overwrites
// the label.
const runLevel = "openshift.io/run-level"

// dropRunLevel removes the label from the operand's namespace.
func (c *controller) dropRunLevel(ctx context.Context) error {
	namespace, err := operatorclient.Find(c.Namespaces.Lister(), "namespace", "", operand.Namespace)
	if err != nil || namespace == nil {
		return err
	}
	if _, found := namespace.Labels[runLevel]; !found {
		return nil
	}
	patch := fmt.Sprintf(`{"metadata":{"labels":{%q:null}}}`, runLevel)
	_, err = c.Kube.CoreV1().Namespaces().Patch(ctx, operand.Namespace, types.MergePatchType, []byte(patch),
		metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("removing the label %s of namespace/%s: %w", runLevel, operand.Namespace, err)
	}
	return nil
}
