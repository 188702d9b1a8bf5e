package clusteroperatorstatus

import (
	"context"
	"slices"

	configv1 "github.com/openshift/api/config/v1"
	configv1client "github.com/openshift/client-go/config/clientset/versioned/typed/config/v1"
	configv1listers "github.com/openshift/client-go/config/listers/config/v1"
	configv1helpers "github.com/openshift/library-go/pkg/config/clusteroperator/v1helpers"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ofThePredecessor are the predecessor's controllers with their own conditions, Available and Degraded. library-go
// keeps conditions that it does not know.
var ofThePredecessor = []configv1.ClusterStatusConditionType{
	"CloudConfigController", "TrustedCABundleControllerController",
}

// noData is library-go's reason while no condition has a summary's suffix, as in an operator's first second.
const noData = "NoData"

// successor updates a ClusterOperator that the predecessor may have written, without the predecessor's own conditions.
// A condition without data keeps its value: otherwise Available would be Unknown at the start of each upgrade.
type successor struct {
	configv1client.ClusterOperatorsGetter
	lister configv1listers.ClusterOperatorLister
}

func (s successor) ClusterOperators() configv1client.ClusterOperatorInterface {
	return successorInterface{s.ClusterOperatorsGetter.ClusterOperators(), s.lister}
}

type successorInterface struct {
	configv1client.ClusterOperatorInterface
	lister configv1listers.ClusterOperatorLister
}

func (s successorInterface) UpdateStatus(
	ctx context.Context, wanted *configv1.ClusterOperator, options metav1.UpdateOptions,
) (*configv1.ClusterOperator, error) {
	wanted = wanted.DeepCopy()
	conditions := &wanted.Status.Conditions
	*conditions = slices.DeleteFunc(*conditions, func(c configv1.ClusterOperatorStatusCondition) bool {
		return slices.ContainsFunc(ofThePredecessor, func(controller configv1.ClusterStatusConditionType) bool {
			return c.Type == controller+configv1.OperatorAvailable || c.Type == controller+configv1.OperatorDegraded
		})
	})
	if existing, err := s.lister.Get(wanted.Name); err == nil {
		for i, c := range *conditions {
			previous := configv1helpers.FindStatusCondition(existing.Status.Conditions, c.Type)
			if c.Reason == noData && previous != nil {
				(*conditions)[i] = *previous
			}
		}
	}
	return s.ClusterOperatorInterface.UpdateStatus(ctx, wanted, options)
}
