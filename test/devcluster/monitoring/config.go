package monitoring

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	sigsyaml "sigs.k8s.io/yaml"
)

const manifests = "manifests/0000_90_cloud-controller-manager-operator_"

// serviceMonitor has the fields of monitoring.coreos.com/v1 that the payload sets.
type serviceMonitor struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Endpoints []struct {
			Port, Scheme string
			TLSConfig    struct {
				CA         struct{ ConfigMap struct{ Name, Key string } }
				ServerName string
			}
			MetricRelabelings []struct {
				Action, Regex string
				SourceLabels  []string
			}
		}
		NamespaceSelector struct{ MatchNames []string }
		Selector          metav1.LabelSelector
	}
}

// relabeling is an entry of relabel_configs and of metric_relabel_configs.
type relabeling struct {
	Action       string   `json:"action,omitempty"`
	SourceLabels []string `json:"source_labels,omitempty"`
	Regex        string   `json:"regex,omitempty"`
	TargetLabel  string   `json:"target_label,omitempty"`
	Replacement  string   `json:"replacement,omitempty"`
}

type tlsConfig struct {
	CertFile           string `json:"cert_file"`
	KeyFile            string `json:"key_file"`
	CAFile             string `json:"ca_file,omitempty"`
	ServerName         string `json:"server_name"`
	InsecureSkipVerify bool   `json:"insecure_skip_verify,omitempty"`
}

type scrapeConfig struct {
	JobName string        `json:"job_name"`
	Scheme  string        `json:"scheme"`
	TLS     tlsConfig     `json:"tls_config"`
	Targets []targetGroup `json:"static_configs"`
	Relabel []relabeling  `json:"relabel_configs"`
	Metrics []relabeling  `json:"metric_relabel_configs"`
}

// readMonitors returns the payload's ServiceMonitors of a collection profile.
func readMonitors(repository, profile string) ([]serviceMonitor, error) {
	content, err := os.ReadFile(filepath.Join(repository, manifests+"02_servicemonitors.yaml"))
	if err != nil {
		return nil, fmt.Errorf("ServiceMonitors: %w", err)
	}
	var monitors []serviceMonitor
	for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 4096); ; {
		var monitor serviceMonitor
		if err := decoder.Decode(&monitor); errors.Is(err, io.EOF) {
			return monitors, nil
		} else if err != nil {
			return nil, fmt.Errorf("ServiceMonitors: %w", err)
		}
		if monitor.Labels["monitoring.openshift.io/collection-profile"] == profile {
			monitors = append(monitors, monitor)
		}
	}
}

// scrape returns the configuration that the Prometheus operator makes of a monitor, for what discover has found. The
// files are those of Start.
func scrape(monitor *serviceMonitor, targets []targetGroup, dir string) scrapeConfig {
	endpoint := monitor.Spec.Endpoints[0]
	config := scrapeConfig{
		JobName: "serviceMonitor/" + monitor.Namespace + "/" + monitor.Name,
		Scheme:  endpoint.Scheme,
		TLS: tlsConfig{
			CertFile: filepath.Join(dir, certFile), KeyFile: filepath.Join(dir, keyFile),
			ServerName: endpoint.TLSConfig.ServerName,
		},
		Targets: targets,
	}
	if endpoint.TLSConfig.CA.ConfigMap.Name != "" {
		config.TLS.CAFile = filepath.Join(dir, caFile)
	} else {
		// There is no service CA here, so the operator's certificate is self-signed.
		config.TLS.InsecureSkipVerify = true
	}
	for key, value := range monitor.Spec.Selector.MatchLabels {
		config.Relabel = append(config.Relabel, relabeling{Action: "keep", Regex: regexp.QuoteMeta(value),
			SourceLabels: []string{serviceLabel(key)}})
	}
	config.Relabel = append(config.Relabel,
		relabeling{Action: "keep", Regex: regexp.QuoteMeta(endpoint.Port),
			SourceLabels: []string{portName}},
		relabeling{TargetLabel: "namespace", SourceLabels: []string{namespace}},
		relabeling{TargetLabel: "pod", SourceLabels: []string{pod}},
		relabeling{TargetLabel: "job", SourceLabels: []string{service}},
	)
	for _, r := range endpoint.MetricRelabelings {
		config.Metrics = append(config.Metrics, relabeling{Action: r.Action, Regex: r.Regex, SourceLabels: r.SourceLabels})
	}
	return config
}

// configuration returns Prometheus' configuration.
func configuration(scrapes []scrapeConfig, dir, interval string) ([]byte, error) {
	return sigsyaml.Marshal(map[string]any{
		"global": map[string]any{"scrape_interval": interval, "scrape_timeout": interval,
			"evaluation_interval": interval},
		"rule_files":     []string{filepath.Join(dir, rulesFile)},
		"scrape_configs": scrapes,
	})
}

// rules returns the payload's alerts as a file of rules.
func rules(repository string) ([]byte, error) {
	var object struct {
		Spec json.RawMessage `json:"spec"`
	}
	content, err := os.ReadFile(filepath.Join(repository, manifests+"03_alerts.prometheusrule.yaml"))
	if err == nil {
		err = sigsyaml.Unmarshal(content, &object)
	}
	if err != nil {
		return nil, fmt.Errorf("alerts: %w", err)
	}
	return sigsyaml.JSONToYAML(object.Spec)
}

var metricName = regexp.MustCompile(`\b(?:cloud_controller_manager_operator|cloudprovider|openstack_api)_[a-z_]+`)

// UsedMetrics returns the names of the metrics that the payload's alerts and the dashboard use, sorted.
func UsedMetrics(repository string) ([]string, error) {
	alerts, err := rules(repository)
	if err != nil {
		return nil, err
	}
	board, err := readDashboard(repository)
	if err != nil {
		return nil, err
	}
	expressions := []string{string(alerts)}
	for _, row := range board.Rows {
		for _, panel := range row.Panels {
			for _, target := range panel.Targets {
				expressions = append(expressions, target.Expr)
			}
		}
	}
	names := metricName.FindAllString(strings.Join(expressions, "\n"), -1)
	slices.Sort(names)
	return slices.Compact(names), nil
}
