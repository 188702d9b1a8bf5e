package integration_test

import (
	"context"
	"errors"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/informers"
	"k8s.io/utils/clock"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/lifecycle/unmanaged"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/controllertest"
)

// Two controllers write the summary conditions, one of them while the operand is managed, the other while it is not.
// Each of them forces its values on the fields that the other one owns.
func TestTheSummaryConditionsChangeHands(t *testing.T) {
	t.Parallel()
	const available, text = "CloudControllerManagerAvailable", "1 of 1 cloud-controller-managers are Ready"
	c := startCluster(t, configv1.OpenStackPlatformType)
	c.patchSpec(t, `{"spec":{"observedConfig":{"platform":"openstack"}}}`)
	client, resource, err := operatorclient.New(clock.RealClock{}, c.RESTConfig())
	require.NoError(t, err)
	deployments := informers.NewSharedInformerFactory(c.kube, 0)
	recorder := events.NewInMemoryRecorder("test", clock.RealClock{})
	u := controllertest.Build(t, unmanaged.New, map[string]any{
		"Operator": client, "Target": deployments, "Recorder": recorder,
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	resource.Start(ctx.Done())
	deployments.Start(ctx.Done())
	resource.WaitForCacheSync(ctx.Done())

	apply := func(manager string, conditions ...*operatorclient.Condition) {
		t.Helper()
		require.NoError(t, operatorclient.ApplyConditions(ctx, client, manager, conditions...))
	}
	isCached := func(reason string) {
		t.Helper()
		await(t, reason+" in the cache", func(context.Context) error {
			_, status, _, err := client.GetOperatorState()
			if err != nil {
				return err
			}
			if found := v1helpers.FindOperatorCondition(status.Conditions, available); found != nil && found.Reason == reason {
				return nil
			}
			return errors.New(describe(status.Conditions))
		})
	}
	// An operator has conditions of other controllers too.
	apply("Other", operatorclient.AsExpected("OtherDegraded"))
	works := operatorclient.NewCondition(available, operatorv1.ConditionTrue, "AsExpected", text)
	apply("Availability", works)
	isCached("AsExpected")
	began := time.Now().Truncate(time.Second)
	await(t, "the next second: times have no fractions", func(context.Context) error {
		if time.Now().Truncate(time.Second).Equal(began) {
			return errors.New("not yet")
		}
		return nil
	})
	apply("Removal", operatorclient.NewCondition("Removing", operatorv1.ConditionTrue, "Removed", ""))
	isRemoving := func(want bool) {
		t.Helper()
		await(t, "Removing in the cache", func(context.Context) error {
			_, status, _, err := client.GetOperatorState()
			if err == nil && want == (v1helpers.FindOperatorCondition(status.Conditions, "Removing") == nil) {
				err = errors.New(describe(status.Conditions))
			}
			return err
		})
	}
	isRemoving(true)
	require.NoError(t, u.Sync(ctx, factory.NewSyncContext("test", recorder)))
	isCached("Removed")

	apply("Removal")
	isRemoving(false)
	require.NoError(t, u.Sync(ctx, factory.NewSyncContext("test", recorder)))
	found, err := c.resource(ctx)
	require.NoError(t, err)
	require.Nil(t, v1helpers.FindOperatorCondition(found.Status.Conditions, available), "nothing of it is left")
	require.Nil(t, v1helpers.FindOperatorCondition(found.Status.Conditions, "CloudControllerManagerUpgradeable"))

	apply("Availability", works)
	isCached("AsExpected")
	require.NoError(t, u.Sync(ctx, factory.NewSyncContext("test", recorder)))
	found, err = c.resource(ctx)
	require.NoError(t, err)
	require.Equal(t, text, v1helpers.FindOperatorCondition(found.Status.Conditions, available).Message)
}
