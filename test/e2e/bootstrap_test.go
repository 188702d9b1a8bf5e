package e2e

import (
	"context"
	"encoding/json"
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
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	devcluster "github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/node"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/openstack"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/dockerfile"
)

const (
	bootstrapName  = "bootstrap"
	bootstrapIndex = 20
	// podLimit is the timeout of a static pod's work, which takes seconds.
	podLimit = 3 * time.Minute
)

// testBootstrap runs the step of bootkube.sh on the cluster's objects in the installer's layout, and its outputs on a
// standalone kubelet. No other cloud-controller-manager exists yet, so the bootstrap node's pod must initialize the
// node. The cloud then has only the first node's server; the operator initializes the other nodes.
func (s *suite) testBootstrap(t *testing.T) {
	first := s.Nodes()[0]
	s.Cloud().SetServers([]openstack.Instance{{Name: first.Name(), Addresses: []string{first.IP()}}})
	bootstrap := s.startBootstrapNode(t)
	dir := t.TempDir()
	s.writeInstallerFiles(t, dir)
	s.runBootkubeStep(t, dir)
	require.Equal(t, []string{"cloud-controller-manager-pod.yaml"}, names(t, filepath.Join(dir, "bootstrap-manifests")))

	began := time.Now()
	s.putInPlace(t, dir, bootstrap)
	s.await(t, first.Name()+" to be initialized by the bootstrap node's pod", podLimit, func(ctx context.Context) error {
		return s.initialized(ctx, first)
	})
	s.figure("bootstrap pod placed to node initialized: %s", rounded(began))
	for _, other := range s.Nodes()[1:] {
		require.Error(t, s.initialized(t.Context(), other), "the cloud does not have %s yet", other.Name())
	}
	_, err := s.kube.CoreV1().Nodes().Get(t.Context(), bootstrapName, metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err), "the bootstrap node is no Node of the cluster: %v", err)
	require.Equal(t, []string{bootstrap.IP()}, s.taintRemovers(t, first.Name()),
		"the address from which the taint was removed")

	// After an installation the bootstrap node is deleted.
	require.NoError(t, bootstrap.Stop(t.Context()))
	s.Cloud().SetServers(s.servers())
}

func (s *suite) servers() []openstack.Instance {
	var servers []openstack.Instance
	for _, n := range s.Nodes() {
		servers = append(servers, openstack.Instance{Name: n.Name(), Addresses: []string{n.IP()}})
	}
	return servers
}

func (s *suite) startBootstrapNode(t *testing.T) *node.Node {
	t.Helper()
	images, err := s.Images(t.Context())
	require.NoError(t, err)
	bootstrap, err := node.Start(t.Context(), node.Options{
		Name: bootstrapName, Index: bootstrapIndex, Dir: filepath.Join(s.Dir(), "nodes", bootstrapName),
		Network: s.Network(), BinDir: s.BinDir(), Standalone: true, Progress: os.Stderr,
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, bootstrap.Stop(context.WithoutCancel(t.Context()))) })
	require.NoError(t, bootstrap.LoadImages(t.Context(), images...))
	return bootstrap
}

// writeInstallerFiles writes the files in /opt/openshift at the time of the step, from the cluster's objects.
func (s *suite) writeInstallerFiles(t *testing.T, dir string) {
	t.Helper()
	ctx := t.Context()
	infrastructure, err := s.config.ConfigV1().Infrastructures().Get(ctx, "cluster", metav1.GetOptions{})
	require.NoError(t, err)
	proxy, err := s.config.ConfigV1().Proxies().Get(ctx, "cluster", metav1.GetOptions{})
	require.NoError(t, err)
	gates, err := s.config.ConfigV1().FeatureGates().Get(ctx, "cluster", metav1.GetOptions{})
	require.NoError(t, err)
	cloudConfig, err := s.kube.CoreV1().ConfigMaps(configNamespace).Get(ctx, "cloud-provider-config",
		metav1.GetOptions{})
	require.NoError(t, err)
	managed := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "openshift-config-managed", Name: "kube-cloud-config"},
		Data: map[string]string{"cloud.conf": cloudConfig.Data["config"],
			"ca-bundle.pem": cloudConfig.Data["ca-bundle.pem"]},
	}
	credentials := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "openstack-credentials"},
		Data:       map[string][]byte{"clouds.yaml": s.Cloud().CloudsYAML()},
	}
	for path, object := range map[string]runtime.Object{
		"manifests/cluster-infrastructure-02-config.yml":        infrastructure,
		"manifests/cluster-proxy-01-config.yaml":                proxy,
		"manifests/99_feature-gate.yaml":                        gates,
		"manifests/cloud-provider-config.yaml":                  cloudConfig,
		"manifests/99_cloud-creds-secret.yaml":                  credentials,
		"config-bootstrap/cloud-provider-config-generated.yaml": managed,
	} {
		writeManifest(t, filepath.Join(dir, path), object)
	}
	references := map[string]any{"kind": "ImageStream", "apiVersion": "image.openshift.io/v1",
		"metadata": map[string]any{"name": devcluster.Version}, "spec": map[string]any{"tags": []any{
			imageTag("cluster-cloud-controller-manager-operator"), imageTag("openstack-cloud-controller-manager"),
		}}}
	content, err := json.Marshal(references)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "image-references"), content, 0o600))
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
run_program() { "$BINARY" "${@//\/assets\//$PWD/}"; }
source "$STEP"
`

func (s *suite) runBootkubeStep(t *testing.T, dir string) {
	t.Helper()
	image, err := dockerfile.Read(filepath.Join(s.Repository(), dockerfile.Name))
	require.NoError(t, err)
	command := exec.CommandContext(t.Context(), "bash", "-c", image.Shell("/usr/bin/"+operatorName)+bootkube)
	command.Dir = dir
	command.Env = append(os.Environ(),
		"BINARY="+filepath.Join(s.BinDir(), operatorName),
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
func (s *suite) putInPlace(t *testing.T, dir string, bootstrap *node.Node) {
	t.Helper()
	// The cluster already has the installer's objects.
	for _, name := range names(t, filepath.Join(dir, "cloud-controller-manager-bootstrap", "manifests")) {
		command := exec.CommandContext(t.Context(), filepath.Join(s.BinDir(), "kubectl"),
			"--kubeconfig="+s.Kubeconfig(),
			"create", "--filename="+filepath.Join(dir, "manifests", name))
		output, err := command.CombinedOutput()
		require.NoError(t, err, string(output))
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

// taintRemovers returns the addresses from which a cloud-controller-manager changed the node, from the audit log.
func (s *suite) taintRemovers(t *testing.T, name string) []string {
	t.Helper()
	addresses := map[string]struct{}{}
	s.eachRequest(t, name, func(e *auditEvent) {
		writes := e.Verb == "patch" || e.Verb == "update"
		if writes && e.ObjectRef.Resource == "nodes" && e.ObjectRef.Subresource == "" && e.ObjectRef.Name == name &&
			strings.HasPrefix(e.UserAgent, "openstack-cloud-controller-manager/") {
			addresses[strings.Join(e.SourceIPs, ",")] = struct{}{}
		}
	})
	return slices.Sorted(maps.Keys(addresses))
}
