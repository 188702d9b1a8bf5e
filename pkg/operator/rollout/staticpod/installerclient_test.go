package staticpod

import (
	"fmt"
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	applyoperatorv1 "github.com/openshift/client-go/operator/applyconfigurations/operator/v1"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/controllertest"
)

func viewOf(status operatorv1.StaticPodOperatorStatus) controlplane.View {
	return controlplane.NewView(controlplane.State{Status: &status})
}

func TestAFailureThatIsOverIsForgotten(t *testing.T) {
	failedAt := metav1.NewTime(time.Date(2026, 11, 21, 9, 0, 0, 0, time.Local))
	for name, tc := range map[string]struct {
		current, target int32
		forgotten       bool
	}{
		"the node is at the revision that failed": {current: 3, forgotten: true},
		"the node is at a newer revision":         {current: 4, forgotten: true},
		"the node still tries":                    {current: 2, target: 3},
		"the node has given up":                   {current: 2},
		"the node is on its way to a newer one":   {current: 3, target: 4},
	} {
		t.Run(name, func(t *testing.T) {
			shown := []operatorv1.NodeStatus{{NodeName: "master-0"}}
			operator := newAppliedStatus(operatorv1.OperatorSpec{}, &operatorv1.StaticPodOperatorStatus{NodeStatuses: shown})
			node := applyoperatorv1.NodeStatus().WithNodeName("master-0").WithCurrentRevision(tc.current).
				WithTargetRevision(tc.target).
				WithLastFailedRevision(3).WithLastFailedReason("OperandFailed").WithLastFailedCount(2).WithLastFallbackCount(1).
				WithLastFailedTime(failedAt).WithLastFailedRevisionErrors("no route to host")
			client := &installerClient{StaticPodOperatorClient: operator, view: viewOf(operatorv1.StaticPodOperatorStatus{
				NodeStatuses: shown,
			})}
			require.NoError(t, client.ApplyStaticPodOperatorStatus(
				t.Context(), "installer", applyoperatorv1.StaticPodOperatorStatus().WithNodeStatuses(node)))

			_, status, _, err := operator.GetStaticPodOperatorState()
			require.NoError(t, err)
			want := operatorv1.NodeStatus{NodeName: "master-0", CurrentRevision: tc.current, TargetRevision: tc.target}
			if !tc.forgotten {
				want.LastFailedRevision, want.LastFailedReason = 3, "OperandFailed"
				want.LastFailedCount, want.LastFallbackCount = 2, 1
				want.LastFailedTime, want.LastFailedRevisionErrors = &failedAt, []string{"no route to host"}
			}
			require.Equal(t, []operatorv1.NodeStatus{want}, status.NodeStatuses)
		})
	}
}

func TestTheLeadersNodeIsLast(t *testing.T) {
	for name, tc := range map[string]struct {
		holder       *string
		predecessors []string
		want         []string
	}{
		"no lease":                  {want: []string{"m0", "m1", "m2"}},
		"nobody holds it":           {holder: ptr.To(""), want: []string{"m0", "m1", "m2"}},
		"the first node's process":  {holder: ptr.To("m0_uuid"), want: []string{"m1", "m2", "m0"}},
		"the second node's process": {holder: ptr.To("m1.example.com_uuid"), want: []string{"m0", "m2", "m1"}},
		"the last node's process":   {holder: ptr.To("m2_uuid"), want: []string{"m0", "m1", "m2"}},
		"a predecessor, which leads": {
			holder: ptr.To("m0_uuid"), predecessors: []string{"m0", "m1"}, want: []string{"m2", "m1", "m0"},
		},
		"a predecessor, without lease": {predecessors: []string{"m0"}, want: []string{"m1", "m2", "m0"}},
		"a process of no node of ours": {holder: ptr.To("worker_uuid"), want: []string{"m0", "m1", "m2"}},
	} {
		t.Run(name, func(t *testing.T) {
			var lease controlplane.Lease
			if tc.holder != nil {
				lease.See(&coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{HolderIdentity: tc.holder}}, time.Unix(0, 0))
			}
			clock := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
			status := &operatorv1.StaticPodOperatorStatus{OperatorStatus: operatorv1.OperatorStatus{LatestAvailableRevision: 1}}
			operator := v1helpers.NewFakeStaticPodOperatorClient(&operatorv1.StaticPodOperatorSpec{}, status, nil, nil)
			deps := controllertest.Complete(t, dependencies.Deps{Operator: operator, Lease: &lease, Clock: clock})
			pods := deps.Target.Core().V1().Pods().Informer().GetStore()
			for _, node := range tc.predecessors {
				require.NoError(t, pods.Add(&corev1.Pod{
					ObjectMeta: metav1.ObjectMeta{
						Namespace: "openshift-cloud-controller-manager", Name: "openstack-cloud-controller-manager-" + node,
						Labels: map[string]string{"infrastructure.openshift.io/cloud-controller-manager": "OpenStack"},
					},
					Spec: corev1.PodSpec{NodeName: node},
				}))
			}
			nodes := deps.Nodes.Informer().GetStore()
			for _, node := range []string{"m0", "m1", "m2"} {
				status.NodeStatuses = append(status.NodeStatuses, operatorv1.NodeStatus{NodeName: node})
				require.NoError(t, nodes.Add(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}))
			}
			client := &installerClient{StaticPodOperatorClient: operator, next: &nextNode{Deps: deps}}
			var order []string
			for range status.NodeStatuses {
				require.NoError(t, client.choose())
				clock.SetTime(clock.Now().Add(client.chosen.wait))
				if client.chosen.node == nil { // A leader that has not settled
					require.NoError(t, client.choose())
				}
				order = append(order, client.chosen.node.NodeName)
				client.chosen.node.CurrentRevision = 1
			}
			require.Equal(t, tc.want, order)
		})
	}
}

func TestTheObjectsOfRevisionZeroAreNotMissing(t *testing.T) {
	const missing = "missing required resources: configmaps: cloud-config-%d"
	for name, tc := range map[string]struct {
		// read is the latest revision that the controller read, made how many were made before it reported.
		read, made  int32
		message     string
		wantStatus  operatorv1.ConditionStatus
		wantMessage string
	}{
		"before the first revision": {
			message: missing, wantStatus: operatorv1.ConditionFalse, wantMessage: "no revision exists yet",
		},
		"another error before the first one": {
			message: "no quota", wantStatus: operatorv1.ConditionTrue, wantMessage: "no quota",
		},
		"the first one was made meanwhile": {
			made: 1, message: missing, wantStatus: operatorv1.ConditionFalse, wantMessage: "no revision exists yet",
		},
		"objects of a revision that was made": {
			read: 1, message: missing, wantStatus: operatorv1.ConditionTrue, wantMessage: missing,
		},
	} {
		t.Run(name, func(t *testing.T) {
			operator := v1helpers.NewFakeStaticPodOperatorClient(&operatorv1.StaticPodOperatorSpec{},
				&operatorv1.StaticPodOperatorStatus{
					OperatorStatus: operatorv1.OperatorStatus{LatestAvailableRevision: tc.read},
				}, nil, nil)
			client := &installerClient{
				StaticPodOperatorClient: operator,
				next:                    &nextNode{Deps: controllertest.Complete(t, dependencies.Deps{Operator: operator})},
			}
			require.NoError(t, client.choose())
			_, status, version, err := client.GetStaticPodOperatorState()
			require.NoError(t, err)
			status.LatestAvailableRevision += tc.made
			_, err = operator.UpdateStaticPodOperatorStatus(t.Context(), version, status)
			require.NoError(t, err)
			condition := applyoperatorv1.OperatorCondition().WithType(
				"InstallerControllerDegraded",
			).WithStatus(operatorv1.ConditionTrue).
				WithReason("Error").WithMessage(tc.message)
			require.NoError(t, client.ApplyStaticPodOperatorStatus(t.Context(), "installer",
				applyoperatorv1.StaticPodOperatorStatus().WithConditions(condition)))
			_, status, _, err = operator.GetStaticPodOperatorState()
			require.NoError(t, err)
			require.Len(t, status.Conditions, 1)
			require.Equal(t, tc.wantStatus, status.Conditions[0].Status)
			require.Equal(t, tc.wantMessage, status.Conditions[0].Message)
		})
	}
}

// A resource that was created again, or whose status was wiped, has no revisions for a moment, while the pods run. The
// controller is shown one node, so it knows nothing about the others.
func TestWhatTheInstallerControllerConcludesIsNotWritten(t *testing.T) {
	operator := v1helpers.NewFakeStaticPodOperatorClient(
		&operatorv1.StaticPodOperatorSpec{}, &operatorv1.StaticPodOperatorStatus{}, nil, nil,
	)
	client := &installerClient{StaticPodOperatorClient: operator, view: viewOf(operatorv1.StaticPodOperatorStatus{})}
	status := applyoperatorv1.StaticPodOperatorStatus()
	for _, name := range []string{
		"StaticPodsAvailable", "NodeInstallerProgressing", "NodeInstallerDegraded", "InstallerControllerDegraded",
	} {
		status.WithConditions(
			applyoperatorv1.OperatorCondition().WithType(name).WithStatus(operatorv1.ConditionFalse).WithReason("Library"),
		)
	}
	require.NoError(t, client.ApplyStaticPodOperatorStatus(t.Context(), "installer", status))
	_, got, _, err := operator.GetStaticPodOperatorState()
	require.NoError(t, err)
	require.Len(t, got.Conditions, 1)
	require.Equal(t, "InstallerControllerDegraded", got.Conditions[0].Type)
}

// The controller's cache may not have what another controller has applied since.
func TestWhatHappensBetweenTheReadAndTheWriteOfTheInstallerController(t *testing.T) {
	target := func(node string, revision int32) *applyoperatorv1.StaticPodOperatorStatusApplyConfiguration {
		return applyoperatorv1.StaticPodOperatorStatus().WithNodeStatuses(
			applyoperatorv1.NodeStatus().WithNodeName(node).WithCurrentRevision(7).WithTargetRevision(revision))
	}
	condition := applyoperatorv1.StaticPodOperatorStatus().WithConditions(applyoperatorv1.OperatorCondition().
		WithType("AnyDegraded").WithStatus(operatorv1.ConditionFalse))
	for name, tc := range map[string]struct {
		happens  []*applyoperatorv1.StaticPodOperatorStatusApplyConfiguration
		conflict bool
		// want are the targets of the nodes then.
		want []int32
	}{
		"nothing":                  {want: []int32{0, 0}},
		"a condition is applied":   {happens: []*applyoperatorv1.StaticPodOperatorStatusApplyConfiguration{condition}, want: []int32{0, 0}},
		"a repair of another node": {happens: []*applyoperatorv1.StaticPodOperatorStatusApplyConfiguration{target("m1", 7)}, conflict: true, want: []int32{0, 7}},
		"a repair of the node":     {happens: []*applyoperatorv1.StaticPodOperatorStatusApplyConfiguration{target("m0", 7), condition}, conflict: true, want: []int32{7, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			operator := newAppliedStatus(operatorv1.OperatorSpec{}, &operatorv1.StaticPodOperatorStatus{
				NodeStatuses: []operatorv1.NodeStatus{{NodeName: "m0", CurrentRevision: 7}, {NodeName: "m1", CurrentRevision: 7}},
			})
			client := &installerClient{StaticPodOperatorClient: operator, next: &nextNode{
				Deps: controllertest.Complete(t, dependencies.Deps{Operator: operator}),
			}}
			require.NoError(t, client.choose())
			for i, applied := range tc.happens {
				require.NoError(t, operator.ApplyStaticPodOperatorStatus(t.Context(), fmt.Sprintf("other-%d", i), applied))
			}
			err := client.ApplyStaticPodOperatorStatus(t.Context(), "installer", applyoperatorv1.StaticPodOperatorStatus())
			require.Equal(t, tc.conflict, apierrors.IsConflict(err), "%v", err)
			if !tc.conflict {
				require.NoError(t, err)
			}
			require.Equal(t, tc.want, []int32{operator.status.NodeStatuses[0].TargetRevision, operator.status.NodeStatuses[1].TargetRevision})
		})
	}
}
