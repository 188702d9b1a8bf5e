package takeover

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
)

// cloudControllerOwner is the condition with which cluster-kube-controller-manager-operator says that
// kube-controller-manager runs the cloud controllers.
const cloudControllerOwner = "CloudControllerOwner"

var kubeControllerManagers = schema.GroupVersionResource{
	Group: "operator.openshift.io", Version: "v1", Resource: "kubecontrollermanagers",
}

// InTree returns the function that asks whether kube-controller-manager runs the cloud controllers. A cluster without
// its operator's resource has no in-tree cloud controllers.
func InTree(client dynamic.Interface) func(context.Context) (bool, error) {
	return func(ctx context.Context) (bool, error) {
		object, err := client.Resource(kubeControllerManagers).Get(ctx, operatorclient.Instance, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		if err != nil {
			return false, fmt.Errorf("reading kubecontrollermanager/%s: %w", operatorclient.Instance, err)
		}
		conditions, _, err := unstructured.NestedSlice(object.Object, "status", "conditions")
		if err != nil {
			return false, fmt.Errorf("reading kubecontrollermanager/%s: %w", operatorclient.Instance, err)
		}
		for _, item := range conditions {
			condition, _ := item.(map[string]any)
			if condition["type"] == cloudControllerOwner {
				return condition["status"] == string(metav1.ConditionTrue), nil
			}
		}
		return false, nil
	}
}
