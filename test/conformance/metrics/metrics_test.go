// Package metrics checks the names of the providers' metrics. It has tests only.
package metrics

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The alerts about errors of the cloud, and the dashboard, use metrics that no provider promises to keep. A counter is
// served only after the first request of its kind, so the sources are compared. test/architecture compares the alerts
// with the same names.
func TestTheProvidersHaveTheMetricsOfTheAlerts(t *testing.T) {
	for _, tc := range []struct{ module, file, declared string }{
		{"k8s.io/cloud-provider-aws", "pkg/providers/v1/aws_metrics.go", `"cloudprovider_aws_api_request_duration_seconds"`},
		{"k8s.io/cloud-provider-aws", "pkg/providers/v1/aws_metrics.go", `"cloudprovider_aws_api_request_errors"`},
		{"k8s.io/cloud-provider-aws", "pkg/providers/v1/aws_metrics.go", `"cloudprovider_aws_api_throttled_requests_total"`},
		{"sigs.k8s.io/cloud-provider-azure", "pkg/consts/consts.go", `AzureMetricsNamespace = "cloudprovider_azure"`},
		{"sigs.k8s.io/cloud-provider-azure", "pkg/metrics/azure_metrics.go", `"api_request_duration_seconds"`},
		{"sigs.k8s.io/cloud-provider-azure", "pkg/metrics/azure_metrics.go", `"api_request_errors"`},
		{"sigs.k8s.io/cloud-provider-azure", "pkg/metrics/azure_metrics.go", `"api_request_throttled_count"`},
		{"k8s.io/cloud-provider-openstack", "pkg/metrics/metrics_api.go", `"openstack_api_requests_total"`},
		{"k8s.io/cloud-provider-openstack", "pkg/metrics/metrics_api.go", `"openstack_api_request_errors_total"`},
	} {
		out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", tc.module).Output()
		require.NoError(t, err, tc.module)
		content, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(out)), tc.file))
		require.NoError(t, err)
		require.Contains(t, string(content), tc.declared, tc.module)
	}
}
