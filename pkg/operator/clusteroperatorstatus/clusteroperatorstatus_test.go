package clusteroperatorstatus

import (
	"os"
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
	"k8s.io/utils/clock"
	"sigs.k8s.io/yaml"
)

const manifest = "../../../manifests/0000_26_cloud-controller-manager-operator_12_clusteroperator.yaml"

func TestRelatedObjectsAreThoseOfTheManifest(t *testing.T) {
	content, err := os.ReadFile(manifest)
	require.NoError(t, err)
	shipped := &configv1.ClusterOperator{}
	require.NoError(t, yaml.UnmarshalStrict(content, shipped))
	require.Equal(t, "cloud-controller-manager", shipped.Name)
	require.Equal(t, shipped.Status.RelatedObjects, RelatedObjects())
}

func TestInertia(t *testing.T) {
	for conditionType, want := range map[string]time.Duration{
		"CloudConfigDegraded":                0,
		"CredentialsDegraded":                0,
		"TrustedCADegraded":                  0,
		"ImageDegraded":                      0,
		"ConfigurationDegraded":              0,
		"ConfigObservationDegraded":          0,
		"CloudControllerManagerDegraded":     0,
		"CrashLoopDegraded":                  0,
		"ControlPlaneNodesDegraded":          2 * time.Minute,
		"NodeInitializationDegraded":         0,
		"NodeManagerDegraded":                0,
		"RevisionHeldBackDegraded":           0,
		"NodeManagerControllerDegraded":      2 * time.Minute,
		"CloudTokensDegraded":                2 * time.Minute,
		"NodeControllerDegraded":             10 * time.Minute,
		"StaticPodsDegraded":                 10 * time.Minute,
		"NodeInstallerDegraded":              2 * time.Minute,
		"TargetConfigControllerDegraded":     2 * time.Minute,
		"InstallerPodPendingDegraded":        2 * time.Minute,
		"NotQuiteCloudConfigDegraded":        2 * time.Minute,
		"MissingStaticPodControllerDegraded": 2 * time.Minute,
	} {
		t.Run(conditionType, func(t *testing.T) {
			require.Equal(t, want, inertia().Inertia(operatorv1.OperatorCondition{Type: conditionType}))
		})
	}
}

func TestTheClusterOperatorShowsConfigurationAtOnceAndKeepsVersions(t *testing.T) {
	moment := metav1.NewTime(time.Now().Add(-time.Second))
	operator := v1helpers.NewFakeOperatorClient(&operatorv1.OperatorSpec{ManagementState: operatorv1.Managed}, &operatorv1.OperatorStatus{
		Conditions: []operatorv1.OperatorCondition{
			{Type: "CloudControllerManagerAvailable", Status: "True", Reason: "AsExpected", Message: "3 of 3", LastTransitionTime: moment},
			{Type: "CloudControllerManagerProgressing", Status: "False", Reason: "AsExpected", LastTransitionTime: moment},
			{Type: "CloudConfigDegraded", Status: "True", Reason: "Refused", Message: "line 3", LastTransitionTime: moment},
			{Type: "NodeControllerDegraded", Status: "True", Reason: "MasterNodesReady", Message: "not ready", LastTransitionTime: moment},
			{Type: "CloudConfigNotices", Status: "True", Reason: "Unknown", Message: "a remark", LastTransitionTime: moment},
		},
	}, nil)
	existing := &configv1.ClusterOperator{
		ObjectMeta: metav1.ObjectMeta{Name: "cloud-controller-manager"},
		Status: configv1.ClusterOperatorStatus{Versions: []configv1.OperandVersion{
			{Name: "operator", Version: "4.22.0"}, {Name: "cloud-controller-manager", Version: "4.22.0"},
		}},
	}
	client := configfake.NewClientset(existing)
	informers := configinformers.NewSharedInformerFactory(client, 0)
	require.NoError(t, informers.Config().V1().ClusterOperators().Informer().GetIndexer().Add(existing))
	versions := status.NewVersionGetter()
	recorder := events.NewInMemoryRecorder("test", clock.RealClock{})
	controller := New(Options{
		Operator: operator, ClusterOperators: client.ConfigV1(), Informer: informers.Config().V1().ClusterOperators(),
		Versions: versions, Clock: clock.RealClock{}, Recorder: recorder,
	})
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
		"Upgradeable":                  "Unknown NoData: ",
		"EvaluationConditionsDetected": "Unknown NoData: ",
	}, summary)
	require.Equal(t, existing.Status.Versions, got.Status.Versions)

	versions.SetVersion("operator", "4.23.0")
	require.Equal(t, []configv1.OperandVersion{
		{Name: "operator", Version: "4.23.0"}, {Name: "cloud-controller-manager", Version: "4.22.0"},
	}, sync().Status.Versions)
}
