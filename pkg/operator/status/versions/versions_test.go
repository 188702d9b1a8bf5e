package versions

import (
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/status"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/controllertest"
)

const (
	payload = "4.23.0 registry/operator@sha256:2"
	former  = "4.22.9 registry/operator@sha256:1"
	rebuilt = "4.23.0 registry/operator@sha256:1"
)

// countingVersions counts the calls that wake the status controller.
type countingVersions struct {
	operator v1helpers.StaticPodOperatorClient
	status.VersionGetter
	set int
}

func (v *countingVersions) SetVersion(operand, version string) {
	v.set++
	v.VersionGetter.SetVersion(operand, version)
}

// podConfigMap returns the live candidate or, with a suffix, a revision's copy.
func podConfigMap(suffix, renderedBy, digest string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "openshift-cloud-controller-manager", Name: "cloud-controller-manager-pod" + suffix,
			Annotations: map[string]string{"cloud-controller-manager.openshift.io/rendered-by": renderedBy},
		},
		Data: map[string]string{"digest": digest},
	}
}

// daemonSet returns a DaemonSet with the given numbers of desired, updated and available pods.
func daemonSet(renderedBy string, desired, updated, available int32) *appsv1.DaemonSet {
	return &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "openshift-cloud-controller-manager", Name: "azure-cloud-node-manager", Generation: 2,
			Annotations: map[string]string{"cloud-controller-manager.openshift.io/rendered-by": renderedBy},
		},
		Spec: appsv1.DaemonSetSpec{UpdateStrategy: appsv1.DaemonSetUpdateStrategy{
			RollingUpdate: &appsv1.RollingUpdateDaemonSet{MaxUnavailable: ptr.To(intstr.FromString("10%"))},
		}},
		Status: appsv1.DaemonSetStatus{
			ObservedGeneration: 2, DesiredNumberScheduled: desired, UpdatedNumberScheduled: updated, NumberAvailable: available,
		},
	}
}

func nodes(revisions ...int32) []operatorv1.NodeStatus {
	var statuses []operatorv1.NodeStatus
	for i, revision := range revisions {
		statuses = append(statuses, operatorv1.NodeStatus{NodeName: "master-" + string(rune('0'+i)), CurrentRevision: revision})
	}
	return statuses
}

const (
	openstack = `{"platform":"openstack"}`
	azure     = `{"platform":"azure"}`
)

func TestVersionsAreReportedOnceEverythingIsAtThem(t *testing.T) {
	changed := daemonSet(payload, 3, 3, 3)
	changed.Generation = 3
	onDelete := daemonSet(payload, 3, 3, 2)
	onDelete.Spec.UpdateStrategy = appsv1.DaemonSetUpdateStrategy{Type: appsv1.OnDeleteDaemonSetStrategyType}
	live, first, second := podConfigMap("", payload, "new"), podConfigMap("-1", former, "old"), podConfigMap("-2", payload, "new")
	for name, tc := range map[string]struct {
		observed string
		nodes    []operatorv1.NodeStatus
		objects  []runtime.Object
		// replaces is set while the predecessor's pods run.
		replaces bool
		want     bool
	}{
		"where nothing runs there is nothing to wait for": {observed: `{"platform":"none"}`, want: true},
		"while the platform is unknown nothing is known":  {observed: `{}`},
		"before the first candidate":                      {observed: openstack, nodes: nodes(0)},
		"before a node is known":                          {observed: openstack, objects: []runtime.Object{live, second}},
		"before a node has a revision":                    {observed: openstack, nodes: nodes(2, 0), objects: []runtime.Object{live, second}},
		"every node is at the candidate":                  {observed: openstack, nodes: nodes(2, 2, 2), objects: []runtime.Object{live, first, second}, want: true},
		"the predecessor has not ended":                   {observed: openstack, nodes: nodes(2, 2, 2), objects: []runtime.Object{live, first, second}, replaces: true},
		"one node is at an earlier revision":              {observed: openstack, nodes: nodes(2, 1, 2), objects: []runtime.Object{live, first, second}},
		"another build of the same version rendered it":   {observed: openstack, nodes: nodes(1), objects: []runtime.Object{podConfigMap("", rebuilt, "old"), first}},
		"a node's revision is gone":                       {observed: openstack, nodes: nodes(1), objects: []runtime.Object{live, second}},
		"the former version rendered the candidate":       {observed: openstack, nodes: nodes(1), objects: []runtime.Object{podConfigMap("", former, "old"), first}},
		"an upgrade that changes nothing on the nodes":    {observed: openstack, nodes: nodes(1), objects: []runtime.Object{podConfigMap("", payload, "old"), first}, want: true},
		"nodes at two revisions with the same content": {
			observed: openstack, nodes: nodes(1, 2), objects: []runtime.Object{live, podConfigMap("-1", former, "new"), second}, want: true,
		},

		"the DaemonSet has rolled out":              {observed: azure, nodes: nodes(2), objects: []runtime.Object{live, second, daemonSet(payload, 3, 3, 3)}, want: true},
		"the DaemonSet is not known":                {observed: azure, nodes: nodes(2), objects: []runtime.Object{live, second}},
		"the former version rendered the DaemonSet": {observed: azure, nodes: nodes(2), objects: []runtime.Object{live, second, daemonSet(former, 3, 3, 3)}},
		"its controller has not seen the change":    {observed: azure, nodes: nodes(2), objects: []runtime.Object{live, second, changed}},
		"it is rolling out":                         {observed: azure, nodes: nodes(2), objects: []runtime.Object{live, second, daemonSet(payload, 3, 1, 3)}},
		"the DaemonSet is done, a control-plane node is not": {
			observed: azure, nodes: nodes(1), objects: []runtime.Object{live, first, second, daemonSet(payload, 3, 3, 3)},
		},
		"a new pod that never becomes available is within maxUnavailable": {observed: azure, nodes: nodes(2), objects: []runtime.Object{live, second, daemonSet(payload, 3, 3, 2)}, want: true},
		"two are not":         {observed: azure, nodes: nodes(2), objects: []runtime.Object{live, second, daemonSet(payload, 3, 3, 1)}},
		"the only one is not": {observed: azure, nodes: nodes(2), objects: []runtime.Object{live, second, daemonSet(payload, 1, 1, 0)}},
		"the first of two nodes does not start its pod":                       {observed: azure, nodes: nodes(2), objects: []runtime.Object{live, second, daemonSet(payload, 2, 1, 1)}},
		"a dead worker of twenty keeps its former pod":                        {observed: azure, nodes: nodes(2), objects: []runtime.Object{live, second, daemonSet(payload, 20, 19, 19)}, want: true},
		"two dead workers of twenty do":                                       {observed: azure, nodes: nodes(2), objects: []runtime.Object{live, second, daemonSet(payload, 20, 18, 18)}},
		"without a rolling update no pod may be missing":                      {observed: azure, nodes: nodes(2), objects: []runtime.Object{live, second, onDelete}},
		"a platform without a cloud-node-manager does not wait for another's": {observed: openstack, nodes: nodes(2), objects: []runtime.Object{live, second, daemonSet(former, 3, 0, 0)}, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			versions := syncTwice(t, tc.observed, &operatorv1.StaticPodOperatorStatus{NodeStatuses: tc.nodes, OperatorStatus: takingOver(tc.replaces)}, tc.objects)
			if !tc.want {
				require.Empty(t, versions.GetVersions())
				return
			}
			require.Equal(t, map[string]string{
				"operator": "4.23.0", "operator-image": "registry/operator@sha256:2", "cloud-controller-manager": "4.23.1",
			}, versions.GetVersions())
			require.Equal(t, 3, versions.set, "each is set once")
		})
	}
}

func takingOver(replaces bool) operatorv1.OperatorStatus {
	if !replaces {
		return operatorv1.OperatorStatus{}
	}
	return operatorv1.OperatorStatus{Conditions: []operatorv1.OperatorCondition{{Type: "TakingOver", Status: operatorv1.ConditionTrue}}}
}

func syncTwice(t *testing.T, observed string, operatorStatus *operatorv1.StaticPodOperatorStatus, objects []runtime.Object) *countingVersions {
	t.Helper()
	return syncTimes(t, 2, observed, operatorStatus, objects)
}

func syncTimes(
	t *testing.T, times int, observed string, operatorStatus *operatorv1.StaticPodOperatorStatus, objects []runtime.Object,
) *countingVersions {
	t.Helper()
	factories := informers.NewSharedInformerFactory(fake.NewClientset(), 0)
	for _, object := range objects {
		store := factories.Core().V1().ConfigMaps().Informer().GetStore()
		switch object.(type) {
		case *appsv1.DaemonSet:
			store = factories.Apps().V1().DaemonSets().Informer().GetStore()
		case *appsv1.Deployment:
			store = factories.Apps().V1().Deployments().Informer().GetStore()
		}
		require.NoError(t, store.Add(object))
	}
	versions := &countingVersions{VersionGetter: status.NewVersionGetter()}
	recorder := events.NewInMemoryRecorder("test", clocktesting.NewFakePassiveClock(time.Unix(0, 0)))
	versions.operator = v1helpers.NewFakeStaticPodOperatorClient(&operatorv1.StaticPodOperatorSpec{OperatorSpec: operatorv1.OperatorSpec{
		ObservedConfig: runtime.RawExtension{Raw: []byte(observed)},
	}}, operatorStatus, nil, nil)
	c := New(
		controllertest.Complete(t, dependencies.Deps{Operator: versions.operator, Target: factories, Recorder: recorder}),
		factories.Apps().V1().DaemonSets(), versions,
		Release{OperatorVersion: "4.23.0", OperandVersion: "4.23.1", OperatorImage: "registry/operator@sha256:2"},
		[]string{"ConfigurationDegraded", "ImageDegraded", "PreflightNotices"},
	)
	for range times {
		require.NoError(t, c.Sync(t.Context(), factory.NewSyncContext("test", recorder)))
	}
	return versions
}

func TestNoVersionIsReportedWhileThePredecessorRunsBesideARemovedOperand(t *testing.T) {
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{
		Namespace: "openshift-cloud-controller-manager", Name: "openstack-cloud-controller-manager",
	}}
	foreign := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{
		Namespace: "openshift-cloud-controller-manager", Name: "of-others",
	}}
	removed := operatorv1.OperatorCondition{Type: "Removing", Status: operatorv1.ConditionTrue, Reason: "Removed"}
	for name, tc := range map[string]struct {
		observed   string
		conditions []operatorv1.OperatorCondition
		deployment *appsv1.Deployment
		want       int
	}{
		"removed, beside the predecessor":         {openstack, []operatorv1.OperatorCondition{removed}, deployment, 0},
		"removed, beside another Deployment":      {openstack, []operatorv1.OperatorCondition{removed}, foreign, 3},
		"a platform that never had a CCM of ours": {`{"platform":"none"}`, nil, deployment, 3},
	} {
		t.Run(name, func(t *testing.T) {
			operatorStatus := &operatorv1.StaticPodOperatorStatus{OperatorStatus: operatorv1.OperatorStatus{Conditions: tc.conditions}}
			versions := syncTwice(t, tc.observed, operatorStatus, []runtime.Object{tc.deployment})
			require.Len(t, versions.GetVersions(), tc.want)
		})
	}
}

func TestProgressingSaysWhatAReleaseWaitsFor(t *testing.T) {
	const condition = "VersionsProgressing"
	settled := operatorv1.OperatorCondition{Type: condition, Status: operatorv1.ConditionFalse, Reason: "AsExpected"}
	waiting := func(message string) operatorv1.OperatorCondition {
		return operatorv1.OperatorCondition{
			Type: condition, Status: operatorv1.ConditionTrue, Reason: "RolloutNotBegun", Message: message,
		}
	}
	rejected := operatorv1.OperatorCondition{
		Type: "ConfigurationDegraded", Status: operatorv1.ConditionTrue, Message: `flag "leader-elect" is set by the operator`,
	}
	held := operatorv1.OperatorCondition{Type: "PreflightNotices", Status: operatorv1.ConditionTrue, Message: "it waits"}
	healthy := operatorv1.OperatorCondition{Type: "ImageDegraded", Status: operatorv1.ConditionFalse, Message: "no"}
	other := operatorv1.OperatorCondition{Type: "CrashLoopDegraded", Status: operatorv1.ConditionTrue, Message: "no"}
	former, live := podConfigMap("", "4.22.0 registry/operator@sha256:1", "old"), podConfigMap("", payload, "old")
	first := podConfigMap("-1", "4.22.0 registry/operator@sha256:1", "old")
	for name, tc := range map[string]struct {
		observed   string
		conditions []operatorv1.OperatorCondition
		candidate  *corev1.ConfigMap
		latest     int32
		want       operatorv1.OperatorCondition
	}{
		"this release has rendered":   {observed: openstack, candidate: live, want: settled},
		"its candidate is a revision": {observed: openstack, candidate: podConfigMap("", payload, "new"), latest: 2, want: settled},
		"its candidate is no revision yet": {observed: openstack, candidate: podConfigMap("", payload, "new"), latest: 1,
			want: waiting("release 4.23.0 has not begun to roll out; if this lasts for minutes, read the operator's log")},
		"an earlier candidate is a revision, and the operator has restarted": {
			observed: openstack, candidate: podConfigMap("", payload, "newer"), latest: 2, want: settled,
		},
		"nothing is known to hold it back": {observed: openstack, candidate: former, want: waiting("release 4.23.0 has not " +
			"begun to roll out; if this lasts for minutes, read the operator's log")},
		"an override is rejected, and a preflight has shown nothing": {
			observed: openstack, candidate: former, conditions: []operatorv1.OperatorCondition{held, rejected, healthy, other},
			want: waiting("release 4.23.0 has not begun to roll out, and what ran before stays in use:\nConfigurationDegraded: " +
				"flag \"leader-elect\" is set by the operator\nPreflightNotices: it waits"),
		},
		"the predecessor runs, and TakingOver has the step": {
			observed: openstack, candidate: former, want: settled,
			conditions: []operatorv1.OperatorCondition{{Type: "TakingOver", Status: operatorv1.ConditionTrue}},
		},
		"nothing is managed": {observed: `{"platform":"none"}`, candidate: former, want: settled},
	} {
		t.Run(name, func(t *testing.T) {
			status := &operatorv1.StaticPodOperatorStatus{
				NodeStatuses:   []operatorv1.NodeStatus{{NodeName: "m0", CurrentRevision: 1}},
				OperatorStatus: operatorv1.OperatorStatus{Conditions: tc.conditions, LatestAvailableRevision: tc.latest},
			}
			second := podConfigMap("-2", payload, "new")
			// The fake client forgets the rest of the status when it applies conditions.
			versions := syncTimes(t, 1, tc.observed, status, []runtime.Object{tc.candidate, first, second})
			_, status, _, err := versions.operator.GetStaticPodOperatorState()
			require.NoError(t, err)
			found := v1helpers.FindOperatorCondition(status.Conditions, condition)
			require.NotNil(t, found)
			found.LastTransitionTime = metav1.Time{}
			require.Equal(t, tc.want, *found)
		})
	}
}
