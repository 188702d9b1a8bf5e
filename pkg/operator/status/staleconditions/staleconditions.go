// Package staleconditions removes conditions that another release of the operator has left in the operator's resource.
package staleconditions

import (
	"context"
	"regexp"
	"slices"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
	"k8s.io/klog/v2"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/reconciler"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
)

const name = "StaleConditionsController"

// suffixes are those that the ClusterOperator aggregates, and that of notices. A condition without one is the record of
// a step, which the release that wrote it may continue.
var suffixes = regexp.MustCompile("(Degraded|Available|Progressing|Upgradeable|Notices)$")

type controller struct {
	dependencies.Deps
	written []string
}

// New returns the controller that removes conditions that no controller of this release writes, started or not: all but
// the written ones. The operator that wrote them no longer runs, because this controller runs only while its process
// holds the lock. Nothing else clears such a condition: a release that is being replaced reports what the next one's
// manifests take from it, such as a right, and the ClusterOperator would stay Degraded.
func New(d dependencies.Deps, written []string) factory.Controller {
	dependencies.Require(d, written)
	c := &controller{Deps: d, written: written}
	return reconciler.New(name, d.Operator, d.Recorder, c.sync)
}

func (c *controller) sync(ctx context.Context, _ factory.SyncContext) error {
	_, status, _, err := c.Operator.GetOperatorState()
	if err != nil {
		return err
	}
	for i := range status.Conditions {
		if condition := &status.Conditions[i]; c.isForeign(condition) {
			klog.FromContext(ctx).Info("Removing the conditions of another release", "first", condition.Type,
				"status", condition.Status, "reason", condition.Reason, "message", condition.Message)
			return operatorclient.RemoveConditions(ctx, c.Operator, c.isForeign)
		}
	}
	return nil
}

func (c *controller) isForeign(condition *operatorv1.OperatorCondition) bool {
	return condition.Type != name+"Degraded" && !slices.Contains(c.written, condition.Type) &&
		suffixes.MatchString(condition.Type)
}
