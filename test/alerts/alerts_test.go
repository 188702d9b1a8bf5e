package alerts

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

const (
	manifest = "../../manifests/0000_90_cloud-controller-manager-operator_03_alerts.prometheusrule.yaml"
	tests    = "testdata/alerts.yaml"
	unpacked = "../../_output/debian"
)

// spec is that of a PrometheusRule, and a file of rules.
type spec struct {
	Groups []struct {
		Name  string `json:"name"`
		Rules []rule `json:"rules"`
	} `json:"groups"`
}

type rule struct {
	Alert       string            `json:"alert"`
	Expr        string            `json:"expr"`
	For         string            `json:"for"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

func rules(t *testing.T) spec {
	t.Helper()
	var object struct {
		Spec spec `json:"spec"`
	}
	content, err := os.ReadFile(manifest)
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(content, &object))
	return object.Spec
}

func TestEachAlertFiresAndResolves(t *testing.T) {
	tested := rules(t)
	for _, group := range tested.Groups {
		for _, rule := range group.Rules {
			delete(rule.Annotations, "summary")
			delete(rule.Annotations, "runbook_url")
		}
	}
	content, err := yaml.Marshal(tested)
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "rules.yaml"), content, 0o600))
	content, err = os.ReadFile(tests)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "alerts.yaml"), content, 0o600))
	promtool, err := Tool(t.Context(), unpacked, "promtool")
	require.NoError(t, err)
	for _, args := range [][]string{{"check", "rules", "rules.yaml"}, {"test", "rules", "alerts.yaml"}} {
		command := exec.CommandContext(t.Context(), promtool, args...)
		command.Dir = dir
		out, err := command.CombinedOutput()
		require.NoError(t, err, "promtool %s\n%s", strings.Join(args, " "), out)
	}
}

// promtool accepts rules without a test.
func TestEachAlertHasATestOfItsFiringAndOneOfItsSilence(t *testing.T) {
	var file struct {
		Tests []struct {
			Alerts []struct {
				Name     string `json:"alertname"`
				Expected []any  `json:"exp_alerts"`
			} `json:"alert_rule_test"`
		} `json:"tests"`
	}
	content, err := os.ReadFile(tests)
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(content, &file))
	fires, silent := map[string]bool{}, map[string]bool{}
	for _, test := range file.Tests {
		for _, alert := range test.Alerts {
			if len(alert.Expected) > 0 {
				fires[alert.Name] = true
			} else {
				silent[alert.Name] = true
			}
		}
	}
	for _, group := range rules(t).Groups {
		for _, rule := range group.Rules {
			require.True(t, fires[rule.Alert] && silent[rule.Alert], rule.Alert)
		}
	}
}
