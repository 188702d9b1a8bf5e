package integration_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/yaml"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/alerts"
)

const (
	operatorJob, operandJob = "cloud-controller-manager-operator", "cloud-controller-manager"
	// hurry is by how much the alerts wait less here.
	hurry = 120
)

// Prometheus itself scrapes the operator, with what the profile minimal keeps, and evaluates the alerts of the payload.
// There are no nodes: the test writes what kubelets and cloud-controller-managers would, and an empty server stands for
// the cloud-controller-managers.
func TestPrometheusFiresTheAlertsAndResolvesThem(t *testing.T) {
	t.Parallel()
	c := startCluster(t, configv1.OpenStackPlatformType)
	operands := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(operands.Close)
	o := c.startOperator(t)
	p := startPrometheus(t, c)
	p.target(t, operatorJob, o.address)
	p.target(t, operandJob, operands.Listener.Addr().String())
	for _, node := range masters {
		c.register(t, node)
	}
	started := time.Now().Add(-2 * time.Minute)
	c.install(t, started)
	p.awaitFiring(t, "CloudControllerManagerNoLeader")
	c.hold(t, "master-0_ours", started.Add(time.Minute))
	p.awaitFiring(t)

	restore := c.editConfigMap(t, configNamespace, "cloud-provider-config", func(m *corev1.ConfigMap) {
		m.Data["config"] = "[Global]\nregoin = x\n"
	})
	c.createWaiting(t, "worker-0")
	p.target(t, operandJob, freeAddress(t))
	p.awaitFiring(t, "CloudControllerManagerDown", "CloudControllerManagerInputRejected",
		"CloudControllerManagerNodesUninitialized")
	restore()
	require.NoError(t, c.kube.CoreV1().Nodes().Delete(t.Context(), "worker-0", metav1.DeleteOptions{}))
	p.target(t, operandJob, operands.Listener.Addr().String())
	p.awaitFiring(t)

	// No preflight tries it, which no kubelet would run here.
	c.patchSpec(t, `{"spec":{"forceRedeploymentReason":"again"}}`)
	p.awaitFiring(t, "CloudControllerManagerRolloutStuck")
	c.install(t, started)
	p.awaitFiring(t)

	c.createWaiting(t, "worker-1")
	c.patchSpec(t, `{"spec":{"managementState":"Removed"}}`)
	p.awaitFiring(t, "CloudControllerManagerNodesUninitialized", "CloudControllerManagerTransitionStuck")
	c.patchSpec(t, `{"spec":{"managementState":"Managed"}}`)
	require.NoError(t, c.kube.CoreV1().Nodes().Delete(t.Context(), "worker-1", metav1.DeleteOptions{}))
	p.awaitFiring(t)

	o.kill(t)
	p.awaitFiring(t, "CloudControllerManagerOperatorDown")
	o = c.startOperator(t)
	p.target(t, operatorJob, o.address)
	p.awaitFiring(t)
}

// The cloud fails, a tenant's Service and a Node's deletion wait for it, and the operator may not do its work.
func TestPrometheusFiresTheAlertsAboutTheCloudAndTheNodes(t *testing.T) {
	t.Parallel()
	var cloud requests
	c, p, _ := startWell(t, &cloud)

	cloud.fail.Store(true)
	web := c.createBalanced(t, "web")
	p.awaitFiring(t, "CloudControllerManagerCloudErrors", "CloudControllerManagerServicesWaiting")
	cloud.fail.Store(false)
	web.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "192.0.2.1"}}
	_, err := c.kube.CoreV1().Services(web.Namespace).UpdateStatus(t.Context(), web, metav1.UpdateOptions{})
	require.NoError(t, err)
	p.awaitFiring(t)

	// The cloud does not know a living Node either.
	for _, name := range []string{"worker-0", "worker-1"} {
		c.createInitialized(t, name)
	}
	c.live(t, "worker-0")
	c.setReady(t, "worker-1", corev1.ConditionUnknown)
	c.announce(t, "worker-1")
	p.awaitFiring(t, "CloudControllerManagerNodeDeletionsHeld")
	require.NoError(t, c.kube.CoreV1().Nodes().Delete(t.Context(), "worker-1", metav1.DeleteOptions{}))
	p.awaitFiring(t)

	permit := c.forbidTokens(t)
	p.awaitFiring(t, "CloudControllerManagerCredentialExpiring")
	permit()
	p.awaitFiring(t)
}

// The operator repairs a node's files three times, and only then gives up. Each repair waits, so this is a test of its
// own.
func TestPrometheusFiresTheAlertAboutFilesThatKeepChanging(t *testing.T) {
	t.Parallel()
	c, p, started := startWell(t, &requests{})
	restore := c.editConfigMap(t, targetNamespace, "node-files", func(m *corev1.ConfigMap) {
		m.Data = map[string]string{"master-0": fmt.Sprintf(`{"directory":"","manifest":"","at":%q}`,
			time.Now().Format(time.RFC3339))}
	})
	for range 3 {
		c.awaitRepair(t, "master-0")
		c.install(t, started)
	}
	p.awaitFiring(t, "CloudControllerManagerNodeFilesChanging")
	restore()
	p.awaitFiring(t)
}

// startWell starts a control plane with an operator, and a Prometheus that scrapes it and operands, and waits until the
// revision is on every node and no alert fires. The operands have run since started.
func startWell(t *testing.T, operands http.Handler) (c *cluster, p *prometheus, started time.Time) {
	t.Helper()
	c = startCluster(t, configv1.OpenStackPlatformType)
	server := httptest.NewServer(operands)
	t.Cleanup(server.Close)
	for _, node := range masters {
		c.register(t, node)
	}
	o := c.startOperator(t)
	p = startPrometheus(t, c)
	p.target(t, operatorJob, o.address)
	p.target(t, operandJob, server.Listener.Addr().String())
	started = time.Now().Add(-2 * time.Minute)
	c.install(t, started)
	c.hold(t, "master-0_ours", started.Add(time.Minute))
	p.awaitFiring(t)
	return c, p, started
}

// awaitRepair waits until the operator installs a node's revision again.
func (c *cluster) awaitRepair(t *testing.T, node string) {
	t.Helper()
	await(t, "a repair of node/"+node, func(ctx context.Context) error {
		pods, err := c.kube.CoreV1().Pods(targetNamespace).List(ctx, metav1.ListOptions{LabelSelector: "app=installer"})
		if err == nil && !slices.ContainsFunc(pods.Items, func(pod corev1.Pod) bool {
			return pod.Spec.NodeName == node && pod.Status.Phase != corev1.PodSucceeded
		}) {
			err = fmt.Errorf("none of %d installer pods runs there", len(pods.Items))
		}
		return err
	})
}

// requests stands for a cloud-controller-manager that asks its cloud something before each scrape.
type requests struct {
	fail          atomic.Bool
	total, failed atomic.Int64
}

func (r *requests) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	if r.fail.Load() {
		r.failed.Add(1)
	}
	fmt.Fprintf(w, "openstack_api_requests_total{request=\"server_get\"} %d\nopenstack_api_request_errors_total"+
		"{request=\"server_get\"} %d\n", r.total.Add(1), r.failed.Load())
}

// createBalanced creates a Service whose load balancer the cloud refuses.
func (c *cluster) createBalanced(t *testing.T, name string) *corev1.Service {
	t.Helper()
	service, err := c.kube.CoreV1().Services(metav1.NamespaceDefault).Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Port: 80}}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = c.kube.CoreV1().Events(service.Namespace).Create(t.Context(), &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{GenerateName: name + "-"},
		InvolvedObject: corev1.ObjectReference{
			Kind: "Service", Namespace: service.Namespace, Name: service.Name, UID: service.UID,
		},
		Source: corev1.EventSource{Component: "service-controller"}, Type: corev1.EventTypeWarning,
		Reason: "SyncLoadBalancerFailed", Message: "quota exceeded", LastTimestamp: metav1.Now(),
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	return service
}

// forbidTokens lets the operand's token be near its end, and forbids the operator to request another one until permit
// is called.
func (c *cluster) forbidTokens(t *testing.T) (permit func()) {
	t.Helper()
	const (
		role         = "cluster-cloud-controller-manager-static-pods"
		tokenRecords = "cloud-controller-manager.openshift.io/token-records"
	)
	roles, secrets := c.kube.RbacV1().Roles(targetNamespace), c.kube.CoreV1().Secrets(targetNamespace)
	before, err := roles.Get(t.Context(), role, metav1.GetOptions{})
	require.NoError(t, err)
	without := before.DeepCopy()
	without.Rules = slices.DeleteFunc(without.Rules, func(r rbacv1.PolicyRule) bool {
		return slices.Contains(r.Resources, "serviceaccounts/token")
	})
	require.Len(t, without.Rules, len(before.Rules)-1)
	_, err = roles.Update(t.Context(), without, metav1.UpdateOptions{})
	require.NoError(t, err)
	token, err := secrets.Get(t.Context(), "kube-token", metav1.GetOptions{})
	require.NoError(t, err)
	issued := time.Now().Add(-2 * time.Hour)
	for field, at := range map[string]time.Time{"issuedAt": issued, "expiresAt": issued.Add(3 * time.Hour)} {
		value := regexp.MustCompile(fmt.Sprintf(`(%q:)"[^"]+"`, field))
		require.Regexp(t, value, token.Annotations[tokenRecords])
		token.Annotations[tokenRecords] = value.ReplaceAllString(token.Annotations[tokenRecords],
			fmt.Sprintf("$1%q", at.UTC().Format(time.RFC3339)))
	}
	_, err = secrets.Update(t.Context(), token, metav1.UpdateOptions{})
	require.NoError(t, err)
	return func() {
		require.NoError(t, retry.RetryOnConflict(retry.DefaultRetry, func() error {
			current, err := roles.Get(t.Context(), role, metav1.GetOptions{})
			if err != nil {
				return err
			}
			current.Rules = before.Rules
			_, err = roles.Update(t.Context(), current, metav1.UpdateOptions{})
			return err
		}))
	}
}

// prometheus is a running Prometheus.
type prometheus struct {
	dir, address string
}

// startPrometheus starts it with the payload's alerts, which wait less, and without targets.
func startPrometheus(t *testing.T, c *cluster) *prometheus {
	t.Helper()
	binary, err := alerts.Tool(t.Context(), "../../_output/debian", "prometheus")
	require.NoError(t, err)
	p := &prometheus{dir: t.TempDir(), address: freeAddress(t)}
	p.write(t, "rules.yaml", hurriedRules(t))
	p.write(t, "token", c.prometheusToken(t))
	p.target(t, operatorJob)
	p.target(t, operandJob)
	p.write(t, "prometheus.yaml", fmt.Sprintf(`
global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}
rule_files: [rules.yaml]
scrape_configs:
- job_name: %[1]s
  scheme: https
  authorization: {credentials_file: token}
  # The operator's certificate is self-signed here.
  tls_config: {insecure_skip_verify: true}
  file_sd_configs: [{files: [%[1]s.json], refresh_interval: 1s}]
  relabel_configs: [{target_label: namespace, replacement: %[3]s}, {target_label: instance, replacement: one}]
  metric_relabel_configs: [{source_labels: [__name__], action: keep, regex: %[5]q}]
- job_name: %[2]s
  file_sd_configs: [{files: [%[2]s.json], refresh_interval: 1s}]
  relabel_configs: [{target_label: namespace, replacement: %[4]s}, {target_label: instance, replacement: one}]
`, operatorJob, operandJob, operatorNamespace, targetNamespace, minimalProfile(t)))
	log, err := os.Create(filepath.Join(p.dir, "log"))
	require.NoError(t, err)
	command := exec.Command(binary, "--config.file="+filepath.Join(p.dir, "prometheus.yaml"),
		"--storage.tsdb.path="+filepath.Join(p.dir, "data"), "--web.listen-address="+p.address)
	command.Stdout, command.Stderr = log, log
	require.NoError(t, command.Start())
	t.Cleanup(func() {
		require.NoError(t, command.Process.Kill())
		_ = command.Wait()
		require.NoError(t, log.Close())
		if t.Failed() {
			content, err := os.ReadFile(log.Name())
			t.Logf("Prometheus' log (%v):\n%s", err, content)
		}
	})
	return p
}

func (p *prometheus) write(t *testing.T, name, content string) {
	t.Helper()
	// Prometheus may read the file meanwhile.
	require.NoError(t, os.WriteFile(filepath.Join(p.dir, "."+name), []byte(content), 0o600))
	require.NoError(t, os.Rename(filepath.Join(p.dir, "."+name), filepath.Join(p.dir, name)))
}

// target replaces the targets of a job.
func (p *prometheus) target(t *testing.T, job string, addresses ...string) {
	t.Helper()
	content, err := json.Marshal([]map[string][]string{{"targets": append([]string{}, addresses...)}})
	require.NoError(t, err)
	p.write(t, job+".json", string(content))
}

// awaitFiring waits until exactly these alerts fire, in alphabetical order.
func (p *prometheus) awaitFiring(t *testing.T, names ...string) {
	t.Helper()
	began := time.Now()
	await(t, fmt.Sprintf("the alerts %q", names), func(ctx context.Context) error {
		firing, err := p.firing(ctx)
		if err == nil && !slices.Equal(firing, names) {
			err = fmt.Errorf("firing are %q", firing)
		}
		return err
	})
	t.Logf("after %s exactly these alerts fire: %q", time.Since(began).Round(time.Second), names)
}

func (p *prometheus) firing(ctx context.Context) ([]string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.address+"/api/v1/alerts", http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var answer struct {
		Data struct {
			Alerts []struct {
				Labels map[string]string
				State  string
			}
		}
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return nil, err
	}
	var firing []string
	for _, alert := range answer.Data.Alerts {
		if alert.Labels["severity"] == "" {
			return nil, errors.New("an alert has no severity")
		}
		if alert.State == "firing" {
			firing = append(firing, alert.Labels["alertname"])
		}
	}
	slices.Sort(firing)
	return slices.Compact(firing), nil
}

var (
	comparison = regexp.MustCompile(`> (\d{3,})`)
	duration   = regexp.MustCompile(`(?m)^(\s+for: )(\d+[mh])$`)
	span       = regexp.MustCompile(`\[10m\]`)
)

// hurriedRules returns the rules of the payload's alerts, which wait for minutes and hours there.
func hurriedRules(t *testing.T) string {
	t.Helper()
	var object struct {
		Spec map[string]any `json:"spec"`
	}
	readManifest(t, "03_alerts.prometheusrule", &object)
	content, err := yaml.Marshal(object.Spec)
	require.NoError(t, err)
	rules := comparison.ReplaceAllStringFunc(string(content), func(text string) string {
		seconds, err := strconv.Atoi(strings.TrimPrefix(text, "> "))
		require.NoError(t, err)
		return fmt.Sprintf("> %d", seconds/hurry)
	})
	rules = span.ReplaceAllString(rules, fmt.Sprintf("[%s]", 10*time.Minute/hurry))
	return duration.ReplaceAllStringFunc(rules, func(text string) string {
		parts := duration.FindStringSubmatch(text)
		wait, err := time.ParseDuration(parts[2])
		require.NoError(t, err)
		return fmt.Sprintf("%s%dms", parts[1], (wait / hurry).Milliseconds())
	})
}

// minimalProfile returns the expression for the operator's metrics that the profile minimal keeps.
func minimalProfile(t *testing.T) string {
	t.Helper()
	content, err := os.ReadFile("../../manifests/0000_90_cloud-controller-manager-operator_02_servicemonitors.yaml")
	require.NoError(t, err)
	kept := regexp.MustCompile(`(?m)^    - action: keep\n      regex: (cloud_controller_manager_\S+)$`).FindSubmatch(content)
	require.NotNil(t, kept)
	return string(kept[1])
}

func readManifest(t *testing.T, name string, into any) {
	t.Helper()
	content, err := os.ReadFile("../../manifests/0000_90_cloud-controller-manager-operator_" + name + ".yaml")
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(content, into))
}
