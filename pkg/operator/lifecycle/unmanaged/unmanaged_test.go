package unmanaged

import (
	"context"
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	applyoperatorv1 "github.com/openshift/client-go/operator/applyconfigurations/operator/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/controllertest"
)

func conditions(reason, message string) []operatorv1.OperatorCondition {
	return []operatorv1.OperatorCondition{
		{Type: "CloudControllerManagerAvailable", Status: "True", Reason: reason, Message: message},
		{Type: "CloudControllerManagerProgressing", Status: "False", Reason: reason, Message: message},
		{Type: "CloudControllerManagerDegraded", Status: "False", Reason: reason, Message: message},
		{Type: "CloudControllerManagerUpgradeable", Status: "True", Reason: reason, Message: message},
	}
}

// releases counts the calls in which the field manager applied nothing.
type releases struct {
	v1helpers.OperatorClient
	count int
}

func (r *releases) ApplyOperatorStatus(ctx context.Context, manager string, status *applyoperatorv1.OperatorStatusApplyConfiguration) error {
	if len(status.Conditions) == 0 {
		r.count++
	}
	return r.OperatorClient.ApplyOperatorStatus(ctx, manager, status)
}

func TestWhatWasSaidIsTakenBackWhenSomethingIsToRun(t *testing.T) {
	for name, tc := range map[string]struct {
		status []operatorv1.OperatorCondition
		want   int
	}{
		"nothing was said":                     {},
		"something was":                        {status: conditions("CloudControllerManagerOfTheAdministrator", "The administrator runs one"), want: 1},
		"a removal was reported":               {status: conditions("Removed", "it is removed"), want: 1},
		"the rest of it was taken back before": {status: conditions("Removed", "it is removed")[:3]},
		"another manager wrote it":             {status: conditions("AsExpected", "")},
	} {
		t.Run(name, func(t *testing.T) {
			client := &releases{OperatorClient: v1helpers.NewFakeOperatorClient(&operatorv1.OperatorSpec{
				ObservedConfig: runtime.RawExtension{Raw: []byte(`{"platform":"openstack"}`)},
			}, &operatorv1.OperatorStatus{Conditions: tc.status}, nil)}
			recorder := events.NewInMemoryRecorder("test", clocktesting.NewFakePassiveClock(time.Unix(0, 0)))
			c := newTestController(t, client, recorder)
			require.NoError(t, c.Sync(t.Context(), factory.NewSyncContext("test", recorder)))
			require.Equal(t, tc.want, client.count)
		})
	}
}

func TestSync(t *testing.T) {
	for name, tc := range map[string]struct {
		observed string
		want     []operatorv1.OperatorCondition
	}{
		"on a platform without an operand it is available": {
			observed: `{"platform":"none"}`,
			want: conditions("PlatformWithoutCloudControllerManager", "the platform in status.platformStatus.type of infrastructure.config.openshift.io/cluster "+
				"needs no cloud-controller-manager from this operator"),
		},
		"on an External platform whose nodes wait for nothing too": {
			observed: `{"platform":"none","cluster":{"status":{"type":"External","external":{"cloudControllerManager":{"state":"None"}}}}}`,
			want: conditions("ExternalWithoutCloudControllerManager", "the platform is External, and status.platformStatus.external.cloudControllerManager.state "+
				"of infrastructure.config.openshift.io/cluster is not External: the nodes do not wait for a cloud-controller-manager"),
		},
		"where the administrator runs one, it says how the operator would": {
			observed: `{"platform":"none","cluster":{"status":{"type":"External","external":{"cloudControllerManager":{"state":"External"}}}}}`,
			want: conditions("CloudControllerManagerOfTheAdministrator", "the platform is External and its nodes wait for a cloud-controller-manager "+
				"that the administrator runs; to let this operator run it, set spec.custom of cloudcontrollermanager/cluster"),
		},
		"where an operand is to run, others report": {
			observed: `{"platform":"openstack"}`,
		},
		"while the platform is unknown nothing is claimed": {
			observed: `{}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			operator := v1helpers.NewFakeOperatorClient(&operatorv1.OperatorSpec{
				ObservedConfig: runtime.RawExtension{Raw: []byte(tc.observed)},
			}, &operatorv1.OperatorStatus{}, nil)
			recorder := events.NewInMemoryRecorder("test", clocktesting.NewFakePassiveClock(time.Unix(0, 0)))
			c := newTestController(t, operator, recorder)
			for range 2 {
				require.NoError(t, c.Sync(t.Context(), factory.NewSyncContext("test", recorder)))
			}
			_, got, _, err := operator.GetOperatorState()
			require.NoError(t, err)
			require.Equal(t, tc.want, got.Conditions)
			require.Empty(t, recorder.Events())
		})
	}
}

func TestARemovalIsReported(t *testing.T) {
	const (
		removingMessage = "the cloud-controller-manager is being removed; the condition Removing of cloudcontrollermanager/cluster has the step"
		removedMessage  = "spec.managementState of cloudcontrollermanager/cluster is Removed: this operator runs no cloud-controller-manager; " +
			"set it to Managed to run one again"
	)
	for step, want := range map[string][]operatorv1.OperatorCondition{
		"RemovingStaticPods": withProgress(conditions("Removing", removingMessage)),
		"RemovingObjects":    withProgress(conditions("Removing", removingMessage)),
		"Restoring":          withProgress(conditions("Removing", removingMessage)),
		"Removed":            conditions("Removed", removedMessage),
	} {
		t.Run(step, func(t *testing.T) {
			removing := operatorv1.OperatorCondition{Type: "Removing", Status: "True", Reason: step}
			operator := v1helpers.NewFakeOperatorClient(&operatorv1.OperatorSpec{
				ObservedConfig: runtime.RawExtension{Raw: []byte(`{"platform":"openstack"}`)},
			}, &operatorv1.OperatorStatus{Conditions: []operatorv1.OperatorCondition{removing}}, nil)
			recorder := events.NewInMemoryRecorder("test", clocktesting.NewFakePassiveClock(time.Unix(0, 0)))
			c := newTestController(t, operator, recorder)
			require.NoError(t, c.Sync(t.Context(), factory.NewSyncContext("test", recorder)))
			_, got, _, err := operator.GetOperatorState()
			require.NoError(t, err)
			require.Subset(t, got.Conditions, want)
		})
	}
}

func withProgress(conditions []operatorv1.OperatorCondition) []operatorv1.OperatorCondition {
	conditions[1].Status = operatorv1.ConditionTrue
	return conditions
}

// deployments returns the informer with Deployments of these names.
// newTestController returns the controller of a cluster that has these Deployments.
func newTestController(
	t *testing.T, client v1helpers.OperatorClient, recorder events.Recorder, names ...string,
) factory.Controller {
	t.Helper()
	target := informers.NewSharedInformerFactory(fake.NewClientset(), 0)
	for _, name := range names {
		require.NoError(t, target.Apps().V1().Deployments().Informer().GetStore().Add(&appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Namespace: "openshift-cloud-controller-manager", Name: name},
		}))
	}
	return New(controllertest.Complete(t, dependencies.Deps{
		Operator: controllertest.StaticPods(client), Target: target, Recorder: recorder,
	}))
}

func TestThePredecessorBesideARemovedOperandIsReported(t *testing.T) {
	const message = "spec.managementState of cloudcontrollermanager/cluster is Removed, but deployment/openstack-cloud-controller-manager in " +
		"openshift-cloud-controller-manager of the former operator exists; the new version is not reported, because an upgrade then deletes " +
		"the rights of that Deployment; set spec.managementState to Managed to replace it, or delete it to run no cloud-controller-manager"
	for name, tc := range map[string]struct {
		state operatorv1.ManagementState
		step  string
		runs  string
		want  operatorv1.ConditionStatus
	}{
		"it runs beside a removed operand": {operatorv1.Removed, "Removed", "openstack-cloud-controller-manager", "True"},
		"another Deployment is no matter":  {operatorv1.Removed, "Removed", "of-others", "False"},
		"a removal has not ended":          {operatorv1.Removed, "RemovingObjects", "openstack-cloud-controller-manager", "False"},
		"it is about to be replaced":       {operatorv1.Managed, "Removed", "openstack-cloud-controller-manager", "False"},
	} {
		t.Run(name, func(t *testing.T) {
			operator := v1helpers.NewFakeOperatorClient(&operatorv1.OperatorSpec{
				ManagementState: tc.state, ObservedConfig: runtime.RawExtension{Raw: []byte(`{"platform":"openstack"}`)},
			}, &operatorv1.OperatorStatus{Conditions: []operatorv1.OperatorCondition{
				{Type: "Removing", Status: "True", Reason: tc.step},
			}}, nil)
			recorder := events.NewInMemoryRecorder("test", clocktesting.NewFakePassiveClock(time.Unix(0, 0)))
			c := newTestController(t, operator, recorder, tc.runs)
			require.NoError(t, c.Sync(t.Context(), factory.NewSyncContext("test", recorder)))
			_, got, _, err := operator.GetOperatorState()
			require.NoError(t, err)
			degraded := v1helpers.FindOperatorCondition(got.Conditions, "CloudControllerManagerDegraded")
			require.Equal(t, tc.want, degraded.Status)
			if tc.want == "True" {
				require.Equal(t, "PredecessorRuns", degraded.Reason)
				require.Equal(t, message, degraded.Message)
			}
		})
	}
}
