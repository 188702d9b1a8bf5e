package architecture

import (
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

const collectionProfile = "monitoring.openshift.io/collection-profile"

// serviceMonitor has the fields of monitoring.coreos.com/v1 that we use, so that a misspelled one is found.
type serviceMonitor struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Endpoints         []endpoint `json:"endpoints"`
		NamespaceSelector struct {
			MatchNames []string `json:"matchNames"`
		} `json:"namespaceSelector"`
		ScrapeClass          string               `json:"scrapeClass"`
		Selector             metav1.LabelSelector `json:"selector"`
		ServiceDiscoveryRole string               `json:"serviceDiscoveryRole"`
	} `json:"spec"`
}

type endpoint struct {
	Interval  string `json:"interval"`
	Port      string `json:"port"`
	Scheme    string `json:"scheme"`
	TLSConfig struct {
		CA struct {
			ConfigMap corev1.ConfigMapKeySelector `json:"configMap"`
		} `json:"ca"`
		ServerName string `json:"serverName"`
	} `json:"tlsConfig"`
	MetricRelabelings []struct {
		Action       string   `json:"action"`
		Regex        string   `json:"regex"`
		SourceLabels []string `json:"sourceLabels"`
	} `json:"metricRelabelings"`
}

// DeepCopyObject is enough for a scheme that only decodes.
func (s *serviceMonitor) DeepCopyObject() runtime.Object { return s }

func ofKind[T runtime.Object](t *testing.T) []T {
	t.Helper()
	var found []T
	for _, m := range payload(t) {
		if object, ok := m.object.(T); ok {
			found = append(found, object)
		}
	}
	require.NotEmpty(t, found)
	return found
}

// A monitor that selects no Service, or the wrong port or name, is silent, and so are the alerts.
func TestEachServiceMonitorFindsItsServiceAndVerifiesIt(t *testing.T) {
	services := ofKind[*corev1.Service](t)
	for _, m := range objectsIn(t, "bindata/assets/metrics") {
		if service, ok := m.object.(*corev1.Service); ok {
			services = append(services, service)
		}
	}
	profiles := map[string][]string{}
	for _, monitor := range ofKind[*serviceMonitor](t) {
		require.Equal(t, []string{monitor.Namespace}, monitor.Spec.NamespaceSelector.MatchNames, monitor.Name)
		require.Equal(t, "tls-client-certificate-auth", monitor.Spec.ScrapeClass, monitor.Name)
		selector, err := metav1.LabelSelectorAsSelector(&monitor.Spec.Selector)
		require.NoError(t, err)
		selected := slices.DeleteFunc(slices.Clone(services), func(s *corev1.Service) bool {
			return s.Namespace != monitor.Namespace || !selector.Matches(labels.Set(s.Labels))
		})
		require.Len(t, selected, 1, monitor.Name)
		require.Len(t, monitor.Spec.Endpoints, 1, monitor.Name)
		scraped := monitor.Spec.Endpoints[0]
		require.Equal(t, selected[0].Spec.Ports[0].Name, scraped.Port, monitor.Name)
		require.Equal(t, "https", scraped.Scheme, monitor.Name)
		require.Equal(t, selected[0].Name+"."+selected[0].Namespace+".svc", scraped.TLSConfig.ServerName, monitor.Name)
		profiles[selected[0].Name] = append(profiles[selected[0].Name], monitor.Labels[collectionProfile])
		// The service CA, which the scrape class trusts, issues a certificate only on demand.
		byServiceCA := selected[0].Annotations["service.beta.openshift.io/serving-cert-secret-name"] != ""
		require.Equal(t, !byServiceCA, scraped.TLSConfig.CA.ConfigMap.Name == "serving-ca", monitor.Name)
	}
	require.Equal(t, map[string][]string{
		"cloud-controller-manager": {"full", "minimal"}, "cloud-controller-manager-operator": {"full", "minimal"},
	}, profiles)
}

// prometheusRule has the fields of monitoring.coreos.com/v1 that we use.
type prometheusRule struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Groups []struct {
			Name  string  `json:"name"`
			Rules []alert `json:"rules"`
		} `json:"groups"`
	} `json:"spec"`
}

type alert struct {
	Alert       string            `json:"alert"`
	Expr        string            `json:"expr"`
	For         string            `json:"for"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

// DeepCopyObject is enough for a scheme that only decodes.
func (p *prometheusRule) DeepCopyObject() runtime.Object { return p }

func alerts(t *testing.T) []alert {
	t.Helper()
	var found []alert
	for _, object := range ofKind[*prometheusRule](t) {
		for _, group := range object.Spec.Groups {
			found = append(found, group.Rules...)
		}
	}
	return found
}

// Alerts about metrics that a cloud-controller-manager never serves would fire for ever.
func TestNoAlertExpectsMetricsOfACCMThatMayServeNone(t *testing.T) {
	var silent []string
	for _, p := range platform.All() {
		config, err := os.ReadFile(filepath.Join(root, "bindata/assets/platforms", p.Name, "config.yaml"))
		if p.Custom || err == nil && strings.Contains(string(config), "\n- secure-port\n") {
			silent = append(silent, p.Name)
		}
	}
	down := alerts(t)[slices.IndexFunc(alerts(t), func(a alert) bool { return a.Alert == "CloudControllerManagerDown" })]
	require.Contains(t, down.Expr, `unless on () cloud_controller_manager_operator_info{platform=~"`+
		strings.Join(silent, "|")+`"}`)
}

// The rules are those of OpenShift's enhancement alerting-consistency. More than a dozen alerts are not read.
func TestEachAlertIsAboutSomethingToDo(t *testing.T) {
	const prefix = "https://github.com/openshift/runbooks/blob/master/"
	patch := string(read(t, "docs/onboarding/runbooks.patch"))
	var runbooks []string
	require.LessOrEqual(t, len(alerts(t)), 12)
	for _, a := range alerts(t) {
		require.Regexp(t, `^CloudControllerManager([A-Z][a-z]+)+$`, a.Alert)
		// What loses no data and ends no service of the whole cluster is not critical.
		require.Equal(t, "warning", a.Labels["severity"], a.Alert)
		for _, annotation := range []string{"summary", "description"} {
			require.Regexp(t, `^\S.*\.$`, a.Annotations[annotation], "%s: %s", a.Alert, annotation)
		}
		runbook := "docs/runbooks/" + a.Alert + ".md"
		target, found := strings.CutPrefix(a.Annotations["runbook_url"], prefix)
		require.True(t, found, "%s: the runbooks of the payload's alerts are in openshift/runbooks", a.Alert)
		require.Contains(t, patch, "\n+++ b/"+target+"\n", a.Alert)
		require.Equal(t, a.Alert+".md", path.Base(target))
		runbooks = append(runbooks, runbook)
		text := string(read(t, runbook))
		require.True(t, strings.HasPrefix(text, "# "+a.Alert+"\n"), runbook)
		require.Equal(t, []string{"Meaning", "Impact", "Diagnosis", "Mitigation"}, sections(text), runbook)
		require.Contains(t, string(read(t, "docs/metrics.md")), "["+a.Alert+"](runbooks/"+a.Alert+".md)")
	}
	require.ElementsMatch(t, runbooks, filesUnder(t, "docs/runbooks", ".md"))
}

// The rules are those of openshift/runbooks' linter, and hack/onboarding.sh makes the links to other documents absolute.
func TestTheRunbooksFitIntoOpenShiftsRepository(t *testing.T) {
	link := regexp.MustCompile(`(?m)^\[[^\]]+\]: (?:\.\./)?([\w-]+\.md)(?:#([\w-]+))?$`)
	code := regexp.MustCompile("(?s)\n```\\w+\n.*?\n```\n")
	for _, runbook := range filesUnder(t, "docs/runbooks", ".md") {
		text := code.ReplaceAllString(string(read(t, runbook)), "")
		require.NotContains(t, text, "```", "%s: a block of code without a language", runbook)
		require.NotContains(t, text, "](", "%s: define the link at the end", runbook)
		require.NotRegexp(t, `(?m)^.{80}.* `, text, runbook)
		for _, match := range link.FindAllStringSubmatch(text, -1) {
			if match[2] == "" {
				continue
			}
			heading := `(?im)^#+ ` + strings.ReplaceAll(match[2], "-", `[ -]`) + `$`
			require.Regexp(t, heading, string(read(t, "docs/"+match[1])), runbook)
		}
	}
}

func sections(text string) []string {
	var found []string
	for _, match := range regexp.MustCompile(`(?m)^## (.+)$`).FindAllStringSubmatch(text, -1) {
		found = append(found, match[1])
	}
	return found
}

// ofCCMs are the metrics of the cloud-controller-managers that alerts and the dashboard use, by the source file:
// pkg/providers/v1/aws_metrics.go of cloud-provider-aws, pkg/metrics/azure_metrics.go of cloud-provider-azure and
// pkg/metrics/metrics_api.go of cloud-provider-openstack, all of Kubernetes 1.36.
var ofCCMs = []string{
	"cloudprovider_aws_api_request_duration_seconds_count", "cloudprovider_aws_api_request_errors",
	"cloudprovider_aws_api_throttled_requests_total",
	"cloudprovider_azure_api_request_duration_seconds_count", "cloudprovider_azure_api_request_errors",
	"cloudprovider_azure_api_request_throttled_count",
	"openstack_api_request_errors_total", "openstack_api_requests_total",
}

var metricName = regexp.MustCompile(`\b(?:cloud_controller_manager_operator|cloudprovider|openstack_api)_[a-z_]+`)

// expressions are those of the alerts and of the dashboard's panels.
func expressions(t *testing.T) []string {
	t.Helper()
	var found []string
	for _, a := range alerts(t) {
		found = append(found, a.Expr)
	}
	for _, object := range ofKind[*corev1.ConfigMap](t) {
		if object.Labels["console.openshift.io/dashboard"] != "true" {
			continue
		}
		require.Equal(t, "openshift-config-managed", object.Namespace, "the console reads no other namespace")
		var dashboard struct {
			Title string
			Rows  []struct {
				Title  string
				Panels []struct {
					Title, Type string
					Targets     []struct{ Expr string }
				}
			}
		}
		require.NoError(t, json.Unmarshal([]byte(object.Data["cloud-controller-manager.json"]), &dashboard))
		require.NotEmpty(t, dashboard.Title)
		require.Len(t, dashboard.Rows, 5)
		for _, row := range dashboard.Rows {
			require.True(t, strings.HasSuffix(row.Title, "?"), row.Title)
			for _, panel := range row.Panels {
				require.Contains(t, []string{"graph", "singlestat", "table"}, panel.Type, panel.Title)
				require.NotEmpty(t, panel.Targets, panel.Title)
				for _, target := range panel.Targets {
					found = append(found, target.Expr)
				}
			}
		}
	}
	require.Greater(t, len(found), 20)
	return found
}

func TestAlertsAndTheDashboardUseMetricsThatExistAndThatEachProfileKeeps(t *testing.T) {
	var kept []*regexp.Regexp
	for _, monitor := range ofKind[*serviceMonitor](t) {
		for _, relabeling := range monitor.Spec.Endpoints[0].MetricRelabelings {
			expression := regexp.MustCompile("^(?:" + relabeling.Regex + ")$")
			if relabeling.Action == "keep" {
				kept = append(kept, expression)
				continue
			}
			for _, e := range expressions(t) {
				for _, name := range metricName.FindAllString(e, -1) {
					require.NotRegexp(t, expression, name, monitor.Name)
				}
			}
		}
	}
	require.Len(t, kept, 2)
	document, used := string(read(t, "docs/metrics.md")), map[string]bool{}
	for _, e := range expressions(t) {
		for _, name := range metricName.FindAllString(e, -1) {
			used[name] = true
			require.True(t, slices.Contains(ofCCMs, name) || strings.Contains(document, "| `"+name+"` |"), name)
			require.True(t, slices.ContainsFunc(kept, func(r *regexp.Regexp) bool { return r.MatchString(name) }), name)
		}
	}
	for _, name := range ofCCMs {
		require.True(t, used[name], name)
	}
}

var (
	conditionMatcher = regexp.MustCompile(`condition=~?"([^"]+)"`)
	alternatives     = regexp.MustCompile(`^\((.+)\)([A-Za-z]+)$`)
)

// An alert about a condition that was renamed would be silent.
func TestEachAlertAboutAConditionIsAboutOneThatIsDocumented(t *testing.T) {
	document, checked := string(read(t, "docs/operations.md")), 0
	for _, a := range alerts(t) {
		for _, match := range conditionMatcher.FindAllStringSubmatch(a.Expr, -1) {
			names, suffix := match[1], ""
			if parts := alternatives.FindStringSubmatch(names); parts != nil {
				names, suffix = parts[1], parts[2]
			}
			for name := range strings.SplitSeq(names, "|") {
				require.Contains(t, document, "`"+name+suffix+"`", a.Alert)
				checked++
			}
		}
	}
	require.Greater(t, checked, 9)
}
