// Package alerts runs promtool's unit tests of the payload's alerts.
package alerts

import (
	"errors"
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
	// unpacked is where Debian's package is unpacked, if promtool is not installed.
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

// promtool returns the path of promtool. It downloads Debian's package without installing it.
func promtool(t *testing.T) string {
	t.Helper()
	if path, err := exec.LookPath("promtool"); err == nil {
		return path
	}
	dir, err := filepath.Abs(unpacked)
	require.NoError(t, err)
	path := filepath.Join(dir, "usr/bin/promtool")
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		require.NoError(t, err)
		return path
	}
	archives := t.TempDir()
	const script = `apt-get download --quiet prometheus || { apt-get update --quiet && apt-get download --quiet prometheus; }`
	command := exec.CommandContext(t.Context(), "sh", "-c", script)
	command.Dir = archives
	out, err := command.CombinedOutput()
	require.NoError(t, err, "%s", out)
	found, err := filepath.Glob(filepath.Join(archives, "prometheus_*.deb"))
	require.NoError(t, err)
	require.Len(t, found, 1)
	out, err = exec.CommandContext(t.Context(), "dpkg-deb", "--extract", found[0], dir).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return path
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
	for _, args := range [][]string{{"check", "rules", "rules.yaml"}, {"test", "rules", "alerts.yaml"}} {
		command := exec.CommandContext(t.Context(), promtool(t), args...)
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
