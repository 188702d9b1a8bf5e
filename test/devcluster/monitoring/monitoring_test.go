package monitoring

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"
)

const (
	repository = "../../.."
	target     = "openshift-cloud-controller-manager"
)

func TestAMonitorBecomesAScrapeOfWhatItsServiceSelects(t *testing.T) {
	kube := fake.NewClientset(
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{
			Namespace: target, Name: "cloud-controller-manager",
			Labels: map[string]string{"app": "cloud-controller-manager", "a.b/c-d": "x"},
		}},
		&discoveryv1.EndpointSlice{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: target, Name: "s", Labels: map[string]string{discoveryv1.LabelServiceName: "cloud-controller-manager"},
			},
			Endpoints: []discoveryv1.Endpoint{{
				Addresses: []string{"192.0.2.1"}, TargetRef: &corev1.ObjectReference{Kind: "Pod", Name: "m0"},
			}},
			Ports: []discoveryv1.EndpointPort{{Name: ptr.To("https"), Port: ptr.To[int32](10258)}},
		},
	)
	targets, err := discover(t.Context(), kube, []string{target})
	require.NoError(t, err)
	require.Equal(t, []targetGroup{{
		Targets: []string{"192.0.2.1:10258"},
		Labels: map[string]string{
			namespace: target, service: "cloud-controller-manager", pod: "m0", portName: "https",
			"__meta_kubernetes_service_label_app":     "cloud-controller-manager",
			"__meta_kubernetes_service_label_a_b_c_d": "x",
		},
	}}, targets)

	monitors, err := readMonitors(repository, "minimal")
	require.NoError(t, err)
	require.Len(t, monitors, 2)
	config := scrape(&monitors[1], targets, "/dir")
	require.Equal(t, "serviceMonitor/"+target+"/cloud-controller-manager-minimal", config.JobName)
	require.Equal(t, tlsConfig{
		CertFile: "/dir/client.crt", KeyFile: "/dir/client.key", CAFile: "/dir/serving-ca.crt",
		ServerName: "cloud-controller-manager." + target + ".svc",
	}, config.TLS)
	require.Equal(t, []relabeling{
		{Action: "keep", Regex: "cloud-controller-manager", SourceLabels: []string{"__meta_kubernetes_service_label_app"}},
		{Action: "keep", Regex: "https", SourceLabels: []string{portName}},
		{TargetLabel: "namespace", SourceLabels: []string{namespace}},
		{TargetLabel: "pod", SourceLabels: []string{pod}},
		{TargetLabel: "job", SourceLabels: []string{service}},
	}, config.Relabel)
	require.Len(t, config.Metrics, 1)
	require.True(t, scrape(&monitors[0], nil, "/dir").TLS.InsecureSkipVerify, "there is no service CA")

	content, err := configuration([]scrapeConfig{config}, "/dir", "1s")
	require.NoError(t, err)
	var written struct {
		Rules []string `json:"rule_files"`
	}
	require.NoError(t, yaml.Unmarshal(content, &written))
	require.Equal(t, []string{"/dir/rules.yaml"}, written.Rules)
}

func TestThePageHasEveryPanel(t *testing.T) {
	board, err := readDashboard(repository)
	require.NoError(t, err)
	page, err := board.page()
	require.NoError(t, err)
	var panels, graphs int
	for _, row := range board.Rows {
		require.Contains(t, string(page), "<h2>"+row.Title+"</h2>")
		for _, panel := range row.Panels {
			require.Contains(t, string(page), "<h3>"+panel.Title+"</h3>")
			panels++
			if panel.Type == "graph" {
				graphs++
			}
		}
	}
	require.Greater(t, panels, graphs)
	require.Equal(t, graphs, strings.Count(string(page), "new PromConsole.Graph("))
	require.Contains(t, string(page), `"[[ node ]]"`)
	require.Contains(t, string(page), `{{ range query "max by (node, state) (cloud_controller_manager_operator_lease_holder)" }}`)
	require.NotContains(t, string(page), "<%")
}

func TestTheUsedMetricsAreOfTheOperatorAndOfTheCloudControllerManagers(t *testing.T) {
	used, err := UsedMetrics(repository)
	require.NoError(t, err)
	require.Contains(t, used, "cloud_controller_manager_operator_lease_holder", "the dashboard")
	require.Contains(t, used, "cloud_controller_manager_operator_leaderless_seconds", "an alert")
	require.Contains(t, used, "openstack_api_requests_total")
	require.IsIncreasing(t, used)
}
