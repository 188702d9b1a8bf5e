package e2e

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	devcluster "github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/node"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/e2e/internal/monitor"
)

// TestDigitalOceansToken starts a single-node cluster with a fake of DigitalOcean's cloud-controller-manager. It
// follows the token from its Secret to the environment of that process.
func TestDigitalOceansToken(t *testing.T) {
	runBesideOthers(t)
	s := startSuite(t, devcluster.Options{Name: "e2e-digitalocean", Platform: "DigitalOcean", Nodes: 1,
		Progress: os.Stderr},
		monitor.Rollout("the first revision"), imageMissing)
	token := s.DigitalOcean().Credentials()["access-token"]
	s.await(t, "a report of the image that does not exist", rolloutLimit, s.reportsTheImage)
	image, err := s.awaitedImage(t.Context())
	require.NoError(t, err)
	s.loadStandIn(t, image)
	var pod *corev1.Pod
	s.await(t, "a Ready pod", rolloutLimit, func(ctx context.Context) error {
		if pod, err = s.staticPod(ctx); err == nil && !isReady(pod) {
			err = fmt.Errorf("pod %s is not ready", pod.Name)
		}
		return err
	})

	logs, err := s.kube.CoreV1().Pods(targetNamespace).GetLogs(pod.Name,
		&corev1.PodLogOptions{Container: operand}).DoRaw(t.Context())
	require.NoError(t, err)
	require.Equal(t, fmt.Sprintf("token sha256:%x region fra1\n", sha256.Sum256(token)), string(logs))
	initLogs, err := s.kube.CoreV1().Pods(targetNamespace).GetLogs(pod.Name,
		&corev1.PodLogOptions{Container: "cloud-env"}).DoRaw(t.Context())
	require.NoError(t, err)
	specification, err := yaml.Marshal(pod)
	require.NoError(t, err)
	require.NotContains(t, string(initLogs)+string(specification), string(token))
	s.requireRights(t, "digitalocean")
}

// loadStandIn loads the fake on the node under the image's name.
func (s *suite) loadStandIn(t *testing.T, image string) {
	t.Helper()
	dir := t.TempDir()
	program, archive := filepath.Join(dir, "tokenreader"), filepath.Join(dir, "image.tar")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./tokenreader")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	output, err := build.CombinedOutput()
	require.NoError(t, err, string(output))
	const place = "/bin/digitalocean-cloud-controller-manager"
	require.NoError(t, node.WriteImage(archive, node.ImageSpec{Ref: image, Files: map[string]string{place: program},
		Entrypoint: []string{place}}))
	require.NoError(t, s.Nodes()[0].LoadImages(t.Context(), archive))
}
