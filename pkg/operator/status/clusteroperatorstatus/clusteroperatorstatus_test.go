package clusteroperatorstatus

import (
	"errors"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	configfake "github.com/openshift/client-go/config/clientset/versioned/fake"
	configinformers "github.com/openshift/client-go/config/informers/externalversions"
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/status"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/controllertest"
)

func TestTheClusterOperatorShowsConfigurationAtOnceAndKeepsVersions(t *testing.T) {
	moment := metav1.NewTime(time.Now().Add(-time.Second))
	operator := v1helpers.NewFakeOperatorClient(&operatorv1.OperatorSpec{ManagementState: operatorv1.Managed}, &operatorv1.OperatorStatus{
		Conditions: []operatorv1.OperatorCondition{
			{Type: "CloudControllerManagerAvailable", Status: "True", Reason: "AsExpected", Message: "3 of 3", LastTransitionTime: moment},
			{Type: "CloudControllerManagerProgressing", Status: "False", Reason: "AsExpected", LastTransitionTime: moment},
			{Type: "CloudConfigDegraded", Status: "True", Reason: "Refused", Message: "line 3", LastTransitionTime: moment},
			{Type: "NodeControllerDegraded", Status: "True", Reason: "MasterNodesReady", Message: "not ready", LastTransitionTime: moment},
			{Type: "CloudConfigNotices", Status: "True", Reason: "Unknown", Message: "a warning", LastTransitionTime: moment},
		},
	}, nil)
	existing := &configv1.ClusterOperator{
		ObjectMeta: metav1.ObjectMeta{Name: "cloud-controller-manager"},
		Status: configv1.ClusterOperatorStatus{
			// What the predecessor wrote.
			Conditions: []configv1.ClusterOperatorStatusCondition{
				{Type: "Upgradeable", Status: "True", Reason: "AsExpected"}, {Type: "CloudConfigControllerDegraded", Status: "False"},
			},
			Versions: []configv1.OperandVersion{
				{Name: "operator", Version: "4.22.0"}, {Name: "cloud-controller-manager", Version: "4.22.0"},
			},
		},
	}
	client := configfake.NewClientset(existing)
	informers := configinformers.NewSharedInformerFactory(client, 0)
	require.NoError(t, informers.Config().V1().ClusterOperators().Informer().GetIndexer().Add(existing))
	versions := status.NewVersionGetter()
	recorder := events.NewInMemoryRecorder("test", clock.RealClock{})
	controller := New(
		controllertest.Complete(t, dependencies.Deps{Operator: controllertest.StaticPods(operator), Recorder: recorder}),
		client.ConfigV1(), informers.Config().V1().ClusterOperators(), versions,
		func(platform.Platform) ([]configv1.ObjectReference, error) { return nil, nil },
		operatorclient.Inertia{"CloudConfigDegraded": operatorclient.AtOnce, "NodeControllerDegraded": 10 * time.Minute},
	)
	sync := func() *configv1.ClusterOperator {
		require.NoError(t, controller.Sync(t.Context(), factory.NewSyncContext("test", recorder)))
		got, err := client.ConfigV1().ClusterOperators().Get(t.Context(), "cloud-controller-manager", metav1.GetOptions{})
		require.NoError(t, err)
		return got
	}

	got := sync()
	summary := map[configv1.ClusterStatusConditionType]string{}
	for _, condition := range got.Status.Conditions {
		summary[condition.Type] = string(condition.Status) + " " + condition.Reason + ": " + condition.Message
	}
	require.Equal(t, map[configv1.ClusterStatusConditionType]string{
		"Available":   "True AsExpected: CloudControllerManagerAvailable: 3 of 3",
		"Progressing": "False AsExpected: All is well",
		"Degraded": "True CloudConfig_Refused::NodeController_MasterNodesReady: CloudConfigDegraded: line 3\n" +
			"NodeControllerDegraded: not ready",
		"Upgradeable":                  "True AsExpected: ",
		"EvaluationConditionsDetected": "Unknown NoData: ",
	}, summary)
	require.Equal(t, existing.Status.Versions, got.Status.Versions)

	versions.SetVersion("operator", "4.23.0")
	require.Equal(t, []configv1.OperandVersion{
		{Name: "operator", Version: "4.23.0"}, {Name: "cloud-controller-manager", Version: "4.22.0"},
	}, sync().Status.Versions)
}

func TestRelatedObjectsFollowThePlatform(t *testing.T) {
	request := func(name string) configv1.ObjectReference {
		return configv1.ObjectReference{
			Group: "cloudcredential.openshift.io", Resource: "credentialsrequests", Namespace: "openshift-cloud-credential-operator", Name: name,
		}
	}
	right := func(p platform.Platform) configv1.ObjectReference {
		return configv1.ObjectReference{Group: "rbac.authorization.k8s.io", Resource: "clusterroles", Name: "of-" + p.Name}
	}
	openstack, _ := platform.ByName("openstack")
	aws, _ := platform.ByName("aws")
	for name, tc := range map[string]struct {
		observed string
		err      error
		existing []configv1.ObjectReference
		want     []configv1.ObjectReference
	}{
		"OpenStack": {observed: `{"platform": "openstack"}`, want: []configv1.ObjectReference{right(openstack), request("openshift-openstack-cloud-controller-manager")}},
		"AWS, which had OpenStack's": {
			observed: `{"platform": "aws"}`, existing: []configv1.ObjectReference{request("openshift-openstack-cloud-controller-manager")},
			want: []configv1.ObjectReference{right(aws), request("openshift-aws-cloud-controller-manager")},
		},
		"a platform where nothing runs": {observed: `{"platform": "none"}`, existing: []configv1.ObjectReference{right(aws)}},
		"one that is not known yet":     {existing: []configv1.ObjectReference{right(aws)}, want: []configv1.ObjectReference{right(aws)}},
		"rights that cannot be listed":  {observed: `{"platform": "aws"}`, err: errors.New("broken"), existing: []configv1.ObjectReference{right(openstack)}, want: []configv1.ObjectReference{right(openstack)}},
	} {
		t.Run(name, func(t *testing.T) {
			operator := v1helpers.NewFakeOperatorClient(&operatorv1.OperatorSpec{
				ManagementState: operatorv1.Managed, ObservedConfig: runtime.RawExtension{Raw: []byte(tc.observed)},
			}, &operatorv1.OperatorStatus{}, nil)
			existing := &configv1.ClusterOperator{
				ObjectMeta: metav1.ObjectMeta{Name: "cloud-controller-manager"}, Status: configv1.ClusterOperatorStatus{RelatedObjects: tc.existing},
			}
			client := configfake.NewClientset(existing)
			informers := configinformers.NewSharedInformerFactory(client, 0)
			require.NoError(t, informers.Config().V1().ClusterOperators().Informer().GetIndexer().Add(existing))
			recorder := events.NewInMemoryRecorder("test", clock.RealClock{})
			controller := New(
				controllertest.Complete(t, dependencies.Deps{Operator: controllertest.StaticPods(operator), Recorder: recorder}),
				client.ConfigV1(), informers.Config().V1().ClusterOperators(), status.NewVersionGetter(),
				func(p platform.Platform) ([]configv1.ObjectReference, error) {
					return []configv1.ObjectReference{right(p)}, tc.err
				},
				operatorclient.Inertia{"CloudConfigDegraded": operatorclient.AtOnce},
			)
			require.NoError(t, controller.Sync(t.Context(), factory.NewSyncContext("test", recorder)))
			got, err := client.ConfigV1().ClusterOperators().Get(t.Context(), "cloud-controller-manager", metav1.GetOptions{})
			require.NoError(t, err)
			require.Equal(t, append(tc.want, RelatedObjects()...), got.Status.RelatedObjects)
		})
	}
}
