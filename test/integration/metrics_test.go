package integration_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/transport"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/operandprobe"
)

const metricPrefix = "cloud_controller_manager_operator_"

// The identity of OpenShift's Prometheus needs no right in the API server: the operator's own authorizer lets it read
// the metrics. Every documented metric is among them, and there is no other.
func TestPrometheusReadsWhatIsDocumented(t *testing.T) {
	t.Parallel()
	c := startCluster(t, configv1.OpenStackPlatformType)
	o := c.startOperator(t)
	for _, node := range masters {
		c.register(t, node)
	}
	started := time.Now().Add(-2 * time.Minute)
	revision := c.install(t, started)
	c.hold(t, "master-0_ours", started.Add(time.Minute))
	c.createWaiting(t, "worker-0")

	document, err := os.ReadFile("../../docs/metrics.md")
	require.NoError(t, err)
	documented := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| `("+metricPrefix+"[a-z_]+)` \\|").FindAllStringSubmatch(string(document), -1) {
		documented[row[1]] = true
	}
	require.Greater(t, len(documented), 5)
	client := c.prometheus(t)
	var samples map[string]float64
	await(t, "the documented metrics", func(ctx context.Context) error {
		var err error
		if samples, err = scrape(ctx, client, o.address); err != nil {
			return err
		}
		served := map[string]bool{}
		for series := range samples {
			served[regexp.MustCompile(`^[a-z_]+`).FindString(series)] = true
		}
		if !maps.Equal(documented, served) {
			return fmt.Errorf("served are %v", slices.Sorted(maps.Keys(served)))
		}
		return nil
	})
	require.InDelta(t, revision, samples[metricPrefix+"revision_wanted"], 0)
	for _, node := range masters {
		require.InDelta(t, revision, samples[metricPrefix+`revision_running{node="`+node+`"}`], 0)
	}
	require.InDelta(t, 1, samples[metricPrefix+`lease_holder{node="master-0",state="leading"}`], 0)
	require.Zero(t, samples[metricPrefix+"leaderless_seconds"])
	// The test's kubelets serve no log, so the cause is not known.
	require.InDelta(t, 1, samples[metricPrefix+`nodes_waiting{cause="Unknown"}`], 0)
	for credential, lifetime := range map[string]time.Duration{
		"kube-token": 48 * time.Hour, "serving-cert": 30 * 24 * time.Hour, "serving-signer": 60 * 24 * time.Hour,
	} {
		expiry := time.Unix(int64(samples[metricPrefix+`credential_expiry_timestamp_seconds{credential="`+credential+`"}`]), 0)
		require.WithinDuration(t, time.Now().Add(lifetime), expiry, 10*time.Minute, credential)
	}
}

// createWaiting creates a Node that waits for its initialization.
func (c *cluster) createWaiting(t *testing.T, name string) {
	t.Helper()
	_, err := c.kube.CoreV1().Nodes().Create(t.Context(), &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.NodeSpec{Taints: []corev1.Taint{
			{Key: uninitialized, Value: "true", Effect: corev1.TaintEffectNoSchedule},
		}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	c.live(t, name)
}

// prometheus returns a client with the identity of OpenShift's Prometheus.
func (c *cluster) prometheus(t *testing.T) *http.Client {
	t.Helper()
	return &http.Client{Transport: transport.NewBearerAuthRoundTripper(c.prometheusToken(t), &http.Transport{
		// The operator's certificate is self-signed here.
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
	})}
}

// prometheusToken returns a token of OpenShift's Prometheus.
func (c *cluster) prometheusToken(t *testing.T) string {
	t.Helper()
	const namespace, name = "openshift-monitoring", "prometheus-k8s"
	_, err := c.kube.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
	require.NoError(t, err)
	accounts := c.kube.CoreV1().ServiceAccounts(namespace)
	_, err = accounts.Create(t.Context(),
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	require.NoError(t, err)
	token, err := accounts.CreateToken(t.Context(), name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	require.NoError(t, err)
	return token.Status.Token
}

// scrape returns the operator's own samples by their series.
func scrape(ctx context.Context, client *http.Client, address string) (map[string]float64, error) {
	text, err := operandprobe.Get(ctx, client, "https://"+address+"/metrics")
	if err != nil {
		return nil, err
	}
	samples := samplesOf(text)
	maps.DeleteFunc(samples, func(series string, _ float64) bool { return !strings.HasPrefix(series, metricPrefix) })
	if len(samples) == 0 {
		return nil, errors.New("no metric is the operator's")
	}
	return samples, nil
}

var sample = regexp.MustCompile(`(?m)^([a-z_]+(?:\{.*\})?) (\S+)$`)

// samplesOf returns the values in the text format by their series.
func samplesOf(text string) map[string]float64 {
	samples := map[string]float64{}
	for _, match := range sample.FindAllStringSubmatch(text, -1) {
		if value, err := strconv.ParseFloat(match[2], 64); err == nil {
			samples[match[1]] = value
		}
	}
	return samples
}
