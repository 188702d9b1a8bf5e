package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	ccmv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/e2e/internal/monitor"
)

const (
	nextVersion = "4.100.0-dev"
	nextFlag    = "--concurrent-service-syncs=2"
)

// TestUpgrade upgrades to a next release and back, with a cloud configuration that is rejected all the time. The next
// release has another operator, another image of the cloud-controller-manager, another default of its flags, and a new
// field of the operator's resource, which this release's operator must keep.
func TestUpgrade(t *testing.T) {
	if os.Getenv("E2E_LONG") == "" {
		t.Skip("E2E_LONG is not set: this takes five minutes")
	}
	s := startSuite(t, devcluster.Options{
		Name: "e2e-upgrade", Platform: configv1.OpenStackPlatformType, Nodes: nodes, Progress: os.Stderr,
	}, monitor.Rollout("the first revision"), monitor.NewLeader("the first leader"))
	s.awaitSettled(t, 1, rolloutLimit)
	s.requireOneLeader(t)
	next, err := s.NextRelease(t.Context(), nextVersion, editRelease)
	require.NoError(t, err)

	s.addFeatureGates(t, nextVersion)

	s.monitor.Begin("a rejected configuration")
	s.monitor.Expect(monitor.Degraded("cloud-provider-config", "the configuration is broken"))
	good := s.cloudConfig(t)
	s.setCloudConfig(t, "[Global\n")
	s.awaitDegraded(t, briefly, "cloud-provider-config")

	s.monitor.Begin("the upgrade")
	s.expectRollout("the next release")
	s.upgrade(t, next, nextFlag)

	s.monitor.Begin("the former operator with the next definition")
	s.expectRollout("the former operator's flags, and the log level")
	s.monitor.Expect(monitor.Rollout("the log level, if it is later"))
	resource := s.dynamic.Resource(ccmv1.Resource)
	_, err = resource.Patch(t.Context(), "cluster", types.MergePatchType,
		[]byte(`{"spec":{"fieldOfTheNextRelease":"kept","logLevel":"Debug"}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	before := s.revision(t)
	s.patchDeployment(t, types.StrategicMergePatchType, fmt.Sprintf(`{"spec":{"template":{"spec":{"containers":[{"name":%q,"image":%q}]}}}}`,
		operatorName, s.Release().Image(operatorName)))
	s.await(t, "the former operator to render the log level", rolloutLimit, func(ctx context.Context) error {
		object, err := resource.Get(ctx, "cluster", metav1.GetOptions{})
		if err != nil {
			return err
		}
		require.Equal(t, "kept", object.Object["spec"].(map[string]any)["fieldOfTheNextRelease"])
		pods, err := s.kube.CoreV1().Pods(targetNamespace).List(ctx, metav1.ListOptions{LabelSelector: "app=" + operand})
		if err != nil {
			return err
		}
		if len(pods.Items) != nodes {
			return fmt.Errorf("%d static pods", len(pods.Items))
		}
		if err := s.rolledOut(ctx); err != nil {
			return err
		}
		for _, pod := range pods.Items {
			if flags := given(&pod.Spec.Containers[0]); !strings.Contains(flags, "--v=4") || strings.Contains(flags, nextFlag) {
				return fmt.Errorf("pod/%s has\n%s", pod.Name, flags)
			}
		}
		return nil
	})
	require.Greater(t, s.revision(t), before)

	s.monitor.Begin("the way back")
	s.expectRollout("the former release")
	s.upgrade(t, s.Release(), "")
	s.awaitDegraded(t, briefly, "cloud-provider-config")

	s.monitor.Begin("the next release again")
	s.expectRollout("the next release again")
	s.upgrade(t, next, nextFlag)

	s.monitor.Begin("the configuration is mended")
	s.setCloudConfig(t, good)
	s.awaitSettled(t, 1, briefly)
	s.requireOneLeader(t)
}

// editRelease makes the next release: a default of the flags, and a field that this release does not have.
func editRelease(dir string) error {
	return errors.Join(
		replaceIn(filepath.Join(dir, "bindata/assets/config/default.yaml"), "extendedArguments:\n", "extendedArguments:\n  concurrent-service-syncs: [\"2\"]\n"),
		replaceIn(filepath.Join(dir, "manifests/0000_26_cloud-controller-manager-operator_01_cloudcontrollermanagers.crd.yaml"),
			"              failedRevisionLimit:\n", "              fieldOfTheNextRelease:\n                type: string\n              failedRevisionLimit:\n"),
	)
}

func replaceIn(path, before, after string) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if !bytes.Contains(content, []byte(before)) {
		return fmt.Errorf("%s has no %q", path, before)
	}
	return os.WriteFile(path, bytes.Replace(content, []byte(before), []byte(after), 1), 0o600)
}

// upgrade applies a release and waits until its version is reported. Every node must run its image and its flag then.
func (s *suite) upgrade(t *testing.T, to devcluster.Release, flag string) {
	t.Helper()
	s.monitor.Expect(monitor.Gap("the resource's definition changes, which ends its watches").Times(3))
	began := time.Now()
	require.NoError(t, s.ApplyRelease(t.Context(), to))
	s.await(t, "the versions of "+to.Version, rolloutLimit, func(ctx context.Context) error {
		reported, err := s.config.ConfigV1().ClusterOperators().Get(ctx, clusterOperator, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, version := range reported.Status.Versions {
			if version.Name == "operator" && version.Version != to.Version {
				return fmt.Errorf("the ClusterOperator has %v", reported.Status.Versions)
			}
		}
		return nil
	})
	s.figure("upgrade to %s, from the manifests to the versions: %s", to.Version, rounded(began))
	pods, err := s.kube.CoreV1().Pods(targetNamespace).List(t.Context(), metav1.ListOptions{LabelSelector: "app=" + operand})
	require.NoError(t, err)
	require.Len(t, pods.Items, nodes)
	for _, pod := range pods.Items {
		i := slices.IndexFunc(pod.Spec.Containers, func(c corev1.Container) bool { return c.Name == operand })
		require.GreaterOrEqual(t, i, 0)
		require.Equal(t, to.Image("openstack-cloud-controller-manager"), pod.Spec.Containers[i].Image, pod.Name)
		require.Equal(t, flag, flagIn(&pod.Spec.Containers[i]), pod.Name)
	}
	s.requireOneLeader(t)
}

// rolledOut returns nil when every node is at the latest revision.
func (s *suite) rolledOut(ctx context.Context) error {
	resource, err := s.resource(ctx)
	if err != nil {
		return err
	}
	for _, node := range resource.Status.NodeStatuses {
		if node.CurrentRevision != resource.Status.LatestAvailableRevision {
			return fmt.Errorf("%s is at revision %d of %d", node.NodeName, node.CurrentRevision, resource.Status.LatestAvailableRevision)
		}
	}
	return nil
}

// addFeatureGates writes the feature gates of a version, as cluster-config-operator does earlier in an upgrade.
func (s *suite) addFeatureGates(t *testing.T, version string) {
	t.Helper()
	gates := s.config.ConfigV1().FeatureGates()
	gate, err := gates.Get(t.Context(), "cluster", metav1.GetOptions{})
	require.NoError(t, err)
	next := gate.Status.FeatureGates[0].DeepCopy()
	next.Version = version
	gate.Status.FeatureGates = append(gate.Status.FeatureGates, *next)
	_, err = gates.UpdateStatus(t.Context(), gate, metav1.UpdateOptions{})
	require.NoError(t, err)
}

// flagIn returns the next release's flag if the container has it.
func flagIn(container *corev1.Container) string {
	if slices.Contains(slices.Concat(container.Command, container.Args), nextFlag) {
		return nextFlag
	}
	return ""
}
