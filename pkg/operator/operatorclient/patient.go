package operatorclient

import (
	"context"
	"slices"
	"strings"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	applyoperatorv1 "github.com/openshift/client-go/operator/applyconfigurations/operator/v1"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"

	ccmv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
)

// catchUp is how long the cache is given to see a resource that another write has changed.
const (
	catchUp         = 5 * time.Second
	catchUpInterval = 50 * time.Millisecond
)

// patient is a client that does not give up an update of the spec because something else changed: many controllers write
// the status, and all of them at once when the resource is created again. v1helpers.UpdateSpec tries for a third of a
// second, and library-go's config observer then reports Degraded.
type patient struct {
	v1helpers.StaticPodOperatorClient
}

// UpdateOperatorSpec returns a conflict only if the spec is another one than the caller saw, or if the conflicts do not end.
func (c patient) UpdateOperatorSpec(ctx context.Context, version string, spec *operatorv1.OperatorSpec) (*operatorv1.OperatorSpec, string, error) {
	seen, _, cached, err := c.GetOperatorState()
	if err != nil {
		return nil, "", err
	}
	updated, updatedVersion, err := c.StaticPodOperatorClient.UpdateOperatorSpec(ctx, version, spec)
	if !apierrors.IsConflict(err) || version != cached {
		return updated, updatedVersion, err
	}
	conflict := err
	err = wait.PollUntilContextTimeout(ctx, catchUpInterval, catchUp, false, func(ctx context.Context) (bool, error) {
		current, _, latest, err := c.GetOperatorState()
		if err != nil {
			return false, err
		}
		if !equality.Semantic.DeepEqual(current, seen) {
			return false, conflict
		}
		if latest == cached {
			return false, nil
		}
		cached = latest
		updated, updatedVersion, err = c.StaticPodOperatorClient.UpdateOperatorSpec(ctx, latest, spec)
		if apierrors.IsConflict(err) {
			conflict = err
			return false, nil
		}
		return err == nil, err
	})
	if wait.Interrupted(err) {
		err = conflict
	}
	return updated, updatedVersion, err
}

// gone is the error while the resource does not exist.
var gone = apierrors.NewNotFound(ccmv1.Resource.GroupResource(), Instance).Error()

// ApplyOperatorStatus drops a status that says of the resource that it does not exist: it has been created again since,
// and its arrival makes every controller sync.
func (c patient) ApplyOperatorStatus(ctx context.Context, fieldManager string, status *applyoperatorv1.OperatorStatusApplyConfiguration) error {
	if status != nil && saysGone(status.Conditions) {
		return nil
	}
	return c.StaticPodOperatorClient.ApplyOperatorStatus(ctx, fieldManager, status)
}

// ApplyStaticPodOperatorStatus is described at ApplyOperatorStatus.
func (c patient) ApplyStaticPodOperatorStatus(ctx context.Context, fieldManager string, status *applyoperatorv1.StaticPodOperatorStatusApplyConfiguration) error {
	if status != nil && saysGone(status.Conditions) {
		return nil
	}
	return c.StaticPodOperatorClient.ApplyStaticPodOperatorStatus(ctx, fieldManager, status)
}

func saysGone(conditions []applyoperatorv1.OperatorConditionApplyConfiguration) bool {
	return slices.ContainsFunc(conditions, func(c applyoperatorv1.OperatorConditionApplyConfiguration) bool {
		return ptr.Deref(c.Status, "") == operatorv1.ConditionTrue && strings.Contains(ptr.Deref(c.Message, ""), gone)
	})
}
