package e2e

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	ccmv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
	devcluster "github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/node"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/openstack"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/dockerfile"
)

// podLimit is the timeout of a static pod's work, which takes seconds.
const podLimit = 3 * time.Minute

// testBootstrap runs the step of bootkube.sh on the cluster's objects in the installer's layout, and handles its outputs
// as on a bootstrap node. No cloud-controller-manager of the cluster exists yet, so these outputs must initialize the
// first node: a pod on a standalone kubelet or, where a cloud-node-manager initializes nodes, its DaemonSet. The cloud
// has no other node's machine until bootOthers. The bootstrap node runs until endBootstrap.
func (s *cloudStory) testBootstrap(t *testing.T) {
	first := s.Nodes()[0]
	for _, other := range s.Nodes()[1:] {
		require.NoError(t, s.SetInstance(other.Name(), false))
	}
	var err error
	s.bootstrap, err = s.StartBootstrapNode(t.Context())
	require.NoError(t, err)
	dir := t.TempDir()
	s.writeInstallerFiles(t, dir)
	s.runBootkubeStep(t, dir)
	require.Equal(t, s.bootstrapPods(), names(t, filepath.Join(dir, "bootstrap-manifests")))
	s.requireUninitialized(t, s.Nodes())

	defer s.showBootstrap(t)
	began := time.Now()
	s.putInPlace(t, dir, s.bootstrap)
	s.await(t, first.Name()+" to be initialized by what the bootstrap node has", podLimit, func(ctx context.Context) error {
		return s.isInitialized(ctx, first)
	})
	what := "bootstrap pod placed"
	if s.hasNodeManager {
		what = "bootstrap manifests created"
	}
	s.figure("%s to first control-plane node initialized: %s", what, rounded(began))
	s.requireUninitialized(t, s.Nodes()[1:])
	_, err = s.kube.CoreV1().Nodes().Get(t.Context(), s.bootstrap.Name(), metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err), "the bootstrap node is no Node of the cluster: %v", err)
	s.requireInitializer(t, first, s.bootstrap)
	leases, err := s.kube.CoordinationV1().Leases("").List(t.Context(),
		metav1.ListOptions{FieldSelector: "metadata.name=" + operand})
	require.NoError(t, err)
	require.Empty(t, leases.Items, "what runs now neither takes a lease nor waits for one")
}

// bootstrapPods returns the static pods that the step writes.
func (s *cloudStory) bootstrapPods() []string {
	if s.hasNodeManager {
		return nil
	}
	return []string{"cloud-controller-manager-pod.yaml"}
}

// bootOthers makes the cloud have the machines of all nodes.
func (s *cloudStory) bootOthers(t *testing.T) {
	t.Helper()
	for _, other := range s.Nodes()[1:] {
		require.NoError(t, s.SetInstance(other.Name(), true))
	}
}

// endBootstrap removes from the bootstrap node what cluster-bootstrap removes at its end, and then deletes the machine
// as the installer does. Without the step before, there is no such node.
func (s *cloudStory) endBootstrap(t *testing.T) {
	t.Helper()
	if s.bootstrap == nil {
		return
	}
	kubernetes := filepath.Join(s.bootstrap.Root(), "etc", "kubernetes")
	require.NoError(t, os.RemoveAll(filepath.Join(kubernetes, "bootstrap-secrets")))
	for _, pod := range s.bootstrapPods() {
		require.NoError(t, os.Remove(filepath.Join(kubernetes, "manifests", pod)))
	}
	s.await(t, "the bootstrap node's pod to end", podLimit, func(ctx context.Context) error {
		if _, err := servedCertificate(ctx, s.bootstrap); err == nil {
			return errors.New("it serves")
		}
		return nil
	})
	require.NoError(t, s.StopBootstrapNode(t.Context()))
}

// showBootstrap writes the end of the logs of the bootstrap node's pod to the output of a failed test.
func (s *cloudStory) showBootstrap(t *testing.T) {
	t.Helper()
	if !t.Failed() {
		return
	}
	const most = 8 << 10
	logs, err := filepath.Glob(filepath.Join(s.bootstrap.Root(), "var/log/pods/*/*/*.log"))
	require.NoError(t, err)
	for _, log := range logs {
		content, err := os.ReadFile(log)
		require.NoError(t, err)
		t.Logf("%s:\n%s", log, content[max(0, len(content)-most):])
	}
}

// requireUninitialized checks that nodes have registered and that nothing has initialized them.
func (s *cloudStory) requireUninitialized(t *testing.T, list []*node.Node) {
	t.Helper()
	for _, n := range list {
		object, err := s.kube.CoreV1().Nodes().Get(t.Context(), n.Name(), metav1.GetOptions{})
		require.NoError(t, err)
		require.True(t, hasTaint(object, uninitialized), "%s has the taints %v", n.Name(), object.Spec.Taints)
		s.requireRegistered(t, object)
	}
}

// requireRegistered requires that a Node has the providerID that its kubelet registers with, if any.
func (s *cloudStory) requireRegistered(t *testing.T, object *corev1.Node) {
	t.Helper()
	want := ""
	if s.registersID {
		want = s.cloud.ProviderID(object.Name)
	}
	require.Equal(t, want, object.Spec.ProviderID, object.Name)
}

// writeInstallerFiles writes the files in /opt/openshift at the time of the step, from the cluster's objects.
func (s *cloudStory) writeInstallerFiles(t *testing.T, dir string) {
	t.Helper()
	ctx := t.Context()
	infrastructure, err := s.config.ConfigV1().Infrastructures().Get(ctx, "cluster", metav1.GetOptions{})
	require.NoError(t, err)
	proxy, err := s.config.ConfigV1().Proxies().Get(ctx, "cluster", metav1.GetOptions{})
	require.NoError(t, err)
	gates, err := s.config.ConfigV1().FeatureGates().Get(ctx, "cluster", metav1.GetOptions{})
	require.NoError(t, err)
	cloudConfig := &corev1.ConfigMap{}
	if name := infrastructure.Spec.CloudConfig.Name; name != "" {
		cloudConfig, err = s.kube.CoreV1().ConfigMaps(configNamespace).Get(ctx, name, metav1.GetOptions{})
		require.NoError(t, err)
		writeManifest(t, filepath.Join(dir, "manifests/cloud-provider-config.yaml"), cloudConfig)
	}
	if custom := s.Custom(); custom != nil {
		s.writeCustomConfig(t, dir)
		resource := &unstructured.Unstructured{}
		resource.SetGroupVersionKind(ccmv1.Kind)
		resource.SetName(ccmv1.InstanceName)
		resource.Object["spec"] = map[string]any{"managementState": operatorv1.Managed, "custom": custom}
		writeManifest(t, filepath.Join(dir, "manifests/99_cloud-controller-manager.yaml"), resource)
	}
	if name := proxy.Spec.TrustedCA.Name; name != "" {
		trusted, err := s.kube.CoreV1().ConfigMaps(configNamespace).Get(ctx, name, metav1.GetOptions{})
		require.NoError(t, err)
		writeManifest(t, filepath.Join(dir, "manifests/user-ca-bundle-config.yaml"), trusted)
	}
	for path, object := range map[string]runtime.Object{
		"manifests/cluster-infrastructure-02-config.yml":        infrastructure,
		"manifests/cluster-proxy-01-config.yaml":                proxy,
		"manifests/99_feature-gate.yaml":                        gates,
		"manifests/99_cloud-creds-secret.yaml":                  s.installerCredentials(),
		"config-bootstrap/cloud-provider-config-generated.yaml": generatedConfig(cloudConfig, infrastructure),
	} {
		writeManifest(t, filepath.Join(dir, path), object)
	}
	tags := []any{imageTag(operatorName)}
	for _, tag := range s.registered().Images() {
		tags = append(tags, imageTag(tag))
	}
	references := map[string]any{"kind": "ImageStream", "apiVersion": "image.openshift.io/v1",
		"metadata": map[string]any{"name": devcluster.Version}, "spec": map[string]any{"tags": tags}}
	content, err := json.Marshal(references)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "image-references"), content, 0o600))
}

// writeCustomConfig writes the ConfigMap that spec.custom names, if any.
func (s *cloudStory) writeCustomConfig(t *testing.T, dir string) {
	t.Helper()
	if s.Custom().CloudConfig.Name == "" {
		return
	}
	configMap, err := s.kube.CoreV1().ConfigMaps(configNamespace).Get(t.Context(), s.cloudConfigName(), metav1.GetOptions{})
	require.NoError(t, err)
	writeManifest(t, filepath.Join(dir, "manifests/99_cloud-config.yaml"), configMap)
}

// cloudConfigName returns the ConfigMap with the cloud configuration.
func (s *cloudStory) cloudConfigName() string {
	if custom := s.Custom(); custom != nil && custom.CloudConfig.Name != "" {
		return custom.CloudConfig.Name
	}
	return "cloud-provider-config"
}

// installerCredentials returns the Secret that the installer writes for cloud-credential-operator, or the one that its
// user gave it for a cloud that this operator does not support.
func (s *cloudStory) installerCredentials() *corev1.Secret {
	credentials := &corev1.Secret{Data: s.cloud.Credentials()}
	credentials.Namespace, credentials.Name = "kube-system", s.registered().Credentials.RootSecret
	if credentials.Name == "" {
		credentials.Namespace, credentials.Name = targetNamespace, s.secret
		return credentials
	}
	for _, key := range s.mintedKeys {
		delete(credentials.Data, key)
	}
	return credentials
}

// generatedConfig returns what cluster-config-operator makes of the cloud configuration, as of commit 158288a3. On
// Azure, the installer's already has what this operator adds. Without a cloud configuration, there is none.
func generatedConfig(user *corev1.ConfigMap, infrastructure *configv1.Infrastructure) *corev1.ConfigMap {
	generated := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "openshift-config-managed", Name: "kube-cloud-config"},
		Data:       maps.Clone(user.Data),
	}
	text, has := user.Data["config"]
	if !has {
		return generated
	}
	delete(generated.Data, "config")
	if status := infrastructure.Status.PlatformStatus.AWS; status != nil {
		for i, endpoint := range status.ServiceEndpoints {
			text += fmt.Sprintf("\n[ServiceOverride \"%d\"]\n\tService = %s\n\tRegion = %s\n\tURL = %s\n\tSigningRegion = %s\n",
				i, endpoint.Name, status.Region, endpoint.URL, status.Region)
		}
	}
	generated.Data["cloud.conf"] = text
	return generated
}

func (s *suite) servers() []openstack.Instance {
	var servers []openstack.Instance
	for _, n := range s.Nodes() {
		servers = append(servers, openstack.Instance{Name: n.Name(), Addresses: []string{n.IP()}})
	}
	return servers
}

func imageTag(name string) map[string]any {
	return map[string]any{"name": name, "from": map[string]any{"kind": "DockerImage",
		"name": devcluster.ImageRef(name)}}
}

// writeManifest writes an object in the installer's format: with its kind and without the API server's fields.
func writeManifest(t *testing.T, path string, object runtime.Object) {
	t.Helper()
	switch o := object.(type) {
	case *corev1.ConfigMap:
		o.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}
		o.ObjectMeta = metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Name}
	case *corev1.Secret:
		o.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}
	case *configv1.Infrastructure:
		o.TypeMeta = metav1.TypeMeta{APIVersion: "config.openshift.io/v1", Kind: "Infrastructure"}
		o.ObjectMeta = metav1.ObjectMeta{Name: o.Name}
	case *configv1.Proxy:
		o.TypeMeta = metav1.TypeMeta{APIVersion: "config.openshift.io/v1", Kind: "Proxy"}
		o.ObjectMeta = metav1.ObjectMeta{Name: o.Name}
	case *configv1.FeatureGate:
		o.TypeMeta = metav1.TypeMeta{APIVersion: "config.openshift.io/v1", Kind: "FeatureGate"}
		o.ObjectMeta = metav1.ObjectMeta{Name: o.Name}
	}
	content, err := yaml.Marshal(object)
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, content, 0o600))
}

// bootkube has the parts of bootkube.sh that the step requires; the container's directory /assets is the working
// directory.
const bootkube = `
set -o errexit -o nounset -o pipefail
record_service_stage_start() { :; }
record_service_stage_success() { :; }
bootkube_podman_run() {
	while [ "$1" != "${CLOUD_CONTROLLER_MANAGER_OPERATOR_IMAGE}" ]; do shift; done
	podman_run_image "${@:2}"
}
run_program() {
	"$BINARY" "${@//\/assets\//$PWD/}" --config-override-files="$OVERRIDES" --system-trust-bundle="$TRUST"
}
source "$STEP"
`

// runBootkubeStep also passes the settings that upstream's cloud-controller-managers need, and the CAs of the operator's
// image.
func (s *cloudStory) runBootkubeStep(t *testing.T, dir string) {
	t.Helper()
	image, err := dockerfile.Read(filepath.Join(s.Repository(), dockerfile.Name))
	require.NoError(t, err)
	overrides := filepath.Join(t.TempDir(), "overrides.yaml")
	content, err := yaml.Marshal(devcluster.Overrides(s.registered().Name))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(overrides, content, 0o600))
	command := exec.CommandContext(t.Context(), "bash", "-c", image.Shell("/usr/bin/"+operatorName)+bootkube)
	command.Dir = dir
	command.Env = append(os.Environ(),
		"BINARY="+filepath.Join(s.BinDir(), operatorName),
		"OVERRIDES="+overrides,
		"TRUST="+devcluster.SystemTrust,
		"STEP="+filepath.Join(s.Repository(), "bootstrap", "bootkube-step.sh"),
		"VERSION="+devcluster.Version,
		"CLOUD_CONTROLLER_MANAGER_OPERATOR_IMAGE="+devcluster.ImageRef(operatorName),
		"BOOTSTRAP_CONFIGS_DIR="+filepath.Join(dir, "bootstrap-configs"),
	)
	output, err := command.CombinedOutput()
	require.NoError(t, err, string(output))
}

// putInPlace handles the outputs like cluster-bootstrap: it creates the manifests through the API and copies the rest
// to the node, the static pod last. The kubeconfig is the administrator's; on a bootstrap node it names localhost.
func (s *cloudStory) putInPlace(t *testing.T, dir string, bootstrap *node.Node) {
	t.Helper()
	// The cluster already has the installer's objects, but for the Secret in a namespace that these manifests create.
	for _, name := range names(t, filepath.Join(dir, "cloud-controller-manager-bootstrap", "manifests")) {
		command := exec.CommandContext(t.Context(), filepath.Join(s.BinDir(), "kubectl"),
			"--kubeconfig="+s.Kubeconfig(),
			"create", "--filename="+filepath.Join(dir, "manifests", name))
		output, err := command.CombinedOutput()
		require.NoError(t, err, string(output))
	}
	if s.readsSecret {
		_, err := s.kube.CoreV1().Secrets(targetNamespace).Create(t.Context(), s.installerCredentials(), metav1.CreateOptions{})
		require.NoError(t, err)
	}
	kubernetes := filepath.Join(bootstrap.Root(), "etc", "kubernetes")
	secrets := filepath.Join(kubernetes, "bootstrap-secrets")
	copyDir(t, filepath.Join(dir, "bootstrap-configs"), filepath.Join(kubernetes, "bootstrap-configs"))
	copyDir(t, filepath.Join(dir, "tls"), secrets)
	kubeconfig, err := os.ReadFile(s.Kubeconfig())
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(secrets, "kubeconfig"), kubeconfig, 0o600))
	copyDir(t, filepath.Join(dir, "bootstrap-manifests"), filepath.Join(kubernetes, "manifests"))
}

func copyDir(t *testing.T, from, to string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(to, 0o755))
	for _, name := range names(t, from) {
		content, err := os.ReadFile(filepath.Join(from, name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(to, name), content, 0o600))
	}
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// initialized returns nil when the node has the cloud's data and no taint.
func (s *suite) initialized(ctx context.Context, n *node.Node) error {
	object, err := s.kube.CoreV1().Nodes().Get(ctx, n.Name(), metav1.GetOptions{})
	if err != nil {
		return err
	}
	if slices.ContainsFunc(object.Spec.Taints, func(taint corev1.Taint) bool { return taint.Key == uninitialized }) {
		return fmt.Errorf("%s has the taint %s", n.Name(), uninitialized)
	}
	if want := "openstack:///" + openstack.InstanceID(n.Name()); object.Spec.ProviderID != want {
		return fmt.Errorf("%s has the providerID %q, not %q", n.Name(), object.Spec.ProviderID, want)
	}
	addresses := map[corev1.NodeAddressType]string{}
	for _, address := range object.Status.Addresses {
		addresses[address.Type] = address.Address
	}
	if want := map[corev1.NodeAddressType]string{corev1.NodeInternalIP: n.IP(), corev1.NodeHostName: n.Name()}; !maps.Equal(addresses, want) {
		return fmt.Errorf("%s has the addresses %v, not %v", n.Name(), addresses, want)
	}
	return nil
}

// registered returns the platform's entry in the operator's registry.
func (s *cloudStory) registered() platform.Platform {
	found, _ := platform.ByName(s.name)
	return found
}

// requireInitializer checks that a Node was changed by the cloud-controller-manager on a machine and by no other, or
// by the cloud-node-manager on its own machine.
func (s *cloudStory) requireInitializer(t *testing.T, n, machine *node.Node) {
	t.Helper()
	want := s.program() + " on " + machine.IP()
	if s.hasNodeManager {
		want = s.registered().NodeManagerImage + " on " + n.IP()
	}
	require.Equal(t, []string{want}, s.initializers(t, n.Name()))
}

// program is the name with which the cloud-controller-manager asks the API server: that of its binary.
func (s *cloudStory) program() string { return cmp.Or(s.binary, s.OperandTag()) }

// initializers returns the programs of the platform that changed a Node, with their addresses, from the audit log.
func (s *cloudStory) initializers(t *testing.T, name string) []string {
	t.Helper()
	found := map[string]struct{}{}
	s.eachRequest(t, name, func(e *auditEvent) {
		program, _, _ := strings.Cut(e.UserAgent, "/")
		writes := e.Verb == "patch" || e.Verb == "update"
		if writes && e.ObjectRef.Resource == "nodes" && e.ObjectRef.Subresource == "" && e.ObjectRef.Name == name &&
			slices.Contains([]string{s.program(), s.registered().NodeManagerImage}, program) {
			found[program+" on "+strings.Join(e.SourceIPs, ",")] = struct{}{}
		}
	})
	return slices.Sorted(maps.Keys(found))
}
