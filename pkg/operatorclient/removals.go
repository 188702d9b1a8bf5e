package operatorclient

import (
	"context"
	"fmt"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/apiserver/jsonpatch"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	ccmv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
)

// Removals are items to remove from a list of the status.
type Removals struct {
	patch *jsonpatch.PatchSet
	count int
}

// Add removes the item with this index, key and, if not empty, reason. Earlier removals from the same list have moved
// it.
func (r *Removals) Add(index int, list, key, value, reason string) {
	if r.patch == nil {
		r.patch = jsonpatch.New()
	}
	path := fmt.Sprintf("%s/%d", list, index-r.count)
	if reason != "" {
		r.patch.WithTest(path+"/reason", reason)
	}
	r.patch.WithRemove(path, jsonpatch.NewTestCondition(path+"/"+key, value))
	r.count++
}

// Apply applies the removals. If an item has changed or moved meanwhile, its test fails, nothing changes, and Apply
// returns a conflict.
func (r *Removals) Apply(ctx context.Context, client v1helpers.OperatorClient) error {
	if r.count == 0 {
		return nil
	}
	err := client.PatchOperatorStatus(ctx, r.patch)
	if apierrors.IsInvalid(err) {
		err = apierrors.NewConflict(ccmv1.Resource.GroupResource(), Instance, err)
	}
	if err != nil {
		return fmt.Errorf("patching the status of cloudcontrollermanager/cluster: %w", err)
	}
	return nil
}

// RemoveConditions removes whole conditions, whoever owns their fields. A field manager that applies nothing gives up
// only the fields that it owns. If another one owns the rest of a condition, that stays without its required
// lastTransitionTime, and the API server rejects the request.
func RemoveConditions(
	ctx context.Context, client v1helpers.OperatorClient, isStale func(*operatorv1.OperatorCondition) bool,
) error {
	_, status, _, err := client.GetOperatorStateWithQuorum(ctx)
	if err != nil {
		return err
	}
	var stale Removals
	for i := range status.Conditions {
		if condition := &status.Conditions[i]; isStale(condition) {
			stale.Add(i, "/status/conditions", "type", condition.Type, condition.Reason)
		}
	}
	return stale.Apply(ctx, client)
}
