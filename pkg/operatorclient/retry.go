package operatorclient

import (
	"context"
	"errors"
	"fmt"
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

const (
	// catchUp is how long UpdateOperatorSpec waits for the cache after a conflict. Five seconds were too short beside a
	// busy API server, while the controllers applied their first conditions.
	catchUp         = 30 * time.Second
	catchUpInterval = 50 * time.Millisecond

	// requestLimit is how long an apply may take. The controller retries it. Without a limit, a hung request would last
	// until HTTP/2 detects a dead connection, which takes 45 seconds, or until the API server's own limit of a minute.
	requestLimit = 15 * time.Second

	// turnLimit is how long an apply waits for another one. The API server's answer usually takes less.
	turnLimit = time.Second
)

// retryingClient retries an update of the spec after a conflict with a change of another part: v1helpers.UpdateSpec
// retries for a third of a second, and library-go's config observer then reports Degraded.
//
// It applies one status at a time. The API server repeats an apply that loses a race, with the validation of the whole
// resource: of 47 concurrent applies at the operator's start, each took 730 ms. A slow one delays others by up to
// turnLimit.
type retryingClient struct {
	v1helpers.StaticPodOperatorClient
	// turn is a semaphore of one.
	turn chan struct{}
}

// apply runs an apply once it is its turn, or after turnLimit.
func (c *retryingClient) apply(ctx context.Context, request func(context.Context) error) error {
	limit := time.NewTimer(turnLimit)
	defer limit.Stop()
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-limit.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	ctx, cancel := context.WithTimeoutCause(ctx, requestLimit, errNoAnswer)
	defer cancel()
	err := request(ctx)
	if err != nil && errors.Is(context.Cause(ctx), errNoAnswer) {
		return errNoAnswer
	}
	return err
}

var errNoAnswer = fmt.Errorf("the API server has not answered for %s", requestLimit)

// UpdateOperatorSpec returns a conflict only if another client changed the spec, if the conflicts last for catchUp, or
// if the cache does not have the version. library-go's client writes the cached object with the given version, which
// v1helpers.UpdateSpec takes from a live read after a conflict: changes that the cache lacks would be lost.
func (c *retryingClient) UpdateOperatorSpec(
	ctx context.Context, version string, spec *operatorv1.OperatorSpec,
) (*operatorv1.OperatorSpec, string, error) {
	seen, _, cached, err := c.GetOperatorState()
	if err != nil {
		return nil, "", err
	}
	if version != cached {
		return nil, "", apierrors.NewConflict(ccmv1.Resource.GroupResource(), Instance,
			fmt.Errorf("the cache has version %s and not %s", cached, version))
	}
	updated, updatedVersion, err := c.StaticPodOperatorClient.UpdateOperatorSpec(ctx, version, spec)
	if !apierrors.IsConflict(err) {
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

var notFoundMessage = apierrors.NewNotFound(ccmv1.Resource.GroupResource(), Instance).Error()

// ApplyOperatorStatus drops a status that reports that the resource does not exist: it has been recreated since, and
// its event makes every controller sync.
func (c *retryingClient) ApplyOperatorStatus(
	ctx context.Context, fieldManager string, status *applyoperatorv1.OperatorStatusApplyConfiguration,
) error {
	if status != nil && reportsNotFound(status.Conditions) {
		return nil
	}
	if status != nil {
		boundConditions(status.Conditions)
	}
	return c.apply(ctx, func(ctx context.Context) error {
		return c.StaticPodOperatorClient.ApplyOperatorStatus(ctx, fieldManager, status)
	})
}

// ApplyStaticPodOperatorStatus drops such a status too.
func (c *retryingClient) ApplyStaticPodOperatorStatus(
	ctx context.Context, fieldManager string, status *applyoperatorv1.StaticPodOperatorStatusApplyConfiguration,
) error {
	if status != nil && reportsNotFound(status.Conditions) {
		return nil
	}
	if status != nil {
		boundConditions(status.Conditions)
		boundNodes(status.NodeStatuses)
	}
	return c.apply(ctx, func(ctx context.Context) error {
		return c.StaticPodOperatorClient.ApplyStaticPodOperatorStatus(ctx, fieldManager, status)
	})
}

func reportsNotFound(conditions []Condition) bool {
	return slices.ContainsFunc(conditions, func(c Condition) bool {
		return ptr.Deref(c.Status, "") == operatorv1.ConditionTrue &&
			strings.Contains(ptr.Deref(c.Message, ""), notFoundMessage)
	})
}
