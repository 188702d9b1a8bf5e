package e2e

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	ccmv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/e2e/internal/monitor"
)

// TestConfigurationChanges changes each part of the cluster's configuration that the cloud-controller-managers get
// besides their cloud's, and looks for it in the container of every node.
func TestConfigurationChanges(t *testing.T) {
	if os.Getenv("E2E_LONG") == "" {
		t.Skip("E2E_LONG is not set: this takes five minutes")
	}
	s := startSuite(t, devcluster.Options{
		Name: "e2e-configuration", Platform: configv1.OpenStackPlatformType, Nodes: nodes, Progress: os.Stderr,
	}, monitor.Rollout("the first revision"), monitor.NewLeader("the first leader"))
	s.awaitSettled(t, 1, rolloutLimit)
	s.requireOneLeader(t)
	for _, change := range []struct {
		name string
		do   func(*testing.T)
		has  string
		not  bool
	}{
		{name: "the TLS profile", do: s.patches("apiservers", `{"spec":{"tlsSecurityProfile":{"type":"Modern","modern":{}}}}`), has: "--tls-min-version=VersionTLS13"},
		{name: "the log level", do: s.setLogLevel, has: "--v=4"},
		{name: "a feature gate", do: s.enableGate, has: "--feature-gates=CloudControllerManagerWebhook=true"},
		{name: "a proxy", do: s.patches("proxies", `{"spec":{"httpsProxy":"http://proxy.example.com:3128"},"status":{"httpsProxy":"http://proxy.example.com:3128","noProxy":"`+s.host()+`"}}`), has: "HTTPS_PROXY=http://proxy.example.com:3128"},
		{name: "no proxy", do: s.patches("proxies", `{"spec":{"httpsProxy":""},"status":{"httpsProxy":"","noProxy":""}}`), has: "HTTPS_PROXY", not: true},
	} {
		t.Run(change.name, func(t *testing.T) {
			s.monitor.Begin(change.name)
			s.expectRollout(change.name)
			before := s.revision(t)
			began := time.Now()
			change.do(t)
			s.awaitSettled(t, before+1, rolloutLimit)
			s.figure("%s, from the change to three nodes: %s", change.name, rounded(began))
			for _, pod := range s.staticPods(t) {
				container := pod.Spec.Containers[slices.IndexFunc(pod.Spec.Containers, func(c corev1.Container) bool { return c.Name == operand })]
				require.Equal(t, !change.not, strings.Contains(given(&container), change.has), "pod/%s:\n%s", pod.Name, given(&container))
			}
			s.requireOneLeader(t)
			s.requireAnnounced(t.Context(), t)
		})
	}
	t.Run("the trusted CA", s.testTrustedCA)
	t.Run("a TLS profile without the ciphers of HTTP/2", s.testUnusableTLSProfile)
}

// testUnusableTLSProfile sets a profile with which the cloud-controller-manager would exit. A preflight serves nothing,
// so it would not see that.
func (s *suite) testUnusableTLSProfile(t *testing.T) {
	s.monitor.Begin("a TLS profile without the ciphers of HTTP/2")
	s.monitor.Expect(monitor.Degraded("spec.tlsSecurityProfile.custom.ciphers", "the profile is rejected"))
	revision, containers, flags := s.revision(t), s.operands.containers(), map[string]string{}
	for _, pod := range s.staticPods(t) {
		flags[pod.Name] = given(&pod.Spec.Containers[0])
	}
	began := time.Now()
	s.patches("apiservers", `{"spec":{"tlsSecurityProfile":{"type":"Custom","modern":null,"custom":`+
		`{"minTLSVersion":"VersionTLS12","ciphers":["ECDHE-RSA-AES256-GCM-SHA384"]}}}}`)(t)
	s.awaitDegraded(t, visibleLimit, "it has neither ECDHE-RSA-AES128-GCM-SHA256 nor ECDHE-ECDSA-AES128-GCM-SHA256",
		"until then the former profile is used")
	s.figure("a TLS profile without the ciphers of HTTP/2 to Degraded with the reason: %s", rounded(began))
	// A rollout would begin within seconds, after a preflight at most.
	for held := time.Now(); time.Since(held) < goodLimit; <-time.After(interval) {
		require.NoError(t, s.operands.allReady(revision, nodes))
	}
	for _, pod := range s.staticPods(t) {
		require.Equal(t, flags[pod.Name], given(&pod.Spec.Containers[0]), "the former suites stay")
	}
	began = time.Now()
	s.patches("apiservers", `{"spec":{"tlsSecurityProfile":{"type":"Modern","modern":{},"custom":null}}}`)(t)
	s.await(t, "a clean ClusterOperator", cleanLimit, s.clean)
	s.figure("... undone to clean: %s", rounded(began))
	require.Equal(t, revision, s.revision(t), "no revision")
	require.Equal(t, containers, s.operands.containers(), "no container was restarted")
	s.requireOneLeader(t)
	s.requireAnnounced(t.Context(), t)
}

// testTrustedCA adds a CA to what Proxy names, and looks for it in the trust of every process.
func (s *suite) testTrustedCA(t *testing.T) {
	s.monitor.Begin("the trusted CA")
	s.expectRollout("the trusted CA")
	before := s.revision(t)
	began := time.Now()
	ca := strings.TrimSpace(string(s.Cloud().CABundle()))
	_, err := s.kube.CoreV1().ConfigMaps(configNamespace).Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "user-ca-bundle"}, Data: map[string]string{"ca-bundle.crt": ca + "\n"},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	s.patches("proxies", `{"spec":{"trustedCA":{"name":"user-ca-bundle"}}}`)(t)
	s.awaitSettled(t, before+1, rolloutLimit)
	s.figure("the trusted CA, from the change to three nodes: %s", rounded(began))
	pids := s.processes(t, operandBinary, "")
	require.Len(t, pids, nodes)
	for _, pid := range pids {
		bundle, err := os.ReadFile(inProcess(pid, revisionedFiles+"/configmaps/trusted-ca/ca-bundle.crt"))
		require.NoError(t, err)
		require.Contains(t, string(bundle), ca)
	}
	s.requireOneLeader(t)
	s.requireAnnounced(t.Context(), t)
}

// given returns what a container's process is given, an item a line.
func given(container *corev1.Container) string {
	lines := slices.Concat(container.Command, container.Args)
	for _, variable := range container.Env {
		lines = append(lines, variable.Name+"="+variable.Value)
	}
	return strings.Join(lines, "\n")
}

func (s *suite) staticPods(t *testing.T) []corev1.Pod {
	t.Helper()
	pods, err := s.kube.CoreV1().Pods(targetNamespace).List(t.Context(), metav1.ListOptions{LabelSelector: "app=" + operand})
	require.NoError(t, err)
	require.Len(t, pods.Items, nodes)
	return pods.Items
}

// patches returns a change of a singleton of config.openshift.io, and of its status as another operator would write it.
func (s *suite) patches(resource, patch string) func(*testing.T) {
	return func(t *testing.T) {
		t.Helper()
		client := s.dynamic.Resource(schema.GroupVersionResource{Group: "config.openshift.io", Version: "v1", Resource: resource})
		_, err := client.Patch(t.Context(), "cluster", types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		require.NoError(t, err)
		_, err = client.Patch(t.Context(), "cluster", types.MergePatchType, []byte(patch), metav1.PatchOptions{}, "status")
		require.NoError(t, err)
	}
}

func (s *suite) setLogLevel(t *testing.T) {
	t.Helper()
	patch := fmt.Sprintf(`{"spec":{"logLevel":%q}}`, operatorv1.Debug)
	_, err := s.dynamic.Resource(ccmv1.Resource).Patch(t.Context(), "cluster", types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	require.NoError(t, err)
}

func (s *suite) enableGate(t *testing.T) {
	t.Helper()
	gates := s.config.ConfigV1().FeatureGates()
	s.await(t, "the feature gate to be enabled", briefly, func(ctx context.Context) error {
		gate, err := gates.Get(ctx, "cluster", metav1.GetOptions{})
		if err != nil {
			return err
		}
		for i := range gate.Status.FeatureGates {
			gate.Status.FeatureGates[i].Enabled = append(gate.Status.FeatureGates[i].Enabled,
				configv1.FeatureGateAttributes{Name: "CloudControllerManagerWebhook"})
		}
		_, err = gates.UpdateStatus(ctx, gate, metav1.UpdateOptions{})
		return err
	})
}
